"""Print the state diagram of loss tolerance, made from the table that the protocol itself follows.

    python tools/state_diagram.py

The diagram in docs/loss-tolerance.md is what this prints; a test compares the two.
"""

from cobandit.core.retransmit import PHASES, Event, Phase


def diagram() -> str:
    """Return the table as a Mermaid state diagram; what changes nothing is left out, but for a share."""
    lines = ["stateDiagram-v2", f"    [*] --> {Phase.OPEN.name}"]
    for event in Event:
        for phase in Phase:
            after = PHASES.get((phase, event), phase)
            if after is not phase or event is Event.SHARED:
                lines.append(f"    {phase.name} --> {after.name}: {event.value}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(diagram())
