// Short messages at the edge of the page, some with a button to undo an action. They disappear when somebody closes
// them, after a while, and when they might cover another message of the page.

import { byId } from "./elements.js";

const SECONDS = 12;
const MAX_SHOWN = 2; // more messages would cover the page

/** Show a message; with ``undo``, offer to undo the action.
 * @param {string} text
 * @param {(() => unknown) | false} [undo]
 * @param {{ href: string, text: string }} [link]
 * @param {string} [words] of the button
 */
export function showToast(text, undo, link, words = "Undo") {
  const toast = document.createElement("div");
  toast.className = "toast";
  const message = document.createElement("span");
  message.textContent = text;
  toast.append(message);
  if (link) {
    const to = document.createElement("a");
    to.href = link.href;
    to.textContent = link.text;
    toast.append(to);
  }
  if (undo) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words;
    button.addEventListener("click", () => {
      toast.remove();
      undo();
    });
    toast.append(button);
  }
  const close = document.createElement("button");
  close.type = "button";
  close.className = "closes";
  close.textContent = "×";
  close.setAttribute("aria-label", "Close this message");
  close.addEventListener("click", () => toast.remove());
  toast.append(close);
  const shown = byId("toasts", HTMLElement);
  for (let left = shown.childElementCount + 1 - MAX_SHOWN; left > 0; left -= 1) shown.firstElementChild?.remove();
  shown.append(toast);
  removeLater(toast);
}

/** Remove a message after a while, but not while the pointer or the keyboard focus is on it.
 * @param {HTMLElement} toast
 */
function removeLater(toast) {
  /** @type {number | undefined} */
  let timer;
  const wait = () => {
    timer = setTimeout(() => toast.remove(), SECONDS * 1000);
  };
  for (const kind of ["pointerenter", "focusin"]) toast.addEventListener(kind, () => clearTimeout(timer));
  for (const kind of ["pointerleave", "focusout"])
    toast.addEventListener(kind, () => {
      clearTimeout(timer);
      wait();
    });
  wait();
}

/** Remove the messages without a button. */
export function clearToasts() {
  for (const toast of document.querySelectorAll(".toast:not(:has(button))")) toast.remove();
}

/** Show a message on the next page; ``undo`` is the request that undoes the action.
 * @param {string} text
 * @param {unknown} [undo]
 */
export function showToastAfterLoading(text, undo) {
  sessionStorage.setItem("toast", JSON.stringify({ text, undo }));
}

/** The message from the previous page: the text, and the request that undoes the action.
 * @returns {{ text: string, undo?: any } | null}
 */
export function takeToast() {
  const stored = sessionStorage.getItem("toast");
  sessionStorage.removeItem("toast");
  return stored ? JSON.parse(stored) : null;
}
