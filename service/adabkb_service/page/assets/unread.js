// The events of a study that its table of results does not show yet.

import { counted } from "./words.js";

export class Unread {
  /** @type {Set<number>} */
  #results = new Set(); // numbers of the events with new results
  #latest = 0; // number of the latest event
  #hasMissed = false; // whether there may be events that the page does not know

  /** @param {StudyEvent} [event] undefined if events may have been missed
   * @param {number} [shown] number of the latest event that the table shows; NaN before it is loaded
   */
  add(event, shown = 0) {
    if (!event) this.#hasMissed = true;
    else {
      this.#latest = Math.max(this.#latest, event.seq);
      if (event.kind === "observed" && !(event.seq <= shown)) this.#results.add(event.seq);
    }
  }

  /** Whether the table has to be read again.
   * @param {number} shown
   */
  hasNew(shown) {
    return this.#hasMissed || !(this.#latest <= shown);
  }

  /** The table was read.
   * @param {number} shown
   */
  read(shown) {
    this.#results = new Set([...this.#results].filter((each) => each > shown));
    this.#hasMissed = false;
  }

  /** In words. */
  get text() {
    return this.#results.size ? counted(this.#results.size, "new result") : "New changes";
  }
}
