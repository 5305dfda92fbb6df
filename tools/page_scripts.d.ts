// For the type checker, what the scripts of the page find in a browser beside what every browser has. Nothing reads it
// at run time.

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

interface HTMLFormElement {
  /** Returns the body of the form's request; forms without it send their fields. */
  requestBody?: () => unknown;
  /** The field that a fault is about, by its JSON pointer. */
  fieldOf?: (pointer: string) => Element | null | undefined;
  /** A fault in the words of the form. */
  inWords?: (fault: { pointer: string; detail: string }) => string;
}

/** The colours of the page, by their names in the style sheet. */
type Colours = Record<string, string>;

/** An option of ECharts, which checks it itself. */
type ChartOption = Record<string, any>;

/** What a chart is drawn of: an option, the chart as a table and in words; or what it says for want of anything to show. */
type Drawing = Drawn | { empty: string };

interface Drawn {
  empty?: undefined;
  option: ChartOption;
  header: string[];
  rows: unknown[][];
  caption: string;
  height?: number;
}

/** What separates the decimals of a number. */
type DecimalSign = "." | ",";

/** What a column of somebody's table may be: how its cells are read, and where the value goes in a result of the API. */
interface Role {
  key: string;
  label: string;
  /** What somebody may call it. */
  names: (string | undefined)[];
  group?: string;
  field?: string;
  read?: (cell: string, sign?: DecimalSign) => unknown;
  unit?: string | null;
  isResult?: boolean;
  /** Whether its cells are numbers, so that they show which sign is decimal. */
  isNumber?: boolean;
  isNeeded?: boolean;
}

/** A row of somebody's table: its line, its cells, what they show, what is wrong with them by their columns, the result
 * for the API, why it is left out, and whether the experiment failed.
 */
interface PastedRow {
  line: number;
  cells: string[];
  shows: string[];
  faults: { i: number; text: string }[];
  item: Record<string, any> | null;
  left: string;
  isFailed: boolean;
  /** The numbers of its trial and of its result, if the table has them. */
  numbers: { trial?: number; observation?: number };
  /** What is stored of it. */
  stored: KnownRow | null;
  /** Whether the form has added it. */
  isAdded?: boolean;
}

interface KnownRow {
  trial: number | null;
  observation: number | null;
  is_same: boolean;
  value: number | null;
  metrics: Record<string, number> | null;
}

interface DrawnChart {
  setOption(option: ChartOption, how?: { replaceMerge: string[] }): void;
  on(event: "click", then: (point: any) => void): void;
  resize(): void;
  dispatchAction(action: {
    type: "showTip" | "highlight" | "downplay";
    seriesIndex?: number;
    dataIndex?: number;
  }): void;
  dispose(): void;
  renderToCanvas(how: { pixelRatio: number }): HTMLCanvasElement;
  renderToSVGString(): string;
}

declare const echarts: {
  init(
    element: Element,
    theme: null,
    how: { renderer: "canvas" | "svg"; ssr?: boolean; width?: number; height?: number },
  ): DrawnChart;
};

/** A place in a chart that somebody points to: its series, its place in it, and what was given for it. */
interface ChartPoint {
  seriesIndex: number;
  dataIndex: number;
  data: any;
}

/** What ECharts lends to what draws an item of a series itself. */
interface Canvas {
  value(dimension: number): number;
  coord(at: number[]): number[];
  size(extent: number[]): number[];
  visual(name: "color"): string;
}

/** What a quantity is called, its unit, the decimals that the study asks for or that its results usually have, and its
 * natural bounds. */
interface Quantity {
  label?: string;
  unit?: string;
  digits?: number;
  decimals?: number;
  low?: number;
  high?: number;
}

/** A parameter of a study; which fields it has depends on its kind. */
interface Parameter extends Pick<Quantity, "label" | "unit"> {
  name: string;
  kind: string;
  low?: number;
  high?: number;
  step?: number | null;
  scale?: string;
  choices?: unknown[];
  values?: unknown[];
  value?: unknown;
  descriptors?: Record<string, number[]>;
  context?: boolean;
  when?: Record<string, unknown[]>;
}

/** Where the optimum of a parameter probably is. */
interface Belief {
  around?: number;
  width?: number;
  factor?: number;
  weights?: Record<string, number>;
}

/** What a point is made of, by the names of parameters. */
type Point = Record<string, unknown>;

interface Bounds {
  metric: string;
  lower: number | null;
  upper: number | null;
}

/** What the page shows of a study, as if the metric that is shown were all that is measured. */
interface ShownStudy {
  id: string;
  state: string;
  title?: string | null;
  /** Why no new point is issued. */
  reason: string | null;
  direction?: "minimize" | "maximize";
  parameters: Parameter[];
  constraints: string[];
  algorithm: { profile?: string };
  counts: { observations: number; failed: number };
  best?: { value: number } | null;
  /** None is known, or the metric that is shown is not the objective. */
  gap: number | null;
  objectives?: { metric: string; direction: "minimize" | "maximize" }[];
  mixtures?: { parameters: string[]; total: number }[];
  plates?: { size: number; shared?: string[] } | null;
  metrics?: string[];
  outcome_constraints?: Bounds[];
  quantities?: Record<string, Quantity>;
  quantity: Quantity & { title: string };
  /** Of the metric that is shown, if it is not the objective. */
  bounds?: Bounds;
}

/** What a model says of one number. */
interface Estimate {
  mean: number;
  std: number;
}

/** A prediction whose bounds may be unknown. */
interface Bounded extends Estimate {
  lcb?: number;
  ucb?: number;
}

interface Prediction extends Estimate {
  lcb: number;
  ucb: number;
  metrics?: Record<string, Prediction>;
  feasible_probability?: number;
  finish_probability?: number;
}

/** A result that has the number which the charts show. */
interface Result {
  seq: number;
  trial: number | null;
  parameters: Point;
  value: number;
  std_error: number | null;
  metrics?: Record<string, number>;
  std_errors?: Record<string, number>;
  missing?: string[];
  excluded: boolean;
  outside?: boolean;
  observed_at: string;
  phase: string | null;
  origin: string | null;
  worker: string | null;
  cell: string | null;
  gap: number | null;
  /** Whether it is in the random sample that charts draw. */
  is_sampled: boolean;
  /** What the model said of it before; null if it said nothing, undefined if nothing of the metric that is shown. */
  expected: Prediction | null | undefined;
  /** The names of the metrics that are beyond their bounds; null if none is. */
  beyond: string[] | null;
}

/** The results in order; of many only some. Records are the results that were better than all before them. */
interface ResultHistory {
  count: number;
  results: Result[];
  /** A random sample of the results; all of them if there are few. */
  drawn: Result[];
  records: [seq: number, value: number][];
  isThinned: boolean;
}

/** A combination of parts of two parameters with results or failed trials. */
interface Tried {
  parts: [number, number];
  results: number;
  failed: number;
  low: number | null;
  high: number | null;
}

/** How many results lie where: the first and the last result of a cell, its lowest and highest value, their number. */
interface Density {
  cells: [number, number, number, number, number][];
  low: number;
  high: number;
}

interface TimelineTrial {
  number: number;
  state: string;
  worker: string | null;
  attempt: number;
  started_at: string;
  finished_at: string | null;
  value: number | null;
}

/** What a trial reported before its end. */
interface Curve {
  trial: number;
  state: string;
  value: number | null;
  worker: string | null;
  points: [step: number, value: number][];
}

/** The Pareto front of a study with several objectives. */
interface Front {
  objectives: { metric: string; direction: string; reference: number; learned: boolean }[];
  results: number;
  hypervolume: number | null;
  history: { observation: number; hypervolume: number }[];
  observed: { observation: number; trial: number | null; parameters: Point; metrics: Record<string, number> }[];
  model: {
    parameters: Point;
    metrics: Record<string, Estimate>;
    probability: number;
    feasible_probability?: number;
  }[];
}

interface Recommendation {
  model:
    | (Bounded & {
        parameters: Point;
        metrics?: Record<string, Bounded>;
        feasible_probability?: number;
        changes?: { parameter: string; gain: number }[];
      })
    | null;
  observed: {
    parameters: Point;
    value: number;
    metrics?: Record<string, number>;
    feasible?: boolean;
  } | null;
  reason: string | null;
}

interface Importance {
  results: number;
  parameters: { name: string; first_order: number; first_order_error: number; total: number; total_error: number }[];
  reason: string | null;
}

interface Validation {
  items: (Prediction & { observation: number; value: number; tail: number })[];
  verdict: { level: "unknown" | "low" | "medium" | "high"; text: string };
}

interface Slice {
  results: number;
  axes: { name: string; values: unknown[] }[];
  at: Point;
  predictions: Prediction[];
}

/** What a chart over two parameters needs of the scale of one. */
type Across = Pick<import("../service/adabkb_service/page/assets/scale.js").Scale, "name" | "axis" | "position">;

/** A cell of the partition of the space. */
interface PartitionCell extends Estimate {
  key: string;
  depth: number;
  status: string;
  low: Point;
  high: Point;
  centroid: Point;
  index: number | null;
}

interface Check {
  check: string;
  text: string;
  trial: number | null;
  metric: string | null;
  observation: number | null;
  widened: { name: string; low: number; high: number } | null;
}

interface Assessment {
  results: number;
  progress: {
    text: string;
    best: { trial: number | null; value: number } | null;
    expected: Prediction | null;
    repetition: { low: number; high: number } | null;
    measured: { count: number; mean: number } | null;
    is_doubted: boolean;
  };
  latest: { text: string } | null;
  findings: { text: string; untried: Record<string, unknown[]> } | null;
  outlook: { text: string };
  checks: Check[];
}

/** A refusal by the server, as RFC 9457 has it. */
interface Problem {
  code?: string;
  detail?: string;
  remedy?: string;
  errors?: { pointer: string; detail: string }[];
  /** The number of the stored result with which a result conflicts. */
  observation?: number;
}

/** An event of the log of a study. */
interface StudyEvent {
  seq: number;
  kind: string;
  trial: number | null;
}

/** An event with a sentence. */
interface WordedEvent extends StudyEvent {
  created_at: string;
  /** The trial that the sentence is about; empty if it is about something else. */
  subject: string;
  /** The sentence after its subject. */
  in_words: string;
  /** Whether browsers notify of the event. */
  notifies: boolean;
}

interface PageEvents {
  /** What the server has answered to a preview, and what was sent. */
  previewed: CustomEvent<{ answer: any; sent: any }>;
  /** Something of the study has changed: by a form or button of this page, or as the log of the study has told. */
  "study-changed": CustomEvent<{ isFollowed?: boolean; by?: HTMLElement }>;
  "htmx:afterRequest": CustomEvent<{ successful: boolean }>;
  "htmx:confirm": CustomEvent<{ elt: Element }>;
  "htmx:beforeSend": CustomEvent<{ xhr: XMLHttpRequest; target: Element; requestConfig: { elt: Element } }>;
  "htmx:beforeRequest": CustomEvent<{ requestConfig: { elt: Element } }>;
  "htmx:beforeSwap": CustomEvent<{ target: Element; requestConfig: { elt: Element } }>;
  "htmx:afterSwap": CustomEvent<unknown>;
  "htmx:responseError": CustomEvent<{ xhr: XMLHttpRequest }>;
}

interface HTMLElementEventMap extends PageEvents {}
interface DocumentEventMap extends PageEvents {}
