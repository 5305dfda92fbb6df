// The form that shares a study with a user.

import { byIdOrNull } from "./elements.js";
import { body } from "./forms.js";

const form = byIdOrNull("share", HTMLFormElement);
if (form) {
  form.requestBody = () => {
    const { user, right } = body(form);
    return { shared_with: { [user]: right } };
  };
  /** @param {string} name */
  const element = (name) => /** @type {Element} */ (form.elements.namedItem(name));
  form.fieldOf = (pointer) => (pointer.startsWith("/shared_with") ? element("user") : null);
}
