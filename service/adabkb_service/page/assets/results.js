// The page of all results of a study: its table follows the log.

import { root } from "./calls.js";
import { byId, dataOf } from "./elements.js";
import { toPaper, toScreen } from "./paper.js";
import { changed } from "./rows.js";
import { listenWhileVisible } from "./stream.js";

const page = byId("results-page", HTMLElement);
const api = `${root}/v1/studies/${encodeURIComponent(dataOf(page, "study"))}`;
const SHEET = 1020; // width of a printed table, in pixels
addEventListener("beforeprint", () => toPaper(page, SHEET));
addEventListener("afterprint", () => toScreen(page));
listenWhileVisible(api, () => dataOf(byId("rows", HTMLElement), "cursor"), changed, { missed: changed });
