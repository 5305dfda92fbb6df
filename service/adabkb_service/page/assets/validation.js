// Each result next to its prediction from the others.

import { Chart, colours, common, hollow, numbers } from "./charts.js";
import { expected, figure, measured, numbered, titled } from "./words.js";

/** @param {import("./data.js").StudyData} data */
export function validationChart(data) {
  return new Chart(
    "validation",
    async () => {
      const [validation, { quantity }, history] = await Promise.all([data.validation(), data.study(), data.history()]);
      if (validation.verdict.level === "unknown") return { empty: validation.verdict.text };
      const ink = colours();
      const [low, high] = extent(validation.items);
      const results = new Map(history.results.map((each) => [each.seq, each])); // of a large study, only some
      /** @type {(name: string, color: string, items: Validation["items"], symbol?: string) => ChartOption[]} */
      const group = (name, color, items, symbol = "circle") => [
        {
          type: "scatter",
          name,
          symbol,
          symbolSize: symbol === "circle" ? 8 : 11,
          z: 4,
          itemStyle: symbol === "circle" ? { color } : hollow(color),
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
          ...group("in its interval", ink.accent, validation.items.filter(isInside)),
          ...group(
            "outside",
            ink.bad,
            validation.items.filter((each) => !isInside(each)),
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
      option.legend.data = validation.items.every(isInside) ? ["in its interval"] : ["in its interval", "outside"];
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
      return {
        option,
        header: [...header],
        rows: validation.items.map((each) => header.map((name) => each[name])),
        caption: validation.verdict.text,
      };
    },
    { select: ({ data: { each } }) => location.assign(`${data.page}/results/${each.observation}`) },
  );
}

/** Whether a result lies in its interval.
 * @param {{ value: number, lcb: number, ucb: number }} result
 */
const isInside = ({ value, lcb, ucb }) => lcb <= value && value <= ucb;

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
