// Numbers that describe the values of a choice, from a table: its first column has the values.

import { addChoices, choices, field, fieldOfChoice, fields, text } from "./choices.js";
import { Mistyped } from "./forms.js";
import { read } from "./table.js";
import { clearer, counted, numeral } from "./words.js";

/** @param {Element} row */
const table = (row) => field(row, "descriptors");

/** Give each value of the table a field, unless it has one.
 * @param {HTMLElement} row
 */
export function takeValues(row) {
  const known = choices(row).map(({ typed }) => typed);
  const { header, rows } = tableIn(row);
  const values = rows.filter(({ cells }) => cells.length === header.length).map(({ cells }) => cells[0]);
  for (const value of new Set(values.filter((each) => each !== "" && !known.includes(each)))) {
    if (!fields(row).some((each) => each.value.trim() === "")) addChoices(row);
    const empty = fields(row).find((each) => each.value.trim() === "");
    if (empty) empty.value = value;
  }
}

/** The table of a row. A line that a person adds may have semicolons between its cells, whatever the others have.
 * @param {HTMLElement} row
 */
function tableIn(row) {
  const { header, rows } = read(table(row).value);
  const cellsOf = (/** @type {string[]} */ cells) =>
    cells.length === 1 && header.length > 1 ? cells[0].split(";").map((cell) => cell.trim()) : cells;
  return { header, rows: rows.map(({ line, cells }) => ({ line, cells: cellsOf(cells) })) };
}

/** Fill in descriptors as a table, with semicolons between cells, which a person can type.
 * @param {HTMLElement} row
 * @param {Record<string, number[]> | null} [given]
 */
export function showDescriptors(row, given) {
  const names = Object.keys(given ?? {});
  if (!given || !names.length) return;
  const lines = choices(row).map(({ typed }, i) => [typed, ...names.map((name) => given[name][i])]);
  table(row).value = [[text(row, "name"), ...names], ...lines].map((cells) => cells.map(quoted).join("; ")).join("\n");
}

/** @param {string | number} cell */
const quoted = (cell) => (/["\t\n;]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));

/** The descriptors by their names: a number for each value; undefined without a table.
 * @param {HTMLElement} row
 */
export function descriptors(row) {
  if (table(row).value.trim() === "") return undefined;
  const { header, rows } = tableIn(row);
  const names = header.slice(1);
  if (!names.length || !rows.length)
    refuse(row, "the first line must name the columns, and each other line must have a value and its numbers.");
  if (names.includes("")) refuse(row, "the first line must name each column.");
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) refuse(row, `the first line names the column ${twice} twice. Remove one of the two.`);
  const lines = new Map();
  for (const { line, cells } of rows) {
    if (cells.length !== header.length)
      refuse(
        row,
        `line ${line} has ${counted(cells.length, "cell")}, but the first line has ${header.length}. ` +
          "Separate the cells as in the first line.",
      );
    if (lines.has(cells[0])) refuse(row, `line ${line}: “${cells[0]}” already has a line. Remove one of the two.`);
    lines.set(cells[0], { line, cells });
  }
  const known = choices(row).map(({ typed }) => typed);
  const strange = [...lines.keys()].find((value) => !known.includes(value));
  if (strange !== undefined) refuse(row, `“${strange}” is not among the values. Add it to them, or remove its line.`);
  const described = known.map(
    (value) => lines.get(value) ?? refuse(row, `“${value}” has no line. Add one, or remove the value.`),
  );
  return Object.fromEntries(names.map((name, i) => [name, described.map((each) => numberIn(row, each, name, i + 1))]));
}

/** The number in a cell.
 * @param {HTMLElement} row
 * @param {{ line: number, cells: string[] }} described
 * @param {string} name of the column
 * @param {number} place of the cell
 */
function numberIn(row, { line, cells }, name, place) {
  const number = numeral(cells[place] ?? "");
  const cell = cells[place] ?? "";
  if (!Number.isFinite(number))
    refuse(row, `line ${line}, column ${name}: ${clearer(cell) || `“${cell}” is not a number.`}`);
  return number;
}

/** Show the errors of the table.
 * @param {HTMLElement} row
 * @param {string} sentence
 * @returns {never}
 */
function refuse(row, sentence) {
  throw new Mistyped(table(row), `Numbers that describe the values: ${sentence}`);
}

/** The field of an error in the descriptors.
 * @param {HTMLElement} row
 */
export const fieldOfDescriptors = (row) => (table(row).value.trim() === "" ? fieldOfChoice(row) : table(row));
