// Every page: buttons that open, close, print and copy, menus, times, drafts, and the message from the previous page.

import { call, reachable, root } from "./calls.js";
import { forgetDrafts, restoreDrafts } from "./drafts.js";
import { byId, closest, closestToTarget, query, queryAll } from "./elements.js";
import { fillRemembered } from "./remembered.js";
import "./sending.js";
import "./session.js";
import { showToast, takeToast } from "./toasts.js";
import { sendUndo } from "./undo.js";
import { markUnusual } from "./unusual.js";
import { showTimes, span } from "./words.js";

document.addEventListener("click", async (event) => {
  const button = closestToTarget(event, "button", HTMLButtonElement);
  if (!button) return;
  if ("logout" in button.dataset) {
    forgetDrafts();
    const where = button.dataset.logout ? `/logout/${button.dataset.logout}` : "/logout";
    const { goto } = await call("POST", `${root}${where}`);
    location.assign(goto);
  }
  if (button.dataset.copies) {
    const field = byId(button.dataset.copies, HTMLInputElement);
    try {
      await navigator.clipboard.writeText(field.value);
      button.textContent = "Copied";
    } catch {
      field.select(); // without HTTPS, browsers do not let pages copy
    }
  }
  if ("more" in button.dataset) {
    const isOpen = closest(button, ".actions", HTMLElement).classList.toggle("all");
    button.setAttribute("aria-expanded", String(isOpen));
  }
  if ("prints" in button.dataset) window.print();
  if ("closes" in button.dataset) closest(button, "dialog", HTMLDialogElement).close();
  if (button.dataset.opens) byId(button.dataset.opens, HTMLDialogElement).showModal();
});

/** Close the menus that are open, except one.
 * @param {Element | null} [kept]
 */
function closeMenus(kept = null) {
  for (const menu of queryAll(document, "details.menu[open]", HTMLDetailsElement)) if (menu !== kept) menu.open = false;
}

document.addEventListener("click", ({ target }) => {
  if (!(target instanceof Element)) return;
  closeMenus(target.closest("button") ? null : target.closest("details.menu"));
});
document.addEventListener("keydown", ({ key, target }) => {
  const menu = target instanceof Element ? target.closest("details.menu[open]") : null;
  if (key !== "Escape" || !menu) return;
  closeMenus();
  query(menu, "summary", HTMLElement).focus();
});

/** Write texts that depend on the browser: times, and the address of the server.
 * @param {ParentNode} element
 */
function freshen(element) {
  showTimes(element);
  for (const each of element.querySelectorAll("[data-origin]")) each.textContent = location.origin + root;
  for (const each of queryAll(element, "[data-duration]", HTMLElement))
    each.textContent = span(Number(each.dataset.duration));
}

document.addEventListener("htmx:afterSettle", () => {
  freshen(document.body);
  markUnusual(document.body);
  restoreDrafts();
});
document.addEventListener(
  "htmx:responseError",
  ({ detail }) => detail.xhr.status === 401 && document.dispatchEvent(new Event("visibilitychange")),
);
document.addEventListener("htmx:sendError", () => reachable(false));
document.addEventListener("htmx:afterRequest", (event) => event.detail.successful && reachable(true));
setInterval(() => showTimes(document.body), 5000);
fillRemembered();
freshen(document.body);
markUnusual(document.body);
restoreDrafts();
/** Open the dialog that the address names. */
function openNamed() {
  const opened = document.getElementById(location.hash.slice(1));
  if (opened instanceof HTMLDialogElement) {
    history.replaceState(null, "", `${location.pathname}${location.search}`); // it stays closed after a reload
    opened.showModal();
  } else if (location.hash.startsWith("#correct-")) location.reload(); // of a result that the page does not show yet
}
openNamed();
window.addEventListener("hashchange", openNamed);
const toast = takeToast();
if (toast) showToast(toast.text, toast.undo && (() => sendUndo(toast.undo, true)), undefined, toast.undo?.label);
