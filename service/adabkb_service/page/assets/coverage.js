// What was tried: the number of results for each combination of two parameters. A person can ask for a combination that
// has no result.

import { askWith } from "./asking.js";
import { Chart, colours, isLight, mixed, ramp } from "./charts.js";
import { byId } from "./elements.js";
import { chosen, hatched, heightOf, inFull, plane } from "./learned.js";
import { counted, figure, inUnit, measured } from "./words.js";

const PARTS = 5; // number of parts of a range
const MAX_COMBINATIONS = 10_000; // the server checks at most this many for exclusion
const MAX_LABELS = 12; // on an axis of whole numbers
const EXCLUDED = "excluded by the constraints";

/** The parts of a parameter: its choices, or parts of its range, or single whole numbers if there are few.
 * @param {import("./scale.js").Scale} scale
 * @returns {{ from: number, to: number, middle: unknown, ends: string, words: string }[]}
 */
function partsOf(scale) {
  const [low, high] = scale.ends;
  if (!scale.isNumeric)
    return scale.choices.map((choice, i) => ({
      from: i - 0.5,
      to: i + 0.5,
      middle: choice,
      ends: scale.tick(i),
      words: scale.label(i),
    }));
  const isWhole = scale.parameter.kind === "int";
  const count = isWhole ? Math.min(PARTS, high - low) : PARTS;
  const place = (/** @type {number} */ share) =>
    scale.isLog ? low * (high / low) ** share : low + (high - low) * share;
  return Array.from({ length: count }, (_, i) => {
    const [from, to] = [place(i / count), place((i + 1) / count)];
    const middle = Number(place((i + 0.5) / count).toPrecision(3));
    const [first, last] = isWhole ? [Math.ceil(from), Math.ceil(to) - 1] : [from, to]; // of a whole number
    const ends = first === last ? figure(first) : `${figure(first, 3)} to ${figure(last, 3)}`;
    const words = inUnit(ends, scale.parameter.unit);
    return { from, to, middle: isWhole ? Math.round(middle) : middle, ends, words };
  });
}

/** The edges of the parts of a parameter; none if each of its choices is a part.
 * @param {import("./scale.js").Scale} scale
 * @param {ReturnType<typeof partsOf>} parts
 */
const edgesOf = (scale, parts) => (scale.isNumeric ? [parts[0].from, ...parts.map(({ to }) => to)] : []);

/** Mark the parts of a parameter on its axis: the edges of parts of a range, or each whole number.
 * @param {ChartOption} axis
 * @param {import("./scale.js").Scale} scale
 * @param {ReturnType<typeof partsOf>} parts
 */
function markParts(axis, scale, parts) {
  if (!scale.isNumeric) return;
  const isWhole = scale.parameter.kind === "int";
  const places = isWhole ? parts.map(({ from, to }) => (from + to) / 2) : edgesOf(scale, parts);
  axis.axisTick = { customValues: places };
  Object.assign(axis.axisLabel, { customValues: places, showMinLabel: true, showMaxLabel: true });
  if (isWhole && parts.length <= MAX_LABELS)
    axis.axisLabel.formatter = (/** @type {number} */ at) => parts[places.indexOf(at)]?.ends ?? "";
}

/** @param {import("./data.js").StudyData} data */
export function coverageChart(data) {
  const [across, up, colour] = ["x", "y", "colour"].map((part) => byId(`coverage-${part}`, HTMLSelectElement));
  const make = async () => {
    const [study, scales] = await Promise.all([data.study(), data.axes()]);
    if (scales.length < 2) return { empty: "There is only one parameter to draw; its slice shows what was tried." };
    const [x, y] = await chosen(data, scales, across, up);
    const ink = colours();
    const [columns, rows] = [partsOf(x), partsOf(y)];
    const isAsked = columns.length * rows.length <= MAX_COMBINATIONS;
    const [names, edges] = [
      [x.name, y.name],
      [edgesOf(x, columns), edgesOf(y, rows)],
    ];
    const [counts, excluded] = await Promise.all([
      data.tried(names, edges),
      isAsked ? data.excluded(names, edges) : null,
    ]);
    const byPlace = new Map(counts.map((each) => [each.parts[0] * rows.length + each.parts[1], each]));
    const hasResults = counts.some(({ results }) => results);
    const isAtNoPoint = study.mixtures?.length && hasResults ? await excludedPoints(data, x, y) : () => false;
    const cells = columns.flatMap((column, i) =>
      rows.map((row, k) => {
        const place = i * rows.length + k;
        const {
          results: count,
          failed,
          low,
          high,
        } = byPlace.get(place) ?? { results: 0, failed: 0, low: null, high: null };
        const isImpossible = excluded?.[place] === true || isAtNoPoint(column.middle, row.middle);
        const best = study.direction ? (study.direction === "minimize" ? low : high) : null;
        const point = { [x.name]: column.middle, [y.name]: row.middle };
        return { column, row, point, count, failed, isExcluded: !count && !failed && isImpossible, best };
      }),
    );
    const isBest = colour.value === "best" && cells.some(({ best }) => best !== null);
    const tried = cells.filter(({ count }) => count);
    const touched = cells.filter(({ count, failed }) => count || failed);
    const possible = cells.filter(({ isExcluded }) => !isExcluded);
    const hasExcluded = possible.length < cells.length;
    const value = (/** @type {typeof cells[0]} */ cell) => (isBest ? (cell.best ?? NaN) : cell.count);
    const option = plane(x, y, ink);
    markParts(option.xAxis, x, columns);
    markParts(option.yAxis, y, rows);
    option.series = [
      {
        type: "custom",
        z: 1,
        encode: { x: [0, 1], y: [2, 3] },
        clip: true,
        data: cells.map((cell) => ({
          value: [cell.column.from, cell.column.to, cell.row.from, cell.row.to, value(cell)],
          cell,
        })),
        renderItem: (/** @type {{ dataIndex: number }} */ { dataIndex }, /** @type {Canvas} */ api) =>
          drawnCell(cells[dataIndex], api, ink),
      },
    ];
    option.visualMap = tried.length
      ? ramp(ink, tried.map(value), {
          dimension: 4,
          isReversed: isBest && study.direction === "minimize",
          name: isBest ? (study.quantity.unit ?? "best result") : "results",
          digits: isBest ? study.quantity.digits : undefined,
          ...(isBest ? {} : { colours: [mixed(ink.accent, ink.surface), ink.accent] }),
        })
      : [];
    option.tooltip = {
      ...option.tooltip,
      formatter: (/** @type {ChartPoint} */ { data: { cell } }) => tooltipOf(cell),
    };
    const tooltipOf = (/** @type {typeof cells[0]} */ { column, row, count, failed, isExcluded, best }) =>
      [
        `${x.title}: ${column.words}`,
        `${y.title}: ${row.words}`,
        count ? counted(count, "result") : failed ? "no result" : isExcluded ? EXCLUDED : "never tried",
        ...(failed ? [counted(failed, "failed trial")] : []),
        ...(best === null ? [] : [`best ${measured(best, study.quantity)}`]),
      ].join("\n");
    return {
      option,
      height: heightOf("coverage", option, y),
      header: [x.name, y.name, "results", "failed", "excluded", "best"],
      rows: cells.map((each) => [
        each.column.words,
        each.row.words,
        each.count,
        each.failed,
        each.isExcluded,
        each.best,
      ]),
      caption:
        `${touched.length} of ${possible.length}${hasExcluded ? " possible" : ""} combinations were tried; ` +
        `numbers count results, ×: only failed trials, hatched: never tried${hasExcluded ? `, –: ${EXCLUDED}` : ""}.` +
        (option.xAxis.axisLabel.rotate ? ` ${inFull([x])}` : ""),
    };
  };
  return new Chart("coverage", make, {
    select: ({ data: { cell } }) => {
      if (cell.count + cell.failed === 0 && !cell.isExcluded) askWith(cell.point);
    },
  });
}

/** Which points a mixture excludes, by the rule of the chart of two parameters. A part of a mixture whose middle is
 * excluded may have a possible corner, but no trial in it can be asked for.
 * @param {import("./data.js").StudyData} data
 * @param {import("./scale.js").Scale} x
 * @param {import("./scale.js").Scale} y
 * @returns {Promise<(across: unknown, up: unknown) => boolean>}
 */
async function excludedPoints(data, x, y) {
  const names = [x.name, y.name];
  const [forbidden, { axes }] = await Promise.all([data.forbidden(names), data.slice(names)]);
  const place = (
    /** @type {import("./scale.js").Scale} */ scale,
    /** @type {number} */ i,
    /** @type {unknown} */ at,
  ) => {
    const apart = axes[i].values.map((value) => Math.abs(scale.position(value) - scale.position(at)));
    return apart.indexOf(Math.min(...apart));
  };
  return (across, up) => forbidden?.[place(x, 0, across) * axes[1].values.length + place(y, 1, up)] === true;
}

/** A cell with the number of its results, a cross if all of its trials failed, or a dash if it is excluded.
 * @param {{ count: number, failed: number, isExcluded: boolean }} cell
 * @param {Canvas} api
 * @param {Colours} ink
 */
function drawnCell({ count, failed, isExcluded }, api, ink) {
  const [left, bottom] = api.coord([api.value(0), api.value(2)]);
  const [right, top] = api.coord([api.value(1), api.value(3)]);
  const shape = { x: left, y: top, width: right - left, height: bottom - top };
  const drawn = { stroke: ink.surface, lineWidth: 1 };
  const only = failed
    ? { ...drawn, fill: ink.line }
    : isExcluded
      ? { stroke: ink.line, lineWidth: 1, fill: ink.surface }
      : hatched(ink);
  const style = count ? { ...drawn, fill: api.visual("color") } : only;
  const label = {
    type: "text",
    silent: true,
    style: {
      text: count ? String(count) : failed ? "×" : isExcluded ? "–" : "",
      x: (left + right) / 2,
      y: (top + bottom) / 2,
      align: "center",
      verticalAlign: "middle",
      fill: !count ? ink.ink : isLight(api.visual("color")) ? "#1b1e21" : "#fff",
      fontSize: 14,
    },
  };
  return {
    type: "group",
    children: [{ type: "rect", shape, style, emphasis: { style: { stroke: ink.ink, lineWidth: 4 } } }, label],
  };
}
