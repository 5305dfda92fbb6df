// The events of a study in words, as they happen.

import { byId, createElement, dataOf } from "./elements.js";
import { notices } from "./notices.js";
import { listen } from "./stream.js";
import { showTimes } from "./words.js";

const MAX_LINES = 200;

/** Follow the log of a study, and show its events.
 * @param {import("./data.js").StudyData} data
 * @param {string} cursor of the first event
 * @param {(event?: StudyEvent) => void} changed
 */
export function follow(data, cursor, changed) {
  const feed = byId("feed", HTMLElement);
  const live = byId("live", HTMLElement);
  const showStatus = (/** @type {string} */ text, /** @type {boolean} */ isOn) => {
    live.textContent = text;
    live.classList.toggle("on", isOn);
  };
  const known = Number(dataOf(byId("figures", HTMLElement), "revision"));
  const notify = notices(data.id);
  const add = (/** @type {WordedEvent} */ event) => {
    const item = line(event, data);
    feed.prepend(item);
    while (feed.children.length > MAX_LINES) feed.lastElementChild?.remove();
    if (event.seq <= known) return;
    if (event.notifies) notify(event.seq, dataOf(item, "words"));
    changed(event);
  };
  listen(`${data.page}/feed`, cursor, add, {
    missed: changed,
    opened: () => showStatus("live", true),
    lost: (isOver) =>
      showStatus(isOver ? "the stream has ended; load the page again" : "not connected; trying again", false),
  });
}

/** An event in words, with a link to the trial that its sentence is about.
 * @param {WordedEvent} event
 * @param {import("./data.js").StudyData} data
 */
function line({ trial, subject, in_words: words, created_at: at }, data) {
  const item = document.createElement("li");
  if (subject && trial !== null) item.append(createElement("a", { href: data.trialPage(trial) }, subject), " ");
  item.append(createElement("bdi", {}, words));
  item.dataset.words = item.textContent;
  item.append(" ", createElement("time", { dateTime: at }));
  showTimes(item);
  return item;
}
