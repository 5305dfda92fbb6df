// Undo an action, by a request that the server refuses if somebody has changed the same fields since.

import { call } from "./calls.js";
import { messageOf, problemOf, statusOf } from "./caught.js";
import { valuesIn } from "./former.js";
import { announceChange } from "./study-changed.js";
import { showToast, showToastAfterLoading } from "./toasts.js";

/** @typedef {object} Undo the request that undoes an action
 * @property {string} method
 * @property {string} path
 * @property {unknown} [body]
 * @property {string} [label] of the button that sends it
 * @property {string} [done] the message afterwards
 */

/** A study, a trial or a result. */
const CHANGEABLE = /\/v1\/studies\/[^/]+(\/(trials|observations)\/\d+)?$/;

/** The request with the values that its fields have after the action.
 * @param {Undo} undo
 * @param {any} answer to the action
 * @returns {Undo}
 */
export function guarded(undo, answer) {
  if (undo.method !== "PATCH" || !CHANGEABLE.test(undo.path)) return undo;
  const { state, ...changes } = /** @type {Record<string, unknown>} */ (undo.body);
  const isResult = /\/observations\/\d+$/.test(undo.path);
  /** @type {Record<string, any>} */
  const { catalogues: _, ...compared } = changes; // rows that are added or withdrawn have no former value
  const was = valuesIn(answer.observation ?? answer.trial ?? answer, compared);
  const why = isResult ? { reason: "Undo" } : {};
  return { ...undo, body: { state, ...changes, was, ...why } }; // an undefined state is left out
}

/** Send the request.
 * @param {Undo} undo
 * @param {boolean} isElsewhere whether the page was loaded since the action
 */
export async function sendUndo({ method, path, body, done }, isElsewhere = false) {
  try {
    await call(method, path, body);
    if (isElsewhere) {
      if (done) showToastAfterLoading(done);
      location.reload();
    } else {
      if (done) showToast(done);
      announceChange();
    }
  } catch (error) {
    showToast(statusOf(error) === 412 ? notUndone(problemOf(error)) : messageOf(error));
  }
}

/** Why a change was not undone: what has been changed again.
 * @param {Problem | undefined} problem
 */
function notUndone(problem) {
  const errors = problem?.errors ?? [];
  const now = errors.length === 1 ? ` It ${errors[0].detail}.` : "";
  return `Not undone, because it has been changed again since.${now}`;
}
