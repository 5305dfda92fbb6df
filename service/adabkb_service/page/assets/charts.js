// The frame of every chart. A chart is drawn when it comes into view, and again when the study has changed. Its points
// can be visited by the keyboard, and it can be saved as SVG, PNG or CSV. If there is nothing to draw, it says why.
// In a report, which is printed, all chosen charts are drawn.

import { messageOf, statusOf } from "./caught.js";
import { byId, closest, createElement, dataOf, query, queryAll } from "./elements.js";
import { showToast } from "./toasts.js";
import { figure, measured } from "./words.js";

/** The colours of the page, as they are now: light or dark.
 * @returns {Colours}
 */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["paper", "surface", "ink", "muted", "line", "accent", "good", "warn", "bad"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** The red, green and blue parts of a colour, from 0 to 255.
 * @param {string} colour such as #0b6b70 or rgba(11,107,112,1)
 */
const partsOf = (colour) =>
  colour.startsWith("#")
    ? [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
    : (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);

/** Whether dark text is easier to read on a colour than white text.
 * @param {string} colour
 */
export function isLight(colour) {
  const [red, green, blue] = partsOf(colour);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140;
}

/** A pale form of a colour on a background.
 * @param {string} colour
 * @param {string} ground
 */
export function mixed(colour, ground) {
  const [one, other] = [partsOf(colour), partsOf(ground)];
  return `rgb(${one.map((part, i) => Math.round(0.2 * part + 0.8 * other[i])).join(",")})`;
}

/** From low to high (viridis), distinguishable with any colour vision. */
export const RAMP = [
  "#440154",
  "#482878",
  "#3e4a89",
  "#31688e",
  "#26828e",
  "#1f9e89",
  "#35b779",
  "#6ece58",
  "#b5de2b",
  "#fde725",
];

/** Colours for any colour vision (Okabe and Ito); dashes and symbols that stay visible above others. */
const APART = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"];
const DASHES = ["solid", "dashed", "dotted"];
const SYMBOLS = ["circle", "triangle", "diamond", "rect", "arrow"];

/** The style of one of several series, distinguishable from the others.
 * @param {number} place its index among all series
 */
export const apart = (place) => ({
  color: APART[place % APART.length],
  type: DASHES[(place + Math.floor(place / APART.length)) % DASHES.length],
  symbol: SYMBOLS[place % SYMBOLS.length],
});

/** The font of the page. ECharts writes it into an attribute of an SVG unescaped, so its names have single quotation
 * marks.
 */
const font = () => getComputedStyle(document.body).fontFamily.replaceAll('"', "'");

/** Characters that no XML document may contain, not even escaped. */
const NOT_XML = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;
/** Excel reads a CSV file as UTF-8 only if it begins with this mark. */
const BYTE_ORDER_MARK = "\uFEFF";

/** The options that all charts have in common. Tooltips are drawn, not made of HTML, so that no text of a user can
 * become an element.
 * @param {Colours} ink
 * @returns {ChartOption}
 */
export function common(ink) {
  return {
    animation: false,
    backgroundColor: "transparent",
    textStyle: { fontFamily: font(), color: ink.ink },
    tooltip: {
      renderMode: "richText",
      confine: true,
      backgroundColor: ink.surface,
      borderColor: ink.line,
      textStyle: { color: ink.ink, fontSize: 13, fontWeight: "normal" },
    },
    legend: {
      textStyle: { color: ink.muted },
      inactiveColor: ink.line,
      top: 0,
      left: 0,
      itemHeight: 10,
      itemWidth: 16,
    },
  };
}

/** The style of a symbol that is only an outline. Its inside is transparent, not absent, so that the pointer hits it.
 * @param {string} color
 */
export const hollow = (color, borderWidth = 1.8) => ({ color: "transparent", borderColor: color, borderWidth });

const AXIS_DIGITS = 7; // maximum number of significant digits
const LEGEND_LINE = 24; // height of a line, in pixels
const LEGEND_LETTER = 6.8; // average width of a letter, in pixels
const LEGEND_MARK = 40; // width of a mark with its gaps, in pixels

/** The height in pixels of a legend above a narrow chart, without its first line.
 * @param {string} chart
 * @param {string[]} names of the legend
 */
export function roomForLegend(chart, names) {
  const width = query(byId(chart, HTMLElement), ".plot", HTMLElement).clientWidth || Infinity;
  let [lines, used] = [0, 0];
  for (const name of names) {
    const needed = LEGEND_MARK + LEGEND_LETTER * name.length;
    if (used > 0 && used + needed > width) [lines, used] = [lines + 1, 0];
    used += needed;
  }
  return LEGEND_LINE * lines;
}

const STEPS_UP = 150; // a step that is lower than this part of the axis is not drawn as one

/** A line of steps without those that are too low to be seen: ECharts would draw each of them as a slope.
 * @param {[number, number][]} line
 * @param {number} extent of the axis
 */
export function visibleSteps(line, extent) {
  /** @type {[number, number][]} */
  const kept = [];
  for (const [i, point] of line.entries()) {
    const last = kept.at(-1);
    const isHigh = last === undefined || Math.abs(point[1] - last[1]) > extent / STEPS_UP;
    if (isHigh) kept.push(point);
    else if (i === line.length - 1) kept.push([point[0], last[1]]);
  }
  return kept;
}

export const NO_LOG = "only for numbers above 0";

/** Enable a box, or disable it and say why beside it.
 * @param {HTMLInputElement} box in its label
 * @param {boolean} isAllowed
 * @param {string} why not
 */
export function allow(box, isAllowed, why) {
  box.disabled = !isAllowed;
  const label = closest(box, "label", HTMLLabelElement);
  label.querySelector("small")?.remove();
  if (!isAllowed) label.append(createElement("small", {}, why));
}

const MIN_PLOT = 160; // height between the axes, in pixels
const BELOW_AXIS = 22; // height of the labels of an axis, in pixels

/** The height in pixels of the plot of a chart that needs no more than others: that of the style sheet.
 * @param {string} chart
 */
function usualHeight(chart) {
  const plot = query(byId(chart, HTMLElement), ".plot", HTMLElement);
  const { height } = plot.style; // of the last drawing
  plot.style.height = "";
  const usual = Number.parseFloat(getComputedStyle(plot).height);
  plot.style.height = height;
  return usual;
}

/** The height in pixels of a chart that needs more than the usual one; undefined if the usual one is enough.
 * @param {string} chart
 * @param {number} needed
 */
export const heightFor = (chart, needed) => (needed > usualHeight(chart) ? needed : undefined);

/** The height in pixels of a chart whose grid needs more than the usual one; undefined if the usual one is enough.
 * @param {string} chart
 * @param {{ top: number, bottom: number }} grid without the labels of its axis
 */
export const heightAround = (chart, { top, bottom }) => heightFor(chart, top + MIN_PLOT + BELOW_AXIS + bottom);

/** A number at an axis.
 * @param {number} at
 */
const tick = (at) => figure(at, AXIS_DIGITS);

/** An axis of plain numbers.
 * @param {Colours} ink
 * @param {ChartOption} [more]
 * @returns {ChartOption}
 */
export function numbers(ink, more = {}) {
  return {
    type: "value",
    axisLabel: { color: ink.muted, hideOverlap: true, formatter: tick },
    axisLine: { onZero: false, lineStyle: { color: ink.line } },
    splitLine: { lineStyle: { color: ink.line, opacity: 0.6 } },
    nameTextStyle: { color: ink.muted },
    ...more,
  };
}

/** The colour scale next to a chart.
 * @param {Colours} ink
 * @param {number[]} values
 * @param {{ dimension: number, isReversed: boolean, seriesIndex?: number, name?: string,
 *   digits?: number, colours?: string[] }} how digits: of the ends, if the study asks for them
 * @returns {ChartOption}
 */
export function ramp(
  ink,
  values,
  { dimension, isReversed, seriesIndex = 0, name = "", digits, colours: range = RAMP },
) {
  const finite = values.filter(Number.isFinite);
  const [min, max] = [Math.min(...finite), Math.max(...finite)];
  // so many significant digits tell the ends apart
  const significant = [4, 6, 9].find((each) => figure(min, each) !== figure(max, each)) ?? 4;
  const [low, high] = [min, max].map((each) =>
    digits === undefined ? figure(each, significant) : measured(each, { digits }),
  );
  return {
    type: "continuous",
    min,
    max: max > min ? max : min + 1,
    dimension,
    seriesIndex,
    inRange: { color: isReversed ? [...range].reverse() : range },
    orient: "horizontal",
    left: "center",
    bottom: 0,
    itemHeight: innerWidth < 640 ? 70 : 140,
    itemWidth: 12,
    text: [`${high} ${name}`, low],
    calculable: false,
    textStyle: { color: ink.muted },
    precision: 4,
  };
}

/** The class of a page that is light even if the browser is dark, with charts in the width of paper. */
export const PAPER = "paper";
const BUSY = 503; // HTTP status
const MIN_MILLISECONDS = 2500;
const SHARE_OF_TIME = 0.1;
const PAPER_PIXELS = 640; // the width of a chart on A4 and on Letter
const PNG_PIXELS = 2; // pixels of a PNG per pixel of the page

/** The effect of arrow keys: another series, or another point. */
const STEPS = /** @type {Record<string, [number, number]>} */ ({
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
  ArrowDown: [1, 0],
  ArrowUp: [-1, 0],
});

/** A chart on the page.
 *
 * make() returns {option, header, rows, caption, height?} or {empty: a sentence}. The option is for ECharts, the header
 * and the rows are the chart as a table, and the caption is the chart in words.
 */
export class Chart {
  /**
   * @param {string} name of its frame
   * @param {(chart: Chart) => Promise<Drawing>} make
   * @param {{ select?: (point: any) => void }} [more] what a click on a point does
   */
  constructor(name, make, { select } = {}) {
    this.frame = byId(name, HTMLElement);
    this.plot = query(this.frame, ".plot", HTMLElement);
    this.caption = query(this.frame, ".caption", HTMLElement);
    this.make = make;
    this.select = select;
    this.isDue = true;
    this.isVisible = false;
    this.isRefusedAsBusy = false; // at the last attempt
    this.isDrawing = false;
    this.hasMore = false; // whether another part has arrived since the last drawing began
    /** The parts that had not arrived when the last drawing was made, without those that have failed since.
     * @type {Set<unknown>}
     */
    this.missing = new Set();
    this.isLoading = () => false; // whether further parts are expected
    this.wasLoading = false; // when the last drawing began
    this.drawnAt = 0;
    this.pause = MIN_MILLISECONDS;
    for (const button of queryAll(this.frame, "[data-save]", HTMLElement)) {
      button.addEventListener("click", () => this.save(dataOf(button, "save")));
    }
    query(this.frame, ".controls", HTMLElement).addEventListener("change", () => this.due(true));
    this.spoken = query(this.frame, "[role=status]", HTMLElement);
    this.at = { series: -1, point: 0 };
    this.plot.addEventListener("keydown", (event) => this.walk(event));
    this.isPrinted = this.frame.closest("[data-draws=all]") !== null;
    if (this.isPrinted) this.isVisible = true;
    else this.plot.tabIndex = 0; // it is drawn when the keyboard reaches it
    if (!this.isPrinted)
      new IntersectionObserver(
        ([entry]) => {
          this.isVisible = entry.isIntersecting;
          if (this.isVisible) this.due();
        },
        { rootMargin: "300px" },
      ).observe(this.frame);
    new ResizeObserver(() => this.chart?.resize()).observe(this.plot);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.due(true));
  }

  /** Redraw the chart when it is next visible, but not too often. */
  due(now = false) {
    if (now || this.drawnAt === 0) this.isDue = true;
    if (now && !this.isDrawing) {
      clearTimeout(this.timer);
      this.timer = undefined;
    }
    if (!this.isDue || !this.isVisible || this.timer) return;
    const wait = now ? 0 : Math.max(0, this.drawnAt + this.pause - Date.now());
    this.timer = setTimeout(() => this.draw(), wait);
  }

  /** The study has changed. */
  changed() {
    this.isDue = true;
    this.due();
  }

  /** Another part of what the chart shows has arrived: redraw it at once, since this sends no request. */
  more() {
    this.hasMore = true;
    this.due(true);
  }

  /** Mark the chart as busy while parts of it are missing. */
  showBusy() {
    if (!this.isDrawing) this.frame.setAttribute("aria-busy", String(this.wasLoading || this.missing.size > 0));
  }

  /** Draw the chart now, even if it is not visible. */
  async drawn() {
    clearTimeout(this.timer);
    await this.draw();
  }

  async draw() {
    this.isDue = false;
    this.hasMore = false;
    this.missing = new Set();
    this.isDrawing = true;
    this.isRefusedAsBusy = false;
    this.drawnAt = Date.now();
    this.wasLoading = this.isLoading();
    try {
      const made = await this.make(this);
      this.made = made;
      if (made.empty !== undefined) this.setState("empty", made.empty);
      else this.show(made);
    } catch (error) {
      console.debug(error);
      this.isRefusedAsBusy = statusOf(error) === BUSY;
      if (statusOf(error) === 422) this.setState("empty", messageOf(error));
      else if (this.frame.dataset.state !== "shown")
        this.setState("failed", `${messageOf(error)} The page tries again when the study changes.`);
    }
    this.timer = undefined;
    this.isDrawing = false;
    this.showBusy();
    // Requests that take the server long, because the study is large, are sent less often.
    this.pause = Math.max(MIN_MILLISECONDS, (Date.now() - this.drawnAt) / SHARE_OF_TIME);
    if (this.isDue) this.due(this.hasMore);
  }

  /** Show a message in place of the chart, or below it.
   * @param {"shown" | "empty" | "failed"} state
   * @param {string} text
   */
  setState(state, text) {
    this.frame.dataset.state = state;
    this.caption.textContent = text;
  }

  /** @param {Drawn} made */
  show({ option, caption, height }) {
    this.setState("shown", caption);
    this.plot.style.height = height ? `${height}px` : "";
    if (!this.chart) {
      this.chart = echarts.init(this.plot, null, { renderer: this.isPrinted ? "svg" : "canvas" });
      if (this.select) this.chart.on("click", this.select);
    }
    this.chart.resize();
    const edge = { borderColor: colours().ink, borderWidth: 3 };
    for (const place of this.walked()) option.series[place].emphasis ??= { scale: 1.6, itemStyle: edge };
    const replaced = ["series", "xAxis", "yAxis", "grid", "visualMap", "parallelAxis"];
    this.chart.setOption(option, { replaceMerge: replaced.filter((part) => part in option) });
    if (!this.walked().includes(this.at.series)) this.at = { series: -1, point: 0 };
    this.reach();
  }

  /** Make the chart reachable by the keyboard if it has points. */
  reach() {
    const isWalked = this.walked().length > 0;
    this.plot.setAttribute("role", isWalked ? "application" : "img");
    if (isWalked) this.plot.tabIndex = 0;
    else this.plot.removeAttribute("tabindex");
  }

  /** The indices of the series whose points have descriptions.
   * @returns {number[]}
   */
  walked() {
    const { made } = this;
    if (!made || made.empty !== undefined || !made.option.tooltip?.formatter || this.isPrinted) return [];
    return made.option.series.flatMap((/** @type {ChartOption} */ { silent, data }, /** @type {number} */ i) =>
      silent || !data?.length ? [] : [i],
    );
  }

  /** Move to another point and describe it; Enter has the effect of a click on the point.
   * @param {KeyboardEvent} event
   */
  walk(event) {
    const [step, places, { made }] = [STEPS[event.key], this.walked(), this];
    if (!places.length || !made || made.empty !== undefined) return;
    if (event.key === "Enter" && this.at.series >= 0) {
      event.preventDefault(); // the same key press would submit a form that it opens
      this.select?.(this.pointed(made));
    }
    if (!step) return;
    event.preventDefault();
    const place = places.indexOf(this.at.series);
    const series = places[Math.min(Math.max(place + (place < 0 ? 1 : step[0]), 0), places.length - 1)];
    const last = made.option.series[series].data.length - 1;
    const point = place < 0 ? 0 : Math.min(Math.max(this.at.point + step[1], 0), last);
    this.at = { series, point };
    this.chart?.dispatchAction({ type: "downplay" });
    for (const type of /** @type {const} */ (["highlight", "showTip"]))
      this.chart?.dispatchAction({ type, seriesIndex: series, dataIndex: point });
    const { trigger, formatter } = made.option.tooltip;
    this.spoken.textContent = formatter(trigger === "axis" ? [this.pointed(made)] : this.pointed(made));
  }

  /** The point that has the keyboard focus, in the form of a click event of ECharts.
   * @param {Drawn} made
   */
  pointed({ option }) {
    const { series, point } = this.at;
    const { name, data } = option.series[series];
    const value = data[point]?.value ?? data[point];
    const labels = [option.xAxis, option.yAxis].find((axis) => axis?.type === "category")?.data;
    return { seriesIndex: series, dataIndex: point, seriesName: name, data: data[point], value, name: labels?.[point] };
  }

  /** Add a drawing for paper below the chart, which only the printed page shows. */
  toPaper() {
    const { made: chart } = this;
    if (this.sheet || !chart || chart.empty !== undefined) return;
    const size = { width: PAPER_PIXELS, height: this.plot.getBoundingClientRect().height };
    const sheet = createElement("div", { className: "sheet" });
    this.plot.after(sheet);
    this.sheet = echarts.init(sheet, null, { renderer: "svg", ...size });
    this.sheet.setOption({ ...chart.option, animation: false });
  }

  /** Remove the drawing for paper. */
  offPaper() {
    this.sheet?.dispose();
    this.sheet = undefined;
    this.frame.querySelector(".sheet")?.remove();
  }

  /** Save the chart as a file.
   * @param {string} kind svg, png or csv
   */
  save(kind) {
    const { made } = this;
    if (!made || made.empty !== undefined) return;
    const name = `${dataOf(byId("study", HTMLElement), "study")}-${this.frame.id}.${kind}`;
    if (kind === "png")
      this.drawing(made, "canvas", (drawn) =>
        drawn.renderToCanvas({ pixelRatio: PNG_PIXELS }).toBlob((blob) => {
          if (blob) download(name, blob);
          else showToast("The browser cannot make a PNG of this chart. Save it as SVG instead.");
        }),
      );
    else if (kind === "svg") download(name, new Blob([this.svg(made)], { type: "image/svg+xml" }));
    else download(name, new Blob([csv(made)], { type: "text/csv" }));
  }

  /** @param {Drawn} made */
  svg(made) {
    return this.drawing(made, "svg", (drawn) => drawn.renderToSVGString().replace(NOT_XML, "\uFFFD"));
  }

  /** The result of a function of the chart, redrawn with a background.
   * @template T
   * @param {Drawn} made
   * @param {"canvas" | "svg"} renderer
   * @param {(drawn: DrawnChart) => T} use
   */
  drawing(made, renderer, use) {
    const { width, height } = this.plot.getBoundingClientRect();
    const drawn = echarts.init(document.createElement("div"), null, {
      renderer,
      ssr: renderer === "svg",
      width,
      height,
    });
    drawn.setOption({ ...made.option, backgroundColor: colours().surface });
    const result = use(drawn);
    drawn.dispose();
    return result;
  }
}

/** @param {Drawn} made */
function csv({ header, rows }) {
  /** @param {unknown} value */
  const cell = (value) => {
    const text =
      value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [header, ...rows].map((row) => row.map(cell).join(","));
  return `${BYTE_ORDER_MARK}${lines.join("\r\n")}\r\n`;
}

/** Save a file.
 * @param {string} name
 * @param {Blob} blob
 */
function download(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // a busy browser may begin the download late
}
