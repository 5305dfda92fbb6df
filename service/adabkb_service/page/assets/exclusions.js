// Combinations that are never suggested, in the form for a new study: a table with a column for each parameter. A row
// becomes a constraint, such as not (ligand == "PPh3" and temperature > 80).

import { choices, copied, differs, text } from "./choices.js";
import { byId, closest, dataOf, query, queryAll } from "./elements.js";
import { Mistyped } from "./forms.js";
import { numeral } from "./words.js";

/** @typedef {HTMLInputElement | HTMLSelectElement} Choice */

const table = byId("exclusions", HTMLTableElement);
const frame = closest(table, ".scroll", HTMLElement);
const combinations = () => [...table.tBodies[0].rows];
/** @param {HTMLElement} row */
const isNumeric = (row) => ["float", "int"].includes(text(row, "kind"));
/** @param {HTMLElement} row */
const isReal = (row) => text(row, "kind") === "float" && text(row, "step") === "";
/** The field of a parameter in a combination, if there is one.
 * @param {HTMLElement} combination
 * @param {HTMLElement} row
 * @returns {Choice | undefined}
 */
const fieldOf = (combination, row) =>
  queryAll(combination, `[data-of="${row.dataset.key}"]`, HTMLElement).find(
    (each) => each instanceof HTMLInputElement || each instanceof HTMLSelectElement,
  );

const SYMBOLS = new Map([
  ["≤", "<="],
  ["≥", ">="],
  ["=", "=="],
  ["", "=="],
]);
const COMPARED = /^(<=|>=|<|>|≤|≥|=|)\s*(.*)$/;
const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const KEYWORDS = new Set(
  `False None True and as assert async await break class continue def del elif else except finally for
  from global if import in is lambda nonlocal not or pass raise return try while with yield`.split(/\s+/),
);

/** The parameters that a combination may name: those that have a name and vary.
 * @param {HTMLElement[]} rows of parameters
 */
const columns = (rows) => rows.filter((row) => text(row, "name") !== "" && text(row, "kind") !== "fixed");

/** Add a combination.
 * @param {() => HTMLElement[]} rows of parameters
 * @param {"append" | "prepend"} place
 */
export function addExclusion(rows, place = "append") {
  const combination = copied("exclusion");
  query(combination, "[data-drop]", HTMLButtonElement).addEventListener("click", () => {
    combination.remove();
    fitExclusions(rows());
    table.dispatchEvent(new Event("input", { bubbles: true }));
  });
  table.tBodies[0][place](combination);
  fitExclusions(rows());
  return combination;
}

/** Show those constraints at the end of a list that the table can express, and return the others.
 * @param {() => HTMLElement[]} rows of parameters
 * @param {string[]} constraints
 */
export function showExclusions(rows, constraints) {
  const others = [...constraints];
  while (others.length) {
    const combination = addExclusion(rows, "prepend");
    if (!showParts(combination, rows(), others[others.length - 1])) {
      combination.remove();
      fitExclusions(rows());
      break;
    }
    others.pop();
  }
  return others;
}

/** Fill in the cells of a row from a constraint. Returns false if the row cannot express exactly this constraint.
 * @param {HTMLElement} combination
 * @param {HTMLElement[]} rows of parameters
 * @param {string} constraint
 */
function showParts(combination, rows, constraint) {
  const [, parts = ""] = /^not \((.*)\)$/s.exec(constraint) ?? [];
  try {
    for (const each of parts.split(" and ")) {
      const row = columns(rows).find((candidate) => each.startsWith(`${nameOf(candidate)} `));
      if (!row) return false;
      const compares = each.slice(nameOf(row).length + 1);
      const chosen = choices(row).find(({ value }) => compares === `== ${literal(value)}`);
      const field = fieldOf(combination, row);
      if (field) field.value = isNumeric(row) ? compares.replace(/^== /, "") : (chosen?.key ?? "");
    }
    return constraintOf(combination, rows) === constraint;
  } catch {
    return false;
  }
}

/** Create a column for each current parameter. Chosen values stay chosen.
 * @param {HTMLElement[]} rows of parameters
 */
export function fitExclusions(rows) {
  const shown = columns(rows);
  const offered = shown.map((row) => [row.dataset.key, text(row, "name"), isNumeric(row) || choices(row)]);
  if (!differs(table, [offered, combinations().length])) return;
  frame.hidden = !combinations().length;
  const head = query(table, "thead tr", HTMLTableRowElement);
  head.replaceChildren(...shown.map((row) => header(text(row, "name"))), query(head, "td", HTMLElement));
  combinations().forEach((combination, i) => {
    const cells = shown.map((row) => cell(row, fieldOf(combination, row), i + 1));
    const drop = query(combination, "[data-drop]", HTMLButtonElement);
    drop.setAttribute("aria-label", `Remove combination ${i + 1}`);
    combination.replaceChildren(...cells, closest(drop, "td", HTMLElement));
  });
}

/** @param {string} name */
const header = (name) => Object.assign(document.createElement("th"), { scope: "col", textContent: name });

/** A cell for a parameter in a combination: its values to choose from, or a field for a number.
 * @param {HTMLElement} row
 * @param {Choice | undefined} before
 * @param {number} place of the combination
 */
function cell(row, before, place) {
  const field = isNumeric(row)
    ? Object.assign(document.createElement("input"), {
        placeholder: "any",
        size: 8,
        autocomplete: "off",
        inputMode: "text",
      })
    : document.createElement("select");
  if (field instanceof HTMLSelectElement) {
    field.add(new Option("any", ""));
    for (const { typed, key } of choices(row)) field.add(new Option(typed, key));
  }
  if (before?.tagName === field.tagName) field.value = before.value;
  if (field instanceof HTMLSelectElement && field.selectedIndex < 0) field.value = "";
  field.dataset.of = dataOf(row, "key");
  field.setAttribute("aria-label", `${text(row, "name")} in combination ${place}`);
  const made = document.createElement("td");
  made.append(field);
  return made;
}

/** The constraints of the combinations; a row without values has none.
 * @param {HTMLElement[]} rows of parameters
 */
export const exclusions = (rows) => filled(rows).map((combination) => constraintOf(combination, rows));

/** The constraint of a combination.
 * @param {HTMLElement} combination
 * @param {HTMLElement[]} rows of parameters
 */
const constraintOf = (combination, rows) =>
  `not (${given(combination, rows)
    .map(([row, field]) => compared(row, field))
    .join(" and ")})`;

/** The parameters that a combination names, each with its field.
 * @param {HTMLElement} combination
 * @param {HTMLElement[]} rows of parameters
 * @returns {[HTMLElement, Choice][]}
 */
const given = (combination, rows) =>
  columns(rows).flatMap((row) => {
    const field = fieldOf(combination, row);
    return field?.value.trim() ? [[row, field]] : [];
  });

/** @param {HTMLElement[]} rows of parameters */
const filled = (rows) => combinations().filter((combination) => given(combination, rows).length);

/** The field of an error in a constraint, by its position among those of the table.
 * @param {HTMLElement[]} rows of parameters
 * @param {number} place
 */
export function fieldOfExclusion(rows, place) {
  const combination = filled(rows)[place];
  return combination && given(combination, rows)[0][1];
}

/** The name of a row's parameter as written in a constraint.
 * @param {HTMLElement} row
 * @param {Choice} [field]
 */
function nameOf(row, field) {
  const name = text(row, "name");
  return PLAIN_NAME.test(name) && !KEYWORDS.has(name) ? name : quoted(name, field);
}

/** The condition that a field expresses for its parameter.
 * @param {HTMLElement} row
 * @param {Choice} field
 */
function compared(row, field) {
  if (isNumeric(row)) return `${nameOf(row, field)} ${number(row, field)}`;
  const chosen = choices(row).find(({ key }) => key === field.value);
  if (!chosen) throw mistyped(field, "the value that was chosen is gone. Choose another one.");
  return `${nameOf(row, field)} == ${literal(chosen.value, field)}`;
}

/** A number as typed, such as > 80, or 5 for an exact value.
 * @param {HTMLElement} row
 * @param {Choice} field
 */
function number(row, field) {
  const [, typed, digits] = COMPARED.exec(field.value.trim()) ?? ["", "", ""];
  const symbol = SYMBOLS.get(typed) ?? typed;
  const value = numeral(digits);
  if (!Number.isFinite(value))
    throw mistyped(field, `“${field.value.trim()}” is not a number, or one after <, <=, > or >=.`);
  if (symbol === "==" && isReal(row))
    throw mistyped(field, `a value of exactly ${digits} is very unlikely. Write > ${digits} or < ${digits}.`);
  return `${symbol} ${value}`;
}

/** @type {(field: Choice | undefined, words: string) => Mistyped} */
const mistyped = (field, words) =>
  new Mistyped(field, `${field?.getAttribute("aria-label") ?? "Never together"}: ${words}`);

/** A value in Python's syntax.
 * @param {unknown} value
 * @param {Choice} [field]
 * @returns {string}
 */
function literal(value, field) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map((each) => literal(each, field)).join(", ")}]`;
  return typeof value === "number" ? String(value) : quoted(String(value), field);
}

/** A text in Python's syntax. Parts with quotation marks are in apostrophes; Python joins adjacent texts.
 * @param {string} words
 * @param {Choice} [field]
 */
function quoted(words, field) {
  if (words.includes("\\")) throw mistyped(field, `“${words}” has a backslash. Give it a name without one.`);
  if (words === "") return '""';
  return (words.match(/[^"]+|"+/g) ?? []).map((each) => (each[0] === '"' ? `'${each}'` : `"${each}"`)).join(" ");
}
