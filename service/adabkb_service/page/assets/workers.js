// Who evaluated what, and when.

import { Chart, colours, common } from "./charts.js";
import { atClock, counted, figure, span } from "./words.js";

const MOST_WORKERS = 40;

/** @param {import("./data.js").StudyData} data */
export function timelineChart(data) {
  return new Chart(
    "timeline",
    async () => {
      const trials = (await data.timeline()).filter((trial) => trial.started_at);
      if (!trials.length) return { empty: "No worker has asked for a trial yet." };
      const ink = colours();
      const named = (/** @type {TimelineTrial} */ trial) => trial.worker ?? "no name";
      const workers = [...new Set(trials.map(named))].slice(-MOST_WORKERS);
      const drawn = trials.filter((trial) => workers.includes(named(trial)));
      /** @type {Record<string, string>} */
      const tint = { active: ink.accent, completed: ink.good, failed: ink.bad };
      const end = (/** @type {TimelineTrial} */ trial) =>
        Date.parse(trial.finished_at ?? (trial.state === "active" ? new Date().toISOString() : trial.started_at));
      /** @type {ChartOption} */
      const option = {
        ...common(ink),
        grid: { left: 8, right: 24, top: 8, bottom: 8, containLabel: true },
        xAxis: {
          type: "time",
          axisLabel: { color: ink.muted, hideOverlap: true },
          axisLine: { lineStyle: { color: ink.line } },
          splitLine: { show: true, lineStyle: { color: ink.line, opacity: 0.6 } },
        },
        yAxis: {
          type: "category",
          data: workers,
          axisLabel: { color: ink.ink, width: 130, overflow: "truncate" },
          axisTick: { show: false },
          axisLine: { show: false },
        },
        dataZoom: [{ type: "inside", filterMode: "none" }],
        series: [
          {
            type: "custom",
            encode: { x: [1, 2], y: 0 },
            clip: true,
            data: drawn.map((trial) => ({
              value: [workers.indexOf(named(trial)), Date.parse(trial.started_at), end(trial)],
              trial,
            })),
            renderItem: (/** @type {{ dataIndex: number }} */ params, /** @type {Canvas} */ api) => {
              const [left, middle] = api.coord([api.value(1), api.value(0)]);
              const [right] = api.coord([api.value(2), api.value(0)]);
              const height = Math.min(22, api.size([0, 1])[1] * 0.6);
              const shape = { x: left, y: middle - height / 2, width: Math.max(right - left, 3), height, r: 2 };
              const fill = tint[drawn[params.dataIndex].state] ?? ink.warn;
              return { type: "rect", shape, style: { fill, stroke: ink.surface, lineWidth: 1 } };
            },
          },
        ],
      };
      option.tooltip = {
        ...option.tooltip,
        formatter: (/** @type {{ data: { trial: TimelineTrial } }} */ { data: { trial } }) => about(trial, end(trial)),
      };
      const columns = /** @type {const} */ (["worker", "attempt", "state", "started_at", "finished_at", "value"]);
      const rows = trials.map((trial) => [trial.number, ...columns.map((name) => trial[name])]);
      const active = trials.filter((trial) => trial.state === "active").length;
      return {
        option,
        header: ["trial", ...columns],
        rows,
        height: Math.max(120, 50 + 30 * workers.length),
        said: [
          `${counted(workers.length, "worker")}, ${counted(trials.length, "trial")}, ${active} in progress.`,
          "Blue-green: in progress; green: completed; red: failed; amber: lost or given back.",
        ].join(" "),
      };
    },
    { select: ({ data: point }) => location.assign(data.trialPage(point.trial.number)) },
  );
}

/** A trial in words.
 * @param {TimelineTrial} trial
 * @param {number} end in milliseconds
 */
function about(trial, end) {
  const lines = [
    `trial ${trial.number}, ${trial.state}`,
    `from ${atClock(trial.started_at)}, ${span((end - Date.parse(trial.started_at)) / 1000)}`,
  ];
  if (trial.value !== null) lines.push(`result ${figure(trial.value)}`);
  return lines.join("\n");
}
