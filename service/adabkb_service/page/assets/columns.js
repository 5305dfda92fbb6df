// The roles of the columns of a table: parameters, results, standard errors, notes. They are guessed from the names of
// the columns, and a person can change them.

import { Scale } from "./scale.js";
import { bareNumber, clearer, numeral, shown, titled } from "./words.js";

const OF_RESULTS = ["value", "result", "objective", "yield", "ausbeute", "response", "measured", "score", "y"];
const OF_ERRORS = [
  "±",
  "+/-",
  "+-",
  "stderror",
  "error",
  "std",
  "stddev",
  "standarddeviation",
  "standarderror",
  "stderr",
  "sd",
  "se",
  "sem",
  "uncertainty",
  "fehler",
];
const OF_NOTES = [
  "note",
  "notes",
  "comment",
  "comments",
  "remark",
  "remarks",
  "anmerkung",
  "anmerkungen",
  "bemerkung",
  "bemerkungen",
  "kommentar",
  "kommentare",
  "notiz",
  "notizen",
];
const MIN_ABBREVIATION = 3; // minimum number of letters of an abbreviation, such as Temp
/** Texts of cells without a measurement. */
const NOTHING = new Set([
  "",
  "-",
  "–",
  "—",
  "nd",
  "na",
  "nan",
  "none",
  "null",
  "#n/a",
  "n/a",
  "n/d",
  "notdetermined",
  "?",
]);
// The client reads a table by the same two lists (client/adabkb_client/_importing/rows.py).
/** Texts of cells of failed trials. */
const FAILED = new Set(["crashed", "error", "fail", "failed", "failure", "fehlgeschlagen", "misslungen"]);
/** States of trials that have a result. */
const COMPLETED = new Set([
  "",
  "complete",
  "completed",
  "done",
  "finished",
  "ok",
  "succeeded",
  "success",
  "successful",
]);

/** A name without case, spaces, units and signs.
 * @param {string} name
 */
const plain = (name) =>
  name
    .toLowerCase()
    .replace(/[[(][^\])]*[\])]\s*$/, "")
    .replace(/[\s_.:]+/g, "");

/** A name without its unit after a slash, as in “Time / h”.
 * @param {string} name
 */
const withoutUnit = (name) => name.replace(/\s\/\s*\S+\s*$/, "");

/** The unit of a name in brackets, as in “Time (h)”; "" without one.
 * @param {string} name
 */
const unitIn = (name) => name.match(/[[(]\s*([^\])]*?)\s*[\])]\s*$/)?.[1] ?? "";

const ALIKE = 5; // minimum number of equal letters at the beginning or at the end of two names

/** Whether two names begin or end alike, as “Konzentration” and “concentration” do.
 * @param {string} one
 * @param {string} other
 */
function areAlike(one, other) {
  const [a, b] = [plain(one), plain(other)];
  if (Math.min(a.length, b.length) < ALIKE) return false;
  return a.slice(0, ALIKE) === b.slice(0, ALIKE) || a.slice(-ALIKE) === b.slice(-ALIKE);
}

/** Whether a name abbreviates another one, as a whole (“Temp”) or word by word (“cat. loading”).
 * @param {string} short
 * @param {string} name
 */
function abbreviates(short, name) {
  const [parts, words] = [short, name].map((each) => each.split(/[\s_]+/).map(plain));
  const isWordByWord = parts.length === words.length && parts.every((part, i) => part && words[i].startsWith(part));
  return isWordByWord || plain(name).startsWith(plain(short));
}

/** @type {(cell: string) => string} */
const bare = (cell) =>
  cell
    .trim()
    .toLowerCase()
    .replace(/[\s.]+/g, "");

/** Whether a cell states that there is no result.
 * @param {string} cell
 */
export const isNothing = (cell) => NOTHING.has(bare(cell));

/** Whether a cell states that the trial failed.
 * @param {string} cell
 */
export const isFailure = (cell) => FAILED.has(bare(cell));

/** Whether the cell of a state states that the trial has a result.
 * @param {string} cell
 */
export const isCompleted = (cell) => COMPLETED.has(bare(cell));

/** Whether all values of a parameter are numbers of a range or of an order.
 * @param {Parameter} parameter
 */
const hasNumbers = ({ kind, values = [] }) =>
  ["float", "int"].includes(kind) || (kind === "ordinal" && values.every((each) => typeof each === "number"));

/** The possible roles of a column in a study: a key, a label, how its cells are read, and where the value goes.
 * @param {Pick<ShownStudy, "parameters" | "metrics" | "objectives" | "quantities" | "plates">} study
 * @returns {Role[]}
 */
export function roles({ parameters, metrics: others = [], objectives = [], quantities = {}, plates = null }) {
  const metrics = [...objectives.map((each) => each.metric), ...others];
  const title = (/** @type {string} */ name) => titled(name, quantities[name]?.label, quantities[name]?.unit);
  const calledOf = (/** @type {string} */ name) => quantities[name]?.label ?? name;
  /** @type {(name: string) => NonNullable<Role["read"]>} */
  const numberOf = (name) => (cell, sign) => number(cell, quantities[name]?.unit, sign);
  const valueRoles = objectives.length
    ? []
    : [
        {
          key: "value",
          label: quantities.value ? title("value") : "Result",
          field: "value",
          read: numberOf("value"),
          names: ["value", quantities.value?.label],
          isResult: true,
          isNumber: true,
        },
        {
          key: "std_error",
          label: "Standard error",
          field: "std_error",
          read: numberOf("value"),
          names: ["std_error"],
          isNumber: true,
        },
      ];
  return [
    ...parameters.map((each) => ({
      key: `parameter:${each.name}`,
      label: titled(each.name, each.label, each.unit),
      group: "parameters",
      field: each.name,
      read: (/** @type {string} */ cell, /** @type {DecimalSign | undefined} */ sign) => meant(each, cell, sign),
      names: [each.name, `parameters.${each.name}`, `params_${each.name}`, each.label],
      unit: each.unit,
      isNumber: hasNumbers(each),
      isNeeded: each.kind !== "fixed" && !each.when,
    })),
    ...valueRoles,
    ...metrics.map((name) => ({
      key: `metric:${name}`,
      label: title(name),
      group: "metrics",
      field: name,
      read: numberOf(name),
      names: [name, `metrics.${name}`, quantities[name]?.label],
      unit: quantities[name]?.unit,
      isResult: true,
      isNumber: true,
    })),
    ...metrics.map((name) => ({
      key: `error:${name}`,
      label: `Standard error of ${calledOf(name)}`,
      group: "std_errors",
      field: name,
      read: numberOf(name),
      names: [`std_errors.${name}`, `Standard error of ${name}`, `± ${name}`, `${name} ±`, `± ${calledOf(name)}`],
      isNumber: true,
    })),
    ...(plates
      ? [{ key: "plate", label: "Plate", field: "plate", read: wholeNumber, names: ["plate"], isNumber: true }]
      : []),
    { key: "note", label: "Note", group: "attributes", field: "note", read: text, names: ["note"] },
    { key: "reason", label: "Why it failed", field: "reason", names: ["reason"] },
    { key: "state", label: "State (completed or failed; others are left out)", names: ["state", "status"] },
    { key: "excluded", label: "Excluded (these rows are left out)", names: ["excluded"] },
    { key: "trial", label: "Trial of this study", names: ["trial"] },
    { key: "observation", label: "Number of the result in this study", names: ["observation", "Result number"] },
  ];
}

/** The key of each column's role; "" for a column without one.
 * @param {string[]} header
 * @param {Role[]} known
 */
export function guess(header, known) {
  const taken = new Set();
  const take = (/** @type {Role | undefined} */ role) => {
    if (!role || taken.has(role.key)) return "";
    taken.add(role.key);
    return role.key;
  };
  const exactly = header.map((name) => take(known.find((role) => [...role.names, role.label].includes(name))));
  const roles = header.map(
    (name, i) =>
      exactly[i] ||
      take(
        known.find(
          (role) =>
            !taken.has(role.key) &&
            [...role.names, role.label].some(
              (each) => each && [plain(name), plain(withoutUnit(name))].includes(plain(each)),
            ),
        ),
      ),
  );
  header.forEach((title, i) => {
    if (roles[i]) return;
    const name = withoutUnit(title);
    const isError = OF_ERRORS.includes(plain(name)) || OF_ERRORS.includes(name.trim().toLowerCase());
    const before = roles[i - 1] ?? "";
    if (isError)
      roles[i] = take(
        known.find(
          (role) => role.key === (before.startsWith("metric:") ? before.replace("metric", "error") : "std_error"),
        ),
      );
    else if (OF_RESULTS.includes(plain(name))) roles[i] = take(known.find((role) => role.key === "value"));
    else if (OF_NOTES.includes(plain(name))) roles[i] = take(known.find((role) => role.key === "note"));
  });
  header.forEach((title, i) => {
    const name = withoutUnit(title);
    if (roles[i] || plain(name).length < MIN_ABBREVIATION) return;
    const meant = known.filter(
      ({ key, names }) => !taken.has(key) && names.some((each) => each && abbreviates(name, each)),
    );
    if (meant.length === 1) roles[i] = take(meant[0]);
  });
  header.forEach((title, i) => {
    const unit = unitIn(title);
    if (roles[i] || !unit) return;
    const meant = known.filter(
      (role) => role.unit === unit && !taken.has(role.key) && role.names.some((each) => each && areAlike(title, each)),
    );
    if (meant.length === 1) roles[i] = take(meant[0]);
  });
  return roles;
}

const NUMBERS = /\d(?:[\d.,'’\s]*\d)?/g; // in a cell, of which there may be two: “82.4 ± 1.5”
/** The sign between thousands, by the decimal one.
 * @type {Record<DecimalSign, DecimalSign>}
 */
const OTHER = { ".": ",", ",": "." };

/** The decimal sign that a number reveals; nothing if it has no sign, or one that may be between thousands.
 * @param {string} text
 * @returns {DecimalSign | undefined}
 */
function signIn(text) {
  const signs = /** @type {DecimalSign[]} */ (text.match(/[.,]/g) ?? []);
  const last = signs.at(-1);
  if (!last) return undefined;
  if (signs.some((each) => each !== last)) return last;
  if (signs.length > 1) return OTHER[last];
  return /^[1-9]\d{0,2}[.,]\d{3}$/.test(text) ? undefined : last;
}

/** The decimal sign of a column: that which its cells reveal, unless they contradict each other.
 * @param {string[]} cells
 * @returns {DecimalSign | undefined}
 */
export function decimalSign(cells) {
  const signs = new Set(cells.flatMap((cell) => (cell.match(NUMBERS) ?? []).map(signIn)).filter((each) => each));
  return signs.size === 1 ? [...signs][0] : undefined;
}

/** The decimal sign of each column: that which its cells reveal or, otherwise, those of all columns of numbers. Texts
 * may contain numbers with other signs, as 1,4-dioxane does.
 * @param {{ cells: string[] }[]} rows
 * @param {(Pick<Role, "isNumber"> | undefined)[]} columns
 */
export function decimalSigns(rows, columns) {
  const texts = columns.map((role, i) => (role?.isNumber ? rows.map(({ cells }) => cells[i] ?? "") : []));
  const whole = decimalSign(texts.flat());
  return texts.map((cells) => decimalSign(cells) ?? whole);
}

/** A number as people write it: with a decimal comma, with spaces, points or commas between thousands, or with the unit
 * behind it.
 * @param {string} cell
 * @param {string} [unit]
 * @param {DecimalSign} [sign] of its column
 */
export function number(cell, unit, sign) {
  let text = bareNumber(cell, unit);
  const decimal = signIn(text.replace(/^[+−-]/, "")) ?? sign;
  if (decimal) text = text.replaceAll(OTHER[decimal], "").replace(decimal, ".");
  const value = numeral(text);
  if (!Number.isFinite(value)) throw new Error(clearer(text) || `“${cell}” is not a number.`);
  return value;
}

/** @type {NonNullable<Role["read"]>} */
const wholeNumber = (cell, sign) => number(cell, undefined, sign);

/** @param {string} cell */
const text = (cell) => cell.trim();

/** A result, perhaps with its standard error: “82.4 ± 1.5”.
 * @param {string} cell
 * @param {(cell: string) => unknown} read
 */
export function withError(cell, read) {
  const parts = cell.split(/±|\+\/-|\+-/);
  return parts.length === 2 ? parts.map((part) => read(part)) : [read(cell)];
}

/** A value of a parameter: a choice, the name of a row, or a number.
 * @param {Parameter} parameter
 * @param {string} cell
 * @param {DecimalSign} [sign] of its column
 */
function meant(parameter, cell, sign) {
  if (parameter.kind === "catalogue") return cell.trim();
  /** @type {Record<string, unknown[]>} */
  const given = { bool: [false, true], fixed: [parameter.value] };
  const choices = given[parameter.kind] ?? parameter.choices ?? parameter.values;
  if (!choices) return number(cell, parameter.unit ?? undefined, sign);
  const value = numberIn(parameter, cell, sign);
  const index = choices.findIndex(
    (choice) => choice === cell || shown(choice) === cell || JSON.stringify(choice) === cell || choice === value,
  );
  const alike = choices.filter((choice) => shown(choice).toLowerCase() === cell.trim().toLowerCase());
  if (index < 0 && alike.length === 1) return alike[0]; // only upper and lower case differ
  if (index < 0 && !Number.isNaN(new Scale(parameter).between(value))) return value;
  if (index < 0)
    throw new Error(`“${cell}” is not one of ${choices.map((choice) => `“${shown(choice)}”`).join(", ")}.`);
  return choices[index];
}

/** The number in a cell; NaN if there is none.
 * @param {Parameter} parameter
 * @param {string} cell
 * @param {DecimalSign} [sign] of its column
 */
function numberIn({ unit }, cell, sign) {
  try {
    return number(cell, unit ?? undefined, sign);
  } catch {
    return NaN;
  }
}
