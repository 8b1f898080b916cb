// From values to places: linear and logarithmic scales, and where an axis has its marks. Pure.

export function linear([low, high], [from, to]) {
  const width = high - low || 1;
  return (value) => from + ((value - low) / width) * (to - from);
}

/** Logarithmic; what is below the lowest value stands at its place. */
export function logarithmic([low, high], [from, to]) {
  const at = linear([Math.log10(low), Math.log10(high)], [from, to]);
  return (value) => at(Math.log10(Math.max(low, value)));
}

/** Round values from `low` to `high`, about `wanted` of them. */
export function ticks(low, high, wanted = 4) {
  if (!(high > low)) return [low];
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => power * factor >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** The powers of ten from `low` to `high`; only some if there are many. */
export function powers(low, high, most = 8) {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const stride = Math.max(1, Math.ceil((last - first + 1) / most));
  const found = [];
  for (let power = first; power <= last; power += stride) found.push(10 ** power);
  return found;
}

const STEPS_S = [
  ...[1, 2, 5, 10, 15, 30],
  ...[60, 120, 300, 600, 900, 1800],
  ...[3600, 7200, 10800, 21600, 43200, 86400],
];

/** Round clock times between two moments, at most `most`, and the step between them. */
export function timeTicks(from, to, most = 6) {
  const rough = (to - from) / most;
  const days = Math.ceil(rough / 86400);
  const step = STEPS_S.find((size) => size >= rough) ?? days * 86400;
  const shift = new Date(from * 1000).getTimezoneOffset() * 60; // so that hours and days are the reader's
  const found = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= to; at += step) found.push(at);
  return { step, at: found };
}

/** Move positions apart, so that neighbours are `gap` apart within `low` and `high`. Keeps their order. */
export function spread(positions, gap, low, high) {
  const order = positions.map((_, index) => index).sort((a, b) => positions[a] - positions[b] || a - b);
  const placed = [...positions];
  let least = low;
  for (const index of order) {
    placed[index] = Math.max(placed[index], least);
    least = placed[index] + gap;
  }
  let most = high;
  for (const index of [...order].reverse()) {
    placed[index] = Math.min(placed[index], most);
    most = placed[index] - gap;
  }
  return placed;
}
