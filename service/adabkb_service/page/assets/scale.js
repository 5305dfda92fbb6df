// How a parameter is drawn along an axis: numbers on its scale, choices side by side in the order of the study.

import { apportioned, exact, figure, inUnit, rounded, shortNames, shown, titled, wrapped } from "./words.js";

/** @type {(one: unknown, other: unknown) => boolean} */
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

const [SHORT, ROUND] = [200, [1, 2, 5]]; // high / low of a log scale with these ticks in each power of ten
const FEW_DIGITS = 4; // a number with at most this many significant digits is shown as it is
export const MAX_CHARACTERS = 16; // maximum length of a line of a name on an axis
export const LINE = 14; // height of a line of a name, in pixels
// a value is rounded to a multiple of its range / 10 ** FINENESS; the range is first rounded up to a power of ten
const FINENESS = 3;

/** The values of a point, each with its parameter and unit, in the order of the study; shares of mixtures sum to the
 * total.
 * @param {Pick<ShownStudy, "mixtures" | "parameters">} study
 * @param {Point} point
 * @param {string[]} [but] parameters that are left out
 */
export function conditions(study, point, but = []) {
  const rounded = asShown(study, point);
  return study.parameters
    .filter(({ name }) => name in point && !but.includes(name))
    .map((each) => new Scale(each).condition(rounded[each.name]));
}

/** A point with the shares of mixtures rounded for display, so that the displayed shares sum to the total: people weigh
 * them in. Shares with a step are kept. The server's `as_shown` does the same.
 * @param {{ mixtures?: { parameters: string[], total: number }[], parameters: Parameter[] }} study
 * @param {Point} point
 * @returns {Point}
 */
export function asShown({ mixtures = [], parameters }, point) {
  const adjusted = { ...point };
  const scales = new Map(parameters.map((each) => [each.name, new Scale(each)]));
  const sum = (/** @type {number[]} */ values) => values.reduce((one, other) => one + other, 0);
  for (const mixture of mixtures) {
    const components = parameters.filter(({ name, kind }) => kind === "float" && mixture.parameters.includes(name));
    const shares = components.map(({ name }) => name).filter((name) => name in point);
    const [free, kept] = [true, false].map((is) => shares.filter((name) => scales.get(name)?.isContinuous === is));
    const [values, steps] = [free, kept].map((names) => names.map((name) => Number(point[name])));
    const left = mixture.total - sum(steps);
    const isWhole = Math.abs(left - sum(values)) <= Math.max(1e-6 * Math.abs(left), 1e-9);
    const isRounded = free.some((name, i) => scales.get(name)?.setting(values[i]) !== figure(values[i], 12));
    if (!isWhole || !isRounded) continue;
    const most = FEW_DIGITS - Math.max(Math.ceil(Math.log10(mixture.total)), 0); // more digits would be rounded again
    const places = Math.min(Math.max(...free.map((name) => scales.get(name)?.places ?? 0)), most);
    const parts = apportioned(values, left, places);
    for (const [i, name] of free.entries()) adjusted[name] = parts[i];
  }
  return adjusted;
}

/** The ordered values of a parameter, if they are numbers that ascend or descend: a measured value may lie between two
 * of them. Otherwise, the list is empty.
 * @param {Parameter} parameter
 * @returns {number[]}
 */
export function ladder({ kind, values = [] }) {
  const numbers = values.filter((each) => typeof each === "number");
  if (kind !== "ordinal" || numbers.length < values.length) return [];
  const isRising = (/** @type {number} */ each, /** @type {number} */ i) => i === 0 || numbers[i - 1] < each;
  const isFalling = (/** @type {number} */ each, /** @type {number} */ i) => i === 0 || numbers[i - 1] > each;
  return numbers.every(isRising) || numbers.every(isFalling) ? numbers : [];
}

/** The scale of a parameter, from its declaration in the API. */
export class Scale {
  /** @param {Parameter} parameter */
  constructor(parameter) {
    this.parameter = parameter;
    this.name = parameter.name;
    this.isNumeric = parameter.kind === "float" || parameter.kind === "int";
    this.isLog = parameter.scale === "log";
    this.isContinuous = parameter.kind === "float" && !parameter.step;
    this.choices = parameter.kind === "bool" ? [false, true] : (parameter.choices ?? parameter.values ?? []);
  }

  /** The position of a value: a number itself, the index of a choice, a place between the indices of two ordered
   * numbers, or NaN for an absent value.
   * @param {unknown} value
   */
  position(value) {
    if (value === undefined) return NaN;
    if (this.isNumeric) return Number(value);
    const place = this.choices.findIndex((choice) => same(choice, value));
    return place < 0 ? this.between(value) : place;
  }

  /** The place of a measured number between two ordered values; NaN if there is none.
   * @param {unknown} value
   */
  between(value) {
    if (typeof value !== "number") return NaN;
    const numbers = ladder(this.parameter);
    const after = numbers.findIndex((each, i) => i > 0 && (numbers[i - 1] - value) * (each - value) < 0);
    if (after < 0) return NaN;
    return after - 1 + (value - numbers[after - 1]) / (numbers[after] - numbers[after - 1]);
  }

  /** The extent of a range of values: half a step beyond both ends if values are discrete.
   * @param {unknown} low
   * @param {unknown} high
   * @returns {[number, number]}
   */
  box(low, high) {
    const [first, last] = [this.position(low), this.position(high)].sort((a, b) => a - b);
    if (this.isContinuous) return [first, last];
    const half = this.isNumeric ? (this.parameter.step || 1) / 2 : 0.5;
    return [this.isLog ? Math.max(first - half, first / 2) : first - half, last + half];
  }

  get ends() {
    if (!this.isNumeric) return [-0.5, this.choices.length - 0.5];
    return this.box(this.parameter.low, this.parameter.high);
  }

  /** Whether a cell contains a value; a parameter that is inactive in the cell, or has no value, does not matter.
   * @param {unknown} low
   * @param {unknown} high
   * @param {unknown} value
   */
  holds(low, high, value) {
    const position = this.position(value);
    const [first, last] = this.box(low, high);
    return Number.isNaN(position) || Number.isNaN(first) || (first <= position && position <= last);
  }

  /** The distance between two values: a share of the range or, between choices, 0 or 1; NaN if one is absent.
   * @param {unknown} one
   * @param {unknown} other
   */
  distance(one, other) {
    const places = [this.position(one), this.position(other)];
    if (!this.isNumeric) return Number.isNaN(places[0] + places[1]) ? NaN : Number(places[0] !== places[1]);
    const { low = 0, high = 1 } = this.parameter;
    const [a, b, from, to] = [...places, low, high].map((at) => (this.isLog ? Math.log(at) : at));
    return Math.abs(a - b) / (to - from);
  }

  /** The midpoints between neighboring values (geometric on a log scale), and the ends.
   * @param {unknown[]} values
   */
  edges(values) {
    const places = values.map((value) => this.position(value));
    const middle = (/** @type {number} */ a, /** @type {number} */ b) => (this.isLog ? Math.sqrt(a * b) : (a + b) / 2);
    const inner = places.slice(1).map((place, i) => middle(places[i], place));
    const [low, high] = this.ends;
    return [low, ...inner, high];
  }

  /** The displayed name: the label, or otherwise the name. */
  get title() {
    return this.parameter.label || this.name;
  }

  /** A value rounded for display: a number to a thousandth of its range, which is first rounded up to a power of ten,
   * or, on a log scale, to three digits. Integers, values with a step, and numbers of at most four digits are kept.
   * ``wording.setting`` of the server does the same.
   * @param {unknown} value
   */
  setting(value) {
    if (!this.isContinuous && Number.isSafeInteger(value)) return exact(/** @type {number} */ (value), 0);
    if (!this.isContinuous || typeof value !== "number") return shown(value);
    if (figure(value, FEW_DIGITS) === figure(value, 12)) return figure(value, 12);
    if (this.isLog) return figure(value, 3);
    return figure(rounded(value, this.places), 12);
  }

  /** The number of decimals of a thousandth of the range, which is first rounded up to a power of ten. */
  get places() {
    const { low = 0, high = 1 } = this.parameter;
    return FINENESS - Math.ceil(Math.log10(high - low));
  }

  /** The parameter with a value, and its unit.
   * @param {unknown} value
   */
  condition(value) {
    return `${this.title} ${inUnit(this.setting(value), this.parameter.unit)}`;
  }

  /** The value at a position.
   * @param {number} position
   */
  label(position) {
    return this.isNumeric
      ? inUnit(figure(position, 3), this.parameter.unit)
      : inUnit(shown(this.choices[position] ?? ""), this.parameter.unit);
  }

  get axisName() {
    return titled(this.name, this.parameter.label, this.parameter.unit) + (this.isLog ? " (log)" : "");
  }

  /** The options of an axis of ECharts.
   * @param {Colours} colours
   * @returns {ChartOption}
   */
  axis(colours) {
    const [min, max] = this.ends;
    return {
      type: this.isLog ? "log" : "value",
      name: this.axisName,
      nameTruncate: { maxWidth: 220 },
      min,
      max,
      axisTick: { customValues: this.ticks },
      axisLabel: {
        color: colours.muted,
        lineHeight: LINE,
        hideOverlap: true,
        customValues: this.ticks,
        showMinLabel: this.isContinuous || this.ticks !== undefined,
        showMaxLabel: this.isContinuous || this.ticks !== undefined,
        formatter: (/** @type {number} */ at) => this.tick(at),
      },
      axisLine: { onZero: false, lineStyle: { color: colours.line } },
      splitLine: { show: false },
    };
  }

  /** The positions of the choices, or round numbers on a short log scale; undefined for other numbers, whose ticks
   * ECharts chooses.
   * @returns {number[] | undefined}
   */
  get ticks() {
    if (!this.isNumeric) return this.choices.map((_, i) => i);
    const { low = 0, high = 1 } = this.parameter;
    if (!this.isLog || high / low > SHORT) return undefined;
    const first = Math.floor(Math.log10(low));
    const powers = Array.from({ length: Math.ceil(Math.log10(high)) - first + 1 }, (_, i) => 10 ** (first + i));
    return powers
      .flatMap((power) => ROUND.map((each) => Number((each * power).toPrecision(1))))
      .filter((each) => low <= each && each <= high);
  }

  /** The names of choices for a narrow axis. Long names are cut in the middle. */
  get shortNames() {
    return shortNames(
      this.choices.map((choice) => shown(choice)),
      MAX_CHARACTERS,
    );
  }

  /** @param {number} at */
  tick(at) {
    if (this.isNumeric) return figure(at, 3);
    return Number.isInteger(at) && this.choices[at] !== undefined
      ? wrapped(shown(this.choices[at]), MAX_CHARACTERS)
      : "";
  }
}
