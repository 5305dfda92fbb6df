// The form that shares a study with somebody.

import { body } from "./forms.js";

const form = document.getElementById("share");
if (form) {
  form.made = () => {
    const { user, right } = body(form);
    return { shared_with: { [user]: right } };
  };
  form.fieldOf = (pointer) => (pointer.startsWith("/shared_with") ? form.elements.user : null);
}
