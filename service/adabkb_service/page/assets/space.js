// The rows of parameters in the form for a new study: what a row says, and which field of it a fault is about.

import {
  addChoices,
  choices,
  distinct,
  dropChoice,
  fieldOfChoice,
  fieldOfWeight,
  fitWeights,
  meant,
  next,
  part,
  showValue,
  showWeights,
  spread,
  text,
  weights,
} from "./choices.js";
import { addCondition, conditions, fieldOfCondition, fitConditions, showConditions } from "./conditions.js";
import { descriptors, fieldOfDescriptors, showDescriptors, takeValues } from "./descriptors.js";
import { every } from "./elements.js";
import { addExclusion, exclusions, fieldOfExclusion, fitExclusions, showExclusions } from "./exclusions.js";
import { number } from "./forms.js";
import { kept } from "./kept.js";
import { counted, inUnit } from "./words.js";

export { part, text };

const holder = document.getElementById("parameters");
const summary = document.getElementById("summary");
const FEWEST_CHOICES = 2;

let made = 0;

const rows = () => [...holder.children];
const isNumeric = (row) => ["float", "int"].includes(text(row, "kind"));
const isLog = (row) => part(row, "log").checked;

/** Let a new row have the fields of its kind, whatever that becomes. */
export function fitRow(row) {
  made += 1;
  row.dataset.key = `parameter-${made}`;
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
  const kinds = new Set();
  for (const row of rows()) {
    const kind = text(row, "kind");
    row.classList.toggle("again", kinds.has(kind)); // whose help stands above
    kinds.add(kind);
    for (const field of every(row, "[data-for]", HTMLElement))
      field.hidden = !field.dataset.for.split(" ").includes(kind);
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
    line.textContent = inWords(described(row));
  } catch (error) {
    line.textContent = `${text(row, "name")}: ${error.message}`;
  }
  return line;
}

function inWords({
  name,
  kind,
  low,
  high,
  step,
  scale,
  periodic,
  context,
  when,
  value,
  descriptors: numbers,
  unit,
  label,
  ...listed
}) {
  const known = listed.choices ?? listed.values;
  const kinds = {
    float: () => inUnit(`a number from ${low ?? "–"} to ${high ?? "–"}`, unit),
    int: () => inUnit(`a whole number from ${low ?? "–"} to ${high ?? "–"}`, unit),
    categorical: () => `a choice of ${counted(known.length, "value")}: ${quoted(known)}`,
    ordinal: () => `${counted(known.length, "ordered value")}: ${quoted(known)}`,
    bool: () => "yes or no",
    catalogue: () =>
      listed.table
        ? `a row of a table of ${counted(listed.table.split("\n").length - 1, "row")}`
        : "a row of a table, which is empty",
    fixed: () => `always ${quoted([value])}`,
    "": () => "of a kind that does not exist",
  };
  const more = [
    label && `, called ${quoted([label])}`,
    numbers && `, described by ${quoted(Object.keys(numbers))}`,
    step && ` in steps of ${step}`,
    scale && ", on a log scale",
    periodic && ", whose ends are the same point",
    context && ", known, not chosen",
    when &&
      `, only if ${Object.entries(when)
        .map(([parent, values]) => `${parent} is ${quoted(values, " or ")}`)
        .join(" and ")}`,
  ];
  return `${name || "(no name yet)"}: ${kinds[kind]()}${more.filter(Boolean).join("")}`;
}

const TRUTHS = new Map([
  [true, "yes"],
  [false, "no"],
]);
const quoted = (values, between = ", ") =>
  values
    .map((value) => TRUTHS.get(value) ?? (typeof value === "string" ? `“${value}”` : JSON.stringify(value)))
    .join(between);

/** The parameters that the rows describe. */
export const parameters = () => rows().map(described);

/** The same, whatever the rows were filled in with. */
export const parametersAlone = () => rows().map(parameter);

const filled = new WeakMap(); // by row: what it was filled in with, and what its fields said then

/** What a row says; of what nobody has changed, exactly what it was filled in with. */
function described(row) {
  const now = parameter(row);
  const { given, shown } = filled.get(row) ?? {};
  return given && now.kind === shown.kind ? kept(given, shown, now) : now;
}

/** Fill in rows with parameters of the API, and with what is known of them. */
export function showParameters(given, prior, inUse) {
  const pairs = given.map((each, i) => [rows()[i], each]);
  for (const [row, each] of pairs) showFields(row, each, prior?.[each.name], inUse?.[each.name]);
  fitSpace();
  for (const [row, each] of pairs) {
    showDescriptors(row, each.descriptors);
    showWeights(row, prior?.[each.name]?.weights);
    showConditions(row, rows(), each.when);
  }
  fitSpace();
  for (const [row, each] of pairs) filled.set(row, { given: each, shown: parameter(row) });
}

function showFields(row, given, belief, inUse) {
  showValue(part(row, "name"), given.name);
  part(row, "kind").value = given.kind;
  for (const name of ["low", "high", "step", "unit", "label", "table"]) part(row, name).value = given[name] ?? "";
  for (const name of ["periodic", "context"]) part(row, name).checked = given[name] === true;
  part(row, "log").checked = given.scale === "log";
  part(row, "around").value = belief?.around ?? "";
  part(row, "spread").value = belief?.width ?? belief?.factor ?? "";
  if (given.kind === "fixed") showValue(part(row, "value"), given.value ?? null);
  if (inUse !== undefined) showValue(part(row, "baseline"), inUse);
  const listed = given.choices ?? given.values ?? [];
  addChoices(row, Math.max(0, listed.length - FEWEST_CHOICES));
  const fields = row.querySelectorAll('[data-part="choice"]');
  for (const [i, value] of listed.entries()) showValue(fields[i], value);
}

function parameter(row) {
  const found = { name: text(row, "name"), kind: text(row, "kind") };
  if (found.kind === "categorical") Object.assign(found, { choices: distinct(row), descriptors: descriptors(row) });
  if (found.kind === "ordinal") found.values = distinct(row);
  if (found.kind === "catalogue") return { ...found, table: part(row, "table").value.trim() };
  if (found.kind === "fixed") found.value = meant(part(row, "value"));
  if (isNumeric(row)) {
    for (const name of ["low", "high", "step"]) found[name] = number(part(row, name));
    if (isLog(row)) found.scale = "log";
  }
  if (found.kind === "float" && part(row, "periodic").checked) found.periodic = true;
  for (const name of ["unit", "label"]) {
    const words = part(row, name).closest("[hidden]") ? "" : text(row, name);
    if (words !== "") found[name] = words;
  }
  if (found.kind !== "fixed" && part(row, "context").checked) found.context = true;
  const when = conditions(row, rows());
  return when ? { ...found, when } : found;
}

/** A row for another combination of values that is never suggested. */
export function addCombination() {
  every(addExclusion(rows), "select, input", HTMLElement)[0]?.focus();
}

/** Show constraints in the table of combinations, as far as it can, and return the others. */
export const showCombinations = (given) => showExclusions(rows, given);

/** The constraints that these combinations make. */
export const constraints = () => exclusions(rows());

/** What somebody believes of the optimum, by the names of parameters; undefined where nobody believes anything. */
export function beliefs() {
  const found = rows()
    .map((row) => [text(row, "name"), belief(row)])
    .filter(([, each]) => each);
  return found.length ? Object.fromEntries(found) : undefined;
}

/** The values that are in use, by the names of parameters; undefined where there are none. */
export function baseline() {
  const found = rows()
    .map((row) => [text(row, "name"), inUse(row)])
    .filter(([, each]) => each !== undefined);
  return found.length ? Object.fromEntries(found) : undefined;
}

function inUse(row) {
  const kind = text(row, "kind");
  if (part(row, "baseline").value.trim() === "" || ["fixed", "catalogue"].includes(kind)) return undefined;
  return ofRow(row, "baseline");
}

/** The value of a row's parameter in another field of the row: one of its values, or a number. */
export function ofRow(row, name) {
  if (isNumeric(row)) return number(part(row, name));
  return meant(part(row, name), (typed) => choices(row).find((each) => each.typed === typed)?.value ?? typed);
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
