// The form for a new study: rows for its parameters.

import { body } from "./forms.js";

const form = document.getElementById("new");
const rows = document.getElementById("parameters");
const template = document.getElementById("parameter");

function addRow() {
  const row = template.content.firstElementChild.cloneNode(true);
  const kind = part(row, "kind");
  const fit = () => {
    for (const field of row.querySelectorAll("[data-for]")) field.hidden = !field.dataset.for.split(" ").includes(kind.value);
  };
  kind.addEventListener("change", fit);
  row.querySelector("[data-remove]").addEventListener("click", () => row.remove());
  fit();
  rows.append(row);
  row.setAttribute("aria-label", `Parameter ${rows.children.length}`);
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
    for (const name of ["low", "high", "step"]) if (text(name) !== "") made[name] = meant(text(name));
    if (part(row, "log").checked) made.scale = "log";
  }
  return made;
}

form.made = () => ({ ...body(form), parameters: [...rows.children].map(parameter) });
form.fieldOf = (pointer) => {
  const [, index, name] = pointer.match(/^\/parameters\/(\d+)\/(\w+)/) ?? [];
  return rows.children[index] && part(rows.children[index], { scale: "log", values: "choices" }[name] ?? name);
};
document.getElementById("add-parameter").addEventListener("click", () => part(addRow(), "name").focus());
addRow();
