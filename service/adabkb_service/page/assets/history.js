// The results in order, the best so far, what the model recommends, and how much better a point may still be.

import {
  allow,
  Chart,
  colours,
  common,
  heightAround,
  hollow,
  mixed,
  NO_LOG,
  numbers,
  roomForLegend,
} from "./charts.js";
import { byId, dataOf } from "./elements.js";
import { Order } from "./order.js";
import { conditions } from "./scale.js";
import { counted, expected, figure, like, measured, numbered, ofInterval, plusMinus, within } from "./words.js";

/** For each phase: a symbol, and a colour that is distinguishable with any colour vision.
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

/** The purpose of a result: the phase of its trial or, without a phase, search, fallback or own.
 * @param {Result} result
 */
const purpose = (result) => result.phase ?? PURPOSES[result.origin ?? ""] ?? "own";

const TOP = 56; // pixels above the grid, for one line of the legend and the name of the axis
const STRIP = 20; // height of the strip of failed trials, in pixels
const MAX_CONDITIONS = 12; // maximum number of values in a tooltip
const POSSIBLE = "#3a9bdc"; // a colour that no point and no line has
const CLOUD = "results, a stronger colour where there are more";
const FAILED = "failed trial, below the axis";
const CROSS = "path://M0 0L10 10M10 0L0 10";

/** @param {import("./data.js").StudyData} data */
export function historyChart(data) {
  const isLog = byId("history-log", HTMLInputElement);
  const hasExpected = byId("history-expected", HTMLInputElement);
  const make = async () => {
    const [known, history, doubted, recommendation, failed] = await Promise.all([
      data.study(),
      data.history(),
      data.doubted(),
      data.recommendation().catch(() => null),
      data.failed().catch(() => []),
    ]);
    const study = data.shown() ? { ...known, gap: null } : known; // the gap is that of the objective
    if (!history.count) return { empty: "No results yet. The chart starts with the first one." };
    const isDense = history.isThinned;
    const density = isDense ? await data.density() : null;
    const ink = colours();
    const counting = history.results.filter((each) => !each.excluded && !doubted.has(each.seq));
    const lost = isDense ? [] : failed;
    const order = new Order(history, lost);
    const below = history.count > 60 ? 56 : 28;
    const end = Math.max(order.end, ...lost.map((each) => order.ofTrial(each.number))) + 1;
    const records = bestLine(study, history, order, doubted);
    const canBeLog = counting.every((each) => each.value > 0);
    allow(isLog, canBeLog, NO_LOG);
    allow(hasExpected, !isDense, "not with so many results");
    /** @type {ChartOption} */
    const option = {
      ...common(ink),
      grid: { left: 8, right: 16, top: TOP, bottom: below, containLabel: true },
      xAxis: numbers(ink, {
        name: order.title,
        nameLocation: "middle",
        nameGap: 26 + (lost.length ? STRIP : 0),
        min: 0,
        max: end,
        minInterval: 1,
        axisLabel: {
          color: ink.muted,
          margin: 8 + (lost.length ? STRIP : 0),
          hideOverlap: true,
          showMaxLabel: false,
          formatter: (/** @type {number} */ at) => order.label(at),
        },
        splitLine: { show: false },
      }),
      yAxis: numbers(ink, {
        type: canBeLog && isLog.checked ? "log" : "value",
        scale: true,
        name: study.quantity.title,
        nameTextStyle: { color: ink.muted, align: "left" },
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
          ? [
              cloud(density, ink.accent),
              ...results(history, order, ink, doubted, ({ value }) => value < density.low || value > density.high),
            ]
          : [
              ...predictions(hasExpected.checked ? counting : [], order, ink),
              ...errors(counting, order),
              ...results(history, order, ink, doubted),
            ]),
        ...bands(study, recommendation, data.shown(), ink, canBeLog && isLog.checked),
        ...(lost.length ? [failures(lost, order, counting[0]?.value ?? 0, ink)] : []),
        bestSoFar(study, records, order, ink),
      ],
    };
    option.legend.data = option.series
      .filter((/** @type {ChartOption} */ { type, name, data: all, markArea }) =>
        type === "custom" ? name === CLOUD || name === FAILED : all.length || markArea,
      )
      .map((/** @type {ChartOption} */ { name, markArea, itemStyle }) =>
        name === FAILED
          ? { name, icon: CROSS }
          : markArea
            ? { name, icon: "rect", itemStyle: ofBand(itemStyle, ink) }
            : name,
      );
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
            : tooltipOf(point?.result, study),
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
    return {
      option,
      height: heightAround("history", option.grid),
      header,
      rows,
      caption: captionOf(study, history, records, density, lost.length, possible(study, recommendation)),
    };
  };
  return new Chart("history", make, {
    select: ({ data: point }) => point?.result?.trial && location.assign(data.trialPage(point.result.trial)),
  });
}

/** The density of results, in a study with too many for separate points; a stronger colour means more.
 * @param {Density} density
 * @param {string} color
 */
export function cloud({ cells }, color, name = CLOUD) {
  const most = Math.log1p(Math.max(...cells.map((cell) => cell[4])));
  return {
    type: "custom",
    name,
    z: 1,
    itemStyle: { color },
    encode: { x: [0, 1], y: [2, 3] },
    data: cells,
    renderItem: (/** @type {unknown} */ _, /** @type {Canvas} */ api) => {
      const [left, bottom] = api.coord([api.value(0) - 0.5, api.value(2)]);
      const [right, top] = api.coord([api.value(1) + 0.5, api.value(3)]);
      const shape = { x: left, y: top, width: Math.max(right - left, 1), height: Math.max(bottom - top, 1) };
      return {
        type: "rect",
        shape,
        style: { fill: color, opacity: 0.08 + (0.82 * Math.log1p(api.value(4))) / most },
      };
    },
  };
}

/** A cell of the density in words.
 * @param {Density["cells"][0]} cell
 * @param {Quantity} quantity
 */
export function aboutCell([first, last, low, high, count], quantity) {
  const among = `${counted(count, "result")} of ${figure(first, 9)} to ${figure(last, 9)}`;
  return `${among}\nbetween ${measured(low, { digits: quantity.digits })} and ${measured(high, quantity)}`;
}

/** The results, by their purposes.
 * @param {ResultHistory} all
 * @param {Order} order
 * @param {Colours} ink
 * @param {Set<number>} doubted
 * @param {(result: Result) => boolean} isShown
 */
function results(all, order, ink, doubted, isShown = () => true) {
  const point = (/** @type {Result} */ result) => ({ value: [order.of(result), result.value], result });
  const isDoubted = (/** @type {Result} */ each) => !each.excluded && doubted.has(each.seq);
  const contradicted = all.results.filter(isDoubted);
  const history = {
    results: all.results.filter((each) => !isDoubted(each) && (each.excluded || each.beyond || isShown(each))),
  };
  /** @type {Record<string, string>} */
  const names = JSON.parse(dataOf(byId("history-expected", HTMLElement), "purposes"));
  /** @type {ChartOption[]} */
  const groups = Object.entries(PHASES).map(([phase, [symbol, color]]) => {
    const ofPhase = history.results.filter((each) => !each.excluded && !each.beyond && purpose(each) === phase);
    return {
      type: "scatter",
      name: names[phase],
      symbol,
      symbolSize: 8,
      z: 3,
      itemStyle: { color, opacity: 0.85 },
      data: ofPhase.map(point),
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
  const others = all.results.filter((each) => !each.excluded && !isDoubted(each)).map(({ value }) => value);
  const [low, high] = others.length ? [Math.min(...others), Math.max(...others)] : [-Infinity, Infinity];
  groups.push({
    type: "scatter",
    name: "contradicted by the others, at the edge if it is beyond",
    symbol: "circle",
    symbolSize: 9,
    itemStyle: hollow(ink.bad),
    data: contradicted.map((result) => ({
      value: [order.of(result), Math.min(Math.max(result.value, low), high)], // so that it does not set the axis
      result,
    })),
  });
  const excluded = history.results.filter((each) => each.excluded);
  groups.push({
    type: "scatter",
    name: "excluded",
    symbol: CROSS,
    symbolSize: 9,
    itemStyle: hollow(ink.muted),
    data: excluded.map(point),
  });
  return groups.filter((group) => group.data.length);
}

/** How a band looks in the legend: as pale as it is drawn.
 * @param {{ color: string }} style
 * @param {Colours} ink
 */
const ofBand = ({ color }, { surface }) => ({ color: mixed(color, surface), borderColor: color, borderWidth: 1 });

/** What is possible according to the model: from its expectation at the recommended point, which its gap bounds, to the
 * best value that is still possible, limited by the natural bounds; null if either is unknown.
 * @param {ShownStudy} study
 * @param {Recommendation | null} recommendation
 * @returns {[number, number] | null}
 */
function possible({ gap, direction, quantity }, recommendation) {
  const mean = recommendation?.model?.mean;
  if (gap === null || mean === undefined) return null;
  return [mean, within(direction === "minimize" ? mean - gap : mean + gap, quantity)];
}

/** Bands: the remaining gain, and the model's prediction at the recommended point.
 * @param {ShownStudy} study
 * @param {Recommendation | null} recommendation
 * @param {string | undefined} metric
 * @param {Colours} ink
 * @param {boolean} isLogScale which has no place for numbers that are not positive
 * @returns {ChartOption[]}
 */
function bands(study, recommendation, metric, ink, isLogScale) {
  const room = possible(study, recommendation);
  const model = metric === undefined ? recommendation?.model : recommendation?.model?.metrics?.[metric];
  const band = (/** @type {string} */ name, /** @type {string} */ color, /** @type {number[]} */ [from, to]) => ({
    type: "line",
    name,
    silent: true,
    itemStyle: { color },
    symbol: "none",
    lineStyle: { opacity: 0 },
    data: [from, to].filter((at) => at > 0 || !isLogScale).map((at) => [0, at]), // so that the axis contains the band
    markArea: { silent: true, itemStyle: { color, opacity: 0.16 }, data: [[{ yAxis: from }, { yAxis: to }]] },
  });
  return [
    ...(room ? [band("still possible", POSSIBLE, room)] : []),
    ...(model && !study.objectives
      ? [
          band(
            "expected at the best point",
            ink.warn,
            [model.lcb ?? model.mean - model.std, model.ucb ?? model.mean + model.std].map((at) =>
              within(at, study.quantity),
            ),
          ),
        ]
      : []),
  ];
}

/** Failed trials, in a strip below the axis: they have no result.
 * @param {TimelineTrial[]} failed
 * @param {Order} order
 * @param {number} level any value on the axis
 * @param {Colours} ink
 * @returns {ChartOption}
 */
function failures(failed, order, level, ink) {
  return {
    type: "custom",
    name: FAILED,
    z: 4,
    itemStyle: hollow(ink.bad),
    encode: { x: 0, y: 1 },
    data: failed.map((each) => ({
      value: [order.ofTrial(each.number), level],
      failed: each,
      result: { trial: each.number },
    })),
    renderItem: (
      /** @type {{ coordSys: { y: number, height: number } }} */ { coordSys },
      /** @type {Canvas} */ api,
    ) => {
      const [x] = api.coord([api.value(0), level]);
      const y = coordSys.y + coordSys.height + STRIP / 2 + 2;
      return {
        type: "path",
        shape: { pathData: "M0 0L10 10M10 0L0 10", x: x - 4, y: y - 4, width: 8, height: 8 },
        style: { fill: "none", stroke: ink.bad, lineWidth: 1.5 },
      };
    },
  };
}

/** A failed trial in words.
 * @param {TimelineTrial} trial
 */
const aboutFailure = ({ number, worker }) => `trial ${number} failed${worker ? `, ${worker}` : ""}`;

/** The places and values of the results that are better than all before them.
 * @param {ShownStudy} study
 * @param {ResultHistory} history
 * @param {Order} order
 * @param {Set<number>} doubted results that do not count
 */
function bestLine(study, history, order, doubted) {
  const isRight = history.records.every(([seq]) => !doubted.has(seq));
  return order.isThinned && isRight ? history.records : inOrder(study, history, order, doubted);
}

/** The line of the best so far, and the bounds.
 * @param {ShownStudy} study
 * @param {[number, number][]} records
 * @param {Order} order
 * @param {Colours} ink
 */
function bestSoFar(study, records, order, ink) {
  const bounds = Object.entries({ "at least": study.bounds?.lower, "at most": study.bounds?.upper });
  const line = [...records];
  const best = line.at(-1)?.[1];
  if (best !== undefined) line.push([order.end, best]);
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
          label: { position: "insideEndTop", color: ink.bad, formatter: `${words} ${measured(at, study.quantity)}` },
        })),
    },
  };
}

/** The places and values of the results that are better than all before them along the axis. Trials may end in another
 * order than they began.
 * @param {ShownStudy} study
 * @param {ResultHistory} history
 * @param {Order} order
 * @param {Set<number>} doubted
 * @returns {[number, number][]}
 */
function inOrder(study, history, order, doubted) {
  const sorted = [...history.results].sort((a, b) => order.of(a) - order.of(b));
  return improving(study, history.records, sorted, doubted).map((each) => [order.of(each), each.value]);
}

/** The results that are better than all before them. Results that are better than the last record do not count.
 * @param {ShownStudy} study
 * @param {[number, number][]} records
 * @param {Result[]} sorted
 * @param {Set<number>} doubted results that do not count
 */
export function improving({ direction }, records, sorted, doubted) {
  if (!direction || !records.length) return [];
  const merit = (/** @type {number} */ value) => (direction === "minimize" ? -value : value);
  const limit = merit(records[records.length - 1][1]);
  /** @type {Result[]} */
  const improvements = [];
  for (const each of sorted) {
    if (each.excluded || each.beyond || doubted.has(each.seq) || merit(each.value) > limit) continue;
    const best = improvements.at(-1);
    if (best === undefined || merit(each.value) > merit(best.value)) improvements.push(each);
  }
  return improvements;
}

/** Bars from one value to another at results.
 * @param {string} name
 * @param {string} color
 * @param {number} width
 * @param {[place: number, low: number, high: number][]} data
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
 * @param {Result[]} results
 * @param {Order} order
 * @param {Colours} ink
 */
function predictions(results, order, ink) {
  /** @type {[number, number, number][]} */
  const known = results.flatMap((each) =>
    each.expected ? [[order.of(each), each.expected.lcb, each.expected.ucb]] : [],
  );
  return known.length ? [bars("expected", ink.muted, 3, known)] : [];
}

/** The standard errors of results.
 * @param {Result[]} results
 * @param {Order} order
 */
function errors(results, order) {
  /** @type {[number, number, number][]} */
  const known = results.flatMap((each) =>
    each.std_error ? [[order.of(each), each.value - each.std_error, each.value + each.std_error]] : [],
  );
  return known.length ? [bars("standard error", "#2f7fc1", 1.5, known)] : [];
}

/** A result in words.
 * @param {Result | undefined} result
 * @param {ShownStudy} study
 */
function tooltipOf(result, study) {
  const { quantity, quantities = {}, algorithm } = study;
  if (!result) return "";
  const lines = [`${numbered(result)}${result.worker ? `, ${result.worker}` : ""}`];
  const kept = result.outside ? " (outside the space)" : result.excluded ? " (excluded)" : "";
  lines.push(`${plusMinus(result.value, result.std_error, quantity)}${kept}`);
  if (result.beyond) {
    const names = result.beyond.map((name) => quantities[name]?.label ?? name);
    lines.push(`violates the bounds of ${names.join(", ")}`);
  }
  if (result.expected) lines.push(`expected ${expected(ofInterval(result.expected, algorithm), quantity)}`);
  return [...lines, ...conditions(study, result.parameters).slice(0, MAX_CONDITIONS)].join("\n");
}

/** The chart in words.
 * @param {ShownStudy} study
 * @param {ResultHistory} history
 * @param {[number, number][]} line of the best so far
 * @param {Density | null} density
 * @param {number} failed
 * @param {[number, number] | null} room
 */
function captionOf(study, { count, records, results }, line, density, failed, room) {
  const best = line.at(-1);
  const record = best && records.find(([, value]) => value === best[1]);
  const result = best && results.find(({ seq, value }) => (record ? seq === record[0] : value === best[1]));
  const excluded = results.filter((each) => each.excluded).length;
  const parts =
    density || !excluded ? [counted(count, "result")] : [`${counted(count, "result")}, ${excluded} excluded`];
  if (failed) parts.push(`${counted(failed, "failed trial")} below the axis`);
  if (best) parts.push(`the best is ${measured(best[1], study.quantity)}${result ? `, ${numbered(result)}` : ""}`);
  if (room && study.gap !== null) {
    const [toward, end] = [study.direction === "minimize" ? "down" : "up", like(room[1], study.gap, study.quantity)];
    parts.push(`shaded: ${toward} to ${end}, than which no point is better according to the model`);
  }
  if (density) parts.push("areas of a stronger colour have more results; points are results far from the others");
  return `${parts.join("; ")}.`;
}
