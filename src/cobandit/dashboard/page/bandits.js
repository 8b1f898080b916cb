// The bandits of a fleet: one segment of one of them at a time, with its verdict, its arms, and how these went.
//
// Which bandits there are comes with each frame. The chosen segment is asked for after each frame, one request at a
// time: a fleet may have thousands of segments, and a page looks at one.

import { curves } from "./curves.js";
import { byId, keyed, make, mark, say, show, showIf } from "./elements.js";
import { axisMark, clipped, count, decimal, plural, share } from "./format.js";
import { letter } from "./keys.js";
import { keyBadge, pill, setKeyBadge, setPill } from "./signs.js";
import { ARM_STATES, look } from "./words.js";

const UNNAMED = "(unnamed)";
const PLAIN_PARTS = ["arms-section", "traffic-section", "candidates-figure"];

/** `ask(bandit, segment)` returns what the server says of a segment, of the largest for null, or `{ problem }`. */
export function banditsSection(ask) {
  const [bandits, segments] = [byId("bandit-choice"), byId("segment-choice")];
  const drawMeans = curves(byId("means-plot"), {
    words: (value) => decimal(value),
    tick: axisMark,
    onRead: (words) => say(byId("means-reading"), words),
  });
  const drawBest = curves(byId("best-plot"), {
    words: share,
    tick: share,
    onRead: (words) => say(byId("best-reading"), words),
  });
  let chosen = { bandit: null, segment: null }; // null: the segment of which most is known
  let isAsking = false;
  let isAsked = false; // once more, because something else was chosen meanwhile

  async function refresh() {
    isAsked = true;
    if (isAsking) return;
    isAsking = true;
    while (isAsked && chosen.bandit !== null) {
      isAsked = false;
      const wanted = chosen;
      const place = await ask(wanted.bandit, wanted.segment);
      if (wanted !== chosen) continue;
      draw(place);
      if (chosen.segment === null && place.observations) chosen = { ...chosen, segment: place.segment }; // and stays
    }
    isAsking = false;
  }

  function choose(bandit, segment) {
    chosen = { bandit, segment };
    refresh();
  }

  bandits.addEventListener("change", () => choose(bandits.value, null));
  segments.addEventListener("change", () => choose(chosen.bandit, segments.value));

  function draw(place) {
    const isKnown = place.problem === undefined;
    showIf(byId("place-body"), isKnown);
    say(byId("place-note"), isKnown ? note(place) : place.problem);
    if (!isKnown) return;
    drawSegments(place);
    showIf(byId("place-verdict"), place.verdict !== null);
    say(byId("place-verdict"), place.verdict ?? "");
    mark(byId("place-verdict"), "data-converged", place.is_converged);
    showIf(byId("place-lift"), place.lift !== null);
    say(byId("place-lift"), place.lift ?? "");
    const keys = new Map(place.lines.map((line) => [line.arm, line.key]));
    keyed(
      byId("place-rows"),
      place.arms,
      (arm) => arm.arm,
      makeRow,
      (row, arm) => drawRow(row, arm, keys),
    );
    const enough = place.at.length > 1 && place.observations > 0;
    showIf(byId("place-charts"), enough);
    if (!enough) return;
    drawMeans(place.at, lines(place, "means"), around(place));
    drawBest(place.at, lines(place, "p_best"), [0, 1]);
  }

  function drawSegments(place) {
    const names = place.segments.includes(place.segment) ? place.segments : [place.segment, ...place.segments];
    drawOptions(segments, names, (name) => name || UNNAMED, place.segment);
  }

  return (frame) => {
    const has = frame.bandits.length > 0;
    showIf(byId("bandits-section"), has);
    for (const id of PLAIN_PARTS) showIf(byId(id), !has);
    if (!has) return;
    const names = frame.bandits.map((bandit) => bandit.name);
    if (!names.includes(chosen.bandit)) {
      const first = frame.bandits.find((bandit) => bandit.is_declared) ?? frame.bandits[0];
      chosen = { bandit: first.name, segment: null };
    }
    drawOptions(bandits, names, (name) => name, chosen.bandit);
    say(byId("bandits-note"), summary(frame.bandits, chosen.bandit));
    refresh();
  };
}

function drawOptions(select, names, words, chosen) {
  keyed(
    select,
    names,
    (name) => `= ${name}`,
    (name) => make("option", { value: name }),
    (option, name) => {
      say(option, clipped(words(name)));
      mark(option, "title", name);
    },
  );
  if (select.value !== chosen) select.value = chosen;
}

function summary(bandits, chosen) {
  const all = bandits.reduce((sum, bandit) => sum + bandit.observations, 0);
  const one = bandits.find((bandit) => bandit.name === chosen);
  const fleet = `${plural(bandits.length, "bandit")} with ${plural(all, "observation")}. `;
  return `${fleet}This one has ${plural(one.arms, "arm")}, ${plural(one.segments, "segment")} and ${plural(one.observations, "observation")}.`;
}

function note(place) {
  const [low, high] = place.rewards;
  const left = place.segments_left_out ? ` ${plural(place.segments_left_out, "segment")} are not listed.` : "";
  const off = place.control_arm === null ? "" : ` The kill switch is on: all traffic goes to ${clipped(place.control_arm)}.`;
  const known = place.observations ? plural(place.observations, "observation") : "No observations yet";
  return `${known} in this segment, policy ${place.policy}, rewards from ${decimal(low, 0)} to ${decimal(high, 0)}.${off}${left}`;
}

function lines(place, field) {
  return place.lines.map((line) => ({
    id: line.arm,
    key: line.key,
    name: `\u2068${clipped(line.arm)}\u2069`, // apart from what stands beside it, whichever way it is written
    short: letter(line.key),
    label: letter(line.key),
    values: line[field],
  }));
}

/** The range of the means that there are, with some room, inside that of the rewards. */
export function around({ lines: drawn, rewards: [low, high] }) {
  const values = drawn.flatMap((line) => line.means).filter((value) => value !== null);
  if (values.length === 0) return [low, high];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = Math.max((most - least) * 0.1, (high - low) * 0.01);
  return [Math.max(low, least - room), Math.min(high, most + room)];
}

function makeRow(arm) {
  const cell = (name, ...children) => make("td", { class: name }, ...children);
  const field = (name) => make("span", { "data-field": name });
  return make(
    "tr",
    { "data-place-arm": arm.arm },
    make("th", { scope: "row" }, keyBadge(), " ", make("span", { class: "name" })),
    cell("number", field("mean")),
    cell("number", field("p_best")),
    cell("number", field("observations")),
    cell("", pill()),
  );
}

function drawRow(row, arm, keys) {
  const field = (name) => row.querySelector(`[data-field="${name}"]`);
  mark(row, "data-state", arm.state);
  setKeyBadge(row.querySelector(".key"), keys.get(arm.arm) ?? null);
  say(row.querySelector(".name"), arm.arm);
  mark(row.querySelector(".name"), "title", arm.arm);
  setPill(row.querySelector(".mark"), look(ARM_STATES, arm.state), arm.state);
  show(field("mean"), decimal(arm.mean), arm.mean);
  show(field("p_best"), share(arm.p_best), arm.p_best);
  show(field("observations"), count(arm.observations), arm.observations);
}
