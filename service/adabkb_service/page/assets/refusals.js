// Refusals by the server in the words of the page: its answers name requests and fields of the API.

import { figure } from "./words.js";

/** What a person can do, by the code of a refusal.
 * @type {Record<string, string>}
 */
const REMEDIES = {
  busy: "Try again in a moment.",
  deletion_not_found: "Load the page again to see what the trash contains.",
  forbidden: "Ask the owner of the study to share it with you.",
  id_taken: "Choose another ID. All users of a server share the IDs.",
  lease_lost: "If you have a result, you can still enter it.",
  model_busy: "Try again in a moment.",
  not_owner: "Ask the owner of the study.",
  observation_not_found: "Load the page again to see the results.",
  precondition_failed: "Load the page again to see the change.",
  quota_exceeded:
    "Results of trials are still accepted. Delete studies that you no longer need, or ask an administrator.",
  request_in_progress: "Load the page again in a moment to see the outcome.",
  restore_conflict: "Delete the present study first.",
  study_complete: "To continue it, change its budget or rules on its page. You can still add results of your own.",
  study_exists: "Choose another ID.",
  study_not_found: "It may be in the trash.",
  too_many_at_once: "Close other pages of this server, or try again in a moment.",
  too_many_requests: "Wait for this time, and try again.",
  trial_finished: "Load the page again to see the trial as it is now.",
  unavailable: "Try again in a moment.",
};

/** @type {[RegExp, (...parts: string[]) => string][]} */
const WORDS = [
  [
    /\bis (\S+), outside \[(\S+), (\S+)\]/g,
    (_, value, low, high) => `is ${inWords(value)}, outside the range from ${inWords(low)} to ${inWords(high)}`,
  ],
  [
    / \('Title, names and units' on the study's page, quantities in the API\)/g,
    () => " under “Title, names and units”",
  ],
  [
    /\bis at attempt \d+; attempt \d+ (?:no longer holds it|can no longer fail it)/g,
    () => "was issued again meanwhile",
  ],
  [/; only a (?:trial without an outcome|failed or withdrawn trial) can be (?:withdrawn|retried)/g, () => ""],
  [/\bthe study's max_runtime_seconds \((\S+)\)/g, (_, seconds) => `the longest time of a trial, ${seconds} s`],
  [/; send the request again with the same [^.]*\./g, () => "."],
  [/\bobservation (\d+)/g, (_, seq) => `result R${seq}`],
  [/^Study '[^']*' takes no further trials \(\w+\)/, () => "The study takes no further trials"],
  [/; correct it, or change these bounds\b/g, () => ". Correct it, or change these bounds"],
];

/** A number in an error text as the page writes it.
 * @param {string} text
 */
const inWords = (text) => (Number.isFinite(Number(text)) ? figure(Number(text), 6) : text);

/** An error text of the server in the words of the page.
 * @param {string} text
 */
export const worded = (text) => WORDS.reduce((replaced, [pattern, words]) => replaced.replace(pattern, words), text);

/** What a person can do after a refusal; empty if the page has no advice.
 * @param {Problem} problem
 */
export const remedyOf = ({ code }) => REMEDIES[code ?? ""] ?? "";
