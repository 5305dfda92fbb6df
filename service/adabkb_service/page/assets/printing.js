// The printed page of a study or of a comparison: its charts are drawn without scrolling, in the width of the paper and
// in its colours.

import { pause } from "./calls.js";
import { PAPER } from "./charts.js";
import { byId, queryAll } from "./elements.js";
import { clearToasts, showToast } from "./toasts.js";

const MAX_MILLISECONDS = 60_000; // after which the page is printed without the charts that are not drawn yet

/** Whether a chart is shown: a person may have hidden it, or folded its section.
 * @param {import("./charts.js").Chart} chart
 */
const isShown = ({ frame }) => !frame.hidden && frame.parentElement?.closest("details:not([open])") === null;

/** Print charts with the page: with the button, and with the keys of the browser. Its menu cannot wait, so from there
 * only charts that are drawn already are printed.
 * @param {import("./charts.js").Chart[]} charts
 */
export function printWith(charts) {
  let isPreparing = false;
  addEventListener("beforeprint", () => {
    for (const chart of charts.filter(isShown)) chart.toPaper();
  });
  addEventListener("afterprint", () => {
    for (const chart of charts) chart.offPaper();
  });

  /** Draw the charts in turn, then print. */
  async function prepare() {
    if (isPreparing) return;
    isPreparing = true;
    const end = Date.now() + MAX_MILLISECONDS;
    document.documentElement.classList.add(PAPER);
    const due = charts.filter(isShown);
    for (const [drawn, chart] of due.entries()) {
      showToast(`Preparing charts, ${drawn} of ${due.length} …`);
      await Promise.race([chart.drawn(), pause(Math.max(0, end - Date.now()))]);
    }
    clearToasts(); // also on paper
    print();
    document.documentElement.classList.remove(PAPER);
    for (const chart of due) chart.due(true);
    isPreparing = false;
  }

  for (const button of queryAll(byId("study", HTMLElement), "[data-prints-charts]", HTMLElement))
    button.addEventListener("click", prepare);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "p" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    prepare();
  });
}
