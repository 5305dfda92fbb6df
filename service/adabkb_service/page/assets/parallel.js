// All results at once: a line for each, across an axis for each parameter.

import { Chart, colours, common, heightFor, isLight, RAMP, ramp } from "./charts.js";
import { byId } from "./elements.js";
import { ONLY_ROWS } from "./learned.js";
import { LINE } from "./scale.js";
import { clearer, counted, figure, numeral, sampleOf, shown, wrapped } from "./words.js";

const PADDING = 16; // of the frame of the chart, in pixels
const [ABOVE, BELOW, BESIDE] = [58, 56, 60]; // pixels around the axes
const [LETTER, GAP, MIN_LETTERS] = [6.8, 16, 8]; // pixels of a letter, and of an axis with its ticks; letters of a line
const MAX_THICK = 5; // number of best results with thick lines
const MARGIN = 0.15; // share of an axis between its values and the place of lines without a value

/** @type {(name: string, unit: string | undefined) => string} */
const inTwoLines = (name, unit) => (unit ? `${name}\n[${unit}]` : name);

/** @param {import("./data.js").StudyData} data */
export function parallelChart(data) {
  return new Chart("parallel", async () => {
    const [study, history, scales, doubted] = await Promise.all([
      data.study(),
      data.history(),
      data.axes(),
      data.doubted(),
    ]);
    const isRegular = (/** @type {Result} */ each) => !each.beyond && !doubted.has(each.seq);
    const isBetter = (/** @type {Result} */ a, /** @type {Result} */ b) =>
      study.direction === "minimize" ? a.value - b.value : b.value - a.value;
    const best = history.results.filter((each) => !each.excluded && isRegular(each)).sort(isBetter);
    const always = new Set(best.slice(0, study.direction ? MAX_THICK : 0)); // drawn even if not in the sample
    const isWanted = wanted(scales);
    const mistake = mistakeIn("from") || mistakeIn("to");
    if (mistake) return { empty: mistake };
    const results = history.results.filter(
      (each) => !each.excluded && (each.is_sampled || always.has(each)) && isWanted(each),
    );
    if (!results.length && isLimited()) return { empty: "No result that is drawn lies between these numbers." };
    if (!results.length) return { empty: "No results yet." };
    if (!scales.length) return { empty: ONLY_ROWS };
    const ink = colours();
    const width = byId("parallel", HTMLElement).clientWidth - 2 * PADDING;
    const isNarrow = width < 530;
    const apart = (width - 2 * BESIDE) / scales.length;
    const letters = isNarrow ? 14 : Math.max(Math.floor((apart - GAP) / LETTER), MIN_LETTERS);
    const drawn = scales.map((scale) => new Across(scale, results, letters));
    const { label = data.shown() ?? "result", unit } = study.quantity;
    const axes = [
      ...drawn.map((each, dim) => ({ dim, ...each.axis })),
      { dim: scales.length, name: inTwoLines(label, unit), type: "value", scale: true },
    ];
    const line = (/** @type {Result} */ each, value = each.value) => [
      ...drawn.map((axis) => axis.position(each)),
      value,
    ];
    const isLess = study.direction === "minimize";
    const worstFirst = results.filter(isRegular).sort((a, b) => isBetter(b, a));
    const beyond = results.filter((each) => each.beyond);
    const contradicted = results.filter((each) => !each.beyond && doubted.has(each.seq));
    const thick = study.direction ? MAX_THICK : 0; // a number without a direction has no best
    /** @type {ChartOption} */
    const option = {
      ...common(ink),
      legend: { show: false },
      parallel: {
        left: isNarrow ? 110 : BESIDE,
        right: isNarrow ? 24 : BESIDE,
        top: ABOVE,
        bottom: BELOW,
        layout: isNarrow ? "vertical" : "horizontal",
        parallelAxisDefault: {
          nameLocation: isNarrow ? "start" : "end",
          nameTextStyle: { color: ink.muted, lineHeight: 15 },
          nameGap: 18,
          nameTruncate: { maxWidth: isNarrow ? 84 : Math.min(apart - 4, 110) },
          axisLabel: {
            color: ink.ink,
            textBorderColor: ink.surface,
            textBorderWidth: 3,
            lineHeight: LINE,
            formatter: (/** @type {unknown} */ at) => (typeof at === "number" ? figure(at, 3) : at),
            hideOverlap: true,
          },
          axisLine: { lineStyle: { color: ink.muted } },
        },
      },
      parallelAxis: axes,
      visualMap: worstFirst.length
        ? ramp(
            ink,
            worstFirst.map((each) => each.value),
            {
              dimension: scales.length,
              isReversed: isLess,
              name: unit ?? label,
              digits: study.quantity.digits,
              colours: isLight(ink.ink) ? RAMP.slice(3) : RAMP, // the darkest are invisible on a dark background
            },
          )
        : [],
      series: [
        {
          type: "parallel",
          name: "results",
          lineStyle: { width: 1.2, opacity: 0.45 },
          data: worstFirst.map((each, i) => ({
            value: line(each),
            ...(i >= worstFirst.length - thick ? { lineStyle: { width: 3, opacity: 1 } } : {}),
          })),
        },
        {
          type: "parallel",
          name: "violate a bound",
          lineStyle: { color: ink.muted, width: 1, type: "dashed", opacity: 0.5 },
          data: beyond.map((each) => ({ value: line(each) })),
        },
        {
          type: "parallel",
          name: "contradicted by the others",
          lineStyle: { color: ink.bad, width: 1, type: "dashed", opacity: 0.8 },
          data: contradicted.map((each) => ({ value: line(each, nearest(each.value, worstFirst)) })),
        },
      ],
    };
    option.tooltip = { show: false };
    return {
      option,
      height: isNarrow ? undefined : heightOf(drawn),
      header: [...scales.map((scale) => scale.name), "value", "violates"],
      rows: results.map((each) => [
        ...scales.map((scale) => each.parameters[scale.name]),
        each.value,
        each.beyond?.join(" "),
      ]),
      caption: captionOf(
        study,
        scales.length,
        worstFirst,
        beyond,
        contradicted.length,
        sampleOf({ ...history, drawn: results }),
      ),
    };
  });
}

/** The value nearest to this one that is in the range of some results.
 * @param {number} value
 * @param {Result[]} others
 */
function nearest(value, others) {
  const values = others.map((each) => each.value);
  return values.length ? Math.min(Math.max(value, Math.min(...values)), Math.max(...values)) : value;
}

/** The height of the chart, in pixels, in which all names of choices have room.
 * @param {Across[]} drawn
 */
function heightOf(drawn) {
  const names = drawn.filter(({ scale }) => !scale.isNumeric).map(({ texts }) => texts);
  const rooms = names.map(
    (texts) => texts.length * (6 + LINE * Math.max(...texts.map((each) => each.split("\n").length))),
  );
  return heightFor("parallel", ABOVE + BELOW + Math.max(0, ...rooms));
}

/** @param {string} part */
const field = (part) => byId(`parallel-${part}`, HTMLInputElement);

/** Whether a person has limited the results to a range of a parameter or of the result. */
const isLimited = () => field("from").value.trim() !== "" || field("to").value.trim() !== "";

/** What is wrong with an end of the range; empty if it is a number, or if there is none. The field is marked.
 * @param {string} part
 */
function mistakeIn(part) {
  const { value, disabled } = field(part);
  const isWrong = !disabled && value.trim() !== "" && Number.isNaN(numeral(value));
  if (isWrong) field(part).setAttribute("aria-invalid", "true");
  else field(part).removeAttribute("aria-invalid");
  return isWrong ? clearer(value) || `“${value}” is not a number.` : "";
}

/** Whether a result lies in the range that a person has entered. A parameter without numbers has none.
 * @param {import("./scale.js").Scale[]} scales
 * @returns {(result: Result) => boolean}
 */
function wanted(scales) {
  const scale = scales.find(({ name }) => name === byId("parallel-of", HTMLSelectElement).value);
  const hasNumbers = scale === undefined || scale.isNumeric;
  for (const part of ["from", "to"]) field(part).disabled = !hasNumbers;
  const [low, high] = ["from", "to"].map((part) => (hasNumbers ? numeral(field(part).value) : NaN)); // NaN: no limit
  return (result) => {
    const value = scale ? scale.position(result.parameters[scale.name]) : result.value;
    return !(value < low) && !(value > high);
  };
}

/** The axis of a parameter, with a place for the results in which it has no value that can be drawn. */
class Across {
  /**
   * @param {import("./scale.js").Scale} scale
   * @param {Result[]} results
   * @param {number} width of a line of a choice's name, in characters
   */
  constructor(scale, results, width) {
    this.scale = scale;
    this.width = width;
    this.isMissed = results.some((each) => Number.isNaN(scale.position(each.parameters[scale.name])));
    this.missed = scale.parameter.when ? "not used" : "other";
    const { low = 0, high = 1 } = scale.parameter;
    this.ends = [low, high];
    this.place = scale.isLog ? low * (low / high) ** MARGIN : low - MARGIN * (high - low);
  }

  /** The position of a result; a category is its index.
   * @param {Result} result
   */
  position(result) {
    const at = this.scale.position(result.parameters[this.scale.name]);
    if (this.scale.isNumeric) return Number.isNaN(at) ? this.place : at;
    return Number.isNaN(at) ? this.scale.choices.length : at;
  }

  /** The names of the choices, in lines. */
  get texts() {
    const texts = this.scale.choices.map((choice) => wrapped(shown(choice), this.width));
    return this.isMissed ? [...texts, this.missed] : texts;
  }

  /** @returns {ChartOption} */
  get axis() {
    const { scale, isMissed, missed, place } = this;
    const name = inTwoLines(scale.title, scale.parameter.unit);
    if (!scale.isNumeric)
      return { name, type: "category", data: this.texts, axisLabel: { interval: 0, hideOverlap: false } };
    const [low, high] = this.ends;
    const type = scale.isLog ? "log" : "value";
    if (!isMissed) return { name, type, min: low, max: high };
    const middle = scale.isLog ? Math.sqrt(low * high) : (low + high) / 2;
    const formatter = (/** @type {number} */ at) => (at < low ? missed : figure(at, 3));
    const customValues = [place, low, middle, high];
    return { name, type, min: place, max: high, axisTick: { customValues }, axisLabel: { customValues, formatter } };
  }
}

/** The chart in words.
 * @param {ShownStudy} study
 * @param {number} axes
 * @param {Result[]} worstFirst those that satisfy all bounds
 * @param {Result[]} beyond the others
 * @param {number} contradicted how many results the others contradict
 * @param {string} sample which results are drawn; empty if all are
 */
function captionOf({ direction }, axes, worstFirst, beyond, contradicted, sample) {
  const count = worstFirst.length + beyond.length + contradicted;
  const parts = [`${counted(count, "result")} across ${counted(axes, "parameter")}`];
  const best = worstFirst.at(-1)?.value;
  if (!direction) parts.push("bright lines have the larger numbers");
  else if (worstFirst.length > MAX_THICK)
    parts.push(`the best ${MAX_THICK} are thick; bright lines are the better ones`);
  else if (worstFirst.length) parts.push("bright lines are the better ones");
  if (sample) parts.push(sample);
  if (beyond.length) {
    const better = beyond.filter(
      ({ value }) => best === undefined || (direction === "minimize" ? value < best : value > best),
    );
    const among =
      direction && better.length && best !== undefined
        ? `, ${better.length} of them better than the best of the others`
        : "";
    parts.push(`dashed: ${counted(beyond.length, "result")} beyond a bound${among}`);
  }
  if (contradicted) parts.push(`red: ${counted(contradicted, "result")} that the others contradict`);
  return `${parts.join("; ")}.`;
}
