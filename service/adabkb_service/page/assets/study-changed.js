// The event by which the parts of a page learn that their view of the study is out of date.

/** @param {{ by?: HTMLElement, isFollowed?: boolean }} [detail] by: the form or button that has changed the study.
 * isFollowed: whether the page learned of the change from the log
 */
export function announceChange(detail = {}) {
  document.body.dispatchEvent(new CustomEvent("study-changed", { bubbles: true, detail }));
}
