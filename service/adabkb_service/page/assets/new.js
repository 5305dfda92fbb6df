// The form for a new study: rows for its parameters, its mixtures, its objectives, and other quantities that are
// measured.

import { body, Mistyped, number } from "./forms.js";
import { addCombination, baseline, beliefs, constraints, fieldOfCombination, fieldOfSpace, fitRow, fitSpace, parameters, part } from "./space.js";

const form = document.getElementById("new");
const rows = document.getElementById("parameters");
const objectives = document.getElementById("objectives");
const mixtures = document.getElementById("mixtures");
const quantities = document.getElementById("quantities");
const direction = document.getElementById("new-direction");
const costBudget = document.getElementById("new-cost-budget");
const robust = document.getElementById("new-robust");
const perCost = document.getElementById("new-per-cost");

let described = 0;

/** Say the small print below a field together with the field, for screen readers. */
function describe(within) {
  for (const note of within.querySelectorAll(".field > small")) {
    note.id ||= `note-${++described}`;
    note.parentElement.querySelector("input, select, textarea").setAttribute("aria-describedby", note.id);
  }
}

/** A new row, of a template, at the end of others. */
function addRow(template, others, label) {
  const row = document.getElementById(template).content.firstElementChild.cloneNode(true);
  row.querySelector("[data-remove]").addEventListener("click", () => {
    row.remove();
    fitSpace();
  });
  others.append(row);
  row.setAttribute("aria-label", `${label} ${others.children.length}`);
  describe(row);
  return row;
}

function addParameter() {
  const row = addRow("parameter", rows, "Parameter");
  fitRow(row);
  fitSpace();
  return row;
}

const addObjective = () => addRow("objective", objectives, "Result");
const hasSeveral = () => direction.value === "several";

/** With several results, a row for each of two at least. */
function fitDirection() {
  document.getElementById("several").hidden = !hasSeveral();
  for (const field of form.querySelectorAll("[data-alone]")) field.hidden = hasSeveral();
  while (hasSeveral() && objectives.children.length < 2) addObjective();
}

function objective(row) {
  return { metric: part(row, "metric").value.trim(), direction: part(row, "direction").value, reference: number(part(row, "reference")) };
}

/** A quantity's bounds; without any it is measured and bounds nothing. */
function quantity(row) {
  return { metric: part(row, "metric").value.trim(), lower: number(part(row, "lower")), upper: number(part(row, "upper")) };
}

function mixture(row) {
  const names = part(row, "parameters").value.split(",").map((name) => name.trim()).filter((name) => name !== "");
  return { parameters: names, total: number(part(row, "total")), at_most: number(part(row, "at_most")), least: number(part(row, "least")) };
}

const fieldOfResult = (name) => form.querySelector(`[data-quantity="${name}"]`);

/** What the result is called, its unit and its natural bounds, as far as they are given. */
function quantityOfResult() {
  const read = { label: (field) => field.value.trim() || undefined, unit: (field) => field.value.trim() || undefined, low: number, high: number };
  const found = Object.entries(read).map(([name, of]) => [name, of(fieldOfResult(name))]);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}

/** How many constraints are written a line each. They come before those of combinations. */
const lines = () => document.getElementById("new-constraints").value.split("\n").filter((line) => line.trim() !== "").length;

const isBounded = ({ lower, upper }) => lower !== undefined || upper !== undefined;

function made() {
  const study = { ...body(form), parameters: parameters(), prior: beliefs(), baseline: baseline() };
  if (hasSeveral()) {
    delete study.direction;
    study.objectives = [...objectives.children].map(objective);
  }
  const words = hasSeveral() ? {} : quantityOfResult();
  if (Object.keys(words).length) study.quantities = { value: words };
  const typed = study.constraints ?? [];
  const excluded = constraints();
  if (excluded.length) study.constraints = [...typed, ...excluded];
  if (mixtures.children.length) study.mixtures = [...mixtures.children].map(mixture);
  const measured = [...quantities.children].map(quantity);
  const bounded = measured.filter(isBounded);
  if (measured.length) study.metrics = measured.map((each) => each.metric);
  if (bounded.length) study.outcome_constraints = bounded;
  const cost = number(costBudget);
  if (cost !== undefined && study.budget !== undefined) throw new Mistyped(costBudget, "Budget, in cost: you also gave a budget in trials; keep one of the two.");
  if (cost !== undefined) study.budget = { cost };
  if (perCost.checked) study.per_cost = true;
  if (robust.checked) study.robust = true;
  return study;
}

/** The field of a fault that is not in a field of its own name. */
function fieldOf(pointer) {
  const path = pointer.split("/").slice(1).map((each) => each.replaceAll("~1", "/").replaceAll("~0", "~"));
  const [list, place, name] = path;
  if (list === "budget" && costBudget.value.trim() !== "") return costBudget;
  if (list === "per_cost") return perCost;
  if (list === "robust") return robust;
  if (list === "quantities") return fieldOfResult(name ?? "label");
  if (list === "constraints" && place !== undefined) return fieldOfCombination(place - lines());
  if (list === "mixtures") return mixtures.children[place] && part(mixtures.children[place], name ?? "parameters");
  if (list === "objectives") return objectives.children[place] && part(objectives.children[place], name ?? "metric");
  if (list === "metrics") return quantities.children[place] && part(quantities.children[place], "metric");
  if (list !== "outcome_constraints") return fieldOfSpace(path);
  const bounded = [...quantities.children].filter((row) => isBounded(quantity(row)));
  return bounded[place] && part(bounded[place], name ?? "lower");
}

form.made = made;
form.fieldOf = fieldOf;
direction.addEventListener("change", fitDirection);
rows.addEventListener("input", fitSpace);
document.getElementById("add-parameter").addEventListener("click", () => part(addParameter(), "name").focus());
document.getElementById("add-exclusion").addEventListener("click", addCombination);
document.getElementById("add-objective").addEventListener("click", () => part(addObjective(), "metric").focus());
document.getElementById("add-mixture").addEventListener("click", () => part(addRow("mixture", mixtures, "Mixture"), "parameters").focus());
document.getElementById("add-quantity").addEventListener("click", () => part(addRow("quantity", quantities, "Quantity"), "metric").focus());
describe(form);
fitDirection();
addParameter();
