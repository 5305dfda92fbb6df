// The table of results. It follows the log, but does not change while a person is typing.

import { markOthersChanges } from "./conflicts.js";
import { discardDraft, restoreDraft } from "./drafts.js";
import { byId, byIdOrNull, closest, closestToTarget, createElement, dataOf, query, queryAll } from "./elements.js";
import { RowForm } from "./row-form.js";
import { showToast } from "./toasts.js";
import { Unread } from "./unread.js";

const SETTLE_MILLISECONDS = 600; // after an event, for related ones
const MIN_MILLISECONDS = 3000; // between two times that the table is read because of events

const rowsBox = () => byId("rows", HTMLElement);

/** The number of the latest event that the table shows. */
const shownRevision = () => Number(rowsBox().dataset.revision);

/** The rows of the table, without the one with the buttons. */
const rowsOf = () => queryAll(document, "#rows tbody tr:not(.editor)", HTMLTableRowElement);

/** The name of a row: the number of its trial or of its result.
 * @param {HTMLTableRowElement} row
 */
const nameOf = (row) => row.cells[0].textContent.trim();

/** A row in words, by its name.
 * @param {string} name
 */
const inWords = (name) => `${name.startsWith("R") ? "Result" : "Trial"} ${name}`;

/** @param {string} name */
const rowNamed = (name) => rowsOf().find((each) => nameOf(each) === name);

/** Whether a row is that of a trial without a result.
 * @param {HTMLTableRowElement} row
 */
const isOpen = (row) => "trial" in row.dataset;

/** The body of a new table, with the header of the table of a row.
 * @param {HTMLTableRowElement} row
 */
function emptyTableLike(row) {
  const scroll = /** @type {HTMLElement} */ (closest(row, ".scroll", HTMLElement).cloneNode());
  const table = /** @type {HTMLTableElement} */ (closest(row, "table", HTMLTableElement).cloneNode());
  const body = createElement("tbody", {});
  table.append(query(closest(row, "table", HTMLTableElement), "thead", HTMLElement).cloneNode(true), body);
  scroll.append(table);
  rowsBox().append(scroll);
  return body;
}

/** Call a function when htmx is done with a table that replaces the present one.
 * @param {"htmx:afterSwap" | "htmx:afterSettle"} name
 * @param {() => void} then
 */
function afterReplacing(name, then) {
  document.addEventListener(name, ({ target }) => {
    if (target instanceof Element && target.id === "rows") then();
  });
}

export class ResultTable {
  /** @type {RowForm | null} */
  #form = null; // of the edited row
  /** @type {string[]} */
  #order = []; // names of the rows, once a person has opened one
  /** @type {XMLHttpRequest | null} */
  #paging = null; // the pending request of a person for another part of the table
  #isStale = false; // whether the table has changed, and still has to be read
  #unread = new Unread();
  /** @type {number | null} */
  #timer = null;
  #readAt = 0;
  /** The edited row while the table is read. known: the stored values that it showed, as JSON
   * @type {{ name: string, isOpen: boolean, input: Map<string, string | boolean>, known?: string } | null}
   */
  #reopened = null;

  constructor() {
    document.addEventListener("click", (event) => {
      const button = closestToTarget(event, "#rows [data-edit]", HTMLElement);
      if (button) this.#edit(closest(button, "tr", HTMLTableRowElement));
    });
    document.addEventListener("dblclick", (event) => {
      const row = closestToTarget(event, "#rows tr:has([data-edit])", HTMLTableRowElement);
      const cell = closestToTarget(event, "[data-field], [data-measured]", HTMLElement);
      if (row && cell && !row.classList.contains("editing")) this.#edit(row, cell);
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && closestToTarget(event, "#rows", HTMLElement)) this.#cancel();
    });
    query(byId("news", HTMLElement), "button", HTMLElement).addEventListener("click", () => this.#showChanges());
    document.body.addEventListener("study-changed", ({ detail: { by, isFollowed } }) => {
      if (isFollowed) return;
      this.#isStale = true;
      if (!this.#form || this.#form.below.contains(by ?? null)) this.#leave(); // otherwise, another row was saved
    });
    this.#followRequests();
  }

  /** Listen to the requests for a table: those of the table itself, to read it again, and those of a person for
   * another part of it, such as the next page.
   */
  #followRequests() {
    document.addEventListener("htmx:confirm", (event) => {
      if (!this.#paging || event.detail.elt.id !== "rows") return;
      this.#isStale = true;
      event.preventDefault(); // reading the present part must wait
    });
    for (const name of /** @type {const} */ (["htmx:beforeRequest", "htmx:beforeSwap"]))
      document.addEventListener(name, (event) => {
        if (!this.#form || event.detail.requestConfig.elt.id !== "rows") return;
        this.#showNews();
        event.preventDefault(); // while a row is edited, even a pending request does not replace the table
      });
    document.addEventListener("htmx:beforeSend", ({ detail: { xhr, target, requestConfig } }) => {
      if (target.id !== "rows" || requestConfig.elt.id === "rows") return;
      this.#paging = xhr;
      xhr.addEventListener("loadend", () => {
        if (this.#paging === xhr) this.#paging = null;
      });
    });
    document.addEventListener("htmx:beforeSwap", ({ detail: { target, requestConfig } }) => {
      if (target.id === "rows" && requestConfig.elt.id !== "rows") this.#order = [];
    });
    afterReplacing("htmx:afterSwap", () => {
      if (this.#form && !this.#form.row.isConnected) {
        if (this.#form.hasInput) this.#carryOver(this.#form);
        else this.#form = null;
      }
      if (this.#order.length) this.#keepOrder();
    });
    afterReplacing("htmx:afterSettle", () => {
      this.#unread.read(shownRevision());
      byId("news", HTMLElement).hidden = true;
      this.#reopen();
      if (this.#isStale && !this.#paging && !this.#form) this.#read(); // only the new element handles events
    });
  }

  /** Whether it follows the log, is held because a person uses its filter or edits a row, or waits until the edited row
   * is saved.
   */
  get #state() {
    if (this.#form?.isBusy) return "saving";
    const isHeld = this.#form !== null || document.activeElement?.closest(".filters") != null;
    return isHeld ? "held" : "following";
  }

  /** The study has changed: read the table again, but not too often, and not if it was read since.
   * @param {StudyEvent} [event] what has changed, if this is known
   */
  changed(event) {
    this.#unread.add(event, shownRevision());
    this.#timer ??= setTimeout(
      () => {
        [this.#timer, this.#readAt] = [null, Date.now()];
        if (!this.#unread.hasNew(shownRevision())) return;
        const state = this.#state;
        if (state === "following") this.#read();
        else if (state === "held") this.#showNews();
        else this.#isStale = true; // it is this row that changes
      },
      Math.max(SETTLE_MILLISECONDS, this.#readAt + MIN_MILLISECONDS - Date.now()),
    );
  }

  #read() {
    this.#isStale = false;
    document.body.dispatchEvent(new CustomEvent("trials-changed", { bubbles: true }));
  }

  /** Say that the table has changed, with a button that shows the changes. */
  #showNews() {
    this.#isStale = true;
    const news = byId("news", HTMLElement);
    query(news, "span", HTMLElement).textContent = this.#unread.text;
    news.hidden = false;
  }

  /** Show the changes. What a person has typed into a row stays; other fields show what is stored now. */
  #showChanges() {
    if (this.#form) {
      const { row, input, form } = this.#form;
      this.#reopened = { name: nameOf(row), isOpen: isOpen(row), input, known: form.dataset.before };
    }
    this.#leave();
  }

  /** Turn a row into a form.
   * @param {HTMLTableRowElement} row
   * @param {HTMLElement} [cell] the cell of the number that a person wants to edit
   */
  #edit(row, cell) {
    if (this.#form?.hasInput && !this.#form.isBusy) {
      const edited = inWords(nameOf(this.#form.row));
      showToast(`Save ${edited[0].toLowerCase()}${edited.slice(1)} first, or cancel it: its input is not stored yet.`);
      this.#form.focusInput();
      return;
    }
    this.#close();
    this.#form = new RowForm(row, dataOf(rowsBox(), "api"), () => this.#cancel());
    this.#order = rowsOf().map(nameOf);
    restoreDraft(this.#form.form);
    this.#form.focus(cell);
  }

  #close() {
    const form = this.#form;
    this.#form = null;
    form?.close();
  }

  /** A person does not want to store what was typed. */
  #cancel() {
    if (!this.#form) return;
    discardDraft(this.#form.form);
    this.#leave();
  }

  /** Close the form, and then show the changed table. */
  #leave() {
    this.#close();
    if (this.#isStale) this.#read();
  }

  /** Open the row again into which a person has typed. */
  #reopen() {
    if (!this.#reopened) return;
    const { name, isOpen: wasOpen, input, known } = this.#reopened;
    this.#reopened = null;
    const row = rowNamed(name);
    if (!row?.querySelector("[data-edit]") || isOpen(row) !== wasOpen) {
      const lost = [...input.values()].filter((each) => typeof each === "string" && each !== "").join(", ");
      showToast(`${inWords(name)} has changed.${lost && ` Your input was not stored: ${lost}`}`);
      return;
    }
    this.#edit(row);
    if (!this.#form) return;
    this.#form.fill(input);
    if (known !== undefined) markOthersChanges(this.#form.form, known);
  }

  /** Keep the rows in the order that they had when a person opened one, so that the next row to fill in stays where it
   * is. A new row is below the one that it follows, or the first one.
   */
  #keepOrder() {
    const place = (/** @type {HTMLTableRowElement} */ row) => this.#order.indexOf(nameOf(row));
    const rows = rowsOf();
    const kept = rows.filter((row) => place(row) >= 0).sort((a, b) => place(a) - place(b));
    for (const [i, row] of rows.entries()) {
      if (place(row) >= 0) continue;
      kept.splice(i ? kept.indexOf(rows[i - 1]) + 1 : 0, 0, row);
    }
    const focused = document.activeElement;
    if (kept.some((row, i) => row !== rows[i])) rows[0].parentElement?.replaceChildren(...kept);
    if (focused instanceof HTMLElement && focused !== document.activeElement) focused.focus(); // rows that move lose it
    this.#order = kept.map(nameOf);
  }

  /** Move the edited row into the table that a person has sorted, filtered or turned to another page. It replaces the
   * row with the same name or, without one, is the first row.
   * @param {RowForm} form
   */
  #carryOver({ row, below }) {
    const same = rowNamed(nameOf(row));
    if (same) same.replaceWith(row, below);
    else {
      (byIdOrNull("rows", HTMLElement)?.querySelector("tbody") ?? emptyTableLike(row)).prepend(row, below);
      showToast(
        `${inWords(nameOf(row))} is not in this part of the table. It stays at the top until you save or cancel it.`,
      );
    }
    this.#isStale = true; // the moved row may be older than the table
    this.#order = rowsOf().map(nameOf);
  }
}
