// Requests to this server. All headers that they need are added here.

import { byId } from "./elements.js";

export const root = document.documentElement.dataset.root;

/** A refusal by the server, as a problem of RFC 9457. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {Problem} problem
   */
  constructor(status, problem) {
    super(problem.detail ?? `The server answered ${status}.`);
    this.status = status;
    this.problem = problem;
  }
}

/** An idempotency key for a request. (crypto.randomUUID needs HTTPS.) */
function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The names under which this tab keeps requests without an answer begin with it; their paths follow. */
export const UNANSWERED = "unanswered ";
/** The paths of requests that add results, trials or a study, so that sending one twice would add twice as many. */
const ADDS = /\/(studies|observe|observations|trials|trials\/repeat)$/;

/** What this tab keeps about the last request to a path without an answer.
 * @param {string} path
 * @returns {{ content: string, key: string } | null}
 */
const unanswered = (path) => JSON.parse(sessionStorage.getItem(UNANSWERED + path) ?? "null");

/** The idempotency key of a write. A request that adds something keeps its key until it is performed: if the answer is
 * lost, and a person sends the same again, also after the page was loaded anew, it takes effect once.
 * @param {string} path
 * @param {string} content the body
 */
function keyOf(path, content) {
  if (!ADDS.test(path)) return newKey();
  const before = unanswered(path);
  const key = before?.content === content ? before.key : newKey();
  try {
    sessionStorage.setItem(UNANSWERED + path, JSON.stringify({ content, key }));
  } catch (error) {
    console.debug(error); // the storage is full
  }
  return key;
}

/** Forget the key of a request that was performed.
 * @param {string} path
 * @param {string} content
 */
function forgetKey(path, content) {
  if (unanswered(path)?.content === content) sessionStorage.removeItem(UNANSWERED + path);
}

/** Send a request and return the JSON of the answer. A write without an answer is retried, which is safe because of its
 * key.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {number} [turns] maximum number of times to send it while the server is busy
 * @param {boolean} [isKept] whether the browser completes it after the user has left the page
 */
export async function call(method, path, body, turns = MAX_TURNS, isKept = false) {
  const hasBody = method !== "GET" && method !== "DELETE";
  const text = JSON.stringify(body ?? {});
  /** @type {RequestInit} */
  const options = {
    method,
    headers: {
      Accept: "application/json",
      ...(method === "GET" ? {} : { "Idempotency-Key": keyOf(path, text) }),
      ...(hasBody ? { "Content-Type": "application/json" } : {}),
    },
    cache: "no-store",
    keepalive: isKept,
    ...(hasBody ? { body: text } : {}),
  };
  const answer = await served(path, options, method === "GET" ? 0 : 2, turns);
  const type = answer.headers.get("Content-Type") ?? "";
  const content = answer.status !== 204 && type.includes("json") ? await answer.json() : {};
  if (!answer.ok) throw new Refused(answer.status, content);
  forgetKey(path, text);
  return content;
}

let refused = () => {};

/** Set the function that is called when the server answers 401: the session has ended.
 * @param {() => void} then
 */
export function onRefused(then) {
  refused = then;
}

const LATER = new Set([429, 503]);
const MAX_TURNS = 6;
const MAX_SECONDS = 10;

/** The answer; repeats the request while the server is busy.
 * @param {string} path
 * @param {RequestInit} options
 * @param {number} retries
 * @param {number} turns
 */
async function served(path, options, retries, turns) {
  for (let turn = 1; ; turn += 1) {
    const answer = await sent(path, options, retries);
    const seconds = Number(answer.headers.get("Retry-After") ?? NaN);
    if (!LATER.has(answer.status) || !(seconds <= MAX_SECONDS) || turn >= turns) return answer;
    await pause(1000 * Math.max(seconds, 1));
  }
}

/** @param {number} milliseconds */
export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The answer; repeats the request if no answer arrives.
 * @param {string} path
 * @param {RequestInit} options
 * @param {number} retries
 * @returns {Promise<Response>}
 */
async function sent(path, options, retries) {
  try {
    const answer = await fetch(path, options);
    reachable(true);
    if (answer.status === 401) refused();
    return answer;
  } catch (error) {
    if (retries === 0) {
      reachable(false);
      throw new Error("The server does not answer.", { cause: error });
    }
    await pause(500);
    return sent(path, options, retries - 1);
  }
}

/** Show or hide the message that the server does not answer.
 * @param {boolean} isThere
 */
export function reachable(isThere) {
  byId("offline", HTMLElement).hidden = isThere;
}

/** Read pages of a list until it has at least `most` items, or all of them. Returns the items, and whether they are
 * all.
 * @param {string} path
 * @param {number} most
 */
export async function listed(path, most) {
  /** @type {Record<string, any>[]} */
  const items = [];
  let cursor = null;
  do {
    const separator = path.includes("?") ? "&" : "?";
    const page = await call("GET", `${path}${separator}limit=1000${cursor ? `&cursor=${cursor}` : ""}`);
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor && items.length < most);
  return { items, isAll: cursor === null };
}
