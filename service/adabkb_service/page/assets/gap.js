// The gap over time: the bound on the remaining gain when each trial was suggested.

import { allow, Chart, colours, common, NO_LOG, numbers } from "./charts.js";
import { byId } from "./elements.js";
import { inPoints, titled, unitOfDifference } from "./words.js";

const FEWEST = 5; // minimum number of trials whose gap is known, for the chart

/** @param {import("./data.js").StudyData} data */
export function gapChart(data) {
  const isLog = byId("gap-log", HTMLInputElement);
  return new Chart(
    "gap",
    async () => {
      const [study, history] = await Promise.all([data.study(), data.history()]);
      const known = history.results
        .flatMap(({ trial, seq, gap }) => (trial === null || gap === null ? [] : [{ trial, seq, gap }]))
        .sort((a, b) => a.trial - b.trial);
      if (known.length < FEWEST) return { empty: nothing(study, history) };
      const ink = colours();
      const canBeLog = known.every((each) => each.gap > 0);
      allow(isLog, canBeLog, NO_LOG);
      /** @type {ChartOption} */
      const option = {
        ...common(ink),
        legend: { show: false },
        grid: { left: 8, right: 24, top: 34, bottom: 32, containLabel: true },
        xAxis: numbers(ink, {
          name: "trial",
          nameLocation: "middle",
          nameGap: 26,
          scale: true,
          minInterval: 1,
          splitLine: { show: false },
        }),
        yAxis: numbers(ink, {
          ...(canBeLog && isLog.checked ? { type: "log" } : { min: 0 }),
          name: titled("possible gain", "", unitOfDifference(study.quantity.unit)),
          nameTextStyle: { color: ink.muted, align: "left" },
        }),
        series: [
          {
            type: "line",
            symbolSize: 5,
            lineStyle: { width: 2, color: ink.accent },
            itemStyle: { color: ink.accent },
            data: known.map((each) => ({ value: [each.trial, each.gap], each })),
          },
        ],
      };
      option.tooltip = {
        ...option.tooltip,
        formatter: (/** @type {{ data: { each: { trial: number, gap: number } } }} */ { data: { each } }) =>
          `trial ${each.trial}\nby the model then, no point is better by more than ${gained(each.gap, study)}`,
      };
      const rows = known.map((each) => [each.trial, each.seq, each.gap]);
      const first = known[0];
      const now = study.gap === null ? "unknown now" : `${inPoints(study.gap, study.quantity)} now`;
      return {
        option,
        header: ["trial", "result", "gap"],
        rows,
        caption: `${inPoints(first.gap, study.quantity)} when trial ${first.trial} was suggested; ${now}.`,
      };
    },
    { select: ({ data: { each } }) => location.assign(data.trialPage(each.trial)) },
  );
}

/** Why the chart is empty.
 * @param {ShownStudy} study
 * @param {ResultHistory} history
 */
function nothing(study, history) {
  if (!history.count) return "No results yet.";
  if (study.gap !== null)
    return `It is ${gained(study.gap, study)} now. The chart starts when it is known of ${FEWEST} trials.`;
  return "It was unknown when the existing points were suggested.";
}

/** A gain in words.
 * @param {number} gap
 * @param {ShownStudy} study
 */
const gained = (gap, study) => inPoints(gap, study.quantity);
