// The results in order, the best so far, what the model recommends, and how much better a point may still be.

import { Chart, colours, common, numbers, roomForLegend } from "./charts.js";
import { byId, dataOf } from "./elements.js";
import { conditions } from "./scale.js";
import { counted, difference, figure, inUnit, measured, plusMinus, within } from "./words.js";

/** For each phase: a symbol, and a colour that stays apart from the others for everybody.
 * @type {Record<string, [string, string]>}
 */
const PHASES = {
  start: ["circle", "#8b9199"],
  search: ["circle", "#2f7fc1"],
  repeat: ["arrow", "#b5483a"],
  polish: ["diamond", "#13a07a"],
  explore: ["triangle", "#dd8f00"],
  restart: ["rect", "#c66a9b"],
  sample: ["circle", "#dd8f00"],
  fallback: ["rect", "#8b9199"],
  own: ["roundRect", "#9a8cf0"],
};

/** @type {Record<string, string>} */
const PURPOSES = { policy: "search", fallback: "fallback" };

/** The purpose of a result: the phase of its trial; without one: searched, quasi-random, or a person's own point.
 * @param {Result} result
 */
const purpose = (result) => result.phase ?? PURPOSES[result.origin ?? ""] ?? "own";

const TOP = 56; // of the grid, in pixels, below one line of the legend and the name of the axis
const MAX_CONDITIONS = 12; // in a tooltip
const CLOUD = "results, darker where there are more";

/** @param {import("./data.js").StudyData} data */
export function historyChart(data) {
  const isLog = byId("history-log", HTMLInputElement);
  const hasExpected = byId("history-expected", HTMLInputElement);
  const make = async () => {
    const [known, history, recommendation, failed] = await Promise.all([
      data.study(),
      data.history(),
      data.recommendation().catch(() => null),
      data.failed().catch(() => []),
    ]);
    const study = data.shown() ? { ...known, gap: null } : known; // which is of the objective
    if (!history.count) return { empty: "No results yet. The chart starts with the first one." };
    const isDense = history.isThinned;
    const density = isDense ? await data.density() : null;
    const ink = colours();
    const counting = history.results.filter((each) => !each.excluded);
    const canBeLog = counting.every((each) => each.value > 0);
    isLog.disabled = !canBeLog;
    hasExpected.disabled = isDense;
    /** @type {ChartOption} */
    const option = {
      ...common(ink),
      grid: { left: 8, right: 16, top: TOP, bottom: history.count > 60 ? 56 : 28, containLabel: true },
      xAxis: numbers(ink, {
        name: "result",
        nameLocation: "middle",
        nameGap: 26,
        min: 0,
        max: history.count + 1,
        minInterval: 1,
        splitLine: { show: false },
      }),
      yAxis: numbers(ink, {
        type: canBeLog && isLog.checked ? "log" : "value",
        scale: true,
        ...(study.quantity.label || study.quantity.unit
          ? { name: study.quantity.title, nameTextStyle: { color: ink.muted, align: "left" } }
          : {}),
      }),
      dataZoom:
        history.count > 60
          ? [
              { type: "inside" },
              { type: "slider", height: 16, bottom: 4, borderColor: ink.line, textStyle: { color: ink.muted } },
            ]
          : [],
      series: [
        ...(density
          ? [cloud(density, ink), ...results(history, ink, ({ value }) => value < density.low || value > density.high)]
          : [...expected(hasExpected.checked ? counting : [], ink), ...errors(counting), ...results(history, ink)]),
        ...bands(study, history, recommendation, data.shown(), ink),
        ...(isDense ? [] : failures(failed, history, ink)),
        bestSoFar(study, history, ink),
      ],
    };
    option.legend.data = option.series
      .filter((/** @type {ChartOption} */ { type, name, data: all, markArea }) =>
        type === "custom" ? name === CLOUD && all.length : all.length || markArea,
      )
      .map((/** @type {ChartOption} */ { name, markArea }) => (markArea ? { name, icon: "rect" } : name));
    option.grid.top += roomForLegend(
      "history",
      option.legend.data.map((/** @type {string | { name: string }} */ each) =>
        typeof each === "string" ? each : each.name,
      ),
    );
    option.tooltip = {
      ...option.tooltip,
      formatter: (/** @type {{ seriesName: string, data: any }} */ { seriesName, data: point }) =>
        point?.failed
          ? aboutFailure(point.failed)
          : seriesName === CLOUD
            ? aboutCell(point, study.quantity)
            : told(point?.result, study),
    };
    const header = [
      "result",
      "trial",
      "value",
      "std_error",
      "excluded",
      "phase",
      "worker",
      "expected_mean",
      "expected_lcb",
      "expected_ucb",
      "observed_at",
    ];
    const rows = history.results.map((each) => [
      each.seq,
      each.trial,
      each.value,
      each.std_error,
      each.excluded,
      each.phase,
      each.worker,
      each.expected?.mean,
      each.expected?.lcb,
      each.expected?.ucb,
      each.observed_at,
    ]);
    return { option, header, rows, said: said(study, history, density) };
  };
  return new Chart("history", make, {
    select: ({ data: point }) => point?.result?.trial && location.assign(data.trialPage(point.result.trial)),
  });
}

/** The density of results, in a study with too many for separate points; darker means more.
 * @param {Density} density
 * @param {Colours} ink
 */
function cloud({ cells }, ink) {
  const most = Math.log1p(Math.max(...cells.map((cell) => cell[4])));
  return {
    type: "custom",
    name: CLOUD,
    z: 1,
    itemStyle: { color: ink.accent },
    encode: { x: [0, 1], y: [2, 3] },
    data: cells,
    renderItem: (/** @type {unknown} */ _, /** @type {Canvas} */ api) => {
      const [left, bottom] = api.coord([api.value(0) - 0.5, api.value(2)]);
      const [right, top] = api.coord([api.value(1) + 0.5, api.value(3)]);
      const shape = { x: left, y: top, width: Math.max(right - left, 1), height: Math.max(bottom - top, 1) };
      return {
        type: "rect",
        shape,
        style: { fill: ink.accent, opacity: 0.08 + (0.82 * Math.log1p(api.value(4))) / most },
      };
    },
  };
}

/** A cell of the density in words.
 * @param {Density["cells"][0]} cell
 * @param {Quantity} quantity
 */
function aboutCell([first, last, low, high, count], quantity) {
  const among = `${counted(count, "result")} of ${figure(first, 9)} to ${figure(last, 9)}`;
  return `${among}\nbetween ${figure(low)} and ${measured(high, quantity)}`;
}

/** The results, by their purposes.
 * @param {ResultHistory} all
 * @param {Colours} ink
 * @param {(result: Result) => boolean} isShown
 */
function results(all, ink, isShown = () => true) {
  const history = { results: all.results.filter((each) => each.excluded || each.beyond || isShown(each)) };
  /** @type {Record<string, string>} */
  const names = JSON.parse(dataOf(byId("history-expected", HTMLElement), "purposes"));
  /** @type {ChartOption[]} */
  const groups = Object.entries(PHASES).map(([phase, [symbol, color]]) => {
    const found = history.results.filter((each) => !each.excluded && !each.beyond && purpose(each) === phase);
    return {
      type: "scatter",
      name: names[phase],
      symbol,
      symbolSize: 8,
      z: 3,
      itemStyle: { color, opacity: 0.85 },
      data: found.map(point),
    };
  });
  const beyond = history.results.filter((each) => !each.excluded && each.beyond);
  groups.push({
    type: "scatter",
    name: "violates a bound",
    symbol: "triangle",
    symbolSize: 9,
    itemStyle: hollow(ink.bad),
    data: beyond.map(point),
  });
  const excluded = history.results.filter((each) => each.excluded);
  groups.push({
    type: "scatter",
    name: "excluded",
    symbol: "path://M0 0L10 10M10 0L0 10",
    symbolSize: 9,
    itemStyle: hollow(ink.muted),
    data: excluded.map(point),
  });
  return groups.filter((group) => group.data.length);
}

/** @param {string} color */
const hollow = (color) => ({ color: "none", borderColor: color, borderWidth: 1.5 });
/** @param {Result} result */
const point = (result) => ({ value: [result.seq, result.value], result });

/** The largest possible value, limited by the natural bounds.
 * @param {ShownStudy} study
 * @param {number} best
 * @param {number} gap
 */
const farthest = (study, best, gap) => within(study.direction === "minimize" ? best - gap : best + gap, study.quantity);

/** Bands: the remaining gain, and the model's prediction at the recommended point.
 * @param {ShownStudy} study
 * @param {ResultHistory} history
 * @param {Recommendation | null} recommendation
 * @param {string | undefined} metric
 * @param {Colours} ink
 * @returns {ChartOption[]}
 */
function bands(study, { records }, recommendation, metric, ink) {
  const best = records.at(-1)?.[1];
  const model = metric === undefined ? recommendation?.model : recommendation?.model?.metrics?.[metric];
  const band = (/** @type {string} */ name, /** @type {string} */ color, /** @type {number[]} */ [from, to]) => ({
    type: "line",
    name,
    silent: true,
    itemStyle: { color },
    data: [],
    markArea: { silent: true, itemStyle: { color, opacity: 0.16 }, data: [[{ yAxis: from }, { yAxis: to }]] },
  });
  return [
    ...(study.gap !== null && best !== undefined
      ? [band("possible gain", ink.accent, [best, farthest(study, best, study.gap)])]
      : []),
    ...(model && !study.objectives
      ? [
          band(
            "expected at the best point",
            ink.warn,
            [model.mean - model.std, model.mean + model.std].map((at) => within(at, study.quantity)),
          ),
        ]
      : []),
  ];
}

/** Failed trials, at the lower edge, each after the results known at that time.
 * @param {TimelineTrial[]} failed
 * @param {ResultHistory} history
 * @param {Colours} ink
 * @returns {ChartOption[]}
 */
function failures(failed, { results: found }, ink) {
  if (!failed.length) return [];
  const times = found.map((each) => [Date.parse(each.observed_at), each.seq]).sort((a, b) => a[0] - b[0]);
  const behind = (/** @type {string | null} */ at) =>
    times.findLast(([time]) => time <= Date.parse(at ?? ""))?.[1] ?? 0;
  const lowest = Math.min(...found.map((each) => each.value));
  return [
    {
      type: "scatter",
      name: "failed trial",
      symbol: "path://M0 0L10 10M10 0L0 10",
      symbolSize: 8,
      z: 4,
      itemStyle: hollow(ink.bad),
      data: failed.map((each) => ({
        value: [behind(each.finished_at) + 0.5, lowest],
        failed: each,
        result: { trial: each.number },
      })),
    },
  ];
}

/** A failed trial in words.
 * @param {TimelineTrial} trial
 */
const aboutFailure = ({ number, worker }) => `trial ${number} failed${worker ? `, ${worker}` : ""}`;

/** The line of the best so far, and the bounds.
 * @param {ShownStudy} study
 * @param {ResultHistory} history
 * @param {Colours} ink
 */
function bestSoFar(study, { records, count }, ink) {
  const bounds = Object.entries({ "at least": study.bounds?.lower, "at most": study.bounds?.upper });
  const line = records.map(([seq, value]) => [seq, value]);
  const best = line.at(-1)?.[1];
  if (best !== undefined) line.push([count, best]);
  return {
    type: "line",
    name: "best so far",
    step: "end",
    symbol: "none",
    silent: true,
    z: 2,
    lineStyle: { width: 2.5, color: ink.accent },
    itemStyle: { color: ink.accent },
    data: line,
    markLine: {
      silent: true,
      symbol: "none",
      lineStyle: { color: ink.bad, type: "dashed", width: 1.5 },
      data: bounds
        .filter(([, at]) => at != null)
        .map(([words, at]) => ({
          yAxis: at,
          label: { position: "insideEndTop", color: ink.bad, formatter: `${words} ${figure(at)}` },
        })),
    },
  };
}

/** Bars from one value to another at results.
 * @param {string} name
 * @param {string} color
 * @param {number} width
 * @param {[seq: number, low: number, high: number][]} data
 * @returns {ChartOption}
 */
function bars(name, color, width, data) {
  return {
    type: "custom",
    name,
    silent: true,
    z: 1,
    itemStyle: { color },
    encode: { x: 0, y: [1, 2] },
    data,
    renderItem: (/** @type {unknown} */ _, /** @type {Canvas} */ api) => {
      const [x, bottom] = api.coord([api.value(0), api.value(1)]);
      const [, top] = api.coord([api.value(0), api.value(2)]);
      return {
        type: "line",
        shape: { x1: x, y1: bottom, x2: x, y2: top },
        style: { stroke: color, lineWidth: width, opacity: 0.45 },
      };
    },
  };
}

/** The model's predictions of results.
 * @param {Result[]} found
 * @param {Colours} ink
 */
function expected(found, ink) {
  /** @type {[number, number, number][]} */
  const known = found.flatMap((each) => (each.expected ? [[each.seq, each.expected.lcb, each.expected.ucb]] : []));
  return known.length ? [bars("expected", ink.muted, 3, known)] : [];
}

/** The standard errors of results.
 * @param {Result[]} found
 */
function errors(found) {
  /** @type {[number, number, number][]} */
  const known = found.flatMap(({ seq, value, std_error: error }) =>
    error ? [[seq, value - error, value + error]] : [],
  );
  return known.length ? [bars("standard error", "#2f7fc1", 1.5, known)] : [];
}

/** A result in words.
 * @param {Result | undefined} result
 * @param {ShownStudy} study
 */
function told(result, { quantity, parameters }) {
  if (!result) return "";
  const lines = [
    `result ${result.seq}${result.trial ? `, trial ${result.trial}` : ""}${result.worker ? `, ${result.worker}` : ""}`,
  ];
  const kept = result.outside ? " (outside the space)" : result.excluded ? " (excluded)" : "";
  lines.push(`${plusMinus(result.value, result.std_error, quantity)}${kept}`);
  if (result.beyond) lines.push(`violates its bound: ${result.beyond.join(", ")}`);
  if (result.expected) lines.push(`expected ${plusMinus(result.expected.mean, result.expected.std, quantity)}`);
  return [...lines, ...conditions(parameters, result.parameters).slice(0, MAX_CONDITIONS)].join("\n");
}

/** The chart in words.
 * @param {ShownStudy} study
 * @param {ResultHistory} history
 * @param {Density | null} density
 */
function said(study, { count, records, results: found }, density) {
  const best = records.at(-1);
  const trial = best && found.find(({ seq }) => seq === best[0])?.trial;
  const parts = [counted(count, "result")];
  if (best)
    parts.push(`the best is ${measured(best[1], study.quantity)}, ${trial ? `trial ${trial}` : `result ${best[0]}`}`);
  if (study.gap !== null) {
    const gain = best ? Math.abs(farthest(study, best[1], study.gap) - best[1]) : study.gap;
    parts.push(`further trials will probably gain less than ${inUnit(difference(gain), study.quantity.unit)}`);
  }
  if (density) parts.push("darker areas have more results; points are results far from the others");
  return `${parts.join("; ")}.`;
}
