// Lasting warnings about unusual results, at their rows and on their pages, until somebody corrects or confirms them.

import { call } from "./calls.js";
import { createElement, dataOf, queryAll } from "./elements.js";

/** Ask about the results that are shown, and mark those that are unusual.
 * @param {ParentNode} within
 */
export async function markUnusual(within) {
  for (const place of queryAll(within, "[data-unusual]", HTMLElement)) {
    const results = place.dataset.seq ? [place] : queryAll(place, "[data-seq]", HTMLElement);
    if (!results.length || place.dataset.judged) continue;
    place.dataset.judged = "true";
    const query = results.map((each) => `seq=${dataOf(each, "seq")}`).join("&");
    try {
      const warnings = await call("GET", `${dataOf(place, "unusual")}?${query}`);
      for (const each of results) if (warnings[dataOf(each, "seq")]) mark(each, warnings[dataOf(each, "seq")]);
    } catch (error) {
      console.debug(error);
    }
  }
}

/** @param {HTMLElement} element a row, or the part of a page about a result
 * @param {string} sentence
 */
function mark(element, sentence) {
  const { page, confirms, sent } = element.dataset;
  if (element instanceof HTMLTableRowElement) {
    const link = createElement("a", { href: page, className: "mark doubt", title: sentence }, "unusual: check");
    element.cells[1].append(" ", link);
    return;
  }
  const banner = createElement("p", { className: "banner" }, sentence);
  if (confirms) {
    const button = createElement("button", { type: "button" }, "The number is right");
    Object.assign(button.dataset, { api: confirms, action: "confirmed", body: sent });
    banner.append(" ", button);
  }
  element.prepend(banner);
}
