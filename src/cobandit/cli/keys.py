"""The command `cobandit keys`: arguments and printing; `cobandit.live.auth.keys` makes the files."""

import argparse
from pathlib import Path

DAYS = 365


def add_keys(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    kinds = parser.add_subparsers(required=True, metavar="what")

    group = kinds.add_parser("group", help="make a group: the authority that admits agents")
    group.add_argument("name", help="the group's name")
    group.add_argument("--out", type=Path, help="the folder for its file (default: keys-NAME)")
    group.set_defaults(command=_group)

    agent = kinds.add_parser("agent", help="make the one file that an agent needs to be in a group")
    agent.add_argument("name", help="the agent's name")
    agent.add_argument("--folder", type=Path, required=True, help="the folder that `cobandit keys group` made")
    agent.add_argument("--days", type=int, default=DAYS, help="how long it is valid (default: %(default)s)")
    agent.add_argument("--out", type=Path, help="the file to write (default: in the folder, called as the agent)")
    agent.add_argument("--relay", action="store_true", help="it may pass on what other agents observed")
    agent.set_defaults(command=_agent)


def _group(options: argparse.Namespace) -> int:
    from cobandit.live.auth.keys import make_group  # noqa: PLC0415  # needs the extra `keys`, as the next command

    folder = options.out if options.out is not None else Path(f"keys-{options.name.replace('/', '_')}")
    path = make_group(options.name, folder)
    print(f"The group {options.name!r} is made. Its secret is {path}: its owner can admit any member.")
    print("Keep it where no agent runs. Then, for each agent:")
    print(f"    cobandit keys agent NAME --folder {folder}")
    return 0


def _agent(options: argparse.Namespace) -> int:
    from cobandit.live.auth.keys import issue  # noqa: PLC0415

    path = issue(options.name, options.folder, days=options.days, out=options.out, may_relay=options.relay)
    print(f"The secret of {options.name!r} is {path}: its owner is {options.name!r}, for {options.days} days.")
    if options.relay:
        print("It may pass on what other agents observed: whoever has it can make up observations of all of them.")
    print("Move it to the machine of that agent, readable for that agent alone, and name it where the agent starts.")
    return 0
