// What the model has found out: importances, slices with bands, two parameters at once, and all results in parallel.

import { Chart, colours, common, isLight, numbers, RAMP, ramp } from "./charts.js";
import { byId } from "./elements.js";
import { conditions } from "./scale.js";
import { counted, figure, inUnit, plusMinus, shown } from "./words.js";

const CONSTANT = "The model predicts the same everywhere so far.";
const ONLY_ROWS = "The rows of a table have no order, so they cannot be drawn here; see the results below.";
const PREDICTED = /** @type {const} */ (["mean", "std", "lcb", "ucb"]);
const MAX_SLICES = 6;
const MAX_NAMED = 8; // conditions in a sentence
const CHARACTER = 7; // pixels of the width of one, about
const MAX_BARS = 20;
const MAX_THICK = 5; // lines of results
/** @type {Record<string, string>} */
const COLOURS = { mean: "expected", std: "uncertainty", feasible_probability: "probability of satisfying all bounds" };

/** @param {import("./data.js").StudyData} data */
export function importanceChart(data) {
  return new Chart("importance", async () => {
    const found = await data.importance();
    if (found.reason)
      return {
        empty: found.reason === "constant" ? CONSTANT : "Too few results: at least four are needed.",
      };
    const ink = colours();
    const titles = new Map((await data.scales()).map((scale) => [scale.name, scale.parameter.label ?? scale.name]));
    const sorted = found.parameters.filter((each) => titles.has(each.name)).sort((a, b) => a.total - b.total);
    const best = sorted.at(-1);
    if (!best) return { empty: CONSTANT };
    const drawn = sorted.slice(-MAX_BARS);
    /** @type {(name: string, field: "first_order" | "total", color: string) => ChartOption} */
    const bar = (name, field, color) => ({
      type: "bar",
      name,
      barGap: "10%",
      itemStyle: { color },
      data: drawn.map((each) => each[field]),
    });
    /** @type {ChartOption} */
    const option = {
      ...common(ink),
      grid: { left: 8, right: 24, top: 32, bottom: 8, containLabel: true },
      xAxis: numbers(ink, { min: 0, max: 1 }),
      yAxis: {
        type: "category",
        data: drawn.map((each) => titles.get(each.name)),
        axisLabel: { color: ink.ink, width: 140, overflow: "truncate" },
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
      formatter: (/** @type {{ dataIndex: number }[]} */ [first]) => sentence(drawn[first.dataIndex]),
    };
    const columns = /** @type {const} */ (["first_order", "first_order_error", "total", "total_error"]);
    const share = Math.round(100 * best.total);
    return {
      option,
      header: ["parameter", ...columns],
      rows: sorted.map((each) => [each.name, ...columns.map((name) => each[name])]).reverse(),
      said: `${titles.get(best.name)} matters most: ${share}% of the variance, from ${found.results} results.`,
      height: Math.max(320, 60 + 38 * drawn.length),
    };
  });
}

/** The importance of a parameter in words.
 * @param {Importance["parameters"][0]} each
 */
const sentence = (each) =>
  [
    each.name,
    `alone ${plusMinus(each.first_order, each.first_order_error)}`,
    `with all others ${plusMinus(each.total, each.total_error)}`,
  ].join("\n");

/** The standard error of each total index.
 * @param {Importance["parameters"]} drawn
 * @param {Colours} ink
 */
function whiskers(drawn, ink) {
  return {
    type: "custom",
    silent: true,
    z: 5,
    data: drawn.map((each, i) => [each.total - each.total_error, i, each.total + each.total_error]),
    encode: { x: [0, 2], y: 1 },
    renderItem: (/** @type {unknown} */ _, /** @type {Canvas} */ api) => {
      const height = api.size([0, 1])[1];
      const [low, y] = api.coord([Math.max(0, api.value(0)), api.value(1)]);
      const [high] = api.coord([Math.min(1, api.value(2)), api.value(1)]);
      const at = y + height * 0.2;
      return { type: "line", shape: { x1: low, y1: at, x2: high, y2: at }, style: { stroke: ink.ink, lineWidth: 1.5 } };
    },
  };
}

/** @type {(name: string, unit: string | undefined) => string} */
const inTwoLines = (name, unit) => (unit ? `${name}\n[${unit}]` : name);

/** @param {import("./data.js").StudyData} data */
export function parallelChart(data) {
  return new Chart("parallel", async () => {
    const [study, history, scales] = await Promise.all([data.study(), data.history(), data.axes()]);
    const found = history.results.filter((each) => !each.excluded);
    if (!found.length) return { empty: "No results yet." };
    if (!scales.length) return { empty: ONLY_ROWS };
    const ink = colours();
    const values = found.map((each) => each.value);
    const isNarrow = byId("parallel", HTMLElement).clientWidth < 560;
    /** @type {ChartOption[]} */
    const axes = scales.map((scale, dim) => {
      const { low: min, high: max } = scale.parameter;
      const kind = scale.isNumeric
        ? { type: scale.isLog ? "log" : "value", min, max }
        : { type: "category", data: scale.choices.map((choice) => shown(choice).slice(0, 14)) };
      return { dim, name: inTwoLines(scale.title, scale.parameter.unit), ...kind };
    });
    const { label = "result", unit } = study.quantity;
    axes.push({ dim: scales.length, name: inTwoLines(label, unit), type: "value", scale: true });
    const worstFirst = [...found].sort((a, b) =>
      study.direction === "minimize" ? b.value - a.value : a.value - b.value,
    );
    const line = (/** @type {Result} */ each) => [
      ...scales.map((scale) => scale.position(each.parameters[scale.name])),
      each.value,
    ];
    /** @type {ChartOption} */
    const option = {
      ...common(ink),
      parallel: {
        left: isNarrow ? 110 : 60,
        right: isNarrow ? 24 : 60,
        top: 58,
        bottom: 56,
        layout: isNarrow ? "vertical" : "horizontal",
        parallelAxisDefault: {
          nameLocation: isNarrow ? "start" : "end",
          nameTextStyle: { color: ink.muted, lineHeight: 15 },
          nameGap: 18,
          nameTruncate: { maxWidth: isNarrow ? 84 : 110 },
          axisLabel: {
            color: ink.ink,
            textBorderColor: ink.surface,
            textBorderWidth: 3,
            formatter: (/** @type {unknown} */ at) => (typeof at === "number" ? figure(at, 3) : at),
            hideOverlap: true,
          },
          axisLine: { lineStyle: { color: ink.muted } },
        },
      },
      parallelAxis: axes,
      visualMap: ramp(ink, values, {
        dimension: scales.length,
        isReversed: study.direction === "minimize",
        name: study.quantity.unit ?? "result",
        colours: isLight(ink.ink) ? RAMP.slice(3) : RAMP, // the darkest are not seen on a dark ground
      }),
      series: [
        {
          type: "parallel",
          lineStyle: { width: 1.2, opacity: 0.45 },
          data: worstFirst.map((each, i) => ({
            value: line(each),
            ...(i >= worstFirst.length - MAX_THICK ? { lineStyle: { width: 3, opacity: 1 } } : {}),
          })),
        },
      ],
    };
    option.tooltip = { show: false };
    const lines = `${counted(found.length, "result")} across ${counted(scales.length, "parameter")}`;
    return {
      option,
      header: [...scales.map((scale) => scale.name), "value"],
      rows: found.map((each) => [...scales.map((scale) => each.parameters[scale.name]), each.value]),
      said: `${lines}; bright lines are the better ones.`,
    };
  });
}

/** @param {import("./data.js").StudyData} data */
export function slicesChart(data) {
  return new Chart("slices", async () => {
    const [study, scales, importance] = await Promise.all([data.study(), data.axes(), data.importance()]);
    if (!study.counts.observations) return { empty: "No results yet." };
    if (!scales.length) return { empty: ONLY_ROWS };
    const weight = new Map(importance.parameters.map((each) => [each.name, each.total]));
    const drawn = [...scales]
      .sort((a, b) => (weight.get(b.name) ?? 0) - (weight.get(a.name) ?? 0))
      .slice(0, MAX_SLICES);
    const slices = await Promise.all(drawn.map((scale) => data.slice([scale.name])));
    const ink = colours();
    const [low, high] = extent(slices, (await data.history()).results);
    const width = byId("slices", HTMLElement).clientWidth;
    const columns = Math.min(drawn.length, width > 900 ? 3 : width > 560 ? 2 : 1);
    /** @type {ChartOption} */
    const option = { ...common(ink), legend: { show: false }, grid: [], xAxis: [], yAxis: [], series: [] };
    drawn.forEach((scale, i) => {
      const [column, row] = [i % columns, Math.floor(i / columns)];
      option.grid.push({
        left: `${(100 / columns) * column + 1}%`,
        width: `${100 / columns - 4}%`,
        top: 24 + 230 * row,
        height: 176,
        containLabel: true,
      });
      const axis = scale.axis(ink);
      const room = (width / columns - 60) / CHARACTER;
      const isCrowded = scale.choices.map((choice) => shown(choice).slice(0, 16)).join("  ").length > room;
      if (isCrowded && !scale.isNumeric) Object.assign(axis.axisLabel, { rotate: 30, hideOverlap: false });
      option.xAxis.push({
        ...axis,
        name: named(scale, slices[i].at),
        gridIndex: i,
        nameLocation: "middle",
        nameGap: isCrowded && !scale.isNumeric ? 44 : 26,
        nameTextStyle: { color: ink.ink },
      });
      option.yAxis.push(
        numbers(ink, {
          gridIndex: i,
          min: low,
          max: high,
          ...(column === 0 ? { name: study.quantity.title, nameTextStyle: { color: ink.muted, align: "left" } } : {}),
          axisLabel: { color: ink.muted, formatter: (/** @type {number} */ at) => figure(at, 3), hideOverlap: true },
        }),
      );
      const recommended = slices.find(({ at }) => scale.name in at)?.at[scale.name];
      option.series.push(...bandAndMean(scale, slices[i], i, ink, scale.position(recommended)));
    });
    option.tooltip = {
      ...option.tooltip,
      trigger: "axis",
      formatter: (/** @type {{ seriesIndex: number, dataIndex: number, value: number[] }[]} */ [first]) => {
        const each = slices[first.seriesIndex >> 1].predictions[first.dataIndex];
        const scale = drawn[first.seriesIndex >> 1];
        return [
          `${scale.title}: ${scale.label(first.value[0])}`,
          plusMinus(each.mean, each.std, study.quantity),
          `between ${figure(each.lcb, 4)} and ${inUnit(figure(each.ucb, 4), study.quantity.unit)}`,
        ].join("\n");
      },
    };
    const rows = slices.flatMap((slice, i) =>
      slice.axes[0].values.map((value, k) => [
        drawn[i].name,
        value,
        ...PREDICTED.map((name) => slice.predictions[k][name]),
      ]),
    );
    const left = scales.length - drawn.length;
    const through = conditions(study.parameters, Object.assign({}, ...slices.map(({ at }) => at)));
    const point = [...through.slice(0, MAX_NAMED), ...(through.length > MAX_NAMED ? ["…"] : [])].join(", ");
    return {
      option,
      header: ["parameter", "value", ...PREDICTED],
      rows,
      height: 30 + 230 * Math.ceil(drawn.length / columns),
      said: [
        "Line: the model's expectation.",
        ...(through.length ? [`Dashed: the point that all slices pass through, ${point}.`] : []),
        `Band: interval for ${study.quantity.label ?? "the objective"}.`,
        ...(left > 0 ? [`The ${drawn.length} parameters that matter most of ${scales.length}.`] : []),
      ].join(" "),
    };
  });
}

/** The range over which slices are drawn: it includes the bands, but not so much that means and results become
 * indistinguishable.
 * @param {Slice[]} slices
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
function named(scale, at) {
  const needed = Object.keys(scale.parameter.when ?? {}).map((name) => `${name} = ${shown(at[name])}`);
  return [scale.axisName, ...needed].join(", ");
}

/** The band as pieces from value to value, and the line of the mean; bars and points where there is nothing between
 * values.
 * @param {import("./scale.js").Scale} scale
 * @param {Slice} slice
 * @param {number} i of the grid
 * @param {Colours} ink
 * @param {number} recommended where the others' slices pass; NaN if there are none
 */
function bandAndMean(scale, slice, i, ink, recommended) {
  const at = slice.axes[0].values.map((value) => scale.position(value));
  const rows = slice.predictions.map((each, k) => [at[k], each.lcb, each.ucb]);
  const isLine = scale.isNumeric && at.length > 12;
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
      if (!isLine)
        return {
          type: "line",
          shape: { x1: x, y1: bottom, x2: x, y2: top },
          style: { stroke: ink.accent, lineWidth: 6, opacity: 0.3 },
        };
      if (k + 1 === rows.length) return null;
      const next = api.coord([rows[k + 1][0], rows[k + 1][1]]);
      const above = api.coord([rows[k + 1][0], rows[k + 1][2]]);
      return {
        type: "polygon",
        shape: { points: [[x, bottom], next, above, [x, top]] },
        style: { fill: ink.accent, opacity: 0.18 },
      };
    },
  };
  const mean = {
    type: "line",
    xAxisIndex: i,
    yAxisIndex: i,
    symbol: isLine ? "none" : "circle",
    symbolSize: 7,
    lineStyle: { color: ink.accent, width: isLine ? 2.5 : 0 },
    itemStyle: { color: ink.accent },
    data: slice.predictions.map((each, k) => [at[k], each.mean]),
    markLine: {
      silent: true,
      symbol: "none",
      label: { show: false },
      lineStyle: { color: ink.warn, type: "dashed", width: 1.5 },
      data: Number.isNaN(recommended) ? [] : [{ xAxis: recommended }],
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
      const [study, scales, history] = await Promise.all([data.study(), data.axes(), data.history()]);
      if (!scales.length) return { empty: ONLY_ROWS };
      if (scales.length < 2)
        return { empty: `There is only one parameter to draw, ${scales[0].axisName}; its slice is above.` };
      if (!study.counts.observations) return { empty: "No results yet." };
      const [x, y] = chosen(scales, across, up);
      const both = [x.name, y.name];
      const [slice, forbidden] = await Promise.all([data.slice(both), data.forbidden(both)]);
      const isFeasibility = colour.value === "feasible_probability";
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
            name:
              isFeasibility || !study.quantity.unit
                ? COLOURS[colour.value]
                : `${study.quantity.unit} ${COLOURS[colour.value]}`,
          },
        ),
      };
      if (isFeasibility) Object.assign(option.visualMap, { min: 0, max: 1, text: [`1 ${COLOURS[colour.value]}`, "0"] });
      option.series = [
        rectangles(cells, (k) => (forbidden?.[k] ? hatched(ink) : {})),
        points(history.results, x, y, ink),
      ];
      option.tooltip = {
        ...option.tooltip,
        formatter: (/** @type {ChartPoint} */ { seriesIndex, dataIndex, data: point }) =>
          seriesIndex === 0 ? aboutPlace(dataIndex) : aboutResult(point.result, study),
      };
      const aboutPlace = (/** @type {number} */ k) => {
        const { mean, std } = slice.predictions[k];
        return [
          ...(forbidden?.[k] ? ["excluded by the constraints"] : []),
          `${x.title}: ${x.label(x.position(columns[Math.floor(k / lines.length)]))}`,
          `${y.title}: ${y.label(y.position(lines[k % lines.length]))}`,
          plusMinus(mean, std, study.quantity),
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
      ]);
      const giving = (study.mixtures ?? [])
        .map((each) => each.parameters)
        .filter((names) => names.includes(x.name) || names.includes(y.name))
        .flat();
      const rest = conditions(
        study.parameters.filter(({ name }) => !giving.includes(name)),
        slice.at,
      );
      return {
        option,
        header: [x.name, y.name, "mean", "std", "lcb", "ucb", "feasible_probability"],
        rows,
        said: [
          rest.length
            ? `At ${[...rest.slice(0, MAX_NAMED), ...(rest.length > MAX_NAMED ? ["…"] : [])].join(", ")}.`
            : `From ${slice.results} results.`,
          ...(giving.length ? ["The other shares adjust."] : []),
          ...(forbidden ? ["Hatched: excluded by the constraints."] : []),
        ].join(" "),
      };
    },
    { select: ({ data: point }) => point?.result?.trial && location.assign(data.trialPage(point.result.trial)) },
  );
}

/** The two parameters that are chosen; two different ones.
 * @param {import("./scale.js").Scale[]} scales two or more
 * @param {HTMLSelectElement} across
 * @param {HTMLSelectElement} up
 */
export function chosen(scales, across, up) {
  const x = scales.find(({ name }) => name === across.value) ?? scales[0];
  let y = scales.find(({ name }) => name === up.value) ?? scales[1];
  if (x === y) {
    y = scales[x === scales[0] ? 1 : 0];
    up.value = y.name;
  }
  return [x, y];
}

/** The charts over two parameters.
 * @param {Across} x
 * @param {Across} y
 * @param {Colours} ink
 * @returns {ChartOption}
 */
export function plane(x, y, ink) {
  return {
    ...common(ink),
    legend: { show: false },
    grid: { left: 8, right: 16, top: 30, bottom: 62, containLabel: true },
    xAxis: { ...x.axis(ink), nameLocation: "middle", nameGap: 26, nameTextStyle: { color: ink.ink } },
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

/** The excluded regions.
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

/** The results that count, over two parameters.
 * @param {Result[]} found
 * @param {Across} x
 * @param {Across} y
 * @param {Colours} ink
 * @returns {ChartOption}
 */
export function points(found, x, y, ink) {
  const placed = found
    .filter((each) => !each.excluded)
    .map((result) => ({
      value: [x.position(result.parameters[x.name]), y.position(result.parameters[y.name])],
      result,
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

/** A result in words.
 * @param {Result} result
 * @param {ShownStudy} study
 */
export function aboutResult(result, { quantity, parameters }) {
  const name = `result ${result.seq}${result.trial ? `, trial ${result.trial}` : ""}`;
  const value = plusMinus(result.value, result.std_error, quantity);
  return [name, value, ...conditions(parameters, result.parameters)].join("\n");
}
