// Studies side by side: the charts that a person chooses, and the outcomes of the studies. The address of the page
// keeps all choices.

import { root } from "./calls.js";
import { keepChoices } from "./chosen.js";
import { compared, comparisonCharts, titlesOf } from "./comparison-charts.js";
import { byId, every, made, one } from "./elements.js";
import { expected, figure, inPoints, meanOf, measured, ofInterval } from "./words.js";

const chosen = every(document, "#compare [name=study]:checked", HTMLInputElement).map((each) => each.value);

/** @type {Record<string, string>} */
const STATES = { running: "open", paused: "paused", ending: "ending", complete: "complete" };

/** The goal of a study, in words.
 * @param {ShownStudy} study
 */
const goal = (study) =>
  study.objectives?.length
    ? study.objectives
        .map((each) => `${study.quantities?.[each.metric]?.label ?? each.metric} ${each.direction}d`)
        .join(", ")
    : `${study.quantities?.value?.label ?? "result"} ${study.direction}d`;

/** The best result of a study or, if its point was repeated, the mean there.
 * @param {import("./comparison-charts.js").Compared} each
 */
function bestOf({ study: { best, quantity }, repeated }) {
  if (!best) return "–";
  if (!repeated) return measured(best.value, quantity);
  return `${meanOf(repeated.mean, quantity)}, mean of ${repeated.count}`;
}

/** List the studies with their outcomes.
 * @param {import("./comparison-charts.js").Either[]} all
 */
function list(all) {
  const rows = all.map((each) => {
    if (each.error !== undefined)
      return made("tr", {}, made("th", { scope: "row" }, each.id), made("td", { colSpan: 5 }, each.error));
    const { id, name, study, count } = each;
    const { gap, quantity } = study;
    return made(
      "tr",
      {},
      made("th", { scope: "row" }, made("a", { href: `${root}/studies/${encodeURIComponent(id)}` }, name)),
      made(
        "td",
        {},
        STATES[
          study.state === "running" && study.reason !== null && study.reason !== "pending_limit"
            ? "ending"
            : study.state
        ],
      ),
      made("td", {}, goal(study)),
      made("td", { className: "num" }, figure(count, 9)),
      made(
        "td",
        { className: "num strong" },
        bestOf(each),
        ...(each.now
          ? [" ", made("small", {}, `now ${expected(ofInterval(each.now, study.algorithm), quantity)} expected`)]
          : []),
        ...(each.isDoubted ? [" ", made("small", { className: "doubt" }, "do not rely on it: see its warnings")] : []),
      ),
      made("td", { className: "num" }, gap == null ? "–" : inPoints(gap, quantity)),
    );
  });
  one(document, "#compared tbody", HTMLElement).replaceChildren(...rows);
}

const all = await Promise.all(chosen.map(compared));
list(all);
const readable = all.filter((each) => each.error === undefined);
if (readable.length && readable.every((each) => each.study.objectives?.length)) {
  byId("progress", HTMLElement).hidden = true; // they have no single best result
  byId("volume", HTMLElement).hidden = false;
}
const select = byId("slice-parameter", HTMLSelectElement);
for (const [name, title] of titlesOf(readable)) select.add(new Option(title, name));
keepChoices();
for (const chart of comparisonCharts(all)) chart.due();
