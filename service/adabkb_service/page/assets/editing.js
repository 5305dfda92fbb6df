// Edit a running study: the changes, and a preview of their effects.

import { definition } from "./definition.js";
import { byId, closest, query, queryAll } from "./elements.js";
import { same } from "./kept.js";
import { area, box, field, ofRow, part, text } from "./space.js";
import { counted, figure } from "./words.js";

/** The fields of which an edit replaces the value; without one, it removes the setting. */
const SETTINGS = ["budget", "tolerance", "stop", "noise_std", "robust", "per_cost"];
/** The fields that an edit replaces as a whole, with their empty values. */
const REPLACED = { constraints: [], mixtures: [], prior: {}, baseline: {} };

const form = byId("new", HTMLFormElement);
const section = byId("preview", HTMLElement);
const save = byId("save", HTMLButtonElement);
const rows = () => queryAll(byId("parameters", HTMLElement), ":scope > *", HTMLElement);

/** @type {Record<string, any>} */
let before = {};
/** @type {string[]} */
let names = []; // names of the parameters that were sent

/** Take the current form as the state of the study, whose parameters keep their names and cannot be removed. */
export function startEditing() {
  before = definition();
  for (const row of rows()) {
    box(row, "name").readOnly = true;
    for (const button of queryAll(row, "[data-remove]", HTMLElement)) button.hidden = true;
    closest(area(row, "default"), ".field", HTMLElement).remove();
  }
}

const added = () => rows().filter((row) => part(row, "default"));

/** The body of the request that changes the study to what the form describes. */
export function changes() {
  const now = definition();
  /** @type {[Parameter[], Parameter[]]} */
  const [present, former] = [now.parameters, before.parameters];
  const was = new Map(former.map((each) => [each.name, each]));
  const changed = present.filter((each) => !same(each, was.get(each.name)));
  const given = added().filter(
    (row) => !["fixed", "catalogue"].includes(text(row, "kind")) && field(row, "default").value.trim() !== "",
  );
  names = changed.map((each) => each.name);
  const sent = Object.create(null);
  if (changed.length) sent.parameters = changed;
  if (given.length) sent.defaults = Object.fromEntries(given.map((row) => [text(row, "name"), ofRow(row, "default")]));
  for (const [name, nothing] of Object.entries(REPLACED))
    if (!same(now[name] ?? nothing, before[name] ?? nothing)) sent[name] = now[name] ?? nothing;
  for (const name of SETTINGS) if (!same(now[name] ?? null, before[name] ?? null)) sent[name] = now[name] ?? null;
  return sent;
}

/** A pointer into the request as a pointer into the whole definition, or the field itself.
 * @param {string} pointer
 */
export function placed(pointer) {
  const [, list, place, ...rest] = pointer.split("/");
  if (list === "defaults")
    return added()
      .find((row) => text(row, "name") === place.replaceAll("~1", "/").replaceAll("~0", "~"))
      ?.querySelector('[data-part="default"]');
  if (list !== "parameters" || place === undefined) return pointer;
  return ["", "parameters", rows().findIndex((row) => text(row, "name") === names[Number(place)]), ...rest].join("/");
}

/** @type {[string, (count: number) => string][]} */
const EFFECTS = [
  [
    "leaving",
    (count) =>
      count === 1
        ? "1 result outside the new space no longer counts, and stays on record."
        : `${counted(count, "result")} outside the new space no longer count, and stay on record.`,
  ],
  ["returning", (count) => `${counted(count, "result")} ${count === 1 ? "counts" : "count"} again.`],
  [
    "withdrawn",
    (count) => `${counted(count, "waiting trial")} outside the new space ${count === 1 ? "is" : "are"} withdrawn.`,
  ],
];

/** A cell with a text, or with a dash if the text is empty.
 * @param {"th" | "td" | "li"} tag
 * @param {string | null} words
 */
function cell(tag, words) {
  return Object.assign(document.createElement(tag), { textContent: words || "–", className: "long" });
}

/** Show the effects of the changes, and offer to save them.
 * @param {PageEvents["previewed"]} event
 */
function show({ detail: { answer, sent } }) {
  /** @type {{ what: string, before: string | null, after: string | null }[]} */
  const differences = answer.differences;
  const lines = differences.map(({ what, before: now, after }) => {
    const row = document.createElement("tr");
    row.append(Object.assign(cell("th", what), { scope: "row" }), cell("td", now), cell("td", after));
    return row;
  });
  query(section, "tbody", HTMLElement).replaceChildren(...lines);
  const effects = EFFECTS.filter(([name]) => answer[name]).map(([name, words]) => words(answer[name]));
  if (!lines.length) effects.unshift("Nothing changes.");
  else {
    const best = answer.best ? `; the best one is ${figure(answer.best.value)}` : "";
    effects.push(`${counted(answer.results, "result")} ${answer.results === 1 ? "counts" : "count"} then${best}.`);
  }
  if (answer.state === "complete") effects.push("The study is complete then.");
  byId("effects", HTMLElement).replaceChildren(...effects.map((words) => cell("li", words)));
  for (const table of queryAll(section, ".scroll", HTMLElement)) table.hidden = !lines.length;
  save.hidden = !lines.length;
  save.dataset.body = JSON.stringify(sent);
  section.hidden = false;
  section.focus();
}

form.addEventListener("previewed", show);
form.addEventListener("input", () => (section.hidden = true));
