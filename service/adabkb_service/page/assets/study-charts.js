// The charts of a study for which its page, or its report, has frames.

import { keepChoices } from "./chosen.js";
import { coverageChart } from "./coverage.js";
import { curvesChart } from "./curves.js";
import { closest, queryAll } from "./elements.js";
import { frontChart, volumeChart } from "./front.js";
import { gapChart } from "./gap.js";
import { historyChart } from "./history.js";
import { contourChart, importanceChart, slicesChart } from "./learned.js";
import { parallelChart } from "./parallel.js";
import { partitionChart } from "./partition.js";
import { validationChart } from "./validation.js";
import { timelineChart } from "./workers.js";

/** @type {Record<string, (data: import("./data.js").StudyData, name: string) => import("./charts.js").Chart>} */
const CHARTS = {
  history: historyChart,
  front: frontChart,
  volume: volumeChart,
  gap: gapChart,
  curves: curvesChart,
  validation: validationChart,
  coverage: coverageChart,
  importance: importanceChart,
  parallel: parallelChart,
  slices: slicesChart,
  contour: contourChart,
  "contour-2": contourChart,
  "contour-3": contourChart,
  partition: partitionChart,
  timeline: timelineChart,
};

/** The charts, once their selects of parameters have options: those that vary.
 * @param {import("./data.js").StudyData} data
 */
export async function chartsOf(data) {
  const scales = await data.axes();
  for (const select of queryAll(document, "select[data-parameters]", HTMLSelectElement)) {
    for (const { name, title } of scales) select.add(new Option(title, name));
    closest(select, "label", HTMLLabelElement).hidden = scales.length < 2;
  }
  if (scales.length < 3) for (const name of ["contour-2", "contour-3"]) document.getElementById(name)?.remove();
  keepChoices();
  const charts = Object.entries(CHARTS)
    .filter(([name]) => document.getElementById(name))
    .map(([name, make]) => make(data, name));
  document.getElementById("shown-metric")?.addEventListener("change", () => {
    for (const chart of charts) chart.changed();
  });
  return charts;
}
