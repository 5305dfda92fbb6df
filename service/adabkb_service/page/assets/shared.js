// The parameters that are equal on a plate, in the form for a new study: a check box for each parameter that can be.

import { checkedIn, checkIn, fieldIn, fitBoxes } from "./boxes.js";
import { byId } from "./elements.js";
import { text } from "./space.js";

const holder = byId("shared", HTMLElement);

/** Create a check box for each parameter that varies and is active at every point. Checked ones stay checked.
 * @param {HTMLElement[]} rows of parameters
 */
export const fitShared = (rows) =>
  fitBoxes(
    holder,
    rows.filter((row) => text(row, "kind") !== "fixed" && text(row, "name") && !row.querySelector(".condition")),
  );

/** The names of the parameters that are equal on a plate. */
export const shared = () => checkedIn(holder);

/** Check the boxes of parameters by their names.
 * @param {string[]} names
 */
export const showShared = (names) => checkIn(holder, names);

/** The field of an error about the parameters that are equal on a plate.
 * @param {string} [place] of one of them
 */
export const fieldOfShared = (place) => fieldIn(holder, place);
