"""Print the state diagram of loss tolerance, made from the table that the protocol itself follows.

    python tools/state_diagram.py

The diagram in docs/loss-tolerance.md is what this prints; a test compares the two.
"""

from cobandit.core.retransmit import RETRIES, Effect, Event, Phase


def diagram() -> str:
    """Return the table as a Mermaid state diagram; what changes nothing and does nothing is left out."""
    lines = ["stateDiagram-v2", f"    [*] --> {Phase.OPEN.name}"]
    for event in Event:
        steps = {phase: RETRIES[phase, event] for phase in Phase}
        for phase, step in steps.items():
            if step.phase is phase and step.effect is Effect.NOTHING and event is not Event.SHARED:
                continue
            effect = "" if step.effect is Effect.NOTHING else f" / {step.effect.value}"
            lines.append(f"    {phase.name} --> {step.phase.name}: {event.value}{effect}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(diagram())
