// The summary of a study from the API, with an action for each warning.

import { byId } from "./elements.js";
import { shown } from "./words.js";

/** @type {[string, "progress" | "latest" | "findings" | "outlook"][]} */
const QUESTIONS = [
  ["Is it going well?", "progress"],
  ["Why this point?", "latest"],
  ["What was learned?", "findings"],
  ["Can I stop?", "outlook"],
];
const MOST_TO_TRY = 6;
const LEAST_MILLISECONDS = 2500;
const SHARE_OF_TIME = 0.1;
const BUSY_MILLISECONDS = 15000;

/** The sentences at the top of a study's page; changed() loads them again, but not too often. */
export class AssessmentPanel {
  /** @param {import("./data.js").StudyData} data */
  constructor(data) {
    this.data = data;
    this.panel = byId("assessment", HTMLElement);
    this.mayAct = this.panel.dataset.may !== "read";
    this.askedAt = 0;
    /** @type {number | undefined} */
    this.timer = undefined;
    this.pause = LEAST_MILLISECONDS;
    this.changed();
  }

  changed() {
    this.timer ??= setTimeout(() => this.ask(), Math.max(0, this.askedAt + this.pause - Date.now()));
  }

  async ask() {
    this.askedAt = Date.now();
    let isBusy = false;
    try {
      const [found, study] = await Promise.all([this.data.assessment(), this.data.study()]);
      isBusy = found.checks.some(({ check }) => check === "model_busy");
      this.panel.replaceChildren(this.sentences(found, study), ...this.warnings(found, study));
      await this.doubtBest(found);
    } catch (error) {
      console.debug(error);
      isBusy = error.status === 503;
      const said = this.panel.querySelector(".said");
      if (said)
        said.textContent = `${error.message} The page tries again ${isBusy ? "soon" : "when the study changes"}.`;
    }
    this.panel.removeAttribute("aria-busy");
    this.timer = undefined;
    this.pause = Math.max(LEAST_MILLISECONDS, (Date.now() - this.askedAt) / SHARE_OF_TIME);
    if (!isBusy) return;
    this.pause = Math.min(this.pause, BUSY_MILLISECONDS);
    this.data.forget("assessment");
    this.changed();
  }

  /** Say beside the best result that the other results contradict it, if they do.
   * @param {Assessment} found
   */
  async doubtBest({ checks, progress }) {
    const doubted = checks.filter(({ check }) => check === "outlier").map(({ observation }) => observation);
    const { best } = progress;
    const { results } = doubted.length && best ? await this.data.history() : { results: [] };
    const isDoubted = results.some(
      ({ seq, trial, value }) => doubted.includes(seq) && trial === best?.trial && value === best.value,
    );
    const main = document.querySelector("#figures .main");
    main?.querySelector(".doubt")?.remove();
    if (!main || !isDoubted) return;
    const note = document.createElement("small");
    note.className = "doubt";
    note.textContent = "The other results contradict it.";
    main.append(note);
  }

  /** The sentences, each below its question.
   * @param {Assessment} found
   * @param {ShownStudy} study
   */
  sentences(found, study) {
    const list = document.createElement("dl");
    for (const [question, name] of QUESTIONS) {
      const sentence = found[name]?.text;
      if (!sentence) continue;
      const [row, term, said] = ["div", "dt", "dd"].map((tag) => document.createElement(tag));
      term.textContent = question;
      said.textContent = unbroken(sentence);
      if (name === "findings") said.append(...this.tries(found.findings?.untried ?? {}, study));
      row.append(term, said);
      list.append(row);
    }
    return list;
  }

  /** Buttons that ask for a point with a choice that was never tried.
   * @param {Record<string, unknown[]>} untried
   * @param {ShownStudy} study
   */
  tries(untried, study) {
    if (!this.mayAct || study.state !== "running" || study.algorithm.profile !== "auto") return [];
    if (study.parameters.some((each) => each.context)) return []; // such a point needs a context, too
    const always = new Set(study.parameters.filter((each) => !each.when).map((each) => each.name));
    const choices = Object.entries(untried)
      .filter(([name]) => always.has(name))
      .flatMap(([name, left]) => left.map((value) => ({ name, value })));
    return choices
      .slice(0, MOST_TO_TRY)
      .flatMap(({ name, value }) => [
        " ",
        action(`Try ${shown(value)}`, `POST ${this.data.api}/suggest`, "ask", { fixed: { [name]: value } }),
      ]);
  }

  /** What speaks against relying on the model, as a list if there is anything.
   * @param {Assessment} found
   * @param {ShownStudy} study
   */
  warnings({ checks }, study) {
    if (!checks.length) return [];
    const list = document.createElement("ul");
    list.className = "checks";
    for (const check of checks) {
      const item = document.createElement("li");
      item.textContent = unbroken(check.text);
      if (check.observation) {
        const link = document.createElement("a");
        link.href = `${this.data.page}/results/${check.observation}`;
        link.textContent = `Look at result ${check.observation}`;
        item.append(" ", link);
      }
      if (check.widened && this.mayAct) {
        const { name, low, high } = check.widened;
        const before = { parameters: study.parameters.filter((each) => each.name === name) };
        const label = `Widen ${name} to ${shown(low)} – ${shown(high)}`;
        item.append(" ", action(label, `PATCH ${this.data.api}`, "widen", { parameters: [check.widened] }, before));
      }
      list.append(item);
    }
    return [list];
  }
}

/** No line ends between a number and its uncertainty.
 * @param {string} text
 */
const unbroken = (text) => text.replaceAll(" ± ", "\u00a0±\u00a0");

/** A button that sends something to the API.
 * @param {string} label
 * @param {string} api method and path
 * @param {string} name
 * @param {unknown} body
 * @param {unknown} [before] what takes it back
 */
function action(label, api, name, body, before) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "quiet", textContent: label });
  Object.assign(button.dataset, {
    api,
    action: name,
    body: JSON.stringify(body),
    ...(before ? { before: JSON.stringify(before) } : {}),
  });
  return button;
}
