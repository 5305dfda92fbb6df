// Title, names and units of a study, as a person changes them.

import { call } from "./calls.js";
import { conflict, conflictsIn } from "./conflicts.js";
import { dataOf, queryAll } from "./elements.js";
import { body, isChanged, Mistakes, number } from "./forms.js";
import { same } from "./kept.js";

/** @typedef {import("./forms.js").Mistyped} Mistyped */

/** The parts of a quantity that are numbers. */
const NUMBERS = new Set(["digits", "low", "high"]);

/** What a person has typed into a field: a text, or a number; undefined if the field is empty.
 * @param {HTMLInputElement} input
 */
function typed(input) {
  if (NUMBERS.has(input.dataset.part ?? "")) return number(input);
  return input.value.trim() || undefined;
}

/** Change the parts of a quantity or a parameter that a person has changed in its row. A part that another person has
 * changed since the form was opened is an error.
 * @param {HTMLElement} row
 * @param {Record<string, any>} was as it was then
 * @param {Record<string, any>} stored as it is now
 * @param {Mistyped[]} conflicts with the errors added
 */
function change(row, was, stored, conflicts) {
  const words = { ...stored };
  for (const input of queryAll(row, "[data-part]", HTMLInputElement).filter(isChanged)) {
    const part = dataOf(input, "part");
    const [before, now, value] = [was[part] ?? null, stored[part] ?? null, typed(input)];
    was[part] = now;
    if (!same(before, now) && !same(now, value ?? null)) conflicts.push(conflict(input, now));
    if (value === undefined) delete words[part];
    else words[part] = value;
  }
  return words;
}

/** Let the form send the names and units of quantities and parameters that a person has changed.
 * @param {HTMLFormElement} form
 * @param {import("./data.js").StudyData} data
 */
export function takeWords(form, data) {
  /** @param {string} group */
  const rows = (group) => queryAll(form, `[data-${group}]`, HTMLElement);
  const changed = (/** @type {string} */ group) =>
    rows(group).filter((row) => queryAll(row, "[data-part]", HTMLInputElement).some(isChanged));
  form.requestBody = async () => {
    const sent = body(form);
    const [ofQuantities, ofParameters] = [changed("quantity"), changed("parameter")];
    if (!ofQuantities.length && !ofParameters.length) return sent;
    const was = JSON.parse(dataOf(form, "before"));
    const now = await call("GET", data.api);
    const conflicts = conflictsIn(form, was, now, sent);
    if (ofQuantities.length) {
      const quantities = { ...now.quantities };
      for (const row of ofQuantities) {
        const name = dataOf(row, "quantity");
        was.quantities[name] ??= {};
        quantities[name] = change(row, was.quantities[name], quantities[name] ?? {}, conflicts);
        if (!Object.keys(quantities[name]).length) delete quantities[name];
      }
      Object.assign(sent, { quantities });
      sent.was = { ...sent.was, quantities: now.quantities ?? {} };
    }
    const known = ofParameters.flatMap((row) => {
      const parameter = now.parameters.find((/** @type {Parameter} */ each) => each.name === row.dataset.parameter);
      return parameter ? [{ row, parameter }] : [];
    });
    if (known.length) {
      sent.parameters = known.map(({ row, parameter }) => {
        const before = was.parameters.find((/** @type {Parameter} */ each) => each.name === parameter.name) ?? {};
        return change(row, before, parameter, conflicts);
      });
      sent.was = { ...sent.was, parameters: known.map(({ parameter }) => parameter) };
    }
    form.dataset.before = JSON.stringify(was);
    if (conflicts.length) throw new Mistakes(conflicts);
    return sent;
  };
  form.fieldOf = (pointer) => {
    if (!/^\/(quantities|parameters)\//.test(pointer)) return undefined;
    const [, group, name, part] = pointer.split("/").map((each) => each.replaceAll("~1", "/").replaceAll("~0", "~"));
    const row =
      group === "quantities"
        ? rows("quantity").find((each) => each.dataset.quantity === name)
        : changed("parameter")[Number(name)];
    return row?.querySelector(`[data-part="${CSS.escape(part ?? "label")}"]`);
  };
}
