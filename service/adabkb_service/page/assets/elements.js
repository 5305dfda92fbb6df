// Elements of the page that scripts make.

/** An element with these properties, and in it elements and texts. */
export function made(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}
