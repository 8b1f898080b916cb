// The frame of a chart: its size, its time axis and its value axis. Knows nothing of what is drawn inside.

import { keyed, makeSvg, mark, say } from "./elements.js";
import { clock, day } from "./format.js";
import { timeTicks } from "./scales.js";

const ROOM_FOR_A_TIME = 84; // pixels

/** An empty chart in `svg`, with groups for its parts from back to front. */
export function makeChart(svg) {
  const group = (name) => svg.appendChild(makeSvg("g", { class: name }));
  return {
    values: group("axis values"),
    times: group("axis times"),
    inside: group("inside"),
    cursor: group("cursor"),
  };
}

/** Set the size of the drawing: one unit is one pixel, so text is never stretched. */
export function setSize(svg, width, height) {
  mark(svg, "viewBox", `0 0 ${width} ${height}`);
  mark(svg, "width", width);
  mark(svg, "height", height);
}

/** Clock times below the chart, with the day where a day begins. */
export function drawTimes(chart, { from, to, at, left, right, bottom }) {
  const { step, at: moments } = timeTicks(from, to, Math.max(2, Math.floor((right - left) / ROOM_FOR_A_TIME)));
  const shown = moments.filter((moment) => at(moment) > left + 18 && at(moment) < right - 18);
  keyed(chart.times, shown, String, makeTick, (tick, moment) => {
    mark(tick, "transform", `translate(${at(moment).toFixed(1)} ${bottom})`);
    say(tick.lastChild, timeWords(moment, step));
  });
}

function timeWords(moment, step) {
  const midnight = clock(moment) === "00:00:00";
  return step >= 86400 || midnight ? day(moment) : clock(moment, { seconds: step < 60 });
}

function makeTick() {
  return makeSvg("g", {}, makeSvg("line", { y1: 0, y2: 4 }), makeSvg("text", { y: 17, "text-anchor": "middle" }));
}

/** Values at the left, each with a fine line across. */
export function drawValues(chart, { ticks, at, left, right, words }) {
  keyed(chart.values, ticks, String, makeValue, (tick, value) => {
    mark(tick, "transform", `translate(0 ${at(value).toFixed(1)})`);
    mark(tick.firstChild, "x1", left);
    mark(tick.firstChild, "x2", right);
    mark(tick.lastChild, "x", left - 7);
    say(tick.lastChild, words(value, ticks));
  });
}

function makeValue() {
  return makeSvg("g", {}, makeSvg("line"), makeSvg("text", { "text-anchor": "end", dy: "0.35em" }));
}

/**
 * Draw whenever the room of `element` changes, and say how wide it is: 0 as long as that is not known. Asking the
 * element itself would make the browser lay out the whole page in the midst of every frame.
 */
export function roomOf(element, draw) {
  let width = 0;
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now === width) return;
    width = now;
    if (width) draw();
  }).observe(element);
  return () => width;
}
