// Check that the user of this browser is still the one for whom the page was loaded. Another tab may have logged out,
// or logged in somebody else, and an administrator may have ended the session.

import { onRefused, root } from "./calls.js";
import { byId } from "./elements.js";

const token = document.documentElement.dataset.token;
const banner = byId("login-changed", HTMLElement);
const SECONDS = 60;

/** Show that the login has changed, with a link that reloads the page.
 * @param {string} text
 * @param {string} action
 * @param {string} target
 */
function showBanner(text, action, target) {
  const link = document.createElement("a");
  link.textContent = action;
  link.href = target;
  link.addEventListener("click", (event) => {
    event.preventDefault();
    location.reload();
  });
  banner.replaceChildren(`${text} `, link);
  banner.hidden = false;
}

async function check() {
  let answer;
  try {
    answer = await fetch(`${root}/v1/tokens/self`, { headers: { Accept: "application/json" }, cache: "no-store" });
  } catch {
    return; // another message says that the server does not answer
  }
  if (answer.status === 401) return showBanner("You are no longer logged in.", "Log in", location.href);
  const session = answer.ok ? await answer.json() : null;
  if (session && session.token !== token)
    return showBanner(`This browser is now logged in as ${session.user}.`, "Load the page again", location.href);
  if (session) banner.hidden = true;
}

if (token) {
  const tabs = new BroadcastChannel(`adabkb login ${root}`);
  tabs.addEventListener("message", ({ data }) => data !== token && check());
  tabs.postMessage(token);
  onRefused(check);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && check());
  setInterval(() => document.visibilityState === "visible" && check(), 1000 * SECONDS);
} else if (document.getElementById("login")) {
  new BroadcastChannel(`adabkb login ${root}`).postMessage("");
}
