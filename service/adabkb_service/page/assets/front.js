// The best compromises of a study with several objectives (the Pareto front), and their progress (the hypervolume).

import { Chart, colours, common, hollow, numbers, roomForLegend, visibleSteps } from "./charts.js";
import { boundOf, progressOf, quantitiesOf, resultsAt } from "./compromises.js";
import { byId } from "./elements.js";
import { conditions } from "./scale.js";
import { counted, expected, figure, measured, numbered, ofInterval, plusMinus, sampleOf, titled } from "./words.js";

const DECADE = 10;

/** @param {import("./data.js").StudyData} data */
export function frontChart(data) {
  const [across, up] = ["front-x", "front-y"].map((id) => byId(id, HTMLSelectElement));
  return new Chart(
    "front",
    async () => {
      const [front, history, study] = await Promise.all([data.front(), data.history(), data.study()]);
      const { quantities = {} } = study;
      const title = (/** @type {string} */ name) => titled(name, quantities[name]?.label, quantities[name]?.unit);
      if (!front.results) return { empty: "No results yet." };
      const ink = colours();
      const names = front.objectives.map((each) => each.metric);
      const [x, y] = [across.value, up.value];
      const on = new Set(front.observed.map((each) => each.observation));
      const place = (/** @type {{ metrics?: Record<string, number> }} */ result) => ({
        value: [result.metrics?.[x], result.metrics?.[y]],
        result,
      });
      const others = history.drawn.filter(
        (each) => !each.excluded && !on.has(each.seq) && names.every((name) => each.metrics?.[name] !== undefined),
      );
      const violating = others.filter((each) => each.beyond);
      const observed = front.observed.map((each) => ({ ...each, seq: each.observation }));
      const model = front.model
        .filter((each) => names.every((name) => each.metrics[name]))
        .map((each) => {
          const there = resultsAt(each.parameters, history.results, study);
          return {
            value: [each.metrics[x].mean, each.metrics[y].mean],
            estimate: each,
            of: there.map(numbered).join(", "),
            result: there.at(-1),
          };
        });
      /** The axis of an objective: on a log scale, if its values are positive and span more than a decade.
       * @param {string} name
       */
      const typeOf = (name) => {
        const values = [
          ...[...others, ...observed].map((each) => each.metrics?.[name] ?? NaN),
          ...model.map(({ estimate }) => estimate.metrics[name].mean),
        ];
        const least = Math.min(...values);
        return least > 0 && Math.max(...values) > DECADE * least ? "log" : "value";
      };
      const legend = ["results", "best compromises by the model", "best compromises"];
      /** @type {ChartOption} */
      const option = {
        ...common(ink),
        grid: {
          left: 8,
          right: 24,
          top: 52 + roomForLegend("front", [...legend, ...(violating.length ? ["violates a bound"] : [])]),
          bottom: 32,
          containLabel: true,
        },
        xAxis: numbers(ink, { type: typeOf(x), name: title(x), nameLocation: "middle", nameGap: 26, scale: true }),
        yAxis: numbers(ink, {
          type: typeOf(y),
          name: title(y),
          nameTextStyle: { color: ink.muted, align: "left" },
          scale: true,
        }),
        series: [
          {
            type: "scatter",
            name: "results",
            symbolSize: 7,
            itemStyle: { color: ink.muted, opacity: 0.5 },
            data: others.filter((each) => !each.beyond).map(place),
          },
          ...(violating.length
            ? [
                {
                  type: "scatter",
                  name: "violates a bound",
                  symbol: "triangle",
                  symbolSize: 9,
                  itemStyle: hollow(ink.bad, 1.5),
                  data: violating.map(place),
                },
              ]
            : []),
          {
            type: "scatter",
            name: "best compromises by the model",
            symbol: "diamond",
            symbolSize: 13,
            z: 3,
            itemStyle: hollow(ink.warn),
            data: model,
          },
          {
            type: "scatter",
            name: "best compromises",
            symbolSize: 9,
            z: 4,
            itemStyle: { color: ink.accent },
            data: observed.map(place),
          },
        ],
      };
      option.tooltip = {
        ...option.tooltip,
        formatter: (/** @type {{ data: any }} */ { data: point }) => tooltipOf(point, study),
      };
      const columns = quantitiesOf(study);
      const header = ["observation", "trial", "is_on_front", "violates_a_bound", ...columns];
      const being = on.size === 1 ? "is a best compromise" : "are best compromises";
      const rows = [...observed, ...others]
        .sort((a, b) => a.seq - b.seq)
        .map((each) => [
          each.seq,
          each.trial,
          on.has(each.seq),
          violating.some(({ seq }) => seq === each.seq),
          ...columns.map((name) => each.metrics?.[name]),
        ]);
      return {
        option,
        header,
        rows,
        caption: [
          `${on.size} of ${counted(front.results, "result")} ${being}`,
          violating.length
            ? `${counted(violating.length, "result")} ${violating.length === 1 ? "violates" : "violate"} a bound`
            : "",
          sampleOf(history),
        ]
          .filter(Boolean)
          .join("; "),
      };
    },
    { select: ({ data: point }) => point?.result?.trial && location.assign(data.trialPage(point.result.trial)) },
  );
}

/** @param {import("./data.js").StudyData} data */
export function volumeChart(data) {
  return new Chart("volume", async () => {
    const [front, { quantities = {} }] = await Promise.all([data.front(), data.study()]);
    const last = front.history.at(-1);
    if (!last)
      return { empty: front.results ? "No result is better than the reference point yet." : "No results yet." };
    const ink = colours();
    /** @type {[number, number][]} */
    const line = front.history.map((each) => [each.observation, each.hypervolume]);
    const end = Math.max(front.results, last.observation);
    const highest = front.hypervolume ?? last.hypervolume;
    /** @type {ChartOption} */
    const option = {
      ...common(ink),
      legend: { show: false },
      grid: { left: 8, right: 24, top: 24, bottom: 32, containLabel: true },
      xAxis: numbers(ink, {
        name: "result",
        nameLocation: "middle",
        nameGap: 26,
        min: 0,
        minInterval: 1,
        splitLine: { show: false },
      }),
      yAxis: numbers(ink, { min: 0 }),
      series: [
        {
          type: "line",
          step: "end",
          symbol: "none",
          lineStyle: { width: 2.5, color: ink.accent },
          data: visibleSteps([...line, [end, highest]], highest),
        },
      ],
    };
    const reference = front.objectives.map(({ metric, reference: at, learned }) => {
      const known = quantities[metric] ?? {};
      return `${known.label ?? metric} ${measured(at, known)}${learned ? " (the worst result)" : ""}`;
    });
    return {
      option,
      header: ["observation", "hypervolume"],
      rows: line,
      caption: `${progressOf(front)}; counted from ${reference.join(", ")}.`,
    };
  });
}

/** A point in words: an estimate of the model, or a result.
 * @param {any} point
 * @param {ShownStudy} study
 */
function tooltipOf(point, study) {
  const { quantities = {}, algorithm } = study;
  const line = (/** @type {string} */ name, /** @type {string} */ words) =>
    `${quantities[name]?.label ?? name} ${words}${boundOf(study, name)}`;
  const names = quantitiesOf(study);
  if (point?.estimate) {
    const { metrics, probability, feasible_probability: feasible } = point.estimate;
    return [
      `expected by the model${point.of ? `; measured: ${point.of}` : ""}`,
      ...names
        .filter((name) => metrics[name])
        .map((name) => line(name, expected(ofInterval(metrics[name], algorithm), quantities[name]))),
      `a best compromise with probability ${figure(probability, 2)}`,
      ...(feasible === undefined ? [] : [`satisfies all bounds with probability ${figure(feasible, 2)}`]),
      ...conditions(study, point.estimate.parameters),
    ].join("\n");
  }
  const result = point?.result;
  if (!result) return "";
  const measuredOf = (/** @type {string} */ name) =>
    plusMinus(result.metrics[name], result.std_errors?.[name], quantities[name]);
  return [
    `${numbered(result)}${result.beyond ? `: violates the bounds of ${labels(study, result.beyond)}` : ""}`,
    ...names.filter((name) => result.metrics[name] !== undefined).map((name) => line(name, measuredOf(name))),
    ...conditions(study, result.parameters),
  ].join("\n");
}

/** @param {ShownStudy} study
 * @param {string[]} names of metrics
 */
const labels = ({ quantities = {} }, names) => names.map((name) => quantities[name]?.label ?? name).join(", ");
