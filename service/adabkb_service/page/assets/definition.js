// The form for a study and its definition: what the form says, what it is filled in with, and which field a fault is
// about.

import { copied, showValue } from "./choices.js";
import { byId, every } from "./elements.js";
import { body, Mistyped, number } from "./forms.js";
import { kept } from "./kept.js";
import {
  baseline,
  beliefs,
  constraints,
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
import { inLargestUnit } from "./words.js";

const form = byId("new", HTMLFormElement);
const rows = document.getElementById("parameters");
const objectives = document.getElementById("objectives");
const mixtures = document.getElementById("mixtures");
const quantities = document.getElementById("quantities");
const direction = byId("new-direction", HTMLSelectElement);
const rule = byId("new-rule", HTMLSelectElement);
const costBudget = byId("new-cost-budget", HTMLInputElement);
const costUnit = byId("new-cost-unit", HTMLInputElement);

let described = 0;
let filled = { given: {}, shown: {} };

/** Say the small print below a field together with the field, for screen readers. */
export function describe(within) {
  for (const note of within.querySelectorAll(".field > small")) {
    note.id ||= `note-${++described}`;
    note.parentElement.querySelector("input, select, textarea").setAttribute("aria-describedby", note.id);
  }
}

/** A new row, of a template, at the end of others. */
function addRow(template, others, label) {
  const row = copied(template);
  row.querySelector("[data-remove]").addEventListener("click", () => {
    row.remove();
    fitSpace();
    form.dispatchEvent(new Event("input"));
  });
  others.append(row);
  row.setAttribute("aria-label", `${label} ${others.children.length}`);
  describe(row);
  return row;
}

export function addParameter() {
  const row = addRow("parameter", rows, "Parameter");
  fitRow(row);
  fitSpace();
  return row;
}

export const addObjective = () => addRow("objective", objectives, "Result");
const addMixture = () => addRow("mixture", mixtures, "Mixture");
export const addQuantity = () => addRow("quantity", quantities, "Quantity");
const hasSeveral = () => direction.value === "several";

/** Show the fields that belong to the direction and to the rule for ending experiments. */
export function fitFields() {
  document.getElementById("several").hidden = !hasSeveral() || "edits" in form.dataset;
  for (const field of every(form, "[data-alone]", HTMLElement)) field.hidden = hasSeveral() || "edits" in form.dataset;
  while (hasSeveral() && objectives.children.length < 2) addObjective();
  for (const field of every(form, "[data-rules]", HTMLElement))
    field.hidden = !field.dataset.rules.split(" ").includes(rule.value);
}

const objective = (row) => ({
  metric: text(row, "metric"),
  direction: part(row, "direction").value,
  reference: number(part(row, "reference")),
});

/** A quantity's bounds; without any it is measured and bounds nothing. */
const quantity = (row) => ({
  metric: text(row, "metric"),
  lower: number(part(row, "lower")),
  upper: number(part(row, "upper")),
});

function mixture(row) {
  const names = part(row, "parameters")
    .value.split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  return {
    parameters: names,
    total: number(part(row, "total")),
    at_most: number(part(row, "at_most")),
    least: number(part(row, "least")),
  };
}

/** A mixture of the parameters that can be shares: those from 0 to the same number that no other mixture has. */
export function addMixtureOfShares() {
  const taken = new Set([...mixtures.children].flatMap((row) => mixture(row).parameters));
  const free = [...rows.children].filter(
    (row) => text(row, "kind") === "float" && text(row, "low") === "0" && !taken.has(text(row, "name")),
  );
  const total = free.length ? text(free[0], "high") : "";
  const names = free.filter((row) => text(row, "high") === total).map((row) => text(row, "name"));
  const row = addMixture();
  if (names.length < 2) return row;
  part(row, "parameters").value = names.join(", ");
  part(row, "total").value = total === "1" ? "" : total;
  return row;
}

const fieldOfResult = (name) => form.querySelector(`[data-quantity="${name}"]`);
const measured = () => [...(hasSeveral() ? objectives.children : []), ...quantities.children];
const filledIn = (field) => field.value.trim() || undefined;
const WORDS = { label: filledIn, unit: filledIn, digits: number, low: number, high: number };

/** What a quantity is called, its unit, its decimals and its natural bounds, as far as they are given. */
function wordsOf(field) {
  const found = Object.entries(WORDS).map(([name, read]) => [name, read(field(name))]);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}

/** The words of all quantities, by name; undefined without any. */
function words() {
  const found = measured().map((row) => [text(row, "metric"), wordsOf((name) => part(row, name))]);
  if (!hasSeveral()) found.push(["value", wordsOf(fieldOfResult)]);
  if (costUnit.value.trim() !== "") found.push(["cost", { unit: costUnit.value.trim() }]);
  const given = found.filter(([, each]) => Object.keys(each).length);
  return given.length ? Object.fromEntries(given) : undefined;
}

/** How many constraints are written a line each. They come before those of combinations. */
const lines = () =>
  byId("new-constraints", HTMLTextAreaElement)
    .value.split("\n")
    .filter((line) => line.trim() !== "").length;

const isBounded = ({ lower, upper }) => lower !== undefined || upper !== undefined;

function made() {
  const study = { ...body(form), prior: beliefs(), baseline: baseline(), quantities: words() };
  if (hasSeveral()) {
    delete study.direction;
    study.objectives = [...objectives.children].map(objective);
  }
  const excluded = constraints();
  if (excluded.length) study.constraints = [...(study.constraints ?? []), ...excluded];
  if (mixtures.children.length) study.mixtures = [...mixtures.children].map(mixture);
  const others = [...quantities.children].map(quantity);
  const bounded = others.filter(isBounded);
  if (others.length) study.metrics = others.map((each) => each.metric);
  if (bounded.length) study.outcome_constraints = bounded;
  const cost = number(costBudget);
  if (cost !== undefined && study.budget !== undefined)
    throw new Mistyped(costBudget, "Budget, in cost: you also gave a budget in trials; keep one of the two.");
  if (cost !== undefined) study.budget = { cost };
  return study;
}

/** What the fields alone say, whatever the form was filled in with. */
export const fieldsAlone = () => ({ ...made(), parameters: parametersAlone() });

/** The definition that the form describes. */
export function definition() {
  const space = parameters();
  return { ...kept(filled.given, filled.shown, made()), parameters: space };
}

const SHOW = {
  lines: (value) => value.join("\n"),
  list: (value) => value.join(", "),
  pairs: (value) =>
    Object.entries(value)
      .map(([name, each]) => `${name}: ${each}`)
      .join("\n"),
  duration: inLargestUnit,
};

/** Show a value of the API in a field that has its name. */
function show(field, value) {
  if (field.type === "checkbox") field.checked = value === true;
  else if (field.dataset.type === "limit" && value === null) field.value = "never";
  else if (value === undefined || value === null) field.value = "";
  else if (field.dataset.type === "json") choose(field, JSON.stringify(value));
  else field.value = SHOW[field.dataset.type]?.(value) ?? value;
}

/** Choose an option, which is added if the select lacks it. */
function choose(select, value) {
  if (![...select.options].some((option) => option.value === value)) select.add(new Option("as in the JSON", value));
  select.value = value;
}

function showRow(row, given, names) {
  showValue(part(row, "metric") ?? part(row, "parameters"), given.metric ?? (given.parameters ?? []).join(", "));
  for (const name of names) part(row, name).value = given[name] ?? "";
}

function showWords(field, given) {
  for (const name of Object.keys(WORDS)) field(name).value = given?.[name] ?? "";
}

/** Fill in the form with a definition of the API. What has no field is kept for as long as nobody changes the fields
 * for it.
 */
export function fill(given) {
  for (const list of [rows, objectives, mixtures, quantities, byId("exclusions", HTMLTableElement).tBodies[0]])
    list.replaceChildren();
  for (const field of /** @type {Iterable<HTMLInputElement>} */ (form.elements)) {
    const group = field.dataset.group;
    if (field.name) show(field, group ? given[group]?.[field.name] : given[field.name]);
  }
  const several = given.objectives ?? [];
  direction.value = several.length ? "several" : (given.direction ?? "minimize");
  costBudget.value = given.budget?.cost ?? "";
  if (given.budget?.cost !== undefined) byId("new-budget", HTMLInputElement).value = "";
  rule.value = given.early_stopping?.rule ?? "";
  for (const each of several) showRow(addObjective(), each, ["direction", "reference"]);
  for (const each of given.mixtures ?? []) showRow(addMixture(), each, ["total", "at_most", "least"]);
  const bounds = new Map((given.outcome_constraints ?? []).map((each) => [each.metric, each]));
  for (const metric of new Set([...(given.metrics ?? []), ...bounds.keys()]))
    showRow(addQuantity(), { metric, ...bounds.get(metric) }, ["lower", "upper"]);
  fitFields();
  for (const row of measured()) showWords((name) => part(row, name), given.quantities?.[text(row, "metric")]);
  showWords(fieldOfResult, given.quantities?.value);
  costUnit.value = given.quantities?.cost?.unit ?? "";
  for (const _ of given.parameters) addParameter();
  showParameters(given.parameters, given.prior, given.baseline);
  show(byId("new-constraints", HTMLTextAreaElement), showCombinations(given.constraints ?? []));
  filled = { given, shown: made() };
}

/** The field of a fault that is not in a field of its own name; undefined if there is none. */
export function fieldOf(pointer) {
  const path = pointer
    .split("/")
    .slice(1)
    .map((each) => each.replaceAll("~1", "/").replaceAll("~0", "~"));
  const [list, place, name] = path;
  const rowOf = (others, first) =>
    others.children[place] && (part(others.children[place], name ?? first) ?? part(others.children[place], first));
  if (list === "budget" && costBudget.value.trim() !== "") return costBudget;
  if (list === "quantities") return fieldOfWords(place, name);
  if (list === "constraints" && place !== undefined) return fieldOfCombination(place - lines());
  if (list === "mixtures") return rowOf(mixtures, "parameters");
  if (list === "objectives") return rowOf(objectives, "metric");
  if (list === "metrics") return rowOf(quantities, "metric");
  if (list === "stop" && place === undefined) return document.getElementById("new-stop");
  if (list === "early_stopping")
    return form.querySelector(`[data-group="early_stopping"][name="${CSS.escape(place ?? "rule")}"]`) ?? rule;
  if (list !== "outcome_constraints") return fieldOfSpace(path);
  const bounded = [...quantities.children].filter((row) => isBounded(quantity(row)));
  return bounded[place] && part(bounded[place], name ?? "lower");
}

function fieldOfWords(quantityName, name = "label") {
  if (quantityName === "cost") return costUnit;
  const row = measured().find((each) => text(each, "metric") === quantityName);
  return row ? part(row, name) : fieldOfResult(name);
}
