// The members: each with its state, what it knows and lacks, and what troubles it.

import { byId, keyed, make, mark, say, show, showIf } from "./elements.js";
import { count, duration, plural } from "./format.js";
import { pill, setPill, sign } from "./signs.js";
import { sortedMembers } from "./sorting.js";
import { look, MEMBER_STATES } from "./words.js";

const SHOWN_AT_FIRST = 12;

const COLUMNS = [
  ["heard_s", "Last heard", duration],
  ["decisions", "Decisions", count],
  ["own_observations", "Observed", count],
  ["observations", "Knows", count],
  ["missing", "Missing", count],
  ["open_decisions", "Open", count],
  ["shares", "Shares", count],
  ["packets", "Packets", count],
  ["refused", "Refused", count],
  ["uptime_s", "Up", duration],
];

export function membersSection() {
  let frame = null;
  let all = false;
  byId("members-columns").append(
    ...COLUMNS.map(([field, word]) => make("th", { scope: "col", class: "number", "data-column": field }, word)),
  );
  byId("members-more").addEventListener("click", () => {
    all = !all;
    draw();
  });

  function draw() {
    if (!frame) return;
    const members = sortedMembers(frame.members);
    const shown = all ? members : members.slice(0, SHOWN_AT_FIRST);
    // Each member is a body of its own: its row, and a line for each of its troubles.
    keyed(byId("members-table"), shown, (member) => member.name, makeMember, drawMember);
    showIf(byId("members-body"), members.length > 0);
    say(byId("members-note"), note(frame));
    showIf(byId("members-more"), members.length > SHOWN_AT_FIRST);
    say(
      byId("members-more"),
      all ? `Show only the first ${SHOWN_AT_FIRST}` : `Show all ${count(members.length)} members`,
    );
  }

  return (next) => {
    frame = next;
    draw();
  };
}

function note(frame) {
  if (frame.members.length === 0) return "No member has answered yet.";
  const inState = (state) => frame.members.filter((member) => member.state === state).length;
  const [silent, superseded] = [inState("silent"), inState("superseded")];
  const troubled = frame.members.filter((member) => member.troubles.length > 0).length;
  const left = frame.members_left_out ? ` ${count(frame.members_left_out)} more not listed.` : "";
  const alone = frame.members.length === 1 ? " No other member yet." : "";
  const parts = [
    silent ? `${plural(silent, "member")} did not answer.` : "",
    superseded ? `${plural(superseded, "member runs", "members run")} twice: stop one of the two.` : "",
    troubled ? `${plural(troubled, "member has", "members have")} troubles.` : "",
  ].filter(Boolean);
  const fine = parts.length ? parts.join(" ") : "All members here have answered and report no trouble.";
  return `${fine}${alone}${left}`;
}

function makeMember(member) {
  const cells = COLUMNS.map(([field]) => make("td", { class: "number", "data-field": field }));
  const name = make("span", { class: "name" }, member.name);
  const row = make(
    "tr",
    {},
    make("th", { scope: "row", title: member.name }, name, make("span", { class: "soft here" }, "this one")),
    make("td", {}, pill()),
    ...cells,
  );
  const body = make("tbody", { "data-member": member.name }, row);
  body.parts = { cells, pill: row.querySelector(".mark"), here: row.querySelector(".here") };
  return body;
}

function drawMember(body, member) {
  const { cells, pill: state, here } = body.parts;
  mark(body, "data-state", member.state);
  setPill(state, look(MEMBER_STATES, member.state), member.state);
  showIf(here, member.is_seen_from);
  COLUMNS.forEach(([field, , words], index) => show(cells[index], words(member[field]), member[field]));
  mark(cells[4], "class", member.missing ? "number" : "number soft");
  drawTroubles(body, member.troubles);
}

function drawTroubles(body, troubles) {
  const row = body.children[1] ?? null;
  if (troubles.length === 0) {
    row?.remove();
    return;
  }
  const cell = row
    ? row.firstChild
    : body.appendChild(make("tr", { class: "troubles" }, make("td", { colspan: COLUMNS.length + 2 }))).firstChild;
  keyed(
    cell,
    troubles,
    (trouble) => trouble,
    () => make("p", {}, sign("trouble"), make("span")),
    (line, trouble) => {
      say(line.lastChild, trouble);
    },
  );
}
