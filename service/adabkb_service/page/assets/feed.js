// The events of a study in words, as they happen.

import { byId, dataOf, made } from "./elements.js";
import { notices } from "./notices.js";
import { listen } from "./stream.js";
import { counted, figure, inLargestUnit, inUnit, measured, shown, tellTimes } from "./words.js";

const MAX_LINES = 200;

/** @param {string | null | undefined} worker */
const by = (worker) => (worker ? ` to ${worker}` : "");
/** @param {string | null | undefined} user */
const byUser = (user) => (user ? ` by ${user}` : "");
/** @param {string | null | undefined} reason */
const because = (reason) => (reason ? `: ${reason}` : "");
/** Kind of an event -> reason given by a code -> the reason in words.
 * @type {Record<string, Record<string, string>>}
 */
const REASONS = JSON.parse(dataOf(byId("feed", HTMLElement), "reasons"));
/** The reason of an event in words: that of a code, otherwise the text that a person gave.
 * @param {string} kind
 * @param {string | null | undefined} reason
 */
const inWords = (kind, reason) => REASONS[kind]?.[reason ?? ""] ?? reason;

/** @typedef {Record<string, Quantity>} Quantities of the study that the event is of */

/** Metrics with their names and units.
 * @param {Record<string, number>} metrics
 * @param {Quantities} quantities
 */
const named = (metrics, quantities) =>
  Object.entries(metrics).map(
    ([name, each]) => `${quantities[name]?.label ?? name} ${measured(each, quantities[name])}`,
  );

/** The value of a result; of several objectives each by its name.
 * @param {StudyEvent["payload"]} payload
 * @param {Quantities} quantities
 */
const result = ({ value, metrics }, quantities) =>
  typeof value === "number" ? measured(value, quantities.value) : named(metrics ?? {}, quantities).join(", ");

/** The numbers that an event adds to an incomplete result.
 * @param {StudyEvent["payload"]} payload
 * @param {Quantities} quantities
 */
function added({ value, metrics = {}, was }, quantities) {
  const lacked = Object.entries(metrics).filter(([name]) => !(name in (was.metrics ?? {})));
  return [
    ...("value" in was ? [measured(value, quantities.value)] : []),
    ...("metrics" in was ? named(Object.fromEntries(lacked), quantities) : []),
  ];
}

/** One change in words.
 * @param {string} name empty for the value
 * @param {string | null} before
 * @param {string | null} after
 */
function difference(name, before, after) {
  if (after === null) return `${name} ${before} removed`.trim();
  if (before !== null) return `${name} from ${before} to ${after}`.trim();
  return name ? `${name} set to ${after}` : `to ${after}`;
}

/** All that a correction changed, as the server's `corrections_in_words` does.
 * @param {StudyEvent["payload"]} payload
 * @param {Quantities} quantities
 */
function corrected(payload, quantities) {
  const { value, was = {} } = payload;
  const written = (/** @type {number | null | undefined} */ each, /** @type {Quantity} */ of = {}) =>
    each == null ? null : measured(each, of);
  const error = (/** @type {number | null | undefined} */ each, /** @type {Quantity} */ { unit } = {}) =>
    each == null ? null : inUnit(shown(each), unit === "%" ? "percentage points" : unit);
  const changes = [];
  if (typeof value === "number" && "value" in was && was.value !== value)
    changes.push(difference("", written(was.value, quantities.value), written(value, quantities.value)));
  for (const [name, before, after] of differing(was.metrics, payload.metrics)) {
    const known = quantities[name];
    changes.push(difference(known?.label ?? name, written(before, known), written(after, known)));
  }
  if ("std_error" in was && was.std_error !== payload.std_error) {
    const known = quantities.value;
    changes.push(difference("standard error", error(was.std_error, known), error(payload.std_error, known)));
  }
  for (const [name, before, after] of differing(was.std_errors, payload.std_errors)) {
    const known = quantities[name];
    changes.push(difference(`standard error of ${known?.label ?? name}`, error(before, known), error(after, known)));
  }
  const excluded = "excluded" in was ? [payload.excluded ? "excluded" : "included again"] : [];
  const told = [...changes, ...excluded].join(", ");
  if (!changes.length) return told || "corrected";
  return /^(from|to) /.test(told) ? `corrected ${told}` : `corrected: ${told}`;
}

/** The names of which the numbers differ, with both numbers; none if the event did not change the field.
 * @param {Record<string, number | null> | null | undefined} before
 * @param {Record<string, number | null> | null | undefined} after
 * @returns {[string, number | null | undefined, number | null | undefined][]}
 */
function differing(before, after) {
  if (before === undefined) return [];
  /** @type {[string, number | null | undefined, number | null | undefined][]} */
  const pairs = Object.keys({ ...before, ...after }).map((name) => [name, before?.[name], after?.[name]]);
  return pairs.filter(([, old, now]) => old !== now);
}

/** Name of a setting -> its label and how its value is written, as the server's `settings_in_words` does.
 * @type {Record<string, [string, "value" | "duration" | "difference" | "share"]>}
 */
const SETTINGS = JSON.parse(dataOf(byId("feed", HTMLElement), "settings"));

/** Name of a setting whose value is not written -> what was changed.
 * @type {Record<string, string>}
 */
const OF_WORDS = { quantities: "names, units and bounds of results", parameters: "names and units of parameters" };

/** @param {string} name */
const labelOf = (name) => SETTINGS[name]?.[0] ?? name;

/** The value of a setting, with its unit.
 * @param {string} name
 * @param {any} value
 * @param {Quantities} quantities
 * @returns {string}
 */
function setting(name, value, quantities) {
  if (value === null) return "none";
  if (name === "budget" && typeof value === "object") return counted(value.plates, "plate");
  if (typeof value === "object") {
    const parts = Object.entries(value).map(([key, each]) => `${labelOf(key)}: ${setting(key, each, quantities)}`);
    return parts.join(", ") || "none";
  }
  const kind = SETTINGS[name]?.[1];
  if (kind === "duration") return inLargestUnit(value);
  if (kind === "share") return inUnit(figure(100 * value), "%");
  const { unit } = quantities.value ?? {};
  return kind === "difference" ? inUnit(shown(value), unit === "%" ? "percentage points" : unit) : shown(value);
}

/** The former value of a setting in parentheses; empty if it had none.
 * @param {string} name
 * @param {Record<string, any> | undefined} was
 * @param {Quantities} quantities
 */
function former(name, was, quantities) {
  const value = was?.[name] ?? null;
  const isEmpty = value === null || (typeof value === "object" && !Object.keys(value).length);
  return isEmpty ? "" : ` (it was ${setting(name, value, quantities)})`;
}

/** A result in words: by its trial, or as one's own.
 * @param {StudyEvent["payload"]} payload
 * @param {number | null} trial
 */
const whose = ({ observation }, trial) =>
  trial === null ? `Own result R${observation}` : `The result of trial ${trial}`;

/** @type {Record<string, (payload: StudyEvent["payload"], quantities: Quantities, trial: number | null) => string>} */
const SENTENCES = {
  created: () => "The study was created",
  suggested: (payload) => `was suggested${by(payload.worker)}`,
  queued: () => "was queued",
  leased: (payload) => `was issued${by(payload.worker)}, attempt ${payload.attempt}`,
  expired: () => "is overdue: its reservation ended",
  released: () => "is to be tried again",
  observed: (payload, quantities) => `gave ${result(payload, quantities)}`,
  failed: (payload) => `failed${because(inWords("failed", payload.reason))}`,
  retried: (payload) => `is issued again${because(payload.reason)}`,
  withdrawn: (payload) => `was withdrawn${because(payload.reason)}`,
  annotated: ({ observation, attributes }) => {
    const named = Object.keys(attributes ?? {}).join(", ") || "attribute";
    return `${observation ? `Own result R${observation} ` : ""}has a new ${named}`;
  },
  paused: (payload) => inWords("paused", payload.reason) || "The study was paused",
  resumed: () => "The study was resumed",
  updated: (payload, quantities) =>
    `Changed: ${Object.entries(payload.changes)
      .map(([name, value]) =>
        name in OF_WORDS
          ? OF_WORDS[name]
          : `${labelOf(name)} = ${setting(name, value, quantities)}${former(name, payload.was, quantities)}`,
      )
      .join(", ")}`,
  completed: ({ reason }) =>
    `The study is complete. ${reason === "budget" && isEnded ? "Ended by a user." : inWords("completed", reason)}`,
  corrected: (payload, quantities, trial) =>
    `${whose(payload, trial)} was ${corrected(payload, quantities)}${byUser(payload.user)}${because(payload.reason)}`,
  measured: (payload, quantities, trial) =>
    `${whose(payload, trial)} got ${added(payload, quantities).join(", ")}, which it lacked`,
  model_failed: (payload) => `The model failed${because(payload.error)}`,
  stopped: (payload) => `was stopped at step ${payload.step}${because(payload.reason)}`,
  edited: (payload) =>
    `The parameters or rules were edited, version ${payload.version}` +
    (payload.closes_plate ? "; the last plate was closed, since no point has its values" : ""),
  model_recovered: () => "The model works again",
  plate_closed: (payload) => `Plate ${payload.plate} ended with free places: it had no unused conditions left`,
};

/** Whether a person has lowered the budget since the latest trial was added, which ends the study. */
let isEnded = false;

/** Remember whether a person ends the study.
 * @param {StudyEvent} event
 */
function rememberEnd({ kind, payload }) {
  if (kind === "suggested" || kind === "queued") isEnded = false;
  if (kind !== "updated" || !("budget" in payload.changes)) return;
  const [was, now] = [payload.was?.budget, payload.changes.budget];
  isEnded = typeof now === "number" && (was == null || (typeof was === "number" && now < was));
}

const OF_TRIALS = new Set([
  "suggested",
  "queued",
  "leased",
  "expired",
  "released",
  "observed",
  "failed",
  "retried",
  "withdrawn",
  "annotated",
  "stopped",
]);

/** Follow the log of a study, and show its events.
 * @param {import("./data.js").StudyData} data
 * @param {Quantities} quantities
 * @param {string} cursor of the first event
 * @param {(event?: StudyEvent) => void} changed
 */
export function follow(data, quantities, cursor, changed) {
  const feed = byId("feed", HTMLElement);
  const live = byId("live", HTMLElement);
  const tell = (/** @type {string} */ text, /** @type {boolean} */ isOn) => {
    live.textContent = text;
    live.classList.toggle("on", isOn);
  };
  const known = Number(dataOf(byId("figures", HTMLElement), "revision"));
  const notify = notices(data.id);
  const told = (/** @type {StudyEvent} */ event) => {
    rememberEnd(event);
    const item = line(event, data, quantities);
    feed.prepend(item);
    while (feed.children.length > MAX_LINES) feed.lastElementChild?.remove();
    if (event.seq <= known) return;
    notify(event, dataOf(item, "told"));
    changed(event);
  };
  listen(data.api, cursor, told, {
    missed: changed,
    opened: () => tell("live", true),
    lost: (isOver) => tell(isOver ? "the stream has ended; load the page again" : "not connected; trying again", false),
  });
}

/** An event in words.
 * @param {StudyEvent} event
 * @param {import("./data.js").StudyData} data
 * @param {Quantities} quantities
 */
function line(event, data, quantities) {
  const item = document.createElement("li");
  const told = SENTENCES[event.kind](event.payload, quantities, event.trial);
  if (OF_TRIALS.has(event.kind) && event.trial !== null) {
    const link = document.createElement("a");
    link.href = data.trialPage(event.trial);
    link.textContent = `Trial ${event.trial}`;
    item.append(link, " ", made("bdi", {}, told));
  } else {
    item.append(
      made("bdi", {}, event.kind === "observed" ? `A user's own result: ${result(event.payload, quantities)}` : told),
    );
  }
  item.dataset.told = item.textContent;
  const time = document.createElement("time");
  time.dateTime = event.created_at;
  item.append(" ", time);
  tellTimes(item);
  return item;
}
