// The rows of parameters in the form for a new study: read and fill in the rows, and find the field of an error.

import { messageOf } from "./caught.js";
import {
  addChoices,
  area,
  box,
  choices,
  direction,
  distinct,
  dropChoice,
  field,
  fieldOfChoice,
  fieldOfWeight,
  fields,
  fitWeights,
  meant,
  next,
  offerValues,
  part,
  putInPlace,
  showValue,
  showWeights,
  spread,
  text,
  weights,
} from "./choices.js";
import { addCondition, conditions, fieldOfCondition, fitConditions, showConditions } from "./conditions.js";
import { descriptors, fieldOfDescriptors, showDescriptors, takeValues } from "./descriptors.js";
import { byId, closestToTarget, dataOf, queryAll } from "./elements.js";
import { addExclusion, exclusions, fieldOfExclusion, fitExclusions, showExclusions } from "./exclusions.js";
import { number, together } from "./forms.js";
import { kept } from "./kept.js";
import { fieldOfRowWeights, rowWeights, showRowWeights } from "./row-weights.js";
import { counted, inUnit } from "./words.js";

export { area, box, field, part, text };

const holder = byId("parameters", HTMLElement);
const summary = byId("summary", HTMLElement);
const MIN_CHOICES = 2;
const UNNAMED = "(no name yet)";

let made = 0;

const rows = () => queryAll(holder, ":scope > *", HTMLElement);
/** @param {HTMLElement} row */
const isNumeric = (row) => ["float", "int"].includes(text(row, "kind"));
/** @param {HTMLElement} row */
const isLog = (row) => box(row, "log").checked;

/** Show the fields of a new row's kind, also after it changes.
 * @param {HTMLElement} row
 */
export function fitRow(row) {
  made += 1;
  row.dataset.key = `parameter-${made}`;
  addChoices(row, MIN_CHOICES);
  row.addEventListener("click", (event) => {
    const button = closestToTarget(event, "[data-add], [data-drop]", HTMLButtonElement);
    if (button?.dataset.add === "choice") {
      addChoices(row);
      fields(row).at(-1)?.focus();
    }
    if (button?.dataset.add === "condition") addCondition(row, rows());
    if (!button || !("drop" in button.dataset)) return;
    const choice = button.closest(".choice");
    if (choice) dropChoice(row, choice);
    else button.closest(".condition")?.remove();
    fitSpace();
  });
  row.addEventListener("keydown", (event) => {
    const choice = closestToTarget(event, '[data-part="choice"]', HTMLInputElement);
    if (event.key !== "Enter" || !choice) return;
    event.preventDefault();
    next(row, choice);
  });
  row.addEventListener("change", (event) => {
    const choice = closestToTarget(event, '[data-part="choice"]', HTMLInputElement);
    if (!choice) return;
    offerValues(row, choice);
    putInPlace(row, choice);
    fitSpace();
  });
  area(row, "descriptors").addEventListener("change", () => {
    takeValues(row);
    fitSpace();
  });
  row.addEventListener("paste", (event) => {
    const choice = closestToTarget(event, '[data-part="choice"]', HTMLInputElement);
    if (choice) spread(row, choice, event);
  });
}

/** Update the fields and summaries of all rows. */
export function fitSpace() {
  const kinds = new Set();
  for (const row of rows()) {
    const kind = text(row, "kind");
    row.classList.toggle("again", kinds.has(kind)); // its help is above, in the first row of this kind
    kinds.add(kind);
    for (const field of queryAll(row, "[data-for]", HTMLElement))
      field.hidden = !dataOf(field, "for").split(" ").includes(kind);
    fitWeights(row);
    fitConditions(row, rows());
  }
  fitExclusions(rows());
  summary.replaceChildren(...rows().map(summarized));
}

const JUMBLED = "; these numbers are not sorted, and the model takes them in this order";

/** Whether values are numbers that neither ascend nor descend.
 * @param {unknown[]} values
 */
const isJumbled = (values) => values.every((each) => typeof each === "number") && direction(values) === 0;

/** The parameter that a row describes, in words, or its error.
 * @param {HTMLElement} row
 */
function summarized(row) {
  const line = document.createElement("li");
  try {
    line.textContent = inWords(described(row));
  } catch (error) {
    line.textContent = `${text(row, "name") || UNNAMED}: ${messageOf(error)}`;
  }
  return line;
}

/** A parameter in words.
 * @param {Record<string, any>} parameter
 */
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
  /** @type {Record<string, () => string>} */
  const kinds = {
    float: () => inUnit(`a number from ${low ?? "–"} to ${high ?? "–"}`, unit),
    int: () => inUnit(`a whole number from ${low ?? "–"} to ${high ?? "–"}`, unit),
    categorical: () => `a choice of ${counted(known.length, "value")}: ${quoted(known)}`,
    ordinal: () => `${counted(known.length, "ordered value")}: ${quoted(known)}${isJumbled(known) ? JUMBLED : ""}`,
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
    context && (context === "measured" ? ", measured with the result" : ", known, not chosen"),
    when &&
      `, only if ${Object.entries(when)
        .map(([parent, values]) => `${parent} is ${quoted(values, " or ")}`)
        .join(" and ")}`,
  ];
  return `${name || UNNAMED}: ${kinds[kind]()}${more.filter(Boolean).join("")}`;
}

/** @type {Map<unknown, string>} */
const TRUTHS = new Map([
  [true, "yes"],
  [false, "no"],
]);
/** @type {(values: unknown[], between?: string) => string} */
const quoted = (values, between = ", ") =>
  values
    .map((value) => TRUTHS.get(value) ?? (typeof value === "string" ? `“${value}”` : JSON.stringify(value)))
    .join(between);

/** The parameters that the rows describe. */
export const parameters = () => together(rows().map((row) => () => described(row)));

/** The same, without kept values. */
export const parametersAlone = () => rows().map(parameter);

const filled = new WeakMap(); // row -> the parameter that filled it in, and the values of its fields then

/** The parameter of a row; unchanged fields give exactly the value that they were filled in with.
 * @param {HTMLElement} row
 * @returns {Record<string, any>}
 */
function described(row) {
  const now = parameter(row);
  const { given, shown } = filled.get(row) ?? {};
  return given && now.kind === shown.kind ? kept(given, shown, now) : now;
}

/** Fill in rows from parameters of the API, with their beliefs and values in use.
 * @param {Parameter[]} given
 * @param {Record<string, Belief>} [prior]
 * @param {Point} [inUse]
 */
export function showParameters(given, prior, inUse) {
  /** @type {[HTMLElement, Parameter][]} */
  const pairs = given.map((each, i) => [rows()[i], each]);
  for (const [row, each] of pairs) showFields(row, each, prior?.[each.name], inUse?.[each.name]);
  fitSpace();
  for (const [row, each] of pairs) {
    showDescriptors(row, each.descriptors);
    if (each.kind === "catalogue") showRowWeights(row, prior?.[each.name]?.weights);
    else showWeights(row, prior?.[each.name]?.weights);
    showConditions(row, rows(), each.when);
  }
  fitSpace();
  for (const [row, each] of pairs) filled.set(row, { given: each, shown: parameter(row) });
}

/** Fill in the fields of a row.
 * @param {HTMLElement} row
 * @param {Record<string, any>} given
 * @param {Belief | undefined} belief
 * @param {unknown} inUse
 */
function showFields(row, given, belief, inUse) {
  showValue(field(row, "name"), given.name);
  field(row, "kind").value = given.kind;
  for (const name of ["low", "high", "step", "unit", "label", "table"]) field(row, name).value = given[name] ?? "";
  for (const name of ["periodic", "context"]) box(row, name).checked = given[name] === true;
  box(row, "measured").checked = given.context === "measured";
  box(row, "log").checked = given.scale === "log";
  field(row, "around").value = String(belief?.around ?? "");
  field(row, "spread").value = String(belief?.width ?? belief?.factor ?? "");
  if (given.kind === "fixed") showValue(field(row, "value"), given.value ?? null);
  if (inUse !== undefined) showValue(field(row, "baseline"), inUse);
  const listed = given.choices ?? given.values ?? [];
  addChoices(row, Math.max(0, listed.length - MIN_CHOICES));
  for (const [i, value] of listed.entries()) showValue(fields(row)[i], value);
}

/** The values of the fields of a row.
 * @param {HTMLElement} row
 */
function parameter(row) {
  /** @type {Record<string, any>} */
  const parameter = { name: text(row, "name"), kind: text(row, "kind") };
  if (parameter.kind === "categorical")
    Object.assign(parameter, { choices: distinct(row), descriptors: descriptors(row) });
  if (parameter.kind === "ordinal") parameter.values = distinct(row);
  if (parameter.kind === "catalogue") return { ...parameter, table: field(row, "table").value.trim() };
  if (parameter.kind === "fixed") parameter.value = meant(field(row, "value"));
  if (isNumeric(row)) {
    for (const name of ["low", "high", "step"]) parameter[name] = number(field(row, name));
    if (isLog(row)) parameter.scale = "log";
  }
  if (parameter.kind === "float" && box(row, "periodic").checked) parameter.periodic = true;
  for (const name of ["unit", "label"]) {
    const words = area(row, name).closest("[hidden]") ? "" : text(row, name);
    if (words !== "") parameter[name] = words;
  }
  if (parameter.kind !== "fixed" && box(row, "context").checked) parameter.context = true;
  if (parameter.kind !== "fixed" && box(row, "measured").checked) parameter.context = "measured";
  const when = conditions(row, rows());
  return when ? { ...parameter, when } : parameter;
}

/** A row for another combination of values that is never suggested. */
export function addCombination() {
  queryAll(addExclusion(rows), "select, input", HTMLElement)[0]?.focus();
}

/** Show constraints in the table of combinations where possible, and return the others. */
export const showCombinations = (/** @type {string[]} */ given) => showExclusions(rows, given);

/** The constraints of these combinations. */
export const constraints = () => exclusions(rows());

/** The beliefs about the optimum, by the names of parameters; undefined without any. */
export function beliefs() {
  const given = rows()
    .map((row) => [text(row, "name"), belief(row)])
    .filter(([, each]) => each);
  return given.length ? Object.fromEntries(given) : undefined;
}

/** The values that are in use, by the names of parameters; undefined where there are none. */
export function baseline() {
  const given = rows()
    .map((row) => [text(row, "name"), inUse(row)])
    .filter(([, each]) => each !== undefined);
  return given.length ? Object.fromEntries(given) : undefined;
}

/** The value in use of a row's parameter; undefined without one.
 * @param {HTMLElement} row
 */
function inUse(row) {
  const kind = text(row, "kind");
  if (field(row, "baseline").value.trim() === "" || kind === "fixed") return undefined;
  return ofRow(row, "baseline");
}

/** The value of a row's parameter in another field of the row: one of its values, or a number.
 * @param {HTMLElement} row
 * @param {string} name of the field
 */
export function ofRow(row, name) {
  if (isNumeric(row)) return number(field(row, name));
  return meant(field(row, name), (typed) => choices(row).find((each) => each.typed === typed)?.value ?? typed);
}

/** The belief about the optimum of a row's parameter; undefined without one.
 * @param {HTMLElement} row
 * @returns {Belief | undefined}
 */
function belief(row) {
  if (isNumeric(row)) {
    const around = number(field(row, "around"));
    const width = number(field(row, "spread"));
    if (around === undefined && width === undefined) return undefined;
    return { around, [isLog(row) ? "factor" : "width"]: width };
  }
  const kind = text(row, "kind");
  if (kind === "fixed") return undefined;
  const given = kind === "catalogue" ? rowWeights(row) : weights(row);
  return given && { weights: given };
}

/** The field of an error in a constraint, by its position among those of the combinations. */
export const fieldOfCombination = (/** @type {number} */ place) => fieldOfExclusion(rows(), place);

/** The field of an error in /parameters/..., /prior/... or /baseline/...; undefined if it is not about a row.
 * @param {string[]} path
 */
export function fieldOfSpace([list, place, name, at]) {
  if (list === "parameters") {
    const row = rows()[Number(place)];
    if (!row) return undefined;
    if (name === "choices" || name === "values") return fieldOfChoice(row, at);
    if (name === "descriptors") return fieldOfDescriptors(row);
    if (name === "when") return fieldOfCondition(row, at);
    return part(row, name === "scale" ? "log" : name);
  }
  const row = ["prior", "baseline"].includes(list) ? rows().find((each) => text(each, "name") === place) : null;
  if (!row) return undefined;
  if (list === "baseline") return part(row, "baseline");
  if (text(row, "kind") === "catalogue") return fieldOfRowWeights(row);
  if (!isNumeric(row)) return fieldOfWeight(row, at);
  return part(row, name === "around" || text(row, "around") === "" ? "around" : "spread");
}
