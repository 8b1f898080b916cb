"""The command `cobandit keys`: arguments and printing; `cobandit.live.auth` makes the files."""

import argparse
import shlex
from difflib import get_close_matches
from pathlib import Path

from cobandit.values.errors import LocalError

DAYS = 365


def add_keys(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    kinds = parser.add_subparsers(required=True, metavar="what")

    group = kinds.add_parser("group", help="create a group: the authority that admits agents")
    group.add_argument("name", help="the group's name")
    group.add_argument("--out", type=Path, help="folder for its files (default: keys-NAME)")
    group.set_defaults(command=_group)

    agent = kinds.add_parser("agent", help="create the file an agent needs to join a group")
    agent.add_argument("name", help="the agent's name")
    _add_folder(agent)
    agent.add_argument("--days", type=int, default=DAYS, help="days until it expires (default: %(default)s)")
    agent.add_argument("--out", type=Path, help="file to write (default: in the folder, named after the agent)")
    kind = agent.add_mutually_exclusive_group()
    kind.add_argument("--relay", action="store_true", help="let the agent pass on what other agents observed")
    kind.add_argument("--prefix", action="store_true", help="make one file for all agents whose names start with NAME")
    kind.add_argument("--plain", action="store_true", help="make a plain file, whatever the last one for this name was")
    agent.set_defaults(command=_agent)

    revoke = kinds.add_parser("revoke", help="revoke all files made for an agent so far")
    revoke.add_argument("name", help="the agent's name")
    _add_folder(revoke)
    revoke.add_argument("--prefix", action="store_true", help="also for every name that starts with NAME")
    revoke.add_argument("--anyway", action="store_true", help="even if this folder made no file for it")
    revoke.set_defaults(command=_revoke)

    rotate = kinds.add_parser("rotate", help="replace the group's authority while its agents run")
    _add_folder(rotate)
    rotate.add_argument("--finish", action="store_true", help="stop trusting old files: every agent has a new one")
    rotate.set_defaults(command=_rotate)


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, required=True, help="folder made by `cobandit keys group`")


def _group(options: argparse.Namespace) -> int:
    from cobandit.live.auth.keys import make_group  # noqa: PLC0415  # needs the extra `keys`, as the next commands
    from cobandit.live.auth.trust import TRUST  # noqa: PLC0415

    folder = options.out if options.out is not None else Path(f"keys-{options.name.replace('/', '_')}")
    path = make_group(options.name, folder)
    print(f"Created the group {options.name!r}. Its secret is {path}: anyone who has it can admit any member.")
    print("Keep it on a machine where no agent runs. Then, for each agent, run:")
    print(f"    cobandit keys agent NAME --folder {shlex.quote(str(folder))}")
    print(f"{folder / TRUST} is public. Give it to every agent as `trust`, so that you can revoke files.")
    return 0


def _agent(options: argparse.Namespace) -> int:
    from cobandit.live.auth.issued import IssuedFiles  # noqa: PLC0415
    from cobandit.live.auth.keys import issue  # noqa: PLC0415

    if not (options.relay or options.prefix or options.plain):
        last = IssuedFiles(options.folder).last(options.name)
        if last is not None and (last.may_relay or last.is_prefix):
            options.relay, options.prefix = last.may_relay, last.is_prefix
            kind = "--relay" if last.may_relay else "--prefix"
            print(
                f"The last file for {options.name!r} was made with {kind}, and so is this one. "
                "Use --plain for a plain one."
            )
    path = issue(
        options.name,
        options.folder,
        days=options.days,
        out=options.out,
        may_relay=options.relay,
        is_prefix=options.prefix,
    )
    if options.prefix:
        print(f"The secret of all names that start with {options.name!r} is {path}, for {options.days} days.")
        print("An agent that has it can pose as any of them. Give no other agent such a name.")
        print("Move it to those agents' machines, readable only by them, and point their configuration to it.")
        return 0
    print(f"The secret of {options.name!r} is {path}. Its holder is {options.name!r}, for {options.days} days.")
    if options.relay:
        print("It may pass on what other agents observed, so its holder can make up observations for all of them.")
    print("Move it to that agent's machine, readable only by the agent, and point its configuration to it.")
    return 0


def _revoke(options: argparse.Namespace) -> int:
    from cobandit.live.auth.group_folder import GroupFolder  # noqa: PLC0415
    from cobandit.live.auth.issued import IssuedFiles  # noqa: PLC0415

    folder, issued = GroupFolder(options.folder), IssuedFiles(options.folder)
    whose = f"names that start with {options.name!r}" if options.prefix else repr(options.name)
    if not options.anyway and not issued.concerns(options.name, is_prefix=options.prefix):
        like = get_close_matches(options.name, {made.name for made in issued.all()})
        meant = f" Did you mean {' or '.join(map(repr, like))}?" if like else ""
        raise LocalError(
            f"nothing revoked: {issued.path} lists no file for {whose}.{meant} If one was made elsewhere, add --anyway"
        )
    path = folder.revoke(options.name, is_prefix=options.prefix)
    print(f"Revoked all files made for {whose} so far. Files that you make from now on are valid.")
    _print_trust(path)
    return 0


def _rotate(options: argparse.Namespace) -> int:
    from cobandit.live.auth.group_folder import GroupFolder  # noqa: PLC0415
    from cobandit.live.auth.keys import rotate  # noqa: PLC0415

    if options.finish:
        path = GroupFolder(options.folder).finish()
        print("From now on, only the new authority counts. Agents without a new file are refused.")
        _print_trust(path)
        return 0
    path = rotate(options.folder)
    print("The group has a new authority. Both count until you finish, and new files use the new one.")
    _print_trust(path)
    print("Once every agent has it, and not before, replace each agent's file with a new one:")
    print(f"    cobandit keys agent NAME --folder {shlex.quote(str(options.folder))} --out FILE")
    print("A name keeps --relay or --prefix from its last file. Repeat the option for files made in another folder.")
    print("Once every agent uses its new certificate:")
    print(f"    cobandit keys rotate --folder {shlex.quote(str(options.folder))} --finish")
    return 0


def _print_trust(path: Path) -> None:
    print(f"Copy {path} to every agent, over its `trust` file. Agents pick it up within seconds.")
