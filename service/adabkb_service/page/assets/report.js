// The report of a study: all chosen charts are drawn at once, so that it can be printed.

import { StudyData } from "./data.js";
import { byId, dataOf } from "./elements.js";
import { chartsOf } from "./study-charts.js";

const report = byId("study", HTMLElement);
const button = byId("print", HTMLButtonElement);

const charts = await chartsOf(new StudyData(dataOf(report, "study")));
/** Draw the charts that are chosen, if they are not drawn yet. */
const draw = () => Promise.all(charts.filter(({ frame, made }) => !frame.hidden && !made).map((each) => each.drawn()));
await draw();
byId("chooser", HTMLElement).addEventListener("change", draw);
button.addEventListener("click", () => print());
button.disabled = false;
report.removeAttribute("aria-busy");
