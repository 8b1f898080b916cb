"""Two agents learn together: one decides often, one rarely, and they talk at the speed of the slower."""

from collections import deque

from cobandit import UCB, Agent

fast, slow = Agent("fast", UCB(["A", "B"])), Agent("slow", UCB(["A", "B"]))
fast.peer_joined("slow", slow.arms)
slow.peer_joined("fast", fast.arms)
by_name = {"fast": fast, "slow": slow}
messages = 0

for step in range(1000):
    agent = slow if step % 100 == 99 else fast
    arm = agent.select_arm()
    outbox = deque(agent.update(arm, reward=1.0 if arm == "A" else 0.3).outgoing)
    while outbox:
        message = outbox.popleft()
        messages += 1
        outbox.extend(by_name[message.receiver].receive(message).outgoing)

known = slow.policy.tally.observations
print(f"{messages} messages; the slow agent made 10 pulls and knows of {known}")
assert (messages, known) == (21, 1000)
