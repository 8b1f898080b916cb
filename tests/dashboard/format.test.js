import assert from "node:assert/strict";
import test from "node:test";

import * as format from "../../src/cobandit/dashboard/page/format.js";

const plain = (text) => text.replaceAll("\u00a0", " ");

test("counts are grouped, and nothing is a dash", () => {
  assert.deepEqual([0, 543, 45594, 8936424, null].map(format.count), ["0", "543", "45,594", "8,936,424", "–"]);
});

test("counts in little room keep three digits", () => {
  const shown = [0, 999, 999.6, 1000, 1200, 45594, 99960, 999_600, 1e6, 2.5e9, null].map(format.shortCount).map(plain);
  assert.deepEqual(shown, ["0", "999", "1 k", "1 k", "1.2 k", "45.6 k", "100 k", "1 M", "1 M", "2.5 G", "–"]);
});

test("decimals have as many digits as help", () => {
  const shown = [0.5234, 1, 12.34, 4567.8, -0.25, null].map((value) => format.decimal(value));
  assert.deepEqual(shown, ["0.523", "1.000", "12.3", "4,568", "-0.250", "–"]);
});

test("the values at an axis have as many digits as the one that needs most", () => {
  const shown = (...values) => values.map((value) => format.axisMark(value, values));
  assert.deepEqual(shown(0, 50, 100, 200), ["0", "50", "100", "200"]);
  assert.deepEqual(shown(0, 0.25, 0.5), ["0.00", "0.25", "0.50"]);
  assert.deepEqual(shown(-500, 0, 1500), ["-500", "0", "1,500"]);
});

test("a little share is not nothing, and almost all is not all", () => {
  const shown = [0, 0.0001, 0.01, 0.625, 0.99, 0.9999, 1, null].map(format.share).map(plain);
  assert.deepEqual(shown, ["0 %", "< 1 %", "1 %", "63 %", "99 %", "> 99 %", "100 %", "–"]);
});

test("durations are said in their one or two largest units", () => {
  const seconds = [0, 0.44, 9.94, 9.96, 41, 119, 120, 3000, 7140, 7200, 7500, 172_800, 200_000, null];
  assert.deepEqual(seconds.map(format.duration).map(plain), [
    ...["0.0 s", "0.4 s", "9.9 s", "10 s", "41 s", "119 s", "2 min", "50 min", "119 min"],
    ...["2 h", "2 h 5 min", "2 d", "2 d 7 h", "–"],
  ]);
});

test("a moment of another day has its day", () => {
  const at = new Date(2026, 10, 16, 14, 5, 12).getTime() / 1000;
  assert.equal(format.clock(at), "14:05:12");
  assert.equal(format.clock(at, { seconds: false }), "14:05");
  assert.equal(format.moment(at, at + 60), "14:05:12");
  assert.equal(format.moment(at, at + 86_400), "16 Nov 14:05:12");
});

test("what was saved is rounded down, so that not all is never said to be all", () => {
  assert.deepEqual(format.saving({ shares: 543, immediate: 45_594 }), {
    part: 1 - 543 / 45_594,
    short: "98.8\u00a0%",
    sentence: "543 shares sent; immediate broadcast would have sent 45,594",
  });
  assert.equal(plain(format.saving({ shares: 1, immediate: 1_000_000 }).short), "99.9 %");
  assert.equal(plain(format.saving({ shares: 1, immediate: 3 }).short), "66 %");
});

test("when nothing was saved it says so", () => {
  for (const shares of [40, 50]) {
    const { short, sentence } = format.saving({ shares, immediate: 40 });
    assert.deepEqual(
      [short, sentence],
      ["none", `${shares} shares sent, immediate broadcast would have sent 40: no saving`],
    );
  }
  assert.equal(
    format.saving({ shares: 0, immediate: 0 }).sentence,
    "No shares yet; nothing to compare with yet",
  );
});

test("a name inside a sentence is cut", () => {
  assert.equal(format.clipped("edge-1"), "edge-1");
  assert.equal(format.clipped("x".repeat(33)), `${"x".repeat(31)}…`);
});
