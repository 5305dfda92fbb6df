// Two people who change the same field: a form that was opened before the other change does not silently replace it.

import { call } from "./calls.js";
import { dataOf } from "./elements.js";
import { fieldsOf, isChanged, Mistakes, Mistyped } from "./forms.js";
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
const words = (value) => (typeof value === "number" ? figure(value, 12) : `“${value}”`);

/** Refuse a form whose changed fields have other values by now than when it was opened. If a person sends it again, the
 * change counts: the person has read the values of the others.
 * @param {HTMLFormElement} form with the former values in data-before, and in data-now the address of the present ones
 * @param {object} sent
 */
export async function refuseIfOthersChanged(form, sent) {
  const was = JSON.parse(dataOf(form, "before"));
  const now = await call("GET", dataOf(form, "now"));
  /** @type {Mistyped[]} */
  const conflicts = [];
  for (const field of fieldsOf(form).filter(isChanged)) {
    const before = groupOf(was, field);
    const stored = groupOf(now, field)[field.name] ?? null;
    if (same(stored, before[field.name] ?? null) || same(stored, groupOf(sent, field)[field.name] ?? null)) continue;
    before[field.name] = stored;
    const what = stored === null ? "emptied this field" : `changed this to ${words(stored)}`;
    const told = `Another person has ${what} since you opened the form. To store your input instead, save again.`;
    conflicts.push(new Mistyped(field, told));
  }
  if (!conflicts.length) return;
  form.dataset.before = JSON.stringify(was);
  throw new Mistakes(conflicts);
}
