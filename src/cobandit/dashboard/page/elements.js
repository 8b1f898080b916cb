// Elements, made and changed in place. Text is only ever set as text: names come from other members, and may be
// anything.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

export function make(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function makeSvg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Set the text, unless it is there already: so selections and screen readers are left alone. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Set an attribute, or remove it with `null`; nothing happens if it is so already. */
export function mark(element, name, value) {
  if (value === null || value === undefined) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== String(value)) {
    element.setAttribute(name, value);
  }
}

/** A value for people, and the exact one for those who compare. */
export function show(element, text, value) {
  say(element, text);
  mark(element, "data-value", value);
}

export function showIf(element, condition) {
  if (element.hidden === Boolean(condition)) element.hidden = !condition;
}

/**
 * Make the children of `parent` stand for `items`: one child for each key, kept for as long as the key is there.
 * Children are moved only if the order changed, so focus and scrolling are kept.
 */
export function keyed(parent, items, keyOf, create, update) {
  // What the page itself put there, such as a caption, stays in front.
  if (parent.keyedAfter === undefined) parent.keyedAfter = parent.lastChild;
  const known = (parent.keyedChildren ??= new Map());
  const wanted = new Set(items.map(keyOf));
  for (const [key, child] of known) {
    if (wanted.has(key)) continue;
    child.remove();
    known.delete(key);
  }
  let place = parent.keyedAfter ? parent.keyedAfter.nextSibling : parent.firstChild;
  items.forEach((item, index) => {
    const key = keyOf(item);
    let child = known.get(key);
    if (!child) {
      child = create(item);
      known.set(key, child);
    }
    if (child === place) place = place.nextSibling;
    else parent.insertBefore(child, place);
    update(child, item, index);
  });
}
