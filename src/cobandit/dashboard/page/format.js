// Numbers, shares, durations and clock times as words. Pure: no document, no state; only the reader's time zone.

const NARROW = "\u00a0"; // a space that does not break, between a number and its unit
export const NOTHING = "–";

const COUNTS = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function count(value) {
  return value === null || value === undefined ? NOTHING : COUNTS.format(value);
}

/** A count in little room: 45.6 k, 1.2 M. */
export function shortCount(value) {
  if (value === null || value === undefined) return NOTHING;
  for (const [unit, size] of [
    ["G", 1e9],
    ["M", 1e6],
    ["k", 1e3],
  ]) {
    if (value >= size * 0.9995) {
      const scaled = value / size;
      return `${scaled < 99.95 ? scaled.toFixed(1).replace(/\.0$/, "") : Math.round(scaled)}${NARROW}${unit}`;
    }
  }
  return count(value);
}

/** A number with as many digits as help: 0.523, 12.3, 4,567. */
export function decimal(value, digits = 3) {
  if (value === null || value === undefined) return NOTHING;
  if (Math.abs(value) >= 1000) return COUNTS.format(value);
  return value.toFixed(Math.abs(value) >= 10 ? Math.min(1, digits) : digits);
}

/** A value at an axis, with as many digits after the point as the values beside it need: 0, 50, 100 or 0.25, 0.50. */
export function axisMark(value, all) {
  const digits = Math.max(...all.map((one) => (String(one).split(".")[1] ?? "").length));
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** A share of one in per cent. What is little is never shown as nothing, and what is not all never as all. */
export function share(value) {
  if (value === null || value === undefined) return NOTHING;
  if (value > 0 && value < 0.01) return `<${NARROW}1${NARROW}%`;
  if (value < 1 && value > 0.99) return `>${NARROW}99${NARROW}%`;
  return `${Math.round(value * 100)}${NARROW}%`;
}

/** How long, in its one or two largest units. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NOTHING;
  if (seconds < 9.95) return `${Math.max(0, seconds).toFixed(1)}${NARROW}s`;
  if (seconds < 119.5) return `${Math.round(seconds)}${NARROW}s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes}${NARROW}min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return twoUnits(hours, "h", minutes % 60, "min");
  return twoUnits(Math.floor(hours / 24), "d", hours % 24, "h");
}

function twoUnits(large, largeUnit, small, smallUnit) {
  const first = `${large}${NARROW}${largeUnit}`;
  return small ? `${first} ${small}${NARROW}${smallUnit}` : first;
}

const two = (value) => String(value).padStart(2, "0");

/** The time of day, with seconds unless told otherwise. */
export function clock(at, { seconds = true } = {}) {
  const time = new Date(at * 1000);
  const minutes = `${two(time.getHours())}:${two(time.getMinutes())}`;
  return seconds ? `${minutes}:${two(time.getSeconds())}` : minutes;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export function day(at) {
  const time = new Date(at * 1000);
  return `${time.getDate()} ${MONTHS[time.getMonth()]}`;
}

/** The time of day, with the day if it is not that of `today`. */
export function moment(at, today) {
  return day(at) === day(today) ? clock(at) : `${day(at)} ${clock(at)}`;
}

export function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

const LONGEST_NAME = 32;

/** A name inside a sentence, not so long that the sentence is lost in it. */
export function clipped(name) {
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
}

/** What talking on demand saved, in a number and a sentence. It says so when nothing was saved. */
export function saving({ shares, immediate }) {
  const sent = `${plural(shares, "share")} sent`;
  const broadcast = `immediate broadcast would have sent ${count(immediate)}`;
  if (immediate === 0) {
    const first = shares === 0 ? "No shares yet" : sent;
    return { part: null, short: NOTHING, sentence: `${first}; nothing to compare with yet` };
  }
  const part = 1 - shares / immediate;
  if (part <= 0) return { part, short: "none", sentence: `${sent}, ${broadcast}: no saving` };
  // Rounded down: 99.98 % saved is not "100 %".
  const short = part >= 0.9 ? `${(Math.floor(part * 1000) / 10).toFixed(1)}` : `${Math.floor(part * 100)}`;
  return { part, short: `${short}${NARROW}%`, sentence: `${sent}; ${broadcast}` };
}
