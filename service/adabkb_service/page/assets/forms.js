// Forms as JSON: what a form says, and what is wrong with it by the server's answer.

import { made } from "./elements.js";
import { numeral } from "./words.js";

/** What is wrong with what somebody typed in. */
export class Mistyped extends Error {
  constructor(element, message) {
    super(message);
    this.element = element;
  }
}

function labelOf(element) {
  const label = element.labels?.[0];
  return (
    label?.firstChild?.textContent.trim() ||
    label?.textContent.trim() ||
    element.getAttribute("aria-label") ||
    element.name
  );
}

const split = (text, by) =>
  text
    .split(by)
    .map((each) => each.trim())
    .filter((each) => each !== "");

const READ = {
  json: (_, text) => JSON.parse(text),
  lines: (_, text) => split(text, "\n"),
  list: (_, text) => split(text, ","),
  pairs: (element, text) => Object.fromEntries(split(text, "\n").map((line) => pair(element, line))),
  limit: (element, text) => (text === "never" ? null : number(element)),
  duration,
  number,
};

function read(element) {
  if (element.type === "checkbox")
    return element.dataset.type === "flag" ? element.checked || undefined : element.checked;
  const text = element.value.trim();
  if (text === "") return element.dataset.empty === "null" ? null : undefined;
  const reader = READ[element.dataset.type];
  return reader ? reader(element, text) : text;
}

/** A name and a text, such as owner: Ada. */
function pair(element, line) {
  const [name, ...rest] = line.split(":");
  if (!rest.length)
    throw new Mistyped(element, `${labelOf(element)}: “${line}” has no colon. Write it as in owner: Ada.`);
  return [name.trim(), rest.join(":").trim()];
}

/** The number that somebody typed in, perhaps with a decimal comma; undefined where the field is empty. */
export function number(element) {
  const text = element.value.trim();
  if (text === "") return undefined;
  const value = numeral(text);
  if (!Number.isFinite(value)) throw new Mistyped(element, `${labelOf(element)}: “${text}” is not a number.`);
  return value;
}

const SECONDS = {
  s: 1,
  sec: 1,
  second: 1,
  min: 60,
  m: 60,
  minute: 60,
  h: 3600,
  hr: 3600,
  hour: 3600,
  std: 3600,
  d: 86400,
  day: 86400,
  tag: 86400,
};

/** The seconds that somebody typed in, such as 8 h, 90 min or 2 d; a number alone is seconds. */
export function duration(element) {
  const text = element.value.trim();
  const [, amount, name] = text.match(/^([\d.,]+)\s*([a-z]*)$/i) ?? [];
  const size = name === "" ? 1 : (SECONDS[name?.toLowerCase()] ?? SECONDS[name?.toLowerCase().replace(/e?s$|e$/, "")]);
  const value = numeral(amount ?? "") * (size ?? NaN);
  if (!Number.isFinite(value))
    throw new Mistyped(element, `${labelOf(element)}: “${text}” is not a time. Write it as in 90 min, 8 h or 2 d.`);
  return value;
}

/** The object that a form describes; fields that are left empty or hidden are left out. */
export function body(form) {
  const found = Object.assign(Object.create(null), form.dataset.body ? JSON.parse(form.dataset.body) : {});
  for (const element of form.elements) {
    if (!element.name || element.closest("[hidden]") || unchanged(element)) continue;
    const value = read(element);
    if (value === undefined) continue;
    const group = element.dataset.group;
    if (group) found[group] ??= Object.create(null);
    const holder = group ? found[group] : found;
    holder[element.name] = value;
  }
  return found;
}

/** Whether an element belongs to a group of fields that counts only if one of them was changed. */
function unchanged(element) {
  const group = element.closest("[data-if-changed]");
  if (!group) return false;
  return [...group.querySelectorAll("input, select")].every((field) => {
    if (field.tagName === "INPUT") return field.value === field.defaultValue;
    return [...field.options].every((option) => option.selected === option.defaultSelected);
  });
}

/** Say what is wrong with a form, above its buttons and at the fields. */
export function tellProblem(form, error) {
  const told = form.querySelector(".problem");
  const faults = error.problem?.errors ?? [];
  const fields = new Map(faults.map((fault) => [fault, fieldOf(form, fault.pointer)]));
  const inWords = form.inWords ?? (({ detail }) => detail); // a form may name its fields as it shows them
  const lines = faults.map((fault) => `${nameOf(fields.get(fault), fault.pointer)} ${inWords(fault)}`.trim());
  told.textContent = (lines.length ? lines : [error.message]).concat(error.problem?.remedy ?? []).join("\n");
  told.hidden = false;
  for (const element of [error.element, ...fields.values()]) mark(element);
  if (error.element) tellBeside(form, error.element, error.message);
  for (const [fault, element] of fields) tellBeside(form, element, inWords(fault));
  (form.querySelector('[aria-invalid="true"]') ?? told).focus?.();
}

/** Say what is wrong beside the field, in a form that asks for it because it is longer than a screen. */
function tellBeside(form, element, words) {
  if (!("beside" in form.dataset)) return;
  const note = made("small", { className: "fault", textContent: words });
  element?.closest(".field, .choice, .condition, td")?.append(note);
}

/** Mark a field as wrong, and unfold what it is folded into. */
function mark(element) {
  element?.setAttribute("aria-invalid", "true");
  for (let folded = element?.closest("details"); folded; folded = folded.parentElement.closest("details"))
    folded.open = true;
}

/** The field that a fault points to, if there is one. A form may know its fields itself. */
function fieldOf(form, pointer) {
  const paths = (element) =>
    element.dataset.group ? `/${element.dataset.group}/${escaped(element.name)}` : `/${element.name}`;
  const path = pointer.replace(/^\?/, "/"); // a part of the query
  const itself = (element) => element.name && (paths(element) === path || path.startsWith(`${paths(element)}/`));
  return form.fieldOf?.(pointer) ?? [...form.elements].find(itself);
}

function nameOf(field, pointer) {
  if (field) return `${labelOf(field)}:`;
  return pointer.replace(/^\//, "").replaceAll("~1", "/").replaceAll("~0", "~");
}

const escaped = (name) => name.replaceAll("~", "~0").replaceAll("/", "~1");

/** Take back what was said of a form. */
export function clearProblem(form) {
  form.querySelector(".problem").hidden = true;
  for (const note of form.querySelectorAll(".fault")) note.remove();
  for (const element of form.elements) element.removeAttribute("aria-invalid");
}
