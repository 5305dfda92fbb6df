// Every page: times, dialogs, and forms that are sent to the API as JSON.
//
// A form or a button with data-api="METHOD path" sends its fields (or data-body). Its data-action is a key of ACTIONS.

import { call, pause, reachable, root } from "./calls.js";
import { reversed } from "./catalogue.js";
import { messageOf, problemOf, statusOf } from "./caught.js";
import { conflictOf, refuseIfNoteChanged, refuseIfOthersChanged, storeNote } from "./conflicts.js";
import { discardDraft, discardDrafts, forgetDrafts, restoreDrafts } from "./drafts.js";
import { around, byId, dataOf, every, holder, one } from "./elements.js";
import { body, clearProblem, isField, tellProblem } from "./forms.js";
import "./session.js";
import { clearToasts, saidBefore, say, sayThere } from "./toasts.js";
import { markUnusual } from "./unusual.js";
import { askPatiently } from "./waiting.js";
import { atClock, figure, shown, span, tellTimes } from "./words.js";

/** @typedef {{ method: string, path?: string, body?: unknown, words?: string, done?: string }} Way back; by default to
 * the path of the action; with the words of its button, and what is said afterwards */
/** @typedef {Way & { path: string }} Request */
/**
 * @typedef {object} Action
 * @property {(answer: any, sent: any, element: HTMLElement) => string | Promise<string>} [says]
 * @property {(answer: any, sent: any, element: HTMLElement) => Way | null} [undo]
 * @property {(answer: any) => string} [goto]
 * @property {(answer: any, element: HTMLElement) => { href: string, text: string }} [link]
 * @property {(answer: any, sent: any, element: HTMLElement) => unknown} [after]
 */

const MAX_MILLISECONDS_TO_JUDGE = 2500;
const MAX_TURNS = 3; // to send a form whose other fields are changed by others at the same time
const OUTDATED = "Another person has changed this since you opened the form. Reload the page to see the change.";

/** @param {string} id */
const studyPage = (id) => `${root}/studies/${encodeURIComponent(id)}`;

/** The fields of which the API changes only the entries that it gets. */
const MERGED = new Set(["metrics", "std_errors", "attributes"]);

/** Some entries of an object.
 * @param {Record<string, any>} values
 * @param {object} names whose keys are the names of the entries
 */
const entriesOf = (values, names) => Object.fromEntries(Object.entries(values).filter(([name]) => name in names));

/** The values that fields have in an object of the API; absent ones, and absent entries of merged fields, are null.
 * @param {Record<string, any>} holder
 * @param {Record<string, any>} changes
 */
function valuesIn(holder, changes) {
  const found = Object.fromEntries(Object.keys(changes).map((name) => [name, holder[name] ?? null]));
  for (const name of Object.keys(found).filter((each) => MERGED.has(each))) {
    const absent = Object.fromEntries(Object.keys(changes[name] ?? {}).map((each) => [each, null]));
    found[name] = { ...absent, ...entriesOf(found[name] ?? {}, changes[name] ?? {}) };
  }
  if (Array.isArray(found.parameters) && Array.isArray(changes.parameters)) {
    const names = new Set(changes.parameters.map(({ name }) => name));
    found.parameters = found.parameters.filter(({ name }) => names.has(name));
  }
  return found;
}

/** The former values of the fields that a form has changed.
 * @param {HTMLElement} element
 * @param {Record<string, any>} sent
 * @returns {Record<string, any>}
 */
function before(element, sent) {
  const known = JSON.parse(dataOf(element, "before"));
  return { ...valuesIn(known, entriesOf(sent, known)), ...sent.was };
}

/** A study, a trial or a result. */
const CHANGEABLE = /\/v1\/studies\/[^/]+(\/(trials|observations)\/\d+)?$/;

/** The request that undoes a change only as long as nobody has changed the same fields again.
 * @param {Request} request
 * @param {any} answer
 * @returns {Request}
 */
function guarded({ method, path, body: former, ...words }, answer) {
  if (method !== "PATCH" || !CHANGEABLE.test(path)) return { method, path, body: former, ...words };
  const { state, ...changes } = /** @type {Record<string, unknown>} */ (former);
  const isResult = /\/observations\/\d+$/.test(path);
  /** @type {Record<string, any>} */
  const { catalogues: _, ...compared } = changes; // rows that are added or withdrawn have no former value
  const was = valuesIn(answer.observation ?? answer.trial ?? answer, compared);
  const why = isResult ? { reason: "Undo" } : {};
  return { method, path, body: { state, ...changes, was, ...why }, ...words }; // an undefined state is left out
}

/** The issued trials in words: how many, and why there are fewer than were asked for.
 * @param {{ trials: { plate?: number }[], degraded: boolean, reason: string | null }} answer
 * @param {number | undefined} asked
 * @param {Record<string, string>} reasons
 */
function reserved({ trials, degraded, reason }, asked, reasons) {
  const isOne = trials.length < 2;
  const of = trials[0].plate ? ` of plate ${trials[0].plate}` : "";
  const issued = isOne ? "This trial is reserved for you." : `${trials.length} trials${of} are reserved for you.`;
  const isLess = asked !== undefined && trials.length < asked;
  const told = isLess ? `${issued} You asked for ${asked}. ${reasons[reason ?? ""] ?? ""}`.trim() : issued;
  if (!degraded) return told;
  const are = isOne ? "it is" : "some are";
  const instead = isOne
    ? "To get another one, choose “Report a problem”, “Not this one”, and ask again."
    : "To get another one, choose “Report a problem” and “Not this one” on its page, and ask again.";
  return `${told} The model had failed or did not answer in time, so ${are} quasi-random. ${instead}`;
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

/** For each action: the message, the request that undoes it, and the next page. All get the answer, the body that was
 * sent and the element; ``after`` updates the page.
 * @type {Record<string, Action>}
 */
const ACTIONS = {
  preview: {
    after: (answer, sent, element) => element.dispatchEvent(new CustomEvent("previewed", { detail: { answer, sent } })),
  },
  edited: { says: () => "The changes are saved.", goto: (answer) => studyPage(answer.id) },
  create: { goto: (answer) => studyPage(answer.id) },
  ask: {
    goto: ({ trials, study }) =>
      trials.length
        ? `${studyPage(study.id)}/${trials.length > 1 ? "results?kind=open" : `trials/${trials[0].number}`}`
        : "",
    says: (answer, sent, element) =>
      answer.trials.length
        ? reserved(answer, sent?.count, JSON.parse(dataOf(element, "reasons")))
        : JSON.parse(dataOf(element, "reasons"))[answer.reason],
  },
  tell: { says: tellStored, undo: exclusion },
  result: { says: tellStored, undo: exclusion, goto: stay },
  failure: { says: (answer) => `Trial ${answer.trial.number} is stored as failed.` },
  queue: {
    says: (trial, _, element) =>
      `Trial ${trial.number} is queued${trial.plate ? ` on plate ${trial.plate}` : ""}. ${recipient(trial, element)}`,
    undo: ({ number }, _, element) => ({ method: "POST", path: `${pathOf(element)}/${number}/withdraw` }),
    link: linkToTrial,
  },
  repeat: {
    says: ({ trials }, _, element) => {
      const of = trials[0].plate ? ` on plate ${trials[0].plate}` : "";
      return trials.length > 1
        ? `Trials ${trials[0].number} to ${trials.at(-1).number} are queued${of}.`
        : `Trial ${trials[0].number} is queued${of}. ${recipient(trials[0], element)}`;
    },
    undo: ({ trials }, _, element) =>
      trials.length > 1
        ? null
        : { method: "POST", path: pathOf(element).replace(/repeat$/, `${trials[0].number}/withdraw`) },
    link: ({ trials }, element) => linkToTrial(trials[0], element),
  },
  limits: {
    says: () => "The changes are saved.",
    undo: (_, sent, element) => ({ method: "PATCH", body: before(element, sent) }),
    goto: stay,
  },
  pause: {
    says: () => "Paused: no new trials are issued.",
    undo: () => ({ method: "PATCH", body: { state: "running" } }),
  },
  resume: { says: () => "Resumed.", undo: () => ({ method: "PATCH", body: { state: "paused" } }) },
  exclude: {
    says: () => "The result no longer counts.",
    undo: () => ({ method: "PATCH", body: { excluded: false } }),
    goto: stay,
  },
  include: {
    says: () => "The result counts again.",
    undo: () => ({ method: "PATCH", body: { excluded: true } }),
    goto: stay,
  },
  correct: {
    says: () => "The result is corrected.",
    undo: (_, sent, element) => ({ method: "PATCH", body: before(element, sent) }),
    goto: stay,
  },
  amend: {
    says: (_, sent) => amended(sent),
    undo: (_, sent, element) => ({ method: "PATCH", body: before(element, sent) }),
  },
  added: {
    says: (answer) => {
      const { trial, seq, missing = [] } = answer.observation ?? answer;
      const whose = trial === null ? `own result R${seq}` : `the result of trial ${trial}`;
      return `The numbers are added to ${whose}.${missing.length ? ` Still missing: ${titlesOf(missing)}.` : ""}`;
    },
  },
  entered: { says: tellStored, undo: exclusion },
  words: {
    says: () => "The words are changed.",
    undo: (_, sent, element) => ({ method: "PATCH", body: before(element, sent) }),
    goto: stay,
  },
  rules: {
    says: () => "The rules are changed.",
    undo: (_, sent, element) => ({ method: "PATCH", body: before(element, sent) }),
    goto: stay,
  },
  catalogue: {
    says: () => "The catalogue is changed.",
    undo: (_, sent) => {
      const catalogues = reversed(sent.catalogues);
      return catalogues && { method: "PATCH", body: { catalogues } };
    },
    goto: stay,
  },
  note: {
    says: () => "The note is stored.",
    undo: (_, sent, element) => ({ method: "PATCH", body: before(element, sent) }),
    goto: stay,
  },
  widen: {
    says: () => "The range is wider now.",
    undo: (_, sent, element) => ({ method: "PATCH", body: before(element, sent) }),
    goto: stay,
  },
  release: { says: () => "The trial will be issued again with the same conditions.", goto: stay },
  withdraw: {
    says: (answer) => `Trial ${answer.trial.number} is withdrawn.`,
    undo: (_, __, element) => ({
      method: "POST",
      path: pathOf(element).replace(/withdraw$/, "retry"),
      body: { reason: "the withdrawal was taken back" },
    }),
  },
  fail: {
    says: () => "The trial has failed.",
    undo: (_, sent, element) => ({
      method: "POST",
      path: pathOf(element).replace(/observe$/, `trials/${sent.trial}/retry`),
      body: { reason: "the failure was taken back" },
    }),
    goto: stay,
  },
  extend: {
    says: (answer) => `The trial is reserved until ${atClock(answer.trial.leased_until)}.`,
  },
  continue: { says: () => "The study continues with the budget that it had." },
  finish: {
    says: () => "The study issues no new trials.",
    undo: (_, sent, element) => ({ method: "PATCH", body: before(element, sent) }),
  },
  delete: {
    says: () => "The study is in the trash.",
    undo: (_, __, element) => ({ method: "POST", path: `${pathOf(element)}/restore` }),
    goto: () => `${root}/`,
  },
  restore: { says: (answer) => `Study ${answer.id} is restored.`, goto: (answer) => studyPage(answer.id) },
  purge: { says: () => "The study is permanently deleted.", goto: stay },
  share: { says: () => "The study is shared.", goto: stay },
  give: { says: (answer) => `The study belongs to ${answer.owner} now.`, goto: () => `${root}/` },
  unshare: {
    says: () => "The right is revoked.",
    undo: (_, __, element) => ({ method: "PATCH", body: JSON.parse(dataOf(element, "before")) }),
    goto: stay,
  },
  link: { after: showLink },
  webhook: { after: showSecret },
  turn: {
    says: (answer) => (answer.is_on ? "The webhook is on. Missed messages are sent, too." : "The webhook is off."),
    goto: stay,
  },
  unhook: { says: () => "The webhook is deleted.", goto: stay },
  confirmed: { says: () => "The number is confirmed.", goto: stay },
  unfile: { says: () => "The file is deleted.", goto: stay },
  revoke: { says: () => "The link is revoked.", goto: stay },
  sessions: { says: () => "The sessions are ended.", goto: stay },
  retry: { says: () => "The trial will be issued again.", goto: stay },
};

function stay() {
  return location.href;
}

/** @param {{ number: number }} trial
 * @param {HTMLElement} element
 */
function linkToTrial({ number }, element) {
  const [, study = ""] = pathOf(element).match(/\/v1\/studies\/([^/]+)/) ?? [];
  return { href: `${root}/studies/${study}/trials/${number}`, text: `Trial ${number}` };
}

/** The titles of numbers of a result, as the table has them.
 * @param {string[]} names
 */
function titlesOf(names) {
  const labels = JSON.parse(document.querySelector("[data-labels]")?.getAttribute("data-labels") ?? "{}");
  return names.map((name) => labels[name] ?? name).join(", ");
}

/** @param {Record<string, any>} sent */
const amended = ({ excluded }) => (excluded ? "The result no longer counts." : "The result is corrected.");

/** The token of a link is behind the #, so no log of a server or a proxy has it.
 * @param {{ token: string }} answer
 */
function showLink({ token }) {
  clearToasts();
  const field = byId("made-link", HTMLInputElement);
  field.value = `${location.origin}${dataOf(field, "page")}#token=${token}`;
  byId("made", HTMLElement).hidden = false;
  field.select();
}

/** Show the signing secret of a webhook.
 * @param {{ secret: string }} answer
 */
function showSecret({ secret }) {
  clearToasts();
  const field = byId("made-secret", HTMLInputElement);
  field.value = secret;
  byId("made", HTMLElement).hidden = false;
  field.select();
}

/** The method and the path that an element sends to.
 * @param {HTMLElement} element
 */
const apiOf = (element) => dataOf(element, "api").split(" ");
/** @param {HTMLElement} element */
const pathOf = (element) => apiOf(element)[1];

/** A stored result cannot be removed: a result stays in the log. */
const EXCLUSION = {
  words: "Undo: exclude it",
  done: "The result is excluded: it no longer counts, but stays on record with its trial. You can include it again.",
};

/** The request that excludes a result that was just stored.
 * @type {NonNullable<Action["undo"]>}
 */
function exclusion(answer, _, element) {
  const path = pathOf(element).replace(/observe$/, `observations/${answer.observation.seq}`);
  return { method: "PATCH", path, body: { excluded: true }, ...EXCLUSION };
}

/** What was stored, with a warning if it is unusual. If the server does not say so in time, only what was sent.
 * @param {any} answer
 * @param {any} sent
 */
async function tellStored({ observation, trial, study }, sent) {
  const path = `${studyPage(study.id)}/results/${observation.seq}/stored.json`;
  const late = pause(MAX_MILLISECONDS_TO_JUDGE).then(() => null);
  /** @type {{ numbers: string, warning: string } | null} */
  const found = await Promise.race([call("GET", path).catch(() => null), late]);
  const numbers = found?.numbers || (typeof sent.value === "number" ? figure(sent.value, 12) : "");
  const what = trial ? `The result of trial ${trial.number} is stored` : `Own result R${observation.seq} is stored`;
  return [`${what}${numbers && `: ${numbers}`}.`, found?.warning ?? ""].join(" ").trim();
}

/** Send a request to the API, and show its outcome.
 * @param {HTMLElement} element whose data attributes name the request and the action
 * @param {any} sent
 */
async function perform(element, sent) {
  const [method, path] = apiOf(element);
  const isAsking = element.dataset.action === "ask";
  const answer = await (isAsking ? askPatiently(method, path, sent) : call(method, path, sent));
  if (answer === null) return; // the person has cancelled
  const lost = await storeNote(element, answer);
  if (lost) say(lost);
  if (element instanceof HTMLFormElement && element.dataset.action !== "preview") {
    element.dispatchEvent(new Event("stored"));
    discardDraft(element);
  } else if (element.dataset.action === "edited") discardDrafts();
  const { says, undo, goto, after, link } = ACTIONS[dataOf(element, "action")];
  const text = await says?.(answer, sent, element);
  const way = undo?.(answer, sent, element);
  const back = way ? guarded({ path, ...way }, answer) : undefined;
  const target = goto?.(answer);
  element.closest("dialog")?.close();
  if (target) {
    if (text) sayThere(text, back);
    if (target === location.href) location.reload();
    else location.assign(target);
    return;
  }
  if (text) say(text, back && (() => takeBack(back)), link?.(answer, element), back?.words);
  after?.(answer, sent, element);
  changed(element);
}

/** Send a request that undoes an action.
 * @param {Request} request
 * @param {boolean} isElsewhere whether the page was loaded since
 */
async function takeBack({ method, path, body: sent, done }, isElsewhere = false) {
  try {
    await call(method, path, sent);
    if (isElsewhere) {
      if (done) sayThere(done);
      location.reload();
    } else {
      if (done) say(done);
      changed();
    }
  } catch (error) {
    say(statusOf(error) === 412 ? notUndone(problemOf(error)) : messageOf(error));
  }
}

/** Why a change was not undone: what has been changed again.
 * @param {Problem | undefined} problem
 */
function notUndone(problem) {
  const errors = problem?.errors ?? [];
  const now = errors.length === 1 ? ` It ${errors[0].detail}.` : "";
  return `Not undone, because it has been changed again since.${now}`;
}

/** Called when the page's view of the study is out of date.
 * @param {HTMLElement} [by] what has changed it
 */
function changed(by) {
  document.body.dispatchEvent(new CustomEvent("study-changed", { bubbles: true, detail: { by } }));
}

/** The fields whose values this browser remembers.
 * @param {ParentNode} within
 */
const remembered = (within) => [...within.querySelectorAll("[data-remember]")].filter(isField);

/** Send a form. If another person has changed one of its fields, the server refuses the change.
 * @param {HTMLFormElement} form
 */
async function send(form) {
  for (let turn = 1; ; turn += 1) {
    const sent = /** @type {Record<string, any>} */ (form.requestBody ? await form.requestBody() : body(form));
    if (apiOf(form)[0] === "PATCH" && Object.keys(sent).every((name) => ["reason", "was"].includes(name))) {
      discardDraft(form);
      form.closest("dialog")?.close();
      say(`Nothing was changed${"reason" in sent ? ", so the reason was not stored" : ""}.`);
      return;
    }
    try {
      await refuseIfNoteChanged(form, sent);
      await perform(form, form.dataset.now ? { ...sent, was: before(form, sent) } : sent);
      return;
    } catch (error) {
      const problem = problemOf(error);
      if (problem?.code === "result_conflict") throw await conflictOf(form, sent, problem);
      if (statusOf(error) !== 412 || turn === MAX_TURNS) throw error;
      if (!form.dataset.now) throw new Error(OUTDATED, { cause: error });
      await refuseIfOthersChanged(form, sent);
    }
  }
}

document.addEventListener("submit", async (event) => {
  const form = around(event, "form", HTMLFormElement);
  if (!form?.dataset.api) return;
  event.preventDefault();
  const [button] = every(form, "[type=submit]", HTMLButtonElement);
  clearProblem(form);
  button.disabled = true;
  form.setAttribute("aria-busy", "true");
  try {
    for (const field of remembered(form)) localStorage.setItem(dataOf(field, "remember"), field.value);
    await send(form);
  } catch (error) {
    if (form.isConnected) tellProblem(form, error);
    else say(messageOf(error)); // another row of a table is edited by now
  } finally {
    form.removeAttribute("aria-busy");
    button.disabled = false;
  }
});

document.addEventListener("click", async (event) => {
  const button = around(event, "button", HTMLButtonElement);
  if (!button) return;
  if ("logout" in button.dataset) {
    forgetDrafts();
    const where = button.dataset.logout ? `/logout/${button.dataset.logout}` : "/logout";
    const { goto } = await call("POST", `${root}${where}`);
    location.assign(goto);
  }
  if (button.dataset.copies) {
    const field = byId(button.dataset.copies, HTMLInputElement);
    try {
      await navigator.clipboard.writeText(field.value);
      button.textContent = "Copied";
    } catch {
      field.select(); // without HTTPS, browsers do not let pages copy
    }
  }
  if ("more" in button.dataset) {
    const isOpen = holder(button, ".actions", HTMLElement).classList.toggle("all");
    button.setAttribute("aria-expanded", String(isOpen));
  }
  if ("prints" in button.dataset) window.print();
  if ("closes" in button.dataset) holder(button, "dialog", HTMLDialogElement).close();
  if (button.dataset.opens) byId(button.dataset.opens, HTMLDialogElement).showModal();
  if (button.dataset.api) {
    const { textContent: words } = button;
    button.disabled = true;
    if (button.dataset.busy) button.textContent = button.dataset.busy; // for slow requests
    try {
      await perform(button, JSON.parse(dataOf(button, "body")));
    } catch (error) {
      if (button.dataset.busy) button.textContent = words;
      say(messageOf(error));
    } finally {
      button.disabled = false;
    }
  }
});

/** Close the menus that are open, except one.
 * @param {Element | null} [kept]
 */
function closeMenus(kept = null) {
  for (const menu of every(document, "details.menu[open]", HTMLDetailsElement)) if (menu !== kept) menu.open = false;
}

document.addEventListener("click", ({ target }) => {
  if (!(target instanceof Element)) return;
  closeMenus(target.closest("button") ? null : target.closest("details.menu"));
});
document.addEventListener("keydown", ({ key, target }) => {
  const menu = target instanceof Element ? target.closest("details.menu[open]") : null;
  if (key !== "Escape" || !menu) return;
  closeMenus();
  one(menu, "summary", HTMLElement).focus();
});

/** Write texts that depend on the browser: times, and the address of the server.
 * @param {ParentNode} element
 */
function freshen(element) {
  tellTimes(element);
  for (const each of element.querySelectorAll("[data-origin]")) each.textContent = location.origin + root;
  for (const each of every(element, "[data-duration]", HTMLElement))
    each.textContent = span(Number(each.dataset.duration));
}

document.addEventListener("htmx:afterSettle", () => {
  freshen(document.body);
  markUnusual(document.body);
  restoreDrafts();
});
document.addEventListener(
  "htmx:responseError",
  ({ detail }) => detail.xhr.status === 401 && document.dispatchEvent(new Event("visibilitychange")),
);
document.addEventListener("htmx:sendError", () => reachable(false));
document.addEventListener("htmx:afterRequest", (event) => event.detail.successful && reachable(true));
setInterval(() => tellTimes(document.body), 5000);
for (const field of remembered(document)) {
  const value = localStorage.getItem(dataOf(field, "remember"));
  if (value !== null && (field.value === "" || field instanceof HTMLSelectElement)) field.value = value;
}
freshen(document.body);
markUnusual(document.body);
restoreDrafts();
/** Open the dialog that the address names. */
function openNamed() {
  const opened = document.getElementById(location.hash.slice(1));
  if (opened instanceof HTMLDialogElement) {
    history.replaceState(null, "", `${location.pathname}${location.search}`); // it stays closed after a reload
    opened.showModal();
  } else if (location.hash.startsWith("#correct-")) location.reload(); // of a result that the page does not show yet
}
openNamed();
window.addEventListener("hashchange", openNamed);
const said = saidBefore();
if (said) say(said.text, said.undo && (() => takeBack(said.undo, true)), undefined, said.undo?.words);
