"""The bandits of a fleet in a member's file: a table for each, `[bandits.NAME]`, with the options of `Member.bandit`.

Bandits are checked here too, so that a file is refused as a whole, before anything starts.
"""

from collections.abc import Mapping
from typing import Any

from cobandit.live.drive.declaring import Said, declared
from cobandit.scenario.keys import Table, located, wrong

KEYS = (
    "arms",
    "policy",
    "rewards",
    "quantum",
    "window",
    "half_life",
    "floors",
    "ceilings",
    "default_reward",
    "max_segments",
    "holdout",
    "guardrail",
)


def bandits_from(table: Table) -> dict[str, dict[str, Any]]:
    """Return the options in the file for each bandit, by name.

    Raises:
        LocalError: A table has unknown keys, or a bandit is invalid. The message names the key.
    """
    if "bandits" not in table:
        return {}
    content = table.get("bandits")
    if not isinstance(content, Mapping):
        raise wrong("bandits", "a table for each bandit, such as [bandits.homepage]", content)
    found: dict[str, dict[str, Any]] = {}
    for name, entry in content.items():
        path = f"bandits.{name}"
        if not isinstance(entry, Mapping):
            raise wrong(path, "a table with arms at least", entry)
        said = Table(entry, path, KEYS)
        options = {key: said.get(key) for key in KEYS if key in said}
        rewards = options.get("rewards")
        if isinstance(rewards, list):
            options["rewards"] = tuple(rewards)
        with located(path):
            declared(Said(name, options.pop("arms", ()), options.pop("policy", "thompson"), **options), "", "")  # type: ignore[arg-type]
        found[name] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return found
