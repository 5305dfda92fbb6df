// The form that adds a webhook.

import { byId, queryAll } from "./elements.js";

const form = byId("webhook", HTMLFormElement);
const url = /** @type {HTMLInputElement} */ (form.elements.namedItem("url"));
form.requestBody = () => ({
  url: url.value.trim(),
  notifications: queryAll(form, "[data-notification]:checked", HTMLInputElement).map(
    (each) => each.dataset.notification,
  ),
});
/** @param {string} pointer */
form.fieldOf = (pointer) => (pointer === "/url" ? url : null);
