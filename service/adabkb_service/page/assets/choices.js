// The values of a choice in the form for a new study. Each has a field of its own, so it may contain any character.

import { byId, closest, dataOf, query, queryAll } from "./elements.js";
import { isField, Mistyped, number } from "./forms.js";
import { clearer, numeral } from "./words.js";

const PLAIN_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i;
/** @type {[string, boolean][]} */
const TRUTHS = [
  ["no", false],
  ["yes", true],
];

let made = 0;

/** @param {string | undefined} name */
const selectorOf = (name) => `[data-part="${CSS.escape(String(name))}"]`;

/** A part of a row, if it has one of this name.
 * @param {Element} row
 * @param {string | undefined} name
 * @returns {HTMLElement | null}
 */
export const part = (row, name) => row.querySelector(selectorOf(name));

/** A part of a row, which it must have.
 * @param {Element} row
 * @param {string} name
 */
export const area = (row, name) => query(row, selectorOf(name), HTMLElement);

/** A check box of a row.
 * @param {Element} row
 * @param {string} name
 */
export const box = (row, name) => query(row, selectorOf(name), HTMLInputElement);

/** A field of a row.
 * @param {Element} row
 * @param {string} name
 */
export function field(row, name) {
  const element = area(row, name);
  if (isField(element)) return element;
  throw new TypeError(`The part ${name} of a row is not a field.`);
}

/** The text of a field.
 * @param {Element} row
 * @param {string} name
 */
export function text(row, name) {
  const value = meant(field(row, name), String);
  return typeof value === "string" ? value : field(row, name).value.trim();
}

/** A copy of a template of the page.
 * @param {string} template
 */
export const copied = (template) =>
  document.importNode(query(byId(template, HTMLTemplateElement).content, "*", HTMLElement), true);

/** A number if it is written as one, else the text. So 1,4 and 007 are texts.
 * @param {string} typed
 */
const plain = (typed) => (PLAIN_NUMBER.test(typed) ? Number(typed) : typed);

/** Show a value of the API. It keeps its type, such as that of the text “12.5”, until a person changes the field.
 * @param {Field} field
 * @param {unknown} value
 */
export function showValue(field, value) {
  field.value = typeof value === "string" && value.trim() !== "" ? value : JSON.stringify(value);
  field.dataset.exact = JSON.stringify([field.value, value]);
}

/** The value of a field, as shown or as typed.
 * @param {Field} field
 * @param {(typed: string) => unknown} read
 * @returns {any}
 */
export function meant(field, read = plain) {
  const [shown, value] = JSON.parse(field.dataset.exact ?? "[]");
  return shown === field.value ? value : read(field.value.trim());
}

/** As plain, but for an ordered value, which is usually a number and may have a decimal comma.
 * @param {string} typed
 */
const ordered = (typed) => (Number.isFinite(numeral(typed)) ? numeral(typed) : typed);

/** The fields of the values of a row.
 * @param {Element} row
 */
export const fields = (row) => queryAll(row, selectorOf("choice"), HTMLInputElement);
/** @param {Element} row */
const filled = (row) => fields(row).filter((field) => field.value.trim() !== "");

/** The values that the parameter of a row may have, each with the text and the key of its field.
 * @param {Element} row
 * @returns {{ typed: string, value: any, key: string }[]}
 */
export function choices(row) {
  const kind = text(row, "kind");
  if (kind === "bool") return TRUTHS.map(([typed, value]) => ({ typed, value, key: typed }));
  if (kind === "fixed") return [{ typed: text(row, "value"), value: meant(field(row, "value")), key: "fixed" }];
  if (kind === "catalogue") return [];
  const read = kind === "ordinal" ? ordered : plain;
  return filled(row).map((each) => ({
    typed: each.value.trim(),
    value: meant(each, read),
    key: dataOf(each, "key"),
  }));
}

/** The values of a row for the API, each of them once. An ordered value must not be a number that has two meanings.
 * @param {Element} row
 */
export function distinct(row) {
  if (text(row, "kind") === "ordinal")
    filled(row).forEach((each, i) => {
      const unclear = meant(each, clearer);
      if (typeof unclear === "string" && unclear && unclear === clearer(each.value))
        throw new Mistyped(each, `Value ${i + 1}: ${unclear}`);
    });
  const all = choices(row);
  all.forEach(({ value, typed }, i) => {
    const first = all.findIndex((other) => other.value === value);
    if (first < i)
      throw new Mistyped(
        filled(row)[i],
        `Value ${i + 1}: “${typed}” is the same as value ${first + 1}, “${all[first].typed}”. Remove one of the two.`,
      );
  });
  return all.map((each) => each.value);
}

/** The field of the value at a place; the first field if there is none.
 * @param {Element} row
 * @param {string | number} [place]
 * @returns {HTMLElement | undefined}
 */
export const fieldOfChoice = (row, place) => filled(row)[Number(place)] ?? fields(row)[0];

/** Add fields for values before a choice, or at the end.
 * @param {Element} row
 * @param {number} count
 * @param {Element | null} before
 */
export function addChoices(row, count = 1, before = null) {
  for (let i = 0; i < count; i += 1) {
    const choice = copied("choice");
    made += 1;
    area(choice, "choice").dataset.key = `choice-${made}`;
    area(row, "choices").insertBefore(choice, before);
  }
  numbered(row);
}

/** Number the labels of values and of their buttons.
 * @param {Element} row
 */
function numbered(row) {
  fields(row).forEach((each, i) => {
    const words = closest(each, "label", HTMLLabelElement).firstChild;
    if (words instanceof Text) words.data = `Value ${i + 1} `;
    const choice = closest(each, ".choice", HTMLElement);
    query(choice, "[data-drop]", HTMLButtonElement).setAttribute("aria-label", `Remove value ${i + 1}`);
  });
}

/** Remove a value.
 * @param {Element} row
 * @param {Element} choice
 */
export function dropChoice(row, choice) {
  choice.remove();
  numbered(row);
}

/** Move a number that a person adds to its place among ordered numbers, and say so.
 * @param {Element} row
 * @param {HTMLInputElement} typed the field
 */
export function putInPlace(row, typed) {
  const status = area(row, "placed");
  status.textContent = "";
  const others = filled(row).filter((each) => each !== typed);
  const [value, ...numbers] = [typed, ...others].map((each) => meant(each, ordered));
  if (text(row, "kind") !== "ordinal" || typed.value.trim() === "" || others.length < 2) return;
  const order = direction(numbers);
  if (
    !order ||
    typeof value !== "number" ||
    numbers.includes(value) ||
    direction(filled(row).map((each) => meant(each, ordered)))
  )
    return;
  const after = others[numbers.findIndex((each) => order * (each - value) > 0)];
  const choice = closest(typed, ".choice", HTMLElement);
  if (after) closest(after, ".choice", HTMLElement).before(choice);
  else closest(others[others.length - 1], ".choice", HTMLElement).after(choice);
  numbered(row);
  status.textContent = `${typed.value.trim()} was put in its place among the others.`;
}

/** Whether values are numbers that ascend (1) or descend (-1); 0 otherwise.
 * @param {unknown[]} values
 */
export function direction(values) {
  const numbers = values.filter((each) => typeof each === "number");
  if (numbers.length < values.length) return 0;
  const isRun = (/** @type {number} */ sign) => numbers.every((each, i) => !i || sign * (each - numbers[i - 1]) > 0);
  return isRun(1) ? 1 : isRun(-1) ? -1 : 0;
}

/** The values of a list: its lines or, if there is a single line, its parts between semicolons or between commas with a
 * space after them. (A comma without a space may be part of a name, such as 1,4-dioxane.)
 * @param {string} list
 */
function valuesOf(list) {
  const lines = nonempty(list.split(/[\r\n\t]+/));
  return lines.length === 1 ? nonempty(lines[0].split(/;|,\s/)) : lines;
}

/** @type {(texts: string[]) => string[]} */
const nonempty = (texts) => texts.map((each) => each.trim()).filter((each) => each !== "");

/** Offer to split a list that a person has typed into one field.
 * @param {Element} row
 * @param {HTMLInputElement} typed the field
 */
export function offerValues(row, typed) {
  const choice = closest(typed, ".choice", HTMLElement);
  choice.querySelector("[data-takes-apart]")?.remove();
  const values = valuesOf(typed.value);
  if (values.length < 2) return;
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "quiet", textContent: `Make ${values.length} values of it` });
  button.dataset.takesApart = "";
  button.addEventListener("click", () => {
    button.remove();
    fill(row, typed, values);
  });
  choice.append(button);
}

/** Put values into a field and into new fields after it.
 * @param {Element} row
 * @param {HTMLInputElement} first
 * @param {string[]} values
 */
function fill(row, first, values) {
  const at = fields(row).indexOf(first);
  for (const later of fields(row).slice(at + 1))
    if (later.value.trim() === "") closest(later, ".choice", HTMLElement).remove();
  addChoices(row, values.length - 1, closest(first, ".choice", HTMLElement).nextElementSibling);
  for (const [i, value] of values.entries()) fields(row)[at + i].value = value;
  first.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Split a pasted list into separate fields.
 * @param {Element} row
 * @param {HTMLInputElement} pasted the field
 * @param {ClipboardEvent} event
 */
export function spread(row, pasted, event) {
  const values = valuesOf(event.clipboardData?.getData("text") ?? "");
  if (values.length < 2) return;
  event.preventDefault();
  fill(row, pasted, values);
}

/** Move to the next field, adding one after the last.
 * @param {Element} row
 * @param {HTMLInputElement} present
 */
export function next(row, present) {
  if (fields(row).at(-1) === present) addChoices(row);
  fields(row)[fields(row).indexOf(present) + 1].focus();
}

/** Whether the content of an element has to change; unchanged content keeps the focus.
 * @param {HTMLElement} holder
 * @param {unknown} content
 */
export function differs(holder, content) {
  const before = holder.dataset.shows;
  holder.dataset.shows = JSON.stringify(content);
  return holder.dataset.shows !== before;
}

/** Create a field for the weight of each value.
 * @param {Element} row
 */
export function fitWeights(row) {
  const weights = area(row, "weights");
  if (!differs(weights, choices(row))) return;
  const known = new Map([...weights.querySelectorAll("input")].map((each) => [each.dataset.key, each.value]));
  const made = choices(row).map(({ typed, key }) => {
    const label = document.createElement("label");
    const field = document.createElement("input");
    Object.assign(field, { value: known.get(key) ?? "", inputMode: "decimal", autocomplete: "off" });
    field.dataset.key = key;
    label.append(`${typed} `, field);
    return label;
  });
  weights.replaceChildren(...made);
}

/** The text of a value: itself, or its JSON with spaces as the server writes it.
 * @param {unknown} value
 */
function inText(value) {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? `[${value.map((each) => JSON.stringify(each)).join(", ")}]` : JSON.stringify(value);
}

/** Fill in weights, by the texts of the values.
 * @param {Element} row
 * @param {Record<string, number>} [given]
 */
export function showWeights(row, given) {
  fitWeights(row);
  for (const [name, weight] of Object.entries(given ?? {})) {
    const weighed = fieldOfWeight(row, name);
    if (!weighed) throw new Error(`The form has no field for the weight of ${name}.`);
    weighed.value = String(weight);
  }
}

/** The given weights by the texts of the values; undefined without any.
 * @param {Element} row
 */
export function weights(row) {
  const known = new Map(
    [...area(row, "weights").querySelectorAll("input")].map((each) => [each.dataset.key, number(each)]),
  );
  const weighted = choices(row).flatMap(({ value, key }) => {
    const weight = known.get(key);
    return weight === undefined ? [] : [{ name: inText(value), weight }];
  });
  return weighted.length ? Object.fromEntries(weighted.map(({ name, weight }) => [name, weight])) : undefined;
}

/** The field of the weight of a value, by its text; the first field if there is no such value.
 * @param {Element} row
 * @param {string} name
 * @returns {HTMLInputElement | undefined}
 */
export function fieldOfWeight(row, name) {
  const inputs = [...area(row, "weights").querySelectorAll("input")];
  const choice = choices(row).find(({ value }) => inText(value) === name);
  return inputs.find((each) => each.dataset.key === choice?.key) ?? inputs[0];
}
