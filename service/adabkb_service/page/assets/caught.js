// Caught values: mostly errors, but any value may be thrown.

import { Refused } from "./calls.js";
import { worded } from "./refusals.js";

/** The message of a caught value, in the words of the page.
 * @param {unknown} caught
 */
export const messageOf = (caught) => (caught instanceof Error ? worded(caught.message) : String(caught));

/** The status with which the server refused a request; undefined for other errors.
 * @param {unknown} caught
 */
export const statusOf = (caught) => (caught instanceof Refused ? caught.status : undefined);

/** The server's problem document for a refused request; undefined for other errors.
 * @param {unknown} caught
 */
export const problemOf = (caught) => (caught instanceof Refused ? caught.problem : undefined);

/** An error with links to what a person can do. */
export class Guided extends Error {
  /**
   * @param {string} message
   * @param {{ href: string, text: string }[]} links
   */
  constructor(message, links) {
    super(message);
    this.links = links;
  }
}
