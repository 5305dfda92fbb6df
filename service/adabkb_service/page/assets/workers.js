// The trials of each worker over time.

import { Chart, colours, common, roomForLegend } from "./charts.js";
import { STATES } from "./states.js";
import { atClock, counted, measured, span } from "./words.js";

const MAX_WORKERS = 40;
const TOP = 30; // pixels above the grid, for one line of the legend

/** @param {import("./data.js").StudyData} data */
export function timelineChart(data) {
  return new Chart(
    "timeline",
    async () => {
      const [all, { quantity }] = await Promise.all([data.timeline(), data.study()]);
      const trials = all.filter((trial) => trial.started_at);
      if (!trials.length) return { empty: "No worker has asked for a trial yet." };
      const ink = colours();
      const workerOf = (/** @type {TimelineTrial} */ trial) => trial.worker ?? "no name";
      const workers = [...new Set(trials.map(workerOf))].slice(-MAX_WORKERS);
      const drawn = trials.filter((trial) => workers.includes(workerOf(trial)));
      /** @type {Record<string, ChartOption>} */
      const styles = {
        active: { fill: ink.surface, stroke: ink.accent, lineWidth: 2 },
        completed: { fill: ink.accent, stroke: ink.surface, lineWidth: 1 },
        failed: { fill: ink.bad, stroke: ink.surface, lineWidth: 1, decal: stripes(ink, 0.8) },
        expired: { fill: ink.warn, stroke: ink.surface, lineWidth: 1, decal: stripes(ink, 0) },
        released: { fill: ink.warn, stroke: ink.surface, lineWidth: 1 },
        queued: { fill: ink.surface, stroke: ink.warn, lineWidth: 2 },
        stopped: { fill: ink.surface, stroke: ink.muted, lineWidth: 2 },
        withdrawn: { fill: ink.muted, stroke: ink.surface, lineWidth: 1 },
      };
      const states = Object.keys(styles).filter((state) => drawn.some((trial) => trial.state === state));
      const end = (/** @type {TimelineTrial} */ trial) =>
        Date.parse(trial.finished_at ?? (trial.state === "active" ? new Date().toISOString() : trial.started_at));
      /** @type {ChartOption} */
      const option = {
        ...common(ink),
        grid: { left: 8, right: 24, top: TOP, bottom: 8, containLabel: true },
        xAxis: {
          type: "time",
          minInterval: 1000,
          axisLabel: { color: ink.muted, hideOverlap: true },
          axisLine: { lineStyle: { color: ink.line } },
          splitLine: { show: true, lineStyle: { color: ink.line, opacity: 0.6 } },
        },
        yAxis: {
          type: "category",
          data: workers,
          axisLabel: { color: ink.ink, width: 130, overflow: "break" },
          axisTick: { show: false },
          axisLine: { show: false },
        },
        dataZoom: [{ type: "inside", filterMode: "none" }],
        series: [
          ...states.map((state) => ({
            type: "scatter",
            name: STATES[state],
            silent: true,
            data: [],
            itemStyle: legendStyle(styles[state]),
          })),
          {
            type: "custom",
            encode: { x: [1, 2], y: 0 },
            clip: true,
            data: drawn.map((trial) => ({
              value: [workers.indexOf(workerOf(trial)), Date.parse(trial.started_at), end(trial)],
              trial,
            })),
            renderItem: (/** @type {{ dataIndex: number }} */ params, /** @type {Canvas} */ api) => {
              const [left, middle] = api.coord([api.value(1), api.value(0)]);
              const [right] = api.coord([api.value(2), api.value(0)]);
              const height = Math.min(22, api.size([0, 1])[1] * 0.6);
              const shape = { x: left, y: middle - height / 2, width: Math.max(right - left, 3), height, r: 2 };
              return { type: "rect", shape, style: styles[drawn[params.dataIndex].state] };
            },
          },
        ],
      };
      const names = states.map((state) => STATES[state]);
      option.grid.top += roomForLegend("timeline", names);
      option.legend.data = names.map((name) => ({ name, icon: "rect" }));
      option.tooltip = {
        ...option.tooltip,
        formatter: (/** @type {{ data: { trial: TimelineTrial } }} */ { data: { trial } }) =>
          about(trial, end(trial), quantity),
      };
      const columns = /** @type {const} */ (["worker", "attempt", "state", "started_at", "finished_at", "value"]);
      const rows = trials.map((trial) => [trial.number, ...columns.map((name) => trial[name])]);
      const active = trials.filter((trial) => trial.state === "active").length;
      return {
        option,
        header: ["trial", ...columns],
        rows,
        height: Math.max(120, 50 + 30 * workers.length),
        caption: [
          counted(workers.length, "worker"),
          counted(trials.length, "trial"),
          `${active} ${STATES.active}.`,
        ].join(", "),
      };
    },
    { select: ({ data: point }) => location.assign(data.trialPage(point.trial.number)) },
  );
}

/** The style of a bar, for the legend.
 * @param {ChartOption} style
 */
const legendStyle = ({ fill, stroke, lineWidth, decal }) => ({
  color: fill,
  borderColor: stroke,
  borderWidth: lineWidth,
  decal,
});

/** Stripes over a colour.
 * @param {Colours} ink
 * @param {number} rotation
 */
const stripes = (ink, rotation) => ({
  symbol: "rect",
  color: ink.surface,
  dashArrayX: [1, 0],
  dashArrayY: [2, 5],
  rotation,
});

/** A trial in words.
 * @param {TimelineTrial} trial
 * @param {number} end in milliseconds
 * @param {Quantity} quantity
 */
function about(trial, end, quantity) {
  const lines = [
    `trial ${trial.number}, ${STATES[trial.state]}`,
    `from ${atClock(trial.started_at)}, ${span((end - Date.parse(trial.started_at)) / 1000)}`,
  ];
  if (trial.value !== null) lines.push(`result ${measured(trial.value, quantity)}`);
  return lines.join("\n");
}
