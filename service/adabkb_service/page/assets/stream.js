// The events of a study as they happen, by server-sent events.

import { reachable } from "./calls.js";
import { byId, dataOf } from "./elements.js";

/** Call a function with each event of a study that is stored from now on, and another one when events may have been
 * missed. Returns a function that ends this.
 * @template {StudyEvent} T
 * @param {string} address of the stream
 * @param {string} cursor of the first event
 * @param {(event: T) => void} onEvent
 * @param {{ missed: () => void, opened?: () => void, lost?: (isOver: boolean) => void }} more
 */
export function listen(address, cursor, onEvent, { missed, opened = () => {}, lost = () => {} }) {
  const source = new EventSource(`${address}?cursor=${cursor}`);
  let isLost = false;
  source.addEventListener("open", () => {
    opened();
    reachable(true);
    if (isLost) missed();
    isLost = false;
  });
  source.addEventListener("error", () => {
    lost(source.readyState === EventSource.CLOSED);
    reachable(false);
    isLost = true;
  });
  for (const kind of JSON.parse(dataOf(byId("main", HTMLElement), "events")))
    source.addEventListener(kind, ({ data }) => onEvent(JSON.parse(data)));
  return () => source.close();
}

/** The same while the page is visible. A browser has six connections to a server, for all its tabs, so a hidden page
 * uses none.
 * @param {string} api the address of the study
 * @param {() => string} cursorOf returns the cursor of the first event that the page does not show
 * @param {(event: StudyEvent) => void} onEvent
 * @param {{ missed: () => void }} more
 */
export function listenWhileVisible(api, cursorOf, onEvent, more) {
  /** @type {(() => void) | null} */
  let end = null;
  const turn = () => {
    if (!document.hidden) end ??= listen(`${api}/events`, cursorOf(), onEvent, more);
    else {
      end?.();
      end = null;
    }
  };
  document.addEventListener("visibilitychange", turn);
  turn();
}
