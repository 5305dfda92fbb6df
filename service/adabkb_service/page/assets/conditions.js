// When a parameter exists, in the form for a new study: other parameters and their values, picked and not typed.

import { choices, copied, differs, part, text } from "./choices.js";
import { every } from "./elements.js";
import { Mistyped } from "./forms.js";
import { numeral } from "./words.js";

const conditionsIn = (row) => [...part(row, "conditions").children];
const isNumeric = (row) => ["float", "int"].includes(text(row, "kind"));
const parentOf = (condition, rows) => rows.find((row) => row.dataset.key === part(condition, "parent").value);

export function addCondition(row, rows) {
  const condition = copied("condition");
  part(row, "conditions").append(condition);
  fitConditions(row, rows);
  part(condition, "parent").focus();
}

/** Fill in conditions, by the names of parameters. */
export function showConditions(row, rows, when) {
  for (const [name, values] of Object.entries(when ?? {})) {
    const condition = copied("condition");
    part(row, "conditions").append(condition);
    fitConditions(row, rows);
    const parent = rows.find((each) => text(each, "name") === name);
    part(condition, "parent").value = parent?.dataset.key ?? "";
    fitConditions(row, rows);
    const wanted = new Set(values.map((value) => JSON.stringify(value)));
    for (const { value, key } of parent ? choices(parent) : []) {
      const [box] = every(condition, `input[value="${key}"]`, HTMLInputElement);
      if (box) box.checked = wanted.has(JSON.stringify(value));
    }
    const field = parent && isNumeric(parent) && part(condition, "allowed").querySelector("input");
    if (field) field.value = values.join("; ");
  }
}

/** Offer the parameters and the values that there are now. What is chosen stays chosen. */
export function fitConditions(row, rows) {
  for (const condition of conditionsIn(row)) {
    const parent = part(condition, "parent");
    const others = rows.filter((other) => other !== row && text(other, "name") !== "");
    fitParents(
      parent,
      others.map((other) => [text(other, "name"), other.dataset.key]),
    );
    fitAllowed(part(condition, "allowed"), parentOf(condition, rows));
  }
}

function fitParents(parent, offered) {
  if (!differs(parent, offered)) return;
  const chosen = parent.value;
  parent.length = 1;
  for (const [name, key] of offered) parent.add(new Option(name, key));
  parent.value = offered.some(([, key]) => key === chosen) ? chosen : "";
}

/** A box for each value of a parameter; a field for numbers if it has no list of values. */
function fitAllowed(holder, parent) {
  const hasNumbers = parent !== undefined && isNumeric(parent);
  const offered = parent === undefined || hasNumbers ? [] : choices(parent);
  if (!differs(holder, [parent?.dataset.key, hasNumbers, offered])) return;
  const checked = new Set([...holder.querySelectorAll("input:checked")].map((box) => box.value));
  const boxes = offered.map(({ typed, key }) =>
    labelled(typed, { type: "checkbox", value: key, checked: checked.has(key) }),
  );
  holder.replaceChildren(
    ...(hasNumbers ? [labelled("one of the numbers", { inputMode: "decimal", autocomplete: "off" })] : boxes),
  );
}

function labelled(name, properties) {
  const label = document.createElement("label");
  label.className = "check";
  const field = Object.assign(document.createElement("input"), properties);
  label.append(...(field.type === "checkbox" ? [field, ` ${name}`] : [`${name} `, field]));
  return label;
}

/** The conditions of a row for the API; undefined without any. */
export function conditions(row, rows) {
  const found = new Map();
  for (const condition of conditionsIn(row)) {
    const select = part(condition, "parent");
    const parent = parentOf(condition, rows);
    const faulty = (words) => new Mistyped(select, `Active only if: ${words}`);
    if (!parent) throw faulty("choose a parameter, or remove the condition.");
    const name = text(parent, "name");
    if (found.has(name)) throw faulty(`${name} has two conditions. Name all its values in one of them.`);
    const values = isNumeric(parent)
      ? numbers(part(condition, "allowed").querySelector("input"), text(parent, "kind"))
      : boxed(condition, parent);
    if (!values.length) throw faulty(`choose a value of ${name}, or remove the condition.`);
    found.set(name, values);
  }
  return found.size ? Object.fromEntries(found) : undefined;
}

function boxed(condition, parent) {
  const checked = new Set([...condition.querySelectorAll("input:checked")].map((box) => box.value));
  return choices(parent)
    .filter(({ key }) => checked.has(key))
    .map((each) => each.value);
}

/** Numbers with spaces or semicolons between them; commas as well if they are whole. */
function numbers(field, kind) {
  const typed = field.value.split(kind === "int" ? /[\s;,]+/ : /[\s;]+/).filter((each) => each !== "");
  return typed.map((each) => {
    if (!Number.isFinite(numeral(each))) throw new Mistyped(field, `Active only if: “${each}” is not a number.`);
    return numeral(each);
  });
}

/** The field of a condition on a parameter. */
export function fieldOfCondition(row, name) {
  const selects = conditionsIn(row).map((condition) => part(condition, "parent"));
  return selects.find((select) => select.selectedOptions[0]?.text === name) ?? selects[0];
}
