// The page of a trial, updated while it is open. Input is kept.

import { pause, root } from "./calls.js";
import { byId, dataOf, every, one } from "./elements.js";
import { listenWhileVisible } from "./stream.js";

const trial = byId("trial", HTMLElement);
const study = encodeURIComponent(dataOf(trial, "study"));
const number = Number(dataOf(trial, "trial"));
const banner = byId("changed", HTMLElement);
const ALWAYS = ["trial-heading", "trial-facts", "trial-events"];
const UNLESS_TYPED = ["trial-outcome", "files", "trial-dialogs"];
/** The kinds of events that are about a user's own result if they have no trial. */
const OF_RESULTS = new Set(["observed", "corrected", "measured", "annotated"]);
const PAUSE_MILLISECONDS = 2500; // before the page is read again, if it has changed while it was being read

/** @param {Element} element */
const isClosed = (element) => element.closest("dialog:not([open])") !== null;

/** Whether a part of the page has input. A closed dialog does not count.
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

/** Whether input is being sent, which may be the cause of the trial's change.
 * @param {HTMLElement} part
 */
const isSent = (part) => part.querySelector('form[aria-busy="true"]') !== null;

/** Show the trial's new state. */
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
  document.dispatchEvent(new CustomEvent("htmx:afterSettle")); // which writes times in words
}

/** Whether an event is about this trial or about the study.
 * @param {StudyEvent} event
 */
const isShown = ({ trial, kind }) => trial === number || (trial === null && !OF_RESULTS.has(kind));

let isReading = false;
let isStale = false;

/** Read the page again, one request at a time. */
function changed() {
  isStale = true;
  if (isReading) return;
  isReading = true;
  (async () => {
    while (isStale) {
      isStale = false;
      await refresh().catch(() => {});
      if (isStale) await pause(PAUSE_MILLISECONDS);
    }
    isReading = false;
  })();
}

document.body.addEventListener("study-changed", changed);
listenWhileVisible(
  `${root}/v1/studies/${study}`,
  () => dataOf(byId("trial-heading", HTMLElement), "cursor"),
  (event) => isShown(event) && changed(),
  { missed: changed },
);
