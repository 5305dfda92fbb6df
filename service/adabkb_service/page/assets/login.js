// Log in with a token that a person types, or with the token of a link. In a link, the token follows the #, so that no
// log contains it.

import { root } from "./calls.js";
import { messageOf } from "./caught.js";
import { byId } from "./elements.js";

const form = byId("login", HTMLFormElement);
const refusal = byId("refusal", HTMLElement);

/** The answer to a request.
 * @param {string} path
 * @param {RequestInit} options
 */
async function ask(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    throw new Error("The server does not answer. Try again.", { cause: error });
  }
}

/** Wait for a promise, and show its error.
 * @param {Promise<void>} something
 */
async function tried(something) {
  refusal.textContent = "";
  try {
    await something;
  } catch (error) {
    refusal.textContent = messageOf(error);
  }
}

/** @param {string} token */
async function logIn(token) {
  const headers = { Accept: "application/json", Authorization: `Bearer ${token}` };
  const answer = await ask(`${root}/login`, { method: "POST", headers });
  if (!answer.ok) {
    const { detail } = await answer.json().catch(() => ({}));
    refusal.textContent = detail ?? `The server answered ${answer.status}.`;
  } else if (location.pathname === `${root}/login`) {
    location.replace(`${root}/`);
  } else {
    history.replaceState(null, "", location.pathname + location.search);
    location.reload();
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  tried(logIn(String(new FormData(form).get("token")).trim()));
});

/** The user of a token, which is in a header or in the cookie.
 * @param {Record<string, string>} headers
 */
async function whoIs(headers) {
  const answer = await ask(`${root}/v1/tokens/self`, { headers: { Accept: "application/json", ...headers } });
  return answer.ok ? answer.json() : null;
}

/** A page of another site may link here with a token of its owner, so a person must confirm before the login changes.
 * @param {string} token
 */
async function offer(token) {
  const [present, linked] = await Promise.all([whoIs({}), whoIs({ Authorization: `Bearer ${token}` })]);
  if (!linked || (!present && linked.scope === "read")) return logIn(token);
  const now = present ? `You are logged in as ${present.user}. ` : "";
  byId("asked", HTMLElement).textContent = `${now}This link logs you in as ${linked.user}.`;
  const keep = byId("keep", HTMLButtonElement);
  keep.textContent = present ? `Stay ${present.user}` : "Do not use the link";
  keep.addEventListener("click", () => {
    history.replaceState(null, "", location.pathname + location.search);
    location.reload();
  });
  byId("use", HTMLButtonElement).addEventListener("click", () => tried(logIn(token)));
  byId("question", HTMLElement).hidden = false;
}

const linked = new URLSearchParams(location.hash.slice(1)).get("token");
if (linked) tried(offer(linked));
