// The arms: each with its state, its mean on one scale for all, its observations and its part of the traffic.

import { choice } from "./choice.js";
import { byId, keyed, make, makeSvg, mark, say, show, showIf } from "./elements.js";
import { count, decimal, plural, share } from "./format.js";
import { keyBadge, pill, setKeyBadge, setPill } from "./signs.js";
import { sortedArms } from "./sorting.js";
import { ARM_STATES, look } from "./words.js";

export const SHOWN_AT_FIRST = 12;

export function armsSection(keys) {
  let frame = null;
  let all = false;
  const order = choice(byId("arms-tools"), {
    name: "arm-order",
    label: "Sort arms by",
    options: [
      ["share", "By traffic"],
      ["mean", "By mean"],
      ["name", "By name"],
    ],
    onChange: () => draw(),
  });
  byId("arms-more").addEventListener("click", () => {
    all = !all;
    draw();
  });

  function draw() {
    if (!frame) return;
    const arms = sortedArms(frame.arms, order.value());
    const shown = all ? arms : arms.slice(0, SHOWN_AT_FIRST);
    keyed(
      byId("arms-rows"),
      shown,
      (arm) => arm.arm,
      makeRow,
      (row, arm) => drawRow(row, arm, keys),
    );
    say(byId("arms-note"), note(frame));
    showIf(byId("verdict"), frame.verdict !== null);
    say(byId("verdict"), frame.verdict?.text ?? "");
    mark(byId("verdict"), "data-converged", frame.verdict?.is_converged ?? null);
    say(byId("interval-level"), whiskers(frame.policy));
    for (const id of ["arms-table", "arms-tools", "arms-legend"]) showIf(byId(id), arms.length > 0);
    showIf(
      byId("truth-key"),
      arms.some((arm) => arm.true_mean !== null),
    );
    showIf(byId("arms-more"), arms.length > SHOWN_AT_FIRST);
    say(byId("arms-more"), all ? `Show only the first ${SHOWN_AT_FIRST}` : `Show all ${count(arms.length)} arms`);
  }

  return (next) => {
    frame = next;
    draw();
  };
}

/** What the whiskers tell. It depends on the policy, and a group may have several. */
export function whiskers(policy) {
  if (/^thompson$/i.test(policy)) return "two standard deviations of its posterior each way (about 95 %)";
  if (/thompson/i.test(policy)) return "the interval of its policy";
  return "the confidence interval its policy decides by (wider than 95 %)";
}

function note(frame) {
  if (frame.arms.length === 0) return "No arms are known yet. They appear when the first member answers.";
  const left = frame.arms_left_out ? ` ${plural(frame.arms_left_out, "arm")} with less traffic are not listed.` : "";
  if (frame.observations === 0) return `No observations yet: nothing is known about any arm.${left}`;
  const all = plural(frame.arms.length + frame.arms_left_out, "arm");
  return `${plural(frame.candidates, "candidate")} left of ${all}.${left}`;
}

function makeRow(arm) {
  const cell = (name, ...children) => make("td", { class: name, role: "cell" }, ...children);
  const row = make(
    "tr",
    { role: "row", "data-arm": arm.arm },
    make(
      "th",
      { scope: "row", role: "rowheader", class: "arm-name" },
      make("span", {}, keyBadge(), make("span", { class: "name" })),
    ),
    cell("arm-state", pill(), make("span", { class: "soft where" })),
    cell("arm-interval", makeInterval()),
    cell("number arm-mean", make("span", { "data-field": "mean" }), " ", makeRange()),
    cell("number arm-best", make("span", { "data-field": "p_best" })),
    cell(
      "number arm-observations",
      make("span", { "data-field": "observations" }),
      make("span", { class: "unit" }, " obs."),
    ),
    cell("arm-share", makeBar("share")),
    cell("arm-recent", makeBar("recent_share")),
  );
  const field = (name) => row.querySelector(`[data-field="${name}"]`);
  row.parts = {
    key: row.querySelector(".key"),
    name: row.querySelector(".name"),
    pill: row.querySelector(".mark"),
    where: row.querySelector(".where"),
    interval: row.querySelector("svg.interval"),
    mean: field("mean"),
    range: row.querySelector(".range"),
    low: field("low"),
    high: field("high"),
    best: field("p_best"),
    observations: field("observations"),
    share: field("share"),
    recent: field("recent_share"),
  };
  return row;
}

function drawRow(row, arm, keys) {
  const { parts } = row;
  mark(row, "data-state", arm.state);
  setKeyBadge(parts.key, keys.of(arm.arm));
  say(parts.name, arm.arm);
  mark(parts.name, "title", arm.arm);
  setPill(parts.pill, look(ARM_STATES, arm.state), arm.state);
  say(parts.where, where(arm));
  drawInterval(parts.interval, arm);
  show(parts.mean, decimal(arm.mean), arm.mean);
  parts.range.hidden = arm.low === null || arm.high === null;
  show(parts.low, decimal(arm.low, 2), arm.low);
  show(parts.high, decimal(arm.high, 2), arm.high);
  show(parts.best, share(arm.p_best), arm.p_best);
  show(parts.observations, count(arm.observations), arm.observations);
  drawBar(parts.share, arm.share);
  drawBar(parts.recent, arm.recent_share);
}

/** At how many members, if they do not agree. */
export function where(arm) {
  if (arm.state === "frozen" && arm.frozen_at < arm.members) return `at ${arm.frozen_at} of ${arm.members}`;
  if (arm.state === "candidate" && arm.offered_at < arm.members) return `at ${arm.offered_at} of ${arm.members}`;
  return "";
}

function makeInterval() {
  const grid = [0, 25, 50, 75, 100].map((at) =>
    makeSvg("line", { class: "grid", x1: `${at}%`, x2: `${at}%`, y1: 0, y2: 24 }),
  );
  const diamond = makeSvg(
    "svg",
    { class: "truth", y: 12, overflow: "visible" },
    makeSvg("path", { d: "M0-6L5 0L0 6L-5 0z" }),
  );
  const line = (name) => makeSvg("line", { class: name, y1: 12, y2: 12 });
  const end = () => makeSvg("line", { class: "whisker", y1: 8, y2: 16 });
  const dot = makeSvg("circle", { class: "mean", cy: 12, r: 4 });
  const parts = { whisker: line("whisker"), low: end(), high: end(), diamond, dot };
  const drawing = makeSvg("svg", { class: "interval", role: "img" }, ...grid, ...Object.values(parts));
  drawing.parts = parts;
  return drawing;
}

const inside = (value) => Math.min(1, Math.max(0, value));
const percent = (value) => `${(inside(value) * 100).toFixed(2)}%`;

function drawInterval(drawing, arm) {
  const { whisker, low, high, diamond, dot } = drawing.parts;
  const hasInterval = arm.low !== null && arm.high !== null;
  const place = (element, at, visible) => {
    mark(element, "visibility", visible ? null : "hidden");
    if (visible) for (const name of at.names) mark(element, name, percent(at.value));
  };
  place(whisker, { names: ["x1"], value: arm.low }, hasInterval);
  place(whisker, { names: ["x2"], value: arm.high }, hasInterval);
  // An end that lies off the scale has no cap: the line runs out of the picture.
  place(low, { names: ["x1", "x2"], value: arm.low }, hasInterval && arm.low >= 0);
  place(high, { names: ["x1", "x2"], value: arm.high }, hasInterval && arm.high <= 1);
  place(dot, { names: ["cx"], value: arm.mean }, arm.mean !== null);
  place(diamond, { names: ["x"], value: arm.true_mean }, arm.true_mean !== null);
  mark(drawing, "aria-label", intervalWords(arm, hasInterval));
}

function intervalWords(arm, hasInterval) {
  const mean = arm.mean === null ? "no mean yet" : `mean ${decimal(arm.mean)}`;
  const interval = hasInterval ? `, between ${decimal(arm.low)} and ${decimal(arm.high)}` : "";
  return `${mean}${interval}${arm.true_mean === null ? "" : `, true mean ${decimal(arm.true_mean)}`}`;
}

function makeRange() {
  const end = (name) => make("span", { "data-field": name });
  return make("span", { class: "soft range" }, end("low"), " to ", end("high"));
}

function makeBar(field) {
  const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("span"));
  return make("span", { class: "bar-and-number" }, bar, make("span", { class: "number", "data-field": field }));
}

/** The whole width stands for all traffic: a bar that is half as long is half of it. */
function drawBar(number, value) {
  show(number, share(value), value);
  number.previousSibling.firstChild.style.width = `${(value ?? 0) * 100}%`;
}
