// What a person has typed into a form and not stored yet. It survives leaving the page, in this tab, until the person
// stores, discards or cancels it, or logs out in this tab.

import { UNANSWERED } from "./calls.js";
import { byId, createElement, queryAll } from "./elements.js";
import { fieldsOf, isChanged, labelOf } from "./forms.js";

/** @typedef {{ value: string | boolean, base: string, label: string }} Typed with what the field showed before */
/** @typedef {Record<string, Typed>} Draft by the fields */

const PREFIX = "draft ";
/** The actions of forms that keep no draft: one reserves trials, and two keep their definition as a whole. */
const WITHOUT = new Set(["ask", "preview", "create"]);

const OUTDATED = "The study was changed meanwhile, so what you had typed here is no longer valid. It was discarded.";

/** The keys of this page begin with it. A person whose session has expired finds the drafts after the next login,
 * which has another token; another person does not. A new study like another one has drafts of its own.
 */
const ofPage = () => {
  const like = new URLSearchParams(location.search).get("like") ?? "";
  const user = document.documentElement.dataset.user ?? "";
  return `${PREFIX}${encodeURIComponent(user)} ${location.pathname}?${encodeURIComponent(like)} `;
};

/** @param {HTMLFormElement} form */
const keyOf = ({ dataset: { action, api, body } }) => `${ofPage()}${action} ${api} ${body ?? ""}`;

/** @param {string} key
 * @param {unknown} value
 */
function store(key, value) {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
  } catch (error) {
    console.debug(error); // the storage is full
  }
}

/** @param {string} key
 * @returns {any}
 */
function stored(key) {
  const text = sessionStorage.getItem(key);
  return text === null ? null : JSON.parse(text);
}

/** Whether a form keeps drafts.
 * @param {HTMLFormElement | null} form
 * @returns {form is HTMLFormElement}
 */
const isKept = (form) => form?.dataset.api !== undefined && !WITHOUT.has(form.dataset.action ?? "");

/** The fields of which a draft is kept, by their names in it.
 * @param {HTMLFormElement} form
 * @returns {[string, Field][]}
 */
function keptFields(form) {
  const isTyped = (/** @type {Field} */ field) =>
    !["hidden", "file", "password"].includes(field.type) && field.dataset.remember === undefined;
  return fieldsOf(form)
    .filter(isTyped)
    .map((field, i) => [field.id || `${i} ${field.dataset.group ?? ""}/${field.name || field.dataset.part}`, field]);
}

/** @param {Field} field */
const isBox = (field) => field instanceof HTMLInputElement && ["checkbox", "radio"].includes(field.type);
/** @param {Field} field */
const typedIn = (field) => (field instanceof HTMLInputElement && isBox(field) ? field.checked : field.value);

/** What a field shows before a person types.
 * @param {Field} field
 */
function baseOf(field) {
  if (field instanceof HTMLSelectElement) return [...field.options].find((each) => each.defaultSelected)?.value ?? "";
  return field instanceof HTMLInputElement && isBox(field) ? String(field.defaultChecked) : field.defaultValue;
}

/** @param {Field} field
 * @param {string | boolean} value
 */
function fill(field, value) {
  if (field instanceof HTMLInputElement && typeof value === "boolean") field.checked = value;
  else field.value = String(value);
}

/** Keep what was typed into a form.
 * @param {HTMLFormElement} form
 */
function keep(form) {
  const before = stored(keyOf(form)) ?? {};
  const changed = keptFields(form).filter(([, field]) => isChanged(field));
  /** @type {Draft} */
  const draft = Object.fromEntries(
    changed.map(([name, field]) => {
      const base = before[name]?.base ?? baseOf(field);
      return [name, { value: typedIn(field), base, label: labelOf(field) }];
    }),
  );
  if (changed.length) store(keyOf(form), draft);
  else sessionStorage.removeItem(keyOf(form));
}

/** Discard the draft of a form that was stored or cancelled, and of the forms that share a field with it.
 * @param {HTMLFormElement} form
 */
export function discardDraft(form) {
  for (const each of [form, ...sharing(form)]) {
    sessionStorage.removeItem(keyOf(each));
    for (const hint of queryAll(each, ".restored", HTMLElement)) hint.remove();
  }
  showOrphans();
}

/** The forms with fields from which a form takes values.
 * @param {HTMLFormElement} form
 */
const sharing = (form) =>
  fieldsOf(form).flatMap(({ dataset: { from } }) => {
    const source = from ? byId(from, HTMLInputElement).form : null;
    return source ? [source] : [];
  });

/** Discard the drafts of this page: what was typed is stored. */
export function discardDrafts() {
  for (const form of document.forms) form.dispatchEvent(new Event("stored")); // a draft may be about to be written
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(ofPage())) sessionStorage.removeItem(key);
}

/** Discard all drafts of this tab, and requests that were not answered: the person logs out in it. */
export function forgetDrafts() {
  for (const key of Object.keys(sessionStorage))
    if (key.startsWith(PREFIX) || key.startsWith(UNANSWERED)) sessionStorage.removeItem(key);
}

/** A hint about a draft, with a button that discards the draft if there is still one.
 * @param {"p" | "div"} tag
 * @param {string} text
 * @param {() => void} [discard]
 */
function hint(tag, text, discard) {
  const element = createElement(tag, { className: "restored" }, `${text} `);
  element.setAttribute("role", "status");
  if (discard) {
    const button = createElement("button", { type: "button", className: "quiet", textContent: "Discard it" });
    button.addEventListener("click", discard);
    element.append(button);
  }
  return element;
}

/** Fill a form with its draft, and say so in the form.
 * @param {HTMLFormElement} form
 */
export function restoreDraft(form) {
  if (!isKept(form)) return;
  /** @type {Draft | null} */
  const draft = stored(keyOf(form));
  if (!draft || form.querySelector(".restored")) return;
  const fields = keptFields(form).filter(([name, field]) => name in draft && !isChanged(field));
  for (const [name, field] of fields) {
    fill(field, draft[name].value);
    for (let folded = field.closest("details"); folded; folded = folded.parentElement?.closest("details") ?? null)
      folded.open = true;
  }
  if (!fields.some(([, field]) => isChanged(field))) return; // the same is stored by now
  const others = fields
    .filter(([name, field]) => draft[name].base !== baseOf(field))
    .map(([, field]) => ` ${labelOf(field)} was changed meanwhile: ${baseOf(field) || "it is empty now"}.`);
  const element = hint("p", `Restored what you had typed.${others.join("")}`, () => {
    for (const [, field] of fields) fill(field, isBox(field) ? baseOf(field) === "true" : baseOf(field));
    discardDraft(form);
  });
  form.prepend(element);
}

/** Say what was typed into forms that the page does not have any more. */
function showOrphans() {
  const shown = document.getElementById("orphans");
  const present = new Set(queryAll(document, "form[data-api]", HTMLFormElement).map(keyOf));
  const keys = Object.keys(sessionStorage).filter((key) => key.startsWith(ofPage()) && !present.has(key));
  const texts = keys.flatMap((key) => Object.values(/** @type {Draft} */ (stored(key)))).filter(({ label }) => label);
  const listed = texts.map(
    ({ label, value }) => `${label}: ${value === true ? "yes" : value === false ? "no" : value}`,
  );
  const text = listed.length ? `You typed this here, and it was not stored: ${listed.join("; ")}.` : "";
  if (shown?.dataset.text === text) return;
  shown?.remove();
  if (!text) return;
  const banner = hint("div", text, () => {
    for (const key of keys) sessionStorage.removeItem(key);
    banner.remove();
  });
  banner.id = "orphans";
  banner.dataset.text = text;
  banner.classList.add("banner");
  document.querySelector("main")?.prepend(banner);
}

/** Fill the forms of the page with their drafts. */
export function restoreDrafts() {
  for (const form of queryAll(document, "form[data-api]", HTMLFormElement)) restoreDraft(form);
  showOrphans();
}

/** Keep the draft of a form whose fields are given, but for rows that a person may add. The draft has all values by
 * their places. So it is dropped if the form shows other values by now: it would undo the changes of others.
 * @param {HTMLFormElement} form
 * @param {() => number} count the rows
 * @param {() => unknown} add a row
 */
export function keepFields(form, count, add) {
  const all = () => keptFields(form).map(([, field]) => field);
  keepWhole(
    form,
    () => ({ rows: count(), values: all().map(typedIn) }),
    (/** @type {{ rows: number, values: (string | boolean)[] }} */ { rows, values }) => {
      while (count() < rows) add();
      for (const [i, value] of values.entries()) {
        const field = all()[i];
        if (!field || typedIn(field) === value) continue;
        fill(field, value);
        for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, { bubbles: true }));
      }
    },
    true,
  );
}

/** Keep the drafts of a form whose fields a person adds: as one value, which is written a moment after each change.
 * @param {HTMLFormElement} form
 * @param {() => unknown} read the form; throws as long as a field is wrong, and the draft stays as it was
 * @param {(value: any) => void} show a draft
 * @param {boolean} [isOfInitial] whether a draft counts only as long as the form shows the same at first
 */
export function keepWhole(form, read, show, isOfInitial = false) {
  const key = keyOf(form);
  const [initial, draft] = [JSON.stringify(read()), stored(key)];
  let isDiscarded = false;
  if (draft && isOfInitial && draft.initial !== initial) {
    sessionStorage.removeItem(key);
    form.prepend(hint("p", OUTDATED));
  } else if (draft) {
    show(draft.whole);
    form.prepend(
      hint("p", "Restored what you had typed.", () => {
        isDiscarded = true; // the click and the end of the page would write it again
        sessionStorage.removeItem(key);
        location.reload();
      }),
    );
  }
  /** @type {number | undefined} */
  let timer;
  const write = () => {
    clearTimeout(timer);
    timer = undefined;
    if (isDiscarded) return;
    try {
      const whole = read();
      if (JSON.stringify(whole) === initial) sessionStorage.removeItem(key);
      else store(key, { whole, initial });
    } catch (error) {
      console.debug(error);
    }
  };
  for (const kind of ["input", "change", "click"])
    form.addEventListener(kind, () => {
      clearTimeout(timer);
      timer = setTimeout(write, 300);
    });
  window.addEventListener("pagehide", () => timer !== undefined && write());
  form.addEventListener("stored", () => {
    clearTimeout(timer);
    timer = undefined;
    sessionStorage.removeItem(key);
  });
}

document.addEventListener("input", ({ target }) => {
  const form = target instanceof Element && "form" in target ? /** @type {Field} */ (target).form : null;
  if (isKept(form)) keep(form);
});

/** A person cancels a form. */
document.addEventListener("click", ({ target }) => {
  const button = target instanceof Element ? target.closest("button[data-closes]:not([data-opens])") : null;
  const dialog = button?.closest("dialog");
  if (!dialog) return;
  for (const form of queryAll(dialog, "form[data-api]", HTMLFormElement)) {
    discardDraft(form);
  }
});
