// Reading a chart at one moment: with the mouse, a finger or the arrow keys. The chart is a slider for screen readers.

import { mark } from "./elements.js";

/**
 * `element` covers the chart. `indexAt(x)` gives the moment at a place, `last()` the last one or -1 if there is none,
 * `words(index)` what to say; `onRead(index)` is called with the moment that is read, or `null` when reading is over.
 */
export function readable(element, { indexAt, last, words, onRead }) {
  let index = null;
  mark(element, "tabindex", "0");
  mark(element, "role", "slider");

  function read(next) {
    const most = last();
    index = next === null || most < 0 ? null : Math.min(most, Math.max(0, next));
    describe();
    onRead(index);
  }

  function describe() {
    const at = index ?? last();
    mark(element, "aria-valuemin", "0");
    mark(element, "aria-valuemax", String(Math.max(0, last())));
    mark(element, "aria-valuenow", String(Math.max(0, at)));
    mark(element, "aria-valuetext", at < 0 ? "nothing yet" : words(at));
  }

  const fromPointer = (event) => read(indexAt(event.clientX - element.getBoundingClientRect().left));
  element.addEventListener("pointermove", fromPointer);
  element.addEventListener("pointerdown", fromPointer);
  element.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && read(null));
  element.addEventListener("blur", () => read(null));
  element.addEventListener("keydown", (event) => {
    const from = index ?? last();
    const next = {
      ...{ ArrowLeft: from - 1, ArrowDown: from - 1, ArrowRight: from + 1, ArrowUp: from + 1 },
      ...{ PageDown: from - 10, PageUp: from + 10, Home: 0, End: last(), Escape: null },
    };
    if (!Object.hasOwn(next, event.key)) return;
    event.preventDefault();
    read(next[event.key]);
  });
  return {
    index: () => index,
    /** After a new frame: what is read stays, as far as it is still there. */
    refresh: () => read(index),
  };
}
