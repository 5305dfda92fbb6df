// The page of a trial, updated while it is open. Input is kept.

import { pause, root } from "./calls.js";
import { byId, dataOf, query } from "./elements.js";
import { isChanged, isField } from "./forms.js";
import { listenWhileVisible } from "./stream.js";

const trial = byId("trial", HTMLElement);
const study = encodeURIComponent(dataOf(trial, "study"));
const number = Number(dataOf(trial, "trial"));
const banner = byId("changed", HTMLElement);
const ALWAYS = ["trial-heading", "trial-facts", "trial-events"];
const UNLESS_TYPED = ["trial-outcome", "files", "trial-dialogs"];
/** The kinds of events that are about a user's own result if they have no trial. */
const OF_RESULTS = new Set(["observed", "corrected", "measured", "annotated"]);
const PAUSE_MILLISECONDS = 2500; // before the page is read again, if it has changed meanwhile or a read has failed
const MAX_PAUSE_MILLISECONDS = 60_000; // the pause doubles after each failed read
const TOO_MANY_REQUESTS = 429; // HTTP status

/** A refused read that would be refused again, such as without a login or of a deleted study. */
class FinalRefusal extends Error {}

/** @param {Element} element */
const isClosed = (element) => element.closest("dialog:not([open])") !== null;

/** Whether a part of the page has input. A closed dialog does not count.
 * @param {HTMLElement} part
 */
function isTyped(part) {
  const fields = [...part.querySelectorAll("input, textarea, select")].filter(isField);
  return part.querySelector("dialog[open]") !== null || fields.some((field) => !isClosed(field) && isChanged(field));
}

/** Whether input is being sent, which may be the cause of the trial's change.
 * @param {HTMLElement} part
 */
const isSent = (part) => part.querySelector('form[aria-busy="true"]') !== null;

/** Show the trial's new state. */
async function refresh() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
  if (!answer.ok) {
    const isFinal = answer.status >= 400 && answer.status < 500 && answer.status !== TOO_MANY_REQUESTS;
    throw new (isFinal ? FinalRefusal : Error)(`The server answered ${answer.status}.`);
  }
  const loaded = new DOMParser().parseFromString(await answer.text(), "text/html");
  const { state: before, attempt } = byId("trial-heading", HTMLElement).dataset;
  const now = query(loaded, "#trial-heading", HTMLElement).dataset;
  const parts = UNLESS_TYPED.map((id) => byId(id, HTMLElement));
  const held = parts.filter((part) => isTyped(part) || isSent(part)).map(({ id }) => id);
  isHeld = held.length > 0;
  const isInterrupted = parts.some((part) => isTyped(part) && !isSent(part));
  for (const id of [...ALWAYS, ...UNLESS_TYPED.filter((id) => !held.includes(id))])
    byId(id, HTMLElement).replaceWith(query(loaded, `#${id}`, HTMLElement));
  if (isInterrupted && (now.state !== before || now.attempt !== attempt)) {
    const message = `The trial changed while you were typing: it is ${now.words} now.`;
    banner.textContent = `${message} Your input is still here. Reload the page to see the changes; your input is kept.`;
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
let isHeld = false; // whether a part shows an older state because it has input
let failures = 0; // reads that have failed since the last successful one
/** @type {number | undefined} */
let again; // the timer after a failed read

/** Repeat a failed read. A hidden page waits: the events that it does not show are sent again when it is visible. */
function retry() {
  if (!document.hidden) changed();
}

/** Read the page again, one request at a time. A read that fails is repeated at the next event and, unless the server
 * has refused it for good, after a pause.
 */
function changed() {
  clearTimeout(again);
  isStale = true;
  if (isReading) return;
  isReading = true;
  (async () => {
    while (isStale) {
      isStale = false;
      try {
        await refresh();
        failures = 0;
      } catch (error) {
        console.debug(error);
        failures += 1;
        if (!(error instanceof FinalRefusal))
          again = setTimeout(retry, Math.min(PAUSE_MILLISECONDS * 2 ** (failures - 1), MAX_PAUSE_MILLISECONDS));
      }
      if (isStale) await pause(PAUSE_MILLISECONDS);
    }
    isReading = false;
  })();
}

/** Show what has changed while a dialog was open. */
document.addEventListener("close", () => isHeld && changed(), true);

document.body.addEventListener("study-changed", changed);
listenWhileVisible(
  `${root}/v1/studies/${study}`,
  () => dataOf(byId("trial-heading", HTMLElement), "cursor"),
  (event) => (failures > 0 || isShown(event)) && changed(),
  { missed: changed },
);
