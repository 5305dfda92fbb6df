// The rows of a catalogue, as a person adds, withdraws and restores them.

import { dataOf, query } from "./elements.js";

const PARTS = ["add", "withdraw", "restore"];

/** Let the form send the changes of its catalogue.
 * @param {HTMLFormElement} form
 */
export function takeRows(form) {
  /** @param {string} part */
  const field = (part) => query(form, `[data-part="${part}"]`, HTMLTextAreaElement);
  form.requestBody = async () => {
    const change = Object.create(null);
    for (const part of PARTS) {
      const text = field(part).value.trim();
      if (text !== "")
        change[part] =
          part === "add"
            ? text
            : text
                .split("\n")
                .map((line) => line.trim())
                .filter((line) => line !== "");
    }
    return { catalogues: { [dataOf(form, "catalogue")]: change } };
  };
  form.fieldOf = (pointer) => {
    const part = pointer.split("/")[3] ?? "";
    return field(PARTS.includes(part) ? part : "add");
  };
}

/** The change that undoes a change of catalogues; none if rows were added.
 * @param {Record<string, { add?: string, withdraw?: string[], restore?: string[] }>} catalogues
 */
export function reversed(catalogues) {
  const changes = Object.entries(catalogues);
  if (changes.some(([, { add }]) => add)) return null;
  return Object.fromEntries(
    changes.map(([name, { withdraw, restore }]) => [
      name,
      { ...(restore && { withdraw: restore }), ...(withdraw && { restore: withdraw }) },
    ]),
  );
}
