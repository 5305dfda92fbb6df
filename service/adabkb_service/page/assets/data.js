// What the charts of a study read, each of it once until the study changes.

import { call, listed, root } from "./calls.js";
import { Scale } from "./scale.js";

const MOST_CELLS = 5000;

/** A study's answers. */
export class StudyData {
  constructor(id) {
    this.id = id;
    this.api = `${root}/v1/studies/${encodeURIComponent(id)}`;
    this.page = `${root}/studies/${encodeURIComponent(id)}`;
    this.kept = new Map();
  }

  /** Everything is read anew from now on. */
  changed() {
    this.kept.clear();
  }

  once(name, read) {
    if (!this.kept.has(name)) {
      const reading = read();
      reading.catch(() => this.kept.delete(name));
      this.kept.set(name, reading);
    }
    return this.kept.get(name);
  }

  study() {
    return this.once("study", () => call("GET", this.api));
  }

  /** The scales of the parameters that vary. */
  async scales() {
    const { parameters } = await this.study();
    return parameters.filter((each) => each.kind !== "fixed").map((each) => new Scale(each));
  }

  history() {
    return this.once("history", () => call("GET", `${this.page}/history.json`));
  }

  timeline() {
    return this.once("timeline", () => call("GET", `${this.page}/timeline.json`));
  }

  curves() {
    return this.once("curves", () => call("GET", `${this.page}/curves.json`));
  }

  recommendation() {
    return this.once("recommendation", () => call("GET", `${this.api}/recommendation`));
  }

  importance() {
    return this.once("importance", () => call("GET", `${this.api}/importance`));
  }

  cells() {
    return this.once("cells", () => listed(`${this.api}/partition`, MOST_CELLS));
  }

  slice(names) {
    const query = names.map((name) => `parameter=${encodeURIComponent(name)}`).join("&");
    return this.once(`slice ${query}`, () => call("GET", `${this.api}/slice?${query}`));
  }

  trialPage(number) {
    return `${this.page}/trials/${number}`;
  }
}
