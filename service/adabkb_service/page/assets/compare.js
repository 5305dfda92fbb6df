// Studies side by side: the charts that a person chooses, and the outcomes of the studies. The address of the page
// keeps all choices. The page shows changes of up to MAX_FOLLOWED studies that are not complete.

import { root } from "./calls.js";
import { applyChoices, keepChoices, showByDefault, showChosenCharts } from "./chosen.js";
import { compared, comparisonCharts, LOADING, learned, name, objectivesOf, titlesOf } from "./comparison-charts.js";
import { progressOf, rangesOf } from "./compromises.js";
import { byId, createElement, query, queryAll } from "./elements.js";
import { printWith } from "./printing.js";
import { STATES } from "./states.js";
import { listenWhileVisible } from "./stream.js";
import { counted, expected, figure, inPoints, meanOf, measured, ofInterval } from "./words.js";

/** The maximum number of studies that the page follows: browsers have six connections to a server, for all tabs. */
const MAX_FOLLOWED = 3;
const SETTLE_MILLISECONDS = 600;
const MIN_MILLISECONDS = 2500;
const SHARE_OF_TIME = 0.1;
const MAX_FAILURES = 5; // in a row, after which a study is read again only after its next event

const chosen = queryAll(document, "#compare [name=study]:checked", HTMLInputElement).map((each) => each.value);

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

/** The best compromises of a study with several objectives, as on its page, and how they became better.
 * @param {import("./comparison-charts.js").Compared} each
 */
function compromisesOf({ study: { quantities = {} }, front, isLearned }) {
  if (!front?.observed.length) return [isLearned ? "–" : LOADING];
  const { observed, objectives } = front;
  const progress = progressOf(front);
  return [
    `${counted(observed.length, "best compromise")}: ${rangesOf(objectives, observed, quantities)}`,
    ...(progress ? [" ", createElement("small", {}, progress)] : []),
  ];
}

/** List the studies with their outcomes.
 * @param {import("./comparison-charts.js").Either[]} all
 */
function list(all) {
  const rows = all.map((each) => {
    if (each.error !== undefined)
      return createElement(
        "tr",
        {},
        createElement("th", { scope: "row" }, each.id),
        createElement("td", { colSpan: 5 }, each.error),
      );
    const { id, name, study, count } = each;
    const { gap, quantity } = study;
    return createElement(
      "tr",
      {},
      createElement(
        "th",
        { scope: "row" },
        createElement("a", { href: `${root}/studies/${encodeURIComponent(id)}` }, name),
      ),
      createElement(
        "td",
        {},
        STATES[
          study.state === "running" && study.reason !== null && study.reason !== "pending_limit"
            ? "ending"
            : study.state
        ],
      ),
      createElement("td", {}, goal(study)),
      createElement(
        "td",
        { className: "num" },
        figure(count, 9),
        ...(study.counts.failed
          ? [createElement("br", {}), createElement("small", {}, `${figure(study.counts.failed, 9)} failed`)]
          : []),
      ),
      createElement(
        "td",
        { className: study.objectives?.length ? "num several" : "num strong" },
        ...(study.objectives?.length ? compromisesOf(each) : [bestOf(each)]),
        ...(each.now
          ? [
              " ",
              createElement("small", {}, `now ${expected(ofInterval(each.now, study.algorithm), quantity)} expected`),
            ]
          : []),
        ...(each.isDoubted
          ? [" ", createElement("small", { className: "doubt" }, "do not rely on it: see its warnings")]
          : []),
      ),
      createElement("td", { className: "num" }, gap == null ? "–" : inPoints(gap, quantity)),
    );
  });
  const table = byId("compared", HTMLTableElement);
  const focused = document.activeElement?.closest("#compared") ? document.activeElement.getAttribute("href") : null;
  query(table, "tbody", HTMLElement).replaceChildren(...rows);
  queryAll(table, "a", HTMLAnchorElement)
    .find((link) => link.getAttribute("href") === focused)
    ?.focus();
}

/** Add what the model of a study says, unless the study has been read again meanwhile.
 * @param {import("./comparison-charts.js").Compared} each
 */
async function learn(each) {
  const { cursor, records } = each;
  const answers = await learned(each);
  if (each.cursor !== cursor) return;
  Object.assign(each, answers);
  list(all);
  if (each.records !== records) for (const chart of ofResults) chart.more(); // without doubtful results
}

/** Show the changes of a study while the page is visible.
 * @param {import("./comparison-charts.js").Compared} each
 */
function follow(each) {
  /** @type {number | null} */
  let timer = null;
  let isStale = false;
  let [readAt, pause] = [0, MIN_MILLISECONDS];
  let failures = 0;
  const read = async () => {
    [isStale, readAt] = [false, Date.now()];
    each.data.changed();
    const latest = await compared(each.id, each.data);
    if (latest.error !== undefined) {
      if (++failures < MAX_FAILURES) isStale = true;
    } else {
      failures = 0;
      const { now, front, isLearned } = each; // until the model answers
      Object.assign(each, latest, { now, front, isLearned });
      name(readable);
      list(all);
      for (const chart of [...ofResults, ...ofModels]) chart.changed();
      await learn(each);
    }
    pause = Math.max(MIN_MILLISECONDS, (Date.now() - readAt) / SHARE_OF_TIME);
    timer = null;
    if (isStale) changed();
  };
  const changed = () => {
    isStale = true;
    if (timer === null) timer = setTimeout(read, Math.max(SETTLE_MILLISECONDS, readAt + pause - Date.now()));
  };
  listenWhileVisible(each.data.api, () => each.cursor, changed, { missed: changed });
}

/** @type {import("./comparison-charts.js").Either[]} */
const all = chosen.map((id) => ({ id, error: LOADING, isLoading: true }));
/** @type {import("./comparison-charts.js").Compared[]} */
const readable = []; // those that have been read, in the same order
showChosenCharts();
applyChoices();
const { ofResults, ofModels } = comparisonCharts(all, readable);
printWith([...ofResults, ...ofModels]);

/** Show the studies as they are known now.
 * @param {import("./charts.js").Chart[]} charts
 */
function show(charts) {
  readable.splice(0, Infinity, ...all.filter((each) => each.error === undefined));
  name(readable);
  list(all);
  for (const chart of charts) chart.more();
}

// First what rests on results, study by study. The models answer later; six of them would use all connections.
list(all);
await Promise.all(
  chosen.map(async (id, i) => {
    all[i] = await compared(id);
    show(ofResults);
  }),
);
if (!chosen.length) show(ofResults);
const several = readable.filter((each) => each.study.objectives?.length);
if (several.length) for (const chart of ["front", "volume"]) showByDefault(chart, true);
if (several.length && several.length === readable.length) {
  showByDefault("progress", false); // they have no single best result
  byId("compared", HTMLElement).classList.add("no-gap"); // nor a bound on what is better than it
}
const select = byId("slice-parameter", HTMLSelectElement);
for (const [name, title] of titlesOf(readable)) select.add(new Option(title, name));
for (const [i, id] of ["front-x", "front-y"].entries()) {
  const axis = byId(id, HTMLSelectElement);
  for (const [name, title] of objectivesOf(readable)) axis.add(new Option(title, name));
  axis.selectedIndex = Math.min(i, axis.length - 1);
}
keepChoices();
for (const chart of ofModels) chart.more();
const unfinished = readable.filter(({ study }) => study.state !== "complete");
for (const each of unfinished.slice(0, MAX_FOLLOWED)) follow(each);
const others = unfinished.slice(MAX_FOLLOWED).map((each) => each.name);
const unfollowed = byId("unfollowed", HTMLElement);
const still = `These studies do not update by themselves: ${others.join(", ")}.`;
unfollowed.textContent = `${still} Load the page again for them.`;
unfollowed.hidden = !others.length;
for (const each of [...readable]) learn(each);
