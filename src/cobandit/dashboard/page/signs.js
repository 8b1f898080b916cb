// Small drawings that stand beside words, so that nothing is told by colour alone. All are ours: no font is asked for.

import { make, makeSvg, mark, say } from "./elements.js";
import { letter } from "./keys.js";

const PATHS = {
  dot: "M8 4a4 4 0 1 0 0 8a4 4 0 1 0 0-8z",
  ring: "M8 4.2a3.8 3.8 0 1 0 0 7.6a3.8 3.8 0 1 0 0-7.6z",
  dashed:
    "M6.5 3.6a4.6 4.6 0 0 1 3 0M11.9 5.6a4.6 4.6 0 0 1 .5 3M10.9 11.5a4.6 4.6 0 0 1-2.4 1.1" +
    "M5.1 11.5a4.6 4.6 0 0 1-1.5-2.4M3.7 6.4a4.6 4.6 0 0 1 .6-1",
  check: "M3.5 8.5l3 3l6-7",
  cross: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  minus: "M3.5 8h9",
  frozen: "M8 2.5v11M3.2 5.2l9.6 5.6M12.8 5.2l-9.6 5.6",
  power: "M8 2.5v5.5M5 4.3a5 5 0 1 0 6 0",
  out: "M7 3.5h-3.5v9h3.5M7 8h6.5M11 5.5l2.5 2.5l-2.5 2.5",
  in: "M9 3.5h3.5v9h-3.5M2.5 8h6.5M6.5 5.5l2.5 2.5l-2.5 2.5",
  twice: "M3 3h7v7h-7zM6 10v3h7v-7h-3",
  dots: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  key: "M5.5 5.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 1 0 0-5zM8 8h6M12 8v2.5",
  broken: "M2 8h3.5M10.5 8h3.5M7 4.5l-.8-2M9 11.5l.8 2M9.2 4.5l.8-2M6.8 11.5l-.8 2",
  square: "M4.5 4.5h7v7h-7z",
  trouble: "M8 2.5l6 11h-12zM8 6.8v3M8 11.8v.01",
  again: "M12.5 8a4.5 4.5 0 1 1-1.4-3.3M12.5 2.5v3h-3",
  list: "M3 4.5h.01M6 4.5h7M3 8h.01M6 8h7M3 11.5h.01M6 11.5h7",
  refused: "M8 2.8a5.2 5.2 0 1 0 0 10.4a5.2 5.2 0 1 0 0-10.4zM4.4 4.4l7.2 7.2",
  shield: "M8 2.2l5 1.8v3.6c0 3-2 5-5 6.2c-3-1.2-5-3.2-5-6.2v-3.6z",
};
const FILLED = new Set(["dot", "square"]);

export function sign(name) {
  const drawing = makeSvg("svg", { class: "sign", viewBox: "0 0 16 16", "aria-hidden": "true" }, makeSvg("path"));
  setSign(drawing, name);
  return drawing;
}

export function setSign(drawing, name) {
  mark(drawing, "class", FILLED.has(name) ? "sign filled" : "sign");
  mark(drawing.firstChild, "d", PATHS[name] ?? PATHS.ring);
}

/** A word in a pill with its sign. */
export function pill() {
  return make("span", { class: "mark" }, sign("ring"), make("span"));
}

export function setPill(element, { sign: name, tone }, word) {
  mark(element, "class", `mark ${tone}`.trim());
  setSign(element.firstChild, name);
  say(element.lastChild, word);
}

/** The key of an arm: its letter in a frame of its colour. */
export function keyBadge() {
  return make("span", { class: "key", "aria-hidden": "true" });
}

export function setKeyBadge(element, key) {
  mark(element, "data-key", key === null ? "rest" : String(key));
  say(element, key === null ? "" : letter(key));
}
