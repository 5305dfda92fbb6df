// Results from a pasted table or a file. The page shows how it understands the table, and then stores the results.

import { call } from "./calls.js";
import { messageOf, problemOf } from "./caught.js";
import { decimalSigns, guess, isCompleted, isFailure, isNothing, roles, withError } from "./columns.js";
import { discardDraft } from "./drafts.js";
import { byId, closest, createElement, dataOf, query, queryAll } from "./elements.js";
import { clearProblem, showProblem } from "./forms.js";
import { announceChange } from "./study-changed.js";
import { read, tableOf, written } from "./table.js";
import { showToast } from "./toasts.js";
import { counted, shown } from "./words.js";

/** @typedef {ReturnType<typeof read>} Table */
/** @typedef {{ parameters: string[], total?: number }} Mixture */
/** @typedef {{ table: Table, known: Role[], keys: string[], rows: PastedRow[], seqs: number[], failed: number[] }} Turn
 * with the results, and the failed trials, that were added */

const MAX_FAULTS = 8;
const MAX_SHOWN = 12;
const BATCH = 500;
const MAX_UNDONE = 1000;
const REMOVED = "the table was removed again";
/** Shares of a mixture count as rounded if their sum differs from the total by at most this part of it. */
const ROUNDED = 0.01;
/** The difference that the server takes. */
const EXACT = 1e-6;

/** Let the form import a table of results of a study.
 * @param {HTMLFormElement} form
 * @param {import("./data.js").StudyData} data
 */
export function takeTables(form, data) {
  const part = {
    go: byId("paste-go", HTMLButtonElement),
    back: byId("paste-back", HTMLButtonElement),
    skip: byId("paste-skip", HTMLInputElement),
    skipLine: byId("paste-skip-line", HTMLElement),
    again: byId("paste-again", HTMLInputElement),
    againLine: byId("paste-again-line", HTMLElement),
    scale: byId("paste-scale", HTMLInputElement),
    scaleLine: byId("paste-scale-line", HTMLElement),
    file: byId("paste-file", HTMLInputElement),
    text: byId("paste-text", HTMLTextAreaElement),
    status: byId("paste-status", HTMLElement),
  };
  /** @type {Turn | null} */
  let looked = null; // the table as it was last validated, with the outcome of each row
  const assigned = new Map(); // name of a column -> its last role

  const show = (/** @type {"text" | "preview"} */ step) => {
    for (const each of queryAll(form, "[data-step]", HTMLElement)) each.hidden = each.dataset.step !== step;
    part.back.hidden = step === "text";
    if (step === "text") {
      looked = null;
      part.scale.checked = false;
      part.go.textContent = "Check first";
      part.go.disabled = false;
    }
  };

  /** Read the rows by the roles of the columns, validate them on the server, and show the outcome.
   * @param {Table} table
   * @param {Role[]} known
   * @param {string[]} keys of the columns
   */
  const look = async (table, known, keys) => {
    clearProblem(form);
    /** @type {Turn} */
    const turn = { table, known, keys, rows: [], seqs: [], failed: [] };
    looked = turn;
    part.go.disabled = true;
    part.skip.checked = false;
    part.again.checked = false;
    const columns = keys.map((key) => known.find((role) => role.key === key));
    const lacking = missing(known, keys);
    const signs = decimalSigns(table.rows, columns);
    turn.rows = table.rows.map((row) => understood(row, columns, signs, table.header));
    const { mixtures = [] } = await data.study();
    if (looked !== turn) return;
    const rounded = turn.rows.filter((row) => roundedIn(row, mixtures).length);
    part.scaleLine.hidden = !rounded.length;
    query(part.scaleLine, "span", HTMLElement).textContent =
      `Scale the shares of ${counted(rounded.length, "line")} to their total: they are rounded`;
    if (part.scale.checked) for (const row of rounded) scale(row, roundedIn(row, mixtures), columns);
    assigned.set(JSON.stringify(table.header), keys);
    const choose = (/** @type {string[]} */ others) => look(table, known, others);
    const mend = (/** @type {PastedRow} */ row, /** @type {number} */ i, /** @type {string} */ cell) => {
      row.cells[i] = cell;
      part.text.value = written(table);
      look(table, known, keys);
    };
    draw(turn, choose, mend);
    if (lacking) {
      showProblem(form, new Error(lacking));
      return;
    }
    await tried(data, turn, () => looked === turn);
    if (looked === turn) await recognize(data, turn);
    if (looked !== turn) return;
    draw(turn, choose, mend);
    settle(turn);
  };

  /** Show what will be stored, and whether it can be stored.
   * @param {Turn} turn
   */
  function settle({ rows }) {
    const good = wanted(rows);
    const bad = rows.filter((row) => row.faults.length);
    const stored = rows.filter((row) => row.stored?.is_same && !row.faults.length);
    const left = rows.filter((row) => row.left).length;
    const sentences = [];
    if (stored.length)
      sentences.push(
        `${stored.length} of ${counted(rows.length - left, "line")} ${stored.length === 1 ? "is" : "are"} stored ` +
          `already${part.again.checked ? "." : " and will be left out."}`,
      );
    if (bad.length) sentences.push(`${good.length} of ${counted(good.length + bad.length, "line")} can be added.`);
    else if (good.length || !stored.length) sentences.push(`${inWords(good)} will be added.`);
    part.againLine.hidden = !stored.length;
    if (left)
      sentences.push(
        left === 1
          ? "1 line has no result that counts and is left out."
          : `${counted(left, "line")} have no result that counts and are left out.`,
      );
    part.status.textContent = sentences.join(" ");
    part.skipLine.hidden = !bad.length;
    query(part.skipLine, "span", HTMLElement).textContent =
      `Leave out ${bad.length === 1 ? "the line that does" : `the ${bad.length} lines that do`} not fit`;
    part.go.textContent = good.length || !stored.length ? `Add ${inWords(good)}` : "Nothing to add";
    part.go.disabled = !good.length || (bad.length > 0 && !part.skip.checked);
    clearProblem(form);
    if (bad.length && !part.skip.checked) showProblem(form, new Error(faultsOf(bad)));
  }
  /** The rows that are stored when somebody confirms.
   * @param {PastedRow[]} rows
   */
  const wanted = (rows) =>
    rows.filter(
      (row) => row.item && !row.isAdded && !row.faults.length && (part.again.checked || !row.stored?.is_same),
    );
  part.scale.addEventListener("change", () => looked && look(looked.table, looked.known, looked.keys));
  for (const box of [part.skip, part.again]) box.addEventListener("change", () => looked && settle(looked));
  part.back.addEventListener("click", () => show("text"));
  const dialog = closest(form, "dialog", HTMLDialogElement);
  dialog.addEventListener("close", () => show("text"));
  part.file.addEventListener("change", async () => {
    clearProblem(form);
    const file = part.file.files?.[0];
    if (!file) return;
    try {
      part.text.value = file.name.toLowerCase().endsWith(".xlsx")
        ? await sheet(dataOf(form, "sheet"), file)
        : tableOf(await file.text());
      part.file.value = "";
      await begin();
    } catch (error) {
      showProblem(form, error);
    }
  });

  const begin = async () => {
    const table = read(part.text.value.replace(/^\uFEFF/, ""));
    if (!table.rows.length)
      throw new Error("The first line must name the columns, and each other line must be a result.");
    const known = roles(await data.study());
    show("preview");
    await look(table, known, assigned.get(JSON.stringify(table.header)) ?? guess(table.header, known));
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    event.stopPropagation(); // the form sends several requests
    clearProblem(form);
    part.go.disabled = true;
    const turn = looked;
    try {
      if (!turn) await begin();
      else await store(turn);
    } catch (error) {
      showProblem(form, error);
    } finally {
      if (!looked || turn) part.go.disabled = false;
    }
  });

  /** Store the valid rows, except those that were added before an error.
   * @param {Turn} turn
   */
  async function store({ rows: all, seqs, failed }) {
    const added = () => all.filter((row) => row.isAdded);
    const total = added().length + wanted(all).length;
    for (let left = wanted(all); left.length; left = wanted(all)) {
      const some = left.slice(0, BATCH);
      const answer = await call("POST", `${data.api}/observations`, { items: some.map((row) => row.item) });
      for (const row of some) row.isAdded = true;
      /** @type {{ observation?: { seq: number } | null, trial?: { number: number } | null }[]} */
      const stored = answer.items;
      seqs.push(...stored.flatMap(({ observation }) => (observation ? [observation.seq] : [])));
      failed.push(...stored.flatMap(({ trial }) => (trial ? [trial.number] : [])));
      part.status.textContent = `Stored: ${seqs.length + failed.length} of ${total}.`;
    }
    const rows = added();
    part.text.value = "";
    discardDraft(form);
    dialog.close();
    const undo = async () => {
      try {
        const sent = { observations: seqs, trials: failed, reason: REMOVED };
        await call("POST", `${data.page}/undo-import`, sent, undefined, true);
        const [count, stay] = rows.length === 1 ? ["counts", "stays"] : ["count", "stay"];
        showToast(`Undone: ${inWords(rows)} no longer ${count}, but ${stay} on record as excluded.`);
      } catch (error) {
        showToast(messageOf(error));
      }
      announceChange();
    };
    const words = rows.length === 1 ? "Undo: exclude it" : "Undo: exclude them";
    showToast(`Stored: ${inWords(rows)}.`, rows.length <= MAX_UNDONE && undo, undefined, words);
    announceChange();
  }
}

/** The mixtures of which a row has rounded shares.
 * @param {PastedRow} row
 * @param {Mixture[]} mixtures
 */
function roundedIn({ item }, mixtures) {
  return mixtures.filter(({ parameters, total = 1 }) => {
    const shares = parameters.map((name) => item?.parameters[name]);
    if (!shares.every((share) => typeof share === "number")) return false;
    const off = Math.abs(shares.reduce((sum, share) => sum + share, 0) / total - 1);
    return off > EXACT && off <= ROUNDED;
  });
}

/** Scale the shares of mixtures in a row to their totals.
 * @param {PastedRow} row
 * @param {Mixture[]} mixtures
 * @param {(Role | undefined)[]} columns
 */
function scale({ item, shows }, mixtures, columns) {
  const values = item?.parameters ?? {};
  for (const { parameters, total = 1 } of mixtures) {
    const sum = parameters.reduce((before, name) => before + values[name], 0);
    for (const name of parameters) {
      values[name] *= total / sum;
      const i = columns.findIndex((role) => role?.group === "parameters" && role.field === name);
      if (i >= 0) shows[i] = shown(values[name]);
    }
  }
}

/** How many results and failed trials rows have.
 * @param {PastedRow[]} rows
 */
function inWords(rows) {
  const failed = rows.filter((row) => row.isFailed).length;
  const results = failed < rows.length || !failed ? [counted(rows.length - failed, "result")] : [];
  return [...results, ...(failed ? [counted(failed, "failed trial")] : [])].join(" and ");
}

/** The text of an Excel file, which the server reads.
 * @param {string} path
 * @param {File} file
 */
async function sheet(path, file) {
  const answer = await fetch(path, {
    method: "POST",
    body: file,
    headers: { Accept: "text/tab-separated-values, application/json" },
  });
  if (answer.ok) return answer.text();
  const problem = (answer.headers.get("Content-Type") ?? "").includes("json") ? await answer.json() : {};
  throw new Error(problem.errors?.[0]?.detail ?? problem.detail ?? `The server answered ${answer.status}.`);
}

/** The missing columns, in a sentence; empty if there are none.
 * @param {Role[]} known
 * @param {string[]} keys of the columns
 */
function missing(known, keys) {
  const needed = known.filter(
    (role) =>
      (role.isNeeded || (role.isResult && role.key === "value") || role.key.startsWith("metric:")) &&
      !keys.includes(role.key),
  );
  if (!needed.length) return "";
  const names = needed.map((role) => role.label).join(", ");
  const where = needed.length === 1 ? "it above the column that has it" : "them above the columns that have them";
  return `No column is assigned to ${names} yet. Choose ${where}.`;
}

/** A row read by the roles of the columns: the result for the API, or why there is none.
 * @param {{ line: number, cells: string[] }} row
 * @param {(Role | undefined)[]} columns
 * @param {(DecimalSign | undefined)[]} signs of the columns
 * @param {string[]} header
 */
function understood({ line, cells }, columns, signs, header) {
  /** @type {PastedRow} */
  const row = { line, cells, shows: [], faults: [], item: null, left: "", isFailed: false, numbers: {}, stored: null };
  /** @type {Record<string, any>} */
  const item = { parameters: Object.create(null) };
  let lacking = 0;
  /** @type {(i: number, message: string, remedy: string) => void} */
  const fault = (i, message, remedy) => {
    row.faults.push({ i, text: `Line ${line}, column ${header[i]}: ${message} ${remedy}` });
  };
  if (cells.slice(header.length).some((cell) => cell !== "")) {
    const counts = `it has ${cells.length} cells, but the first line names ${header.length} columns`;
    const remedy = "Put tabs or semicolons between cells if commas are decimal.";
    row.faults.push({ i: -1, text: `Line ${line}: ${counts}. ${remedy}` });
  }
  const cellOf = (/** @type {string} */ key) => cells[columns.findIndex((role) => role?.key === key)] ?? "";
  const state = cellOf("state").toLowerCase();
  row.isFailed = isFailure(state) || columns.some((role, i) => (role?.isResult ?? false) && isFailure(cells[i] ?? ""));
  if (["true", "yes"].includes(cellOf("excluded").toLowerCase())) row.left = "excluded";
  else if (!row.isFailed && !isCompleted(state)) row.left = state;
  for (const key of /** @type {const} */ (["trial", "observation"])) {
    const typed = key === "trial" ? cellOf(key) : cellOf(key).replace(/^R(?=\d)/, "");
    if (/^[1-9]\d{0,8}$/.test(typed)) row.numbers[key] = Number(typed);
  }
  columns.forEach((role, i) => {
    const cell = cells[i] ?? "";
    row.shows[i] = cell;
    if (!role || (row.isFailed && role.group !== "parameters")) return;
    if (isNothing(cell)) {
      if (role.isResult) lacking += 1;
      else if (cell !== "" && role.group === "parameters") attempt(role, cell, i);
      return;
    }
    attempt(role, cell, i);
  });
  /** Put a value into the result.
   * @param {string | undefined} group
   * @param {string} name
   * @param {unknown} value
   */
  function put(group, name, value) {
    if (group) item[group] ??= Object.create(null);
    const holder = group ? item[group] : item;
    holder[name] = value;
  }
  /** Read a cell, or report its error.
   * @param {Role} role
   * @param {string} cell
   * @param {number} i
   */
  function attempt({ key, group, field, read: readCell, isResult }, cell, i) {
    if (!field || !readCell) return;
    try {
      const readNumber = (/** @type {string} */ text) => readCell(text, signs[i]);
      const [value, error] = isResult ? withError(cell, readNumber) : [readNumber(cell)];
      put(group, field, value);
      if (error !== undefined && key === "value") put(undefined, "std_error", error);
      else if (error !== undefined) put("std_errors", field, error);
      row.shows[i] = error === undefined ? shown(value) : `${shown(value)} ± ${shown(error)}`;
    } catch (problem) {
      fault(
        i,
        messageOf(problem),
        isResult ? "Write a number, or n.d. if there is no result." : "Correct it, or leave the cell empty if unknown.",
      );
    }
  }
  if (row.isFailed) {
    const reasons = [cellOf("reason"), cellOf("note")].filter((cell) => !isNothing(cell));
    Object.assign(item, { state: "failed", ...(reasons.length ? { reason: reasons.join("; ") } : {}) });
  } else if (lacking && lacking === columns.filter((role) => role?.isResult).length) row.left ||= "no result";
  else if (lacking) item.partial = true;
  if (row.left) row.faults = [];
  else row.item = item;
  return row;
}

/** Let the server validate the rows; its refusals are added to their errors.
 * @param {import("./data.js").StudyData} data
 * @param {Turn} turn
 * @param {() => boolean} isWanted
 */
async function tried(data, { rows, table, keys, known }, isWanted) {
  const isFaulty = (/** @type {PastedRow} */ row) => row.faults.length > 0;
  const asked = rows.filter((row) => row.item);
  const good = asked.filter((row) => !isFaulty(row));
  const batches = Array.from({ length: Math.ceil(good.length / BATCH) }, (_, k) =>
    good.slice(k * BATCH, (k + 1) * BATCH),
  );
  // Rows with errors may have others. Each is validated separately, since it may not be a valid request.
  batches.push(
    ...asked
      .filter(isFaulty)
      .map((row) => [row])
      .slice(0, MAX_FAULTS),
  );
  for (const some of batches) {
    if (!isWanted()) return;
    byId("paste-status", HTMLElement).textContent = `Checking ${counted(asked.length, "result")} …`;
    const seen = new Set(some.flatMap((row) => row.faults.map((each) => `${row.line} ${each.i}`)));
    /** @type {(row: PastedRow, fault: PastedRow["faults"][number]) => void} */
    const add = (row, fault) => {
      if (fault.i < 0 ? seen.size === 0 : !seen.has(`${row.line} ${fault.i}`)) row.faults.push(fault);
    };
    try {
      const answer = await call("POST", `${data.api}/observations`, {
        items: some.map((row) => askable(row, keys, known)),
        dry_run: true,
      });
      /** @type {{ status: number, detail: string, errors: { pointer: string, detail: string }[] }[]} */
      const judged = answer.items;
      judged.forEach((verdict, k) => {
        if (verdict.status < 400) return;
        const faults = verdict.errors.length ? verdict.errors : [{ pointer: "", detail: verdict.detail }];
        for (const each of faults) add(some[k], placed(some[k], each.pointer, each.detail, table, keys, known));
      });
    } catch (error) {
      const faults = problemOf(error)?.errors ?? [];
      for (const { pointer, detail } of faults) {
        const [, index, within] = pointer.match(/^\/items\/(\d+)(.*)$/) ?? [];
        if (index === undefined) throw error;
        const row = some[Number(index)];
        add(row, placed(row, within, detail, table, keys, known));
      }
      if (!faults.length) throw error;
    }
  }
}

/** Find out which rows are stored already. A row with another result of the same trial is an error.
 * @param {import("./data.js").StudyData} data
 * @param {Turn} turn
 */
async function recognize(data, { rows, keys, known }) {
  const asked = rows.filter((row) => row.item && !row.faults.length);
  const i = keys.findIndex((key) => known.some((role) => role.key === key && role.isResult));
  for (let start = 0; start < asked.length; start += BATCH) {
    const some = asked.slice(start, start + BATCH);
    const sent = some.map(({ item, isFailed, numbers }) => ({
      parameters: item?.parameters ?? {},
      ...(isFailed ? { failed: true } : { value: item?.value ?? null, metrics: item?.metrics ?? {} }),
      ...numbers,
    }));
    const answer = await call("POST", `${data.page}/known`, { rows: sent });
    for (const [k, row] of some.entries()) {
      row.stored = answer.rows[k];
      if (row.stored && !row.stored.is_same) row.faults.push({ i, text: otherResult(row, row.stored) });
    }
  }
}

/** @param {PastedRow} row
 * @param {NonNullable<PastedRow["stored"]>} stored
 */
function otherResult({ line }, { trial, observation, value, metrics }) {
  const which = trial === null ? `own result R${observation}` : `trial ${trial}`;
  const number = value === null ? shown(Object.values(metrics ?? {})) : shown(value);
  const remedy = `Correct ${which} on its page, or, if this is another trial, leave out the columns with numbers.`;
  return `Line ${line}: ${which} has another result, ${number}. ${remedy}`;
}

/** The result of a row, with 0 for an unreadable value, so that the server validates the rest.
 * @param {PastedRow} row
 * @param {string[]} keys of the columns
 * @param {Role[]} known
 */
function askable({ item, faults }, keys, known) {
  const unread = faults.map(({ i }) => known.find((role) => role.isResult && role.key === keys[i]));
  const shape = { ...item };
  for (const role of unread) {
    if (role?.group) shape[role.group] = { ...shape[role.group], [String(role.field)]: 0 };
    else if (role) shape[String(role.field)] = 0;
  }
  return shape;
}

/** An error with its line and its column: /parameters/minutes is in the column of minutes.
 * @param {PastedRow} row
 * @param {string} pointer
 * @param {string} detail
 * @param {Table} table
 * @param {string[]} keys of the columns
 * @param {Role[]} known
 */
function placed({ line }, pointer, detail, { header }, keys, known) {
  const [group, ...names] = pointer
    .split("/")
    .slice(1)
    .map((each) => each.replaceAll("~1", "/").replaceAll("~0", "~"));
  const role = known.find((each) =>
    names.length ? each.group === group && each.field === names[0] : !each.group && each.field === group,
  );
  const i = role ? keys.indexOf(role.key) : -1;
  const where = i >= 0 ? `, column ${header[i]}` : role ? `, ${role.label}` : "";
  return { i, text: `Line ${line}${where}: ${detail}` };
}

/** The errors of rows, one per line.
 * @param {PastedRow[]} rows
 */
function faultsOf(rows) {
  const faults = rows.flatMap((row) => row.faults.map((each) => each.text));
  const more = faults.length > MAX_FAULTS ? [`… and ${faults.length - MAX_FAULTS} more`] : [];
  const remedy = "Correct the marked cells above, or leave these lines out. Nothing is stored yet.";
  return [...faults.slice(0, MAX_FAULTS), ...more, remedy].join("\n");
}

/** Show the columns with their roles, the first rows, and the invalid rows.
 * @param {Turn} turn
 * @param {(keys: string[]) => void} choose
 * @param {(row: PastedRow, i: number, cell: string) => void} mend
 */
function draw({ table, known, keys, rows }, choose, mend) {
  const [head, body] = ["thead", "tbody"].map((part) => query(document, `#paste-table ${part}`, HTMLElement));
  const focused = document.activeElement?.id;
  const line = document.createElement("tr");
  line.append(createElement("th", {}, "Line"));
  table.header.forEach((name, i) => {
    const select = document.createElement("select");
    select.id = `paste-column-${i}`;
    select.setAttribute("aria-label", `Column ${name || i + 1} is`);
    select.add(new Option("– left out –", ""));
    for (const role of known) select.add(new Option(role.label, role.key, false, keys[i] === role.key));
    select.addEventListener("change", () =>
      choose(keys.map((key, k) => (k === i ? select.value : key === select.value ? "" : key))),
    );
    const cell = createElement("th", {}, "");
    cell.scope = "col";
    cell.append(createElement("span", {}, name || `column ${i + 1}`), select);
    line.append(cell);
  });
  head.replaceChildren(line);
  byId("paste-columns", HTMLElement).textContent = inSentence(table.header, known, keys);
  const bad = rows.filter((row) => row.faults.length);
  const kept = new Set([...bad.slice(0, MAX_SHOWN), ...rows.slice(0, MAX_SHOWN)]);
  body.replaceChildren(...rows.filter((row) => kept.has(row)).map((row) => drawn(row, table.header, keys, mend)));
  if (kept.size < rows.length) {
    const cell = createElement("td", {}, `… and ${counted(rows.length - kept.size, "line")} more`);
    cell.colSpan = table.header.length + 1;
    body.append(createElement("tr", {}, cell));
  }
  if (focused?.startsWith("paste-c")) document.getElementById(focused)?.focus();
  else showResults(line, keys, known);
}

/** Scroll a wide table so that its results are seen.
 * @param {HTMLTableRowElement} head
 * @param {string[]} keys of the columns
 * @param {Role[]} known
 */
function showResults(head, keys, known) {
  const isResult = (/** @type {string} */ key) => known.some((role) => role.key === key && role.isResult);
  const last = keys.findLastIndex(isResult);
  head.cells[last + 1]?.scrollIntoView({ block: "nearest", inline: last < 0 ? "start" : "nearest" });
}

/** The roles of the columns in a sentence, since a wide table does not show all of its columns at once.
 * @param {string[]} header
 * @param {Role[]} known
 * @param {string[]} keys of the columns
 */
function inSentence(header, known, keys) {
  const assigned = known.filter((role) => keys.includes(role.key));
  const used = assigned.map((role) => `${role.label} from “${header[keys.indexOf(role.key)]}”`);
  const unused = header.filter((_, i) => !keys[i]).map((name) => `“${name}”`);
  return [
    ...(used.length ? [`Read: ${used.join(", ")}.`] : []),
    ...(unused.length ? [`Left out: ${unused.join(", ")}.`] : []),
  ].join(" ");
}

/** A row of the table as read; invalid cells can be corrected there.
 * @param {PastedRow} row
 * @param {string[]} header
 * @param {string[]} keys of the columns
 * @param {(row: PastedRow, i: number, cell: string) => void} mend
 */
function drawn(row, header, keys, mend) {
  const line = document.createElement("tr");
  line.className = row.left || row.stored?.is_same ? "left" : row.faults.length ? "faulty" : "";
  const number = createElement("th", {}, String(row.line));
  number.scope = "row";
  const state = row.left || (row.stored?.is_same ? "stored already" : row.isFailed ? "failed" : "");
  if (state) number.append(createElement("small", {}, ` ${state}`));
  line.append(number);
  header.forEach((_, i) => {
    const cell = createElement("td", {}, row.shows[i] ?? "");
    if (!keys[i]) cell.className = "unused";
    if (row.faults.some((each) => each.i === i)) {
      cell.className = "beyond";
      const field = createElement("input", {
        id: `paste-cell-${row.line}-${i}`,
        value: row.cells[i] ?? "",
        autocomplete: "off",
      });
      field.setAttribute("aria-label", `Line ${row.line}, ${header[i]}`);
      field.addEventListener("change", () => mend(row, i, field.value));
      cell.replaceChildren(field);
    }
    line.append(cell);
  });
  return line;
}
