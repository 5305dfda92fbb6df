// The report of a study: all charts are drawn at once, so that it can be printed.

import { StudyData } from "./data.js";
import { byId, dataOf } from "./elements.js";
import { chartsOf } from "./study-charts.js";

const report = byId("study", HTMLElement);
const button = byId("print", HTMLButtonElement);

const charts = await chartsOf(new StudyData(dataOf(report, "study")));
await Promise.all(charts.map((chart) => chart.drawn()));
button.addEventListener("click", () => print());
button.disabled = false;
report.removeAttribute("aria-busy");
