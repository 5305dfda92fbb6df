// The best compromises of a study with several objectives: the results that no other one dominates, with their points,
// and the points that the model expects to be the best compromises.

import { byId, createElement, query } from "./elements.js";
import { asShown, Scale } from "./scale.js";
import { column, counted, cut, expected, figure, inUnit, measured, ofInterval } from "./words.js";

const MAX_ROWS = 200;

/** The names of the numbers of a result: the objectives first.
 * @param {ShownStudy} study
 * @returns {string[]}
 */
export const quantitiesOf = ({ objectives = [], metrics = [] }) => [
  ...new Set([...objectives.map(({ metric }) => metric), ...metrics]),
];

/** The bounds of a metric in parentheses, after a space; empty without any.
 * @param {ShownStudy} study
 * @param {string} name
 */
export function boundOf({ outcome_constraints: bounds = [], quantities = {} }, name) {
  const bound = bounds.find(({ metric }) => metric === name);
  const ends = Object.entries({ "at least": bound?.lower, "at most": bound?.upper }).flatMap(([words, end]) =>
    end == null ? [] : [`${words} ${measured(end, quantities[name])}`],
  );
  return ends.length ? ` (${ends.join(" and ")})` : "";
}

/** The results at a point that differ from it only in the context.
 * @param {Point} point
 * @param {Result[]} results
 * @param {Pick<ShownStudy, "parameters">} study
 */
export function resultsAt(point, results, { parameters }) {
  const chosen = parameters.filter((each) => !each.context).map(({ name }) => name);
  const keyOf = (/** @type {Point} */ each) => JSON.stringify(chosen.map((name) => each[name]));
  return results.filter((each) => !each.excluded && keyOf(each.parameters) === keyOf(point));
}

/** @type {(text: string, isNumber?: boolean) => HTMLTableCellElement} */
const cell = (text, isNumber = true) => createElement("td", { className: isNumber ? "num" : "" }, text);

/** The cells of the values of a point.
 * @param {ShownStudy} study
 * @param {Point} point
 */
function settings(study, point) {
  const rounded = asShown(study, point);
  return study.parameters
    .filter((each) => each.kind !== "fixed")
    .map((each) => new Scale(each))
    .map((scale) => cell(scale.setting(rounded[scale.name]), scale.isNumeric));
}

/** A link to the page of a result.
 * @param {import("./data.js").StudyData} data
 * @param {{ trial: number | null, seq: number }} result
 */
function linkTo(data, { trial, seq }) {
  const link = createElement("a", {}, trial === null ? `R${seq}` : String(trial));
  link.href = trial === null ? `${data.page}/results/${seq}` : data.trialPage(trial);
  return link;
}

/** How a number of the first objective compares with another one: the best comes first.
 * @param {Front["objectives"][0]} first
 * @returns {(one: number, other: number) => number}
 */
const byFirst =
  ({ direction }) =>
  (one, other) =>
    direction === "maximize" ? other - one : one - other;

/** List them in a table, ordered by the first objective, and state their number and ranges above it.
 * @param {import("./data.js").StudyData} data
 */
export async function listCompromises(data) {
  const [front, study] = await Promise.all([data.front(), data.study()]);
  const { objectives, observed, results } = front;
  const { quantities = {} } = study;
  const table = byId("compromises", HTMLTableElement);
  const [first] = objectives;
  const sorted = [...observed].sort((a, b) => byFirst(first)(a.metrics[first.metric], b.metrics[first.metric]));
  const shown = sorted.slice(0, MAX_ROWS);
  const columns = quantitiesOf(study).map((name) =>
    column(
      shown.map((each) => each.metrics[name]),
      quantities[name],
    ),
  );
  query(table, "tbody", HTMLElement).replaceChildren(
    ...shown.map((each, i) =>
      createElement(
        "tr",
        {},
        createElement("th", { scope: "row", className: "num" }, linkTo(data, { ...each, seq: each.observation })),
        ...columns.map((texts) => cell(texts[i])),
        ...settings(study, each.parameters),
      ),
    ),
  );
  byId("compromises-summary", HTMLElement).replaceChildren(
    ...(observed.length
      ? [createElement("strong", {}, String(observed.length)), ` ${rangesOf(objectives, observed, quantities)}`]
      : [results ? "No result satisfies all bounds yet." : "No results yet."]),
  );
  table.removeAttribute("aria-busy");
  await listExpected(data, front, study);
}

/** List the points that the model expects to be the best compromises, ordered by the first objective.
 * @param {import("./data.js").StudyData} data
 * @param {Front} front
 * @param {ShownStudy} study
 */
async function listExpected(data, { objectives, model }, study) {
  const { quantities = {}, algorithm, parameters, outcome_constraints: bounds = [] } = study;
  const { results } = await data.history();
  const [first] = objectives;
  const sorted = model
    .filter(({ metrics }) => objectives.every(({ metric }) => metrics[metric]))
    .sort((a, b) => byFirst(first)(a.metrics[first.metric].mean, b.metrics[first.metric].mean));
  const isAsked = data.context === undefined && parameters.some(({ context }) => context);
  const table = byId("expected-compromises", HTMLTableElement);
  query(table, "tbody", HTMLElement).replaceChildren(
    ...sorted.slice(0, MAX_ROWS).map((each) => {
      const links = resultsAt(each.parameters, results, study).flatMap((result) => [", ", linkTo(data, result)]);
      const cells = quantitiesOf(study).map((name) => {
        const prediction = each.metrics[name];
        const { unit: _, ...plain } = quantities[name] ?? {};
        return cell(prediction ? expected(ofInterval(cut(prediction, quantities[name]), algorithm), plain) : "–");
      });
      return createElement(
        "tr",
        {},
        createElement("th", { scope: "row", className: "num" }, ...links.slice(1)),
        ...cells,
        ...(bounds.length ? [cell(figure(each.feasible_probability, 2))] : []),
        ...settings(study, each.parameters),
      );
    }),
  );
  byId("expected-table", HTMLElement).hidden = !sorted.length;
  byId("expected-summary", HTMLElement).textContent = isAsked
    ? "Enter the context above to see them."
    : sorted.length
      ? `${counted(sorted.length, "point")}, also in the chart above (diamonds).`
      : "The model expects no best compromises yet.";
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
