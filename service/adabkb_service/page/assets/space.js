// The rows of parameters in the form for a new study: what a row says, and which field of it a fault is about.

import { Mistyped, number } from "./forms.js";

const rows = document.getElementById("parameters");
const TRUTHS = { true: true, yes: true, false: false, no: false };

export const part = (row, name) => row.querySelector(`[data-part="${name}"]`);

const text = (row, name) => part(row, name).value.trim();
const isNumeric = (row) => ["float", "int"].includes(text(row, "kind"));
const isLog = (row) => part(row, "log").checked;

/** A number if it looks like one, else the text: what somebody means who types 3 or relu. */
function meant(typed) {
  const value = Number(typed);
  return typed !== "" && Number.isFinite(value) ? value : typed;
}

const listed = (typed, separator) => typed.split(separator).map((each) => each.trim());

/** Show what belongs to the kind of a parameter, now and whenever it changes. */
export function fitKind(row) {
  const kind = part(row, "kind");
  const fit = () => {
    for (const field of row.querySelectorAll("[data-for]")) field.hidden = !field.dataset.for.split(" ").includes(kind.value);
  };
  kind.addEventListener("change", fit);
  fit();
}

/** The parameters that the rows describe. */
export const parameters = () => [...rows.children].map(parameter);

function parameter(row) {
  const made = { name: text(row, "name"), kind: text(row, "kind") };
  const choices = () => listed(text(row, "choices"), ",").map(meant);
  if (made.kind === "categorical") made.choices = choices();
  if (made.kind === "ordinal") made.values = choices();
  if (made.kind === "fixed") made.value = meant(text(row, "value"));
  if (isNumeric(row)) {
    for (const name of ["low", "high", "step"]) made[name] = number(part(row, name));
    if (isLog(row)) made.scale = "log";
  }
  const when = conditions(row);
  return when ? { ...made, when } : made;
}

/** What "optimizer = sgd, adam; layers = 1, 2" says; undefined where a row says nothing. */
function conditions(row) {
  const element = part(row, "when");
  if (element.value.trim() === "") return undefined;
  const found = listed(element.value, ";").map((each) => {
    const [, name, values] = each.match(/^([^=]+)=(.+)$/) ?? [];
    if (!values) throw new Mistyped(element, `Exists only where: “${each}” does not say which parameter has which values; write optimizer = sgd.`);
    const parent = name.trim();
    const isTruth = [...rows.children].some((other) => text(other, "name") === parent && text(other, "kind") === "bool");
    return [parent, listed(values, ",").map((value) => (isTruth ? TRUTHS[value.toLowerCase()] ?? value : meant(value)))];
  });
  return Object.fromEntries(found);
}

/** What somebody believes of the optimum, by the names of parameters; undefined where nobody believes anything. */
export function beliefs() {
  const found = [...rows.children].map((row) => [text(row, "name"), belief(row)]).filter(([, each]) => each);
  return found.length ? Object.fromEntries(found) : undefined;
}

function belief(row) {
  if (isNumeric(row)) {
    const around = number(part(row, "around"));
    const spread = number(part(row, "spread"));
    if (around === undefined && spread === undefined) return undefined;
    return { around, [isLog(row) ? "factor" : "width"]: spread };
  }
  const element = part(row, "weights");
  if (text(row, "kind") === "fixed" || element.value.trim() === "") return undefined;
  const weights = listed(element.value, ",").map((each) => {
    const [, value, weight] = each.match(/^(.+):\s*([\d.eE+-]+)$/) ?? [];
    if (!Number.isFinite(Number(weight ?? NaN))) throw new Mistyped(element, `Values that are more likely to be best: “${each}” has no weight; write adam: 3.`);
    return [value.trim(), Number(weight)];
  });
  return { weights: Object.fromEntries(weights) };
}

const FIELDS = { scale: "log", values: "choices" };

/** The field of a fault of /parameters/... or /prior/...; undefined where it is about no row. */
export function fieldOfSpace([list, place, name]) {
  if (list === "parameters") return rows.children[place] && part(rows.children[place], FIELDS[name] ?? name);
  const row = list === "prior" && [...rows.children].find((each) => text(each, "name") === place);
  if (!row) return undefined;
  if (!isNumeric(row)) return part(row, "weights");
  return part(row, name === "around" || text(row, "around") === "" ? "around" : "spread");
}
