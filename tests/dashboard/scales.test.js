import assert from "node:assert/strict";
import test from "node:test";

import { linear, logarithmic, powers, spread, ticks, timeTicks } from "../../src/cobandit/dashboard/page/scales.js";

process.env.TZ = "Asia/Kolkata"; // half an hour off: times that are round elsewhere are not round there

test("a linear scale maps ends to ends, also upside down", () => {
  const at = linear([0, 10], [100, 0]);
  assert.deepEqual([0, 5, 10].map(at), [100, 50, 0]);
  assert.equal(linear([3, 3], [0, 10])(3), 0);
});

test("a logarithmic scale gives each power the same room, and what is too little stands at the edge", () => {
  const at = logarithmic([1, 1000], [0, 300]);
  assert.deepEqual(
    [0, 1, 10, 100, 1000].map((value) => Math.round(at(value))),
    [0, 0, 100, 200, 300],
  );
});

test("marks are round values inside the range", () => {
  assert.deepEqual(ticks(0, 1), [0, 0.5, 1]);
  assert.deepEqual(ticks(0, 543), [0, 200, 400]);
  assert.deepEqual(ticks(0, 0.3), [0, 0.1, 0.2, 0.3]);
  assert.deepEqual(ticks(7, 7), [7]);
});

test("powers of ten are skipped when there are too many", () => {
  assert.deepEqual(powers(1, 100_000), [1, 10, 100, 1000, 10_000, 100_000]);
  assert.deepEqual(powers(1, 1e9, 5), [1, 100, 10_000, 1e6, 1e8]);
});

test("times are round by the clock of the reader", () => {
  const from = new Date(2026, 10, 16, 14, 3, 20).getTime() / 1000;
  const clock = (at) => new Date(at * 1000).toTimeString().slice(0, 8);
  const ten = timeTicks(from, from + 600, 6);
  assert.deepEqual([ten.step, ten.at.map(clock)], [120, ["14:04:00", "14:06:00", "14:08:00", "14:10:00", "14:12:00"]]);
  const day = timeTicks(from, from + 86_400, 4);
  assert.deepEqual([day.step, day.at.map(clock)], [21_600, ["18:00:00", "00:00:00", "06:00:00", "12:00:00"]]);
  assert.ok(timeTicks(from, from + 400 * 86_400, 6).at.length <= 6);
});

test("labels are moved apart, keep their order and stay inside", () => {
  assert.deepEqual(spread([0, 1, 50], 10, 0, 100), [0, 10, 50]);
  assert.deepEqual(spread([98, 99, 97], 10, 0, 100), [90, 100, 80]);
  assert.deepEqual(spread([5, 5, 5], 10, 0, 100), [5, 15, 25]);
});
