// The rows of parameters in the form for a new study: what a row says, and which field of it a fault is about.

import { addChoices, distinct, dropChoice, fieldOfChoice, fieldOfWeight, fitWeights, meant, next, part, spread, text, weights } from "./choices.js";
import { addCondition, conditions, fieldOfCondition, fitConditions } from "./conditions.js";
import { descriptors, fieldOfDescriptors, takeValues } from "./descriptors.js";
import { addExclusion, exclusions, fieldOfExclusion, fitExclusions } from "./exclusions.js";
import { number } from "./forms.js";
import { counted, inUnit } from "./words.js";

export { part };

const holder = document.getElementById("parameters");
const summary = document.getElementById("summary");
const FEWEST_CHOICES = 2;

let made = 0;

const rows = () => [...holder.children];
const isNumeric = (row) => ["float", "int"].includes(text(row, "kind"));
const isLog = (row) => part(row, "log").checked;

/** Let a new row have the fields of its kind, whatever that becomes. */
export function fitRow(row) {
  row.dataset.key = `parameter-${(made += 1)}`;
  addChoices(row, FEWEST_CHOICES);
  row.addEventListener("click", ({ target }) => {
    if (target.dataset.add === "choice") {
      addChoices(row);
      row.querySelector(".choice:last-child input").focus();
    }
    if (target.dataset.add === "condition") addCondition(row, rows());
    if (!("drop" in target.dataset)) return;
    const choice = target.closest(".choice");
    if (choice) dropChoice(row, choice);
    else target.closest(".condition").remove();
    fitSpace();
  });
  row.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.dataset.part !== "choice") return;
    event.preventDefault();
    next(row, event.target);
  });
  part(row, "descriptors").addEventListener("change", () => {
    takeValues(row);
    fitSpace();
  });
  row.addEventListener("paste", (event) => event.target.dataset.part === "choice" && spread(row, event));
}

/** Show what belongs to the kinds and the values of all rows, and what they say together. */
export function fitSpace() {
  for (const row of rows()) {
    const kind = text(row, "kind");
    for (const field of row.querySelectorAll("[data-for]")) field.hidden = !field.dataset.for.split(" ").includes(kind);
    fitWeights(row);
    fitConditions(row, rows());
  }
  fitExclusions(rows());
  summary.replaceChildren(...rows().map(summarized));
}

/** What will be created of a row, in words, or what is wrong with it. */
function summarized(row) {
  const line = document.createElement("li");
  try {
    line.textContent = inWords(parameter(row));
  } catch (error) {
    line.textContent = `${text(row, "name")}: ${error.message}`;
  }
  return line;
}

function inWords({ name, kind, low, high, step, scale, periodic, context, when, value, descriptors: numbers, unit, label, ...listed }) {
  const known = listed.choices ?? listed.values;
  const kinds = {
    float: () => inUnit(`a number from ${low ?? "–"} to ${high ?? "–"}`, unit),
    int: () => inUnit(`a whole number from ${low ?? "–"} to ${high ?? "–"}`, unit),
    categorical: () => `a choice of ${counted(known.length, "value")}: ${quoted(known)}`,
    ordinal: () => `${counted(known.length, "ordered value")}: ${quoted(known)}`,
    bool: () => "yes or no",
    catalogue: () => (listed.table ? `a row of a table of ${counted(listed.table.split("\n").length - 1, "row")}` : "a row of a table, which is empty"),
    fixed: () => `always ${quoted([value])}`,
  };
  const more = [label && `, called ${quoted([label])}`, numbers && `, described by ${quoted(Object.keys(numbers))}`, step && ` in steps of ${step}`, scale && ", on a log scale", periodic && ", whose ends are the same point", context && ", known, not chosen", when && `, only if ${Object.entries(when).map(([parent, values]) => `${parent} is ${quoted(values, " or ")}`).join(" and ")}`];
  return `${name || "(no name yet)"}: ${kinds[kind]()}${more.filter(Boolean).join("")}`;
}

const TRUTHS = new Map([[true, "yes"], [false, "no"]]);
const quoted = (values, between = ", ") => values.map((value) => TRUTHS.get(value) ?? (typeof value === "string" ? `“${value}”` : String(value))).join(between);

/** The parameters that the rows describe. */
export const parameters = () => rows().map(parameter);

function parameter(row) {
  const described = { name: text(row, "name"), kind: text(row, "kind") };
  if (described.kind === "categorical") Object.assign(described, { choices: distinct(row), descriptors: descriptors(row) });
  if (described.kind === "ordinal") described.values = distinct(row);
  if (described.kind === "catalogue") return { ...described, table: part(row, "table").value.trim() };
  if (described.kind === "fixed") described.value = meant(text(row, "value"));
  if (isNumeric(row)) {
    for (const name of ["low", "high", "step"]) described[name] = number(part(row, name));
    if (isLog(row)) described.scale = "log";
  }
  if (described.kind === "float" && part(row, "periodic").checked) described.periodic = true;
  for (const name of ["unit", "label"]) {
    const words = part(row, name).closest("[hidden]") ? "" : text(row, name);
    if (words !== "") described[name] = words;
  }
  if (described.kind !== "fixed" && part(row, "context").checked) described.context = true;
  const when = conditions(row, rows());
  return when ? { ...described, when } : described;
}

/** A row for another combination of values that is never suggested. */
export const addCombination = () => addExclusion(rows);

/** The constraints that these combinations make. */
export const constraints = () => exclusions(rows());

/** What somebody believes of the optimum, by the names of parameters; undefined where nobody believes anything. */
export function beliefs() {
  const found = rows().map((row) => [text(row, "name"), belief(row)]).filter(([, each]) => each);
  return found.length ? Object.fromEntries(found) : undefined;
}

/** The values that are in use, by the names of parameters; undefined where there are none. */
export function baseline() {
  const found = rows().map((row) => [text(row, "name"), inUse(row)]).filter(([, each]) => each !== undefined);
  return found.length ? Object.fromEntries(found) : undefined;
}

function inUse(row) {
  if (isNumeric(row)) return number(part(row, "baseline"));
  const typed = text(row, "baseline");
  return typed === "" || ["fixed", "bool", "catalogue"].includes(text(row, "kind")) ? undefined : meant(typed);
}

function belief(row) {
  if (isNumeric(row)) {
    const around = number(part(row, "around"));
    const width = number(part(row, "spread"));
    if (around === undefined && width === undefined) return undefined;
    return { around, [isLog(row) ? "factor" : "width"]: width };
  }
  const given = ["fixed", "catalogue"].includes(text(row, "kind")) ? undefined : weights(row);
  return given && { weights: given };
}

/** The field of a fault of a constraint, by its place among those of the combinations. */
export const fieldOfCombination = (place) => fieldOfExclusion(rows(), place);

/** The field of a fault of /parameters/..., /prior/... or /baseline/...; undefined where it is about no row. */
export function fieldOfSpace([list, place, name, at]) {
  if (list === "parameters") {
    const row = holder.children[place];
    if (!row) return undefined;
    if (name === "choices" || name === "values") return fieldOfChoice(row, at);
    if (name === "descriptors") return fieldOfDescriptors(row);
    if (name === "when") return fieldOfCondition(row, at);
    return part(row, name === "scale" ? "log" : name);
  }
  const row = ["prior", "baseline"].includes(list) && rows().find((each) => text(each, "name") === place);
  if (!row) return undefined;
  if (list === "baseline") return part(row, "baseline");
  if (!isNumeric(row)) return fieldOfWeight(row, at);
  return part(row, name === "around" || text(row, "around") === "" ? "around" : "spread");
}
