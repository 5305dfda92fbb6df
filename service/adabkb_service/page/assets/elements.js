// Elements of the page, as scripts find and make them.

/** The element that has an id; it must be there, and of this kind.
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function byId(id, kind) {
  const element = ifThere(id, kind);
  if (element === null) throw new TypeError(`The page has no ${id}.`);
  return element;
}

/** The same where a page need not have it: null then.
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T | null}
 */
export function ifThere(id, kind) {
  /** @type {Element | null} */
  const element = document.getElementById(id);
  if (element === null || element instanceof kind) return /** @type {T | null} */ (element);
  throw new TypeError(`${id} is no ${kind.name}.`);
}

/** The elements in another one that a selector finds, without those of other kinds.
 * @template {Element} T
 * @param {ParentNode} within
 * @param {string} selector
 * @param {new () => T} kind
 * @returns {T[]}
 */
export function every(within, selector, kind) {
  const elements = [...within.querySelectorAll(selector)].filter((element) => element instanceof kind);
  return /** @type {T[]} */ (elements);
}

/** The element around the place of an event that a selector finds; null where there is none.
 * @template {Element} T
 * @param {Event} event
 * @param {string} selector
 * @param {new () => T} kind
 * @returns {T | null}
 */
export function around({ target }, selector, kind) {
  const element = target instanceof Element ? target.closest(selector) : null;
  return element instanceof kind ? element : null;
}

/** An element with these properties, and in it elements and texts. */
export function made(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}
