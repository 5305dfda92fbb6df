// Caught values: mostly errors, but any value may be thrown.

import { Refused } from "./calls.js";

/** The message of a caught value.
 * @param {unknown} caught
 */
export const messageOf = (caught) => (caught instanceof Error ? caught.message : String(caught));

/** The status with which the server refused a request; undefined for other errors.
 * @param {unknown} caught
 */
export const statusOf = (caught) => (caught instanceof Refused ? caught.status : undefined);

/** The server's problem document for a refused request; undefined for other errors.
 * @param {unknown} caught
 */
export const problemOf = (caught) => (caught instanceof Refused ? caught.problem : undefined);
