// Asking for the next experiment: while the model is choosing it, the page says how long this takes, and offers a
// quasi-random point at once.

import { call, pause } from "./calls.js";
import { problemOf, statusOf } from "./caught.js";
import { made } from "./elements.js";
import { inUnit } from "./words.js";

const SHOWN_AFTER_SECONDS = 2;
const MAX_REFUSALS = 6;

/** Ask for trials, and wait for the model as long as the person does.
 * @param {string} method
 * @param {string} path
 * @param {Record<string, unknown>} sent
 * @returns {Promise<any>}
 */
export async function askPatiently(method, path, sent) {
  const wait = new Wait();
  let refusals = 0; // for other reasons
  try {
    for (;;) {
      const { fallback } = wait;
      try {
        return await call(method, path, { ...sent, fallback }, 1);
      } catch (error) {
        const isBusy = problemOf(error)?.code === "model_busy";
        if (!isBusy && (statusOf(error) !== 503 || ++refusals === MAX_REFUSALS)) throw error;
        await pause(1000);
      }
    }
  } finally {
    wait.end();
  }
}

/** The dialog that is shown while the model is choosing. */
class Wait {
  fallback = false;
  #began = Date.now();
  #seconds = made("span", {});
  #random = made("button", { type: "button", textContent: "Take a quasi-random point" });
  #dialog = made("dialog", {}, made("p", {}, "The model is choosing your point: ", this.#seconds, "."));
  #timer = setInterval(() => this.#tell(), 1000);

  constructor() {
    this.#dialog.setAttribute("aria-label", "Waiting for the model");
    this.#dialog.append(made("p", { className: "buttons" }, this.#random));
    this.#dialog.addEventListener("cancel", (event) => event.preventDefault()); // a point may be on its way
    this.#random.addEventListener("click", () => {
      this.fallback = true;
      this.#random.disabled = true;
      this.#random.textContent = "A quasi-random point follows in some seconds …";
    });
  }

  #tell() {
    const seconds = Math.round((Date.now() - this.#began) / 1000);
    this.#seconds.textContent = inUnit(String(seconds), "s");
    if (seconds < SHOWN_AFTER_SECONDS || this.#dialog.open) return;
    document.body.append(this.#dialog);
    this.#dialog.showModal();
  }

  end() {
    clearInterval(this.#timer);
    this.#dialog.remove();
  }
}
