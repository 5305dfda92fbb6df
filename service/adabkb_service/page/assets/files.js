// The files of a trial, or of a result without a trial.

import { byId, byIdOrNull, query } from "./elements.js";
import { showToast } from "./toasts.js";

/** Add the chosen files, one after the other; refused ones are reported, and the others are added. */
document.addEventListener("change", async ({ target }) => {
  if (!(target instanceof HTMLInputElement) || target.id !== "add-files") return;
  target.disabled = true;
  const refused = [];
  for (const file of target.files ?? []) {
    const options = {
      method: "POST",
      body: file,
      headers: { "Content-Type": file.type || "application/octet-stream", Accept: "application/json" },
    };
    const answer = await fetch(`${target.dataset.path}?name=${encodeURIComponent(file.name)}`, options).catch(
      () => null,
    );
    if (answer?.ok) continue;
    const { detail } = answer ? await answer.json().catch(() => ({})) : { detail: "the server does not answer" };
    refused.push(`${file.name}: ${detail ?? answer?.status}`);
  }
  target.value = "";
  target.disabled = false;
  await refresh().catch(() => {});
  const problem = byIdOrNull("files-problem", HTMLElement); // absent without the right to work
  if (problem) {
    problem.textContent = refused.join("\n");
    problem.hidden = refused.length === 0;
  } else if (refused.length) showToast(refused.join("\n"));
});

/** Show the current files. */
async function refresh() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
  if (!answer.ok) return;
  const loaded = new DOMParser().parseFromString(await answer.text(), "text/html");
  byId("files", HTMLElement).replaceWith(query(loaded, "#files", HTMLElement));
  document.dispatchEvent(new CustomEvent("htmx:afterSettle")); // which writes times in words
}
