// The former values of the fields that a form changes. A request may contain them as `was`: the server then refuses it
// if somebody has changed one of these fields.

import { dataOf } from "./elements.js";

/** The fields of which the API changes only the entries that it gets. */
const MERGED = new Set(["metrics", "std_errors", "attributes"]);

/** Some entries of an object.
 * @param {Record<string, any>} values
 * @param {object} names whose keys are the names of the entries
 */
const entriesOf = (values, names) => Object.fromEntries(Object.entries(values).filter(([name]) => name in names));

/** The values that fields have in an object of the API; absent ones, and absent entries of merged fields, are null.
 * @param {Record<string, any>} stored
 * @param {Record<string, any>} changes
 */
export function valuesIn(stored, changes) {
  const values = Object.fromEntries(Object.keys(changes).map((name) => [name, stored[name] ?? null]));
  for (const name of Object.keys(values).filter((each) => MERGED.has(each))) {
    const absent = Object.fromEntries(Object.keys(changes[name] ?? {}).map((each) => [each, null]));
    values[name] = { ...absent, ...entriesOf(values[name] ?? {}, changes[name] ?? {}) };
  }
  if (Array.isArray(values.parameters) && Array.isArray(changes.parameters)) {
    const names = new Set(changes.parameters.map(({ name }) => name));
    values.parameters = values.parameters.filter(({ name }) => names.has(name));
  }
  return values;
}

/** The former values of the fields that a form has changed.
 * @param {HTMLElement} element with the former values of all its fields in data-before
 * @param {Record<string, any>} sent
 * @returns {Record<string, any>}
 */
export function formerValues(element, sent) {
  const known = JSON.parse(dataOf(element, "before"));
  return { ...valuesIn(known, entriesOf(sent, known)), ...sent.was };
}
