// The places of results and trials along an axis. A trial is at its number. A result without a trial is after the
// trials that had ended before it, and moves the later trials to the right.

import { figure } from "./words.js";

/** The order of a study's results. */
export class Order {
  /**
   * @param {ResultHistory} history
   * @param {TimelineTrial[]} failed trials that failed
   */
  constructor({ results, count, isThinned }, failed) {
    /** @type {number[]} */
    this.before = []; // for each result without a trial, in order: the last trial before it
    /** @type {Map<number, number>} */
    this.places = new Map(); // of results, by their numbers
    this.isThinned = isThinned || results.every((each) => each.trial === null); // then results are counted
    this.end = count;
    if (this.isThinned) return;
    let last = 0;
    for (const each of results) {
      if (each.trial === null) {
        const lost = failed.filter(
          ({ finished_at: at }) => at !== null && Date.parse(at) <= Date.parse(each.observed_at),
        );
        last = Math.max(last, ...lost.map(({ number }) => number));
        this.before.push(last);
      } else last = Math.max(last, each.trial);
    }
    let own = 0;
    for (const each of results)
      this.places.set(each.seq, each.trial === null ? this.before[own] + ++own : this.ofTrial(each.trial));
    this.end = Math.max(...this.places.values());
  }

  get title() {
    if (this.isThinned) return "number of results";
    return this.before.length ? "trial (results without a trial have no number)" : "trial";
  }

  /** @param {number} trial */
  ofTrial(trial) {
    return trial + this.before.filter((each) => each < trial).length;
  }

  /** @param {{ seq: number }} result */
  of({ seq }) {
    return this.places.get(seq) ?? seq;
  }

  /** The number of the trial at a place; nothing for a result without a trial.
   * @param {number} place
   */
  label(place) {
    if (this.isThinned) return figure(place);
    const trial = place - this.before.filter((each, i) => each + i + 1 <= place).length;
    return this.ofTrial(trial) === place ? figure(trial) : "";
  }
}
