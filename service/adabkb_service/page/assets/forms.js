// Forms as JSON: read the values of a form, and show the errors that the server reports at its fields.

import { messageOf, problemOf } from "./caught.js";
import { every, made, one } from "./elements.js";
import { clearToasts } from "./toasts.js";
import { clearer, figure, numeral } from "./words.js";

/** An error in the input of a person. */
export class Mistyped extends Error {
  /**
   * @param {Element | null | undefined} element
   * @param {string} message
   */
  constructor(element, message) {
    super(message);
    this.element = element;
  }
}

/** All errors in the input of a person. */
export class Mistakes extends Error {
  /** @param {Mistyped[]} all in the order of the form */
  constructor(all) {
    super(all.map(({ message }) => message).join("\n"));
    this.all = all;
  }
}

/** The errors in the input, if the caught error consists of these.
 * @param {unknown} caught
 */
const mistakesOf = (caught) => (caught instanceof Mistakes ? caught.all : caught instanceof Mistyped ? [caught] : []);

/** The results of functions that read a form; the mistakes of all of them are reported together.
 * @template T
 * @param {(() => T)[]} reads
 * @returns {T[]}
 */
export function together(reads) {
  /** @type {T[]} */
  const found = [];
  const mistakes = new Map(); // by field, since a field may be read twice; mistakes without a field are by their text
  for (const each of reads) {
    try {
      found.push(each());
    } catch (error) {
      const mistyped = mistakesOf(error);
      if (!mistyped.length) throw error;
      for (const mistake of mistyped) mistakes.set(mistake.element ?? mistake.message, mistake);
    }
  }
  if (mistakes.size) throw new Mistakes([...mistakes.values()]);
  return found;
}

/** The name of a field.
 * @param {Element} element
 */
function labelOf(element) {
  const label = isField(element) ? element.labels?.[0] : null;
  return (
    label?.firstChild?.textContent?.trim() ||
    label?.textContent.trim() ||
    element.getAttribute("aria-label") ||
    element.getAttribute("name") ||
    ""
  );
}

/** @type {(element: Element) => element is Field} */
export const isField = (element) =>
  element instanceof HTMLInputElement || element instanceof HTMLSelectElement || element instanceof HTMLTextAreaElement;

/** The fields of a form, including those that belong to it but are outside of it.
 * @param {HTMLFormElement} form
 */
export const fieldsOf = (form) => [...form.elements].filter(isField);

/** @type {(text: string, by: string) => string[]} */
const split = (text, by) =>
  text
    .split(by)
    .map((each) => each.trim())
    .filter((each) => each !== "");

/** @type {Record<string, (element: Field, text: string) => unknown>} */
const READ = {
  json: (_, text) => JSON.parse(text),
  lines: (_, text) => split(text, "\n"),
  list: (_, text) => split(text, ","),
  pairs: (element, text) => Object.fromEntries(split(text, "\n").map((line) => pair(element, line))),
  budget: (element, text) => budget(element, text),
  limit: (element, text) => (text === "never" ? null : number(element)),
  duration,
  number,
};

/** A number of trials, or of plates: 60 or 3 plates.
 * @param {Field} element
 * @param {string} text
 */
function budget(element, text) {
  const plates = /^(\d[\d\s]*?)\s*plates?$/i.exec(text);
  return plates ? { plates: Number(plates[1].replaceAll(/\s/g, "")) } : number(element);
}

/** What to enter in a field.
 * @param {Field} element
 */
const wanted = ({ dataset }) => (dataset.type === "number" ? "a number" : "a value");

/** The value of a field; undefined if it is empty.
 * @param {Field} element
 * @returns {unknown}
 */
function read(element) {
  if (element instanceof HTMLInputElement && element.type === "checkbox")
    return element.dataset.type === "flag" ? element.checked || undefined : element.checked;
  const { exact } = element.dataset;
  if (exact !== undefined && element instanceof HTMLInputElement && element.value === element.defaultValue)
    return JSON.parse(exact);
  const text = element.value.trim();
  if (text === "" && element.required)
    throw new Mistyped(element, `${labelOf(element)}: ${element.dataset.missing ?? `enter ${wanted(element)}.`}`);
  if (text === "") return element.dataset.empty === "null" ? null : undefined;
  const reader = READ[element.dataset.type ?? ""];
  return reader ? reader(element, text) : text;
}

/** A name and a text, such as owner: Ada.
 * @param {Field} element
 * @param {string} line
 */
function pair(element, line) {
  const [name, ...rest] = line.split(":");
  if (!rest.length)
    throw new Mistyped(element, `${labelOf(element)}: “${line}” has no colon. Write it as in owner: Ada.`);
  return [name.trim(), rest.join(":").trim()];
}

/** The number in a field, perhaps with a decimal comma; undefined if the field is empty.
 * @param {Field} element
 */
export function number(element) {
  const text = element.value.trim();
  if (text === "") return undefined;
  const value = numeral(text);
  if (!Number.isFinite(value))
    throw new Mistyped(element, `${labelOf(element)}: ${clearer(text) || `“${text}” is not a number.`}`);
  return value;
}

/** @type {Record<string, number>} */
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

/** The seconds in a field, such as 8 h, 90 min or 2 d; a number alone is seconds.
 * @param {Field} element
 */
export function duration(element) {
  const text = element.value.trim();
  const [, amount = "", name = ""] = text.match(/^([\d.,]+)\s*([a-z]*)$/i) ?? [];
  const unit = name.toLowerCase();
  const size = unit === "" ? 1 : (SECONDS[unit] ?? SECONDS[unit.replace(/e?s$|e$/, "")] ?? NaN);
  const value = numeral(amount) * size;
  if (!Number.isFinite(value))
    throw new Mistyped(element, `${labelOf(element)}: “${text}” is not a time. Write it as in 90 min, 8 h or 2 d.`);
  return value;
}

/** The object that a form describes; fields that are left empty or hidden are left out. Fields without a name are only
 * checked.
 * @param {HTMLFormElement} form
 * @returns {Record<string, any>}
 */
export function body(form) {
  const found = Object.assign(Object.create(null), form.dataset.body ? JSON.parse(form.dataset.body) : {});
  const fields = fieldsOf(form).filter((element) => !element.closest("[hidden]") && !unchanged(element));
  const values = together(fields.map((element) => () => read(element)));
  for (const [i, element] of fields.entries()) {
    const value = values[i];
    if (!element.name || value === undefined) continue;
    const group = element.dataset.group;
    if (group) found[group] ??= Object.create(null);
    const holder = group ? found[group] : found;
    holder[element.name] = value;
  }
  return found;
}

/** Whether a field is in a group that counts only if one of its fields was changed, and none was.
 * @param {Field} element
 */
function unchanged(element) {
  const group = element.closest("[data-if-changed]");
  if (!group) return false;
  return (
    every(group, "input", HTMLInputElement).every((field) => field.value === field.defaultValue) &&
    every(group, "option", HTMLOptionElement).every((option) => option.selected === option.defaultSelected)
  );
}

/** Show the errors of a form, above its buttons and at the fields.
 * @param {HTMLFormElement} form
 * @param {unknown} error
 */
export function tellProblem(form, error) {
  const told = one(form, ".problem", HTMLElement);
  const problem = problemOf(error);
  const faults = problem?.errors ?? [];
  const fields = new Map(faults.map((fault) => [fault, fieldOf(form, fault.pointer)]));
  /** @type {NonNullable<HTMLFormElement["inWords"]>} */
  const inWords = form.inWords ?? (({ detail }) => detail); // a form may name its fields as it shows them
  const lines = faults.map((fault) => `${nameOf(form, fields.get(fault), fault.pointer)} ${inWords(fault)}`.trim());
  const remedy = problem?.code === "invalid" ? null : problem?.remedy; // that of "invalid" is for programs
  told.textContent = (lines.length ? lines : [messageOf(error)]).concat(remedy ?? []).join("\n");
  told.hidden = false;
  clearToasts(); // they would cover the errors
  for (const { element, message } of mistakesOf(error)) {
    mark(element);
    tellBeside(form, element, message);
  }
  for (const element of fields.values()) mark(element);
  for (const [fault, element] of fields) tellBeside(form, element, inWords(fault));
  (every(form, '[aria-invalid="true"]', HTMLElement)[0] ?? told).focus();
}

/** Show an error next to its field, in a form that requests this because it is longer than a screen.
 * @param {HTMLFormElement} form
 * @param {Element | null | undefined} element
 * @param {string} words
 */
function tellBeside(form, element, words) {
  if (!("beside" in form.dataset)) return;
  const prefix = element ? `${labelOf(element)}: ` : "";
  const told = words.startsWith(prefix) ? words.slice(prefix.length) : words; // the label is beside it
  const note = made("small", { className: "fault", textContent: told });
  const place = element?.closest(BESIDE);
  for (const before of place?.querySelectorAll(".fault") ?? []) before.remove();
  place?.append(note);
}

const BESIDE = ".field, .choice, .condition, td"; // what contains a field and its error

const STEP_TOLERANCE = 1e-6; // as a part of the step

/** Why a number is invalid: it is outside of its range, or between two steps. Empty if it is valid.
 * @param {HTMLInputElement} field
 */
function invalidity({ value: text, dataset }) {
  const [value, least, most, step] = [text, dataset.low, dataset.high, dataset.step].map((each) => numeral(each ?? ""));
  if (value < least || value > most) return "outside the range";
  const steps = (value - least) / step;
  if (!(Math.abs(steps - Math.round(steps)) > STEP_TOLERANCE)) return "";
  const nearest = Math.min(Math.round(steps), Math.floor((most - least) / step));
  return `between two steps; the nearest value is ${figure(least + nearest * step, 6)}`;
}

/** Whether a button of the pointer is pressed. Nothing may move then: a click needs its target below the pointer until
 * it is released. */
let isPressed = false;
/** @type {(() => void)[]} */
const afterwards = []; // what waits until it is released
document.addEventListener("pointerdown", () => (isPressed = true), true);
for (const kind of ["pointerup", "pointercancel"])
  document.addEventListener(
    kind,
    () => {
      isPressed = false;
      setTimeout(() => {
        for (const each of afterwards.splice(0)) each(); // after the click
      });
    },
    true,
  );

/** Show an error next to a number when a person leaves the field. */
document.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement) || !target.dataset.low) return;
  const judge = () => {
    const told = invalidity(target);
    if (!target.isConnected || !told || target.getAttribute("aria-invalid")) return;
    target.setAttribute("aria-invalid", "true");
    const note = made("small", { className: "fault", textContent: told });
    target.closest(".field")?.append(note);
  };
  if (isPressed) afterwards.push(judge);
  else judge();
});

/** Remove the error of a field when a person changes it, and that of the form if it was the last one. */
document.addEventListener("input", ({ target }) => {
  if (!(target instanceof Element) || !isField(target) || !target.getAttribute("aria-invalid")) return;
  target.removeAttribute("aria-invalid");
  for (const note of target.closest(BESIDE)?.querySelectorAll(".fault") ?? []) note.remove();
  const { form } = target;
  if (!form || fieldsOf(form).some((each) => each.getAttribute("aria-invalid"))) return;
  for (const told of every(form, ".problem", HTMLElement)) told.hidden = true;
});

/** Mark a field as wrong, and unfold the section that contains it.
 * @param {Element | null | undefined} element
 */
function mark(element) {
  element?.setAttribute("aria-invalid", "true");
  for (let folded = element?.closest("details"); folded; folded = folded.parentElement?.closest("details"))
    folded.open = true;
}

/** The field of an error, if there is one. A form may have its own mapping.
 * @param {HTMLFormElement} form
 * @param {string} pointer
 */
function fieldOf(form, pointer) {
  const paths = (/** @type {Field} */ element) =>
    element.dataset.group ? `/${element.dataset.group}/${escaped(element.name)}` : `/${element.name}`;
  const path = pointer.replace(/^\?/, "/"); // a part of the query
  const itself = (/** @type {Field} */ element) =>
    element.name && (paths(element) === path || path.startsWith(`${paths(element)}/`));
  return form.fieldOf?.(pointer) ?? fieldsOf(form).find(itself);
}

/** The name of the field of an error, or its pointer.
 * @param {HTMLFormElement} form
 * @param {Element | null | undefined} field
 * @param {string} pointer
 */
function nameOf(form, field, pointer) {
  if (field) return `${labelOf(field)}:`;
  if (pointer === "/parameters" && !form.fieldOf) return "The point"; // not the parameters of a new study
  return pointer.replace(/^\//, "").replaceAll("~1", "/").replaceAll("~0", "~");
}

/** @param {string} name */
const escaped = (name) => name.replaceAll("~", "~0").replaceAll("/", "~1");

/** Remove the errors of a form.
 * @param {HTMLFormElement} form
 */
export function clearProblem(form) {
  one(form, ".problem", HTMLElement).hidden = true;
  for (const note of form.querySelectorAll(".fault")) note.remove();
  for (const element of form.elements) element.removeAttribute("aria-invalid");
}
