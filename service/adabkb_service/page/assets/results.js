// The page of all results of a study: its table follows the log.

import { StudyData } from "./data.js";
import { byId, byIdOrNull, dataOf } from "./elements.js";
import { toPaper, toScreen } from "./paper.js";
import { takeTables } from "./paste.js";
import { ResultTable } from "./result-table.js";
import { listenWhileVisible } from "./stream.js";

const page = byId("results-page", HTMLElement);
const data = new StudyData(dataOf(page, "study"));
const table = new ResultTable();
const pasting = byIdOrNull("paste-form", HTMLFormElement); // absent without the right to work
if (pasting) takeTables(pasting, data);
const SHEET = 1020; // width of a printed table, in pixels
addEventListener("beforeprint", () => toPaper(page, SHEET));
addEventListener("afterprint", () => toScreen(page));
listenWhileVisible(
  data.api,
  () => dataOf(byId("rows", HTMLElement), "cursor"),
  (event) => table.changed(event),
  {
    missed: () => table.changed(),
  },
);
