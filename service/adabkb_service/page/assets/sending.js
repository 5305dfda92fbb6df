// Send a form or a button with data-api="METHOD path" to the API: its fields, or data-body, as JSON. Its data-action
// is a key of ACTIONS.

import { ACTIONS, apiOf } from "./actions.js";
import { call } from "./calls.js";
import { messageOf, problemOf, statusOf } from "./caught.js";
import { conflictOf, refuseIfNoteChanged, refuseIfOthersChanged, storeNote } from "./conflicts.js";
import { discardDraft, discardDrafts } from "./drafts.js";
import { closestToTarget, dataOf, queryAll } from "./elements.js";
import { formerValues } from "./former.js";
import { body, clearProblem, showProblem } from "./forms.js";
import { remember } from "./remembered.js";
import { announceChange } from "./study-changed.js";
import { showToast, showToastAfterLoading } from "./toasts.js";
import { guarded, sendUndo } from "./undo.js";
import { askPatiently } from "./waiting.js";

const MAX_TURNS = 3; // to send a form whose other fields are changed by others at the same time
const OUTDATED = "Another person has changed this since you opened the form. Reload the page to see the change.";

/** Send a request to the API, and show its outcome.
 * @param {HTMLElement} element whose data attributes name the request and the action
 * @param {any} sent
 */
async function perform(element, sent) {
  const [method, path] = apiOf(element);
  const name = dataOf(element, "action");
  const answer = await (name === "ask" ? askPatiently(method, path, sent) : call(method, path, sent));
  if (answer === null) return; // the person has cancelled
  const lost = await storeNote(element, answer);
  if (lost) showToast(lost);
  if (element instanceof HTMLFormElement && name !== "preview") {
    element.dispatchEvent(new Event("stored"));
    discardDraft(element);
  } else if (name === "edited") discardDrafts();
  const action = ACTIONS[name];
  const text = typeof action.message === "function" ? await action.message(answer, sent, element) : action.message;
  const request = action.undo?.(answer, sent, element);
  const undo = request ? guarded({ path, ...request }, answer) : undefined;
  const address = action.next?.(answer);
  element.closest("dialog")?.close();
  if (address || action.reloads) {
    if (text) showToastAfterLoading(text, undo);
    if (address) location.assign(address);
    else location.reload();
    return;
  }
  if (text) showToast(text, undo && (() => sendUndo(undo)), action.link?.(answer, element), undo?.label);
  action.after?.(answer, sent, element);
  announceChange({ by: element });
}

/** Send a form. If another person has changed one of its fields, the server refuses the change.
 * @param {HTMLFormElement} form
 */
async function send(form) {
  for (let turn = 1; ; turn += 1) {
    const sent = /** @type {Record<string, any>} */ (form.requestBody ? await form.requestBody() : body(form));
    if (apiOf(form)[0] === "PATCH" && Object.keys(sent).every((name) => ["reason", "was"].includes(name))) {
      discardDraft(form);
      form.closest("dialog")?.close();
      showToast(`Nothing was changed${"reason" in sent ? ", so the reason was not stored" : ""}.`);
      return;
    }
    try {
      await refuseIfNoteChanged(form, sent);
      await perform(form, form.dataset.now ? { ...sent, was: formerValues(form, sent) } : sent);
      return;
    } catch (error) {
      const problem = problemOf(error);
      if (problem?.code === "result_conflict") throw await conflictOf(form, sent, problem);
      if (statusOf(error) !== 412 || turn === MAX_TURNS) throw error;
      if (!form.dataset.now) throw new Error(OUTDATED, { cause: error });
      await refuseIfOthersChanged(form, sent);
    }
  }
}

document.addEventListener("submit", async (event) => {
  const form = closestToTarget(event, "form", HTMLFormElement);
  if (!form?.dataset.api) return;
  event.preventDefault();
  const [button] = queryAll(form, "[type=submit]", HTMLButtonElement);
  clearProblem(form);
  button.disabled = true;
  form.setAttribute("aria-busy", "true");
  try {
    remember(form);
    await send(form);
  } catch (error) {
    if (form.isConnected) showProblem(form, error);
    else showToast(messageOf(error)); // another row of a table is edited by now
  } finally {
    form.removeAttribute("aria-busy");
    button.disabled = false;
  }
});

document.addEventListener("click", async (event) => {
  const button = closestToTarget(event, "button[data-api]", HTMLButtonElement);
  if (!button) return;
  const { textContent: words } = button;
  button.disabled = true;
  if (button.dataset.busy) button.textContent = button.dataset.busy; // for slow requests
  try {
    await perform(button, JSON.parse(dataOf(button, "body")));
  } catch (error) {
    if (button.dataset.busy) button.textContent = words;
    showToast(messageOf(error));
  } finally {
    button.disabled = false;
  }
});
