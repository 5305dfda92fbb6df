// The data of a study's charts. Each answer of the server is read once, until the study changes.

import { call, listed, root } from "./calls.js";
import { byIdOrNull } from "./elements.js";
import { Scale } from "./scale.js";
import { cut, titled } from "./words.js";

const MAX_CELLS = 5000;
const MAX_FAILED = 1000;

/** Parameters of a study as a query.
 * @param {string[]} names
 */
const along = (names) => names.map((name) => `parameter=${encodeURIComponent(name)}`).join("&");

/** The edges of the parts of two parameters as a part of a query.
 * @param {number[][]} edges
 */
const edgesIn = (edges) =>
  edges.flatMap((each, i) => each.map((edge) => `&${["across", "up"][i]}=${encodeURIComponent(edge)}`)).join("");

/** A context as a query; empty without one.
 * @param {Record<string, unknown> | "latest" | undefined} context
 */
function inContext(context) {
  if (context === undefined) return "";
  return `?context=${context === "latest" ? context : encodeURIComponent(JSON.stringify(context))}`;
}

/** The names of the metrics beyond their bounds.
 * @param {ShownStudy} study
 * @param {Record<string, number>} [metrics]
 */
function beyond({ outcome_constraints: bounds = [] }, metrics) {
  const violated = bounds.filter(({ metric, lower, upper }) => {
    const value = metrics?.[metric];
    return value !== undefined && ((lower !== null && value < lower) || (upper !== null && value > upper));
  });
  return violated.length ? violated.map((each) => each.metric) : null;
}

/** Whether the gap is smaller than the distance to the natural bound, as the server's `quantities.informative` decides.
 * @param {ShownStudy} study
 */
function isNews({ gap, best, direction, quantities }) {
  const { low, high } = quantities?.value ?? {};
  const end = direction === "maximize" ? high : low;
  if (gap === null || !best || end === undefined) return gap !== null;
  return gap < (direction === "maximize" ? end - best.value : best.value - end);
}

/** A study's answers. */
export class StudyData {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.api = `${root}/v1/studies/${encodeURIComponent(id)}`;
    this.page = `${root}/studies/${encodeURIComponent(id)}`;
    /** @type {Map<string, Promise<any>>} */
    this.kept = new Map();
    /** @type {Record<string, unknown> | "latest" | undefined} */
    this.context = undefined; // as last filled in, or that of the latest result
  }

  /** Discard all answers, so that they are read again. */
  changed() {
    this.kept.clear();
  }

  /** Discard one answer.
   * @param {string} name
   */
  forget(name) {
    this.kept.delete(name);
  }

  /** An answer, cached under a name.
   * @template T
   * @param {string} name
   * @param {() => Promise<T>} read
   * @returns {Promise<T>}
   */
  once(name, read) {
    const known = this.kept.get(name);
    if (known) return known;
    const reading = read();
    reading.catch(() => this.kept.delete(name));
    this.kept.set(name, reading);
    return reading;
  }

  /** The study as if the selected metric were its only objective; a metric that is not an objective has bounds instead
   * of a direction.
   * @returns {Promise<ShownStudy>}
   */
  async study() {
    const stored = await this.once("study", () => call("GET", this.api));
    const name = this.shown();
    const quantity = stored.quantities?.[name ?? "value"] ?? {};
    /** @type {ShownStudy} */
    const study = {
      ...stored,
      gap: isNews(stored) ? stored.gap : null,
      quantity: { ...quantity, title: titled(name ?? "result", quantity.label, quantity.unit) },
    };
    if (name === undefined) return study;
    const direction = study.objectives?.find((each) => each.metric === name)?.direction;
    return { ...study, direction, bounds: study.outcome_constraints?.find((each) => each.metric === name) };
  }

  /** The metric that the charts show; none if it is the objective. */
  shown() {
    return byIdOrNull("shown-metric", HTMLSelectElement)?.value || undefined;
  }

  /** The shown metric as a part of a query, after this separator.
   * @param {"?" | "&"} separator
   */
  ofMetric(separator) {
    const name = this.shown();
    return name === undefined ? "" : `${separator}metric=${encodeURIComponent(name)}`;
  }

  /** The scales of the parameters that vary. */
  async scales() {
    const { parameters } = await this.study();
    return parameters.filter((each) => each.kind !== "fixed").map((each) => new Scale(each));
  }

  /** The scales that can be axes of a chart: not the rows of a table, which have no order and are too many. */
  async axes() {
    return (await this.scales()).filter((scale) => scale.parameter.kind !== "catalogue");
  }

  /** The results that have the number that the charts show, which may arrive later than others.
   * @returns {Promise<ResultHistory>}
   */
  async history() {
    const [study, stored] = await Promise.all([
      this.study(),
      this.once("history", () => call("GET", `${this.page}/history.json`)),
    ]);
    /** @type {ResultHistory} */
    const history = { ...stored, isThinned: stored.results.length < stored.count };
    for (const each of history.results) each.beyond = beyond(study, each.metrics);
    const name = this.shown();
    if (name === undefined) {
      const results = history.results
        .filter((each) => !each.missing?.includes("value"))
        .map((each) => ({ ...each, expected: cut(each.expected, study.quantity) }));
      return { ...history, results, drawn: results.filter((each) => each.is_sampled) };
    }
    const results = history.results.flatMap((each) => {
      const value = each.metrics?.[name];
      if (value === undefined) return [];
      const expected = cut(each.expected?.metrics?.[name], study.quantity);
      return [{ ...each, value, std_error: each.std_errors?.[name] ?? null, expected }];
    });
    /** @type {[number, number][]} */
    const records = [];
    const drawn = results.filter((each) => each.is_sampled);
    if (!study.direction) return { ...history, results, drawn, records };
    for (const { seq, value, excluded, beyond } of results) {
      const best = records.at(-1)?.[1];
      if (
        !excluded &&
        !beyond &&
        (best === undefined || (study.direction === "minimize" ? value < best : value > best))
      )
        records.push([seq, value]);
    }
    return { ...history, results, drawn, records };
  }

  /** @returns {Promise<Front>} */
  front() {
    const query = inContext(this.context);
    return this.once(`front${query}`, () => call("GET", `${this.api}/front${query}`));
  }

  /** The trials that failed, up to a number.
   * @returns {Promise<any[]>}
   */
  async failed() {
    const { items } = await this.once("failed", () => listed(`${this.api}/trials?state=failed`, MAX_FAILED));
    return items;
  }

  /** The density of the results of a large study; null for other studies.
   * @returns {Promise<Density | null>}
   */
  density() {
    return this.once(`density ${this.shown()}`, () => call("GET", `${this.page}/density.json${this.ofMetric("?")}`));
  }

  /** @returns {Promise<TimelineTrial[]>} */
  timeline() {
    return this.once("timeline", () => call("GET", `${this.page}/timeline.json`));
  }

  /** Learning curves of the latest trials with reports, or of those that a query names.
   * @returns {Promise<Curve[]>}
   */
  curves(query = "") {
    return this.once(`curves ${query}`, () => call("GET", `${this.page}/curves.json${query}`));
  }

  /** The best points; of a context, if one is given.
   * @returns {Promise<Recommendation>}
   */
  recommendation() {
    return this.recommended(inContext(this.context));
  }

  /** Whether the best point depends on a context with numbers, such as the day, so that there is a best point now.
   * @returns {Promise<boolean>}
   */
  async hasBestNow() {
    const { parameters, objectives } = await this.study();
    const isNumber = (/** @type {string} */ kind) => ["float", "int"].includes(kind);
    return !objectives?.length && parameters.some(({ context, kind }) => context && isNumber(kind));
  }

  /** The best points in the context of the latest result.
   * @returns {Promise<Recommendation>}
   */
  latest() {
    return this.recommended("?context=latest");
  }

  /** The best points for a query; without that of the model while there are too few results to rely on it.
   * @param {string} query
   * @returns {Promise<Recommendation>}
   */
  async recommended(query) {
    const [{ quantities = {} }, answer] = await Promise.all([
      this.study(),
      this.once(`recommendation${query}`, () => call("GET", `${this.api}/recommendation${query}`)),
    ]);
    const { reason } = answer;
    if (reason === "too_few_results" || (reason === "nothing_feasible" && (await this.tooFew())))
      return { ...answer, model: null };
    const model = cut(answer.model, quantities.value);
    if (model?.metrics)
      model.metrics = Object.fromEntries(
        Object.entries(model.metrics).map(([name, each]) => [name, cut(each, quantities[name])]),
      );
    return { ...answer, model };
  }

  /** @returns {Promise<Importance>} */
  importance() {
    return this.once(`importance ${this.shown()}`, () => call("GET", `${this.api}/importance${this.ofMetric("?")}`));
  }

  /** @returns {Promise<Validation>} */
  async validation() {
    const answer = await this.once(`validation ${this.shown()}`, () =>
      call("GET", `${this.api}/validation${this.ofMetric("?")}`),
    );
    const { quantity } = await this.study();
    return { ...answer, items: answer.items.map((/** @type {any} */ each) => cut(each, quantity)) };
  }

  /** @returns {Promise<Assessment>} */
  assessment() {
    return this.once("assessment", () => call("GET", `${this.api}/assessment`));
  }

  /** Why nothing is drawn that the model has learned: there are too few results to rely on it. Empty if there are
   * enough, and while the model does not answer.
   */
  async tooFew() {
    const answer = await this.assessment().catch(() => null);
    return answer?.checks.find(({ check }) => check === "few_results")?.text ?? "";
  }

  /** The numbers of the results that the others contradict: charts draw them, but they set no scale. Empty while the
   * model does not answer.
   * @returns {Promise<Set<number>>}
   */
  async doubted() {
    const answer = await this.assessment().catch(() => null);
    const metric = this.shown() ?? null;
    const outliers = answer?.checks.filter((each) => each.check === "outlier" && each.metric === metric) ?? [];
    return new Set(outliers.flatMap(({ observation }) => observation ?? []));
  }

  /** The cells of the partition, and whether these are all.
   * @returns {Promise<{ items: PartitionCell[], isAll: boolean }>}
   */
  async cells() {
    const answer = await this.once(`cells ${this.shown()}`, () =>
      listed(`${this.api}/partition${this.ofMetric("?")}`, MAX_CELLS),
    );
    const { quantity } = await this.study();
    return { ...answer, items: answer.items.map((/** @type {any} */ cell) => cut(cell, quantity)) };
  }

  /** The model's predictions for these cells after the first results, learned from them alone; null if there are too
   * many results.
   * @param {number} results
   * @returns {Promise<Map<string, Pick<PartitionCell, "status" | "mean" | "std" | "index">> | null>}
   */
  async past(results) {
    const answer = await this.once(`past ${results} ${this.shown()}`, () =>
      call("GET", `${this.page}/past.json?results=${results}${this.ofMetric("&")}`),
    );
    const { quantity } = await this.study();
    return answer && new Map(answer.map((/** @type {any} */ each) => [each.key, cut(each, quantity)]));
  }

  /** The model's predictions along one or two parameters.
   * @param {string[]} names
   * @returns {Promise<Slice>}
   */
  async slice(names) {
    const query = along(names);
    const slice = await this.once(`slice ${query}`, () => call("GET", `${this.api}/slice?${query}`));
    const [name, { quantity }] = [this.shown(), await this.study()];
    const ofMetric = (/** @type {any} */ each) =>
      name === undefined
        ? each
        : {
            ...each.metrics[name],
            feasible_probability: each.feasible_probability,
            finish_probability: each.finish_probability,
          };
    return { ...slice, predictions: slice.predictions.map((/** @type {any} */ each) => cut(ofMetric(each), quantity)) };
  }

  /** Which points of the slice along one or two parameters the constraints and mixtures forbid; null if there are none.
   * @param {string[]} names
   * @returns {Promise<boolean[] | null>}
   */
  async forbidden(names) {
    const { constraints, mixtures } = await this.study();
    if (!constraints.length && !mixtures?.length) return null;
    const query = along(names);
    return this.once(`forbidden ${query}`, () => call("GET", `${this.page}/forbidden.json?${query}`));
  }

  /** Which combinations of the parts of two parameters the constraints and mixtures exclude; null if there are none.
   * @param {string[]} names
   * @param {number[][]} edges of the parts of each; empty if each of its choices is a part
   * @returns {Promise<boolean[] | null>}
   */
  async excluded(names, edges) {
    const { constraints, mixtures } = await this.study();
    if (!constraints.length && !mixtures?.length) return null;
    const query = `${along(names)}${edgesIn(edges)}`;
    return this.once(`excluded ${query}`, () => call("GET", `${this.page}/excluded.json?${query}`));
  }

  /** The combinations of the parts of two parameters that have results or failed trials.
   * @param {string[]} names
   * @param {number[][]} edges of the parts of each; empty if each of its choices is a part
   * @returns {Promise<Tried[]>}
   */
  async tried(names, edges) {
    const query = `${along(names)}${edgesIn(edges)}${this.ofMetric("&")}`;
    return this.once(`tried ${query}`, () => call("GET", `${this.page}/tried.json?${query}`));
  }

  /** @param {number} number */
  trialPage(number) {
    return `${this.page}/trials/${number}`;
  }
}
