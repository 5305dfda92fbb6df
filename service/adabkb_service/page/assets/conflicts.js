// Two people who change the same field: a form that was opened before the other change does not silently replace it.

import { call } from "./calls.js";
import { Guided, statusOf } from "./caught.js";
import { dataOf } from "./elements.js";
import { body, fieldsOf, isChanged, Mistakes, Mistyped, showProblem } from "./forms.js";
import { same } from "./kept.js";
import { figure } from "./words.js";

/** The values that the fields of a group have in an answer or a body; fields without a group are at its top.
 * @param {Record<string, any>} from
 * @param {Field} field
 * @returns {Record<string, unknown>}
 */
const groupOf = (from, { dataset: { group } }) => (group ? (from[group] ?? {}) : from);

/** A stored value in words.
 * @param {unknown} value
 */
function words(value) {
  if (typeof value === "number") return figure(value, 12);
  if (!isObject(value)) return `“${value}”`;
  return `“${Object.entries(value)
    .map(([name, each]) => `${name}: ${each}`)
    .join("; ")}”`;
}

/** @type {(value: unknown) => value is object} */
const isObject = (value) => typeof value === "object" && value !== null;
/** @param {unknown} value */
const isEmpty = (value) => value === null || value === "" || (isObject(value) && Object.keys(value).length === 0);

/** The error at a field that another person has changed.
 * @param {Element} field
 * @param {unknown} stored the value by now
 * @param {string} [remedy] how to store one's own input
 */
export function conflict(field, stored, remedy = "save again") {
  const what = isEmpty(stored) ? "emptied this field" : `changed this to ${words(stored)}`;
  const message = `Another person has ${what} since you opened the form. To store your input instead, ${remedy}.`;
  return new Mistyped(field, message);
}

/** The errors at the changed fields of a form that have other values by now than when it was opened.
 * @param {HTMLFormElement} form
 * @param {Record<string, any>} was the former values; they become the present ones
 * @param {Record<string, any>} now
 * @param {object} sent
 * @param {string} [remedy] how to store one's own input
 */
export function conflictsIn(form, was, now, sent, remedy) {
  /** @type {Mistyped[]} */
  const conflicts = [];
  for (const field of fieldsOf(form).filter((each) => each.name && isChanged(each))) {
    const { group } = field.dataset;
    if (group) was[group] ??= {};
    const before = groupOf(was, field);
    const stored = groupOf(now, field)[field.name] ?? null;
    const known = before[field.name] ?? null;
    before[field.name] = stored;
    if (same(stored, known) || same(stored, groupOf(sent, field)[field.name] ?? null)) continue;
    conflicts.push(conflict(field, stored, remedy));
  }
  return conflicts;
}

/** Report the changed fields of a form that have other values by now than when it was opened. If a person sends it
 * again, the change counts: the person has read the values of the others.
 * @param {HTMLFormElement} form with the former values in data-before, and in data-now the address of the present ones
 * @param {object} sent
 */
export async function refuseIfOthersChanged(form, sent) {
  const was = JSON.parse(dataOf(form, "before"));
  const conflicts = conflictsIn(form, was, await call("GET", dataOf(form, "now")), sent);
  form.dataset.before = JSON.stringify(was);
  if (conflicts.length) throw new Mistakes(conflicts);
}

/** Mark the changed fields of a form that is opened anew whose stored values have changed since it was opened before.
 * @param {HTMLFormElement} form with the present values in data-before
 * @param {string} known the values when it was opened before
 */
export function markOthersChanges(form, known) {
  const [was, now] = [JSON.parse(known), JSON.parse(dataOf(form, "before"))];
  /** @type {Record<string, any>} */
  let sent = {};
  try {
    sent = body(form);
  } catch (error) {
    console.debug(error); // mistyped input is reported when the form is sent
  }
  const conflicts = conflictsIn(form, was, now, sent, "save it");
  if (conflicts.length) showProblem(form, new Mistakes(conflicts));
}

/** The note beside a result, if a person has changed it.
 * @param {HTMLElement} form
 */
function changedNote(form) {
  const note = form.querySelector("[data-note]");
  return note instanceof HTMLInputElement && note.value.trim() !== note.defaultValue ? note : null;
}

/** The path of a trial whose result a form sends.
 * @param {HTMLElement} form
 * @param {number} number
 */
const trialPath = (form, number) =>
  dataOf(form, "api")
    .split(" ")[1]
    .replace(/observe$/, `trials/${number}`);

/** Refuse a result with a changed note if another person has changed the note of the trial.
 * @param {HTMLFormElement} form
 * @param {Record<string, any>} sent
 */
export async function refuseIfNoteChanged(form, { trial }) {
  const note = changedNote(form);
  if (!note) return;
  const { attributes } = await call("GET", trialPath(form, trial));
  const stored = String(attributes.note ?? "");
  const isOther = stored !== note.defaultValue && stored !== note.value.trim();
  note.defaultValue = stored;
  if (isOther) throw conflict(note, stored);
}

/** Store the note beside a result that was stored. Returns a message if another person has just stored one.
 * @param {HTMLElement} form
 * @param {any} answer
 */
export async function storeNote(form, answer) {
  const note = changedNote(form);
  if (!note) return "";
  const text = note.value.trim();
  const changes = { attributes: { note: text || null }, was: { attributes: { note: note.defaultValue || null } } };
  try {
    await call("PATCH", trialPath(form, answer.trial.number), changes);
    return "";
  } catch (error) {
    if (statusOf(error) !== 412) throw error;
    return `Another person has just changed the note, so yours was not stored: ${text}`;
  }
}

/** The numbers of a result in words.
 * @param {{ value?: number | null, metrics?: Record<string, number> | null }} result
 */
const numbersOf = ({ value, metrics }) =>
  [
    ...(typeof value === "number" ? [figure(value, 12)] : []),
    ...Object.entries(metrics ?? {}).map(([name, each]) => `${name} ${figure(each, 12)}`),
  ].join(", ");

/** Why a result was not stored: another person has reported another one. With links to it.
 * @param {HTMLFormElement} form
 * @param {Record<string, any>} sent
 * @param {Problem} refusal
 */
export async function conflictOf(form, { trial, ...result }, { observation }) {
  const path = trialPath(form, trial);
  const stored = await call("GET", path);
  const page = path.replace("/v1/studies/", "/studies/");
  const links = [{ href: page, text: `Trial ${trial}` }];
  if (observation) links.push({ href: `${page}#correct-${observation}`, text: "Correct the stored result" });
  const what = stored.state === "failed" ? "that this trial failed" : `${numbersOf(stored)} for this trial`;
  const mine = numbersOf(result) || "your input";
  return new Guided(`Another person has already reported ${what}, so ${mine} was not stored.`, links);
}
