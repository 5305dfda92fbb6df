// Browser notifications about a study whose page is open, if a person has turned them on.

import { byId } from "./elements.js";

/** Kinds of events with notifications, as for webhooks. A pause with a reason is notified of, too. */
const TOLD = new Set(["suggested", "leased", "expired", "observed", "failed", "stopped", "completed", "model_failed"]);
/** @param {StudyEvent} event */
const isTold = ({ kind, trial, payload }) => {
  if (kind === "paused") return Boolean(payload.reason);
  if (kind === "observed" && trial === null) return false;
  return TOLD.has(kind) && !payload.renewed;
};

/** Let the button turn notifications on and off. Returns a function that notifies of an event in words.
 * @param {string} study
 * @returns {(event: StudyEvent, text: string) => void}
 */
export function notices(study) {
  const button = byId("notify", HTMLButtonElement);
  const key = `notify ${study}`;
  if (!("Notification" in window) || !isSecureContext) return () => {};
  const isOn = () => Notification.permission === "granted" && localStorage.getItem(key) !== null;
  const show = () => {
    button.hidden = false;
    button.setAttribute("aria-pressed", String(isOn()));
    button.disabled = Notification.permission === "denied";
    button.textContent = button.disabled
      ? "This browser blocks notifications from this page"
      : isOn()
        ? "Turn off notifications in this browser"
        : "Notify me in this browser";
  };
  button.addEventListener("click", async () => {
    if (isOn()) localStorage.removeItem(key);
    else if ((await Notification.requestPermission()) === "granted") localStorage.setItem(key, "on");
    show();
  });
  show();
  return (event, text) => {
    if (!isOn() || !document.hidden || !isTold(event)) return;
    const notice = new Notification(study, { body: text, tag: `${study} ${event.seq}` });
    notice.addEventListener("click", () => {
      focus();
      notice.close();
    });
  };
}
