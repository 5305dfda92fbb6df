// The definition of a new study as JSON. The text follows the form; if somebody changes the text, it fills in the form.

import { messageOf } from "./caught.js";
import { definition, fill } from "./definition.js";
import { byId } from "./elements.js";
import { Mistyped } from "./forms.js";

const form = byId("new", HTMLFormElement);
const panel = byId("as-json", HTMLDetailsElement);
const field = byId("new-json", HTMLTextAreaElement);
const status = byId("json-status", HTMLElement);

/** @type {Record<string, any> | null} */
let unread = null; // a definition that the form cannot show
let isWrong = false; // the text is not JSON
let isNew = false; // somebody is writing the text, which the form does not show yet

/** @param {string} words */
function showStatus(words, isFault = false) {
  status.textContent = words;
  isWrong = isFault;
  if (isFault) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
}

/** @returns {Record<string, any>} */
function parsed() {
  try {
    const definition = JSON.parse(field.value);
    if (definition === null || typeof definition !== "object" || Array.isArray(definition))
      throw new Error('it must be an object, such as {"direction": "maximize"}.');
    return definition;
  } catch (error) {
    throw new Mistyped(field, `Definition: ${messageOf(error)}`);
  }
}

/** Write the definition that the form describes, unless the form is incomplete. A text that is not JSON stays. */
function follow() {
  if (!panel.open || isWrong || isNew) return;
  unread = null;
  try {
    field.value = JSON.stringify(definition(), null, 2);
    showStatus("");
  } catch (error) {
    showStatus(`The text follows the form again when this is right: ${messageOf(error)}`);
  }
}

/** Fill in the form from the text. The server reports errors in fields that the form does not have.
 * @param {Record<string, any>} written
 */
function take(written) {
  try {
    fill(written);
    unread = null;
    showStatus("The form shows this definition.");
  } catch {
    unread = written;
    showStatus("The form cannot show this definition. It is sent as it stands here.");
  }
}

/** Read the text, or say why it cannot be read.
 * @param {(written: Record<string, any>) => void} then
 */
function read(then) {
  try {
    const written = field.value.trim() === "" ? null : parsed();
    showStatus("");
    if (written) then(written);
  } catch (error) {
    showStatus(messageOf(error), true);
  }
}

/** Whether the text is sent instead of the form's definition. */
export const isSent = () => unread !== null;

/** What the form sends. */
export function sent() {
  if (isWrong) parsed();
  return unread ?? definition();
}

panel.addEventListener("toggle", () => isSent() || follow());
field.addEventListener("input", (event) => {
  event.stopPropagation();
  isNew = true;
  read(() => {});
});
field.addEventListener("change", () => {
  isNew = false;
  read(take);
});
form.addEventListener("input", follow);
