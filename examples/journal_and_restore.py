"""A service that survives a restart: messages and records as bytes, a journal, a crash, and back.

The contract of every input: persist the records, then send the messages.
"""

from cobandit import UCB, Agent, Outcome, on_demand
from cobandit.codec import decode, decode_record, decode_snapshot, encode, encode_record, encode_snapshot
from cobandit.core import Message

ARMS = ["A", "B", "C"]
journal: list[bytes] = []  # a file or a database in real life
network: list[bytes] = []


def done(outcome: Outcome) -> None:
    """Persist, then send."""
    journal.extend(encode_record(record) for record in outcome.records)
    network.extend(encode(message) for message in outcome.outgoing)


def arrived() -> list[Message]:
    """Take what is on the network, in sending order."""
    messages = [decode(frame) for frame in network]
    network.clear()
    return messages


web, batch = Agent("web", UCB(ARMS)), Agent("batch", UCB(ARMS))
done(web.peer_joined("batch", ARMS))
batch.peer_joined("web", ARMS)
snapshot = encode_snapshot(web.snapshot())
journal.clear()

for step in range(50):
    done(web.update(web.select_arm(), reward=0.5, now=float(step)))
    for message in arrived():
        batch.receive(message, now=float(step))
    if step % 10 == 9:
        for message in batch.update(batch.select_arm(), reward=0.4).outgoing:
            done(web.receive(message))
            for answer in arrived():
                batch.receive(answer)

# The process dies. What it knew is in the snapshot and the journal.
records = [decode_record(line) for line in journal]
revived = Agent.restore(decode_snapshot(snapshot), records, policy=UCB(ARMS), sharing=on_demand())

assert revived.snapshot() == web.snapshot()
assert revived.select_arm() == web.select_arm()
print(f"{len(records)} records in the journal, {revived.policy.tally.observations} observations known, none lost")
