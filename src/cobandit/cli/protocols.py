"""The command `cobandit protocols`: lists the protocols and the parameters that a scenario file can set for each."""

import argparse
import inspect
import json
from typing import Any

from cobandit.cli.terminal import beside
from cobandit.core.protocols.registry import PROTOCOLS
from cobandit.protocols.plug_in import about, parameters_of
from cobandit.protocols.registry import PLUG_INS

BY_TABLE = {
    "odc": "Chen et al. 2023 (AISTATS), Algorithm 1; with network.topology also over relays and on graphs",
    "ibc": "Yang et al. 2021, 2022: CO-UCB with UCB, CO-AAE with AAE",
    "none": "",
}
"""The sources of the protocols that are tables. Their parameters are `threshold` and the keys beside it."""


def add_protocols(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    parser.add_argument("--json", action="store_true", help="print them as JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    found = [*(_table(word) for word in PROTOCOLS), *(_plug_in(word) for word in PLUG_INS)]
    if options.json:
        print(json.dumps(found, indent=2))
        return 0
    print("A scenario file chooses one with `sharing.protocol`; its parameters go beside it.\n")
    for one in found:
        given = ", ".join(f"{name} = {json.dumps(value)}" for name, value in one["parameters"].items())
        title = f"{one['title']}{'' if one['compiled'] else ' (readable engine)'}"
        survives = f"survives {', '.join(one['survives'])}" if one["survives"] else ""
        for first, line in ((one["word"], title), ("", one["paper"]), ("", given), ("", survives)):
            if line:
                print(beside(f"{first:14}", line))
    return 0


def _table(word: str) -> dict[str, Any]:
    protocol = PROTOCOLS[word]
    threshold = {"threshold": {"constant": 1}} if protocol.table.talks else {}
    return {
        "word": word,
        "title": protocol.title,
        "paper": BY_TABLE.get(word, ""),
        "parameters": threshold,
        "compiled": True,
        "observations": True,
        "hubs": 0,
        "survives": ["delay", "duplication", "loss", "reordering"] if protocol.tolerant else ["delay"],
    }


def _plug_in(word: str) -> dict[str, Any]:
    said = about(PLUG_INS[word])
    defaults = {name: one.default for name, one in parameters_of(PLUG_INS[word]).items()}
    return {
        "word": word,
        "title": said.title,
        "paper": said.paper,
        "parameters": {
            name: None if default is inspect.Parameter.empty else default for name, default in defaults.items()
        },
        "compiled": said.compiled,
        "observations": said.observations,
        "hubs": said.hubs,
        "survives": sorted(said.survives),
    }
