// The form for a new study: rows for its parameters, and for other quantities that are measured.

import { body, number } from "./forms.js";

const form = document.getElementById("new");
const rows = document.getElementById("parameters");
const quantities = document.getElementById("quantities");

/** A new row, of a template, at the end of others. */
function addRow(template, others, label) {
  const row = document.getElementById(template).content.firstElementChild.cloneNode(true);
  row.querySelector("[data-remove]").addEventListener("click", () => row.remove());
  others.append(row);
  row.setAttribute("aria-label", `${label} ${others.children.length}`);
  return row;
}

function addParameter() {
  const row = addRow("parameter", rows, "Parameter");
  const kind = part(row, "kind");
  const fit = () => {
    for (const field of row.querySelectorAll("[data-for]")) field.hidden = !field.dataset.for.split(" ").includes(kind.value);
  };
  kind.addEventListener("change", fit);
  fit();
  return row;
}

const part = (row, name) => row.querySelector(`[data-part="${name}"]`);

/** A number if it looks like one, else the text: what somebody means who types 3 or relu. */
function meant(text) {
  const value = Number(text);
  return text !== "" && Number.isFinite(value) ? value : text;
}

function parameter(row) {
  const text = (name) => part(row, name).value.trim();
  const made = { name: text("name"), kind: text("kind") };
  const choices = () => text("choices").split(",").map((each) => meant(each.trim()));
  if (made.kind === "categorical") made.choices = choices();
  if (made.kind === "ordinal") made.values = choices();
  if (made.kind === "fixed") made.value = meant(text("value"));
  if (made.kind === "float" || made.kind === "int") {
    for (const name of ["low", "high", "step"]) made[name] = number(part(row, name));
    if (part(row, "log").checked) made.scale = "log";
  }
  return made;
}

/** A quantity's bounds; without any it is measured and bounds nothing. */
function quantity(row) {
  return { metric: part(row, "metric").value.trim(), lower: number(part(row, "lower")), upper: number(part(row, "upper")) };
}

const isBounded = ({ lower, upper }) => lower !== undefined || upper !== undefined;

function made() {
  const study = { ...body(form), parameters: [...rows.children].map(parameter) };
  const measured = [...quantities.children].map(quantity);
  const bounded = measured.filter(isBounded);
  if (measured.length) study.metrics = measured.map((each) => each.metric);
  if (bounded.length) study.outcome_constraints = bounded;
  return study;
}

/** The field of a fault in a row. */
function fieldOf(pointer) {
  const [, list, place, name] = pointer.match(/^\/(\w+)\/(\d+)(?:\/(\w+))?/) ?? [];
  if (list === "parameters") return rows.children[place] && part(rows.children[place], { scale: "log", values: "choices" }[name] ?? name);
  if (list === "metrics") return part(quantities.children[place], "metric");
  if (list !== "outcome_constraints") return undefined;
  const bounded = [...quantities.children].filter((row) => isBounded(quantity(row)));
  return part(bounded[place], name ?? "lower");
}

form.made = made;
form.fieldOf = fieldOf;
document.getElementById("add-parameter").addEventListener("click", () => part(addParameter(), "name").focus());
document.getElementById("add-quantity").addEventListener("click", () => part(addRow("quantity", quantities, "Quantity"), "metric").focus());
addParameter();
