// The charts that a page shows, and their settings. A person chooses them, and the address of the page keeps them, so
// that anyone who opens the address sees the same.

import { byId, closestToTarget, createElement, dataOf, query, queryAll } from "./elements.js";

const CHARTS = "charts";
/** A setting of a chart, except the step of a replay. */
const SETTING = "#shown-metric, .chart .controls :is(select, input:not([type=range]))";

/** @typedef {HTMLSelectElement | HTMLInputElement} Setting */

/** @param {Element} element */
const isSetting = (element) => element instanceof HTMLSelectElement || element instanceof HTMLInputElement;

/** All settings of the page.
 * @returns {Setting[]}
 */
const settings = () => queryAll(document, SETTING, HTMLElement).filter(isSetting);

/** @param {Setting} setting */
const isCheckbox = (setting) => setting instanceof HTMLInputElement && setting.type === "checkbox";

/** The value of a setting, as a text.
 * @param {Setting} setting
 */
const textOf = (setting) =>
  setting instanceof HTMLInputElement && isCheckbox(setting) ? String(Number(setting.checked)) : setting.value;

/** Set a setting, unless it cannot have the value.
 * @param {Setting} setting
 * @param {string} value
 */
function set(setting, value) {
  if (setting instanceof HTMLInputElement && isCheckbox(setting)) setting.checked = value === "1";
  else if (setting instanceof HTMLInputElement || [...setting.options].some((each) => each.value === value))
    setting.value = value;
}

const frames = () => queryAll(document, "figure.chart", HTMLElement);
const shownNames = () =>
  frames()
    .filter((each) => !each.hidden)
    .map((each) => each.id)
    .join(",");

/** The charts that the address names, if the page has one of them. */
function namesInAddress() {
  const names = new URLSearchParams(location.search).get(CHARTS)?.split(",");
  return names?.some((name) => frames().some((each) => each.id === name)) ? names : undefined;
}

/** The charts that the page shows if the address names none.
 * @type {Set<string> | undefined}
 */
let usualNames;

/** Show the charts that the address names, also before the selects have their options. */
export function showChosenCharts() {
  usualNames = new Set(shownNames().split(","));
  const names = namesInAddress();
  if (!names) return;
  for (const frame of frames()) {
    frame.hidden = !names.includes(frame.id);
    if (!frame.hidden) unfold(frame);
  }
}

/** Show or hide a chart if the address names no charts.
 * @param {string} name
 * @param {boolean} isShown
 */
export function showByDefault(name, isShown) {
  if (isShown) usualNames?.add(name);
  else usualNames?.delete(name);
  if (!namesInAddress()) byId(name, HTMLElement).hidden = !isShown;
}

/** The default of each setting to which the address has been applied.
 * @type {Map<Setting, string>}
 */
const defaults = new Map();

/** Apply the address to settings, once to each: a person may change it afterwards.
 * @param {Setting[]} which
 */
function applyTo(which) {
  const query = new URLSearchParams(location.search);
  for (const setting of which.filter((each) => !defaults.has(each))) {
    defaults.set(setting, textOf(setting));
    const value = query.get(setting.id);
    if (value !== null) set(setting, value);
  }
}

/** Apply the settings of the address, except those of selects that have no options yet. */
export function applyChoices() {
  applyTo(settings().filter((each) => !(each instanceof HTMLSelectElement) || each.options.length > 0));
}

/** Offer the charts of the page, apply the remaining settings of the address, and keep the address up to date. The
 * selects must already have their options.
 */
export function keepChoices() {
  applyTo(settings());
  const usual = [...defaults];
  if (!usualNames) showChosenCharts();
  const usualCharts = frames()
    .filter(({ id }) => usualNames?.has(id))
    .map(({ id }) => id)
    .join(",");
  offer();

  /** The settings that differ from the defaults of the page. */
  const differing = () => {
    const now = shownNames();
    const changed = usual.filter(([each, value]) => textOf(each) !== value).map(([each]) => [each.id, textOf(each)]);
    return new URLSearchParams(now === usualCharts ? changed : [[CHARTS, now], ...changed]);
  };
  const keep = () => {
    const kept = new URLSearchParams(location.search);
    for (const name of [CHARTS, ...usual.map(([each]) => each.id)]) kept.delete(name);
    for (const [name, value] of differing()) kept.append(name, value);
    const text = kept.toString().replaceAll("%2C", ",");
    history.replaceState(null, "", `${location.pathname}${text && `?${text}`}${location.hash}`);
    for (const link of queryAll(document, "a[data-same-charts]", HTMLAnchorElement))
      link.search = differing().toString().replaceAll("%2C", ",");
  };
  keep();
  document.addEventListener("change", (event) => {
    if (closestToTarget(event, `${SETTING}, #chooser input`, HTMLElement)) keep();
  });
  document.addEventListener("formdata", (event) => {
    if (closestToTarget(event, "form[data-same-charts]", HTMLFormElement))
      for (const [name, value] of differing()) event.formData.append(name, value);
  });
}

/** Open the details in which a chart is.
 * @param {HTMLElement} frame
 */
function unfold(frame) {
  const details = frame.parentElement?.closest("details");
  if (details) details.open = true;
}

/** A check box for each chart. */
function offer() {
  const boxes = frames().map((frame) => {
    const box = createElement("input", { type: "checkbox", checked: !frame.hidden });
    box.dataset.shows = frame.id;
    return createElement("label", { className: "check" }, box, ` ${query(frame, "h3", HTMLElement).textContent}`);
  });
  const chooser = byId("chooser", HTMLElement);
  query(chooser, "div", HTMLElement).replaceChildren(...boxes);
  chooser.addEventListener("change", (event) => {
    const box = closestToTarget(event, "input", HTMLInputElement);
    if (!box) return;
    const frame = byId(dataOf(box, "shows"), HTMLElement);
    frame.hidden = !box.checked;
    if (box.checked) unfold(frame);
  });
}
