// The charts that compare studies. Each study has its own colour in all of them.

import { call, pause } from "./calls.js";
import { messageOf } from "./caught.js";
import { allow, apart, Chart, colours, common, hollow, NO_LOG, numbers } from "./charts.js";
import { progressOf } from "./compromises.js";
import { StudyData } from "./data.js";
import { byId } from "./elements.js";
import { aboutCell, cloud, improving } from "./history.js";
import { counted, expected, figure, inUnit, measured, numbered, ofInterval, shown, titled } from "./words.js";

/**
 * @typedef {object} Compared
 * @property {string} id
 * @property {string} name the title of the study or, without one, its ID
 * @property {StudyData} data
 * @property {ShownStudy} study
 * @property {import("./scale.js").Scale[]} scales
 * @property {number} count of its results
 * @property {string} cursor of the first event that is not shown
 * @property {[number, number][]} records without those that the other results contradict
 * @property {boolean} isDoubted whether the best result is doubtful
 * @property {{ count: number, mean: number } | null} repeated the results at the point of the best one
 * @property {Recommendation["model"]} now the recommended point in the latest context, if the best point depends on one
 * @property {Front | null} front the best compromises of a study with several objectives
 * @property {boolean} isLearned whether the model was asked, which takes long in a large study
 * @property {undefined} [error]
 */
/** @typedef {{ id: string, error: string, isLoading?: boolean }} Unread */
/** @typedef {Compared | Unread} Either */

/** A study with what rests on its results alone, or with the error if it cannot be read. No model is asked.
 * @param {string} id
 * @param {StudyData} data
 * @returns {Promise<Either>}
 */
export async function compared(id, data = new StudyData(id)) {
  try {
    // Before the others: it has the cursor.
    const { is_doubted: isDoubted, ...progress } = await call("GET", `${data.page}/progress.json`);
    const [study, scales] = await Promise.all([data.study(), data.axes()]);
    const more = { isDoubted, now: null, front: null, isLearned: false };
    return { id, name: study.title || id, data, study, scales, ...progress, ...more };
  } catch (error) {
    return { id, error: messageOf(error) };
  }
}

/** What the model of a study adds to it. Fields that the model does not answer are left out.
 * @param {Compared} each
 * @returns {Promise<Partial<Compared>>}
 */
export async function learned({ data, study, records }) {
  const unanswered = () => undefined;
  const doubted = await data.doubted();
  const best = (await data.assessment().catch(unanswered))?.progress;
  const latest = (await data.hasBestNow()) ? await data.latest().catch(unanswered) : undefined;
  const front = study.objectives?.length ? await data.front().catch(unanswered) : undefined;
  const answers = {
    ...(latest ? { now: latest.model } : {}),
    ...(front ? { front } : {}),
    ...(best ? { isDoubted: best.is_doubted, repeated: best.measured } : {}),
    isLearned: true,
  };
  if (!records.some(([seq]) => doubted.has(seq))) return answers;
  const history = await data.history().catch(unanswered);
  if (!history) return answers;
  const better = improving(study, records, history.results, doubted);
  return { ...answers, records: better.map(({ seq, value }) => [seq, value]) };
}

/** Name the studies by their titles; studies with the same title also by their IDs.
 * @param {Compared[]} readable
 */
export function name(readable) {
  const titles = readable.map(({ id, study }) => study.title || id);
  for (const [i, each] of readable.entries()) {
    const isUnique = titles.indexOf(titles[i]) === titles.lastIndexOf(titles[i]);
    each.name = isUnique ? titles[i] : `${titles[i]} (${each.id})`;
  }
}

/** The charts of these studies, in the order in which they were chosen: those of results, and those of models. They
 * show what the two lists contain when they are drawn.
 * @param {Either[]} all
 * @param {Compared[]} readable
 */
export function comparisonCharts(all, readable) {
  const [ofResults, ofModels] = [
    [progress, points, curves],
    [fronts, volume, importance, slice],
  ].map((makers) => makers.map((make) => make(all, readable)));
  for (const chart of [...ofResults, ...ofModels])
    chart.isLoading = () => all.some((each) => each.error !== undefined && each.isLoading);
  return { ofResults, ofModels };
}

/** What has been read of each study by now, as soon as one has answered. The chart is drawn again when another one has.
 * A study whose read fails is left out, unless all fail. A failed read is not repeated at once.
 * @template T
 * @param {Compared[]} studies
 * @param {(each: Compared) => Promise<T>} read
 * @param {Chart} chart
 * @returns {Promise<T[]>}
 */
async function answered(studies, read, chart) {
  if (!studies.length) return [];
  /** @type {({ value: T } | undefined)[]} */
  const received = studies.map(() => undefined);
  const missing = new Set(studies);
  let isTaken = false;
  const reads = studies.map(async (each, i) => {
    try {
      received[i] = { value: await read(each) };
    } catch (error) {
      missing.delete(each);
      chart.showBusy();
      throw error;
    }
    if (isTaken) chart.more();
    else missing.delete(each);
  });
  await Promise.any(reads).catch(({ errors }) => {
    throw errors[0];
  });
  await pause(0); // for the answers that are known already
  isTaken = true;
  const values = received.flatMap((each) => (each ? [each.value] : []));
  chart.missing = missing;
  return values;
}

/** Name of a parameter -> its label or labels in the studies, and its name if it has none or shares them with another.
 * @param {Compared[]} readable
 */
export function titlesOf(readable) {
  const names = new Set(readable.flatMap((each) => each.scales.map(({ name }) => name)));
  const titles = [...names].map((name) => {
    const labels = readable.flatMap((each) =>
      each.scales.filter((scale) => scale.name === name && scale.parameter.label),
    );
    return [...new Set(labels.map(({ title }) => title))].join(" / ") || name;
  });
  const isShared = (/** @type {string} */ title) => titles.indexOf(title) !== titles.lastIndexOf(title);
  return new Map([...names].map((name, i) => [name, isShared(titles[i]) ? `${titles[i]} (${name})` : titles[i]]));
}

export const LOADING = "Loading …";

/** The style of a study in all charts.
 * @param {Either[]} all
 * @param {string} id
 */
const look = (all, id) => apart(all.findIndex((each) => each.id === id));

/** Why no chart can be drawn; undefined if one can.
 * @param {Either[]} all
 * @param {Compared[]} readable
 */
function obstacle(all, readable) {
  if (!all.length) return "No study is chosen. Add one above.";
  if (readable.length) return undefined;
  return all.some((each) => each.error !== undefined && each.isLoading)
    ? LOADING
    : "None of these studies can be read.";
}

/** The options that the charts have in common.
 * @param {Colours} ink
 * @returns {ChartOption}
 */
function begun(ink) {
  /** @type {ChartOption} */
  const option = { ...common(ink), grid: { left: 8, right: 24, top: 56, bottom: 32, containLabel: true } };
  option.legend.type = "scroll";
  return option;
}

/** An axis across with a name below it.
 * @param {Colours} ink
 * @param {string} name
 * @param {ChartOption} [more]
 */
const across = (ink, name, more = {}) =>
  numbers(ink, { name, nameLocation: "middle", nameGap: 26, splitLine: { show: false }, ...more });

const RESULTS = "number of results";
/** The ends of an axis of numbers of results: the same in all panels, so that their speeds can be compared.
 * @param {number[]} counts of all studies
 */
const ofResults = (counts) => ({ min: 0, max: Math.max(1, ...counts), minInterval: 1 });

/** The axis of results: a log scale if it is chosen and possible.
 * @param {Colours} ink
 * @param {HTMLInputElement} isLog
 * @param {boolean} canBeLog
 */
function upwards(ink, isLog, canBeLog) {
  allow(isLog, canBeLog, NO_LOG);
  return numbers(ink, { type: canBeLog && isLog.checked ? "log" : "value", scale: true });
}

const PANEL = 280; // pixels of the height of one

/** What the results of a study can be compared with: the same quantity in the same direction.
 * @param {Compared} study
 */
const measure = ({ study: { quantity, direction } }) =>
  JSON.stringify([quantity.label ?? "", quantity.unit ?? "", direction ?? ""]);

/** Draw the series of each quantity in a panel of its own, below each other.
 * @param {ChartOption} option with one axis across and one up
 * @param {Compared[]} of the study of each series
 * @returns {number | undefined} the height of the chart, if it has several panels
 */
function inPanels(option, of) {
  const measures = [...new Set(of.map(measure))];
  const first = measures.map((each) => of.find((study) => measure(study) === each)?.study);
  const { grid, xAxis, yAxis } = option;
  const isSingle = measures.length < 2;
  option.grid = measures.map((_, i) =>
    isSingle ? grid : { ...grid, top: grid.top + i * PANEL, bottom: undefined, height: PANEL - 70 },
  );
  option.xAxis = measures.map((_, i) => ({ ...xAxis, gridIndex: i }));
  option.yAxis = first.map((study, i) => ({
    ...yAxis,
    gridIndex: i,
    name: study && `${study.quantity.title}${study.direction ? `, ${study.direction}d` : ""}`,
    nameTextStyle: { ...yAxis.nameTextStyle, align: "left" },
  }));
  option.series.forEach((/** @type {ChartOption} */ each, /** @type {number} */ i) => {
    each.xAxisIndex = measures.indexOf(measure(of[i]));
    each.yAxisIndex = each.xAxisIndex;
  });
  return isSingle ? undefined : grid.top + PANEL * measures.length;
}

/** The chart in words.
 * @param {Either[]} all
 * @param {Compared[]} drawn
 * @param {string[]} [more]
 */
function captionOf(all, drawn, more = []) {
  const parts = [counted(drawn.length, "study").replace("studys", "studies")];
  parts.push(...more);
  const left = all.filter((each) => !drawn.some(({ id }) => id === each.id));
  const names = (/** @type {boolean} */ isLoading) =>
    left
      .filter((each) => isLoading === (each.error !== undefined && each.isLoading === true))
      .map((each) => (each.error === undefined ? each.name : each.id))
      .join(", ");
  if (names(true)) parts.push(`not loaded yet: ${names(true)}`);
  if (names(false)) parts.push(`not drawn: ${names(false)}`);
  return `${parts.join("; ")}.`;
}

/** The best so far of each study.
 * @param {Either[]} all
 * @param {Compared[]} readable
 */
function progress(all, readable) {
  const isLog = byId("progress-log", HTMLInputElement);
  const by = byId("progress-across", HTMLSelectElement);
  return new Chart("progress", async () => {
    const empty = obstacle(all, readable);
    if (empty) return { empty };
    const drawn = readable.filter((each) => each.records.length);
    if (!drawn.length)
      return {
        empty: readable.some((each) => each.study.objectives?.length)
          ? "None of these studies has a single best result. Choose the progress of all objectives instead."
          : "None of these studies has a result yet.",
      };
    const ink = colours();
    const isShare = by.value === "share";
    const place = (/** @type {Compared} */ each, /** @type {number} */ seq) => (isShare ? seq / each.count : seq);
    const canBeLog = drawn.every((each) => each.records.every(([, value]) => value > 0));
    const option = begun(ink);
    option.xAxis = across(
      ink,
      isShare ? "share of its results" : RESULTS,
      isShare ? { min: 0, max: 1 } : ofResults(drawn.map(({ count }) => count)),
    );
    option.yAxis = upwards(ink, isLog, canBeLog);
    option.series = drawn.map((each) => {
      const { color, type } = look(all, each.id);
      const end = each.records.slice(-1).map(([, value]) => [each.count, value]);
      return {
        type: "line",
        name: each.name,
        step: "end",
        showSymbol: each.records.length < 60,
        symbolSize: 5,
        color,
        lineStyle: { width: 2.25, color, type },
        data: [...each.records, ...end].map(([seq, value]) => [place(each, seq), value, seq]),
      };
    });
    option.tooltip = {
      ...option.tooltip,
      trigger: "item",
      formatter: (/** @type {{ seriesIndex: number, data: number[] }} */ { seriesIndex, data: [, value, seq] }) => {
        const { name, study } = drawn[seriesIndex];
        return `${name}\nafter ${counted(seq, "result")}: ${measured(value, study.quantity)}`;
      },
    };
    const rows = drawn.flatMap((each) => each.records.map(([seq, value]) => [each.id, seq, value]));
    const height = inPanels(option, drawn);
    return { option, header: ["study", "result", "best_so_far"], rows, height, caption: captionOf(all, drawn) };
  });
}

/** The results of each study.
 * @param {Either[]} all
 * @param {Compared[]} readable
 */
function points(all, readable) {
  const isLog = byId("points-log", HTMLInputElement);
  const make = async (/** @type {Chart} */ chart) => {
    const empty = obstacle(all, readable);
    if (empty) return { empty };
    const read = async (/** @type {Compared} */ each) => {
      const history = await each.data.history();
      const density = history.isThinned ? await each.data.density() : null;
      const results = history.results.filter((result) => !result.excluded && Number.isFinite(result.value));
      return { each, density, results };
    };
    const answers = await answered(readable, read, chart);
    const having = answers.filter(({ results }) => results.length);
    if (!having.length) return { empty: "None of these studies has results of a single objective yet." };
    const ink = colours();
    const option = begun(ink);
    option.xAxis = across(ink, RESULTS, ofResults(having.map(({ each }) => each.count)));
    const canBeLog = having.every(({ results }) => results.every(({ value }) => value > 0));
    option.yAxis = upwards(ink, isLog, canBeLog);
    /** @type {Compared[]} */
    const of = [];
    option.series = having.flatMap(({ each, density, results }) => {
      const { color, symbol } = look(all, each.id);
      of.push(each, ...(density ? [each] : []));
      const dots = {
        type: "scatter",
        name: each.name,
        symbol,
        symbolSize: 9,
        itemStyle: hollow(color),
        data: results
          .filter(({ value }) => !density || value < density.low || value > density.high)
          .map((result) => ({
            value: [result.seq, result.value],
            page: result.trial ? each.data.trialPage(result.trial) : `${each.data.page}/results/${result.seq}`,
            words: `${each.name}\n${numbered(result)}: ${measured(result.value, each.study.quantity)}`,
          })),
      };
      return density ? [cloud(density, color, each.name), dots] : [dots];
    });
    option.legend.data = having.map(({ each }) => each.name);
    option.tooltip = {
      ...option.tooltip,
      formatter: (/** @type {ChartPoint} */ { seriesIndex, data }) =>
        data.words ?? `${of[seriesIndex].name}\n${aboutCell(data, of[seriesIndex].study.quantity)}`,
    };
    const drawn = having.map(({ each }) => each);
    const dense = having.some(({ density }) => density)
      ? ["of large studies, areas of a stronger colour have more results, and points are results far from the others"]
      : [];
    return {
      height: inPanels(option, of),
      option,
      header: ["study", "result", "trial", "value"],
      rows: having.flatMap(({ each, results }) => results.map(({ seq, trial, value }) => [each.id, seq, trial, value])),
      caption: captionOf(all, drawn, dense),
    };
  };
  return new Chart("points", make, { select: ({ data }) => data.page && location.assign(data.page) });
}

/** The hypervolume of each study with several objectives.
 * @param {Either[]} all
 * @param {Compared[]} readable
 */
function volume(all, readable) {
  return new Chart("volume", async (chart) => {
    const empty = obstacle(all, readable);
    if (empty) return { empty };
    const several = readable.filter((each) => each.study.objectives?.length);
    const answers = await answered(several, async (each) => ({ each, front: await each.data.front() }), chart);
    const having = answers.filter(({ front }) => front.history.length);
    if (!having.length)
      return { empty: "None of these studies has several objectives and a result beyond its reference point." };
    const ink = colours();
    const option = begun(ink);
    option.xAxis = across(ink, RESULTS, ofResults(having.map(({ each }) => each.count)));
    option.yAxis = numbers(ink, { min: 0 });
    option.series = having.map(({ each, front }) => {
      const { color, type } = look(all, each.id);
      return {
        type: "line",
        name: each.name,
        step: "end",
        symbol: "none",
        color,
        lineStyle: { width: 2.25, color, type },
        data: [
          ...front.history.map(({ observation, hypervolume }) => [observation, hypervolume]),
          [front.results, front.hypervolume],
        ],
      };
    });
    const references = having.map(({ front }) =>
      JSON.stringify(front.objectives.map(({ metric, reference }) => [metric, reference])),
    );
    const differ =
      new Set(references).size > 1 ? ["their reference points differ, so the heights cannot be compared"] : [];
    const drawn = having.map(({ each }) => each);
    const sentences = having.map(({ each, front }) => `${each.name}: ${progressOf(front)}`);
    return {
      option,
      header: ["study", "result", "hypervolume"],
      rows: having.flatMap(({ each, front }) =>
        front.history.map(({ observation, hypervolume }) => [each.id, observation, hypervolume]),
      ),
      caption: captionOf(all, drawn, [...sentences, ...differ]),
    };
  });
}

/** Name of an objective -> its title: the label and the unit that it has in the first study with it.
 * @param {Compared[]} readable
 */
export function objectivesOf(readable) {
  /** @type {Map<string, string>} */
  const titles = new Map();
  for (const { study } of readable)
    for (const { metric } of study.objectives ?? [])
      if (!titles.has(metric)) titles.set(metric, titleOf(study, metric));
  return titles;
}

/** The title of a metric of a study.
 * @param {ShownStudy} study
 * @param {string} metric
 */
const titleOf = ({ quantities = {} }, metric) => titled(metric, quantities[metric]?.label, quantities[metric]?.unit);

/** What the values of an objective can be compared with; undefined if the study does not have it.
 * @param {ShownStudy} study
 * @param {string} name of the objective
 */
function comparable({ objectives, quantities = {} }, name) {
  const objective = objectives?.find(({ metric }) => metric === name);
  return objective && JSON.stringify([objective.direction, quantities[name]?.unit ?? ""]);
}

/** The best compromises of the studies that have both chosen objectives, in the same units and directions. Steps join
 * those of a study with just these two: the study reached all points that are worse than its steps.
 * @param {Either[]} all
 * @param {Compared[]} readable
 */
function fronts(all, readable) {
  const [byX, byY] = ["front-x", "front-y"].map((id) => byId(id, HTMLSelectElement));
  const make = async (/** @type {Chart} */ chart) => {
    const empty = obstacle(all, readable);
    if (empty) return { empty };
    const [x, y] = [byX.value, byY.value];
    const first = readable.find(({ study }) => comparable(study, x) && comparable(study, y))?.study;
    if (!first) return { empty: "None of these studies has several objectives." };
    const alike = readable.filter(({ study }) =>
      [x, y].every((name) => comparable(study, name) === comparable(first, name)),
    );
    const fronts = await answered(alike, async (each) => ({ each, front: await each.data.front() }), chart);
    const having = fronts.filter(({ front }) => front.observed.length);
    if (!having.length) return { empty: "None of these studies has a best compromise yet." };
    const ink = colours();
    const [titleX, titleY] = [x, y].map((name) => {
      const direction = first.objectives?.find(({ metric }) => metric === name)?.direction;
      return { title: `${titleOf(first, name)}, ${direction}d`, direction };
    });
    const option = begun(ink);
    option.xAxis = across(ink, titleX.title, { scale: true, splitLine: undefined });
    option.yAxis = numbers(ink, {
      scale: true,
      name: titleY.title,
      nameTextStyle: { color: ink.muted, align: "left" },
    });
    option.series = having.map(({ each, front }) => {
      const { color, type, symbol } = look(all, each.id);
      const { quantities = {} } = each.study;
      const words = (/** @type {Record<string, number>} */ metrics) =>
        front.objectives.map(({ metric }) => {
          const { label = metric } = quantities[metric] ?? {};
          return `${label} ${measured(metrics[metric], quantities[metric])}`;
        });
      return {
        type: "line",
        name: each.name,
        step: titleX.direction === "maximize" ? "start" : "end",
        symbol,
        symbolSize: 9,
        color,
        lineStyle: { width: front.objectives.length === 2 ? 1.5 : 0, color, type },
        data: [...front.observed]
          .sort((one, other) => one.metrics[x] - other.metrics[x])
          .map(({ metrics, trial, observation: seq }) => ({
            value: [metrics[x], metrics[y]],
            page: trial ? each.data.trialPage(trial) : `${each.data.page}/results/${seq}`,
            words: [each.name, numbered({ trial, seq }), ...words(metrics)].join("\n"),
          })),
      };
    });
    option.tooltip = {
      ...option.tooltip,
      trigger: "item",
      formatter: (/** @type {ChartPoint} */ { data }) => data.words,
    };
    return {
      option,
      header: ["study", "result", "trial", x, y],
      rows: having.flatMap(({ each, front }) =>
        front.observed.map(({ observation, trial, metrics }) => [each.id, observation, trial, metrics[x], metrics[y]]),
      ),
      caption: captionOf(
        all,
        having.map(({ each }) => each),
        having.map(({ each, front }) => `${each.name}: ${counted(front.observed.length, "best compromise")}`),
      ),
    };
  };
  return new Chart("front", make, { select: ({ data }) => data.page && location.assign(data.page) });
}

/** Learning curves of the best or the latest trials of each study.
 * @param {Either[]} all
 * @param {Compared[]} readable
 */
function curves(all, readable) {
  const isLog = byId("curves-log", HTMLInputElement);
  const which = byId("curves-which", HTMLSelectElement);
  /** @type {string[]} */
  let pages = []; // addresses of the trials whose curves are drawn
  const make = async (/** @type {Chart} */ chart) => {
    const empty = obstacle(all, readable);
    if (empty) return { empty };
    const query = which.value ? `?best=${which.value}` : "";
    const answers = await answered(readable, async (each) => ({ each, lines: await each.data.curves(query) }), chart);
    const having = answers.filter(({ lines }) => lines.length);
    if (!having.length) return { empty: "No completed trial of these studies has reported values." };
    const ink = colours();
    const option = begun(ink);
    const drawn = having.flatMap(({ each, lines }) => lines.map((curve) => ({ each, curve })));
    const canBeLog = drawn.every(({ curve }) => curve.points.every(([, value]) => value > 0));
    option.xAxis = across(ink, "step");
    option.yAxis = upwards(ink, isLog, canBeLog);
    option.series = drawn.map(({ each, curve }) => {
      const { color, type } = look(all, each.id);
      return {
        type: "line",
        name: each.name,
        data: curve.points,
        showSymbol: curve.points.length < 3,
        symbolSize: 5,
        triggerLineEvent: true,
        color,
        lineStyle: { width: which.value === "1" ? 2.25 : 1.25, opacity: 0.8, color, type },
      };
    });
    pages = drawn.map(({ each, curve }) => each.data.trialPage(curve.trial));
    option.legend.data = having.map(({ each }) => each.name);
    option.tooltip = {
      ...option.tooltip,
      formatter: (/** @type {{ seriesIndex: number, data?: [number, number] }} */ { seriesIndex, data: point }) => {
        const { each, curve } = drawn[seriesIndex];
        const lines = [`${each.name}, trial ${curve.trial}`];
        if (point) lines.push(`step ${point[0]}: ${measured(point[1], each.study.quantity)}`);
        if (curve.value !== null) lines.push(`result ${measured(curve.value, each.study.quantity)}`);
        return lines.join("\n");
      },
    };
    const studies = having.map(({ each }) => each);
    return {
      height: inPanels(
        option,
        drawn.map(({ each }) => each),
      ),
      option,
      header: ["study", "trial", "step", "value"],
      rows: drawn.flatMap(({ each, curve }) =>
        curve.points.map(([step, value]) => [each.id, curve.trial, step, value]),
      ),
      caption: captionOf(all, studies, [counted(drawn.length, "curve")]),
    };
  };
  return new Chart("curves", make, { select: ({ seriesIndex }) => location.assign(pages[seriesIndex]) });
}

/** The importance of each parameter in each study.
 * @param {Either[]} all
 * @param {Compared[]} readable
 */
function importance(all, readable) {
  return new Chart("importance", async (chart) => {
    const empty = obstacle(all, readable);
    if (empty) return { empty };
    const titles = titlesOf(readable);
    const single = readable.filter((each) => !each.study.objectives?.length);
    const answers = await answered(single, async (each) => ({ each, importance: await each.data.importance() }), chart);
    const having = answers.filter(({ importance }) => !importance.reason);
    if (!having.length) return { empty: "None of these studies has enough results." };
    const totals = having.map(
      ({ each, importance: { parameters } }) =>
        new Map(
          parameters
            .filter(({ name }) => each.scales.some((scale) => scale.name === name))
            .map(({ name, total }) => [name, total]),
        ),
    );
    const most = (/** @type {string} */ name) => Math.max(...totals.map((each) => each.get(name) ?? 0));
    const names = [...new Set(totals.flatMap((each) => [...each.keys()]))].sort((a, b) => most(a) - most(b));
    const ink = colours();
    const option = begun(ink);
    option.xAxis = numbers(ink, { min: 0, max: 1 });
    option.yAxis = {
      type: "category",
      data: names.map((name) => titles.get(name)),
      axisLabel: { color: ink.ink, width: 140, overflow: "break" },
      axisLine: { lineStyle: { color: ink.line } },
      axisTick: { show: false },
    };
    option.series = having.map(({ each }, i) => ({
      type: "bar",
      name: each.name,
      barGap: "10%",
      itemStyle: { color: look(all, each.id).color },
      data: names.map((name) => totals[i].get(name) ?? null),
    }));
    option.tooltip = {
      ...option.tooltip,
      formatter: (/** @type {{ seriesName: string, name: string, value: number }} */ { seriesName, name, value }) =>
        `${seriesName}\n${name}: ${figure(value, 3)}`,
    };
    const drawn = having.map(({ each }) => each);
    return {
      option,
      header: ["study", "parameter", "total"],
      rows: having.flatMap(({ each }, i) => [...totals[i]].map(([name, total]) => [each.id, name, total])),
      height: Math.max(260, 90 + names.length * (14 + 14 * having.length)),
      caption: captionOf(all, drawn),
    };
  });
}

/** What the model of each study predicts along a parameter, which some may lack.
 * @param {Either[]} all
 * @param {Compared[]} readable
 */
function slice(all, readable) {
  const select = byId("slice-parameter", HTMLSelectElement);
  return new Chart("slice", async (chart) => {
    const empty = obstacle(all, readable);
    if (empty) return { empty };
    const name = select.value;
    if (!name) return { empty: "These studies have no parameter that can be drawn." };
    const read = async (/** @type {Compared} */ each) => {
      const { objectives, counts } = each.study;
      const scale = each.scales.find((one) => one.name === name);
      if (!scale || objectives?.length || !counts.observations || (await each.data.tooFew())) return [];
      return [{ each, scale, line: await each.data.slice([name]) }];
    };
    const answers = (await answered(readable, read, chart)).flat();
    const [first] = answers;
    if (!first)
      return { empty: `None of these studies has enough results and the parameter ${titlesOf(readable).get(name)}.` };
    const alike = answers.filter(({ scale }) => scale.isNumeric === first.scale.isNumeric);
    const ink = colours();
    const option = begun(ink);
    const texts = [...new Set(alike.flatMap(({ line }) => line.axes[0].values.map(shown)))];
    const ends = alike.flatMap(({ scale }) => scale.ends);
    option.xAxis = first.scale.isNumeric
      ? {
          ...first.scale.axis(ink),
          min: Math.min(...ends),
          max: Math.max(...ends),
          nameLocation: "middle",
          nameGap: 26,
          nameTextStyle: { color: ink.ink },
        }
      : {
          type: "category",
          data: texts,
          name: first.scale.axisName,
          nameLocation: "middle",
          nameGap: 26,
          axisLabel: {
            color: ink.muted,
            interval: 0,
            width: Math.max(30, byId("slice", HTMLElement).clientWidth / texts.length - 20),
            overflow: "truncate",
          },
          axisLine: { lineStyle: { color: ink.line } },
        };
    option.yAxis = numbers(ink, { scale: true });
    const at = (/** @type {typeof first} */ { scale }, /** @type {unknown} */ value) =>
      first.scale.isNumeric ? scale.position(value) : texts.indexOf(shown(value));
    option.series = alike.flatMap((one) => {
      const { color, type, symbol } = look(all, one.each.id);
      const values = one.line.axes[0].values;
      const line = {
        type: "line",
        name: one.each.name,
        color,
        symbol: first.scale.isNumeric && values.length > 12 ? "none" : symbol,
        symbolSize: 8,
        lineStyle: { color, type, width: first.scale.isNumeric ? 2.25 : 0 },
        data: one.line.predictions.map((each, k) => ({ value: [at(one, values[k]), each.mean], of: one, k })),
      };
      const bounds = /** @type {const} */ (["lcb", "ucb"]).map((end) => ({
        type: "line",
        name: `${one.each.name} ${end}`,
        silent: true,
        symbol: first.scale.isNumeric ? "none" : "rect",
        symbolSize: [10, 2],
        color,
        lineStyle: { color, type: "dotted", width: first.scale.isNumeric ? 1 : 0, opacity: 0.8 },
        data: one.line.predictions.map((each, k) => [at(one, values[k]), each[end]]),
      }));
      return [line, ...bounds];
    });
    option.legend.data = alike.map(({ each }) => each.name);
    option.tooltip = {
      ...option.tooltip,
      trigger: "item",
      formatter: (/** @type {{ data: any }} */ { data: { of, k } }) =>
        [
          of.each.name,
          `${of.scale.title} = ${inUnit(shown(of.line.axes[0].values[k]), of.scale.parameter.unit)}`,
          expected(ofInterval(of.line.predictions[k], of.each.study.algorithm), of.each.study.quantity),
        ].join("\n"),
    };
    const height = inPanels(
      option,
      alike.flatMap(({ each }) => [each, each, each]),
    );
    return {
      option,
      height,
      header: ["study", name, "mean", "std", "lcb", "ucb"],
      rows: alike.flatMap(({ each, line }) =>
        line.predictions.map(({ mean, std, lcb, ucb }, k) => [each.id, line.axes[0].values[k], mean, std, lcb, ucb]),
      ),
      caption: captionOf(
        all,
        alike.map(({ each }) => each),
        ["line: the model's expectation; dotted: its interval"],
      ),
    };
  });
}
