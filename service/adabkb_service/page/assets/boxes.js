// Check boxes for some of the parameters of a new study, such as the components of a mixture.

import { differs } from "./choices.js";
import { createElement, queryAll } from "./elements.js";
import { text } from "./space.js";

/** @param {HTMLElement} holder */
const boxes = (holder) => queryAll(holder, "input[type=checkbox]", HTMLInputElement);

/** Create a check box for each parameter. Checked ones stay checked.
 * @param {HTMLElement} holder
 * @param {HTMLElement[]} rows of parameters
 */
export function fitBoxes(holder, rows) {
  const entries = rows.map((row) => [row.dataset.key, text(row, "name")]);
  if (!differs(holder, entries)) return;
  const checked = boxes(holder).filter((box) => box.checked);
  const isChecked = new Set(checked.map((box) => box.dataset.of));
  holder.replaceChildren(
    ...entries.map(([key, name]) => {
      const box = createElement("input", { type: "checkbox", checked: isChecked.has(key) });
      Object.assign(box.dataset, { of: key, name });
      return createElement("label", { className: "check" }, box, ` ${name}`);
    }),
  );
}

/** The names of the checked parameters.
 * @param {HTMLElement} holder
 */
export const checkedIn = (holder) =>
  boxes(holder)
    .filter((box) => box.checked)
    .map((box) => String(box.dataset.name));

/** Check the boxes of parameters by their names, and no others.
 * @param {HTMLElement} holder
 * @param {string[]} names
 */
export function checkIn(holder, names) {
  for (const box of boxes(holder)) box.checked = names.includes(String(box.dataset.name));
}

/** The field of an error about the checked parameters.
 * @param {HTMLElement} holder
 * @param {string} [place] of one of them
 * @returns {HTMLElement | undefined}
 */
export const fieldIn = (holder, place) => boxes(holder).filter((box) => box.checked)[Number(place)] ?? boxes(holder)[0];
