// The form for the next trial, opened with some values held fixed.

import { byIdOrNull, closest, queryAll } from "./elements.js";

/** Open the form for the next trial with these values held fixed, if this person may ask for one.
 * @param {Record<string, unknown>} values
 */
export function askWith(values) {
  const [dialog, button] = [byIdOrNull("ask", HTMLDialogElement), byIdOrNull("do-ask", HTMLButtonElement)];
  if (!dialog || !button) return;
  button.click();
  const count = byIdOrNull("ask-count", HTMLInputElement);
  if (count) count.value = ""; // one trial with these values
  for (const field of queryAll(dialog, "[data-group=fixed]", HTMLElement)) {
    if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement)) continue;
    const value = values[field.name];
    if (field instanceof HTMLInputElement) field.value = value === undefined ? "" : String(value);
    else field.value = [...field.options].find((each) => each.value && JSON.parse(each.value) === value)?.value ?? "";
    closest(field, "details", HTMLDetailsElement).open = true;
  }
}
