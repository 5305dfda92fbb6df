// The summary of a study from the API, with an action for each warning.

import { askWith } from "./asking.js";
import { messageOf, statusOf } from "./caught.js";
import { byId, createElement } from "./elements.js";
import { body } from "./forms.js";
import { inUnit, numbered, shown, titled } from "./words.js";

/** @type {[string, "progress" | "latest" | "findings" | "outlook"][]} */
const QUESTIONS = [
  ["Is it going well?", "progress"],
  ["Why this trial?", "latest"],
  ["What was learned?", "findings"],
  ["Can I stop?", "outlook"],
];
const DOUBTED = "Do not rely on this number: see the warnings below.";
const MAX_TO_TRY = 6;
const MAX_LINES = 3; // of what was learned
const MIN_MILLISECONDS = 2500;
const SHARE_OF_TIME = 0.1;
const BUSY_MILLISECONDS = 15000;

/** The sentences at the top of a study's page; changed() loads them again, but not too often. */
export class AssessmentPanel {
  /**
   * @param {import("./data.js").StudyData} data
   * @param {() => void} onShown called when the sentences are shown
   */
  constructor(data, onShown) {
    this.data = data;
    this.onShown = onShown;
    this.panel = byId("assessment", HTMLElement);
    this.mayAct = this.panel.dataset.may !== "read";
    this.askedAt = 0;
    /** @type {number | undefined} */
    this.timer = undefined;
    this.pause = MIN_MILLISECONDS;
    this.changed();
  }

  changed() {
    this.timer ??= setTimeout(() => this.ask(), Math.max(0, this.askedAt + this.pause - Date.now()));
  }

  async ask() {
    this.askedAt = Date.now();
    let isBusy = false;
    try {
      const [assessment, study] = await Promise.all([this.data.assessment(), this.data.study()]);
      isBusy = assessment.checks.some(({ check }) => check === "model_busy");
      this.panel.replaceChildren(this.sentences(assessment, study), ...this.warnings(assessment, study));
      this.onShown();
      this.doubtBest(assessment);
    } catch (error) {
      console.debug(error);
      isBusy = statusOf(error) === 503;
      const caption = this.panel.querySelector(".caption");
      if (caption)
        caption.textContent = `${messageOf(error)} The page tries again ${isBusy ? "soon" : "when the study changes"}.`;
    }
    this.panel.removeAttribute("aria-busy");
    this.timer = undefined;
    this.pause = Math.max(MIN_MILLISECONDS, (Date.now() - this.askedAt) / SHARE_OF_TIME);
    if (!isBusy) return;
    this.pause = Math.min(this.pause, BUSY_MILLISECONDS);
    this.data.forget("assessment");
    this.changed();
  }

  /** Add a note to the best result if the other results contradict it.
   * @param {Assessment} assessment
   */
  doubtBest({ progress }) {
    const column = document.querySelector("#measured-now");
    column?.querySelector(".doubt")?.remove();
    column?.classList.toggle("doubted", progress.is_doubted);
    if (!column || !progress.is_doubted) return;
    column.querySelector("p")?.after(createElement("p", { className: "doubt" }, DOUBTED));
  }

  /** The sentences, each below its question.
   * @param {Assessment} assessment
   * @param {ShownStudy} study
   */
  sentences(assessment, study) {
    const list = document.createElement("dl");
    for (const [question, name] of QUESTIONS) {
      const sentence = assessment[name]?.text;
      if (!sentence) continue;
      const [row, term, description] = ["div", "dt", "dd"].map((tag) => document.createElement(tag));
      term.textContent = question;
      if (name === "findings") description.append(...lines(sentence.split("\n")));
      else description.textContent = sentence;
      if (name === "findings") description.append(...this.tries(assessment.findings?.untried ?? {}, study));
      row.append(term, description);
      list.append(row);
    }
    return list;
  }

  /** Buttons that ask for a point with a choice that was never tried.
   * @param {Record<string, unknown[]>} untried
   * @param {ShownStudy} study
   */
  tries(untried, study) {
    if (!this.mayAct || study.state !== "running" || study.reason !== null || study.algorithm.profile !== "auto")
      return [];
    if (study.parameters.some((each) => each.context)) return []; // such a point needs a context, too
    const always = new Set(study.parameters.filter((each) => !each.when).map((each) => each.name));
    const choices = Object.entries(untried)
      .filter(([name]) => always.has(name))
      .flatMap(([name, left]) => left.map((value) => ({ name, value })));
    return choices
      .slice(0, MAX_TO_TRY)
      .flatMap(({ name, value }) => [" ", trial(`Try ${shown(value)}`, { [name]: value })]);
  }

  /** A button that opens the form to widen a range. A person enters its new end: nobody else knows which values are
   * possible and safe.
   * @param {NonNullable<Assessment["checks"][0]["widened"]>} widened
   * @param {ShownStudy} study
   */
  widening(widened, study) {
    const was = study.parameters.filter((each) => each.name === widened.name);
    const [{ label, unit, low, high }] = was;
    const end = widened.low === low ? "high" : "low";
    const name = label || widened.name;
    const button = createElement("button", { type: "button", className: "quiet" }, `Widen ${name} …`);
    button.addEventListener("click", () => {
      const form = byId("widen-form", HTMLFormElement);
      form.reset();
      byId("widen-text", HTMLElement).textContent =
        `The range of ${name} is ${inUnit(`${shown(low)} – ${shown(high)}`, unit)} now.`;
      byId("widen-end", HTMLElement).textContent = titled(end === "high" ? "New upper end" : "New lower end", "", unit);
      const before = { parameters: was };
      form.requestBody = async () => ({ parameters: [{ ...widened, [end]: body(form).bound }], was: before });
      form.dataset.before = JSON.stringify(before);
      byId("widen", HTMLDialogElement).showModal();
    });
    return button;
  }

  /** Links to the forms that correct and exclude a result.
   * @param {number} seq
   */
  remedies(seq) {
    return ["Correct", "Exclude"].flatMap((label) => {
      const href = `${this.data.page}/results/${seq}#${label.toLowerCase()}-${seq}`;
      return [" ", createElement("a", { href }, label)];
    });
  }

  /** The reasons not to rely on the model, as a list; nothing without any.
   * @param {Assessment} assessment
   * @param {ShownStudy} study
   */
  warnings({ checks }, study) {
    if (!checks.length) return [];
    const list = document.createElement("ul");
    list.className = "checks";
    for (const check of checks) {
      const item = document.createElement("li");
      item.textContent = check.text;
      if (check.observation || check.trial) {
        const link = document.createElement("a");
        link.href = `${this.data.page}/${check.observation ? `results/${check.observation}` : `trials/${check.trial}`}`;
        link.textContent = `Look at ${numbered({ trial: check.trial, seq: check.observation ?? 0 })}`;
        item.append(" ", link);
      }
      if (check.check === "outlier" && check.observation && this.mayAct)
        item.append(...this.remedies(check.observation));
      if (check.widened && this.mayAct) {
        item.append(" ", this.widening(check.widened, study));
      }
      list.append(item);
    }
    return [list];
  }
}

/** The first lines, and the rest folded.
 * @param {string[]} all
 */
function lines(all) {
  const each = (/** @type {string} */ line) => createElement("div", {}, line);
  const rest = all.slice(MAX_LINES).map(each);
  if (!rest.length) return all.map(each);
  return [
    ...all.slice(0, MAX_LINES).map(each),
    createElement("details", {}, createElement("summary", {}, "more"), ...rest),
  ];
}

/** A button that opens the form for the next trial with these values held fixed.
 * @param {string} label
 * @param {Record<string, unknown>} fixed
 */
function trial(label, fixed) {
  const button = createElement("button", { type: "button", className: "quiet" }, label);
  button.addEventListener("click", () => askWith(fixed));
  return button;
}
