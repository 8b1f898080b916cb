// Lines over time with their names at their ends: for messages and for regret. Knows nothing of what they count.

import { keyed, makeSvg, mark, say } from "./elements.js";
import { clock, shortCount } from "./format.js";
import { drawTimes, drawValues, makeChart, roomOf, setSize } from "./axes.js";
import { readable } from "./reading.js";
import { linear, logarithmic, powers, spread, ticks } from "./scales.js";

const HEIGHT = 220;
const EDGE = { top: 12, bottom: 26, left: 52 };
const FAR_APART = 10; // lines whose ends differ by more than this get a logarithmic scale
const LABEL_GAP = 17;
const WIDE = 480; // pixels: less, and names stand in fewer of them

/**
 * `lines` have `name`, `short` and `values`, of which some may be null; and, if they stand for arms, `id`, `key` and
 * `label`. `onRead(words)` is told what is read. Values have the range that is given, or one from 0 on.
 */
export function curves(plot, { words, onRead, tick = shortCount }) {
  const svg = plot.querySelector("svg");
  const chart = makeChart(svg);
  const hair = chart.cursor.appendChild(makeSvg("line", { class: "hair", visibility: "hidden" }));
  const dots = chart.cursor.appendChild(makeSvg("g"));
  let at = [];
  let lines = [];
  let limits = null;
  let x = null;
  let y = null;

  const reading = readable(plot, {
    indexAt: (place) => nearest(at, x, place),
    last: () => at.length - 1,
    words: (index) => said(index),
    onRead: () => drawReading(),
  });
  const room = roomOf(plot, () => draw());

  const said = (index) =>
    `${clock(at[index])}: ${lines.map((line) => `${line.name} ${words(line.values[index])}`).join(", ")}`;

  function draw() {
    const width = room();
    if (at.length === 0 || !width) return;
    setSize(svg, width, HEIGHT);
    const isWide = width > WIDE;
    const labelOf = (line) => line.label ?? (isWide ? line.name : line.short);
    const names = Math.max(...lines.map((line) => labelOf(line).length)) * 7.8 + 12;
    const [left, right, bottom] = [EDGE.left, width - names, HEIGHT - EDGE.bottom];
    x = linear([at[0], Math.max(at.at(-1), at[0] + 1)], [left, right]);
    const scale = scaleFor(lines, [bottom, EDGE.top], limits);
    y = scale.at;
    drawTimes(chart, { from: at[0], to: at.at(-1), at: x, left, right, bottom });
    drawValues(chart, { ticks: scale.ticks, at: y, left, right, words: tick });
    mark(plot, "data-scale", scale.kind);
    const named = lines.filter((line) => (line.values.at(-1) ?? null) !== null); // a name stands where its line ends
    const ends = spread(
      named.map((line) => y(line.values.at(-1))),
      LABEL_GAP,
      EDGE.top,
      bottom - 4,
    );
    keyed(
      chart.inside,
      lines,
      idOf,
      makeCurve,
      (group, line, index) => {
        mark(group, "class", `curve ${line.key ? `of-arm series-${line.key}` : `curve-${index + 1}`}`);
        mark(group.firstChild, "d", path(at, line.values, x, y));
        mark(group.lastChild, "x", right + 9);
        mark(group.lastChild, "y", ends[named.indexOf(line)]?.toFixed(1) ?? null);
        say(group.lastChild, named.includes(line) ? labelOf(line) : "");
      },
    );
    reading.refresh();
  }

  function drawReading() {
    const index = reading.index();
    mark(hair, "visibility", index === null ? "hidden" : null);
    keyed(
      dots,
      index === null ? [] : lines.filter((line) => line.values[index] !== null),
      idOf,
      () => makeSvg("circle", { r: 4 }),
      (dot, line, number) => {
        mark(dot, "class", `curve-${number + 1}`);
        mark(dot, "cx", x(at[index]).toFixed(1));
        mark(dot, "cy", y(line.values[index]).toFixed(1));
      },
    );
    if (index !== null) {
      for (const name of ["x1", "x2"]) mark(hair, name, x(at[index]).toFixed(1));
      mark(hair, "y1", EDGE.top);
      mark(hair, "y2", HEIGHT - EDGE.bottom);
    }
    onRead(at.length === 0 ? "" : `${index === null ? "Latest, " : ""}${said(index ?? at.length - 1)}`);
  }

  return (moments, drawn, range = null) => {
    at = moments;
    lines = drawn;
    limits = range;
    draw();
  };
}

const idOf = (line) => line.id ?? line.name;

function scaleFor(lines, range, limits) {
  if (limits) return { kind: "linear", at: linear(limits, range), ticks: ticks(...limits) };
  const most = Math.max(1, ...lines.flatMap((line) => line.values));
  const ends = lines.map((line) => line.values.at(-1));
  const low = Math.max(1, Math.min(...ends));
  if (lines.length > 1 && Math.max(...ends) / low > FAR_APART) {
    const high = 10 ** Math.ceil(Math.log10(most));
    return { kind: "logarithmic", at: logarithmic([1, high], range), ticks: powers(1, high) };
  }
  const marks = ticks(0, most * 1.05);
  return { kind: "linear", at: linear([0, most * 1.05], range), ticks: marks };
}

function nearest(at, x, place) {
  let best = 0;
  for (let index = 1; index < at.length; index += 1) {
    if (Math.abs(x(at[index]) - place) < Math.abs(x(at[best]) - place)) best = index;
  }
  return best;
}

function path(at, values, x, y) {
  let found = "";
  at.forEach((moment, index) => {
    if (values[index] === null) return;
    const start = index === 0 || values[index - 1] === null ? "M" : "L";
    found += `${start}${x(moment).toFixed(1)} ${y(values[index]).toFixed(1)}`;
  });
  return found;
}

function makeCurve() {
  return makeSvg("g", {}, makeSvg("path"), makeSvg("text", { dy: "0.35em" }));
}
