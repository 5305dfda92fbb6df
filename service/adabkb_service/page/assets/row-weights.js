// How likely the rows of a catalogue are to be best, from a table: its first column has the names of rows, the second
// their weights. Rows that it does not name have the weight 1.

import { field } from "./choices.js";
import { Mistyped } from "./forms.js";
import { read, written } from "./table.js";
import { clearer, numeral } from "./words.js";

/** The field of the table.
 * @param {HTMLElement} row
 */
export const fieldOfRowWeights = (row) => field(row, "row-weights");

/** Fill in weights as a table, with tabs between cells.
 * @param {HTMLElement} row
 * @param {Record<string, number>} [given] by the names of rows
 */
export function showRowWeights(row, given) {
  const lines = Object.entries(given ?? {}).map(([name, weight]) => ({ cells: [name, String(weight)] }));
  fieldOfRowWeights(row).value = lines.length ? written({ header: ["row", "weight"], rows: lines }) : "";
}

/** The weights by the names of rows; undefined without a table.
 * @param {HTMLElement} row
 */
export function rowWeights(row) {
  const table = fieldOfRowWeights(row);
  if (table.value.trim() === "") return undefined;
  const { rows } = read(table.value);
  /** @type {Map<string, number>} */
  const weights = new Map();
  for (const { line, cells } of rows) {
    const [name, typed = ""] = cells;
    const weight = numeral(typed);
    if (weights.has(name)) refuse(table, `line ${line}: “${name}” already has a line. Remove one of the two.`);
    if (!Number.isFinite(weight)) refuse(table, `line ${line}: ${clearer(typed) || `“${typed}” is not a number.`}`);
    weights.set(name, weight);
  }
  if (!weights.size)
    refuse(table, "the first line must name the columns, and each other line must have a row and a weight.");
  return Object.fromEntries(weights);
}

/** Show an error of the table.
 * @param {HTMLElement} table
 * @param {string} sentence
 * @returns {never}
 */
function refuse(table, sentence) {
  throw new Mistyped(table, `How likely rows are to be best: ${sentence}`);
}
