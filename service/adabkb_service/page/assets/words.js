// Numbers, values and times as people read them.

import { queryAll } from "./elements.js";

const [LARGE, SMALL] = [1e6, 1e-4];
const [NO_BREAK, NARROW] = ["\u00a0", "\u202f"];
const TIMES = "×10";
/** @type {Record<string, string>} */
const RAISED = Object.fromEntries([..."-0123456789"].map((sign, i) => [sign, [..."⁻⁰¹²³⁴⁵⁶⁷⁸⁹"][i]]));
const LOWERED = Object.fromEntries(Object.entries(RAISED).map(([sign, raised]) => [raised, sign]));
const POWER = /×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$/;

/** A number rounded to this many decimals, as people do: halves away from zero, of the number as it is written. 80.35
 * becomes 80.4, although the nearest binary number is less than 80.35. Negative decimals are zeros before the point.
 * @param {number} value
 * @param {number} places
 */
export function rounded(value, places) {
  if (!Number.isFinite(value)) return value;
  const [mantissa, exponent = "0"] = String(Math.abs(value)).split("e");
  const [whole, decimals = ""] = mantissa.split(".");
  const digits = whole + decimals;
  const kept = whole.length + Number(exponent) + places;
  if (kept >= digits.length) return value;
  if (kept < 0) return 0;
  const size = BigInt(digits.slice(0, kept)) + (digits[kept] >= "5" ? 1n : 0n);
  return Math.sign(value) * Number(`${size}e${-places}`);
}

/** A number rounded to this many significant digits, in the same way.
 * @param {number} value
 * @param {number} digits
 */
const significant = (value, digits) => rounded(value, digits - 1 - Number(value.toExponential().split("e")[1]));

/** A number with a useful number of digits, as the server's `figure` writes it.
 * @param {number | null | undefined} value
 */
export function figure(value, digits = 5) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < LARGE) return grouped(String(value + 0));
  if (size >= LARGE || size < SMALL) return exponential(value, digits);
  return grouped(String(significant(value, digits)));
}

/** A written number with its thousands apart and a minus sign.
 * @param {string} text without an exponent
 */
function grouped(text) {
  const [whole, ...decimals] = text.replace("-", "−").split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, NARROW), ...decimals].join(".");
}

/** A number with a power of ten, with up to this many significant digits.
 * @param {number} value
 * @param {number} digits
 */
function exponential(value, digits) {
  const [mantissa, exponent] = significant(value, digits).toExponential().split("e");
  return `${mantissa.replace("-", "−")}${TIMES}${[...String(Number(exponent))].map((sign) => RAISED[sign]).join("")}`;
}

/** A difference or a deviation with two significant digits, as the server's `difference` writes it.
 * @param {number} value
 */
export function difference(value) {
  if (value === 0) return "0";
  const places = 1 - Math.floor(Math.log10(Math.abs(value)));
  return places > MAX_EXACT ? exponential(value, FEWEST) : fixed(value, places);
}

/** A difference of a quantity with its unit: of percentages in percentage points, as the server's `in_points` does.
 * @param {number} value
 * @param {Quantity} [quantity]
 */
export const inPoints = (value, { unit } = {}) => inUnit(difference(value), unitOfDifference(unit));

/** The unit of a difference.
 * @param {string | undefined} unit of the quantity
 */
export const unitOfDifference = (unit) => (unit === "%" ? "percentage points" : unit);

const MAX_LINES = 3;

/** A name in lines of this many characters, broken at spaces and hyphens where possible. Of a name that is too long,
 * both ends are kept.
 * @param {string} name
 * @param {number} width
 */
export function wrapped(name, width) {
  let rest = middleCut(name, MAX_LINES * width - 2);
  const lines = [];
  while (rest.length > width) {
    /** @type {number} */
    const lastBreak = Math.max(rest.lastIndexOf(" ", width), rest.lastIndexOf("-", width - 1) + 1);
    /** @type {number} */
    const at = lastBreak >= width / 2 && lines.length < MAX_LINES - 1 ? lastBreak : width;
    lines.push(rest.slice(0, at).trim());
    rest = rest.slice(at).trim();
  }
  return [...lines, rest].join("\n");
}

/** A name of at most this many characters, of which both ends are kept.
 * @param {string} name
 * @param {number} most
 */
function middleCut(name, most) {
  if (name.length <= most) return name;
  const end = Math.floor((most - 1) / 2);
  return `${name.slice(0, most - 1 - end)}…${name.slice(-end)}`;
}

/** Names of at most this many characters, as long as they differ from each other.
 * @param {string[]} names
 * @param {number} most
 */
export function shortNames(names, most) {
  const short = names.map((name) => middleCut(name, most));
  return names.map((name, i) => (short.indexOf(short[i]) === short.lastIndexOf(short[i]) ? short[i] : name));
}

const NUMERAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

const AMBIGUOUS = /^[+−-]?[1-9]\d{0,2},\d{3}$/; // 1,234 is 1234 in English and 1.234 in German

/** What to write in place of a number whose comma may be decimal or between thousands; empty for other texts.
 * @param {string} text
 */
export function clearer(text) {
  const typed = text.trim();
  return AMBIGUOUS.test(typed) ? `“${typed}”: write ${typed.replace(",", "")} or ${typed.replace(",", ".")}.` : "";
}

/** A number with thousands apart and decimals: 1,234.5 in English, 1.234,5 in German. */
const WITH_BOTH_SIGNS = /^([+-]?\d{1,3}(?:,\d{3})+)\.(\d+)$|^([+-]?\d{1,3}(?:\.\d{3})+),(\d+)$/;

/** The number in a text, perhaps with a decimal comma or with thousands apart; NaN if there is none, or if its comma
 * may be between thousands.
 * @param {string} text
 */
export function numeral(text) {
  if (AMBIGUOUS.test(text.trim())) return NaN;
  const plain = text
    .trim()
    .replaceAll("−", "-")
    .replace(POWER, (_, power) => `e${[...power].map((sign) => LOWERED[sign]).join("")}`)
    .replace(/(?<=\d)[\s'’](?=\d{3}(?!\d))/g, "")
    .replace(/^([^.,]*),([^.,]*)$/, "$1.$2")
    .replace(
      WITH_BOTH_SIGNS,
      (_, english = "", decimals = "", german = "", places = "") =>
        `${(english || german).replace(/[.,]/g, "")}.${decimals || places}`,
    );
  return NUMERAL.test(plain) ? Number(plain) : NaN;
}

/** A typed number without the unit behind it; for a unit such as "% ee", also without % alone. Another unit stays, so
 * that the text is no number: 82 % must not be stored as 82 in a study of fractions.
 * @param {string} text
 * @param {string | null | undefined} unit
 */
export function bareNumber(text, unit) {
  const bare = text.trim();
  if (!unit || !Number.isNaN(numeral(bare))) return bare; // a unit may end with digits
  const end = [unit, ...(unit.includes("%") ? ["%"] : [])].find((each) => bare.endsWith(each)) ?? "";
  return bare.slice(0, bare.length - end.length).trim();
}

const MAX_PLACES = 15; // maximum decimals of a prediction, whose standard deviation has two digits
const MAX_EXACT = 6; // maximum decimals of a difference

/** A number with this many digits after the point; if negative, that many zeros before the point. If it is large, it
 * has a power of ten and as many significant digits.
 * @param {number} value
 * @param {number} places
 */
function fixed(value, places) {
  if (Math.abs(value) >= LARGE)
    return exponential(value, Math.min(Math.max(1 + places + Math.floor(Math.log10(Math.abs(value))), 1), MAX_PLACES));
  return exact(rounded(value, places), Math.max(places, 0));
}

/** A number with this many decimals, however large it is.
 * @param {number} value
 * @param {number} places
 */
export const exact = (value, places) =>
  grouped(
    rounded(value, places)
      .toFixed(places)
      .replace(/^-(?=[0.]*$)/, ""),
  );

/** A number of a quantity with its unit: with the digits that the study asks for, by default five.
 * @param {number | null | undefined} value
 * @param {Quantity} [quantity]
 */
export function measured(value, { digits, unit } = {}) {
  if (value === null || value === undefined || digits === undefined)
    return inUnit(figure(value), value == null ? "" : unit);
  return inUnit(exact(value, digits), unit);
}

const [MAX_DIGITS, FEWEST] = [5, 3]; // maximum digits of a number in a column; minimum digits of a rounded one

/** Numbers of a quantity in a column, without the unit: with the digits that the study asks for, otherwise all with the
 * same number of decimals, as the server's `columns_in_words.results` writes them.
 * @param {(number | null | undefined)[]} values
 * @param {Quantity} [quantity]
 */
export function column(values, { digits } = {}) {
  const texts = values.map((value) => measured(value, { digits }));
  if (digits !== undefined || texts.some((text) => text.includes(TIMES))) return texts;
  const parts = texts.map((text) => text.split("."));
  const size = (/** @type {string} */ text) => text.replace(/\D/g, "").length;
  const most = Math.max(0, ...parts.map(([, decimals = ""]) => decimals.length));
  const places = Math.min(most, Math.max(MAX_DIGITS - Math.max(0, ...parts.map(([whole]) => size(whole))), 0));
  const isTooSmall = parts.some(
    ([, decimals = ""], i) => decimals.length > places && Math.abs(values[i] ?? 0) < 10 ** (FEWEST - 1 - places),
  );
  if (isTooSmall) return texts;
  return parts.map(([whole, decimals = ""], i) => {
    if (size(whole) === 0) return whole;
    if (decimals.length > places) return fixed(values[i] ?? 0, places);
    return places ? `${whole}.${decimals.padEnd(places, "0")}` : whole;
  });
}

const RARE = 2; // results of which all decimals count

/** The largest number of decimals that more than a tenth of the results have, as the server's `_usual_decimals`.
 * @param {number[]} values
 */
export function usualDecimals(values) {
  const ranked = values.map((value) => decimalsOf(value)).sort((a, b) => b - a);
  return ranked[ranked.length > RARE ? Math.max(1, Math.floor(ranked.length / 10)) : 0] ?? 0;
}

/** The number of decimals; of a whole number one, as in 3.0.
 * @param {number} value
 */
function decimalsOf(value) {
  if (Number.isInteger(value)) return Number(!String(value).includes("e"));
  const [mantissa, exponent = "0"] = String(value).split("e");
  return Math.max((mantissa.split(".")[1] ?? "").length - Number(exponent), 0);
}

/** A mean with its standard deviation, which has two digits; both have the same number of decimals, at most one more
 * than the quantity.
 * @param {number} mean
 * @param {number | null | undefined} std
 * @param {Quantity} [quantity]
 */
export function plusMinus(mean, std, quantity = {}) {
  if (!std || !(std > 0)) return measured(mean, quantity);
  const places = Math.min(placesOf(std), (quantity.digits ?? MAX_PLACES) + 1);
  const texts = places > MAX_PLACES ? [figure(mean, 8), figure(std, 2)] : [fixed(mean, places), fixed(std, places)];
  return inUnit(texts.join(`${NO_BREAK}±${NO_BREAK}`), quantity.unit);
}

/** The number of decimals that gives a difference or a deviation two digits.
 * @param {number} error
 */
const placesOf = (error) => 1 - Math.floor(Math.log10(error));

/** A number with two digits of a difference or a deviation, at most the digits that the study asks for, or one decimal
 * more than the results usually have; without its unit.
 * @param {number} value
 * @param {number} error
 * @param {Quantity} quantity
 */
function beside(value, error, { digits, decimals }) {
  if (!(error > 0)) return measured(value, { digits });
  const places = Math.min(placesOf(error), digits ?? (decimals === undefined ? MAX_PLACES + 1 : decimals + 1));
  return places > MAX_PLACES ? figure(value, 8) : fixed(value, places);
}

/** A number with the decimals that a difference or a deviation has with two digits.
 * @param {number} value
 * @param {number} error
 * @param {Quantity} [quantity]
 */
export const like = (value, error, quantity = {}) => inUnit(beside(value, error, quantity), quantity.unit);

/** A predicted mean with its central 90% interval or, without one, with its standard deviation, as the server's
 * `Digits.expected` writes it.
 * @param {{ mean: number, std: number, lcb?: number, ucb?: number }} predicted
 * @param {Quantity} [quantity]
 */
export function expected({ mean, std, lcb, ucb }, quantity = {}) {
  if (lcb === undefined || ucb === undefined || !(std > 0)) return plusMinus(mean, std, quantity);
  const [at, low, high] = [mean, lcb, ucb].map((each) => beside(each, std, quantity));
  return `${inUnit(at, quantity.unit)} (90%: ${inUnit(`${low} to ${high}`, quantity.unit)})`;
}

/** A prediction with its bounds only if they are those of a 90% interval, as in the profile auto.
 * @param {{ mean: number, std: number, lcb?: number, ucb?: number }} predicted
 * @param {{ profile?: string }} algorithm
 */
export const ofInterval = ({ mean, std, lcb, ucb }, { profile }) =>
  profile === "auto" ? { mean, std, lcb, ucb } : { mean, std };

/** The ends of a range, with the decimals that a standard deviation has with two digits.
 * @param {{ low: number, high: number }} range
 * @param {number} std
 * @param {Quantity} [quantity]
 */
export function between({ low, high }, std, quantity = {}) {
  const ends = [low, high].map((each) => beside(each, std, quantity));
  return inUnit(ends.join(" to "), quantity.unit);
}

/** The mean of several results: with the digits that the study asks for, by default four, as the server's `mean`
 * writes it.
 * @param {number} value
 * @param {Quantity} [quantity]
 */
export function meanOf(value, quantity = {}) {
  return quantity.digits === undefined
    ? inUnit(figure(significant(value, 4)), quantity.unit)
    : measured(value, quantity);
}

/** @type {[number, string][]} */
const UNITS_OF_TIME = [
  [86400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
];

/** Seconds in the largest unit of which they are a multiple, as the server writes them.
 * @param {number} seconds
 */
export function inLargestUnit(seconds) {
  const [size, name] = UNITS_OF_TIME.find(([each]) => seconds >= each && seconds % each === 0) ?? [1, "s"];
  return `${seconds / size} ${name}`;
}

/** A count with its noun.
 * @param {number} count
 * @param {string} thing
 */
export const counted = (count, thing) => `${grouped(String(count))} ${thing}${count === 1 ? "" : "s"}`;

/** How many of the results a chart draws; empty if it draws all of them.
 * @param {{ isThinned: boolean, drawn: unknown[], count: number }} history
 */
export const sampleOf = ({ isThinned, drawn, count }) =>
  isThinned ? `${grouped(String(drawn.length))} of ${counted(count, "result")} drawn, chosen at random` : "";

/** A result by the number of its trial or, without a trial, by its own.
 * @param {{ trial: number | null, seq: number }} result
 */
export const numbered = ({ trial, seq }) => (trial === null ? `own result R${seq}` : `trial ${trial}`);

/** The title of a column or an axis: the label or, without one, the name, with the unit.
 * @param {string} name
 * @param {string | null | undefined} label
 * @param {string | null | undefined} unit
 */
export const titled = (name, label, unit) => (unit ? `${label || name} [${unit}]` : label || name);

/** A number in words with its unit, which no line break separates.
 * @param {string} text
 * @param {string | null | undefined} unit
 */
export const inUnit = (text, unit) => (unit ? `${text}${ANGULAR.includes(unit) ? "" : NO_BREAK}${unit}` : text);
const ANGULAR = ["°", "′", "″"];

/** A prediction for a point or a cell, clipped to the natural bounds of a quantity.
 * @template {Record<string, any> | null | undefined} T
 * @param {T} prediction
 * @param {Pick<Quantity, "low" | "high">} [bounds]
 * @returns {T}
 */
export function cut(prediction, { low, high } = {}) {
  if (!prediction || (low === undefined && high === undefined)) return prediction;
  const names = ["mean", "lcb", "ucb", "index"].filter((name) => Number.isFinite(prediction[name]));
  return {
    ...prediction,
    ...Object.fromEntries(names.map((name) => [name, within(prediction[name], { low, high })])),
  };
}

/** A number clipped to the natural bounds of a quantity.
 * @param {number} value
 * @param {Pick<Quantity, "low" | "high">} bounds
 */
export const within = (value, { low, high }) => Math.min(Math.max(value, low ?? -Infinity), high ?? Infinity);

/** Shares of a total rounded to this many decimals, so that they sum to the rounded total, as by the server's
 * `apportioned`: each is rounded down, and those with the largest remainders get one unit more.
 * @param {number[]} values
 * @param {number} total
 * @param {number} places
 */
export function apportioned(values, total, places) {
  const size = 10 ** -places;
  const counts = values.map((value) => Math.floor(value / size + 1e-9));
  const left = Math.round(rounded(total, places) / size) - counts.reduce((sum, count) => sum + count, 0);
  const byRemainder = values
    .map((_, i) => i)
    .sort((a, b) => counts[a] - values[a] / size - (counts[b] - values[b] / size));
  for (const i of byRemainder.slice(0, Math.max(left, 0))) counts[i] += 1;
  return counts.map((count) => Number((count * size).toFixed(Math.max(places, 0))));
}

/** A value of a parameter.
 * @param {unknown} value
 * @returns {string}
 */
export function shown(value) {
  if (typeof value === "number") return figure(value, 6);
  if (Array.isArray(value)) return `[${value.map(shown).join(", ")}]`;
  return value === undefined ? "–" : String(value);
}

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const minutes = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const zoned = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];

/** A time as the browser's zone has it.
 * @param {string} text
 */
export const atClock = (text) => clock.format(new Date(text));

/** A time relative to now.
 * @param {string} text
 */
function fromNow(text) {
  const seconds = (Date.parse(text) - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS[3];
  return relative.format(Math.round(seconds / size), unit);
}

/** Write the times in an element in words: how long ago, up to a day; the whole time is its tooltip. On paper they
 * stay.
 * @param {ParentNode} element
 */
export function showTimes(element) {
  for (const time of queryAll(element, "time[datetime]:not(.report time)", HTMLTimeElement)) {
    const isNear = Math.abs(Date.parse(time.dateTime) - Date.now()) < 86400e3;
    const words = isNear ? fromNow(time.dateTime) : atClock(time.dateTime);
    if (time.textContent !== words) time.textContent = words;
    time.title = zoned.format(new Date(time.dateTime));
    time.dataset.at = minutes.format(new Date(time.dateTime)); // for paper
  }
}

/** @type {[string, number][]} */
const SPANS = [
  ["days", 86400],
  ["hours", 3600],
  ["minutes", 60],
];

/** A duration in words.
 * @param {number} seconds
 */
export function span(seconds) {
  const [name, size] = SPANS.find(([, length]) => seconds >= 2 * length) ?? ["seconds", 1];
  return `${figure(seconds / size, 3)}${NO_BREAK}${name}`;
}
