// The top of the page: which group, from where it is seen, the kill switch, and the figures that matter most.

import { byId, say, show, showIf } from "./elements.js";
import { clipped, clock, count, decimal, plural, saving, share } from "./format.js";

export function headerSection() {
  return (frame) => {
    document.title = `${frame.group} · cobandit`;
    say(byId("group"), frame.group);
    showIf(byId("policy-fact"), frame.bandits.length === 0); // each bandit has its own
    show(byId("policy"), frame.policy || "unknown", frame.policy);
    drawWho(frame);
    showIf(byId("seen"), frame.seen_from !== null);
    show(byId("seen-from"), frame.seen_from ?? "", frame.seen_from);
    show(byId("watching"), clock(frame.watching_since), frame.watching_since);
    showIf(byId("kill"), frame.control_arm !== null);
    show(byId("control-arm"), frame.control_arm ?? "", frame.control_arm);
    showIf(byId("partial"), !frame.is_whole);
    say(
      byId("partial"),
      `So far this page shows only what ${frame.seen_from ?? "one member"} knows. The other members have not been asked yet.`,
    );
  };
}

const present = (frame) => frame.members.filter((member) => member.state === "here");

function drawWho(frame) {
  const left = frame.members.filter((member) => member.state === "left").length;
  const unasked = frame.members.filter((member) => member.state === "not asked").length; // leaves, of whom relays tell
  const known = frame.members.length + frame.members_left_out - left - unasked;
  const here = present(frame).length;
  show(byId("members-here"), count(here), here);
  show(byId("members-known"), known === 1 ? "1 member" : `${count(known)} members`, known);
  show(byId("members-unasked"), unasked ? `, and ${count(unasked)} not asked` : "", unasked);
}

export function figuresSection() {
  return (frame) => {
    show(byId("observations"), count(frame.observations), frame.observations);
    show(byId("decisions"), count(frame.decisions), frame.decisions);
    say(byId("decisions-note"), openDecisions(frame));
    drawCandidates(frame);
    drawSaving(frame.messages);
    drawMissing(frame);
    showIf(byId("regret-figure"), frame.regret !== null);
    show(byId("regret"), decimal(frame.regret, 1), frame.regret);
    const each =
      frame.regret === null || !frame.observations
        ? ""
        : `${decimal(frame.regret / frame.observations)} per observation`;
    say(byId("regret-note"), each);
  };
}

function openDecisions(frame) {
  const open = present(frame).reduce((sum, member) => sum + (member.open_decisions ?? 0), 0);
  return open ? `${count(open)} waiting for a reward` : "none waiting for a reward";
}

function drawCandidates(frame) {
  const arms = frame.arms.length + frame.arms_left_out;
  show(byId("candidates"), count(frame.candidates), frame.candidates);
  show(byId("arm-count"), `of ${plural(arms, "arm")}`, arms);
  const ruledOut = frame.arms.filter((arm) => arm.state === "ruled out").length;
  const frozen = frame.arms.filter((arm) => arm.state === "frozen").length;
  const off = frame.control_arm === null ? "" : "the others are switched off";
  const parts = [off, ruledOut && `${count(ruledOut)} ruled out`, frozen && `${count(frozen)} frozen`].filter(Boolean);
  say(byId("candidates-note"), parts.join(", ") || "none ruled out");
}

function drawSaving(messages) {
  const { part, short, sentence } = saving(messages);
  show(byId("saved"), short, part);
  say(byId("saved-note"), sentence);
  byId("saved-note").dataset.shares = messages.shares;
  byId("saved-note").dataset.immediate = messages.immediate;
}

function drawMissing(frame) {
  const known = present(frame).filter((member) => member.missing !== null);
  const least = known.reduce((worst, member) => (worst && worst.missing >= member.missing ? worst : member), null);
  show(byId("missing"), count(least?.missing ?? null), least?.missing ?? null);
  if (!least) say(byId("missing-note"), "no member has answered yet");
  else if (known.length === 1) say(byId("missing-note"), "only one member has answered");
  else if (least.missing === 0) say(byId("missing-note"), "all members know everything");
  else
    say(
      byId("missing-note"),
      `missing at ${clipped(least.name)}, which knows least (${share(least.missing / frame.observations)} of all)`,
    );
}
