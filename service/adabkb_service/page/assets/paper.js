// Tables on paper: one that is wider than the sheet is printed as several, below each other. Each of them repeats the
// first column, and no word is broken, except those that are longer than a column should be.

import { createElement, queryAll } from "./elements.js";

const LONG = /\S{25}|.{40}/; // a text with a long word or with many words
const LONG_TEXT = "wordy"; // the class of its cell, which may break the word and has a minimum width

/** The rows of a table that have all columns.
 * @param {HTMLTableElement} table
 */
const rowsOf = (table) => [...table.rows].filter(({ cells }) => cells.length === table.rows[0].cells.length);

/** Leave out the columns that would be empty on paper.
 * @param {HTMLTableElement} table
 */
function hideEmpty(table) {
  const [head, ...rows] = rowsOf(table);
  const isEmpty = (/** @type {HTMLTableCellElement} */ cell) =>
    cell.textContent.trim() === "" ||
    (cell.childElementCount === 1 && cell.querySelector(":scope > :is(.screen, .pill.completed)") !== null);
  for (let i = 1; i < head.cells.length; i++)
    if (rows.length && rows.every(({ cells }) => isEmpty(cells[i])))
      for (const { cells } of [head, ...rows]) cells[i].classList.add("unprinted");
}

/** The columns that fit beside each other, each group with the first one.
 * @param {HTMLTableElement} table as narrow as on paper
 * @param {number} width of the sheet, in pixels
 */
function groups(table, width) {
  const widths = [...table.rows[0].cells].map(({ offsetWidth }) => offsetWidth);
  /** @type {number[][]} */
  const blocks = [];
  let used = Infinity;
  for (let i = 1; i < widths.length; i++) {
    if (!widths[i]) continue; // a column that is not printed
    if (used + widths[i] > width) {
      blocks.push([0]);
      [used] = widths;
    }
    blocks[blocks.length - 1].push(i);
    used += widths[i];
  }
  return blocks;
}

/** Add, after the frame of a table that is too wide for paper, what is printed in its place.
 * @param {HTMLTableElement} table
 * @param {HTMLElement} frame
 * @param {number} width of the sheet, in pixels
 */
function splitTable(table, frame, width) {
  for (const cell of queryAll(table, "th, td", HTMLTableCellElement))
    cell.classList.toggle(LONG_TEXT, LONG.test(cell.textContent.trim()));
  hideEmpty(table);
  table.classList.add("measured");
  const blocks = groups(table, width);
  table.classList.remove("measured");
  if (blocks.length < 2) return;
  const printed = blocks.map((columns) => {
    const body = rowsOf(table).map((row) => {
      const line = createElement("tr", { className: row.className });
      for (const i of columns) line.append(withoutIds(row.cells[i]));
      return line;
    });
    const [head, ...rest] = body;
    return createElement(
      "table",
      { className: table.className },
      createElement("thead", {}, head),
      createElement("tbody", {}, ...rest),
    );
  });
  frame.classList.add("screen");
  frame.after(createElement("div", { className: "printed blocks" }, ...printed));
}

/** A copy of a cell; its IDs would be there twice.
 * @param {HTMLTableCellElement} cell
 */
function withoutIds(cell) {
  const copy = /** @type {HTMLTableCellElement} */ (cell.cloneNode(true));
  for (const each of copy.querySelectorAll("[id]")) each.removeAttribute("id");
  return copy;
}

/** Prepare the tables in a part of the page for paper.
 * @param {ParentNode} part
 * @param {number} width of the sheet, in pixels
 */
export function toPaper(part, width) {
  toScreen(part);
  for (const frame of queryAll(part, ".scroll", HTMLElement)) {
    const table = frame.querySelector("table");
    if (table?.rows.length) splitTable(table, frame, width);
  }
}

/** Remove what was added for paper.
 * @param {ParentNode} part
 */
export function toScreen(part) {
  for (const printed of queryAll(part, ".blocks", HTMLElement)) {
    printed.previousElementSibling?.classList.remove("screen");
    printed.remove();
  }
}
