// The page of a new study, and of a running one whose space and rules for ending are edited.

import { call, root } from "./calls.js";
import {
  addMixtureOfShares,
  addObjective,
  addParameter,
  addQuantity,
  describe,
  fieldOf,
  fill,
  fitFields,
} from "./definition.js";
import { isSent, sent } from "./definition-as-json.js";
import { byId } from "./elements.js";
import { tellProblem } from "./forms.js";
import { addCombination, fitSpace, part } from "./space.js";

const form = byId("new", HTMLFormElement);
const { like } = form.dataset;
/** @type {Record<string, [() => HTMLElement, string]>} */
const ADD = {
  parameter: [addParameter, "name"],
  objective: [addObjective, "metric"],
  mixture: [addMixtureOfShares, "parameters"],
  quantity: [addQuantity, "metric"],
};

const LABELS = { low: "“From”", high: "“to”" };

form.inWords = ({ pointer, detail }) =>
  /^\/parameters\/\d+\/(low|high|step)$/.test(pointer)
    ? detail.replaceAll(/\b(low|high)\b/g, (name) => LABELS[name])
    : detail;
form.made = sent;
form.fieldOf = (pointer) => (isSent() ? undefined : fieldOf(pointer));
form.addEventListener("change", fitFields);
document.getElementById("parameters").addEventListener("input", fitSpace);
document.getElementById("add-exclusion").addEventListener("click", addCombination);
for (const [name, [add, first]] of Object.entries(ADD))
  document.getElementById(`add-${name}`).addEventListener("click", () => part(add(), first).focus());
describe(form);
fitFields();
if (like) {
  try {
    fill(await call("GET", `${root}/studies/${encodeURIComponent(like)}/template.json`));
  } catch (error) {
    tellProblem(form, error);
  }
} else {
  addParameter();
}
if ("edits" in form.dataset) {
  const { changes, placed, startEditing } = await import("./editing.js");
  startEditing();
  form.made = changes;
  form.fieldOf = (pointer) => {
    const found = placed(pointer);
    return typeof found === "string" ? fieldOf(found) : found;
  };
}
