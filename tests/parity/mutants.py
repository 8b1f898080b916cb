"""Kernels that are broken on purpose: what is right, what stands there instead, and the world that noticed it once.

What is right is found as a syntax tree, so neither layout nor comments matter. It must stand in its function exactly
once: a mutant that no longer applies is reported. This file knows nothing about how mutants are judged.
"""

import ast
from pathlib import Path
from typing import NamedTuple

import cobandit

KERNEL = Path(cobandit.__file__).parent / "simulator" / "kernel"


class Mutant(NamedTuple):
    """A kernel that is broken on purpose."""

    where: str
    """File and function."""
    right: str
    """An expression or a statement."""
    wrong: str
    """What stands there instead; nothing, if a statement is dropped."""
    world: int = 0
    """A world that noticed it: it is tried first, to save time."""

    def source(self) -> str:
        """The broken function, without its decorators. Fails if there is not exactly one place to break."""
        file, name = self.where.split(".")
        module = ast.parse((KERNEL / f"{file}.py").read_text(encoding="utf-8"))
        functions = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == name]
        breaking = _Breaking(self)
        for function in functions:
            function.decorator_list = []
            breaking.visit(function)
        assert breaking.places == 1, f"{self.where} has {breaking.places} times {self.right!r}: mend this list"
        return ast.unparse(ast.fix_missing_locations(functions[0]))


class _Breaking(ast.NodeTransformer):
    def __init__(self, mutant: Mutant) -> None:
        self.places = 0
        (self.right,) = ast.parse(mutant.right).body
        (self.wrong,) = ast.parse(mutant.wrong or "pass").body

    def visit(self, node: ast.AST) -> ast.AST:
        for right, wrong in ((self.right, self.wrong), (_value(self.right), _value(self.wrong))):
            if right is not None and wrong is not None and ast.dump(node) == ast.dump(right):
                self.places += 1
                return wrong
        return self.generic_visit(node)


def _value(statement: ast.stmt) -> ast.expr | None:
    return statement.value if isinstance(statement, ast.Expr) else None


MUTANTS = [
    Mutant(
        "talking.has_reached",
        "buffered(t, pair, agent, peer) >= threshold_at(t, agent, peer, pair.share_number)",
        "buffered(t, pair, agent, peer) > threshold_at(t, agent, peer, pair.share_number)",
    ),
    Mutant("talking.can_answer", "t.world.answers_wait", "True", world=2),
    Mutant("talking.can_answer", "buffered(t, t.pairs[agent, peer], agent, peer) >= 1", "True", world=2),
    Mutant("talking.threshold_at", "t.world.phased", "False", world=3),
    Mutant(
        "talking.threshold_at",
        "t.agents[agent].phase_key + t.agents[peer].phase_key",
        "t.agents[agent].phase_key",
        world=3,
    ),
    Mutant("talking.threshold_at", "min(phased(size, phase), t.world.cap)", "phased(size, phase)", world=3),
    Mutant("talking.is_told", "t.world.literal_notices", "False", world=174),
    Mutant("choosing.budget", "t.agents[position].own_pulls + 2", "t.agents[position].own_pulls + 1", world=20),
    Mutant("filling.fill_world", "world.answers_wait or thresholds[0] == 1", "True", world=2),
    Mutant("talking.take", "others | bit if step.demanded else others", "others"),
    Mutant("talking.number_share", "not is_answer or t.world.answers_advance", "True", world=102),
    Mutant("talking.take", "others | bit if step.demanded else others", "others | bit"),
    Mutant("plain.share_plainly", "fresh < enough", "fresh <= enough", world=4),
    Mutant("plain.share_plainly", "still_asking ^= bit", "", world=6),
    Mutant("talking.share", "pair.shared_version = version", "pair.shared_version = version - 1", world=2),
    Mutant("talking.settled", "not t.world.settles", "False"),
    Mutant("talking.merge", "t.agents[receiver].observed += version - base", ""),
    Mutant("talking.observe", "t.changed[agent, arm] = me.own_pulls", ""),
    Mutant("noticing.receive_notice", "own.candidate and t.agents[row].candidates > 1", "own.candidate", world=31),
    Mutant("noticing.eliminate", "spend == 0.0", "False", world=12),
    Mutant("noticing.receive_notice", "take(t, LEFT, receiver, sender, False)", "", world=77),
    Mutant("noticing.deliver_kept", "left = 0", "left = before", world=77),
    Mutant("highest.first_highest", "index[arm] == best", "index[arm] >= best - 0.01", world=5),
    Mutant("divergence.highest_kl_index", "other > bound", "False", world=18),
    Mutant("divergence.highest_kl_index", "spend <= 0.0", "False", world=37),
    Mutant("divergence.judged", "index[arm] > index[best]", "index[arm] >= index[best]", world=10),
    Mutant("divergence.entropy_of", "kept.known != value", "kept.known == 0", world=10),
    Mutant("posteriors.highest_draw", "draw > best_draw", "draw < best_draw", world=22),
    Mutant("posteriors.highest_draw", "near == 1", "near > 0", world=22),
    Mutant("posteriors.rough_draw", "(x == _UNSURE) | (y == _UNSURE)", "False", world=22),
    Mutant("posteriors.rough_draw", "x / (x + y)", "y / (x + y)", world=22),
    Mutant("posteriors.rough_gamma", "taking > z * z * z * z / (54.0 * d) + _SLACK", "True", world=105),
    Mutant("posteriors.minus_log", "1.0000000193555456", "1.5", world=29),
    Mutant("posteriors.cosine_of_turns", "-(0.9999999889445768 + y * p)", "0.9999999889445768 + y * p", world=22),
    Mutant(
        "choosing.least_observed",
        "(known[arm] >> 32 << ARM_BITS) + np.int64(arm)",
        "((known[arm] >> 32) + np.int64(arm) << ARM_BITS) + np.int64(arm)",
        world=1,
    ),
    Mutant("choosing.may_drop", "near > 0", "near > 1", world=1),
    Mutant(
        "choosing.budget", "max(1, t.agents[position].own_pulls)", "max(1, 1 + t.agents[position].own_pulls)", world=9
    ),
    Mutant("planning.next_of_on_off", "online_again - 1", "online_again", world=10),
    Mutant("planning.plan", "agent.drawn = 0", "", world=10),
    Mutant("engine.decide", "sent and me.clock == codes.HALVING", "me.clock == codes.HALVING", world=10),
    Mutant("engine.run", "not t.agents[agent].away", "True"),
    Mutant("engine.run", "deciding == slot == decision >> AGENT_BITS", "False"),
    Mutant("sizes.integer_size", "value >= 128", "value >= 60"),
    Mutant("lossy.is_before", "one.sequence < other.sequence", "one.sequence > other.sequence", world=26),
    Mutant("lossy.delays", "bond.sent += 1", "", world=10),
    Mutant(
        "lossy.is_cut",
        "t.cut_from[place] <= slot < t.cut_until[place]",
        "t.cut_from[place] <= slot <= t.cut_until[place]",
        world=18,
    ),
    Mutant("lossy.delays", "delay_of(t, key, SECOND_COPY)", "delay_of(t, key, FIRST_COPY)", world=23),
    Mutant("hearing.receive_share", "number > link.seen", "number >= link.seen"),
    Mutant("hearing.receive_share", "letter.version > link.held_version", "letter.version >= link.held_version + 2"),
    Mutant("saying.repeat", "link.can_be_timed = False", "", world=7),
    Mutant("saying.repeat", "link.wait = min(link.wait * t.world.growth, t.world.longest)", "", world=7),
    Mutant("saying.repeat", "t.pairs[agent, peer].share_number += 1", "", world=10),
    Mutant("saying.repeat_what_is_due", "now >= link.retry_at", "now > link.retry_at"),
    Mutant("hearing.hear", "link.phase = codes.TRUSTING", ""),
    Mutant("hearing.receive_share", "letter.attempt > 0", "True", world=10),
    Mutant(
        "hearing.receive_acknowledgement",
        "is_seen and link.phase == codes.WAITING and link.attempts == 1",
        "is_seen",
        world=7,
    ),
    Mutant("saying.write_share", "t.agents[agent].presence_at > link.acknowledged", "False"),
    Mutant("saying.write_move", "t.links[agent, peer].urgent = me.number", "", world=26),
    Mutant("hearing.hear", "link.acknowledged = max(link.acknowledged, letter.held)", ""),
    Mutant("hearing.take_repetition", "is_missing and not is_to_an_answer", "is_missing", world=39),
    Mutant("delivering.deliver_current", "letter.notice > link.peer_notice", "True", world=18),
    Mutant("hearing.hear", "not link.present and link.peer_notice % 2 == 0", "not link.present", world=39),
    Mutant("waiting.flush_at", "max(link.sent_at, t.agents[agent].last_observed)", "link.sent_at"),
    Mutant("waiting.shared", "max(1, pair.share_number - 1)", "pair.share_number", world=8),
    Mutant("hearing.receive_share", "if number <= link.seen:\n    return", "", world=51),
    Mutant("hearing.receive_share", "link.held = max(link.held, letter.claim_upto)", ""),
    Mutant("saying.after_decision", "t.links[agent, peer].urgent = t.agents[agent].number", "", world=9),
    Mutant("hearing.follow", "t.agents[agent].eliminated_at = t.agents[agent].number", "", world=9),
    Mutant(
        "hearing.receive_elimination",
        "t.world.tolerant and not is_heeded(t.links[agent, peer], letter)",
        "False",
        world=1,
    ),
    Mutant("hearing.receive_acknowledgement", "not is_heeded(link, letter)", "False", world=209),
    Mutant("filling.fill_world", "_shares_if_asked(sharing.rules)", "True", world=257),
    Mutant("filling.fill_world", "_shares_everything(sharing.rules)", "True", world=37),
    Mutant(
        "filling.fill_world",
        "simple and thresholds[0] == 1 and _shares_everything(sharing.rules)",
        "simple and _shares_everything(sharing.rules)",
        world=4,
    ),
    Mutant("filling.fill_world", "own == scenario.arms.names", "own == own_arms[0]", world=28),
    Mutant("hubs.merge_cell", "max(0, entry.value - before)", "entry.value - before", world=5),
    Mutant("hubs.hear_as_relay", "t.total_at[relay, arm] = me.number", "", world=5),
    Mutant("hubs.wants", "origin_of(t, cell) != peer", "True", world=86),
    Mutant("hubs.write_queue", "t.cells[hub, entry.cell] == entry.value", "True", world=5),
    Mutant("hubs.write_queue", "edge.queued = 0", "", world=5),
    Mutant("hubs.make_room", "edge.queued = end", "edge.queued = 0", world=5),
    Mutant("hubs.has_reached", "edge.share_number", "1", world=11),
    Mutant("hubs.answer", "edge.buffered >= 1", "True", world=73),
    Mutant("hubs.merge_cell", "entry.news = added >> 32", "entry.news = 1", world=14),
    Mutant("hubs.pass_on", "if peer == sender:\n    continue", "", world=14),
    Mutant("hubs.pass_on", "sender < t.world.agents", "True", world=5),
    Mutant("hubs.pass_on", "edge.common == t.agents[t.world.first_hub + hub].arm_count", "True", world=14),
    Mutant("hubs.finish_parcel", "letter.version > 0", "True", world=5),
    Mutant("leaves.is_settled", "me.arm_count == t.world.arms", "True", world=46),
    Mutant("leaves.share_up", "t.changed[leaf, arm] == pull + 1", "True", world=21),
    Mutant(
        "leaves.share_down",
        "t.totals[relay, arm] - t.cells[relay, cell_of(t, leaf, arm)]",
        "t.totals[relay, arm]",
        world=5,
    ),
    Mutant("leaves.share_down", "link.told = t.hubs[relay].number", "", world=5),
    Mutant("leaves.used", "max(most, t.heard[leaf, place, arm])", "most + t.heard[leaf, place, arm]", world=5),
    Mutant("leaves.rehome", "homes < t.world.homes", "True", world=5),
    Mutant("leaves.notify_relays", "t.agents[leaf].notices + (1 if kind == codes.LEAVE else 0)", "1000", world=68),
    Mutant("fleet.deliver_current", "turn_round(t, below)", "", world=5),
    Mutant("fleet.hear_notice", "own.candidate and t.agents[agent].candidates > 1", "own.candidate", world=149),
    Mutant("fleet.move", "t.agents[agent].away = leaves", "t.agents[agent].away = False", world=5),
    Mutant("sizes.list_beyond", "count < 16", "True", world=5),
    Mutant("sizes.note_cell", "group.share != share", "True", world=5),
    Mutant("sizes.note_cell", "group.cells == 16", "False", world=5),
    Mutant("engine.reward_of", "t.world.luck_by_arm", "False", world=9),
    Mutant("engine.reward_of", "t.seen[agent, own.arm].pulls", "me.own_pulls", world=9),
    Mutant("mail.speak", "agent.spoke_at != slot", "True"),
    Mutant("mail.speak", "agent.spoke_at = slot", "", world=2),
    Mutant("plain.share_plainly", "other.spoke_at = slot if answers else other.spoke_at", "", world=37),
    Mutant("plain.share_plainly", "speak(t, me, slot)", "", world=4),
    Mutant("talking.broadcast", "speak(t, me, slot)", "", world=133),
    Mutant("plain.share_plainly", "answers & np.int64(other.spoke_at != slot)", "answers", world=37),
    Mutant("plain.share_plainly", "back.shared_version += count", "", world=37),
    Mutant("plain.share_plainly", "known_of(two) & all_bits_above(1, count)", "0", world=37),
    Mutant("plain.share_plainly", "(asked ^ demands) << my_shift", "np.uint64(0)", world=6),
    Mutant("plain.share_plainly", "if settled(t, agent, agent):\n    return False", "", world=258),
    Mutant("plain.count_known", "known >> 32", "0", world=4),
    Mutant("choosing.log_of", "t.logs[place] = math.log(number)", "t.logs[place] = math.log(number + 1)", world=3),
    Mutant("slices.add_long_slice", "walk_slice(t, receiver, begin + base, begin + after)", "", world=6),
    Mutant("slices.add_long_slice", "version == t.agents[sender].own_pulls", "True", world=147),
    Mutant("slices.milestone_at", "np.int64(agent)", "0", world=6),
    Mutant("sizes.note_size", "ago <= age", "ago < age", world=4),
    Mutant("sizes.note_size", "t.recent_sizes[agent, latest] = 0", "", world=4),
    Mutant("sizes.entries_size", "version - base < RECENT", "True", world=6),
    Mutant("sizes.numbers_size", "size = count", "size = count - 1", world=2),
    Mutant("noticing.notify", "speak(t, t.agents[sender], slot)", "", world=31),
    Mutant("leaves.notify_relays", "speak(t, t.agents[leaf], slot)", "", world=46),
    Mutant("lossy.account", "speak(t, t.agents[sender], slot)", ""),
    Mutant("direct.share_directly", "me.last_observed = now", "", world=8),
    Mutant("direct.share_directly", "heard, me.number = me.number, claim", "heard = me.number", world=7),
    Mutant("direct.share_directly", "me.wake_at = now + t.world.tick", "", world=8),
    Mutant("direct.share_directly", "now >= me.next_retry", "False", world=7),
    Mutant("direct.share", "t.agents[receiver].number", "claim", world=7),
    Mutant("direct.say", "speak(t, me, slot)", "", world=7),
    Mutant("waiting.shared", "link.phase = codes.WAITING", "", world=7),
    Mutant("waiting.shared", "link.attempts = 0", "", world=7),
    Mutant("waiting.shared", "link.can_be_timed = True", "", world=7),
    Mutant("waiting.shared", "schedule(t, link, agent)", "", world=7),
    Mutant("direct.say", "t.agents[receiver].number += version - theirs.held_version", "", world=7),
    Mutant("direct.say", "theirs.held = claim", "", world=7),
    Mutant("direct.say", "t.agents[receiver].observed += version - theirs.held_version", "", world=7),
    Mutant("direct.say", "theirs.confirmed, theirs.acknowledged = mine.held_version, mine.held", "", world=7),
    Mutant("direct.is_answered", "answered(link, now)", "", world=7),
    Mutant("direct.is_answered", "link.seen = t.pairs[peer, agent].shares", "", world=7),
    Mutant("direct.is_answered", "link.phase = codes.OPEN", "", world=7),
    Mutant(
        "filling.fill_world",
        "world.tolerant and not world.has_faults and nobody_waits and world.same_order",
        "world.tolerant",
        world=0,
    ),
    Mutant("filling.fill_world", "is_direct and not world.settles and not traced", "is_direct and not traced", world=9),
    Mutant("waiting.has_unsaid", "t.agents[agent].own_pulls > link.confirmed", "True", world=0),
    Mutant("fleet.account", "speak(t, t.agents[sender], slot)", "", world=5),
    Mutant("engine.keep_counts", "shares + repeated", "shares", world=0),
    Mutant("engine.keep_counts", "row[3] = t.world.agent_rounds", "", world=6),
    Mutant("plugged.run", "t.agents[hub].away = kind == _LEAVE", "", world=301),
    Mutant("plugged.run", "if sent:\n    halve(t.agents[agent])", "halve(t.agents[agent])", world=300),
    Mutant("notes.send_share", "speak(t, t.agents[sender], slot)", "", world=300),
    Mutant("notes.send_share", "tell(t, slot, _DELIVERY, receiver, sender, edge.shares, 0, 0)", "", world=300),
    Mutant("notes.send_notice", "speak(t, t.agents[edge.sender], slot)", "", world=303),
    Mutant("notes.send_notice", "ENVELOPE + 1", "ENVELOPE", world=303),
    Mutant("notes.learn", "t.agents[agent].observed += news >> 32", "", world=300),
    Mutant("notes.list_size", "length < 16", "True", world=301),
    Mutant(
        "synchronising.is_time", "t.agents[agent].own_pulls - t.edges[agent].told >= t.world.period", "True", world=310
    ),
    Mutant("synchronising.is_worth_it", "product > 1.0 + t.world.factor", "product > t.world.factor", world=301),
    Mutant(
        "synchronising.is_worth_it",
        "(t.knowledge[agent, arm] >> 32) - fresh",
        "t.knowledge[agent, arm] >> 32",
        world=301,
    ),
    Mutant("synchronising.synchronise", "t.agents[hub].away", "False", world=301),
    Mutant("synchronising.synchronise", "t.changed[agent, arm] > up.told", "True", world=301),
    Mutant("synchronising.synchronise", "others > 0", "True", world=301),
    Mutant("synchronising.synchronise", "t.totals[0, arm] - t.told[agent, arm].value", "t.totals[0, arm]", world=301),
    Mutant("gossiping.gossip", "me.picks += 1", "", world=300),
    Mutant("gossiping.gossip", "t.world.pull_back", "False", world=300),
    Mutant("gossiping.push", "source == to", "False", world=300),
    Mutant("gossiping.push", "t.rows[agent, source, arm].teller == to", "False", world=300),
    Mutant("gossiping.push", "edge.told = t.hubs[agent].number", "", world=300),
    Mutant("gossiping.push", "value >> 32 > known >> 32", "True", world=300),
    Mutant("gossiping.push", "listed > 0", "True", world=300),
    Mutant(
        "adapting.tell_who_asked",
        "t.world.factor * radius(t, agent, arm) <= told.radius",
        "radius(t, agent, arm) <= told.radius",
        world=303,
    ),
    Mutant("adapting.tell_who_asked", "t.edges[place].demanded", "True", world=304),
    Mutant("adapting.tell_who_asked", "held, me.tokens = me.tokens, 0", "held = me.tokens", world=303),
    Mutant("adapting.take_back", "t.world.release", "True", world=336),
    Mutant("adapting.take_back", "t.hubs[edge.sender].number > edge.told", "True", world=303),
    Mutant("adapting.tell_due", "t.told[agent, arm].due_at <= since", "False", world=304),
    Mutant("adapting.tell_due", "t.world.others_count", "True", world=336),
    Mutant("adapting.tell_all", "is_open(t, slot, agent, arm)", "True", world=359),
    Mutant(
        "adapting.tell_all",
        "told.buffered < t.world.factor * told.due_at",
        "told.buffered <= t.world.factor * told.due_at",
        world=302,
    ),
]
