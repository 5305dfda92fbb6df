// Results from a table: what somebody copies from a spreadsheet or a CSV file becomes one request.

import { call } from "./calls.js";
import { read } from "./table.js";
import { numeral, shown } from "./words.js";

const MOST_FAULTS = 8;

/** Let the form take a table of results of a study. */
export function takeTables(form, data) {
  form.made = async () => {
    const table = read(form.querySelector("textarea").value);
    if (!table.rows.length) throw new Error("The first line must name the columns, and each further line be a result.");
    const columns = columnsOf(table.header, await data.study());
    const faults = [];
    const items = table.rows.map((row) => item(row, columns, faults));
    refuse(faults);
    refuse(await refusals(data, items, table.rows));
    return { items };
  };
}

/** Say what is wrong with a table, if anything is. */
function refuse(faults) {
  if (!faults.length) return;
  const more = faults.length > MOST_FAULTS ? [`… and ${faults.length - MOST_FAULTS} more`] : [];
  throw new Error([...faults.slice(0, MOST_FAULTS), ...more, "Nothing was stored."].join("\n"));
}

/** What the server would refuse, by the lines and the columns of the table. */
async function refusals(data, items, rows) {
  try {
    const tried = await call("POST", `${data.api}/observations`, { items, dry_run: true });
    return tried.items.flatMap((found, i) => {
      if (found.status < 400) return [];
      const faults = found.errors.map((fault) => `${place(rows[i], fault.pointer)} ${fault.detail}`);
      return faults.length ? faults : [`Line ${rows[i].line}: ${found.detail}`];
    });
  } catch (error) {
    const faults = (error.problem?.errors ?? []).map(({ pointer, detail }) => {
      const [, index, within] = pointer.match(/^\/items\/(\d+)(.*)$/) ?? [];
      return index === undefined ? `The table ${detail}` : `${place(rows[index], within)} ${detail}`;
    });
    if (!faults.length) throw error;
    return faults;
  }
}

/** Where a fault of an item is: /parameters/minutes is in the column minutes, /std_errors/size in std_errors.size. */
function place({ line }, pointer) {
  const [group, ...names] = pointer.split("/").slice(1).map((each) => each.replaceAll("~1", "/").replaceAll("~0", "~"));
  const column = group === "std_errors" && names.length ? `std_errors.${names[0]}` : (names[0] ?? group);
  return column ? `Line ${line}, column ${column}:` : `Line ${line}:`;
}

/** What each column of a table holds: its name, how a cell is read, where its value goes, and whether a row needs it. */
function columnsOf(header, { parameters, metrics: others = [], objectives = [] }) {
  const metrics = [...objectives.map((each) => each.metric), ...others];
  const told = objectives.length ? [] : [{ name: "value", isNeeded: true }, { name: "std_error" }];
  const known = [
    ...parameters.map((each) => ({ name: each.name, group: "parameters", read: (cell) => meant(each, cell) })),
    ...told,
    ...metrics.map((name) => ({ name, group: "metrics" })),
    ...metrics.map((name) => ({ name: `std_errors.${name}`, group: "std_errors", field: name })),
  ];
  const names = known.map((each) => each.name);
  const strange = header.filter((name) => !names.includes(name));
  if (strange.length) throw new Error(`There is no column ${strange.join(", ")} in this study. Its columns are ${names.join(", ")}.`);
  const twice = header.find((name, i) => header.indexOf(name) < i);
  if (twice !== undefined) throw new Error(`The first line names the column ${twice} twice. Remove one of the two.`);
  if (!objectives.length && !header.includes("value")) throw new Error("No column is named value. Name the column of the results so.");
  return header.map((name) => ({ field: name, read: number, ...known.find((each) => each.name === name) }));
}

/** The result that a row holds; what is wrong with its cells is added to the faults. */
function item({ line, cells }, columns, faults) {
  const made = { parameters: Object.create(null) };
  if (cells.slice(columns.length).some((cell) => cell !== "")) {
    faults.push(`Line ${line}: it has ${cells.length} cells, but the first line names ${columns.length} columns. Put tabs or semicolons between cells if commas are decimal.`);
  }
  columns.forEach(({ name, field, group, read: meaning, isNeeded }, i) => {
    const cell = cells[i] ?? "";
    try {
      if (cell === "" && isNeeded) throw new Error("the cell is empty.");
      if (cell !== "") (group ? (made[group] ??= Object.create(null)) : made)[field] = meaning(cell);
    } catch (error) {
      const remedy = isNeeded ? "Write a number, or delete the line if there is no result." : "Correct it, or leave the cell empty if nothing is known.";
      faults.push(`Line ${line}, column ${name}: ${error.message} ${remedy}`);
    }
  });
  return made;
}

function number(cell) {
  const value = numeral(cell);
  if (!Number.isFinite(value)) throw new Error(`“${cell}” is not a number.`);
  return value;
}

/** A value of a parameter: the choice that is written so, or a number. */
function meant(parameter, cell) {
  const choices = { bool: [false, true], fixed: [parameter.value] }[parameter.kind] ?? parameter.choices ?? parameter.values;
  if (!choices) return number(cell);
  const found = choices.findIndex((choice) => choice === cell || shown(choice) === cell || JSON.stringify(choice) === cell || choice === numeral(cell));
  if (found < 0) throw new Error(`“${cell}” is not one of ${choices.map((choice) => `“${shown(choice)}”`).join(", ")}.`);
  return choices[found];
}
