// What trials reported before their end, step by step.

import { Chart, colours, common, numbers } from "./charts.js";
import { byId } from "./elements.js";
import { counted, figure } from "./words.js";

/** @type {Record<string, string>} */
const NAMES = { active: "under way", completed: "completed", stopped: "stopped early", failed: "failed" };

/** @param {import("./data.js").StudyData} data */
export function curvesChart(data) {
  const isLog = byId("curves-log", HTMLInputElement);
  const make = async () => {
    const curves = await data.curves();
    if (!curves.length) return { empty: "No trial has reported a value yet." };
    const ink = colours();
    /** @type {Record<string, string>} */
    const tint = { active: ink.accent, completed: ink.good, stopped: ink.warn, failed: ink.bad };
    /** @type {Record<string, string>} */
    const dash = { stopped: "dashed", failed: "dotted" };
    const canBeLog = curves.every((each) => each.points.every(([, value]) => value > 0));
    isLog.disabled = !canBeLog;
    /** @type {ChartOption} */
    const option = {
      ...common(ink),
      grid: { left: 8, right: 16, top: 40, bottom: 28, containLabel: true },
      xAxis: numbers(ink, { name: "step", nameLocation: "middle", nameGap: 26, splitLine: { show: false } }),
      yAxis: numbers(ink, { type: canBeLog && isLog.checked ? "log" : "value", scale: true }),
      series: curves.map((each) => ({
        type: "line",
        name: NAMES[each.state] ?? "given back",
        data: each.points,
        showSymbol: each.points.length < 3,
        symbolSize: 5,
        triggerLineEvent: true,
        curve: each,
        color: tint[each.state] ?? ink.muted,
        lineStyle: { width: each.state === "active" ? 2.5 : 1.25, opacity: 0.75, type: dash[each.state] ?? "solid" },
      })),
    };
    option.legend.data = [...new Set(option.series.map((/** @type {{ name: string }} */ each) => each.name))];
    option.tooltip = {
      ...option.tooltip,
      formatter: (/** @type {{ seriesIndex: number, data?: [number, number] }} */ { seriesIndex, data: point }) =>
        told(curves[seriesIndex], point),
    };
    const rows = curves.flatMap((each) => each.points.map(([step, value]) => [each.trial, each.state, step, value]));
    return { option, header: ["trial", "state", "step", "value"], rows, said: said(curves) };
  };
  return new Chart("curves", make, {
    select: async ({ seriesIndex }) => location.assign(data.trialPage((await data.curves())[seriesIndex].trial)),
  });
}

/** What is said of a curve and a point of it.
 * @param {Curve} curve
 * @param {[number, number]} [point]
 */
function told(curve, point) {
  const lines = [
    `trial ${curve.trial}${curve.worker ? `, ${curve.worker}` : ""}, ${NAMES[curve.state] ?? "given back"}`,
  ];
  if (point) lines.push(`step ${point[0]}: ${figure(point[1])}`);
  if (curve.value !== null) lines.push(`result ${figure(curve.value)}`);
  return lines.join("\n");
}

/** @param {Curve[]} curves */
function said(curves) {
  const stopped = curves.filter((each) => each.state === "stopped").length;
  const longest = Math.max(...curves.map((each) => each.points.at(-1)?.[0] ?? 0));
  const trials = counted(curves.length, "trial");
  return `${trials}, ${stopped} of them stopped early; the longest reached step ${figure(longest, 9)}.`;
}
