// Logging in: by a token that is typed in, or by that of a link, which is behind the # and so in no log.

import { root } from "./calls.js";
import { byId } from "./elements.js";

const form = byId("login", HTMLFormElement);
const refusal = document.getElementById("refusal");

async function logIn(token) {
  const headers = { Accept: "application/json", Authorization: `Bearer ${token}` };
  const answer = await fetch(`${root}/login`, { method: "POST", headers });
  if (!answer.ok) {
    refusal.textContent = (await answer.json()).detail;
  } else if (location.pathname === `${root}/login`) {
    location.replace(`${root}/`);
  } else {
    history.replaceState(null, "", location.pathname + location.search);
    location.reload();
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  logIn(String(new FormData(form).get("token")).trim());
});

async function whoIs(headers) {
  const answer = await fetch(`${root}/v1/tokens/self`, { headers: { Accept: "application/json", ...headers } });
  return answer.ok ? answer.json() : null;
}

// A page of another site may lead here, with a token of its owner: nobody is logged in by it as somebody else unasked.
async function offer(token) {
  const [present, linked] = await Promise.all([whoIs({}), whoIs({ Authorization: `Bearer ${token}` })]);
  if (!linked || (!present && linked.scope === "read")) return logIn(token);
  const now = present ? `You are logged in as ${present.user}. ` : "";
  document.getElementById("asked").textContent = `${now}This link logs you in as ${linked.user}.`;
  const keep = document.getElementById("keep");
  keep.textContent = present ? `Stay ${present.user}` : "Do not use the link";
  keep.addEventListener("click", () => {
    history.replaceState(null, "", location.pathname + location.search);
    location.reload();
  });
  document.getElementById("use").addEventListener("click", () => logIn(token));
  document.getElementById("question").hidden = false;
}

const linked = new URLSearchParams(location.hash.slice(1)).get("token");
if (linked) offer(linked);
