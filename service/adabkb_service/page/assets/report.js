// The report of a study: all charts are drawn at once, so that it can be printed.

import { StudyData } from "./data.js";
import { byId } from "./elements.js";
import { chartsOf } from "./study-charts.js";

const report = document.getElementById("study");
const button = byId("print", HTMLButtonElement);

const charts = await chartsOf(new StudyData(report.dataset.study));
await Promise.all(charts.map((chart) => chart.drawn()));
button.addEventListener("click", () => print());
button.disabled = false;
report.removeAttribute("aria-busy");
