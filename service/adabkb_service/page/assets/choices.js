// The values of a choice in the form for a new study. Each has a field of its own, so it may contain any character.

import { byId } from "./elements.js";
import { Mistyped, number } from "./forms.js";
import { numeral } from "./words.js";

const PLAIN_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i;
const TRUTHS = [
  ["no", false],
  ["yes", true],
];

let made = 0;

export const part = (row, name) => row.querySelector(`[data-part="${name}"]`);

/** The text of a field. */
export function text(row, name) {
  const found = meant(part(row, name), String);
  return typeof found === "string" ? found : part(row, name).value.trim();
}

/** A copy of a template of the page. */
export const copied = (template) =>
  /** @type {HTMLElement} */ (byId(template, HTMLTemplateElement).content.firstElementChild.cloneNode(true));

/** A number if it is written as one, else the text. So 1,4 and 007 are texts. */
const plain = (typed) => (PLAIN_NUMBER.test(typed) ? Number(typed) : typed);

/** Show a value of the API. It keeps its type, such as that of the text “12.5”, as long as nobody changes the field. */
export function showValue(field, value) {
  field.value = typeof value === "string" && value.trim() !== "" ? value : JSON.stringify(value);
  field.dataset.exact = JSON.stringify([field.value, value]);
}

/** The value that a field shows, or that somebody typed in. */
export function meant(field, read = plain) {
  const [shown, value] = JSON.parse(field.dataset.exact ?? "[]");
  return shown === field.value ? value : read(field.value.trim());
}

/** The same of an ordered value: these are mostly numbers, so they may have a decimal comma. */
const ordered = (typed) => (Number.isFinite(numeral(typed)) ? numeral(typed) : typed);

const fields = (row) => [...row.querySelectorAll('[data-part="choice"]')];
const filled = (row) => fields(row).filter((field) => field.value.trim() !== "");

/** The values that the parameter of a row may have, each with the text and the key of its field. */
export function choices(row) {
  const kind = text(row, "kind");
  if (kind === "bool") return TRUTHS.map(([typed, value]) => ({ typed, value, key: typed }));
  if (kind === "fixed") return [{ typed: text(row, "value"), value: meant(part(row, "value")), key: "fixed" }];
  if (kind === "catalogue") return [];
  const read = kind === "ordinal" ? ordered : plain;
  return filled(row).map((field) => ({ typed: field.value.trim(), value: meant(field, read), key: field.dataset.key }));
}

/** The values of a row for the API, each of them once. */
export function distinct(row) {
  const found = choices(row);
  found.forEach(({ value, typed }, i) => {
    const first = found.findIndex((other) => other.value === value);
    if (first < i)
      throw new Mistyped(
        filled(row)[i],
        `Value ${i + 1}: “${typed}” is the same as value ${first + 1}, “${found[first].typed}”. Remove one of the two.`,
      );
  });
  return found.map((each) => each.value);
}

/** The field of the value at a place. */
export const fieldOfChoice = (row, place) => filled(row)[place] ?? fields(row)[0];

/** Add fields for values at the end. */
export function addChoices(row, count = 1) {
  for (let i = 0; i < count; i += 1) {
    const choice = copied("choice");
    made += 1;
    part(choice, "choice").dataset.key = `choice-${made}`;
    part(row, "choices").append(choice);
  }
  numbered(row);
}

function numbered(row) {
  fields(row).forEach((field, i) => {
    field.labels[0].firstChild.textContent = `Value ${i + 1} `;
    field
      .closest(".choice")
      .querySelector("[data-drop]")
      .setAttribute("aria-label", `Remove value ${i + 1}`);
  });
}

/** Take a value out. */
export function dropChoice(row, choice) {
  choice.remove();
  numbered(row);
}

/** Put lines that somebody pastes into a field into fields of their own. */
export function spread(row, event) {
  const lines = event.clipboardData
    .getData("text")
    .split(/[\r\n\t]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (lines.length < 2) return;
  event.preventDefault();
  const at = fields(row).indexOf(event.target);
  addChoices(row, Math.max(0, at + lines.length - fields(row).length));
  for (const [i, line] of lines.entries()) fields(row)[at + i].value = line;
  event.target.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Go to the next field, which is added after the last one. */
export function next(row, field) {
  if (fields(row).at(-1) === field) addChoices(row);
  fields(row)[fields(row).indexOf(field) + 1].focus();
}

/** Whether an element is to show something else than it does; what it shows is kept, with the focus. */
export function differs(holder, content) {
  const before = holder.dataset.shows;
  holder.dataset.shows = JSON.stringify(content);
  return holder.dataset.shows !== before;
}

/** Have a field for the weight of each value. */
export function fitWeights(row) {
  const holder = part(row, "weights");
  if (!differs(holder, choices(row))) return;
  const known = new Map([...holder.querySelectorAll("input")].map((field) => [field.dataset.key, field.value]));
  const made = choices(row).map(({ typed, key }) => {
    const label = document.createElement("label");
    const field = document.createElement("input");
    Object.assign(field, { value: known.get(key) ?? "", inputMode: "decimal", autocomplete: "off" });
    field.dataset.key = key;
    label.append(`${typed} `, field);
    return label;
  });
  holder.replaceChildren(...made);
}

/** What a value is called where only texts can be: itself, or its JSON with spaces as the server writes it. */
function named(value) {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? `[${value.map((each) => JSON.stringify(each)).join(", ")}]` : JSON.stringify(value);
}

/** Fill in weights, by the texts of the values. */
export function showWeights(row, given) {
  fitWeights(row);
  for (const [name, weight] of Object.entries(given ?? {})) fieldOfWeight(row, name).value = weight;
}

/** The weights that are given, by the texts of the values; undefined without any. */
export function weights(row) {
  const known = new Map(
    [...part(row, "weights").querySelectorAll("input")].map((field) => [field.dataset.key, number(field)]),
  );
  const found = choices(row).filter(({ key }) => known.get(key) !== undefined);
  return found.length ? Object.fromEntries(found.map(({ value, key }) => [named(value), known.get(key)])) : undefined;
}

/** The field of the weight of a value, by its text. */
export function fieldOfWeight(row, name) {
  const inputs = [...part(row, "weights").querySelectorAll("input")];
  const found = choices(row).find(({ value }) => named(value) === name);
  return inputs.find((field) => field.dataset.key === found?.key) ?? inputs[0];
}
