// For the type checker, what the scripts of the page find in a browser beside what every browser has. Nothing reads it
// at run time.

interface HTMLFormElement {
  /** What the form sends; forms without it send their fields. */
  made?: () => unknown;
  /** The field that a fault is about, by its JSON pointer. */
  fieldOf?: (pointer: string) => Element | null | undefined;
  /** A fault in the words of the form. */
  inWords?: (fault: { pointer: string; detail: string }) => string;
}

/** An option of ECharts, which checks it itself. */
type ChartOption = Record<string, any>;

/** What a chart is drawn of: an option, the chart as a table and in words; or what it says for want of anything to show. */
interface Drawing {
  empty?: string;
  option?: ChartOption;
  header?: string[];
  rows?: unknown[][];
  said?: string;
  height?: number;
}

interface DrawnChart {
  setOption(option: ChartOption, how?: { replaceMerge: string[] }): void;
  on(event: "click", then: (point: any) => void): void;
  resize(): void;
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

interface PageEvents {
  /** What the server has answered to a preview, and what was sent. */
  previewed: CustomEvent<{ answer: any; sent: any }>;
  /** Something of the study has changed; it is followed if the log of the study has told it. */
  "study-changed": CustomEvent<{ isFollowed: boolean } | null>;
  "htmx:afterRequest": CustomEvent<{ successful: boolean }>;
  "htmx:beforeRequest": CustomEvent<{ requestConfig: { elt: Element } }>;
  "htmx:beforeSwap": CustomEvent<{ requestConfig: { elt: Element } }>;
  "htmx:responseError": CustomEvent<{ xhr: XMLHttpRequest }>;
}

interface HTMLElementEventMap extends PageEvents {}
interface DocumentEventMap extends PageEvents {}
