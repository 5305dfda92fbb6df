// The form that adds a webhook.

const form = document.getElementById("webhook");
form.made = () => ({
  url: form.elements.url.value.trim(),
  notifications: [...form.querySelectorAll("[data-notification]:checked")].map((each) => each.dataset.notification),
});
form.fieldOf = (pointer) => (pointer === "/url" ? form.elements.url : null);
