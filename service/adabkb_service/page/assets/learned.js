// What the model has learned: importances, slices with bands, and predictions over two parameters.

import { Chart, colours, common, heightFor, numbers, PAPER, ramp } from "./charts.js";
import { byId } from "./elements.js";
import { conditions, LINE } from "./scale.js";
import { expected, figure, numbered, ofInterval, plusMinus, sampleOf, shown, within } from "./words.js";

const CONSTANT = "The model predicts the same everywhere so far.";
export const ONLY_ROWS = "The rows of a table have no order, so they cannot be drawn here; see the results below.";
const PREDICTED = /** @type {const} */ (["mean", "std", "lcb", "ucb"]);
const MAX_SLICES = 6;
const [ROW, PRINTED_ROW] = [270, 210]; // height of a row of slices, in pixels: three rows of a report fit on a sheet
const BESIDE_SLICE = 70; // width beside a slice, in pixels
const NAME_GAP = 26; // distance of the name of an axis from it, in pixels
const BESIDE = 220; // width beside the plane of two parameters, in pixels
const STEEP = 60; // rotation of names that do not fit side by side, in degrees
const MIN_STEEP = 18; // minimum distance between names that are rotated by this, in pixels
const MIN_SLICE = 20; // minimum distance between the names of a slice, in pixels
const [FONT, MIN_FONT] = [12, 7]; // pixels
const [MIN_PLANE, MIN_PRINTED_PLANE] = [180, 136]; // minimum heights of a plane above rotated names, in pixels
const [ABOVE_PLANE, BELOW_PLANE] = [30, 62]; // pixels
const MAX_NAMED = 8; // maximum number of conditions in a sentence
/** A grid that leaves room for the labels that are drawn. */
const OUTER = { outerBoundsMode: "same", outerBoundsContain: "axisLabel" };
const CHARACTER = 7; // approximate width of a character, in pixels
const MAX_POINTS = 12; // maximum number of points of a slice; more points are drawn as a line
const MAX_BARS = 20;
const INTERVAL = 1.645; // standard errors from the middle of a 90% interval to its ends
/** @type {Record<string, string>} */
const COLOURS = {
  mean: "expected",
  std: "uncertainty",
  feasible_probability: "probability of satisfying all bounds",
  finish_probability: "probability of finishing",
};

/** @param {import("./data.js").StudyData} data */
export function importanceChart(data) {
  return new Chart("importance", async () => {
    const importance = await data.importance();
    if (importance.reason)
      return {
        empty: importance.reason === "constant" ? CONSTANT : (await data.tooFew()) || "No results yet.",
      };
    const ink = colours();
    const titles = new Map((await data.scales()).map((scale) => [scale.name, scale.parameter.label ?? scale.name]));
    const sorted = importance.parameters.filter((each) => titles.has(each.name)).sort((a, b) => a.total - b.total);
    const best = sorted.at(-1);
    if (!best) return { empty: CONSTANT };
    const drawn = sorted.slice(-MAX_BARS);
    /** @type {(name: string, field: "first_order" | "total", color: string) => ChartOption} */
    const bar = (name, field, color) => ({
      type: "bar",
      name,
      barGap: "10%",
      itemStyle: { color },
      data: drawn.map((each) => 100 * Math.min(each[field], each.total)), // an estimate may exceed the total
    });
    /** @type {ChartOption} */
    const option = {
      ...common(ink),
      grid: { left: 8, right: 24, top: 32, bottom: 32, containLabel: true },
      xAxis: numbers(ink, {
        min: 0,
        max: 100,
        name: "share of the variation [%]",
        nameLocation: "middle",
        nameGap: 26,
      }),
      yAxis: {
        type: "category",
        data: drawn.map((each) => titles.get(each.name)),
        axisLabel: { color: ink.ink, width: 140, overflow: "break" },
        axisLine: { lineStyle: { color: ink.line } },
        axisTick: { show: false },
      },
      series: [
        bar("alone", "first_order", ink.accent),
        bar("with all others", "total", ink.warn),
        whiskers(drawn, ink),
      ],
    };
    option.tooltip = {
      ...option.tooltip,
      trigger: "axis",
      formatter: (/** @type {{ dataIndex: number }[]} */ [first]) =>
        sentence(drawn[first.dataIndex], titles.get(drawn[first.dataIndex].name)),
    };
    const columns = /** @type {const} */ (["first_order", "first_order_error", "total", "total_error"]);
    const most = Math.round(100 * best.total);
    const sum = sorted.reduce((all, each) => all + each.total, 0);
    return {
      option,
      header: ["parameter", ...columns],
      rows: sorted.map((each) => [each.name, ...columns.map((name) => each[name])]).reverse(),
      caption: [
        `${titles.get(best.name)} matters most: ${most}% of the variation, from ${importance.results} results.`,
        ...(sum > 1 ? ["With all others, the shares add up to more than 100%, as parameters act together."] : []),
      ].join(" "),
      height: heightFor("importance", 84 + 38 * drawn.length),
    };
  });
}

/** The importance of a parameter in words.
 * @param {Importance["parameters"][0]} each
 * @param {string | undefined} title
 */
const sentence = (each, title) =>
  [
    title ?? each.name,
    `alone ${share(Math.min(each.first_order, each.total), each.first_order_error)}`,
    `with all others ${share(each.total, each.total_error)}`,
  ].join("\n");

/** A share of the variation with its 90% interval.
 * @param {number} mean
 * @param {number} error its standard error
 */
function share(mean, error) {
  const [low, high] = [mean - INTERVAL * error, mean + INTERVAL * error].map((end) => within(end, { low: 0, high: 1 }));
  return expected({ mean: 100 * mean, std: 100 * error, lcb: 100 * low, ucb: 100 * high }, { unit: "%" });
}

/** The 90% interval of each total index.
 * @param {Importance["parameters"]} drawn
 * @param {Colours} ink
 */
function whiskers(drawn, ink) {
  return {
    type: "custom",
    silent: true,
    z: 5,
    data: drawn.map(({ total, total_error: error }, i) => [
      100 * (total - INTERVAL * error),
      i,
      100 * (total + INTERVAL * error),
    ]),
    encode: { x: [0, 2], y: 1 },
    renderItem: (/** @type {unknown} */ _, /** @type {Canvas} */ api) => {
      const height = api.size([0, 1])[1];
      const [low, y] = api.coord([Math.max(0, api.value(0)), api.value(1)]);
      const [high] = api.coord([Math.min(100, api.value(2)), api.value(1)]);
      const at = y + height * 0.2;
      return { type: "line", shape: { x1: low, y1: at, x2: high, y2: at }, style: { stroke: ink.ink, lineWidth: 1.5 } };
    },
  };
}

/** @param {import("./data.js").StudyData} data */
export function slicesChart(data) {
  return new Chart("slices", async () => {
    const [study, scales, importance, failed] = await Promise.all([
      data.study(),
      data.axes(),
      data.importance(),
      data.failed(),
    ]);
    if (!study.counts.observations) return { empty: "No results yet." };
    if (!scales.length) return { empty: ONLY_ROWS };
    const few = await data.tooFew();
    if (few) return { empty: few };
    const weight = new Map(importance.parameters.map((each) => [each.name, each.total]));
    const drawn = [...scales]
      .sort((a, b) => (weight.get(b.name) ?? 0) - (weight.get(a.name) ?? 0))
      .slice(0, MAX_SLICES);
    const slices = await Promise.all(drawn.map((scale) => possible(data, scale.name)));
    const through = await crossing(data, drawn, slices);
    const isMoved = slices.map(({ at }) =>
      Object.entries(at).some(([name, value]) => name in through && shown(value) !== shown(through[name])),
    );
    const ink = colours();
    const [low, high] = extent(slices, (await data.history()).results);
    const width = byId("slices", HTMLElement).clientWidth;
    const most = Math.max(...drawn.map((scale) => scale.choices.length));
    const columns = Math.min(
      drawn.length,
      width > (isOnPaper() ? 600 : 900) ? 3 : width > 560 ? 2 : 1,
      Math.max(1, Math.floor(width / (most * MIN_SLICE + BESIDE_SLICE))),
    );
    const rowHeight = isOnPaper() ? PRINTED_ROW : ROW;
    const rooms = drawn.map((scale) => across(scale, ink, width / columns - BESIDE_SLICE));
    const heights = Array.from({ length: Math.ceil(drawn.length / columns) }, (_, row) =>
      Math.max(...rooms.slice(row * columns, (row + 1) * columns).map(({ nameGap }) => rowHeight + nameGap - NAME_GAP)),
    );
    const tops = heights.map((_, row) => 24 + heights.slice(0, row).reduce((sum, each) => sum + each, 0));
    /** @type {ChartOption} */
    const option = { ...common(ink), legend: { show: false }, grid: [], xAxis: [], yAxis: [], series: [] };
    drawn.forEach((scale, i) => {
      const [column, row] = [i % columns, Math.floor(i / columns)];
      option.grid.push({
        left: `${(100 / columns) * column + 1}%`,
        width: `${100 / columns - 4}%`,
        top: tops[row],
        height: heights[row] - 60,
        containLabel: true,
      });
      option.xAxis.push({
        ...rooms[i],
        name: axisName(scale, slices[i].at),
        gridIndex: i,
        ...(isMoved[i] ? { nameTextStyle: { color: ink.muted } } : {}),
      });
      option.yAxis.push(
        numbers(ink, {
          gridIndex: i,
          min: low,
          max: high,
          ...(column === 0 ? { name: study.quantity.title, nameTextStyle: { color: ink.muted, align: "left" } } : {}),
          axisLabel: {
            color: ink.muted,
            formatter: (/** @type {number} */ at) => figure(at, 3),
            hideOverlap: true,
            showMinLabel: false,
            showMaxLabel: false,
          },
        }),
      );
      const at = isMoved[i] ? NaN : scale.position(through[scale.name]);
      option.series.push(...bandAndMean(scale, slices[i], i, ink, isMoved[i] ? ink.muted : ink.accent, at));
    });
    drawn.forEach((scale, i) => {
      const places = failed.map(({ parameters }) => [scale.position(parameters[scale.name]), low]);
      option.series.push({ ...crosses(places, ink), xAxisIndex: i, yAxisIndex: i, tooltip: { show: false } });
    });
    option.tooltip = {
      ...option.tooltip,
      trigger: "axis",
      formatter: (/** @type {{ seriesIndex: number, dataIndex: number, value: number[] }[]} */ [first]) => {
        const each = slices[first.seriesIndex >> 1].predictions[first.dataIndex];
        const scale = drawn[first.seriesIndex >> 1];
        return [
          `${scale.title}: ${scale.label(first.value[0])}`,
          expected(ofInterval(each, study.algorithm), study.quantity),
        ].join("\n");
      },
    };
    const rows = slices.flatMap((slice, i) =>
      slice.values.map((value, k) => [drawn[i].name, value, ...PREDICTED.map((name) => slice.predictions[k][name])]),
    );
    const left = scales.length - drawn.length;
    const lines = slices.filter((slice, i) => isLine(drawn[i], slice)).length;
    const [ofMeans, ofIntervals] =
      lines === 0 ? ["Dot", "Bar"] : lines < slices.length ? ["Line or dot", "Band or bar"] : ["Line", "Band"];
    const point = conditions(study, through);
    const names = [...point.slice(0, MAX_NAMED), ...(point.length > MAX_NAMED ? ["…"] : [])].join(", ");
    const isMixed = drawn.some(({ name }) => study.mixtures?.some(({ parameters }) => parameters.includes(name)));
    return {
      option,
      header: ["parameter", "value", ...PREDICTED],
      rows,
      height: 30 + heights.reduce((sum, each) => sum + each, 0),
      caption: [
        `${ofMeans}: the model's expectation.`,
        ...(point.length ? [`Dashed: the point that the slices pass through, ${names}.`] : []),
        ...(isMoved.includes(true) ? ["Grey: a parameter that is not used at that point."] : []),
        ...(isMixed
          ? ["Along a component, the other components keep their proportions as far as their limits allow."]
          : []),
        ...(slices.some(({ isCut }) => isCut) ? ["Values that the constraints exclude there are left out."] : []),
        inFull(drawn),
        `${ofIntervals}: interval for ${study.quantity.label ?? "the result"}.`,
        ...(failed.length ? [FAILED_IN_WORDS] : []),
        ...(left > 0 ? [`The ${drawn.length} parameters that matter most of ${scales.length}.`] : []),
      ]
        .filter(Boolean)
        .join(" "),
    };
  });
}

/** A slice along a parameter, without the values that the constraints and mixtures exclude.
 * @typedef {{ at: Point, values: unknown[], predictions: Prediction[], isCut: boolean }} PossibleSlice
 * @param {import("./data.js").StudyData} data
 * @param {string} name
 * @returns {Promise<PossibleSlice>}
 */
async function possible(data, name) {
  const [{ at, axes, predictions }, forbidden] = await Promise.all([data.slice([name]), data.forbidden([name])]);
  const isPossible = (/** @type {unknown} */ _, /** @type {number} */ k) => !forbidden?.[k];
  return {
    at,
    values: axes[0].values.filter(isPossible),
    predictions: predictions.filter(isPossible),
    isCut: forbidden?.includes(true) ?? false,
  };
}

/** The point that the slices pass through. Along a parameter that is not used there, a slice passes through another
 * point, at which it is used.
 * @param {import("./data.js").StudyData} data
 * @param {import("./scale.js").Scale[]} drawn
 * @param {PossibleSlice[]} slices
 * @returns {Promise<Point>}
 */
async function crossing(data, drawn, slices) {
  const always = slices.filter((_, i) => !drawn[i].parameter.when).map(({ at }) => at);
  if (always.length === slices.length && always.length > 1) return Object.assign({}, ...always);
  const recommended = data.context ? null : (await data.recommendation().catch(() => null))?.model;
  return Object.assign(
    {},
    recommended?.parameters,
    ...(recommended || always.length ? always : slices.map(({ at }) => at)),
  );
}

/** The range over which slices are drawn: it includes the bands, but not so much that means and results become
 * indistinguishable.
 * @param {PossibleSlice[]} slices
 * @param {Result[]} results
 */
function extent(slices, results) {
  const all = slices.flatMap((slice) => slice.predictions);
  const known = [
    ...all.map((each) => each.mean),
    ...results.filter((each) => !each.excluded).map((each) => each.value),
  ];
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const more = most - least || 1;
  return [
    Math.max(Math.min(...all.map((each) => each.lcb)), least - more),
    Math.min(Math.max(...all.map((each) => each.ucb)), most + more),
  ];
}

/** The name of a parameter, with its condition.
 * @param {import("./scale.js").Scale} scale
 * @param {Point} at
 */
function axisName(scale, at) {
  const needed = Object.keys(scale.parameter.when ?? {}).map((name) => `${name} ${shown(at[name])}`);
  return needed.length ? `${scale.axisName}, for ${needed.join(", ")}` : scale.axisName;
}

/** An axis from left to right, with its name below it. Names of choices that do not fit side by side are rotated; if
 * there are very many, they are also small.
 * @param {import("./scale.js").Scale} scale
 * @param {Colours} ink
 * @param {number} room for it, in pixels
 * @returns {ChartOption}
 */
function across(scale, ink, room) {
  /** @type {ChartOption} */
  const axis = { ...scale.axis(ink), nameLocation: "middle", nameGap: NAME_GAP, nameTextStyle: { color: ink.ink } };
  if (scale.isNumeric) return axis;
  const names = scale.choices.map((_, at) => scale.tick(at).split("\n"));
  const widest = Math.max(0, ...names.flat().map((line) => line.length));
  if ((widest + 2) * names.length * CHARACTER <= room)
    return { ...axis, nameGap: NAME_GAP + LINE * Math.max(0, ...names.map((lines) => lines.length - 1)) };
  const short = scale.shortNames;
  const formatter = (/** @type {number} */ at) => short[at] ?? "";
  const apart = room / names.length;
  const rotate = apart < MIN_STEEP ? 90 : STEEP;
  const fontSize = Math.min(Math.max(Math.floor(apart) - 1, MIN_FONT), FONT);
  Object.assign(axis.axisLabel, { rotate, fontSize, lineHeight: fontSize, formatter });
  return { ...axis, nameGap: 14 + Math.max(0, ...short.map((name) => name.length)) * (CHARACTER - 1) };
}

/** Sentences with the names of choices that the axes shorten.
 * @param {import("./scale.js").Scale[]} scales
 */
export function inFull(scales) {
  const pairs = scales.flatMap((scale) => scale.choices.map((choice, i) => [scale.shortNames[i], shown(choice)]));
  const cut = pairs.filter(([short, name]) => short !== name);
  return cut.length ? `In full: ${cut.map(([short, name]) => `${short} is ${name}`).join(", ")}.` : "";
}

/** Whether a slice is drawn as a line, instead of a point for each value.
 * @param {import("./scale.js").Scale} scale
 * @param {PossibleSlice} slice
 */
const isLine = (scale, slice) => scale.isNumeric && slice.values.length > MAX_POINTS;

/** The band as pieces from value to value, and the line of the mean; bars and points where there is nothing between
 * values.
 * @param {import("./scale.js").Scale} scale
 * @param {PossibleSlice} slice
 * @param {number} i of the grid
 * @param {Colours} ink
 * @param {string} color
 * @param {number} crossed the position at which the other slices cross this one; NaN if they do not
 */
function bandAndMean(scale, slice, i, ink, color, crossed) {
  const at = slice.values.map((value) => scale.position(value));
  const rows = slice.predictions.map((each, k) => [at[k], each.lcb, each.ucb]);
  const isDrawnAsLine = isLine(scale, slice);
  const band = {
    type: "custom",
    clip: true,
    xAxisIndex: i,
    yAxisIndex: i,
    silent: true,
    z: 1,
    data: rows,
    encode: { x: 0, y: [1, 2] },
    renderItem: (/** @type {{ dataIndex: number }} */ params, /** @type {Canvas} */ api) => {
      const k = params.dataIndex;
      const [x, bottom] = api.coord([rows[k][0], rows[k][1]]);
      const [, top] = api.coord([rows[k][0], rows[k][2]]);
      if (!isDrawnAsLine)
        return {
          type: "line",
          shape: { x1: x, y1: bottom, x2: x, y2: top },
          style: { stroke: color, lineWidth: 6, opacity: 0.3 },
        };
      if (k + 1 === rows.length) return null;
      const next = api.coord([rows[k + 1][0], rows[k + 1][1]]);
      const above = api.coord([rows[k + 1][0], rows[k + 1][2]]);
      return {
        type: "polygon",
        shape: { points: [[x, bottom], next, above, [x, top]] },
        style: { fill: color, opacity: 0.18 },
      };
    },
  };
  const mean = {
    type: "line",
    xAxisIndex: i,
    yAxisIndex: i,
    symbol: isDrawnAsLine ? "none" : "circle",
    symbolSize: 7,
    lineStyle: { color, width: isDrawnAsLine ? 2.5 : 0 },
    itemStyle: { color },
    data: slice.predictions.map((each, k) => [at[k], each.mean]),
    markLine: {
      silent: true,
      symbol: "none",
      precision: 15, // with the default of two digits, small numbers would become 0
      label: { show: false },
      lineStyle: { color: ink.warn, type: "dashed", width: 1.5 },
      data: Number.isNaN(crossed) ? [] : [{ xAxis: crossed }],
    },
  };
  return [band, mean];
}

/**
 * @param {import("./data.js").StudyData} data
 * @param {string} name of its frame: a page may have several
 */
export function contourChart(data, name) {
  const [across, up, colour] = ["x", "y", "colour"].map((part) => byId(`${name}-${part}`, HTMLSelectElement));
  return new Chart(
    name,
    async () => {
      const [study, scales, history, failed] = await Promise.all([
        data.study(),
        data.axes(),
        data.history(),
        data.failed(),
      ]);
      if (!scales.length) return { empty: ONLY_ROWS };
      if (scales.length < 2)
        return { empty: `There is only one parameter to draw, ${scales[0].axisName}; its slice is above.` };
      if (!study.counts.observations) return { empty: "No results yet." };
      const few = await data.tooFew();
      if (few) return { empty: few };
      const [x, y] = await chosen(data, scales, across, up);
      const both = [x.name, y.name];
      const [slice, forbidden] = await Promise.all([data.slice(both), data.forbidden(both)]);
      const isProbability = colour.value.endsWith("_probability");
      const isLearned = slice.predictions.some((each) => each.finish_probability !== undefined);
      if (colour.value === "finish_probability" && !isLearned)
        return { empty: "Too few trials have failed to learn where they do." };
      const ink = colours();
      const [columns, lines] = slice.axes.map((axis) => axis.values);
      const [edgesX, edgesY] = [x.edges(columns), y.edges(lines)];
      const coloured = (/** @type {Record<string, any>} */ each) => each[colour.value] ?? NaN;
      const cells = slice.predictions.map((each, k) => {
        const [i, j] = [Math.floor(k / lines.length), k % lines.length];
        return [edgesX[i], edgesX[i + 1], edgesY[j], edgesY[j + 1], coloured(each)];
      });
      const isReversed = study.direction === "minimize" && colour.value === "mean";
      /** @type {ChartOption} */
      const option = {
        ...plane(x, y, ink),
        visualMap: ramp(
          ink,
          cells.map((cell) => cell[4]),
          {
            dimension: 4,
            isReversed,
            digits: isProbability ? undefined : study.quantity.digits,
            name:
              isProbability || !study.quantity.unit
                ? COLOURS[colour.value]
                : `${study.quantity.unit} ${COLOURS[colour.value]}`,
          },
        ),
      };
      if (isProbability) Object.assign(option.visualMap, { min: 0, max: 1, text: [`1 ${COLOURS[colour.value]}`, "0"] });
      const giving = (study.mixtures ?? [])
        .map((each) => each.parameters)
        .filter((names) => names.includes(x.name) || names.includes(y.name))
        .flat();
      const others = scales.filter((scale) => scale !== x && scale !== y && !giving.includes(scale.name));
      const isNear = nearby(others, slice.at);
      option.series = [
        rectangles(cells, (k) => (forbidden?.[k] ? hatched(ink) : {})),
        points(history.drawn, x, y, ink, isNear),
        crosses(
          failed.map(({ parameters }) => [x.position(parameters[x.name]), y.position(parameters[y.name])]),
          ink,
        ),
      ];
      option.tooltip = {
        ...option.tooltip,
        formatter: (/** @type {ChartPoint} */ { seriesIndex, dataIndex, data: point }) =>
          seriesIndex === 0 ? aboutPlace(dataIndex) : aboutResult(point.result, study),
      };
      const aboutPlace = (/** @type {number} */ k) => {
        const { finish_probability: finishes } = slice.predictions[k];
        return [
          ...(forbidden?.[k] ? ["excluded by the constraints"] : []),
          `${x.title}: ${x.label(x.position(columns[Math.floor(k / lines.length)]))}`,
          `${y.title}: ${y.label(y.position(lines[k % lines.length]))}`,
          expected(ofInterval(slice.predictions[k], study.algorithm), study.quantity),
          ...(finishes === undefined ? [] : [`finishes with probability ${finishes.toFixed(2)}`]),
        ].join("\n");
      };
      const rows = slice.predictions.map((each, k) => [
        columns[Math.floor(k / lines.length)],
        lines[k % lines.length],
        each.mean,
        each.std,
        each.lcb,
        each.ucb,
        each.feasible_probability,
        each.finish_probability,
      ]);
      const rest = conditions(study, slice.at, giving);
      return {
        option,
        height: heightOf(name, option, y),
        header: [x.name, y.name, "mean", "std", "lcb", "ucb", "feasible_probability", "finish_probability"],
        rows,
        caption: [
          rest.length
            ? `At ${[...rest.slice(0, MAX_NAMED), ...(rest.length > MAX_NAMED ? ["…"] : [])].join(", ")}.`
            : `From ${slice.results} results.`,
          ...(giving.length ? ["The other shares adjust."] : []),
          ...(forbidden ? ["Hatched: excluded by the constraints."] : []),
          option.xAxis.axisLabel.rotate ? inFull([x]) : "",
          ...(history.drawn.every(isNear) ? [] : [NEAR_IN_WORDS]),
          ...(history.isThinned ? [`${sampleOf(history)}.`] : []),
          ...(failed.length ? [FAILED_IN_WORDS] : []),
        ]
          .filter(Boolean)
          .join(" "),
      };
    },
    { select: ({ data: point }) => point?.result?.trial && location.assign(data.trialPage(point.result.trial)) },
  );
}

/** The two parameters that are chosen, two different ones: by their names, or by their ranks among those that matter.
 * While the model cannot tell how much they matter, they have the order of the study.
 * @param {import("./data.js").StudyData} data
 * @param {import("./scale.js").Scale[]} scales two or more
 * @param {HTMLSelectElement} across
 * @param {HTMLSelectElement} up
 */
export async function chosen(data, scales, across, up) {
  const selected = [across, up].map((select) => scales.find(({ name }) => name === select.value));
  const ranked = selected.includes(undefined) ? await byImportance(data, scales) : scales;
  const ofRank = (/** @type {HTMLSelectElement} */ { dataset }) =>
    ranked[Math.min(Number(dataset.parameters), ranked.length - 1)];
  const x = selected[0] ?? ofRank(across);
  const y = selected[1] ?? ofRank(up);
  if (x !== y) return [x, y];
  const other = ranked.find((each) => each !== x) ?? x;
  if (selected[1]) up.value = other.name;
  return [x, other];
}

/** Parameters, those that matter most first.
 * @param {import("./data.js").StudyData} data
 * @param {import("./scale.js").Scale[]} scales
 */
async function byImportance(data, scales) {
  const { parameters } = await data.importance().catch(() => ({ parameters: [] }));
  const totals = new Map(parameters.map((each) => [each.name, each.total]));
  return [...scales].sort((a, b) => (totals.get(b.name) ?? 0) - (totals.get(a.name) ?? 0));
}

/** Whether charts have the size that they have on paper: in a report, and while a page is printed. */
const isOnPaper = () => document.documentElement.classList.contains(PAPER);

/** The height of a plane, in pixels: each name on its axis upwards has its lines. Undefined if that of other charts is
 * enough.
 * @param {string} chart
 * @param {ChartOption} option
 * @param {import("./scale.js").Scale} y
 */
export function heightOf(chart, { xAxis }, y) {
  const lines = y.isNumeric ? 0 : Math.max(...y.choices.map((_, at) => y.tick(at).split("\n").length));
  const least = isOnPaper() ? MIN_PRINTED_PLANE : MIN_PLANE;
  const names = Math.max(y.choices.length * (lines * LINE + 6), xAxis.axisLabel.rotate ? least : 0);
  return heightFor(chart, ABOVE_PLANE + BELOW_PLANE + xAxis.nameGap + names);
}

/** The options that charts over two parameters have in common.
 * @param {import("./scale.js").Scale} x
 * @param {Across} y
 * @param {Colours} ink
 * @returns {ChartOption}
 */
export function plane(x, y, ink) {
  return {
    ...common(ink),
    legend: { show: false },
    // containLabel would measure the labels of other places than those of the parts
    grid: { ...OUTER, left: 8, right: 16, top: ABOVE_PLANE, bottom: BELOW_PLANE },
    xAxis: across(x, ink, byId("study", HTMLElement).clientWidth - BESIDE),
    yAxis: { ...y.axis(ink), nameTextStyle: { color: ink.ink, align: "left" } },
  };
}

/** Boxes [left, right, bottom, top, value]; the value gives the colour unless the style does.
 * @param {number[][]} cells
 * @param {(place: number) => ChartOption} style
 * @returns {ChartOption}
 */
export function rectangles(cells, style) {
  return {
    type: "custom",
    z: 1,
    data: cells,
    encode: { x: [0, 1], y: [2, 3] },
    clip: true,
    renderItem: (/** @type {{ dataIndex: number }} */ params, /** @type {Canvas} */ api) => {
      const [left, bottom] = api.coord([api.value(0), api.value(2)]);
      const [right, top] = api.coord([api.value(1), api.value(3)]);
      const shape = { x: left, y: top, width: right - left + 0.4, height: bottom - top + 0.4 };
      return { type: "rect", shape, style: { fill: api.visual("color"), ...style(params.dataIndex) } };
    },
  };
}

/** The style of excluded regions.
 * @param {Colours} ink
 * @returns {ChartOption}
 */
export function hatched(ink) {
  return {
    fill: ink.line,
    stroke: ink.muted,
    lineWidth: 0.6,
    decal: { symbol: "rect", color: ink.muted, dashArrayX: [1, 0], dashArrayY: [1, 6], rotation: 0.8 },
  };
}

/** The results that count, over two parameters: full near the plane that is drawn, otherwise small and faint.
 * @param {Result[]} results
 * @param {Across} x
 * @param {Across} y
 * @param {Colours} ink
 * @param {(result: Result) => boolean} isNear
 * @returns {ChartOption}
 */
export function points(results, x, y, ink, isNear) {
  const placed = results
    .filter((each) => !each.excluded)
    .map((result) => ({
      value: [x.position(result.parameters[x.name]), y.position(result.parameters[y.name])],
      result,
      ...(isNear(result) ? {} : { symbolSize: 4, itemStyle: { opacity: 0.45 } }),
    }));
  return {
    type: "scatter",
    z: 4,
    symbolSize: 7,
    clip: true,
    itemStyle: { color: ink.surface, borderColor: ink.ink, borderWidth: 1.4 },
    data: placed.filter(({ value }) => value.every(Number.isFinite)),
  };
}

export const FAILED_IN_WORDS = "×: failed trials.";

/** Crosses where trials failed.
 * @param {number[][]} places
 * @param {Colours} ink
 * @returns {ChartOption}
 */
export const crosses = (places, ink) => ({
  type: "scatter",
  silent: true,
  z: 5,
  symbol: "path://M0 0L10 10M10 0L0 10",
  symbolSize: 9,
  clip: false,
  itemStyle: { color: "none", borderColor: ink.bad, borderWidth: 1.8 },
  data: places.filter((place) => place.every(Number.isFinite)),
});

const NEAR = 0.1; // share of a range
export const NEAR_IN_WORDS = "Small points: measured elsewhere (other values of the parameters that are not shown).";

/** Whether a result is near a point in some parameters: the same choices, and numbers within a tenth of their ranges.
 * @param {import("./scale.js").Scale[]} others
 * @param {Point} through
 * @returns {(result: Result) => boolean}
 */
export const nearby =
  (others, through) =>
  ({ parameters }) =>
    others.every((scale) => !(scale.distance(parameters[scale.name], through[scale.name]) > NEAR));

/** A result in words.
 * @param {Result} result
 * @param {ShownStudy} study
 */
export function aboutResult(result, study) {
  const value = plusMinus(result.value, result.std_error, study.quantity);
  return [numbered(result), value, ...conditions(study, result.parameters)].join("\n");
}
