// The conditions under which a parameter is active, in the form for a new study. A person picks other parameters and
// their values from lists.

import { area, choices, copied, differs, text } from "./choices.js";
import { createElement, dataOf, query, queryAll } from "./elements.js";
import { Mistyped } from "./forms.js";
import { clearer, numeral } from "./words.js";

const ROWS = "one of the rows; a semicolon between several";

/** @param {Element} row */
const conditionsIn = (row) => queryAll(area(row, "conditions"), ":scope > *", HTMLElement);
/** @param {Element} row */
const isNumeric = (row) => ["float", "int"].includes(text(row, "kind"));
/** @param {Element} row */
const isCatalogue = (row) => text(row, "kind") === "catalogue";
/** @param {Element} condition */
const parentField = (condition) => query(condition, '[data-part="parent"]', HTMLSelectElement);
/** The field for numbers or names of rows, in a condition on a parameter without a list of values.
 * @param {Element} condition
 */
const typedIn = (condition) => query(area(condition, "allowed"), "input", HTMLInputElement);
/** @param {Element} within */
const checkedIn = (within) => new Set(queryAll(within, "input:checked", HTMLInputElement).map((each) => each.value));
/** @type {(condition: Element, rows: HTMLElement[]) => HTMLElement | undefined} */
const parentOf = (condition, rows) => rows.find((row) => row.dataset.key === parentField(condition).value);

/** Add a condition to a row.
 * @param {HTMLElement} row
 * @param {HTMLElement[]} rows all of them
 */
export function addCondition(row, rows) {
  const condition = copied("condition");
  area(row, "conditions").append(condition);
  fitConditions(row, rows);
  parentField(condition).focus();
}

/** Fill in conditions, by the names of parameters.
 * @param {HTMLElement} row
 * @param {HTMLElement[]} rows all of them
 * @param {Record<string, unknown[]>} [when]
 */
export function showConditions(row, rows, when) {
  for (const [name, values] of Object.entries(when ?? {})) {
    const condition = copied("condition");
    area(row, "conditions").append(condition);
    fitConditions(row, rows);
    const parent = rows.find((each) => text(each, "name") === name);
    parentField(condition).value = parent?.dataset.key ?? "";
    fitConditions(row, rows);
    const wanted = new Set(values.map((value) => JSON.stringify(value)));
    for (const { value, key } of parent ? choices(parent) : []) {
      const [box] = queryAll(condition, `input[value="${key}"]`, HTMLInputElement);
      if (box) box.checked = wanted.has(JSON.stringify(value));
    }
    if (parent && (isNumeric(parent) || isCatalogue(parent))) typedIn(condition).value = values.join("; ");
  }
}

/** Offer the current parameters and values. Chosen ones stay chosen.
 * @param {HTMLElement} row
 * @param {HTMLElement[]} rows all of them
 */
export function fitConditions(row, rows) {
  for (const condition of conditionsIn(row)) {
    const parent = parentField(condition);
    const others = rows.filter((other) => other !== row && text(other, "name") !== "");
    fitParents(
      parent,
      others.map((other) => [text(other, "name"), dataOf(other, "key")]),
    );
    fitAllowed(area(condition, "allowed"), parentOf(condition, rows));
  }
}

/** Offer parameters: their names and keys.
 * @param {HTMLSelectElement} parent
 * @param {[name: string, key: string][]} offered
 */
function fitParents(parent, offered) {
  if (!differs(parent, offered)) return;
  const chosen = parent.value;
  parent.length = 1;
  for (const [name, key] of offered) parent.add(new Option(name, key));
  parent.value = offered.some(([, key]) => key === chosen) ? chosen : "";
}

/** A check box for each value of a parameter; a field for numbers or names of rows if it has no list of values.
 * @param {HTMLElement} holder
 * @param {HTMLElement} [parent]
 */
function fitAllowed(holder, parent) {
  const typed = parent === undefined ? "" : isNumeric(parent) ? "one of the numbers" : isCatalogue(parent) ? ROWS : "";
  const offered = parent === undefined || typed ? [] : choices(parent);
  if (!differs(holder, [parent?.dataset.key, typed, offered])) return;
  const checked = checkedIn(holder);
  const boxes = offered.map(({ typed, key }) =>
    labelled(typed, { type: "checkbox", value: key, checked: checked.has(key) }),
  );
  holder.replaceChildren(
    ...(typed ? [labelled(typed, { inputMode: typed === ROWS ? "text" : "decimal", autocomplete: "off" })] : boxes),
  );
}

/** A field with its label.
 * @param {string} name
 * @param {Partial<HTMLInputElement>} properties
 */
function labelled(name, properties) {
  const label = document.createElement("label");
  label.className = "check";
  const field = createElement("input", properties);
  label.append(...(field.type === "checkbox" ? [field, ` ${name}`] : [`${name} `, field]));
  return label;
}

/** The conditions of a row for the API; undefined without any.
 * @param {HTMLElement} row
 * @param {HTMLElement[]} rows all of them
 */
export function conditions(row, rows) {
  const byName = new Map();
  for (const condition of conditionsIn(row)) {
    const select = parentField(condition);
    const parent = parentOf(condition, rows);
    const faulty = (/** @type {string} */ words) => new Mistyped(select, `Active only if: ${words}`);
    if (!parent) throw faulty("choose a parameter, or remove the condition.");
    const name = text(parent, "name");
    if (byName.has(name)) throw faulty(`${name} has two conditions. Name all its values in one of them.`);
    const values = isNumeric(parent)
      ? numbers(typedIn(condition), text(parent, "kind"))
      : isCatalogue(parent)
        ? rowsNamed(typedIn(condition))
        : boxed(condition, parent);
    if (!values.length) throw faulty(`choose a value of ${name}, or remove the condition.`);
    byName.set(name, values);
  }
  return byName.size ? Object.fromEntries(byName) : undefined;
}

/** The names of rows in a field.
 * @param {HTMLInputElement} field
 */
const rowsNamed = (field) =>
  field.value
    .split(";")
    .map((name) => name.trim())
    .filter((name) => name !== "");

/** The values of a parameter whose boxes are checked.
 * @param {HTMLElement} condition
 * @param {HTMLElement} parent
 */
function boxed(condition, parent) {
  const checked = checkedIn(condition);
  return choices(parent)
    .filter(({ key }) => checked.has(key))
    .map((each) => each.value);
}

/** Numbers with spaces or semicolons between them; commas as well if they are whole.
 * @param {HTMLInputElement} field
 * @param {string} kind
 */
function numbers(field, kind) {
  const typed = field.value.split(kind === "int" ? /[\s;,]+/ : /[\s;]+/).filter((each) => each !== "");
  return typed.map((each) => {
    if (!Number.isFinite(numeral(each)))
      throw new Mistyped(field, `Active only if: ${clearer(each) || `“${each}” is not a number.`}`);
    return numeral(each);
  });
}

/** The field of a condition on a parameter.
 * @param {HTMLElement} row
 * @param {string | undefined} name
 */
export function fieldOfCondition(row, name) {
  const selects = conditionsIn(row).map(parentField);
  return selects.find((select) => select.selectedOptions[0]?.text === name) ?? selects[0];
}
