// The charts of a study that its page, or its report, has frames for.

import { curvesChart } from "./curves.js";
import { every, holder } from "./elements.js";
import { frontChart, volumeChart } from "./front.js";
import { gapChart } from "./gap.js";
import { historyChart } from "./history.js";
import { contourChart, importanceChart, parallelChart, slicesChart } from "./learned.js";
import { partitionChart } from "./partition.js";
import { validationChart } from "./validation.js";
import { timelineChart } from "./workers.js";

const CHARTS = {
  history: historyChart,
  front: frontChart,
  volume: volumeChart,
  gap: gapChart,
  curves: curvesChart,
  validation: validationChart,
  importance: importanceChart,
  parallel: parallelChart,
  slices: slicesChart,
  contour: contourChart,
  partition: partitionChart,
  timeline: timelineChart,
};

/** The charts, once their selects of parameters have options: those that vary.
 * @param {import("./data.js").StudyData} data
 */
export async function chartsOf(data) {
  const scales = await data.axes();
  for (const select of every(document, "select[data-parameters]", HTMLSelectElement)) {
    for (const [i, scale] of scales.entries()) select.add(new Option(scale.name, String(i)));
    select.value = String(Math.min(Number(select.dataset.parameters), scales.length - 1));
    holder(select, "label", HTMLLabelElement).hidden = scales.length < 2;
  }
  const charts = Object.entries(CHARTS)
    .filter(([name]) => document.getElementById(name))
    .map(([, make]) => make(data));
  document.getElementById("shown-metric")?.addEventListener("change", () => {
    for (const chart of charts) chart.changed();
  });
  return charts;
}
