// What happened, newest first. Important kinds are also said aloud by screen readers.

import { byId, keyed, make, mark, say, showIf } from "./elements.js";
import { count, moment } from "./format.js";
import { pill, setPill } from "./signs.js";
import { EVENT_KINDS, look } from "./words.js";

const SHOWN_AT_FIRST = 12;
const NEW_FOR_MS = 10_000;
const MOST_SAID = 3;

export function eventsSection() {
  let frame = null;
  let all = false;
  const arrivals = new Arrivals();
  const filter = byId("events-filter");
  filter.addEventListener("change", () => draw());
  byId("events-more").addEventListener("click", () => {
    all = !all;
    draw();
  });

  function draw() {
    if (!frame) return;
    const kinds = countKinds(frame.events);
    drawFilter(kinds);
    const chosen = filter.value;
    const events = chosen ? frame.events.filter((event) => event.kind === chosen) : frame.events;
    keyed(
      byId("events-list"),
      all ? events : events.slice(0, SHOWN_AT_FIRST),
      (event) => event.number,
      makeEvent,
      (item, event) => {
        drawEvent(item, event, frame.at, arrivals.isNew(event.number, Date.now()));
      },
    );
    showIf(byId("events-list"), events.length > 0);
    showIf(byId("events-note"), events.length === 0);
    say(
      byId("events-note"),
      chosen ? `No events of the kind “${chosen}” remain.` : "Nothing has happened since watching began.",
    );
    showIf(byId("events-more"), events.length > SHOWN_AT_FIRST);
    say(
      byId("events-more"),
      all ? `Show only the newest ${SHOWN_AT_FIRST}` : `Show all ${count(events.length)} events`,
    );
  }

  function drawFilter(kinds) {
    const options = [
      ["", `All kinds (${count(frame.events.length)})`],
      ...kinds.map(([kind, times]) => [kind, `${kind} (${count(times)})`]),
    ];
    if (filter.value && !kinds.some(([kind]) => kind === filter.value))
      options.push([filter.value, `${filter.value} (0)`]);
    keyed(
      filter,
      options,
      ([value]) => value,
      ([value]) => make("option", { value }),
      (option, [, words]) => say(option, words),
    );
    showIf(filter.parentNode, frame.events.length > 0);
  }

  return (next) => {
    frame = next;
    const came = arrivals.take(frame, Date.now());
    const important = came.filter((event) => look(EVENT_KINDS, event.kind).important).slice(0, MOST_SAID);
    if (important.length)
      say(byId("happened"), important.map((event) => `${event.kind}: ${event.who}, ${event.text}`).join(". "));
    draw();
  };
}

/** Which events came while somebody looked. A server that was started again counts from the beginning. */
export class Arrivals {
  #since = null;
  #highest = -1;
  #came = new Map();

  /** Take a frame's events; return those that are new. Nothing is new in the first frame. */
  take({ watching_since: since, events }, now) {
    const isFirst = this.#since !== since;
    const highest = Math.max(isFirst ? -1 : this.#highest, ...events.map((event) => event.number));
    const came = isFirst ? [] : events.filter((event) => event.number > this.#highest);
    if (isFirst) this.#came.clear();
    for (const event of came) this.#came.set(event.number, now);
    for (const [number, at] of this.#came) if (now - at > NEW_FOR_MS) this.#came.delete(number);
    this.#since = since;
    this.#highest = highest;
    return came;
  }

  isNew(number, now) {
    return now - (this.#came.get(number) ?? -Infinity) <= NEW_FOR_MS;
  }
}

function countKinds(events) {
  const kinds = new Map();
  for (const event of events) kinds.set(event.kind, (kinds.get(event.kind) ?? 0) + 1);
  return [...kinds].sort(([one], [other]) => (one < other ? -1 : 1));
}

function makeEvent() {
  return make(
    "li",
    {},
    make("time", { class: "soft" }),
    make("span", { class: "kind" }, pill()),
    make("span", { class: "happening" }, make("strong"), " ", make("span"), make("span", { class: "mark new" }, "new")),
  );
}

function drawEvent(item, event, today, isNew) {
  const [time, kind, happening] = item.children;
  mark(item, "data-event", event.number);
  mark(item, "data-kind", event.kind);
  say(time, moment(event.at, today));
  mark(time, "datetime", new Date(event.at * 1000).toISOString());
  setPill(kind.firstChild, look(EVENT_KINDS, event.kind), event.kind);
  say(happening.children[0], event.who);
  say(happening.children[1], event.text);
  showIf(happening.children[2], isNew);
}
