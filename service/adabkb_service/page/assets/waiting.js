// Ask for the next trial. While the model is choosing it, the page shows how long this has taken, and offers to take a
// quasi-random trial or to cancel.

import { call, pause } from "./calls.js";
import { messageOf, problemOf, statusOf } from "./caught.js";
import { createElement } from "./elements.js";
import { announceChange } from "./study-changed.js";
import { showToast } from "./toasts.js";
import { inUnit } from "./words.js";

const SHOWN_AFTER_SECONDS = 2;
const MAX_REFUSALS = 6;

/** Ask for trials, and wait for the model until the person cancels. Returns the answer; null if the person cancels. The
 * trials of an answer that arrives later are released.
 * @param {string} method
 * @param {string} path
 * @param {Record<string, unknown>} sent
 * @returns {Promise<any>}
 */
export async function askPatiently(method, path, sent) {
  const wait = new Wait();
  let refusals = 0; // number of 503 answers other than model_busy
  try {
    while (!wait.isCancelled) {
      const asked = call(method, path, { ...sent, fallback: wait.fallback }, 1);
      try {
        const answer = await Promise.race([asked, wait.cancelled]);
        if (answer) return answer;
        asked.then(
          ({ trials }) => giveBack(path, trials),
          () => {}, // refused, so there are no trials
        );
      } catch (error) {
        const isBusy = problemOf(error)?.code === "model_busy";
        if (!isBusy && (statusOf(error) !== 503 || ++refusals === MAX_REFUSALS)) throw error;
        await Promise.race([pause(1000), wait.cancelled]);
      }
    }
    return null;
  } finally {
    wait.end();
  }
}

/** Release the trials of a request that the person has cancelled.
 * @param {string} path the path of the request
 * @param {{ number: number, attempt: number }[]} trials
 */
async function giveBack(path, trials) {
  try {
    for (const { number, attempt } of trials)
      await call("POST", path.replace(/suggest$/, `trials/${number}/release`), { attempt });
    if (trials.length)
      showToast("The trial arrived after you had cancelled. It is given back, and is the next to be issued.");
  } catch (error) {
    showToast(
      `Trial ${trials[0].number} arrived after you had cancelled, and is reserved for you: ${messageOf(error)}`,
    );
  }
  announceChange();
}

/** The dialog that is shown while the model is choosing. */
class Wait {
  fallback = false;
  isCancelled = false;
  /** @type {Promise<null>} */
  cancelled;
  #began = Date.now();
  #seconds = createElement("span", {});
  #random = createElement("button", { type: "button", textContent: "Take a quasi-random trial" });
  #dialog = createElement(
    "dialog",
    {},
    createElement("p", {}, "The model is choosing your trial: ", this.#seconds, "."),
  );
  #timer = setInterval(() => this.#show(), 1000);

  constructor() {
    this.#dialog.setAttribute("aria-label", "Waiting for the model");
    const cancel = createElement("button", { type: "button", textContent: "Cancel" });
    this.#dialog.append(createElement("p", { className: "buttons" }, this.#random, cancel));
    this.cancelled = new Promise((resolve) => {
      const stop = () => {
        this.isCancelled = true;
        resolve(null);
      };
      cancel.addEventListener("click", stop);
      this.#dialog.addEventListener("cancel", stop); // Escape
    });
    this.#random.addEventListener("click", () => {
      this.fallback = true;
      this.#random.disabled = true;
      this.#random.textContent = "A quasi-random trial follows in some seconds …";
    });
  }

  #show() {
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
