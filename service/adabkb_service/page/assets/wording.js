// Title, names and units of a study, as a person changes them.

import { dataOf, every, one } from "./elements.js";
import { body, number } from "./forms.js";

/** The field for one property of a quantity in a row.
 * @param {HTMLElement} row
 * @param {string} part
 */
const field = (row, part) => one(row, `[data-part="${part}"]`, HTMLInputElement);

/** Let the form send the names and units of quantities and parameters.
 * @param {HTMLFormElement} form
 * @param {import("./data.js").StudyData} data
 */
export function takeWords(form, data) {
  /** @param {string} group */
  const rows = (group) => every(form, `[data-${group}]`, HTMLElement);
  form.made = async () => {
    const { parameters } = await data.study();
    const quantities = Object.create(null);
    for (const row of rows("quantity")) {
      const words = wordsOf(row);
      for (const part of ["digits", "low", "high"]) {
        const value = number(field(row, part));
        if (value !== undefined) words[part] = value;
      }
      if (Object.keys(words).length) quantities[dataOf(row, "quantity")] = words;
    }
    const changed = rows("parameter").flatMap((row) => {
      const found = parameters.find((each) => each.name === row.dataset.parameter);
      if (!found) return [];
      const { label, unit, ...parameter } = found;
      return [{ ...parameter, ...wordsOf(row) }];
    });
    return { ...body(form), quantities, parameters: changed };
  };
  form.fieldOf = (pointer) => {
    if (!/^\/(quantities|parameters)\//.test(pointer)) return undefined;
    const [, group, name, part] = pointer.split("/").map((each) => each.replaceAll("~1", "/").replaceAll("~0", "~"));
    const row =
      group === "quantities"
        ? rows("quantity").find((each) => each.dataset.quantity === name)
        : rows("parameter")[Number(name)];
    return row?.querySelector(`[data-part="${CSS.escape(part ?? "label")}"]`);
  };
}

/** The name and the unit in a row.
 * @param {HTMLElement} row
 */
function wordsOf(row) {
  const words = Object.create(null);
  for (const part of ["label", "unit"]) {
    const text = field(row, part).value.trim();
    if (text !== "") words[part] = text;
  }
  return words;
}
