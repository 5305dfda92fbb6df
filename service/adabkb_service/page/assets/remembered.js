// The fields whose values this browser remembers for the next form.

import { dataOf } from "./elements.js";
import { isField } from "./forms.js";

/** @param {ParentNode} within */
const remembered = (within) => [...within.querySelectorAll("[data-remember]")].filter(isField);

/** Remember what a form sends.
 * @param {HTMLFormElement} form
 */
export function remember(form) {
  for (const field of remembered(form)) localStorage.setItem(dataOf(field, "remember"), field.value);
}

/** Fill in the fields of the page. */
export function fillRemembered() {
  for (const field of remembered(document)) {
    const value = localStorage.getItem(dataOf(field, "remember"));
    if (value !== null && (field.value === "" || field instanceof HTMLSelectElement)) field.value = value;
  }
}
