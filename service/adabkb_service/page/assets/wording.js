// Names and units of a study, as a person changes them.

import { number } from "./forms.js";

/** Let the form send the words of what is measured and of the parameters. */
export function takeWords(form, data) {
  form.made = async () => {
    const { parameters } = await data.study();
    const quantities = Object.create(null);
    for (const row of form.querySelectorAll("[data-quantity]")) {
      const words = wordsOf(row);
      for (const part of ["digits", "low", "high"]) {
        const value = number(row.querySelector(`[data-part="${part}"]`));
        if (value !== undefined) words[part] = value;
      }
      if (Object.keys(words).length) quantities[row.dataset.quantity] = words;
    }
    const changed = [...form.querySelectorAll("[data-parameter]")].map((row) => {
      const { label, unit, ...parameter } = parameters.find((each) => each.name === row.dataset.parameter);
      return { ...parameter, ...wordsOf(row) };
    });
    return { quantities, parameters: changed };
  };
  form.fieldOf = (pointer) => {
    const [, group, name, part] = pointer.split("/").map((each) => each.replaceAll("~1", "/").replaceAll("~0", "~"));
    const row =
      group === "quantities"
        ? [...form.querySelectorAll("[data-quantity]")].find((each) => each.dataset.quantity === name)
        : form.querySelectorAll("[data-parameter]")[Number(name)];
    return row?.querySelector(`[data-part="${part}"]`);
  };
}

function wordsOf(row) {
  const words = Object.create(null);
  for (const part of ["label", "unit"]) {
    const text = row.querySelector(`[data-part="${part}"]`).value.trim();
    if (text !== "") words[part] = text;
  }
  return words;
}
