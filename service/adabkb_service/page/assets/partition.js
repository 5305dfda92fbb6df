// The partition of the space: the cells that a plane through the recommended point meets, and their replay, with the
// model's predictions at that time.

import { Chart, colours, ramp } from "./charts.js";
import { byId } from "./elements.js";
import { aboutResult, chosen, crosses, hatched, heightOf, nearby, plane, points, rectangles } from "./learned.js";
import { counted, inUnit, meanOf, plusMinus, shown } from "./words.js";

const PLAY_MILLISECONDS = 140;
const MAX_STEPS = 60;

/** The model's prediction for each cell; null if it was not requested.
 * @typedef {Awaited<ReturnType<import("./data.js").StudyData["past"]>>} Past
 */
/** @type {Record<string, string>} */
const NAMES = { index: "optimistic bound", mean: "expected", std: "uncertainty", depth: "depth" };

/** @param {import("./data.js").StudyData} data */
export function partitionChart(data) {
  const [across, up, colour] = ["x", "y", "colour"].map((part) => byId(`partition-${part}`, HTMLSelectElement));
  const [withPoints, step] = ["points", "step"].map((part) => byId(`partition-${part}`, HTMLInputElement));
  const output = byId("partition-shown", HTMLOutputElement);
  const play = byId("partition-play", HTMLButtonElement);
  let isAtEnd = true;
  const chart = new Chart(
    "partition",
    async () => {
      const [study, scales, history, { items, isAll }, recommendation] = await Promise.all([
        data.study(),
        data.axes(),
        data.history(),
        data.cells(),
        data.recommendation(),
      ]);
      if (!scales.length) return { empty: "The rows of a table have no cells to draw." };
      const few = await data.tooFew();
      if (few) return { empty: few };
      if (items.length < 2) return { empty: "The space is a single cell until the model refines it." };
      const end = history.count;
      step.max = String(end);
      if (isAtEnd) step.value = String(end);
      const now = Number(step.value);
      output.textContent = now === end ? `${end}, now` : String(now);
      const ink = colours();
      const [x, y] = scales.length > 1 ? await chosen(data, scales, across, up) : [scales[0], null];
      const past = now < end ? await data.past(now) : null;
      const cells = tree(items, history.results, now, end, past);
      const through = recommendation.model?.parameters ?? items[0].centroid;
      const others = scales.filter((scale) => scale !== x && scale !== y);
      const met = cells.filter((cell) =>
        others.every((scale) => scale.holds(cell.low[scale.name], cell.high[scale.name], through[scale.name])),
      );
      const bounds = new Set(cells.map((cell) => cell.index).filter((index) => index !== null));
      const hasIndex = bounds.size > 1; // if natural bounds clip all of them, they are all equal
      const coloured = colour.value === "index" && !hasIndex ? "mean" : colour.value;
      const value = (/** @type {Record<string, any>} */ cell) => cell[coloured] ?? NaN;
      const leaves = met.filter((cell) => cell.status === "leaf" && Number.isFinite(value(cell)));
      const blank = met.filter(
        (cell) => cell.status === "pruned" || (cell.status === "leaf" && !Number.isFinite(value(cell))),
      );
      const box = (/** @type {PartitionCell} */ cell) => {
        const [bottom, top] = y ? y.box(cell.low[y.name], cell.high[y.name]) : [0, 1];
        return [...x.box(cell.low[x.name], cell.high[x.name]), bottom, top, value(cell)];
      };
      const isReversed = study.direction === "minimize" && (coloured === "mean" || coloured === "index");
      /** @type {ChartOption} */
      const option = plane(x, y ?? flat(), ink);
      option.series = [
        { ...rectangles(leaves.map(box), () => ({ stroke: ink.surface, lineWidth: 0.6 })), name: "leaves" },
        {
          ...rectangles(
            blank.map((cell) => [...box(cell).slice(0, 4), 0]),
            () => hatched(ink),
          ),
          name: "pruned",
        },
      ];
      if (leaves.length)
        option.visualMap = ramp(ink, leaves.map(value), {
          dimension: 4,
          isReversed,
          digits: coloured === "depth" ? undefined : study.quantity.digits,
          name: coloured === "depth" ? NAMES.depth : `${study.quantity.unit ?? ""} ${NAMES[coloured]}`.trim(),
        });
      if (!leaves.length) option.visualMap = [];
      const impossible = y ? await impossibleIn(data, x, y) : [];
      if (impossible.length)
        option.series.push({ ...rectangles(impossible, () => hatched(ink)), name: "impossible", z: 2, silent: true });
      const failed = now === end && y ? await data.failed() : [];
      const seen = history.results.filter((each) => each.seq <= now);
      if (withPoints.checked && y)
        option.series.push(
          points(seen, x, y, ink, nearby(others, through)),
          star(through, x, y, now === end && recommendation.model !== null),
        );
      if (withPoints.checked && y)
        option.series.push(
          crosses(
            failed.map(({ parameters }) => [x.position(parameters[x.name]), y.position(parameters[y.name])]),
            ink,
          ),
        );
      option.tooltip = {
        ...option.tooltip,
        formatter: (/** @type {ChartPoint} */ { seriesIndex, dataIndex, data: point }) =>
          seriesIndex < 2
            ? aboutCell((seriesIndex ? blank : leaves)[dataIndex], y ? [x, y] : [x], study.quantity)
            : point.result
              ? aboutResult(point.result, study)
              : "recommended point",
      };
      const header = [
        "key",
        "status",
        "depth",
        "mean",
        "std",
        "index",
        ...scales.flatMap((scale) => [`${scale.name} low`, `${scale.name} high`]),
      ];
      const rows = items.map((cell) => [
        cell.key,
        cell.status,
        cell.depth,
        cell.mean,
        cell.std,
        cell.index,
        ...scales.flatMap((scale) => [cell.low[scale.name], cell.high[scale.name]]),
      ]);
      return {
        option,
        header,
        rows,
        height: y ? Math.max(460, heightOf("partition", option, y) ?? 0) : 200,
        caption: captionOf(
          met,
          blank,
          items,
          isAll,
          others,
          through,
          coloured !== colour.value,
          now < end ? { now, past } : null,
          impossible.length > 0,
        ),
      };
    },
    { select: ({ data: point }) => point?.result?.trial && location.assign(data.trialPage(point.result.trial)) },
  );

  step.addEventListener("input", () => {
    isAtEnd = step.value === step.max;
    chart.due(true);
  });
  let isPlaying = false;
  const stop = () => {
    isPlaying = false;
    play.textContent = "▶";
    play.setAttribute("aria-label", "Replay");
  };
  play.addEventListener("click", async () => {
    if (isPlaying) return stop();
    isPlaying = true;
    if (step.value === step.max) step.value = "0";
    play.textContent = "❚❚";
    play.setAttribute("aria-label", "Pause the replay");
    const stride = Math.max(1, Math.ceil(Number(step.max) / MAX_STEPS));
    while (isPlaying && step.value !== step.max) {
      step.value = String(Number(step.value) + stride);
      isAtEnd = step.value === step.max;
      await Promise.all([chart.drawn(), new Promise((resolve) => setTimeout(resolve, PLAY_MILLISECONDS))]);
    }
    stop();
  });
  return chart;
}

/** The cells after a number of results: those created no later than the newest cell from which one of the trials until
 * then was suggested. Cells are listed in order of creation, children of a cell together. Pruning and predictions are
 * those of that time, if the model answers, otherwise the current ones.
 * @param {PartitionCell[]} cells
 * @param {Result[]} results
 * @param {number} now
 * @param {number} end
 * @param {Past} past
 * @returns {PartitionCell[]}
 */
function tree(cells, results, now, end, past) {
  if (now === end) return cells;
  const place = new Map(cells.map((cell, i) => [cell.key, i]));
  let last = 0;
  for (const each of results) if (each.seq <= now && each.cell) last = Math.max(last, place.get(each.cell) ?? 0);
  const parent = (/** @type {PartitionCell} */ cell) => cell.key.slice(0, cell.key.lastIndexOf("."));
  while (last > 0 && last + 1 < cells.length && family(cells[last + 1]) === family(cells[last])) last += 1;
  const known = cells.slice(0, last + 1);
  const divided = new Set(known.map(parent));
  return known
    .filter((cell) => !divided.has(cell.key))
    .map((cell) => {
      const then = past?.get(cell.key);
      return { ...cell, ...then, status: then?.status === "pruned" ? "pruned" : "leaf" };
    });
}

/** The common part of siblings: the parent and, where a cut names its axis, the axis.
 * @param {PartitionCell} cell
 */
const family = (cell) => cell.key.replace(/\d+$/, "");

/** The places of a plane that the constraints and mixtures exclude, by the rule of the chart of two parameters.
 * @param {import("./data.js").StudyData} data
 * @param {import("./scale.js").Scale} x
 * @param {import("./scale.js").Scale} y
 */
async function impossibleIn(data, x, y) {
  const names = [x.name, y.name];
  const forbidden = await data.forbidden(names);
  if (!forbidden) return [];
  const [columns, lines] = (await data.slice(names)).axes.map((axis) => axis.values);
  const [across, up] = [x.edges(columns), y.edges(lines)];
  return forbidden.flatMap((isForbidden, k) => {
    const [i, j] = [Math.floor(k / lines.length), k % lines.length];
    return isForbidden ? [[across[i], across[i + 1], up[j], up[j + 1], 0]] : [];
  });
}

/** A scale without values, across which a single parameter's cells are drawn.
 * @returns {Across}
 */
function flat() {
  return {
    axis: () => ({ type: "value", show: false, min: 0, max: 1 }),
    position: () => 0.5,
    name: "",
  };
}

/** The recommended point, if it is there.
 * @param {Point} through
 * @param {Across} x
 * @param {Across} y
 * @param {boolean} isThere
 * @returns {ChartOption}
 */
function star(through, x, y, isThere) {
  const data = isThere ? [[x.position(through[x.name]), y.position(through[y.name])]] : [];
  return {
    type: "scatter",
    z: 5,
    symbol: "path://M5 0L6.5 3.4 10 3.8 7.4 6.2 8.1 10 5 8 1.9 10 2.6 6.2 0 3.8 3.5 3.4Z",
    symbolSize: 20,
    itemStyle: { color: "#ffb545", borderColor: "#1b1e21", borderWidth: 1.2 },
    data,
  };
}

/** A cell in words.
 * @param {PartitionCell} cell
 * @param {import("./scale.js").Scale[]} drawn
 * @param {Quantity} quantity
 */
function aboutCell(cell, drawn, quantity) {
  const sides = drawn.map(({ name, title, parameter }) =>
    inUnit(`${title} ${shown(cell.low[name])} to ${shown(cell.high[name])}`, parameter.unit),
  );
  const bound = cell.index === null ? [] : [`as good as ${meanOf(cell.index, quantity)}`];
  return [
    `${cell.status === "leaf" ? "possible" : "ruled out"}, depth ${cell.depth}`,
    plusMinus(cell.mean, cell.std, quantity),
    ...bound,
    ...sides,
  ].join("\n");
}

/** The chart in words.
 * @param {PartitionCell[]} met by the plane
 * @param {PartitionCell[]} blank those of them that are hatched
 * @param {PartitionCell[]} cells
 * @param {boolean} isAll
 * @param {import("./scale.js").Scale[]} others
 * @param {Point} through
 * @param {boolean} lacksIndex
 * @param {{ now: number, past: Past } | null} replayed
 * @param {boolean} hasImpossible
 */
function captionOf(met, blank, cells, isAll, others, through, lacksIndex, replayed, hasImpossible) {
  const open = cells.filter((cell) => cell.status === "leaf").length;
  const shownHere = met.filter((cell) => cell.status === "leaf").length;
  const isPruned = (/** @type {PartitionCell} */ cell) => cell.status === "pruned";
  const [out, unknown] = [blank.filter(isPruned).length, blank.filter((cell) => !isPruned(cell)).length];
  const hatched = [
    out && `${out} ruled out`,
    unknown && `${unknown} without a number`,
    hasImpossible && "what the constraints exclude",
  ].filter(Boolean);
  const parts = [`${shownHere} of ${open} possible parts are in this plane; hatched: ${hatched.join(", ") || "none"}`];
  if (others.length)
    parts.push(
      `others at ${others
        .slice(0, 6)
        .map((scale) => `${scale.title} = ${inUnit(shown(through[scale.name]), scale.parameter.unit)}`)
        .join(", ")}${others.length > 6 ? ", …" : ""}`,
    );
  if (!isAll) parts.push(`only the first ${cells.length} parts are shown`);
  if (lacksIndex) parts.push("the optimistic bound does not tell parts apart yet, so the expected result is shown");
  if (replayed?.past) parts.push(`replay: as of the first ${counted(replayed.now, "result")}, learned from these`);
  else if (replayed) parts.push("replay: the parts of then in the colours of now, as the results are too many");
  return `${parts.join("; ")}.`;
}
