// Learning curves: the values that trials reported, step by step. The chart shows the last trials, the best ones, or
// those that a person chooses.

import { allow, apart, Chart, colours, common, NO_LOG, numbers } from "./charts.js";
import { byId } from "./elements.js";
import { STATES } from "./states.js";
import { counted, figure, measured } from "./words.js";

const MAX_TRIALS = 100;

/** @param {import("./data.js").StudyData} data */
export function curvesChart(data) {
  const [isLog, trials] = ["log", "trials"].map((part) => byId(`curves-${part}`, HTMLInputElement));
  const which = byId("curves-which", HTMLSelectElement);
  /** @type {Curve[]} */
  let curves = [];
  const make = async () => {
    const numbered = (trials.value.match(/[1-9]\d{0,8}/g) ?? []).slice(0, MAX_TRIALS);
    which.disabled = numbered.length > 0;
    const ofBest = which.value ? `?best=${which.value}` : "";
    const asked = numbered.length ? `?${new URLSearchParams(numbered.map((each) => ["trial", each]))}` : ofBest;
    const [loaded, { quantity }] = await Promise.all([data.curves(asked), data.study()]);
    curves = loaded;
    if (!curves.length) return { empty: nothing(numbered, ofBest) };
    const ink = colours();
    const look = numbered.length ? (/** @type {Curve} */ _, /** @type {number} */ i) => ofTrial(i) : byState(ink);
    const nameOf = (/** @type {Curve} */ each) => (numbered.length ? `trial ${each.trial}` : STATES[each.state]);
    const canBeLog = curves.every((each) => each.points.every(([, value]) => value > 0));
    allow(isLog, canBeLog, NO_LOG);
    /** @type {ChartOption} */
    const option = {
      ...common(ink),
      grid: { left: 8, right: 16, top: 40, bottom: 28, containLabel: true },
      xAxis: numbers(ink, { name: "step", nameLocation: "middle", nameGap: 26, splitLine: { show: false } }),
      yAxis: numbers(ink, { type: canBeLog && isLog.checked ? "log" : "value", scale: true }),
      series: curves.map((each, i) => ({
        type: "line",
        name: nameOf(each),
        data: each.points,
        showSymbol: each.points.length < 3,
        symbolSize: 5,
        triggerLineEvent: true,
        curve: each,
        ...look(each, i),
      })),
    };
    option.legend.type = "scroll";
    option.legend.data = [...new Set(option.series.map((/** @type {{ name: string }} */ each) => each.name))];
    option.tooltip = {
      ...option.tooltip,
      formatter: (/** @type {{ seriesIndex: number, data?: [number, number] }} */ { seriesIndex, data: point }) =>
        tooltipOf(curves[seriesIndex], quantity, point),
    };
    const rows = curves.flatMap((each) => each.points.map(([step, value]) => [each.trial, each.state, step, value]));
    return { option, header: ["trial", "state", "step", "value"], rows, caption: captionOf(curves, numbered) };
  };
  return new Chart("curves", make, {
    select: ({ seriesIndex }) => location.assign(data.trialPage(curves[seriesIndex].trial)),
  });
}

/** How the curves of chosen trials are drawn: each in its own colour.
 * @param {number} i
 */
function ofTrial(i) {
  const { color, type } = apart(i);
  return { color, lineStyle: { width: 2.25, color, type } };
}

/** The styles of curves by the states of their trials.
 * @param {Colours} ink
 * @returns {(curve: Curve) => ChartOption}
 */
function byState(ink) {
  /** @type {Record<string, string>} */
  const tint = { active: ink.accent, completed: ink.good, stopped: ink.warn, failed: ink.bad };
  /** @type {Record<string, string>} */
  const dash = { stopped: "dashed", failed: "dotted" };
  return ({ state }) => ({
    color: tint[state] ?? ink.muted,
    lineStyle: { width: state === "active" ? 2.5 : 1.25, opacity: 0.75, type: dash[state] ?? "solid" },
  });
}

/** Why the chart is empty.
 * @param {string[]} numbered
 * @param {string} ofBest
 */
function nothing(numbered, ofBest) {
  if (numbered.length) return `No trial with the number ${numbered.join(" or ")} has reported a value.`;
  return ofBest ? "No completed trial has reported a value yet." : "No trial has reported a value yet.";
}

/** The description of a curve and of a point of it.
 * @param {Curve} curve
 * @param {Quantity} quantity
 * @param {[number, number]} [point]
 */
function tooltipOf(curve, quantity, point) {
  const lines = [`trial ${curve.trial}${curve.worker ? `, ${curve.worker}` : ""}, ${STATES[curve.state]}`];
  if (point) lines.push(`step ${point[0]}: ${measured(point[1], quantity)}`);
  if (curve.value !== null) lines.push(`result ${measured(curve.value, quantity)}`);
  return lines.join("\n");
}

/** @param {Curve[]} curves
 * @param {string[]} numbered
 */
function captionOf(curves, numbered) {
  const stopped = curves.filter((each) => each.state === "stopped").length;
  const longest = Math.max(...curves.map((each) => each.points.at(-1)?.[0] ?? 0));
  const trials = counted(curves.length, "trial");
  const left = numbered.filter((number) => !curves.some(({ trial }) => trial === Number(number)));
  return [
    `${trials}, ${stopped} of them stopped early; the longest reached step ${figure(longest, 9)}.`,
    ...(left.length ? [`Without reports: ${left.join(", ")}.`] : []),
  ].join(" ");
}
