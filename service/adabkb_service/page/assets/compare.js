// Studies side by side: the best so far of each in one chart, and what they have come to. The address keeps all
// choices.

import { call, root } from "./calls.js";
import { Chart, colours, common, numbers } from "./charts.js";
import { byId, every, made, one } from "./elements.js";
import { counted, figure, inUnit } from "./words.js";

/** Colours that stay apart for everybody (Okabe and Ito), and dashes where they come again. */
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"];
const DASHES = ["solid", "dashed"];

/**
 * @typedef {object} Compared
 * @property {string} id
 * @property {ShownStudy} study
 * @property {number} count of its results
 * @property {[number, number][]} records
 * @property {undefined} [error]
 */
/** @typedef {{ id: string, error: string }} Unread */

const query = new URLSearchParams(location.search);
const chosen = every(document, "#compare [name=study]:checked", HTMLInputElement).map((each) => each.value);
const isLog = byId("progress-log", HTMLInputElement);
const across = byId("progress-across", HTMLSelectElement);
isLog.checked = query.get("log") === "1";
if (query.get("across") === "share") across.value = "share";

/** Keep what is chosen in the address: somebody who gets it sees the same. */
function keep() {
  const kept = new URLSearchParams(chosen.map((each) => ["study", each]));
  if (isLog.checked) kept.set("log", "1");
  if (across.value !== "results") kept.set("across", across.value);
  history.replaceState(null, "", `${location.pathname}?${kept}`);
}

/** A study with its progress; what went wrong if it cannot be read.
 * @param {string} id
 * @returns {Promise<Compared | Unread>}
 */
async function read(id) {
  const segment = encodeURIComponent(id);
  try {
    const [study, progress] = await Promise.all([
      call("GET", `${root}/v1/studies/${segment}`),
      call("GET", `${root}/studies/${segment}/progress.json`),
    ]);
    return { id, study, ...progress };
  } catch (error) {
    return { id, error: error.message };
  }
}

/** What is to become of the results, in words.
 * @param {ShownStudy} study
 */
const goal = (study) =>
  study.objectives?.length
    ? study.objectives.map((each) => `${each.metric} ${each.direction}d`).join(", ")
    : `${study.quantities?.value?.label ?? "result"} ${study.direction}d`;
/** @param {ShownStudy} study */
const unitOf = (study) => study.quantities?.value?.unit;

/** List the studies with what they have come to.
 * @param {(Compared | Unread)[]} all
 */
function list(all) {
  const rows = all.map((each) => {
    if (each.error !== undefined)
      return made("tr", {}, made("th", { scope: "row" }, each.id), made("td", { colSpan: 5 }, each.error));
    const { id, study, count } = each;
    const { best, gap } = study;
    return made(
      "tr",
      {},
      made("th", { scope: "row" }, made("a", { href: `${root}/studies/${encodeURIComponent(id)}` }, id)),
      made("td", {}, study.state),
      made("td", {}, goal(study)),
      made("td", { className: "num" }, figure(count, 9)),
      made("td", { className: "num strong" }, best ? inUnit(figure(best.value, 6), unitOf(study)) : "–"),
      made("td", { className: "num" }, gap == null ? "–" : inUnit(figure(gap, 3), unitOf(study))),
    );
  });
  one(document, "#compared tbody", HTMLElement).replaceChildren(...rows);
}

/** @type {Promise<(Compared | Unread)[]> | undefined} */
let reading; // what was read: controls draw it anew

const chart = new Chart("progress", async () => {
  keep();
  if (!chosen.length) return { empty: "No study is chosen. Add one above." };
  reading ??= Promise.all(chosen.map(read));
  const all = await reading;
  list(all);
  const drawn = all.filter((each) => each.error === undefined).filter((each) => each.records.length);
  if (!drawn.length)
    return {
      empty: all.every((each) => each.error)
        ? "None of these studies can be read."
        : "None of these studies has a best result yet, or they have several objectives.",
    };
  const ink = colours();
  const isShare = across.value === "share";
  const canBeLog = drawn.every((each) => each.records.every(([, value]) => value > 0));
  isLog.disabled = !canBeLog;
  const place = (/** @type {Compared} */ each, /** @type {number} */ seq) => (isShare ? seq / each.count : seq);
  /** @type {ChartOption} */
  const option = {
    ...common(ink),
    grid: { left: 8, right: 24, top: 56, bottom: 32, containLabel: true },
    xAxis: numbers(ink, {
      name: isShare ? "share of its results" : "result",
      nameLocation: "middle",
      nameGap: 26,
      min: 0,
      ...(isShare ? { max: 1 } : { minInterval: 1 }),
      splitLine: { show: false },
    }),
    yAxis: numbers(ink, { type: canBeLog && isLog.checked ? "log" : "value", scale: true }),
    series: drawn.map((each) => {
      const color = COLOURS[chosen.indexOf(each.id) % COLOURS.length];
      const type = DASHES[Math.floor(chosen.indexOf(each.id) / COLOURS.length)];
      return {
        type: "line",
        name: each.id,
        step: "end",
        showSymbol: each.records.length < 60,
        symbolSize: 5,
        color,
        lineStyle: { width: 2.25, color, type },
        data: [...each.records, ...each.records.slice(-1).map(([, value]) => [each.count, value])].map(
          ([seq, value]) => [place(each, seq), value, seq],
        ),
      };
    }),
  };
  option.legend.type = "scroll";
  option.tooltip = {
    ...option.tooltip,
    trigger: "item",
    formatter: (/** @type {{ seriesName: string, data: number[] }} */ { seriesName, data: [, value, seq] }) =>
      `${seriesName}\nresult ${seq}: ${figure(value, 6)}`,
  };
  const rows = drawn.flatMap((each) => each.records.map(([seq, value]) => [each.id, seq, value]));
  return { option, header: ["study", "result", "best_so_far"], rows, said: said(all, drawn) };
});

/** The chart in words.
 * @param {(Compared | Unread)[]} all
 * @param {Compared[]} drawn
 */
function said(all, drawn) {
  const parts = [counted(drawn.length, "study").replace("studys", "studies")];
  if (new Set(drawn.map(({ study }) => study.direction)).size > 1) parts.push("some minimize and others maximize");
  if (new Set(drawn.map(({ study }) => unitOf(study) ?? "")).size > 1)
    parts.push("their results have different units, so the heights of the lines cannot be compared");
  const others = all.filter((each) => !drawn.some(({ id }) => id === each.id)).map((each) => each.id);
  if (others.length) parts.push(`not drawn: ${others.join(", ")}`);
  return `${parts.join("; ")}.`;
}

chart.due();
