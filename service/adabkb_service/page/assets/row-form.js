// A row of the table of results as a form, in which a person corrects, excludes or enters its result.

import { closest, createElement, dataOf, queryAll } from "./elements.js";
import { isChanged } from "./forms.js";

const ID = "row-form";

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
  input.setAttribute("form", ID);
  input.setAttribute("aria-label", label);
  Object.assign(input.dataset, { type: "number", unit });
  if (group) input.dataset.group = group;
  if (isOptional) input.dataset.empty = "null";
  return input;
}

/** @type {(text: string, input: HTMLElement) => HTMLElement} */
const labelled = (text, input) => createElement("label", {}, `${text} `, input);

/** The data attributes of the form: its request, and the former values of a result.
 * @param {string} api of the study
 * @param {Record<string, any> | null} result
 * @param {Record<string, any> | null} trial
 */
function requestOf(api, result, trial) {
  if (result)
    return {
      api: `PATCH ${api}/observations/${result.seq}`,
      action: result.missing.length ? "added" : "amend",
      before: JSON.stringify(result),
      now: result.now,
    };
  const { trial: number, attempt, metrics } = trial ?? {};
  const sent = { trial: number, ...(attempt ? { attempt } : {}), ...(metrics.length ? { partial: true } : {}) };
  return { api: `POST ${api}/observe`, action: "observe", body: JSON.stringify(sent) };
}

/** @param {HTMLInputElement} field */
const keyOf = ({ name, dataset }) => `${dataset.group ?? ""}/${name}`;
/** @param {HTMLInputElement} field */
const inputOf = (field) => (field.type === "checkbox" ? field.checked : field.value);

export class RowForm {
  /** The cells with inputs, and what they showed before.
   * @type {[Element, Node[]][]}
   */
  #cells;

  /** @param {HTMLTableRowElement} row of a result, or of a trial without one
   * @param {string} api of the study
   * @param {() => void} cancelled
   */
  constructor(row, api, cancelled) {
    this.row = row;
    const result = row.dataset.result ? JSON.parse(row.dataset.result) : null;
    const trial = result ? null : JSON.parse(dataOf(row, "trial"));
    const table = closest(row, "table", HTMLElement);
    /** @type {Record<string, string>[]} */
    const [labels, units] = [JSON.parse(dataOf(table, "labels")), JSON.parse(dataOf(table, "units"))];
    const cells = queryAll(row, "[data-field=value], [data-measured]", HTMLElement);
    this.#cells = cells.map((cell) => [cell, [...cell.childNodes]]);
    for (const cell of cells) {
      const metric = cell.dataset.measured;
      const name = metric ?? dataOf(cell, "field");
      const value = metric === undefined ? result?.[name] : result?.metrics[metric];
      const group = metric === undefined ? undefined : "metrics";
      cell.replaceChildren(field(name, labels[name], value, { group, unit: units[name] }));
    }
    /** Whether a person adds what is missing from a result. */
    this.isCompleting = result?.missing.length > 0;
    this.form = createElement("form", { id: ID, className: "row-form" });
    Object.assign(this.form.dataset, requestOf(api, result, trial));
    const isOptional = result !== null;
    if (row.querySelector("[data-field=std_error]")) {
      const label = "Standard error, if known";
      const input = field("std_error", label, result?.std_error, { isOptional, unit: units.value });
      this.form.append(labelled(label, input));
    }
    /** @type {string[]} */
    const uncertain = result ? Object.keys(result.std_errors) : trial.std_errors;
    for (const name of uncertain) {
      const label = `Standard error of ${labels[name]}`;
      const more = { group: "std_errors", unit: units[name], isOptional };
      this.form.append(labelled(label, field(name, label, result?.std_errors[name], more)));
    }
    if (result) {
      const why = createElement("input", { name: "reason", maxLength: 1000, autocomplete: "off", id: "row-reason" });
      const excluded = createElement("input", { type: "checkbox", name: "excluded", defaultChecked: result.excluded });
      this.form.append(
        labelled("Reason, for the log", why),
        createElement("label", { className: "check" }, excluded, " does not count (excluded)"),
      );
    } else {
      const note = createElement("input", { maxLength: 4000, autocomplete: "off", defaultValue: trial.note ?? "" });
      note.dataset.note = "";
      this.form.append(labelled("Note", note));
    }
    const problem = createElement("p", { className: "problem", hidden: true });
    problem.setAttribute("role", "alert");
    const words = this.isCompleting ? "Save" : result ? "Save the correction" : "Save the result";
    const save = createElement("button", { type: "submit", className: "primary", textContent: words });
    const cancel = createElement("button", { type: "button", textContent: "Cancel" });
    cancel.addEventListener("click", cancelled);
    this.form.append(problem, createElement("p", { className: "buttons" }, save, cancel));
    this.below = createElement(
      "tr",
      { className: "editor" },
      createElement("td", { colSpan: row.cells.length }, this.form),
    );
    row.classList.add("editing");
    row.after(this.below);
  }

  /** The fields, also while the row is not in the document. */
  get #inputs() {
    return [this.row, this.below].flatMap((each) => queryAll(each, "input", HTMLInputElement));
  }

  get hasInput() {
    return this.#inputs.some(isChanged);
  }

  /** Whether its input is being sent. */
  get isBusy() {
    return this.form.hasAttribute("aria-busy");
  }

  /** What a person has typed, by field.
   * @returns {Map<string, string | boolean>}
   */
  get input() {
    return new Map(this.#inputs.filter(isChanged).map((each) => [keyOf(each), inputOf(each)]));
  }

  /** @param {Map<string, string | boolean>} input */
  fill(input) {
    for (const each of this.#inputs) {
      const value = input.get(keyOf(each));
      if (typeof value === "boolean") each.checked = value;
      else if (value !== undefined) each.value = value;
    }
  }

  /** Focus the field in a cell, or else the first one to fill in.
   * @param {HTMLElement} [cell]
   */
  focus(cell) {
    const inputs = queryAll(this.row, "input", HTMLInputElement);
    const first =
      inputs.find((each) => cell?.contains(each)) ?? inputs.find((each) => !this.isCompleting || each.value === "");
    first?.focus();
    first?.select();
  }

  /** Focus the first field with input. */
  focusInput() {
    this.#inputs.find(isChanged)?.focus();
  }

  /** Show the row as it was. */
  close() {
    for (const [cell, nodes] of this.#cells) cell.replaceChildren(...nodes);
    this.below.remove();
    this.row.classList.remove("editing");
    queryAll(this.row, "[data-edit]", HTMLElement)[0].focus();
  }
}
