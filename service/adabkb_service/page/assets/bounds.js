// Bounds of metrics of a study, as a person changes them.

import { dataOf, query, queryAll } from "./elements.js";
import { body, number } from "./forms.js";

/** The field for one bound in a row.
 * @param {HTMLElement} row
 * @param {string} part
 */
const field = (row, part) => query(row, `[data-part="${part}"]`, HTMLInputElement);

/** The number in a field; exact if it is unchanged, and undefined if the field is empty.
 * @param {HTMLInputElement} element
 */
const exact = (element) =>
  element.value === element.defaultValue && element.value !== ""
    ? JSON.parse(dataOf(element, "exact"))
    : number(element);

/** Let the form send the bounds of all metrics, if one was changed. The server refuses them, and a rule of early
 * stopping, if another person has changed them since.
 * @param {HTMLFormElement} form
 */
export function takeBounds(form) {
  const rows = queryAll(form, "[data-bound]", HTMLElement);
  /** @param {HTMLElement} row */
  const boundsOf = (row) => {
    const bounds = Object.create(null);
    for (const part of ["lower", "upper"]) {
      const value = exact(field(row, part));
      if (value !== undefined) bounds[part] = value;
    }
    return bounds;
  };
  const bounded = () => rows.filter((row) => Object.keys(boundsOf(row)).length > 0);
  const fields = rows.flatMap((row) => queryAll(row, "input", HTMLInputElement));
  form.requestBody = async () => {
    const outcome_constraints = bounded().map((row) => ({ metric: dataOf(row, "bound"), ...boundsOf(row) }));
    const isChanged = fields.some((each) => each.value !== each.defaultValue);
    const sent = { ...body(form), ...(isChanged ? { outcome_constraints } : {}) };
    const before = JSON.parse(dataOf(form, "before"));
    return { ...sent, was: Object.fromEntries(Object.keys(sent).map((name) => [name, before[name] ?? null])) };
  };
  form.fieldOf = (pointer) => {
    const [, group, place, part] = pointer.split("/");
    if (group !== "outcome_constraints") return undefined;
    const row = bounded()[Number(place)];
    return row?.querySelector(`[data-part="${CSS.escape(part === "lower" ? "lower" : "upper")}"]`);
  };
}
