// Requests to this server. All headers that they need are added here.

export const root = document.documentElement.dataset.root;

/** A refusal by the server, as a problem of RFC 9457. */
export class Refused extends Error {
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

/** Send a request and return the JSON of the answer. A write without an answer is retried, which is safe because of its
 * key.
 */
export async function call(method, path, body) {
  const options = { method, headers: { Accept: "application/json" }, cache: "no-store" };
  if (method !== "GET") {
    options.headers["Idempotency-Key"] = newKey();
  }
  if (method !== "GET" && method !== "DELETE") {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body ?? {});
  }
  const answer = await served(path, options, method === "GET" ? 0 : 2);
  const type = answer.headers.get("Content-Type") ?? "";
  const content = answer.status !== 204 && type.includes("json") ? await answer.json() : {};
  if (!answer.ok) throw new Refused(answer.status, content);
  return content;
}

let refused = () => {};

/** What is done when the server no longer knows who this is. */
export function onRefused(then) {
  refused = then;
}

const LATER = new Set([429, 503]);
const MOST_TURNS = 6;
const MOST_SECONDS = 10;

/** The answer; repeats the request while the server is busy. */
async function served(path, options, retries) {
  for (let turn = 1; ; turn += 1) {
    const answer = await sent(path, options, retries);
    const seconds = Number(answer.headers.get("Retry-After") ?? NaN);
    if (!LATER.has(answer.status) || !(seconds <= MOST_SECONDS) || turn === MOST_TURNS) return answer;
    await pause(1000 * Math.max(seconds, 1));
  }
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

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

/** Show or hide the message that the server does not answer. */
export function reachable(isThere) {
  document.getElementById("offline").hidden = isThere;
}

/** All items of a list of the API, page by page, up to a number. */
export async function listed(path, most) {
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
