// The page of all results of a study: its table follows the log.

import { root } from "./calls.js";
import { byId, dataOf } from "./elements.js";
import { changed } from "./rows.js";
import { listenWhileVisible } from "./stream.js";

const page = byId("results-page", HTMLElement);
const api = `${root}/v1/studies/${encodeURIComponent(dataOf(page, "study"))}`;
listenWhileVisible(api, () => dataOf(byId("rows", HTMLElement), "cursor"), changed, { missed: changed });
