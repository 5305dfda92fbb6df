// What was caught: mostly an error, but any value may be thrown.

import { Refused } from "./calls.js";

/** What happened, in words.
 * @param {unknown} caught
 */
export const messageOf = (caught) => (caught instanceof Error ? caught.message : String(caught));

/** The status with which the server refused a request; undefined if something else happened.
 * @param {unknown} caught
 */
export const statusOf = (caught) => (caught instanceof Refused ? caught.status : undefined);

/** What the server says of a request that it refused; undefined if something else happened.
 * @param {unknown} caught
 */
export const problemOf = (caught) => (caught instanceof Refused ? caught.problem : undefined);
