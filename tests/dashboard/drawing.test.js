import assert from "node:assert/strict";
import test from "node:test";

import { whiskers, where } from "../../src/cobandit/dashboard/page/arms.js";
import { Arrivals } from "../../src/cobandit/dashboard/page/events.js";
import { bands, columns } from "../../src/cobandit/dashboard/page/intervals.js";
import { Keys, letter } from "../../src/cobandit/dashboard/page/keys.js";
import { isStale, largest, level, levelWords, pairWords, summary } from "../../src/cobandit/dashboard/page/meetings.js";
import { sortedArms, sortedMembers } from "../../src/cobandit/dashboard/page/sorting.js";

const plain = (text) => text.replaceAll("\u00a0", " ");

test("arms have the keys that the server gives, as letters, and the rest has none", () => {
  const keys = new Keys();
  keys.take([
    { arm: "blue", key: 2, is_rest: false },
    { arm: "red", key: 1, is_rest: false },
    { arm: "", key: 0, is_rest: true },
  ]);
  assert.deepEqual(
    ["blue", "red", "", "green"].map((arm) => keys.of(arm)),
    [2, 1, null, null],
  );
  assert.deepEqual([1, 2, 7].map(letter), ["a", "b", "g"]);
});

test("the whiskers say what they are for each policy", () => {
  assert.match(whiskers("thompson"), /about 95 %/);
  assert.match(whiskers("ucb"), /wider than 95 %/);
  assert.match(whiskers("thompson, ucb"), /of its policy/);
});

const series = (at, ...counts) => ({ at, lines: counts.map((values) => ({ counts: values })) });

test("each interval is a column as long as there is room", () => {
  assert.deepEqual(columns(series([0, 1, 2], [0, 3, 1], [0, 1, 0]), 10), [
    { from: 0, to: 1, counts: [3, 1], total: 4 },
    { from: 1, to: 2, counts: [1, 0], total: 1 },
  ]);
});

test("with little room neighbours are added up, and no observation is lost", () => {
  const found = columns(series([0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5], [0, 1, 1, 1, 1, 1]), 3);
  assert.deepEqual(found, [
    { from: 0, to: 2, counts: [3, 2], total: 5 },
    { from: 2, to: 4, counts: [7, 2], total: 9 },
    { from: 4, to: 5, counts: [5, 1], total: 6 },
  ]);
});

test("an interval without observations stays a gap, however little room there is", () => {
  const found = columns(series([0, 1, 2, 3, 4], [0, 4, 0, 0, 4]), 1);
  assert.deepEqual(
    found.map(({ from, to, total }) => [from, to, total]),
    [
      [0, 1, 4],
      [1, 3, 0],
      [3, 4, 4],
    ],
  );
  assert.deepEqual(bands(found, 1), [[[0, 1], null, [0, 1]]]);
});

test("one moment alone is no interval", () => {
  assert.deepEqual(columns(series([5], [0]), 10), []);
});

test("bands are stacked to one", () => {
  const found = columns(series([0, 1], [0, 1], [0, 3]), 10);
  assert.deepEqual(bands(found, 2), [[[0, 0.25]], [[0.25, 1]]]);
});

test("arms are sorted by traffic, mean or name; what is not known comes last", () => {
  const arms = [
    { arm: "b10", share: 0.1, mean: 0.9 },
    { arm: "b2", share: 0.1, mean: null },
    { arm: "a", share: 0.8, mean: 0.5 },
  ];
  const names = (order) => sortedArms(arms, order).map(({ arm }) => arm);
  assert.deepEqual(names("share"), ["a", "b2", "b10"]);
  assert.deepEqual(names("mean"), ["b10", "a", "b2"]);
  assert.deepEqual(names("name"), ["a", "b2", "b10"]);
  assert.deepEqual(names("something else"), names("share"));
});

test("members that need somebody come first, and those who left last", () => {
  const member = (name, state, ...troubles) => ({ name, state, troubles });
  const sorted = sortedMembers([
    ...[member("e", "left"), member("c", "here"), member("d", "here", "disk full")],
    ...[member("b", "silent"), member("a", "superseded"), member("f", "not asked"), member("z", "some new word")],
  ]);
  assert.equal(sorted.map(({ name }) => name).join(""), "azbdcfe");
});

test("an arm says at how many members it is so, if they do not agree", () => {
  const arm = { state: "frozen", frozen_at: 2, offered_at: 1, members: 3 };
  assert.equal(where(arm), "at 2 of 3");
  assert.equal(where({ ...arm, frozen_at: 3 }), "");
  assert.equal(where({ ...arm, state: "candidate" }), "at 1 of 3");
  assert.equal(where({ ...arm, state: "ruled out" }), "");
});

const pairs = {
  names: ["a", "b", "c"],
  shares: [
    [null, 3, 0],
    [1, null, 2],
    [null, null, null],
  ],
  heard_s: [
    [null, 0.5, 41],
    [2, null, null],
    [null, null, null],
  ],
  lacks: [
    [null, 0, 12],
    [1, null, 0],
    [null, null, null],
  ],
};
const states = (...all) => new Map(pairs.names.map((name, index) => [name, all[index]]));

test("the summary says who has not talked and who was silent longest", () => {
  assert.equal(
    plain(summary(pairs, states("here", "here", "silent"))),
    "All 2 members here have heard from each other. Longest silence: b has not heard from a for 2.0 s. No answer from c.",
  );
  assert.equal(
    plain(summary(pairs, states("here", "here", "here"))),
    "3 of 6 pairs have talked. Longest silence: a has not heard from c for 41 s.",
  );
  assert.match(summary({ ...pairs, names: ["a"] }, states("here")), /^No other member yet\./);
  assert.equal(
    summary(pairs, states("here", "left", "left")),
    "Only one member has answered, so it is not known who talks to whom.",
  );
});

test("a pair is read in words", () => {
  assert.equal(plain(pairWords(pairs, 0, 1)), "a → b: 3 shares sent, lacks nothing, heard from it 0.5 s ago.");
  assert.equal(plain(pairWords(pairs, 1, 2)), "b → c: 2 shares sent, lacks nothing, never heard back.");
  assert.equal(plain(pairWords(pairs, 0, 2)), "a → c: 0 shares sent, lacks 12 observations, heard from it 41 s ago.");
  assert.equal(pairWords(pairs, 2, 0), "c → a: nothing known.");
  assert.equal(pairWords(pairs, 2, 2), "c: a member does not talk to itself.");
});

test("shading rises with the value, and its legend says what each step stands for", () => {
  assert.equal(largest(pairs.lacks), 12);
  assert.deepEqual(
    [null, 0, 1, 2, 12].map((value) => level("lacks", value, 12)),
    [0, 0, 2, 3, 5],
  );
  for (const most of [1, 2, 7, 403]) {
    const words = levelWords("shares", most);
    for (let value = 1; value <= most; value += 1) {
      const [low, high = low] = words[level("shares", value, most) - 1].split(" to ").map(Number);
      assert.ok(low <= value && value <= high, `${value} of ${most} is not in ${low} to ${high}`);
    }
  }
});

test("what was heard long ago is stale", () => {
  assert.deepEqual(
    [0.5, 3, 29.9, 30, 500].map((value) => level("heard", value, 0)),
    [1, 2, 3, 4, 5],
  );
  assert.deepEqual(levelWords("heard", 0).map(plain), [
    "under 1 s",
    "1 s to 5 s",
    "5 s to 30 s",
    "30 s to 2 min",
    "over 2 min",
  ]);
  assert.deepEqual(
    [29.9, 30, null].map((value) => isStale("heard", value)),
    [false, true, false],
  );
  assert.equal(isStale("shares", 99), false);
});

test("events are new for ten seconds, but not those that were there at first", () => {
  const arrivals = new Arrivals();
  const frame = (since, ...numbers) => ({ watching_since: since, events: numbers.map((number) => ({ number })) });
  assert.deepEqual(arrivals.take(frame(1, 2, 1), 0), []);
  assert.deepEqual(arrivals.take(frame(1, 3, 2, 1), 1000), [{ number: 3 }]);
  assert.deepEqual(
    [arrivals.isNew(3, 11_000), arrivals.isNew(3, 11_001), arrivals.isNew(2, 1000)],
    [true, false, false],
  );
  assert.deepEqual(arrivals.take(frame(1, 3, 2, 1), 2000), []);
});

test("a server that was started again counts from the beginning", () => {
  const arrivals = new Arrivals();
  const frame = (since, ...numbers) => ({ watching_since: since, events: numbers.map((number) => ({ number })) });
  arrivals.take(frame(1, 50), 0);
  assert.deepEqual(arrivals.take(frame(2, 1), 0), []);
  assert.deepEqual(arrivals.take(frame(2, 2, 1), 0), [{ number: 2 }]);
});
