// Tables copied from a spreadsheet or a CSV file.

/** A table as text that `read` reads, with tabs between cells.
 * @param {{ header: string[], rows: { cells: string[] }[] }} table
 */
export function written({ header, rows }) {
  const quoted = (/** @type {string} */ cell) => (/[\t\n"]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return [header, ...rows.map((row) => row.cells)].map((cells) => `${cells.map(quoted).join("\t")}\n`).join("");
}

/** The header and the rows of a table, each with the line that it begins in. Cells have tabs between them, as a
 * spreadsheet copies them, else semicolons, else commas; quotation marks are as in CSV. In a saved table, a cell that
 * looks like a formula has a leading quotation mark.
 * @param {string} text
 */
export function read(text) {
  const first = text.split("\n", 1)[0];
  const between = ["\t", ";"].find((each) => first.includes(each)) ?? ",";
  let cells = [""]; // of the row that is read
  const rows = [{ line: 1, cells }];
  let isQuoted = false;
  let line = 1;
  for (let i = 0; i < text.length; i += 1) {
    const sign = text[i];
    if (sign === "\n") line += 1;
    if (sign === '"' && isQuoted && text[i + 1] === '"') {
      cells[cells.length - 1] += sign;
      i += 1;
    } else if (sign === '"' && (isQuoted || cells.at(-1)?.trim() === "")) isQuoted = !isQuoted;
    else if (sign === between && !isQuoted) cells.push("");
    else if (sign === "\n" && !isQuoted) {
      cells = [""];
      rows.push({ line, cells });
    } else cells[cells.length - 1] += sign;
  }
  const [header, ...others] = rows
    .map((row) => ({ line: row.line, cells: row.cells.map((cell) => cell.trim().replace(/^'(?='*[=+\-@\t\r])/, "")) }))
    .filter((row) => row.cells.some((cell) => cell !== ""));
  return { header: header?.cells ?? [], rows: others };
}

/** The table in a file: its text or, of an export as JSON lines, its trials and results as a table.
 * @param {string} text
 */
export function tableOf(text) {
  if (!/^\uFEFF?\{"type": ?"study"/.test(text)) return text;
  /** @type {Map<number, any>} */
  const trials = new Map();
  /** @type {Record<string, unknown>[]} */
  const rows = [];
  const flat = (/** @type {string} */ group, /** @type {Record<string, unknown> | undefined} */ values) =>
    Object.fromEntries(Object.entries(values ?? {}).map(([name, value]) => [`${group}.${name}`, value]));
  const add = (/** @type {any} */ { parameters, metrics, std_errors: errors, attributes, ...more }) =>
    rows.push({
      ...more,
      note: attributes?.note,
      ...flat("parameters", parameters),
      ...flat("metrics", metrics),
      ...flat("std_errors", errors),
    });
  for (const line of text.replace(/^\uFEFF/, "").split("\n")) {
    if (!/^\{"type": ?"(trial|observation)"/.test(line)) continue;
    const { type, ...record } = JSON.parse(line);
    if (type === "trial") trials.set(record.number, record);
    else {
      const { seq: observation, trial, parameters, metrics, std_errors, value, std_error, excluded } = record;
      const { attributes } = trials.get(trial) ?? record;
      add({
        trial,
        observation,
        state: "completed",
        parameters,
        value,
        std_error,
        metrics,
        std_errors,
        excluded,
        attributes,
      });
      if (trial !== null) trials.get(trial).hasResult = true;
    }
  }
  for (const { number: trial, state, parameters, reason, attributes, hasResult } of trials.values())
    if (!hasResult) add({ trial, state, parameters, reason, attributes });
  const header = [...new Set(rows.flatMap((row) => Object.keys(row).filter((name) => row[name] != null)))];
  const shown = (/** @type {unknown} */ value) =>
    value == null ? "" : typeof value === "string" ? value : JSON.stringify(value);
  return written({ header, rows: rows.map((row) => ({ cells: header.map((name) => shown(row[name])) })) });
}
