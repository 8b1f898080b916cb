// Who talks to whom, in words and in steps of shading. Pure: `pairs.js` draws it.

import { clipped, count, duration, plural } from "./format.js";

export const STALE_AFTER_S = 30;
export const LEVELS = 5;

const HEARD_STEPS_S = [1, 5, STALE_AFTER_S, 120]; // the last level has no end

export const VIEWS = {
  shares: {
    word: "Shares sent",
    explanation: "How many shares the row’s member sent to the column’s.",
    values: (pairs) => pairs.shares,
    words: count,
  },
  heard: {
    word: "Last heard",
    explanation:
      "How long ago the row’s member last heard from the column’s. " +
      `Hatched with a “!”: more than ${STALE_AFTER_S}\u00a0s ago.`,
    values: (pairs) => pairs.heard_s,
    words: duration,
  },
  lacks: {
    word: "Lacks",
    explanation: "How many observations of the row’s member the column’s has not acknowledged yet.",
    values: (pairs) => pairs.lacks,
    words: count,
  },
};

/** How dark a value is shown, from 0 (nothing) to `LEVELS`. */
export function level(view, value, most) {
  if (value === null) return 0;
  if (view === "heard") return 1 + HEARD_STEPS_S.filter((step) => value >= step).length;
  if (value === 0) return 0;
  return Math.max(1, Math.ceil((LEVELS * Math.log1p(value)) / Math.log1p(most)));
}

/** What each level stands for, from 1 on. */
export function levelWords(view, most) {
  if (view === "heard") {
    const steps = HEARD_STEPS_S.map((step) => duration(step).replace(".0", ""));
    return [
      `under ${steps[0]}`,
      ...steps.slice(0, -1).map((step, index) => `${step} to ${steps[index + 1]}`),
      `over ${steps.at(-1)}`,
    ];
  }
  const found = [];
  let before = 0;
  for (let step = 1; step <= LEVELS; step += 1) {
    // The largest whole number that still has this level.
    const until = step === LEVELS ? most : Math.floor(Math.expm1((step * Math.log1p(most)) / LEVELS) + 1e-9);
    found.push(
      until <= before ? null : until === before + 1 ? count(until) : `${count(before + 1)} to ${count(until)}`,
    );
    before = Math.max(before, until);
  }
  return found;
}

export const isStale = (view, value) => view === "heard" && value !== null && value >= STALE_AFTER_S;

/** The largest value of all pairs; 0 if there is none. */
export function largest(rows) {
  let most = 0;
  for (const row of rows) for (const value of row) if (value !== null && value > most) most = value;
  return most;
}

const MOST_NAMED = 3;

function silentWords(silent) {
  if (silent.length === 0) return "";
  const more = silent.length > MOST_NAMED ? ` and ${count(silent.length - MOST_NAMED)} more` : "";
  return ` No answer from ${silent.slice(0, MOST_NAMED).map(clipped).join(", ")}${more}.`;
}

/** Two or three sentences on all pairs. `states` has the state of each member by its name. */
export function summary(pairs, states) {
  const silent = pairs.names.filter((name) => states.get(name) === "silent");
  return talk(pairs, new Set(pairs.names.filter((name) => states.get(name) === "here"))) + silentWords(silent);
}

function talk(pairs, here) {
  const present = pairs.names.map((name, index) => ({ name, index })).filter(({ name }) => here.has(name));
  if (pairs.names.length < 2) return "No other member yet. As soon as one joins, this shows who talks to whom.";
  if (present.length < 2) return "Only one member has answered, so it is not known who talks to whom.";
  const heard = [];
  let all = 0;
  for (const one of present) {
    for (const other of present) {
      if (one === other) continue;
      all += 1;
      const seconds = pairs.heard_s[one.index][other.index];
      if (seconds !== null) heard.push({ one: one.name, other: other.name, seconds });
    }
  }
  if (heard.length === 0) return "No member has heard from another yet.";
  const longest = heard.reduce((worst, pair) => (pair.seconds > worst.seconds ? pair : worst));
  const who =
    heard.length === all
      ? `All ${plural(present.length, "member")} here have heard from each other.`
      : `${count(heard.length)} of ${plural(all, "pair")} have talked.`;
  const [one, other] = [clipped(longest.one), clipped(longest.other)];
  return `${who} Longest silence: ${one} has not heard from ${other} for ${duration(longest.seconds)}.`;
}

/** Everything about one pair. */
export function pairWords(pairs, from, to) {
  const [one, other] = [clipped(pairs.names[from]), clipped(pairs.names[to])];
  if (from === to) return `${one}: a member does not talk to itself.`;
  const [shares, heard, lacks] = [pairs.shares, pairs.heard_s, pairs.lacks].map((rows) => rows[from][to]);
  if (shares === null && heard === null && lacks === null) return `${one} → ${other}: nothing known.`;
  const parts = [
    shares === null ? "shares unknown" : `${plural(shares, "share")} sent`,
    lacks === null
      ? "what it lacks is unknown"
      : lacks === 0
        ? "lacks nothing"
        : `lacks ${plural(lacks, "observation")}`,
    heard === null ? "never heard back" : `heard from it ${duration(heard)} ago`,
  ];
  return `${one} → ${other}: ${parts.join(", ")}.`;
}
