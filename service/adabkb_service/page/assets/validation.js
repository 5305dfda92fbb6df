// Each result next to its prediction from the others.

import { Chart, colours, common, numbers } from "./charts.js";
import { expected, figure, inPoints, measured, numbered, titled } from "./words.js";

const FEWEST = 8; // minimum number of results for an answer
const HALF_WIDTH = 1.6449; // half of a 90% interval, in standard deviations
const [WIDE, POOR] = [0.8, 0.85]; // of the range of all results, and of the error of the median: no merit from here on
const REASONS = {
  too_few_results: "Too few results: at least four are needed.",
  constant: "The model cannot be validated: the results are all equal or too far apart.",
  not_this_system: "Only models of the profile auto can be validated.",
};

/** @param {import("./data.js").StudyData} data */
export function validationChart(data) {
  return new Chart(
    "validation",
    async () => {
      const [found, study, history, assessment] = await Promise.all([
        data.validation(),
        data.study(),
        data.history(),
        data.assessment().catch(() => null),
      ]);
      const { quantity } = study;
      if (found.reason) return { empty: REASONS[found.reason] };
      const ink = colours();
      const [low, high] = extent(found.items);
      const results = new Map(history.results.map((each) => [each.seq, each])); // of a large study, only some
      /** @type {(name: string, color: string, items: Validation["items"], symbol?: string) => ChartOption[]} */
      const group = (name, color, items, symbol = "circle") => [
        {
          type: "scatter",
          name,
          symbol,
          symbolSize: symbol === "circle" ? 8 : 11,
          z: 4,
          itemStyle: symbol === "circle" ? { color } : { color: "none", borderColor: color, borderWidth: 1.8 },
          data: items.map((each) => ({ value: [each.value, each.mean], each })),
        },
        bars(items, color),
      ];
      /** @type {ChartOption} */
      const option = {
        ...common(ink),
        grid: { left: 8, right: 24, top: 52, bottom: 32, containLabel: true },
        xAxis: numbers(ink, {
          name: titled("measured", "", quantity.unit),
          nameLocation: "middle",
          nameGap: 26,
          min: low,
          max: high,
          axisLabel: label(ink),
          splitLine: { show: false },
        }),
        yAxis: numbers(ink, {
          name: titled("predicted", "", quantity.unit),
          min: low,
          max: high,
          axisLabel: label(ink),
        }),
        series: [
          ...group("in its interval", ink.accent, found.items.filter(isInside)),
          ...group(
            "outside",
            ink.bad,
            found.items.filter((each) => !isInside(each)),
            "diamond",
          ),
          {
            type: "line",
            silent: true,
            symbol: "none",
            lineStyle: { color: ink.muted, type: "dashed", width: 1 },
            data: [
              [low, low],
              [high, high],
            ],
          },
        ],
      };
      option.legend.data = found.items.every(isInside) ? ["in its interval"] : ["in its interval", "outside"];
      option.tooltip = {
        ...option.tooltip,
        formatter: (/** @type {{ data: { each: Validation["items"][0] } }} */ { data: { each } }) =>
          [
            ...[results.get(each.observation)].flatMap((result) => (result ? [numbered(result)] : [])),
            `measured ${measured(each.value, quantity)}`,
            `predicted ${expected(each, quantity)}`,
          ].join("\n"),
      };
      const header = /** @type {const} */ (["observation", "value", "mean", "std", "lcb", "ucb", "tail"]);
      const counted = found.items.filter((each) => !each.repeated);
      return {
        option,
        header: [...header],
        rows: found.items.map((each) => header.map((name) => each[name])),
        said: said(found, counted.length ? counted : found.items, suggested(study, history, assessment), quantity),
      };
    },
    { select: ({ data: { each } }) => location.assign(`${data.page}/results/${each.observation}`) },
  );
}

/** Whether a result lies in its interval.
 * @param {{ value: number, lcb: number, ucb: number }} result
 */
const isInside = ({ value, lcb, ucb }) => lcb <= value && value <= ucb;

/** The results whose trials had a reliable prediction when they were suggested, each with the 90% interval of a result
 * then. An interval of the mean is widened by the noise.
 * @param {ShownStudy} study
 * @param {ResultHistory} history
 * @param {Assessment | null} assessment
 */
function suggested({ algorithm, objectives }, { drawn }, assessment) {
  if (!assessment || algorithm.profile !== "auto" || objectives?.length) return [];
  const { fewest, noise } = assessment.outlook;
  const widened = (/** @type {number} */ half) => Math.hypot(half, HALF_WIDTH * (noise ?? 0));
  return drawn.flatMap(({ seq, value, excluded, expected: at }) => {
    if (excluded || !at || at.lcb === undefined || at.ucb === undefined || seq <= (fewest ?? 0)) return [];
    return [{ value, lcb: at.mean - widened(at.mean - at.lcb), ucb: at.mean + widened(at.ucb - at.mean) }];
  });
}

/** How many results lie in their intervals, and how many should.
 * @param {{ value: number, lcb: number, ucb: number }[]} all
 */
const share = (all) => `${all.filter(isInside).length} of ${all.length} (${Math.round(0.9 * all.length)} expected)`;

/** Whether clearly fewer results lie in their 90% intervals than should.
 * @param {{ value: number, lcb: number, ucb: number }[]} all
 */
const isTooSure = (all) =>
  all.length > 0 && all.filter(isInside).length / all.length < 0.9 - 3 * Math.sqrt((0.9 * 0.1) / all.length);

/** The chart in words. The first words are the answer.
 * @param {Validation} found
 * @param {Validation["items"]} counted those items that no repetition predicts
 * @param {ReturnType<typeof suggested>} before
 * @param {Quantity} quantity
 */
function said({ items, results, error, error_of_median: ofMedian }, counted, before, quantity) {
  const values = items.map((each) => each.value);
  const range = Math.max(...values) - Math.min(...values);
  const widths = counted.map((each) => each.ucb - each.lcb).sort((a, b) => a - b);
  const isWide = widths[Math.floor(widths.length / 2)] >= WIDE * range;
  const isPoor = error !== null && ofMedian !== null && error >= POOR * ofMedian;
  const isNarrow = isTooSure(counted) || isTooSure(before);
  const answer =
    counted.length < FEWEST
      ? "Too early to say"
      : isPoor
        ? "No"
        : isWide
          ? "Hardly"
          : isNarrow
            ? "Partly: its intervals are too narrow"
            : "Mostly";
  const of = items.length < results ? ` (of ${results}, only ${items.length} are judged)` : "";
  const sentences = [
    `${answer}. From the other results, the model predicts ${share(counted)} in its 90% intervals${of}.`,
  ];
  if (before.length)
    sentences.push(`With the suggestions, before the results were known, it predicted ${share(before)}.`);
  if (isWide) sentences.push("This is no merit: the intervals are nearly as wide as the range of all results.");
  const typical = `${inPoints(error ?? 0, quantity)} on average`;
  sentences.push(`It is off by ${typical}; guessing the median would be off by ${inPoints(ofMedian ?? 0, quantity)}.`);
  const repeated = items.length - counted.length;
  if (repeated) sentences.push(`${repeated} results at repeated points do not count, since they predict each other.`);
  return sentences.join(" ");
}

/** @param {Colours} ink */
const label = (ink) => ({
  color: ink.muted,
  hideOverlap: true,
  showMinLabel: false,
  showMaxLabel: false,
  formatter: (/** @type {number} */ at) => figure(at, 3),
});

/** The extent of results and predictions; intervals may extend beyond it.
 * @param {Validation["items"]} items
 */
function extent(items) {
  const all = items.flatMap((each) => [each.value, each.mean]);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const more = (most - least || Math.abs(most) || 1) * 0.06;
  return [least - more, most + more];
}

/** The intervals of predictions.
 * @param {Validation["items"]} items
 * @param {string} stroke
 */
function bars(items, stroke) {
  return {
    type: "custom",
    clip: true,
    silent: true,
    z: 3,
    data: items.map((each) => [each.value, each.lcb, each.ucb]),
    encode: { x: 0, y: [1, 2] },
    renderItem: (/** @type {unknown} */ _, /** @type {Canvas} */ api) => {
      const [x, bottom] = api.coord([api.value(0), api.value(1)]);
      const [, top] = api.coord([api.value(0), api.value(2)]);
      return {
        type: "line",
        shape: { x1: x, y1: bottom, x2: x, y2: top },
        style: { stroke, lineWidth: 1.5, opacity: 0.45 },
      };
    },
  };
}
