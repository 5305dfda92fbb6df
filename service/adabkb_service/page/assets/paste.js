// Results from a table: what somebody copies from a spreadsheet or a CSV file becomes one request.

import { call } from "./calls.js";
import { shown } from "./words.js";

const MOST_FAULTS = 8;

/** Let the form take a table of results of a study. */
export function takeTables(form, data) {
  form.made = async () => {
    const study = await data.study();
    const items = results(form.querySelector("textarea").value, study);
    const tried = await call("POST", `${data.api}/observations`, { items, dry_run: true });
    const faults = tried.items.flatMap((item, i) => (item.status < 400 ? [] : [`Row ${i + 1}: ${reason(item)}`]));
    if (faults.length) throw new Error([...faults.slice(0, MOST_FAULTS), ...more(faults.length - MOST_FAULTS), "Nothing was stored."].join("\n"));
    return { items };
  };
}

const more = (count) => (count > 0 ? [`… and ${count} more`] : []);
const reason = (item) => item.errors.map((fault) => `${fault.pointer.split("/").at(-1)} ${fault.detail}`).join("; ") || item.detail;

/** The results that a table holds; its first line names the columns. */
function results(text, { parameters, metrics: others = [], objectives = [] }) {
  const metrics = [...objectives.map((each) => each.metric), ...others];
  const [header, ...rows] = cells(text);
  const known = new Map(parameters.map((each) => [each.name, each]));
  if (!rows.length) throw new Error("The first line must name the columns, and each further line be a result.");
  const errors = new Map(metrics.map((name) => [`std_errors.${name}`, name]));
  const told = [...(objectives.length ? [] : ["value", "std_error"]), ...metrics, ...errors.keys()];
  const strange = header.filter((name) => !known.has(name) && !told.includes(name));
  if (strange.length) throw new Error(`There is no parameter ${strange.join(", ")}. Columns are ${[...known.keys(), ...told].join(", ")}.`);
  if (!objectives.length && !header.includes("value")) throw new Error("A column must be named value.");
  return rows.map((row) => {
    const item = { parameters: Object.create(null) };
    header.forEach((name, i) => {
      const cell = row[i] ?? "";
      if (cell === "") return;
      if (known.has(name)) item.parameters[name] = meant(known.get(name), cell);
      else if (metrics.includes(name)) (item.metrics ??= Object.create(null))[name] = number(cell);
      else if (errors.has(name)) (item.std_errors ??= Object.create(null))[errors.get(name)] = number(cell);
      else item[name] = number(cell);
    });
    return item;
  });
}

const number = (text) => {
  const value = Number(text.replace("−", "-").replace(/^([^.]*),([^.,]*)$/, "$1.$2"));
  return Number.isFinite(value) ? value : text;
};

/** A value of a parameter: the choice that is written so, or a number. */
function meant(parameter, cell) {
  const choices = parameter.kind === "bool" ? [false, true] : (parameter.choices ?? parameter.values);
  if (parameter.kind === "fixed") return shown(parameter.value) === cell ? parameter.value : cell;
  if (!choices) return number(cell);
  const found = choices.findIndex((choice) => shown(choice) === cell || JSON.stringify(choice) === cell);
  return found < 0 ? cell : choices[found];
}

/** Rows of cells: tabs between them as a spreadsheet copies, else semicolons, else commas; quotation marks as in CSV. */
function cells(text) {
  const first = text.split("\n", 1)[0];
  const between = ["\t", ";"].find((each) => first.includes(each)) ?? ",";
  const rows = [[""]];
  let isQuoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const row = rows.at(-1);
    const sign = text[i];
    if (sign === '"' && isQuoted && text[i + 1] === '"') row[row.length - 1] += text[(i += 1)];
    else if (sign === '"') isQuoted = !isQuoted;
    else if (sign === between && !isQuoted) row.push("");
    else if (sign === "\n" && !isQuoted) rows.push([""]);
    else row[row.length - 1] += sign;
  }
  return rows.map((row) => row.map((cell) => cell.trim())).filter((row) => row.some((cell) => cell !== ""));
}
