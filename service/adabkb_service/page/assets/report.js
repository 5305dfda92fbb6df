// The report of a study: all chosen charts are drawn, one after the other, so that it can be printed. While the server
// is busy, a chart waits for its turn.

import { StudyData } from "./data.js";
import { byId, dataOf } from "./elements.js";
import { toPaper } from "./paper.js";
import { chartsOf } from "./study-charts.js";

const report = byId("study", HTMLElement);
const button = byId("print", HTMLButtonElement);

const SHEET = 700; // width of a printed table, in pixels
const MAX_SUMMARY = 1700; // height of a summary on the screen that has room on a sheet, in pixels
const BUSY = "The server is busy. This chart waits for its turn.";
const PAUSE_MILLISECONDS = 2000;
const MAX_MILLISECONDS = 300_000;

const data = new StudyData(dataOf(report, "study"));
const { objectives, parameters } = await data.study();
if (objectives?.length && parameters.some(({ context }) => context)) data.context = "latest"; // as the tables
const charts = await chartsOf(data);
const label = button.textContent ?? "";

toPaper(report, SHEET);

/** Draw a chart. If the server is busy, try again for some minutes.
 * @param {import("./charts.js").Chart} chart
 */
async function drawInTurn(chart) {
  const begun = Date.now();
  await chart.drawn();
  while (chart.isRefusedAsBusy && Date.now() - begun < MAX_MILLISECONDS) {
    chart.setState("failed", BUSY);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
    await chart.drawn();
  }
}

/** Draw the chosen charts that are not drawn yet, and show the progress on the button. */
async function draw() {
  const due = charts.filter(({ frame, made }) => !frame.hidden && !made);
  for (const [drawn, chart] of due.entries()) {
    button.textContent = `Preparing charts, ${drawn} of ${due.length} …`;
    await drawInTurn(chart);
  }
  await answered();
  button.textContent = label;
}

/** Wait until the page has the model's answers, at most for some minutes. */
async function answered() {
  const begun = Date.now();
  while (byId("answers", HTMLElement).hasAttribute("hx-get") && Date.now() - begun < MAX_MILLISECONDS) {
    button.textContent = "Waiting for the model …";
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
  }
}

await draw();
const summary = byId("first-page", HTMLElement);
summary.classList.toggle("tall", summary.offsetHeight > MAX_SUMMARY);
byId("chooser", HTMLElement).addEventListener("change", draw);
button.addEventListener("click", () => print());
button.disabled = false;
report.removeAttribute("aria-busy");
