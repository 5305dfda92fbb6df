// Mixtures in the form for a new study: the parameters that are shares of a whole, and its rules.

import { checkedIn, checkIn, fieldIn, fitBoxes } from "./boxes.js";
import { queryAll } from "./elements.js";
import { number } from "./forms.js";
import { area, box, field, text } from "./space.js";
import { figure, numeral } from "./words.js";

const TOTALS = [1, 100];

/** @param {Element} row of a mixture */
const components = (row) => area(row, "parameters");
/** @param {Element} row of a parameter
 * @param {string} name
 */
const numberOf = (row, name) => numeral(text(row, name));

/** The parameters that can be shares: numbers of 0 or more that are chosen.
 * @param {HTMLElement[]} parameters
 */
const shares = (parameters) =>
  parameters.filter(
    (row) =>
      text(row, "kind") === "float" &&
      text(row, "name") &&
      !(numberOf(row, "low") < 0) &&
      !["context", "measured"].some((name) => box(row, name).checked),
  );

/** Offer the current parameters as components of each mixture, and say which of them are always present.
 * @param {HTMLElement[]} rows of mixtures
 * @param {HTMLElement[]} parameters
 */
export function fitMixtures(rows, parameters) {
  for (const row of rows) {
    fitBoxes(components(row), shares(parameters));
    area(row, "always").textContent = presence(row, parameters);
  }
}

/** How many other components the maximum number allows; empty if none is always present.
 * @param {HTMLElement} row of a mixture
 * @param {HTMLElement[]} parameters
 */
function presence(row, parameters) {
  const names = checkedIn(components(row));
  const always = shares(parameters)
    .filter((each) => names.includes(text(each, "name")) && numberOf(each, "low") > 0)
    .map((each) => text(each, "name"));
  if (!always.length) return "";
  const most = numeral(text(row, "at_most"));
  const left = Number.isFinite(most)
    ? ` So ${figure(most)} allows ${figure(Math.max(most - always.length, 0))} others.`
    : "";
  return `${always.join(", ")} ${always.length === 1 ? "is" : "are"} always above 0 and counted.${left}`;
}

/** Check the components that a new mixture probably has, and fill in their sum: all percentages, or all
 * numbers from 0 to 1 or to 100. If these have different units, or no point has this sum, a person checks them.
 * @param {HTMLElement} row of a mixture
 * @param {HTMLElement[]} parameters
 * @param {Set<string>} taken names in other mixtures
 */
export function guessShares(row, parameters, taken) {
  const free = shares(parameters).filter((each) => !taken.has(text(each, "name")) && text(each, "low") !== "");
  const groups = TOTALS.map((total) => free.filter((each) => isShareOf(each, total)));
  const [ofOne, ofHundred] = groups;
  const likely = ofHundred.length >= 2 ? ofHundred : ofOne;
  const total = likely === ofHundred ? TOTALS[1] : TOTALS[0];
  const units = new Set(likely.map((each) => text(each, "unit")));
  const most = likely.reduce((sum, each) => sum + numberOf(each, "high"), 0);
  if (likely.length < 2 || units.size > 1 || most < total) return;
  checkIn(
    components(row),
    likely.map((each) => text(each, "name")),
  );
  field(row, "total").value = total === 1 ? "" : String(total);
}

/** Whether a parameter is probably a share of a total: its range is from 0 to the total or, of 100, its unit is %.
 * @param {HTMLElement} row of a parameter
 * @param {number} total
 */
const isShareOf = (row, total) =>
  (numberOf(row, "low") === 0 && numberOf(row, "high") === total) ||
  (total === 100 && text(row, "unit").startsWith("%"));

/** A mixture for the API.
 * @param {Element} row
 */
export const mixture = (row) => ({
  parameters: checkedIn(components(row)),
  total: number(field(row, "total")),
  at_most: number(field(row, "at_most")),
  least: number(field(row, "least")),
});

/** Fill in the row of a mixture, whose parameters have rows already.
 * @param {HTMLElement} row
 * @param {Record<string, any>} given
 */
export function showMixture(row, given) {
  checkIn(components(row), given.parameters);
  for (const name of ["total", "at_most", "least"]) field(row, name).value = given[name] ?? "";
}

/** A mixture in words; empty as long as it has no components.
 * @param {HTMLElement} row
 */
export function mixtureInWords(row) {
  const [names, total, most, least] = [
    checkedIn(components(row)),
    ...["total", "at_most", "least"].map((name) => text(row, name)),
  ];
  if (!names.length) return "";
  const rules = [most && `at most ${most} of them above 0`, least && `each 0 or at least ${least}`].filter(Boolean);
  return [`Mixture: ${names.join(" + ")} = ${total || "1"}`, ...rules].join(", ");
}

/** The field of an error in a mixture.
 * @param {HTMLElement | undefined} row
 * @param {string} [name]
 * @param {string} [place]
 */
export function fieldOfMixture(row, name, place) {
  if (!row) return undefined;
  if (name === undefined || name === "parameters") return fieldIn(components(row), place);
  return queryAll(row, `[data-part="${CSS.escape(name)}"]`, HTMLElement)[0] ?? fieldIn(components(row), place);
}
