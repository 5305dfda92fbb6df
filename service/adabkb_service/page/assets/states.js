// The states of trials and studies in words, as the server has them.

import { byId, dataOf } from "./elements.js";

/** @type {Record<string, string>} */
export const STATES = JSON.parse(dataOf(byId("study", HTMLElement), "states"));
