// Logging in: by a token that is typed in, or by that of a link, which is behind the # and so in no log.

import { root } from "./calls.js";

const form = document.getElementById("login");
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
  logIn(new FormData(form).get("token").trim());
});

const linked = new URLSearchParams(location.hash.slice(1)).get("token");
if (linked) logIn(linked);
