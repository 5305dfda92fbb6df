// Browser notifications about a study whose page is open, if a person has turned them on.

import { byId } from "./elements.js";

/** Let the button turn notifications on and off. Returns a function that notifies of an event, by its number and
 * in words.
 * @param {string} study
 * @returns {(seq: number, text: string) => void}
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
  return (seq, text) => {
    if (!isOn() || !document.hidden) return;
    const notice = new Notification(study, { body: text, tag: `${study} ${seq}` });
    notice.addEventListener("click", () => {
      focus();
      notice.close();
    });
  };
}
