// The parameters that are equal on a plate, in the form for a new study: a check box for each parameter that can be.

import { differs } from "./choices.js";
import { byId, every, made } from "./elements.js";
import { text } from "./space.js";

const holder = byId("shared", HTMLElement);
const boxes = () => every(holder, "input", HTMLInputElement);

/** The rows of the parameters that vary, and that are active at every point.
 * @param {HTMLElement[]} rows
 */
const offered = (rows) =>
  rows.filter((row) => text(row, "kind") !== "fixed" && text(row, "name") && !row.querySelector(".condition"));

/** Create a check box for each current parameter. Checked ones stay checked.
 * @param {HTMLElement[]} rows of parameters
 */
export function fitShared(rows) {
  const named = offered(rows).map((row) => [row.dataset.key, text(row, "name")]);
  if (!differs(holder, named)) return;
  const checked = boxes().filter((box) => box.checked);
  const isChecked = new Set(checked.map((box) => box.dataset.of));
  holder.replaceChildren(
    ...named.map(([key, name]) => {
      const box = made("input", { type: "checkbox", checked: isChecked.has(key) });
      Object.assign(box.dataset, { of: key, named: name });
      return made("label", { className: "check" }, box, ` ${name}`);
    }),
  );
}

/** The names of the parameters that are equal on a plate. */
export const shared = () =>
  boxes()
    .filter((box) => box.checked)
    .map((box) => String(box.dataset.named));

/** Check the boxes of parameters by their names.
 * @param {string[]} names
 */
export function showShared(names) {
  for (const box of boxes()) box.checked = names.includes(String(box.dataset.named));
}

/** The field of an error about the parameters that are equal on a plate.
 * @param {string} [place] of one of them
 * @returns {HTMLElement | undefined}
 */
export const fieldOfShared = (place) => boxes().filter((box) => box.checked)[Number(place)] ?? boxes()[0];
