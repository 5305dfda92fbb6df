// Forms as JSON: read the values of a form, and show the errors that the server reports at its fields.

import { Guided, messageOf, problemOf } from "./caught.js";
import { byId, createElement, query, queryAll } from "./elements.js";
import { remedyOf, worded } from "./refusals.js";
import { clearToasts } from "./toasts.js";
import { bareNumber, clearer, figure, numeral } from "./words.js";

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
  const values = [];
  const mistakes = new Map(); // by field, since a field may be read twice; mistakes without a field are by their text
  for (const each of reads) {
    try {
      values.push(each());
    } catch (error) {
      const mistyped = mistakesOf(error);
      if (!mistyped.length) throw error;
      for (const mistake of mistyped) mistakes.set(mistake.element ?? mistake.message, mistake);
    }
  }
  if (mistakes.size) throw new Mistakes([...mistakes.values()]);
  return values;
}

/** The name of a field.
 * @param {Element} element
 */
export function labelOf(element) {
  const label = isField(element) ? element.labels?.[0] : null;
  const name =
    label?.firstChild?.textContent?.trim() ||
    label?.textContent.trim() ||
    element.getAttribute("aria-label") ||
    element.getAttribute("name") ||
    "";
  return name.replaceAll(/\s+/g, " ");
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
  if (text === "") return element.dataset.empty === undefined ? undefined : JSON.parse(element.dataset.empty);
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

/** What is typed in the field of a number, without its unit if the field is of a quantity.
 * @param {Field} element
 */
const bareOf = ({ value, dataset: { unit } }) => (unit === undefined ? value.trim() : bareNumber(value, unit));

/** The number in a field, perhaps with a decimal comma; undefined if the field is empty.
 * @param {Field} element
 */
export function number(element) {
  const text = element.value.trim();
  if (text === "") return undefined;
  const bare = bareOf(element);
  const value = numeral(bare);
  if (!Number.isFinite(value))
    throw new Mistyped(element, `${labelOf(element)}: ${clearer(bare) || `“${text}” is not a number.`}`);
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

/** Enter in a field that several forms share would send the first of them. */
document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (key === "Enter" && target instanceof HTMLInputElement && "shared" in target.dataset) event.preventDefault();
});

/** The object that a form describes; fields that are left empty or hidden are left out. Fields without a name are only
 * checked. A field with data-from has the value of the field with that id, which forms of one dialog share.
 * @param {HTMLFormElement} form
 * @returns {Record<string, any>}
 */
export function body(form) {
  const sent = Object.assign(Object.create(null), form.dataset.body ? JSON.parse(form.dataset.body) : {});
  const fields = fieldsOf(form).filter((element) => !element.closest("[hidden]") && !unchanged(element));
  for (const field of fields) if (field.dataset.from) field.value = byId(field.dataset.from, HTMLInputElement).value;
  const values = together(fields.map((element) => () => read(element)));
  for (const [i, element] of fields.entries()) {
    const value = values[i];
    if (!element.name || value === undefined) continue;
    const group = element.dataset.group;
    if (group) sent[group] ??= Object.create(null);
    const holder = group ? sent[group] : sent;
    holder[element.name] = value;
  }
  return sent;
}

/** Whether a person has changed a field since the page or a script filled it in.
 * @param {Field} field
 */
export function isChanged(field) {
  if (field instanceof HTMLSelectElement)
    return [...field.options].some((option) => option.selected !== option.defaultSelected);
  if (field instanceof HTMLInputElement && ["checkbox", "radio"].includes(field.type))
    return field.checked !== field.defaultChecked; // its value is the same if it is checked
  return field.value !== field.defaultValue;
}

/** Whether a field is left out: it is unchanged in a form that sends only changed fields, or it is in a group that
 * counts only if one of its fields was changed, and none was.
 * @param {Field} element
 */
function unchanged(element) {
  if (element.form?.dataset.now !== undefined) return !isChanged(element);
  const group = element.closest("[data-if-changed]");
  return group !== null && ![...group.querySelectorAll("input, textarea, select")].filter(isField).some(isChanged);
}

/** The error texts at the fields of the page.
 * @type {WeakMap<Element, HTMLElement>}
 */
const notes = new WeakMap();
/** What the alert of a form shows: the texts of errors without a field, and the fields that have one.
 * @type {WeakMap<HTMLFormElement, { lines: string[], links: { href: string, text: string }[], faulty: HTMLElement[] }>}
 */
const alerts = new WeakMap();
let noted = 0;

/** Show the errors of a form: each at its field, and above the buttons the number and names of these fields, with the
 * errors that belong to no field.
 * @param {HTMLFormElement} form
 * @param {unknown} error
 */
export function showProblem(form, error) {
  clearProblem(form);
  const alert = query(form, ".problem", HTMLElement);
  const problem = problemOf(error);
  const faults = problem?.errors ?? [];
  const mistakes = mistakesOf(error);
  /** @type {NonNullable<HTMLFormElement["inWords"]>} */
  const inWords = form.inWords ?? (({ detail }) => detail); // a form may name its fields as it shows them
  /** @type {string[]} */
  const lines = [];
  /** @type {Map<HTMLElement, string[]>} */
  const texts = new Map();
  const add = (
    /** @type {Element | null | undefined} */ field,
    /** @type {string} */ text,
    /** @type {string} */ line,
  ) => {
    mark(field);
    if (field instanceof HTMLElement && placeOf(field)) texts.set(field, [...(texts.get(field) ?? []), text]);
    else lines.push(line);
  };
  for (const { element, message } of mistakes) add(element, withoutLabel(element, message), message);
  for (const fault of faults) {
    const field = fieldOf(form, fault.pointer);
    const text = worded(inWords(fault));
    add(field, text, `${nameOf(form, field, fault.pointer)} ${text}`.trim());
  }
  if (!mistakes.length && !faults.length) lines.push(messageOf(error));
  const remedy = problem ? remedyOf(problem) : "";
  if (remedy) lines.push(remedy);
  for (const [field, each] of texts) note(field, each.join("\n"));
  alerts.set(form, {
    lines,
    links: error instanceof Guided ? error.links : [],
    faulty: [...texts.keys()].sort(byPlace),
  });
  summarize(form, alert);
  clearToasts(); // they would cover the errors
  queryAll(form, '[aria-invalid="true"]', HTMLElement)[0]?.focus();
}

/** The order of two elements on the page.
 * @param {Element} one
 * @param {Element} other
 */
const byPlace = (one, other) => (one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1);

/** Write the alert of a form.
 * @param {HTMLFormElement} form
 * @param {HTMLElement} alert
 */
function summarize(form, alert) {
  const { lines, links, faulty } = alerts.get(form) ?? { lines: [], links: [], faulty: [] };
  const left = faulty.filter((field) => field.isConnected && field.getAttribute("aria-invalid"));
  const count = left.length === 1 ? "1 field needs a correction:" : `${left.length} fields need a correction:`;
  alert.replaceChildren(...lines.map((line) => createElement("span", { textContent: line })));
  if (links.length)
    alert.append(
      createElement(
        "span",
        {},
        ...links.flatMap(({ href, text }) => [createElement("a", { href, textContent: text }), " "]),
      ),
    );
  if (left.length) alert.append(createElement("span", {}, count, ...left.flatMap((field) => [" ", jump(field)])));
  alert.hidden = !alert.hasChildNodes();
}

/** A button that moves the focus to a field.
 * @param {HTMLElement} field
 */
function jump(field) {
  const row = field.closest(".row")?.getAttribute("aria-label"); // such as Parameter 1
  const name = labelOf(field).replace(/:$/, "");
  const button = createElement("button", {
    type: "button",
    className: "quiet",
    textContent: row ? `${row}: ${name}` : name,
  });
  button.addEventListener("click", () => {
    unfold(field);
    field.focus();
  });
  return button;
}

/** The text of an error without the label of its field, beside which it is shown.
 * @param {Element | null | undefined} field
 * @param {string} text
 */
function withoutLabel(field, text) {
  const prefix = field ? `${labelOf(field)}: ` : "";
  return text.startsWith(prefix) ? text.slice(prefix.length) : text;
}

/** The element whose last child is the error of a field, or the label that the error follows; null if the field is not
 * visible.
 * @param {HTMLElement} field
 */
function placeOf(field) {
  if (!field.checkVisibility()) return null;
  return field.closest(".field, .choice, .condition, tr:not(.editor) > td") ?? field.closest("label");
}

/** Show the error of a field next to it.
 * @param {HTMLElement} field
 * @param {string} text
 */
function note(field, text) {
  const written = createElement("small", { className: "fault", id: `fault-${++noted}`, textContent: text });
  const place = placeOf(field);
  if (place instanceof HTMLLabelElement) place.after(written);
  else place?.append(written);
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", [...descriptions(field), written.id].join(" "));
  notes.set(field, written);
}

/** Remove the error of a field.
 * @param {Element} field
 */
function clear(field) {
  field.removeAttribute("aria-invalid");
  const written = notes.get(field);
  if (!written) return;
  notes.delete(field);
  written.remove();
  const others = descriptions(field).filter((id) => id !== written.id);
  if (others.length) field.setAttribute("aria-describedby", others.join(" "));
  else field.removeAttribute("aria-describedby");
}

/** The ids of the elements that describe a field.
 * @param {Element} field
 */
const descriptions = (field) => split(field.getAttribute("aria-describedby") ?? "", " ");

const STEP_TOLERANCE = 1e-6; // as a part of the step

/** Why a number is invalid: it is outside of its range, or between two steps. Empty if it is valid.
 * @param {HTMLInputElement} field
 */
function invalidity(field) {
  const { dataset } = field;
  const [value, least, most, step] = [bareOf(field), dataset.low, dataset.high, dataset.step].map((each) =>
    numeral(each ?? ""),
  );
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
    const message = invalidity(target);
    if (!target.isConnected || !message || target.getAttribute("aria-invalid")) return;
    note(target, message);
  };
  if (isPressed) afterwards.push(judge);
  else judge();
});

/** Remove the error of a field when a person changes it. */
document.addEventListener("input", ({ target }) => {
  if (!(target instanceof Element) || !isField(target) || !target.getAttribute("aria-invalid")) return;
  clear(target);
  const { form } = target;
  if (form && alerts.has(form)) summarize(form, query(form, ".problem", HTMLElement));
});

/** Mark a field as wrong, and unfold the sections that contain it.
 * @param {Element | null | undefined} element
 */
function mark(element) {
  element?.setAttribute("aria-invalid", "true");
  if (element) unfold(element);
}

/** Unfold the sections that contain an element.
 * @param {Element} element
 */
function unfold(element) {
  for (let folded = element.closest("details"); folded; folded = folded.parentElement?.closest("details") ?? null)
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
  const alert = query(form, ".problem", HTMLElement);
  alert.hidden = true;
  alert.replaceChildren();
  alerts.delete(form);
  for (const element of form.elements) clear(element);
}
