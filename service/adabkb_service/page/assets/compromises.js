// The best compromises of a study with several objectives: the results that no other one dominates, with their points.

import { byId, made, one } from "./elements.js";
import { Scale } from "./scale.js";
import { column, inUnit, measured } from "./words.js";

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
  const plain = (/** @type {string} */ name) => ({ digits: quantities[name]?.digits });
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
  const ranges = objectives.map(({ metric }) => {
    const values = observed.map((each) => each.metrics[metric]);
    const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => measured(value, plain(metric)));
    const { label, unit } = quantities[metric] ?? {};
    return `${label ?? metric} ${inUnit(low === high ? low : `${low} to ${high}`, unit)}`;
  });
  byId("compromises-said", HTMLElement).replaceChildren(
    ...(observed.length ? [made("strong", {}, String(observed.length)), ` ${ranges.join(", ")}`] : ["No results yet."]),
  );
  table.removeAttribute("aria-busy");
}
