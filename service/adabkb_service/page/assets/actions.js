// What follows the request of a form or a button, by its data-action: a message, how to undo it, and the next page.

import { call, pause, root } from "./calls.js";
import { reversed } from "./catalogue.js";
import { byId, dataOf } from "./elements.js";
import { formerValues } from "./former.js";
import { clearToasts } from "./toasts.js";
import { atClock, figure, shown } from "./words.js";

/** @typedef {Pick<import("./undo.js").Undo, "method" | "body" | "label" | "done"> & { path?: string }} UndoOf the
 * request that undoes an action; without a path, it is sent to that of the action
 */
/**
 * @typedef {object} Action functions of the answer, the body that was sent, and the form or button
 * @property {string | ((answer: any, sent: any, element: HTMLElement) => string | Promise<string>)} [message]
 * @property {(answer: any, sent: any, element: HTMLElement) => UndoOf | null} [undo]
 * @property {(answer: any) => string} [next] the address of the next page; empty for none
 * @property {boolean} [reloads] whether the page is loaded again
 * @property {(answer: any, element: HTMLElement) => { href: string, text: string }} [link] in the message
 * @property {(answer: any, sent: any, element: HTMLElement) => unknown} [after] updates the page
 */

const MAX_MILLISECONDS_TO_JUDGE = 2500;

/** @param {{ id: string }} study */
const studyPage = ({ id }) => `${root}/studies/${encodeURIComponent(id)}`;
const studiesPage = () => `${root}/`;

/** The method and the path that a form or a button sends to.
 * @param {HTMLElement} element
 */
export const apiOf = (element) => dataOf(element, "api").split(" ");
/** @param {HTMLElement} element */
const pathOf = (element) => apiOf(element)[1];

/** The undo that sends this body to the path of the action.
 * @type {(body: unknown) => () => UndoOf}
 */
const patch = (body) => () => ({ method: "PATCH", body });

/** The undo that stores the former values again.
 * @type {NonNullable<Action["undo"]>}
 */
const restoreFormer = (_, sent, element) => ({ method: "PATCH", body: formerValues(element, sent) });

/** A change of fields that the reloaded page shows, and that can be undone.
 * @type {(message: string) => Action}
 */
const change = (message) => ({ message, undo: restoreFormer, reloads: true });

/** @type {Record<string, Action>} */
export const ACTIONS = {
  preview: {
    after: (answer, sent, element) => element.dispatchEvent(new CustomEvent("previewed", { detail: { answer, sent } })),
  },
  edited: { message: "The changes are saved.", next: studyPage },
  create: { next: studyPage },
  ask: { message: issuedTrials, next: pageOfIssued },
  observe: { message: storedResult, undo: excludeStored },
  result: { message: storedResult, undo: excludeStored, reloads: true },
  failure: { message: ({ trial }) => `Trial ${trial.number} is stored as failed.` },
  queue: { message: queuedTrial, undo: withdrawQueued, link: linkToTrial },
  repeat: {
    message: queuedTrials,
    undo: ({ trials }, _, element) => (trials.length > 1 ? null : withdrawQueued(trials[0], _, element)),
    link: ({ trials }, element) => linkToTrial(trials[0], element),
  },
  limits: change("The changes are saved."),
  pause: { message: "Paused: no new trials are issued.", undo: patch({ state: "running" }) },
  resume: { message: "Resumed.", undo: patch({ state: "paused" }) },
  exclude: { message: "The result no longer counts.", undo: patch({ excluded: false }), reloads: true },
  include: { message: "The result counts again.", undo: patch({ excluded: true }), reloads: true },
  correct: change("The result is corrected."),
  amend: {
    message: (_, { excluded }) => (excluded ? "The result no longer counts." : "The result is corrected."),
    undo: restoreFormer,
  },
  added: { message: addedNumbers },
  words: change("The words are changed."),
  rules: change("The rules are changed."),
  catalogue: { message: "The catalogue is changed.", undo: reverseCatalogues, reloads: true },
  note: change("The note is stored."),
  widen: change("The range is wider now."),
  release: { message: "The trial will be issued again with the same conditions.", reloads: true },
  withdraw: {
    message: ({ trial }) => `Trial ${trial.number} is withdrawn.`,
    undo: (_, __, element) => ({
      method: "POST",
      path: pathOf(element).replace(/withdraw$/, "retry"),
      body: { reason: "the withdrawal was taken back" },
    }),
  },
  fail: {
    message: "The trial has failed.",
    undo: (_, { trial }, element) => ({
      method: "POST",
      path: pathOf(element).replace(/observe$/, `trials/${trial}/retry`),
      body: { reason: "the failure was taken back" },
    }),
    reloads: true,
  },
  extend: { message: ({ trial }) => `The trial is reserved until ${atClock(trial.leased_until)}.` },
  continue: { message: "The study continues with the budget that it had." },
  finish: { message: "The study issues no new trials.", undo: restoreFormer },
  delete: {
    message: "The study is in the trash.",
    undo: (_, __, element) => ({ method: "POST", path: `${pathOf(element)}/restore` }),
    next: studiesPage,
  },
  restore: { message: ({ id }) => `Study ${id} is restored.`, next: studyPage },
  purge: { message: "The study is permanently deleted.", reloads: true },
  share: { message: "The study is shared.", reloads: true },
  give: { message: ({ owner }) => `The study belongs to ${owner} now.`, next: studiesPage },
  unshare: {
    message: "The right is revoked.",
    undo: (_, __, element) => ({ method: "PATCH", body: JSON.parse(dataOf(element, "before")) }),
    reloads: true,
  },
  link: { after: showLink },
  webhook: { after: showSecret },
  turn: {
    message: ({ is_on: isOn }) => (isOn ? "The webhook is on. Missed messages are sent, too." : "The webhook is off."),
    reloads: true,
  },
  unhook: { message: "The webhook is deleted.", reloads: true },
  confirmed: { message: "The number is confirmed.", reloads: true },
  unfile: { message: "The file is deleted.", reloads: true },
  revoke: { message: "The link is revoked.", reloads: true },
  sessions: { message: "The sessions are ended.", reloads: true },
  retry: { message: "The trial will be issued again.", reloads: true },
};

/** The issued trials in words: how many, and why there are fewer than were requested.
 * @param {{ trials: { plate?: number }[], degraded: boolean, reason: string | null }} answer
 * @param {{ count?: number } | undefined} sent
 * @param {HTMLElement} element
 */
function issuedTrials({ trials, degraded, reason }, sent, element) {
  /** @type {Record<string, string>} */
  const reasons = JSON.parse(dataOf(element, "reasons"));
  if (!trials.length) return reasons[reason ?? ""];
  const isOne = trials.length < 2;
  const of = trials[0].plate ? ` of plate ${trials[0].plate}` : "";
  const issued = isOne ? "This trial is reserved for you." : `${trials.length} trials${of} are reserved for you.`;
  const requested = sent?.count;
  const isLess = requested !== undefined && trials.length < requested;
  const count = isLess ? `${issued} You asked for ${requested}. ${reasons[reason ?? ""] ?? ""}`.trim() : issued;
  if (!degraded) return count;
  const are = isOne ? "it is" : "some are";
  const instead = isOne
    ? "To get another one, choose “Report a problem”, “Not this one”, and ask again."
    : "To get another one, choose “Report a problem” and “Not this one” on its page, and ask again.";
  return `${count} The model had failed or did not answer in time, so ${are} quasi-random. ${instead}`;
}

/** The page of an issued trial, or of all open trials if there are several.
 * @param {{ trials: { number: number }[], study: { id: string } }} answer
 */
function pageOfIssued({ trials, study }) {
  if (!trials.length) return "";
  return `${studyPage(study)}/${trials.length > 1 ? "results?kind=open" : `trials/${trials[0].number}`}`;
}

/** Who gets a queued trial. A request with another context gets other trials.
 * @param {{ parameters: Record<string, unknown> }} trial
 * @param {HTMLElement} element with the labels of context parameters, by name, in data-context
 */
function recipient({ parameters }, { dataset: { context } }) {
  const given = Object.entries(JSON.parse(context ?? "{}")).filter(([name]) => name in parameters);
  if (!given.length) return "It is the next one that somebody gets.";
  const values = given.map(([name, label]) => `${label} = ${shown(parameters[name])}`).join(", ");
  const remedy = "If you run it with another value, open it, and enter the real value with the result.";
  return `Only somebody who asks for a trial with ${values} gets it. ${remedy}`;
}

/** @param {{ plate?: number }} trial */
const onPlate = ({ plate }) => (plate ? ` on plate ${plate}` : "");

/** @type {(trial: any, sent: unknown, element: HTMLElement) => string} */
function queuedTrial(trial, _, element) {
  return `Trial ${trial.number} is queued${onPlate(trial)}. ${recipient(trial, element)}`;
}

/** @type {(answer: { trials: any[] }, sent: unknown, element: HTMLElement) => string} */
function queuedTrials({ trials }, sent, element) {
  if (trials.length === 1) return queuedTrial(trials[0], sent, element);
  return `Trials ${trials[0].number} to ${trials.at(-1).number} are queued${onPlate(trials[0])}.`;
}

/** The path of a trial of the study to which an element sends a request.
 * @param {HTMLElement} element
 * @param {number} number
 */
const trialPath = (element, number) => pathOf(element).replace(/\/trials(\/repeat)?$/, `/trials/${number}`);

/** @type {NonNullable<Action["undo"]>} */
function withdrawQueued({ number }, _, element) {
  return { method: "POST", path: `${trialPath(element, number)}/withdraw` };
}

/** @param {{ number: number }} trial
 * @param {HTMLElement} element
 */
function linkToTrial({ number }, element) {
  return { href: trialPath(element, number).replace("/v1/studies/", "/studies/"), text: `Trial ${number}` };
}

/** A stored result cannot be removed: a result stays in the log. */
const EXCLUSION = {
  label: "Undo: exclude it",
  done: "The result is excluded: it no longer counts, but stays on record with its trial. You can include it again.",
};

/** The request that excludes a result that was just stored.
 * @type {NonNullable<Action["undo"]>}
 */
function excludeStored({ observation }, _, element) {
  const path = pathOf(element).replace(/observe$/, `observations/${observation.seq}`);
  return { method: "PATCH", path, body: { excluded: true }, ...EXCLUSION };
}

/** What was stored, with a warning if it is unusual. If the server does not say so in time, only what was sent.
 * @param {any} answer
 * @param {any} sent
 */
async function storedResult({ observation, trial, study }, sent) {
  const path = `${studyPage(study)}/results/${observation.seq}/stored.json`;
  const late = pause(MAX_MILLISECONDS_TO_JUDGE).then(() => null);
  /** @type {{ numbers: string, warning: string } | null} */
  const judged = await Promise.race([call("GET", path).catch(() => null), late]);
  const numbers = judged?.numbers || (typeof sent.value === "number" ? figure(sent.value, 12) : "");
  const what = trial ? `The result of trial ${trial.number} is stored` : `Own result R${observation.seq} is stored`;
  return [`${what}${numbers && `: ${numbers}`}.`, judged?.warning ?? ""].join(" ").trim();
}

/** The numbers that were added to a result, and those that are still missing, as the table names them.
 * @param {any} answer
 */
function addedNumbers(answer) {
  const { trial, seq, missing = [] } = answer.observation ?? answer;
  const whose = trial === null ? `own result R${seq}` : `the result of trial ${trial}`;
  const labels = JSON.parse(document.querySelector("[data-labels]")?.getAttribute("data-labels") ?? "{}");
  const titles = missing.map((/** @type {string} */ name) => labels[name] ?? name).join(", ");
  return `The numbers are added to ${whose}.${titles && ` Still missing: ${titles}.`}`;
}

/** @type {NonNullable<Action["undo"]>} */
function reverseCatalogues(_, sent) {
  const catalogues = reversed(sent.catalogues);
  return catalogues && { method: "PATCH", body: { catalogues } };
}

/** Show the link to a shared study. Its token is behind the #, so no log of a server or a proxy has it.
 * @param {{ token: string }} answer
 */
function showLink({ token }) {
  const field = byId("made-link", HTMLInputElement);
  showOnce(field, `${location.origin}${dataOf(field, "page")}#token=${token}`);
}

/** Show the signing secret of a webhook.
 * @param {{ secret: string }} answer
 */
function showSecret({ secret }) {
  showOnce(byId("made-secret", HTMLInputElement), secret);
}

/** Show a text that the server returns only once.
 * @param {HTMLInputElement} field
 * @param {string} text
 */
function showOnce(field, text) {
  clearToasts();
  field.value = text;
  byId("made", HTMLElement).hidden = false;
  field.select();
}
