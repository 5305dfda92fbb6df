// The table of results: a row becomes a form where its result is corrected, excluded or entered. The table follows the
// log, but does not move under a person who is typing.

import { markOthersChanges } from "./conflicts.js";
import { StudyData } from "./data.js";
import { discardDraft, restoreDraft } from "./drafts.js";
import { around, byId, dataOf, every, holder, ifThere, made, one } from "./elements.js";
import { isChanged } from "./forms.js";
import { takeTables } from "./paste.js";
import { say } from "./toasts.js";
import { counted } from "./words.js";

const FORM = "row-form";
const SETTLE_MILLISECONDS = 600; // after an event, for related ones
const MIN_MILLISECONDS = 3000; // between two times that the table is read because of events
/** @typedef {{ row: HTMLTableRowElement, before: [Element, Node[]][], below: HTMLElement }} Editor the edited row, its
 * former cells, and the row with the buttons
 */
/** @type {Editor | null} */
let editor = null;
/** @type {string[]} */
let places = []; // names of the rows in their order, once a person has opened one
/** @type {XMLHttpRequest | null} */
let asked = null; // the pending request of a person for another part of the table
let isStale = false; // whether the table has changed since, and still has to be read
/** @type {Set<number>} */
let unread = new Set(); // numbers of the events with results that the table does not show
let latest = 0; // number of the latest event
let hasMissed = false; // whether there may be events that the page does not know
/** @type {number | null} */
let reading = null; // the timer
let readAt = 0;
/** What a person has typed into a row, by field, while the table is read.
 * known: the stored values that the row showed, as JSON
 * @type {{ name: string, isNew: boolean, values: Map<string, string | boolean>, known?: string } | null}
 */
let typed = null;

/** An input in a cell or below the row, which belongs to the form.
 * @param {string} name
 * @param {string} label
 * @param {unknown} value
 * @param {{ group?: string, isOptional?: boolean, unit?: string }} [more]
 */
function field(name, label, value, { group, isOptional = false, unit = "" } = {}) {
  const input = document.createElement("input");
  Object.assign(input, {
    name,
    defaultValue: value === null || value === undefined ? "" : JSON.stringify(value),
    inputMode: "decimal",
    autocomplete: "off",
  });
  input.setAttribute("form", FORM);
  input.setAttribute("aria-label", label);
  Object.assign(input.dataset, { type: "number", unit });
  if (group) input.dataset.group = group;
  if (isOptional) input.dataset.empty = "null";
  return input;
}

/** Turn a row into a form.
 * @param {HTMLTableRowElement} row
 * @param {HTMLElement} [chosen] the cell of the number that a person wants to edit
 */
function begin(row, chosen) {
  if (editor && hasInput() && !editor.below.querySelector("[aria-busy]")) {
    const told = inWords(nameOf(editor.row));
    say(`Save ${told[0].toLowerCase()}${told.slice(1)} first, or cancel it: its input is not stored yet.`);
    inputsOf(editor).find(isChanged)?.focus();
    return;
  }
  end();
  const api = dataOf(byId("rows", HTMLElement), "api");
  const told = row.dataset.result ? JSON.parse(row.dataset.result) : null;
  const asked = told ? null : JSON.parse(dataOf(row, "trial"));
  const cells = every(row, "[data-field=value], [data-measured]", HTMLElement);
  /** @type {Record<string, string>} */
  const labels = JSON.parse(dataOf(one(byId("rows", HTMLElement), "table", HTMLElement), "labels"));
  /** @type {Record<string, string>} */
  const units = JSON.parse(dataOf(one(byId("rows", HTMLElement), "table", HTMLElement), "units"));
  /** @type {[Element, Node[]][]} */
  const before = cells.map((cell) => [cell, [...cell.childNodes]]);
  for (const cell of cells) {
    const metric = cell.dataset.measured;
    const name = metric ?? dataOf(cell, "field");
    const label = labels[name];
    const value = metric === undefined ? told?.[name] : told?.metrics[metric];
    cell.replaceChildren(
      field(name, label, value, { group: metric === undefined ? undefined : "metrics", unit: units[name] }),
    );
  }
  const form = made("form", { id: FORM, className: "row-form" });
  Object.assign(
    form.dataset,
    told
      ? {
          api: `PATCH ${api}/observations/${told.seq}`,
          action: told.missing.length ? "added" : "amend",
          before: JSON.stringify(told),
          now: told.now,
        }
      : {
          api: `POST ${api}/observe`,
          action: "entered",
          body: JSON.stringify({
            trial: asked.trial,
            ...(asked.attempt ? { attempt: asked.attempt } : {}),
            ...(asked.metrics.length ? { partial: true } : {}),
          }),
        },
  );
  if (row.querySelector("[data-field=std_error]")) {
    const label = "Standard error, if known";
    form.append(
      labelled(label, field("std_error", label, told?.std_error, { isOptional: told !== null, unit: units.value })),
    );
  }
  /** @type {string[]} */
  const errors = told ? Object.keys(told.std_errors) : asked.std_errors;
  for (const name of errors)
    form.append(
      labelled(
        `Standard error of ${labels[name]}`,
        field(name, `Standard error of ${labels[name]}`, told?.std_errors[name], {
          group: "std_errors",
          unit: units[name],
          isOptional: told !== null,
        }),
      ),
    );
  if (told) {
    const why = made("input", { name: "reason", maxLength: 1000, autocomplete: "off", id: "row-reason" });
    const excluded = made("input", { type: "checkbox", name: "excluded", defaultChecked: told.excluded });
    form.append(
      labelled("Reason, for the log", why),
      made("label", { className: "check" }, excluded, " does not count (excluded)"),
    );
  }
  if (asked) {
    const note = made("input", { maxLength: 4000, autocomplete: "off", defaultValue: asked.note ?? "" });
    note.dataset.note = "";
    form.append(labelled("Note", note));
  }
  const problem = made("p", { className: "problem", hidden: true });
  problem.setAttribute("role", "alert");
  const save = made("button", {
    type: "submit",
    className: "primary",
    textContent: told?.missing.length ? "Save" : told ? "Save the correction" : "Save the result",
  });
  const cancel = made("button", { type: "button", textContent: "Cancel" });
  cancel.addEventListener("click", cancelled);
  form.append(problem, made("p", { className: "buttons" }, save, cancel));
  const below = made("tr", { className: "editor" }, made("td", { colSpan: row.cells.length }, form));
  places = rowsOf(document).map(nameOf);
  row.classList.add("editing");
  row.after(below);
  editor = { row, before, below };
  restoreDraft(form);
  const fields = every(row, "input", HTMLInputElement);
  const first =
    fields.find((input) => chosen?.contains(input)) ??
    fields.find((input) => !told?.missing.length || input.value === "");
  first?.focus();
  first?.select();
}

/** @type {(text: string, input: HTMLElement) => HTMLElement} */
const labelled = (text, input) => made("label", {}, `${text} `, input);

/** Restore the row. */
function end() {
  if (!editor) return;
  const { row, before, below } = editor;
  editor = null;
  for (const [cell, nodes] of before) cell.replaceChildren(...nodes);
  below.remove();
  row.classList.remove("editing");
  every(row, "[data-edit]", HTMLElement)[0].focus();
}

/** A person does not want to store what was typed. */
function cancelled() {
  discardDraft(byId(FORM, HTMLFormElement));
  leave();
}

/** Restore the row, and then show the changed table. */
function leave() {
  end();
  if (isStale) readAnew();
}

/** The rows of the table, without the one with the buttons.
 * @param {ParentNode} within
 */
const rowsOf = (within) => every(within, "#rows tbody tr:not(.editor)", HTMLTableRowElement);

/** Keep the rows in the places that they had when a person opened one, so that the next row to fill in stays where it
 * is. A new row is below the one that it follows, or the first one.
 */
function keepPlaces() {
  const place = (/** @type {HTMLTableRowElement} */ row) => places.indexOf(nameOf(row));
  const rows = rowsOf(document);
  const kept = rows.filter((row) => place(row) >= 0).sort((a, b) => place(a) - place(b));
  for (const [i, row] of rows.entries()) {
    if (place(row) >= 0) continue;
    kept.splice(i ? kept.indexOf(rows[i - 1]) + 1 : 0, 0, row);
  }
  const focused = document.activeElement;
  if (kept.some((row, i) => row !== rows[i])) rows[0].parentElement?.replaceChildren(...kept);
  if (focused instanceof HTMLElement && focused !== document.activeElement) focused.focus(); // rows that move lose it
  places = kept.map(nameOf);
}

/** Move the edited row into the table that a person has sorted, filtered or turned to another page. It takes the place
 * of the row with the same name or, without one, is the first row.
 * @param {Editor} kept
 */
function carryOver({ row, below }) {
  const same = rowsOf(document).find((each) => nameOf(each) === nameOf(row));
  if (same) same.replaceWith(row, below);
  else {
    (ifThere("rows", HTMLElement)?.querySelector("tbody") ?? tableLike(row)).prepend(row, below);
    say(`${inWords(nameOf(row))} is not in this part of the table. It stays at the top until you save or cancel it.`);
  }
  isStale = true; // the moved row may be older than the table
  places = rowsOf(document).map(nameOf);
}

/** The body of a new table, with the header of the table of a row, where no row was found.
 * @param {HTMLTableRowElement} row
 */
function tableLike(row) {
  const scroll = /** @type {HTMLElement} */ (holder(row, ".scroll", HTMLElement).cloneNode());
  const table = /** @type {HTMLTableElement} */ (holder(row, "table", HTMLTableElement).cloneNode());
  const body = made("tbody", {});
  table.append(one(holder(row, "table", HTMLTableElement), "thead", HTMLElement).cloneNode(true), body);
  scroll.append(table);
  byId("rows", HTMLElement).append(scroll);
  return body;
}

/** A row in words, by its name.
 * @param {string} name
 */
const inWords = (name) => `${name.startsWith("R") ? "Result" : "Trial"} ${name}`;

/** The name of a row: the number of its trial or of its result.
 * @param {HTMLTableRowElement} row
 */
const nameOf = (row) => row.cells[0].textContent.trim();

/** Whether a person is typing into the table or its filter, so that the table must not move. */
const isHeld = () => editor !== null || document.activeElement?.closest(".filters") != null;

/** The number of the latest event that the table shows. */
const shownRevision = () => Number(byId("rows", HTMLElement).dataset.revision);

/** The study has changed: read the table again, but not too often, and not if it was read since.
 * @param {StudyEvent} [event] what has changed, if this is known
 */
export function changed(event) {
  if (event) latest = Math.max(latest, event.seq);
  else hasMissed = true;
  if (event?.kind === "observed" && !(event.seq <= shownRevision())) unread.add(event.seq);
  if (reading !== null) return;
  reading = setTimeout(
    () => {
      [reading, readAt] = [null, Date.now()];
      if (!hasMissed && shownRevision() >= latest) return;
      if (editor?.below.querySelector("[aria-busy]"))
        isStale = true; // it is this row that changes
      else if (isHeld()) tellNews();
      else readAnew();
    },
    Math.max(SETTLE_MILLISECONDS, readAt + MIN_MILLISECONDS - Date.now()),
  );
}

/** Say that the table has changed, with a button that shows the changes. */
function tellNews() {
  isStale = true;
  const news = byId("news", HTMLElement);
  one(news, "span", HTMLElement).textContent = unread.size ? counted(unread.size, "new result") : "New changes";
  news.hidden = false;
}

/** Show the changes. What a person has typed into a row stays; other fields show what is stored now. */
function show() {
  if (editor) {
    const values = new Map(
      inputsOf(editor)
        .filter(isChanged)
        .map((field) => [keyOf(field), inputOf(field)]),
    );
    const known = byId(FORM, HTMLFormElement).dataset.before;
    typed = { name: nameOf(editor.row), isNew: "trial" in editor.row.dataset, values, known };
  }
  leave();
}

/** The fields of the edited row, also while it is not in the document.
 * @param {Editor} edited
 */
const inputsOf = ({ row, below }) => [row, below].flatMap((each) => every(each, "input", HTMLInputElement));
/** Whether the edited row has input. */
const hasInput = () => editor !== null && inputsOf(editor).some(isChanged);
/** @type {(field: HTMLInputElement) => string} */
const keyOf = ({ name, dataset }) => `${dataset.group ?? ""}/${name}`;
/** @type {(field: HTMLInputElement) => string | boolean} */
const inputOf = (field) => (field.type === "checkbox" ? field.checked : field.value);

/** Open the row again into which a person has typed. */
function typeAgain() {
  if (!typed) return;
  const { name, isNew, values, known } = typed;
  typed = null;
  const row = rowsOf(document).find((each) => nameOf(each) === name);
  if (!row?.querySelector("[data-edit]") || "trial" in row.dataset !== isNew) {
    const told = [...values.values()].filter((each) => typeof each === "string" && each !== "").join(", ");
    say(`${inWords(name)} has changed.${told && ` Your input was not stored: ${told}`}`);
    return;
  }
  begin(row);
  for (const field of editor ? inputsOf(editor) : []) {
    const value = values.get(keyOf(field));
    if (typeof value === "boolean") field.checked = value;
    else if (value !== undefined) field.value = value;
  }
  if (known !== undefined) markOthersChanges(byId(FORM, HTMLFormElement), known);
}

function readAnew() {
  isStale = false;
  document.body.dispatchEvent(new CustomEvent("trials-changed", { bubbles: true }));
}

document.addEventListener("click", (event) => {
  const button = around(event, "#rows [data-edit]", HTMLElement);
  if (button) begin(holder(button, "tr", HTMLTableRowElement));
});

document.addEventListener("dblclick", (event) => {
  const row = around(event, "#rows tr:has([data-edit])", HTMLTableRowElement);
  const chosen = around(event, "[data-field], [data-measured]", HTMLElement);
  if (row && chosen && !row.classList.contains("editing")) begin(row, chosen);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && editor && around(event, "#rows", HTMLElement)) cancelled();
});

// While a row is edited, the table is not replaced, even by a pending request; afterwards it is read again.
for (const name of /** @type {const} */ (["htmx:beforeRequest", "htmx:beforeSwap"])) {
  document.addEventListener(name, (event) => {
    if (!editor || event.detail.requestConfig.elt.id !== "rows") return;
    tellNews();
    event.preventDefault();
  });
}

document.addEventListener("htmx:beforeSwap", (event) => {
  const { target, requestConfig } = event.detail;
  if (target.id === "rows" && requestConfig.elt.id !== "rows") places = []; // a person sorts, filters or turns the page
});
document.addEventListener("htmx:afterSwap", ({ target }) => {
  if (!(target instanceof Element && target.id === "rows")) return;
  if (editor && !editor.row.isConnected) {
    if (hasInput()) carryOver(editor);
    else editor = null;
  }
  if (places.length) keepPlaces();
});

// If a person has requested another part of the table, such as the next page, reloading the present page must wait.
document.addEventListener("htmx:beforeSend", (event) => {
  const { xhr, target, requestConfig } = event.detail;
  if (target.id !== "rows" || requestConfig.elt.id === "rows") return;
  asked = xhr;
  xhr.addEventListener("loadend", () => {
    if (asked === xhr) asked = null;
  });
});
document.addEventListener("htmx:afterSettle", ({ target }) => {
  if (!(target instanceof HTMLElement && target.id === "rows")) return;
  unread = new Set([...unread].filter((each) => each > shownRevision()));
  hasMissed = false;
  byId("news", HTMLElement).hidden = true;
  typeAgain();
  if (isStale && !asked && !editor) readAnew(); // only the new element handles events
});
one(byId("news", HTMLElement), "button", HTMLElement).addEventListener("click", show);
document.addEventListener("htmx:confirm", (event) => {
  if (!asked || event.detail.elt.id !== "rows") return;
  isStale = true;
  event.preventDefault();
});

document.body.addEventListener("study-changed", (event) => {
  if (event.detail?.isFollowed) return;
  isStale = true;
  if (!editor || editor.below.contains(event.detail?.by ?? null)) leave(); // otherwise another row was saved meanwhile
});

const form = ifThere("paste-form", HTMLFormElement); // absent without the right to work
if (form) takeTables(form, new StudyData(dataOf(holder(form, "[data-study]", HTMLElement), "study")));
