// The form for a study and its definition: read the definition from the form, fill in the form from a definition, and
// find the field of an error.

import { copied, showValue } from "./choices.js";
import { byId, closest, dataOf, createElement as madeElement, query, queryAll } from "./elements.js";
import { body, fieldsOf, Mistyped, number, together } from "./forms.js";
import { kept } from "./kept.js";
import { fieldOfMixture, fitMixtures, guessShares, mixture, mixtureInWords, showMixture } from "./mixtures.js";
import { fieldOfShared, fitShared, shared, showShared } from "./shared.js";
import {
  baseline,
  beliefs,
  constraints,
  field,
  fieldOfCombination,
  fieldOfSpace,
  fitRow,
  fitSpace,
  parameters,
  parametersAlone,
  part,
  showCombinations,
  showParameters,
  text,
} from "./space.js";
import { counted, inLargestUnit, inUnit, numeral } from "./words.js";

const form = byId("new", HTMLFormElement);
const rows = byId("parameters", HTMLElement);
const objectives = byId("objectives", HTMLElement);
const mixtures = byId("mixtures", HTMLElement);
const quantities = byId("quantities", HTMLElement);
const direction = byId("new-direction", HTMLSelectElement);
const rule = byId("new-rule", HTMLSelectElement);
const costBudget = byId("new-cost-budget", HTMLInputElement);
const costUnit = byId("new-cost-unit", HTMLInputElement);

const parameterRows = () => queryAll(rows, ":scope > *", HTMLElement);
const mixtureRows = () => queryAll(mixtures, ":scope > *", HTMLElement);

let described = 0;
/** @type {{ given: Record<string, any>, shown: Record<string, any> }} */
let filled = { given: {}, shown: {} };

/** Associate the help below a field with the field, for screen readers.
 * @param {ParentNode} within
 */
export function describe(within) {
  for (const note of within.querySelectorAll(".field > small")) {
    note.id ||= `note-${++described}`;
    const field = query(closest(note, ".field", HTMLElement), "input, select, textarea", HTMLElement);
    field.setAttribute("aria-describedby", note.id);
  }
}

/** A new row, of a template, at the end of others.
 * @param {string} template
 * @param {HTMLElement} others
 * @param {string} label
 */
function addRow(template, others, label) {
  const row = copied(template);
  query(row, "[data-remove]", HTMLButtonElement).addEventListener("click", () => {
    row.remove();
    fitParameters();
    form.dispatchEvent(new Event("input"));
  });
  others.append(row);
  row.setAttribute("aria-label", `${label} ${others.children.length}`);
  describe(row);
  return row;
}

/** Update what depends on the parameters. */
export function fitParameters() {
  fitSpace();
  fitShared(parameterRows());
  fitMixtures(mixtureRows(), parameterRows());
}

export function addParameter() {
  const row = addRow("parameter", rows, "Parameter");
  fitRow(row);
  fitParameters();
  return row;
}

export const addObjective = () => addRow("objective", objectives, "Result");
const addMixture = () => addRow("mixture", mixtures, "Mixture");
export const addQuantity = () => addRow("quantity", quantities, "Quantity");
const hasSeveral = () => direction.value === "several";

/** Show the fields of the chosen direction and of the chosen early-stopping rule. */
export function fitFields() {
  byId("several", HTMLElement).hidden = !hasSeveral() || "edits" in form.dataset;
  for (const field of queryAll(form, "[data-alone]", HTMLElement))
    field.hidden = hasSeveral() || "edits" in form.dataset;
  while (hasSeveral() && objectives.children.length < 2) addObjective();
  for (const field of queryAll(form, "[data-rules]", HTMLElement))
    field.hidden =
      !dataOf(field, "rules").split(" ").includes(rule.value) || ("several" in field.dataset && !hasSeveral());
}

/** Show the goal of the study, or that it is still to be chosen, and its rules. */
export function showGoal() {
  /** @type {[name: string, to: string][]} */
  const goals = hasSeveral()
    ? [...objectives.children].map((row, i) => [
        text(row, "metric") || `result ${i + 1}`,
        field(row, "direction").value,
      ])
    : [[wordOfResult("label").value.trim() || "The result", direction.value]];
  const parts = goals.filter(([, to]) => to).map(([name, to]) => `${name} will be ${to}d`);
  const open = goals.filter(([, to]) => !to).map(([name]) => name.replace(/^The/, "the"));
  if (open.length)
    parts.push(`${parts.length ? "choose" : "Choose"} whether ${open.join(" and ")} should be large or small`);
  const given = byId("new-budget", HTMLInputElement).value.trim();
  const budget = /^\d+\s*plates?$/i.test(given) ? counted(Number.parseInt(given, 10), "plate") : numeral(given);
  const within = typeof budget === "number" ? (budget > 0 ? counted(budget, "trial") : "") : budget;
  byId("goal", HTMLElement).textContent = `${parts.join(", ")}${within && `, in ${within}`}.`;
  byId("summary-rules", HTMLElement).replaceChildren(...rulesInWords().map((rule) => madeElement("li", {}, rule)));
}

/** The mixtures, bounds, constraints and plates, in words. */
function rulesInWords() {
  const size = byId("new-plate", HTMLInputElement).value.trim();
  const equal = shared();
  const combinations = byId("exclusions", HTMLTableElement).tBodies[0].rows.length;
  return [
    ...mixtureRows().map(mixtureInWords),
    ...[...quantities.children].map(quantityInWords),
    lines() ? counted(lines(), "constraint") : "",
    combinations
      ? `${counted(combinations, "combination")} that ${combinations === 1 ? "is" : "are"} never together`
      : "",
    size ? `Plates of ${size} trials${equal.length ? ` with the same ${equal.join(" and ")}` : ""}` : "",
  ].filter((each) => each !== "");
}

/** A measured quantity with its bounds, in words; empty as long as it has no name.
 * @param {Element} row
 */
function quantityInWords(row) {
  const [name, lower, upper, unit] = ["metric", "lower", "upper", "unit"].map((each) => text(row, each));
  const ends = [lower && `at least ${inUnit(lower, unit)}`, upper && `at most ${inUnit(upper, unit)}`].filter(Boolean);
  return name && `${name}: ${ends.length ? ends.join(" and ") : "measured, without a bound"}`;
}

const objective = (/** @type {Element} */ row) => ({
  metric: text(row, "metric"),
  direction: field(row, "direction").value || undefined,
  reference: number(field(row, "reference")),
  noise_std: number(field(row, "noise_std")),
});

/** A quantity's bounds; a quantity without bounds is only measured. */
const quantity = (/** @type {Element} */ row) => ({
  metric: text(row, "metric"),
  lower: number(field(row, "lower")),
  upper: number(field(row, "upper")),
});

/** A mixture of the parameters that are probably its shares. */
export function addMixtureOfShares() {
  const taken = new Set(mixtureRows().flatMap((row) => mixture(row).parameters));
  const row = addMixture();
  fitParameters();
  guessShares(row, parameterRows(), taken);
  fitParameters();
  return row;
}

/** @type {(name: string) => HTMLElement | null} */
const fieldOfResult = (name) => form.querySelector(`[data-quantity="${CSS.escape(name)}"]`);
/** @type {(name: string) => HTMLInputElement} */
const wordOfResult = (name) => query(form, `[data-quantity="${name}"]`, HTMLInputElement);
const measured = () => [...(hasSeveral() ? objectives.children : []), ...quantities.children];
const filledIn = (/** @type {Field} */ field) => field.value.trim() || undefined;
/** @type {Record<string, (field: Field) => unknown>} */
const WORDS = { label: filledIn, unit: filledIn, digits: number, low: number, high: number };

/** The name, unit, decimals and natural bounds of a quantity, if given.
 * @param {(name: string) => Field} fieldOf
 * @returns {Record<string, unknown>}
 */
function wordsOf(fieldOf) {
  const entries = Object.entries(WORDS).map(([name, read]) => [name, read(fieldOf(name))]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** The names and units of all quantities, by name; undefined without any. */
function words() {
  /** @type {[string, Record<string, unknown>][]} */
  const entries = measured().map((row) => [text(row, "metric"), wordsOf((name) => field(row, name))]);
  if (!hasSeveral()) entries.push(["value", wordsOf(wordOfResult)]);
  if (costUnit.value.trim() !== "") entries.push(["cost", { unit: costUnit.value.trim() }]);
  const given = entries.filter(([, each]) => Object.keys(each).length);
  return given.length ? Object.fromEntries(given) : undefined;
}

/** The number of constraints in the list, one per line. They come before those of combinations. */
const lines = () =>
  byId("new-constraints", HTMLTextAreaElement)
    .value.split("\n")
    .filter((line) => line.trim() !== "").length;

const isBounded = (/** @type {{ lower?: number, upper?: number }} */ { lower, upper }) =>
  lower !== undefined || upper !== undefined;

/** The cost that the study may spend; undefined without a limit. */
function budgetInCost() {
  const cost = number(costBudget);
  if (cost !== undefined && byId("new-budget", HTMLInputElement).value.trim() !== "")
    throw new Mistyped(costBudget, "Budget, in cost: you also gave a budget in trials; keep one of the two.");
  return cost;
}

function made() {
  const objectivesNow = () => (hasSeveral() ? [...objectives.children].map(objective) : []);
  const mixturesNow = () => mixtureRows().map(mixture);
  const quantitiesNow = () => [...quantities.children].map(quantity);
  /** @type {(() => any)[]} */
  const reads = [() => body(form), beliefs, baseline, words, constraints, objectivesNow, mixturesNow, quantitiesNow];
  const [fields, prior, inUse, inWords, excluded, wanted, mixed, others, cost] = together([...reads, budgetInCost]);
  /** @type {Record<string, any>} */
  const study = { ...fields, prior, baseline: inUse, quantities: inWords };
  if (hasSeveral()) {
    delete study.direction;
    study.objectives = wanted;
  }
  if (excluded.length) study.constraints = [...(study.constraints ?? []), ...excluded];
  if (mixed.length) study.mixtures = mixed;
  const bounded = others.filter(isBounded);
  if (others.length) study.metrics = others.map((/** @type {{ metric: string }} */ each) => each.metric);
  if (bounded.length) study.outcome_constraints = bounded;
  if (cost !== undefined) study.budget = { cost };
  const equal = shared();
  if (study.plates || equal.length) study.plates = { ...study.plates, shared: equal };
  return study;
}

/** The definition that the fields describe, without kept values. */
export const fieldsAlone = () => ({ ...made(), parameters: parametersAlone() });

/** The definition that the form describes. */
export function definition() {
  const [study, space] = together([() => kept(filled.given, filled.shown, made()), parameters]);
  return { ...study, parameters: space };
}

/** @type {Record<string, (value: any) => string>} */
const SHOW = {
  lines: (value) => value.join("\n"),
  list: (value) => value.join(", "),
  pairs: (value) =>
    Object.entries(value)
      .map(([name, each]) => `${name}: ${each}`)
      .join("\n"),
  duration: inLargestUnit,
  budget: (value) => (value.plates === undefined ? value : counted(value.plates, "plate")),
};

/** Show a value of the API in a field that has its name.
 * @param {Field} field
 * @param {any} value
 */
function show(field, value) {
  if (field instanceof HTMLInputElement && field.type === "checkbox") field.checked = value === true;
  else if (field.dataset.type === "limit" && value === null) field.value = "never";
  else if (value === undefined || value === null) field.value = "";
  else if (field instanceof HTMLSelectElement && field.dataset.type === "json") choose(field, JSON.stringify(value));
  else field.value = SHOW[field.dataset.type ?? ""]?.(value) ?? value;
}

/** Choose an option, which is added if the select lacks it.
 * @param {HTMLSelectElement} select
 * @param {string} value
 */
function choose(select, value) {
  if (![...select.options].some((option) => option.value === value)) select.add(new Option("as in the JSON", value));
  select.value = value;
}

/** Fill in a row of an objective or a quantity.
 * @param {Element} row
 * @param {Record<string, any>} given
 * @param {string[]} names of its fields, except the first
 */
function showRow(row, given, names) {
  showValue(field(row, "metric"), given.metric);
  for (const name of names) field(row, name).value = given[name] ?? "";
}

/** Fill in the name, unit and bounds of a quantity.
 * @param {(name: string) => Field} fieldOf
 * @param {Record<string, any>} [given]
 */
function showWords(fieldOf, given) {
  for (const name of Object.keys(WORDS)) fieldOf(name).value = given?.[name] ?? "";
}

/** Fill in the form from a definition of the API. Values without fields are kept until a person changes related ones.
 * @param {Record<string, any>} given
 */
export function fill(given) {
  for (const list of [rows, objectives, mixtures, quantities, byId("exclusions", HTMLTableElement).tBodies[0]])
    list.replaceChildren();
  for (const field of fieldsOf(form)) {
    const group = field.dataset.group;
    if (field.name) show(field, group ? given[group]?.[field.name] : given[field.name]);
  }
  const several = given.objectives ?? [];
  direction.value = several.length ? "several" : (given.direction ?? "");
  costBudget.value = given.budget?.cost ?? "";
  if (given.budget?.cost !== undefined) byId("new-budget", HTMLInputElement).value = "";
  rule.value = given.early_stopping?.rule ?? "";
  for (const each of several) showRow(addObjective(), each, ["direction", "reference", "noise_std"]);
  const bounds = new Map((given.outcome_constraints ?? []).map((/** @type {Bounds} */ each) => [each.metric, each]));
  for (const metric of new Set([...(given.metrics ?? []), ...bounds.keys()]))
    showRow(addQuantity(), { metric, ...bounds.get(metric) }, ["lower", "upper"]);
  fitFields();
  for (const row of measured()) showWords((name) => field(row, name), given.quantities?.[text(row, "metric")]);
  showWords(wordOfResult, given.quantities?.value);
  costUnit.value = given.quantities?.cost?.unit ?? "";
  for (const _ of given.parameters) addParameter();
  showParameters(given.parameters, given.prior, given.baseline);
  for (const _ of given.mixtures ?? []) addMixture();
  fitParameters();
  for (const [i, each] of (given.mixtures ?? []).entries()) showMixture(mixtureRows()[i], each);
  showShared(given.plates?.shared ?? []);
  show(byId("new-constraints", HTMLTextAreaElement), showCombinations(given.constraints ?? []));
  filled = { given, shown: made() };
}

/** The field of an error whose pointer is not the name of a field; undefined if there is none.
 * @param {string} pointer
 * @returns {Element | null | undefined}
 */
export function fieldOf(pointer) {
  const path = pointer
    .split("/")
    .slice(1)
    .map((each) => each.replaceAll("~1", "/").replaceAll("~0", "~"));
  const [list, place, name] = path;
  const within = (/** @type {Element | undefined} */ row, /** @type {string} */ first) =>
    row && (part(row, name ?? first) ?? part(row, first));
  if (list === "budget" && costBudget.value.trim() !== "") return costBudget;
  if (list === "quantities") return fieldOfWords(place, name);
  if (list === "constraints" && place !== undefined) return fieldOfCombination(Number(place) - lines());
  if (list === "mixtures") return fieldOfMixture(mixtureRows()[Number(place)], name, path[3]);
  if (list === "objectives") return within(objectives.children[Number(place)], "metric");
  if (list === "metrics") return within(quantities.children[Number(place)], "metric");
  if (list === "stop" && place === undefined) return document.getElementById("new-stop");
  if (list === "plates" && place === "shared") return fieldOfShared(name);
  if (list === "early_stopping")
    return form.querySelector(`[data-group="early_stopping"][name="${CSS.escape(place ?? "rule")}"]`) ?? rule;
  if (list !== "outcome_constraints") return fieldOfSpace(path);
  const bounded = [...quantities.children].filter((row) => isBounded(quantity(row)));
  return within(bounded[Number(place)], "lower");
}

/** The field of an error in the name or unit of a quantity.
 * @param {string} quantityName
 * @param {string} [name]
 */
function fieldOfWords(quantityName, name = "label") {
  if (quantityName === "cost") return costUnit;
  const row = measured().find((each) => text(each, "metric") === quantityName);
  return row ? part(row, name) : fieldOfResult(name);
}
