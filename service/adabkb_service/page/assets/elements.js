// Elements of the page, as scripts find and make them.

/** The element that has an id; it must be there, and of this kind.
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function byId(id, kind) {
  return query(document, `#${CSS.escape(id)}`, kind);
}

/** The first element in another one that a selector finds; it must be there, and of this kind.
 * @template {Element} T
 * @param {ParentNode} within
 * @param {string} selector
 * @param {new () => T} kind
 * @returns {T}
 */
export function query(within, selector, kind) {
  /** @type {Element | null} */
  const element = within.querySelector(selector);
  if (element instanceof kind) return element;
  throw new TypeError(`The page has no ${kind.name} at ${selector}.`);
}

/** The closest element around another one that a selector finds; it must be there, and of this kind.
 * @template {Element} T
 * @param {Element} element
 * @param {string} selector
 * @param {new () => T} kind
 * @returns {T}
 */
export function closest(element, selector, kind) {
  /** @type {Element | null} */
  const ancestor = element.closest(selector);
  if (ancestor instanceof kind) return ancestor;
  throw new TypeError(`${element.localName} is in no ${kind.name} at ${selector}.`);
}

/** The text of a data attribute, which must be there.
 * @param {HTMLElement} element
 * @param {string} name as in ``dataset``
 */
export function dataOf(element, name) {
  const text = element.dataset[name];
  if (text === undefined) throw new TypeError(`${element.localName} has no data attribute ${name}.`);
  return text;
}

/** The same for an optional attribute: null if it is absent.
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T | null}
 */
export function byIdOrNull(id, kind) {
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
export function queryAll(within, selector, kind) {
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
export function closestToTarget({ target }, selector, kind) {
  const element = target instanceof Element ? target.closest(selector) : null;
  return element instanceof kind ? element : null;
}

/** An element with these properties, and in it elements and texts.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Partial<HTMLElementTagNameMap[T]>} properties
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function createElement(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}
