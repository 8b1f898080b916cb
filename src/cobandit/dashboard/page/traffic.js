// Traffic over time: the share of each arm in the observations of each interval, stacked to one.
//
// Columns and not curves: an interval has one share, and between two intervals nothing is known. Where nobody observed
// anything there is a gap. Each band has its arm's letter in it and its name beside it: colour only helps.

import { byId, keyed, make, makeSvg, mark, say, show, showIf } from "./elements.js";
import { clock, plural, share } from "./format.js";
import { bands, columns } from "./intervals.js";
import { letter, REST } from "./keys.js";
import { drawTimes, drawValues, makeChart, roomOf, setSize } from "./axes.js";
import { readable } from "./reading.js";
import { linear, spread } from "./scales.js";
import { keyBadge, setKeyBadge } from "./signs.js";

const HEIGHT = 260;
const EDGE = { top: 8, right: 12, bottom: 26, left: 44 };
const LEAST_COLUMN = 7; // pixels
const LABEL_GAP = 24;
const ROOM_FOR_A_NUMBER = 20;

export function trafficSection(keys) {
  const svg = byId("traffic-chart");
  const chart = makeChart(svg);
  const hair = chart.cursor.appendChild(makeSvg("line", { class: "hair", visibility: "hidden" }));
  let series = null;
  let found = [];
  let x = null;

  const reading = readable(byId("traffic-plot"), {
    indexAt: (at) => found.findIndex((column, index) => x(column.to) >= at || index === found.length - 1),
    last: () => found.length - 1,
    words: (index) => words(series, found[index]),
    onRead: () => drawReading(),
  });
  const room = roomOf(byId("traffic-plot"), () => draw());

  function draw() {
    if (!series) return;
    const observed = series.lines.some((line) => line.counts.some((value) => value > 0));
    showIf(byId("traffic-body"), observed);
    say(
      byId("traffic-note"),
      observed ? "" : `No observations since ${clock(series.at[0] ?? 0)}, when watching began.`,
    );
    showIf(byId("traffic-note"), !observed);
    const width = room();
    if (!observed || !width) return;
    setSize(svg, width, HEIGHT);
    const [left, right] = [EDGE.left, width - EDGE.right];
    found = columns(series, Math.floor((right - left) / LEAST_COLUMN));
    const [from, to] = [series.at[0], series.at.at(-1)];
    x = linear([from, to], [left, right]);
    const y = linear([0, 1], [HEIGHT - EDGE.bottom, EDGE.top]);
    drawTimes(chart, { from, to, at: x, left, right, bottom: HEIGHT - EDGE.bottom });
    drawValues(chart, { ticks: [0, 0.5, 1], at: y, left, right, words: share });
    drawBands(y);
    reading.refresh();
  }

  function drawBands(y) {
    const edges = bands(found, series.lines.length);
    const lines = series.lines.map((line, index) => ({ line, index, key: keyOf(line, keys), edges: edges[index] }));
    keyed(
      chart.inside,
      lines,
      nameOf,
      () => makeSvg("g", {}, makeSvg("path"), numberBadge()),
      (group, { key, edges: own }) => {
        mark(group, "class", `band series-${key ?? REST}`);
        mark(group.firstChild, "d", area(own, found, x, y));
        drawNumber(group.lastChild, key, own, y);
      },
    );
    drawLabels(lines, y);
  }

  /** The letter stands in the newest part of its band that has room for it. */
  function drawNumber(badge, key, own, y) {
    let place = null;
    for (let index = own.length - 1; index >= 0 && !place; index -= 1) {
      const run = clearRun(own, index, y);
      if (run) place = run;
    }
    mark(badge, "visibility", key === null || !place ? "hidden" : null);
    if (key === null || !place) return;
    mark(badge, "transform", `translate(${place.x.toFixed(1)} ${place.y.toFixed(1)})`);
    say(badge.lastChild, letter(key));
  }

  /** Whether from this column backwards there is a rectangle inside the band, wide and high enough for a number. */
  function clearRun(own, end, y) {
    let [low, high] = [0, 1];
    for (let index = end; index >= 0 && own[index]; index -= 1) {
      low = Math.max(low, own[index][0]);
      high = Math.min(high, own[index][1]);
      if (y(low) - y(high) < ROOM_FOR_A_NUMBER) return null;
      const [start, stop] = [x(found[index].from), x(found[end].to)];
      if (stop - start >= ROOM_FOR_A_NUMBER) return { x: (start + stop) / 2, y: y((low + high) / 2) };
    }
    return null;
  }

  function drawLabels(lines, y) {
    const last = found.findLastIndex((column) => column.total > 0);
    const shown = [...lines].reverse(); // as they are stacked: the first line is at the bottom
    const middle = shown.map(({ edges: own }) => y((own[last][0] + own[last][1]) / 2) - LABEL_GAP / 2);
    const tops = spread(middle, LABEL_GAP, 0, HEIGHT - LABEL_GAP);
    keyed(byId("traffic-labels"), shown, nameOf, makeLabel, (label, { line, index, key }, place) => {
      label.line = index;
      setKeyBadge(label.querySelector(".key"), key);
      say(label.querySelector(".name"), line.is_rest ? "all other arms" : line.arm);
      mark(label, "title", line.is_rest ? "all other arms" : line.arm);
      label.style.setProperty("--top", `${tops[place].toFixed(1)}px`);
    });
  }

  function drawReading() {
    const index = reading.index();
    const at = index ?? found.length - 1;
    const column = found[at];
    mark(hair, "visibility", index === null || !column ? "hidden" : null);
    if (!column) return;
    const middle = ((x(column.from) + x(column.to)) / 2).toFixed(1);
    for (const name of ["x1", "x2"]) mark(hair, name, middle);
    mark(hair, "y1", EDGE.top);
    mark(hair, "y2", HEIGHT - EDGE.bottom);
    say(byId("traffic-reading"), `${index === null ? "Latest: " : ""}${span(column)}`);
    for (const label of byId("traffic-labels").children) {
      const value = column.total ? column.counts[label.line] / column.total : null;
      show(label.querySelector(".number"), share(value), value);
      mark(label, "data-count", column.counts[label.line]);
    }
  }

  return (frame) => {
    series = frame.series;
    keys.take(series.lines);
    draw();
  };
}

const nameOf = ({ line }) => (line.is_rest ? "rest" : `arm ${line.arm}`);
const keyOf = (line, keys) => (line.is_rest ? null : keys.of(line.arm));

function span(column) {
  const observed = column.total ? plural(column.total, "observation") : "no observations";
  return `${clock(column.from)} to ${clock(column.to)}, ${observed}`;
}

function words(series, column) {
  const parts = series.lines
    .map((line, index) => [line.is_rest ? "all other arms" : line.arm, column.counts[index]])
    .filter(([, value]) => value > 0)
    .map(([name, value]) => `${name} ${share(value / column.total)}`);
  return [span(column), ...parts].join(", ");
}

/** The outline of a band: along its upper edges and back along its lower ones, interrupted at gaps. */
function area(edges, found, x, y) {
  const place = (at, value) => `${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
  let path = "";
  for (let start = 0; start < edges.length; start += 1) {
    if (!edges[start]) continue;
    let end = start;
    while (end + 1 < edges.length && edges[end + 1]) end += 1;
    const there = [];
    const back = [];
    for (let index = start; index <= end; index += 1) {
      const [low, high] = edges[index];
      there.push(place(found[index].from, high), place(found[index].to, high));
      back.unshift(place(found[index].to, low), place(found[index].from, low));
    }
    path += `M${there.join("L")}L${back.join("L")}z`;
    start = end;
  }
  return path;
}

function numberBadge() {
  return makeSvg(
    "g",
    { class: "band-number" },
    makeSvg("circle", { r: 8.5 }),
    makeSvg("text", { "text-anchor": "middle", dy: "0.36em" }),
  );
}

function makeLabel() {
  return make("li", {}, keyBadge(), make("span", { class: "name" }), make("span", { class: "number" }));
}
