// The page of a new study, and of a running one whose space and rules for ending are edited.

import { call, root } from "./calls.js";
import {
  addMixtureOfShares,
  addObjective,
  addParameter,
  addQuantity,
  definition,
  describe,
  fieldOf,
  fill,
  fitFields,
  fitParameters,
  showGoal,
} from "./definition.js";
import { isSent, sent } from "./definition-as-json.js";
import { keepFields, keepWhole } from "./drafts.js";
import { byId, createElement } from "./elements.js";
import { fieldsOf, showProblem } from "./forms.js";
import { addCombination, area } from "./space.js";

const form = byId("new", HTMLFormElement);
const { like } = form.dataset;
/** @type {Record<string, [() => HTMLElement, string]>} */
const ADD = {
  parameter: [addParameter, "name"],
  objective: [addObjective, "metric"],
  mixture: [addMixtureOfShares, "total"],
  quantity: [addQuantity, "metric"],
};

/** @type {Record<string, string>} */
const LABELS = { low: "“From”", high: "“to”" };
/** What to enter in a field that must not be empty.
 * @type {Record<string, string>}
 */
const THINGS = { name: "a name", metric: "a name", id: "an ID", low: "a number", high: "a number" };

/** @type {(fault: { pointer: string, detail: string }) => string} */
form.inWords = ({ pointer, detail }) => {
  if (/\/direction$/.test(pointer)) return "choose whether the result should be large or small.";
  if (/^(is required|must have 1 or more characters)/.test(detail)) {
    const thing = Object.entries(THINGS).find(([name]) => pointer.endsWith(`/${name}`))?.[1];
    return `enter ${thing ?? "a value"}.`;
  }
  const isOfRange = /^\/parameters\/\d+\/(low|high|step)$/.test(pointer);
  return isOfRange ? detail.replaceAll(/\b(low|high)\b/g, (name) => LABELS[name]) : detail;
};
const REQUIRED =
  "#new-direction, #parameters :is([data-part=name], [data-part=low], [data-part=high]), " +
  "#objectives :is([data-part=metric], [data-part=direction])";
/** The definition that is sent. Fields are required only now, so that they are not marked while a person is filling in
 * the form.
 */
form.requestBody = () => {
  const required = fieldsOf(form).filter((field) => field.matches(REQUIRED));
  for (const field of required) field.required = true;
  try {
    return sent();
  } finally {
    for (const field of required) field.required = false;
  }
};

const id = byId("new-id", HTMLInputElement);
const proposal = createElement("small", { id: "new-id-proposal" });
proposal.setAttribute("role", "status");
id.after(proposal);
/** Propose an ID for an invalid name, such as one with spaces. */
id.addEventListener("change", () => {
  const typed = id.value.trim();
  id.value = asId(typed) || typed;
  proposal.textContent =
    id.value === typed ? "" : `An ID has letters, digits, . _ and -, so “${typed}” becomes “${id.value}”.`;
});

const title = byId("new-title", HTMLInputElement);
let derived = "";
/** Derive the ID from the title, unless a person has typed another one. */
title.addEventListener("input", () => {
  if (id.value !== derived) return;
  derived = asId(title.value);
  id.value = derived;
});

/** The ID that is closest to a name: letters, digits, points, underscores and hyphens, the first a letter or a digit.
 * A point at the end would not be a part of the address in an e-mail.
 * @param {string} name
 */
function asId(name) {
  const plain = name.replaceAll("ß", "ss").normalize("NFKD").replace(/\p{M}/gu, "");
  return plain
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .slice(0, 100)
    .replace(/^[^A-Za-z0-9]+|[.-]+$/g, "");
}
/** @param {string} pointer */
form.fieldOf = (pointer) => (isSent() ? undefined : fieldOf(pointer));
form.addEventListener("change", fitFields);
for (const list of ["parameters", "mixtures"]) byId(list, HTMLElement).addEventListener("input", fitParameters);
for (const kind of ["input", "change"]) form.addEventListener(kind, showGoal);
byId("add-exclusion", HTMLButtonElement).addEventListener("click", addCombination);
for (const [name, [add, first]] of Object.entries(ADD))
  byId(`add-${name}`, HTMLButtonElement).addEventListener("click", () => {
    area(add(), first).focus();
    showGoal();
  });
describe(form);
fitFields();
// Register before the form is filled in: a person's changes are compared with the state at startEditing.
const editing = "edits" in form.dataset ? await import("./editing.js") : undefined;
if (like) {
  try {
    fill(await call("GET", `${root}/studies/${encodeURIComponent(like)}/template.json`));
    if (!editing) byId("new-description", HTMLTextAreaElement).value = ""; // it may have the conclusions of that study
  } catch (error) {
    showProblem(form, error);
  }
} else {
  addParameter();
}
showGoal();
if (!editing) keepWhole(form, definition, fill);
if (editing) {
  editing.startEditing();
  const list = byId("parameters", HTMLElement);
  keepFields(form, () => list.childElementCount, addParameter);
  form.requestBody = editing.changes;
  /** @param {string} pointer */
  form.fieldOf = (pointer) => {
    const place = editing.placed(pointer);
    return typeof place === "string" ? fieldOf(place) : place;
  };
}
form.inert = false; // what a person typed before that would be overwritten, and no draft would have it
