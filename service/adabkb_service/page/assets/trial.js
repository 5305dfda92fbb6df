// The page of a trial: what becomes of it while the page is open. What somebody is typing in stays.

import { reachable, root } from "./calls.js";
import { byId, dataOf, every, ifThere, one } from "./elements.js";
import { say } from "./toasts.js";

const trial = byId("trial", HTMLElement);
const study = encodeURIComponent(dataOf(trial, "study"));
const number = Number(dataOf(trial, "trial"));
const banner = byId("changed", HTMLElement);
const ALWAYS = ["trial-heading", "trial-facts", "trial-events"];
const UNLESS_TYPED = ["trial-outcome", "trial-files", "trial-dialogs"];

/** @param {Element} element */
const isClosed = (element) => element.closest("dialog:not([open])") !== null;

/** Whether somebody has begun to fill in a part of the page. A dialog that was closed is done.
 * @param {HTMLElement} part
 */
function isTyped(part) {
  return (
    part.querySelector("dialog[open]") !== null ||
    every(part, "textarea", HTMLTextAreaElement).some(
      (field) => !isClosed(field) && field.value !== field.defaultValue,
    ) ||
    every(part, "input", HTMLInputElement).some(
      (field) => !isClosed(field) && (field.value !== field.defaultValue || field.checked !== field.defaultChecked),
    )
  );
}

/** Whether what somebody filled in is being sent, so that it may be what has changed the trial.
 * @param {HTMLElement} part
 */
const isSent = (part) => part.querySelector('form[aria-busy="true"]') !== null;

/** Show what has become of the trial. */
async function refresh() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
  if (!answer.ok) return;
  const found = new DOMParser().parseFromString(await answer.text(), "text/html");
  const { state: before, attempt } = byId("trial-heading", HTMLElement).dataset;
  const now = one(found, "#trial-heading", HTMLElement).dataset;
  const parts = UNLESS_TYPED.map((id) => byId(id, HTMLElement));
  const held = parts.filter((part) => isTyped(part) || isSent(part)).map(({ id }) => id);
  const isInterrupted = parts.some((part) => isTyped(part) && !isSent(part));
  for (const id of [...ALWAYS, ...UNLESS_TYPED.filter((id) => !held.includes(id))])
    byId(id, HTMLElement).replaceWith(one(found, `#${id}`, HTMLElement));
  if (isInterrupted && (now.state !== before || now.attempt !== attempt)) {
    const told = `The trial changed while you were typing: it is ${now.words} now.`;
    banner.textContent = `${told} Your input is still here; reload the page to see the changes.`;
    banner.hidden = false;
  }
  document.dispatchEvent(new CustomEvent("htmx:afterSettle")); // which tells times in words
}

/** Add the files that somebody has chosen, one after the other; what is refused is said, and the others are added. */
document.addEventListener("change", async ({ target }) => {
  if (!(target instanceof HTMLInputElement) || target.id !== "add-files") return;
  target.disabled = true;
  const refused = [];
  for (const file of target.files ?? []) {
    const options = {
      method: "POST",
      body: file,
      headers: { "Content-Type": file.type || "application/octet-stream", Accept: "application/json" },
    };
    const answer = await fetch(`${target.dataset.path}?name=${encodeURIComponent(file.name)}`, options).catch(
      () => null,
    );
    if (answer?.ok) continue;
    const { detail } = answer ? await answer.json().catch(() => ({})) : { detail: "the server does not answer" };
    refused.push(`${file.name}: ${detail ?? answer?.status}`);
  }
  target.value = "";
  target.disabled = false;
  await refresh().catch(() => {});
  const problem = ifThere("files-problem", HTMLElement); // who may only read by now has none
  if (problem) {
    problem.textContent = refused.join("\n");
    problem.hidden = refused.length === 0;
  } else if (refused.length) say(refused.join("\n"));
});

let isReading = false;
let isStale = false;

/** Read the page again, once at a time. */
function changed() {
  isStale = true;
  if (isReading) return;
  isReading = true;
  (async () => {
    while (isStale) {
      isStale = false;
      await refresh().catch(() => {});
    }
    isReading = false;
  })();
}

document.body.addEventListener("study-changed", changed);
const source = new EventSource(`${root}/v1/studies/${study}/events?cursor=${dataOf(trial, "cursor")}`);
let isLost = false;
source.addEventListener("open", () => {
  reachable(true);
  if (isLost) changed();
  isLost = false;
});
source.addEventListener("error", () => {
  reachable(false);
  isLost = true;
});
for (const kind of [
  "leased",
  "expired",
  "released",
  "observed",
  "failed",
  "retried",
  "withdrawn",
  "annotated",
  "stopped",
  "corrected",
  "measured",
  "completed",
]) {
  source.addEventListener(kind, ({ data }) => {
    const event = JSON.parse(data);
    if (event.trial === number || event.kind === "completed") changed();
  });
}
