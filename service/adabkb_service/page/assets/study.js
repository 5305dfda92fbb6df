// The page of a study: its charts, its recommended point, and what happens while it is open.

import { AssessmentPanel } from "./assessment.js";
import { takeBounds } from "./bounds.js";
import { call, listed } from "./calls.js";
import { takeRows } from "./catalogue.js";
import { messageOf } from "./caught.js";
import { listCompromises } from "./compromises.js";
import { StudyData } from "./data.js";
import { byId, byIdOrNull, closestToTarget, createElement, dataOf, query, queryAll } from "./elements.js";
import { follow } from "./feed.js";
import { body, clearProblem, showProblem } from "./forms.js";
import { takeTables } from "./paste.js";
import { printWith } from "./printing.js";
import { ResultTable } from "./result-table.js";
import { asShown, Scale } from "./scale.js";
import { announceChange } from "./study-changed.js";
import { chartsOf } from "./study-charts.js";
import { showToast } from "./toasts.js";
import { takeWords } from "./wording.js";
import {
  between,
  counted,
  difference,
  expected,
  figure,
  inUnit,
  meanOf,
  measured,
  ofInterval,
  usualDecimals,
} from "./words.js";

const SETTLE_MILLISECONDS = 600;
const PHONE = "(max-width: 40rem)";
const MAX_RETRIED = 1000; // failed trials that one button tries again

const page = byId("study", HTMLElement);
const data = new StudyData(dataOf(page, "study"));
const table = new ResultTable();
const pasting = byIdOrNull("paste-form", HTMLFormElement); // absent without the right to work
if (pasting) takeTables(pasting, new StudyData(data.id));

/** The gain from the change of a parameter; a dash if it is unchanged or unknown.
 * @param {{ parameter: string, gain: number }[] | undefined} changes
 * @param {string} name
 */
function gainOf(changes, name) {
  const change = changes?.find((each) => each.parameter === name);
  return change ? difference(change.gain) : "–";
}

/** Write the prediction and the observation in a row of the table.
 * @param {Element} row
 * @param {string} model
 * @param {string} observed
 */
function write(row, model, observed) {
  query(row, "[data-by=model]", HTMLElement).textContent = model;
  query(row, "[data-by=observed]", HTMLElement).textContent = observed;
}

/** Show beside the best result the recommended point with its expected value. If the best point depends on a context
 * with numbers, such as the day, it is the point for the latest result's context.
 * @param {Recommendation["model"]} model
 * @param {Recommendation["observed"]} observed
 */
async function showRecommended(model, observed) {
  const panel = byIdOrNull("recommended-now", HTMLElement);
  if (!panel) return;
  const isNow = await data.hasBestNow();
  if (isNow) ({ model, observed } = await data.latest());
  const { progress } = await data.assessment();
  panel.hidden = !model || !(model.std > 0) || (!isNow && data.context !== undefined);
  if (!model || panel.hidden) return;
  const isSame = JSON.stringify(model.parameters) === JSON.stringify(observed?.parameters);
  delete panel.dataset.reserved;
  panel.dataset.same = String(isSame);
  const [number, ...rest] = expected(ofInterval(model, algorithm), plain("value")).split(" (");
  const unit = quantities.value?.unit;
  const { expected: at, repetition } = progress;
  const range = rest.length ? [`${rest.join(" (").replace(/\)$/, "")} on average`] : [];
  if (isSame && at && repetition) range.push(`a repetition: ${between(repetition, at.std, plain("value"))}`);
  panel.replaceChildren(
    createElement("h3", {}, `Recommended${isNow ? " now, in the latest context" : ""}: expected by the model`),
    createElement(
      "p",
      {},
      createElement("strong", {}, number),
      ...(unit ? [" ", createElement("span", { className: "of" }, unit)] : []),
    ),
    createElement("p", {}, conditionsOf(model.parameters)),
    ...(range.length ? [createElement("small", {}, range.join("; "))] : []),
  );
}

/** Without the model, only the measured point is shown, or what is known already. */
function leaveOut() {
  const panel = byIdOrNull("recommended-now", HTMLElement);
  if (panel && "reserved" in panel.dataset) panel.hidden = true;
}

/** A point in one line: each parameter with its value and unit.
 * @param {Point} point
 */
function conditionsOf(point) {
  const rounded = asShown(study, point);
  const pairs = parameters
    .filter(({ name }) => name in point)
    .flatMap((each) => {
      const value = inUnit(scales.get(each.name)?.setting(rounded[each.name]) ?? "–", each.unit);
      return [
        createElement(
          "span",
          {},
          createElement("bdi", {}, each.label || each.name),
          " ",
          createElement("b", {}, createElement("bdi", {}, value)),
        ),
        " ",
      ];
    });
  return createElement("span", { className: "conditions" }, ...pairs);
}

/** Show the mean of the results at the best point in the cell of its value.
 * @param {HTMLElement} cell
 */
async function showRepeated(cell) {
  const { progress } = await data.assessment();
  const { measured: repeated, best } = progress;
  if (repeated && best && !data.context)
    cell.textContent =
      `mean ${meanOf(repeated.mean, plain("value"))} of ${repeated.count}; ` +
      `the best is ${measured(best.value, plain("value"))}`;
}

/** Read how many decimals the results have, so that predictions have about as many as in the sentences. */
async function readDecimals() {
  if (data.shown()) return; // the results are those of a metric
  const { results } = await data.history().catch(() => ({ results: [] }));
  if (results.length) decimals = usualDecimals(results.map(({ value }) => value));
}

/** Write the recommended point next to the best observed one. */
async function recommend() {
  const table = byId("recommendation", HTMLTableElement);
  const { model, observed, reason } = await data.recommendation();
  const shortcoming = byId("shortcoming", HTMLElement);
  const mayBeFew = reason === "too_few_results" || reason === "nothing_feasible";
  const few = mayBeFew ? await data.tooFew() : "";
  const why = reason === "too_few_results" && few ? "" : JSON.parse(dataOf(shortcoming, "reasons"))[reason ?? ""];
  shortcoming.textContent = [why, few].filter(Boolean).join(" ");
  shortcoming.hidden = shortcoming.textContent === "";
  byId("best", HTMLElement).classList.toggle("without-model", reason === "too_few_results" || few !== "");
  const points = [model, observed].map((each) => each && asShown(study, each.parameters));
  for (const row of queryAll(table, "[data-parameter]", HTMLElement)) {
    const name = dataOf(row, "parameter");
    const scale = scales.get(name);
    const [byModel, inResult] = points.map((point) => scale?.setting(point?.[name]) ?? "–");
    write(row, byModel, inResult);
    const change = row.querySelector("[data-by=change]"); // there if the study has a baseline
    if (change) change.textContent = gainOf(model?.changes, name);
  }
  await readDecimals();
  showRecommended(model, observed).catch(leaveOut);
  const value = query(table, "[data-value]", HTMLElement);
  write(value, model ? mean(model, "value") : "–", measured(observed?.value, plain("value")));
  showRepeated(query(value, "[data-by=observed]", HTMLElement)).catch(() => {}); // without the model, it stays as it is
  for (const row of queryAll(table, "[data-metric]", HTMLElement)) {
    const name = dataOf(row, "metric");
    const predicted = model?.metrics?.[name];
    write(row, predicted ? mean(predicted, name) : "–", measured(observed?.metrics?.[name], plain(name)));
  }
  const feasible = table.querySelector("[data-feasible]"); // there if the study has bounds
  if (feasible) {
    const probability = model?.feasible_probability;
    write(
      feasible,
      probability == null ? "–" : `with probability ${figure(probability, 2)}`,
      observed?.feasible == null ? "–" : observed.feasible ? "yes" : "no",
    );
  }
  table.removeAttribute("aria-busy");
}

const study = await data.study();
const { quantities = {}, parameters, algorithm } = study;
const scales = new Map(parameters.map((each) => [each.name, new Scale(each)]));
/** The decimals that results of the objective usually have; undefined before they are known.
 * @type {number | undefined}
 */
let decimals;
/** A quantity without its unit, which the head of the row has.
 * @param {string} name
 */
const plain = (name) => ({ digits: quantities[name]?.digits, ...(name === "value" ? { decimals } : {}) });
/** A predicted mean with its own uncertainty, which is less than that of a single result.
 * @param {{ mean: number, std: number, lcb?: number, ucb?: number }} predicted
 * @param {string} name
 */
const mean = (predicted, name) => expected(ofInterval(predicted, algorithm), plain(name));
const hasSeveral = document.getElementById("front") !== null; // objectives
/** Update the best point, or the best compromises; an error is shown at the top of the page. */
const best = () => (hasSeveral ? listCompromises(data) : recommend()).catch(leaveOut);
// On a phone, the charts of what was learned are folded, since each fills a screen.
if (matchMedia(PHONE).matches) for (const each of queryAll(page, ".folds", HTMLDetailsElement)) each.open = false;
const charts = await chartsOf(data);
printWith(charts);
const assessment = new AssessmentPanel(data, best);
best();
const contextual = byIdOrNull("best-context", HTMLFormElement); // there if the study has context parameters
contextual?.addEventListener("submit", async (event) => {
  event.preventDefault();
  clearProblem(contextual);
  try {
    data.context = { ...body(contextual).context };
    await (hasSeveral ? listCompromises(data) : recommend());
    for (const chart of charts) chart.changed();
  } catch (error) {
    showProblem(contextual, error);
  }
});

document.addEventListener("click", async (event) => {
  const button = closestToTarget(event, "[data-retries]", HTMLButtonElement);
  if (!button) return;
  button.disabled = true;
  try {
    const { items } = await listed(`${data.api}/trials?state=failed`, MAX_RETRIED);
    for (const { number } of items) await call("POST", `${data.api}/trials/${number}/retry`, {});
    showToast(`${counted(items.length, "trial")} will be issued again, before new ones, once the study is resumed.`);
  } catch (error) {
    showToast(messageOf(error));
  }
  changed();
});

const words = byIdOrNull("words-form", HTMLFormElement); // absent without the right to work
if (words) takeWords(words, data);
const rules = byIdOrNull("rules-form", HTMLFormElement); // there if the study has metrics or early stopping
if (rules) takeBounds(rules);
for (const form of queryAll(document, "form[data-catalogue]", HTMLFormElement)) takeRows(form);

/** @type {number | null} */
let settling = null;
/** After an event, wait for related ones, then show all of them at once.
 * @param {StudyEvent} [event]
 */
function changed(event) {
  table.changed(event);
  if (settling !== null) return;
  settling = setTimeout(() => {
    settling = null;
    data.changed();
    data.study().then(({ counts }) => page.classList.toggle("waiting", !counts.observations));
    for (const chart of charts) chart.changed();
    assessment.changed();
    best();
    announceChange({ isFollowed: true });
  }, SETTLE_MILLISECONDS);
}

document.body.addEventListener("study-changed", (event) => event.detail.isFollowed || changed());
follow(data, dataOf(page, "cursor"), changed);
