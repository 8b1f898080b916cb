// The matrix of who talks to whom. Cells are kept from frame to frame and touched only where something changed:
// fifty members have 2,500 of them.

import { choice } from "./choice.js";
import { byId, keyed, make, mark, say, showIf } from "./elements.js";
import { plural } from "./format.js";
import { isStale, largest, level, levelWords, pairWords, summary, VIEWS } from "./meetings.js";

const MOST_WITH_NUMBERS = 12; // with more members, cells are too small for numbers
const NO_ROW = { silent: "no answer", left: "left", "not asked": "not asked" };

export function pairsSection() {
  const table = byId("pairs-table");
  let frame = null;
  let names = [];
  let cells = []; // by row, then by column
  let focused = null; // the cell that the keyboard is at
  let read = null; // the cell that is read

  const view = choice(byId("pairs-tools"), {
    name: "pairs-view",
    label: "What the matrix shows",
    options: Object.entries(VIEWS).map(([value, { word }]) => [value, word]),
    onChange: () => draw(),
  });
  const cellOf = (event) => event.target.closest("td[data-from]");
  const readCell = (cell) => {
    read = cell;
    drawReading();
  };
  table.addEventListener("pointerover", (event) => cellOf(event) && readCell(cellOf(event)));
  table.addEventListener("pointerleave", () => readCell(table.contains(document.activeElement) ? focused : null));
  table.addEventListener("focusin", (event) => cellOf(event) && readCell(setFocus(cellOf(event))));
  table.addEventListener("focusout", () => readCell(null));
  table.addEventListener("keydown", move);

  function setFocus(cell) {
    if (focused && focused !== cell) mark(focused, "tabindex", "-1");
    focused = cell;
    mark(cell, "tabindex", "0");
    return cell;
  }

  function move(event) {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const cell = cellOf(event);
    if (!cell || !Object.hasOwn(steps, event.key)) return;
    event.preventDefault();
    const [down, right] = steps[event.key];
    const next = cells[cell.place[0] + down]?.[cell.place[1] + right];
    if (next) setFocus(next).focus();
  }

  function draw() {
    if (!frame) return;
    const { pairs } = frame;
    const states = new Map(frame.members.map((member) => [member.name, member.state]));
    say(byId("pairs-summary"), summary(pairs, states) + leftOut(pairs));
    showIf(byId("pairs-body"), pairs.names.length > 1);
    showIf(byId("pairs-tools"), pairs.names.length > 1);
    if (pairs.names.length < 2) return;
    if (pairs.names.join("\n") !== names.join("\n")) build(pairs.names);
    drawCells(pairs, states);
    drawReading();
  }

  function build(now) {
    names = now;
    const isLarge = names.length > MOST_WITH_NUMBERS;
    mark(table, "class", isLarge ? "matrix large" : "matrix");
    table.style.setProperty("--members", names.length);
    keyed(
      byId("pairs-columns"),
      [null, ...names],
      (name) => `${name === null ? "corner" : `to ${name}`}`,
      makeColumn,
      () => {},
    );
    keyed(
      byId("pairs-rows"),
      names,
      (name) => `from ${name}`,
      makePairsRow,
      (row, from, rowIndex) => {
        keyed(
          row,
          [null, ...names],
          (to) => (to === null ? "head" : `to ${to}`),
          (to) => makeCell(from, to),
          (cell, to, index) => {
            if (to !== null) cell.place = [rowIndex, index - 1];
          },
        );
      },
    );
    cells = [...byId("pairs-rows").children].map((row) => [...row.children].slice(1));
    if (!focused?.isConnected) setFocus(cells[0][1]);
  }

  function drawCells(pairs, states) {
    const chosen = view.value();
    const { values, words, explanation, word } = VIEWS[chosen];
    const rows = values(pairs);
    const most = largest(rows);
    const isLarge = names.length > MOST_WITH_NUMBERS;
    names.forEach((from, row) => {
      const missing = NO_ROW[states.get(from)] ?? null;
      drawHead(cells[row][0].parentNode.firstChild, states.get(from) ?? "", missing);
      names.forEach((_, column) => {
        const value = rows[row][column];
        const stale = isStale(chosen, value);
        const step = level(chosen, value, most);
        const text =
          row === column
            ? ""
            : value === null
              ? missing
                ? ""
                : "·"
              : isLarge
                ? stale
                  ? "!"
                  : ""
                : words(value) + (stale ? " !" : "");
        drawCell(cells[row][column], { value, text, step, stale, own: row === column, missing });
      });
    });
    say(byId("pairs-explanation"), explanation);
    say(byId("pairs-caption"), `${word}, from the row’s member to the column’s`);
    drawScale(chosen, most, isLarge);
  }

  function drawReading() {
    const isOn = Boolean(read?.isConnected);
    byId("pairs-reading").classList.toggle("on", isOn);
    for (const cell of table.querySelectorAll(".read")) {
      if (cell === read) continue;
      cell.classList.remove("read");
      mark(cell, "aria-label", null);
    }
    if (isOn) read.classList.add("read");
    say(
      byId("pairs-reading"),
      isOn
        ? pairWords(frame.pairs, ...read.place)
        : "Point at a pair, tap it, or use the arrow keys to read it.",
    );
    if (isOn) mark(read, "aria-label", pairWords(frame.pairs, ...read.place));
  }

  return (next) => {
    frame = next;
    draw();
  };
}

function leftOut(pairs) {
  return pairs.left_out ? ` ${plural(pairs.left_out, "more member", "more members")} not shown for lack of room.` : "";
}

function makeColumn(name) {
  if (name === null) return make("td", { class: "corner" }, make("span", { class: "soft" }, "from ↓ to →"));
  return make("th", { scope: "col", title: name }, make("span", {}, name));
}

function makePairsRow(name) {
  return make("tr", { "data-row": name });
}

const CELL = make("td", { role: "gridcell", tabindex: "-1" });

function makeCell(from, to) {
  if (to === null) {
    const word = make("span", { class: "soft no-row" });
    return make("th", { scope: "row", title: from }, make("span", { class: "name" }, from), word);
  }
  const cell = CELL.cloneNode();
  cell.setAttribute("data-from", from);
  cell.setAttribute("data-to", to);
  return cell;
}

function drawHead(head, state, missing) {
  mark(head.parentNode, "data-state", state);
  mark(head.parentNode, "class", missing ? "no-answer" : null);
  say(head.lastChild, missing ?? "");
}

function drawCell(cell, { value, text, step, stale, own, missing }) {
  const looks = own ? "own" : missing ? "unknown" : `level-${step}${stale ? " stale" : ""}`;
  if (cell.drawn === `${looks}|${text}|${value}`) return;
  cell.drawn = `${looks}|${text}|${value}`;
  cell.className = cell.classList.contains("read") ? `${looks} read` : looks;
  say(cell, text);
  mark(cell, "data-value", value);
}

function drawScale(view, most, isLarge) {
  const words = most === 0 && view !== "heard" ? [] : levelWords(view, most);
  const steps = words.map((word, index) => ({ word, step: index + 1 })).filter(({ word }) => word !== null);
  mark(byId("pairs-scale"), "class", isLarge ? "legend soft large" : "legend soft");
  keyed(
    byId("pairs-scale"),
    steps,
    ({ step }) => step,
    makeStep,
    (item, { word, step }) => {
      mark(item.firstChild, "class", `swatch level-${step}${view === "heard" && step > 3 ? " stale" : ""}`);
      say(item.lastChild, word);
    },
  );
}

function makeStep() {
  return make("li", {}, make("span", { class: "swatch", "aria-hidden": "true" }), make("span"));
}
