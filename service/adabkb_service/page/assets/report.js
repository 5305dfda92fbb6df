// The report of a study: all chosen charts are drawn at once, so that it can be printed.

import { StudyData } from "./data.js";
import { byId, dataOf } from "./elements.js";
import { chartsOf } from "./study-charts.js";

const report = byId("study", HTMLElement);
const button = byId("print", HTMLButtonElement);

const charts = await chartsOf(new StudyData(dataOf(report, "study")));
const label = button.textContent ?? "";

/** Draw the charts that are chosen, if they are not drawn yet, and say on the button how far this is. */
async function draw() {
  const due = charts.filter(({ frame, made }) => !frame.hidden && !made);
  let drawn = 0;
  const tell = () => {
    button.textContent = drawn < due.length ? `Preparing charts, ${drawn} of ${due.length} …` : label;
  };
  tell();
  await Promise.all(
    due.map(async (chart) => {
      await chart.drawn();
      drawn += 1;
      tell();
    }),
  );
}

await draw();
byId("chooser", HTMLElement).addEventListener("change", draw);
button.addEventListener("click", () => print());
button.disabled = false;
report.removeAttribute("aria-busy");
