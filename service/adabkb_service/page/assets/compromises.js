// The best compromises of a study with several objectives: the results that no other one dominates, with their points.

import { byId, made, one } from "./elements.js";
import { Scale } from "./scale.js";
import { column, counted, inUnit, measured } from "./words.js";

const MAX_ROWS = 200;

/** List them in a table, ordered by the first objective, and state their number and ranges above it.
 * @param {import("./data.js").StudyData} data
 */
export async function listCompromises(data) {
  const [{ objectives, observed }, { parameters, quantities = {} }] = await Promise.all([data.front(), data.study()]);
  const table = byId("compromises", HTMLTableElement);
  const scales = parameters.filter((each) => each.kind !== "fixed").map((each) => new Scale(each));
  const [first] = objectives;
  const sign = first.direction === "maximize" ? -1 : 1;
  const rows = [...observed].sort((a, b) => sign * (a.metrics[first.metric] - b.metrics[first.metric]));
  const cell = (/** @type {string} */ text, isNumber = true) => made("td", { className: isNumber ? "num" : "" }, text);
  const shown = rows.slice(0, MAX_ROWS);
  const columns = objectives.map(({ metric }) =>
    column(
      shown.map((each) => each.metrics[metric]),
      quantities[metric],
    ),
  );
  one(table, "tbody", HTMLElement).replaceChildren(
    ...shown.map((each, i) => {
      const link = made("a", {}, each.trial === null ? "own" : String(each.trial));
      link.href = each.trial === null ? `${data.page}/results/${each.observation}` : data.trialPage(each.trial);
      return made(
        "tr",
        {},
        made("th", { scope: "row", className: "num" }, link),
        ...columns.map((texts) => cell(texts[i])),
        ...scales.map((scale) => cell(scale.setting(each.parameters[scale.name]), scale.isNumeric)),
      );
    }),
  );
  byId("compromises-said", HTMLElement).replaceChildren(
    ...(observed.length
      ? [made("strong", {}, String(observed.length)), ` ${rangesOf(objectives, observed, quantities)}`]
      : ["No results yet."]),
  );
  table.removeAttribute("aria-busy");
}

/** The ranges of the objectives among the best compromises.
 * @param {Front["objectives"]} objectives
 * @param {Front["observed"]} observed at least one
 * @param {Record<string, Quantity>} quantities
 */
export function rangesOf(objectives, observed, quantities) {
  const ranges = objectives.map(({ metric }) => {
    const { label, unit, digits } = quantities[metric] ?? {};
    const values = observed.map((each) => each.metrics[metric]);
    const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => measured(value, { digits }));
    return `${label ?? metric} ${inUnit(low === high ? low : `${low} to ${high}`, unit)}`;
  });
  return ranges.join(", ");
}

/** How the best compromises became better, in words; empty before the first one.
 * @param {Front} front
 */
export function progressOf({ history }) {
  const last = history.at(-1);
  return last
    ? `${counted(history.length, "better compromise")} so far, the last one with result ${last.observation}`
    : "";
}
