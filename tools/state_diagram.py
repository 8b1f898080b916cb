"""Print the state diagram of loss tolerance, made from the table that the protocol itself follows.

    python tools/state_diagram.py

The diagram in docs/loss-tolerance.md is what this prints; a test compares the two.
"""

from cobandit.core.delivery import RETRIES, Effect, Event, Phase


def diagram() -> str:
    """Return the table as a Mermaid state diagram; what changes nothing and does nothing is left out."""
    lines = ["stateDiagram-v2", f"    [*] --> {Phase.OPEN.name}"]
    for event in Event:
        turns = {phase: RETRIES[phase, event] for phase in Phase}
        for phase, turn in turns.items():
            if turn.phase is phase and turn.effect is Effect.NOTHING and event is not Event.SHARED:
                continue
            effect = "" if turn.effect is Effect.NOTHING else f" / {turn.effect.value}"
            lines.append(f"    {phase.name} --> {turn.phase.name}: {event.value}{effect}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(diagram())
