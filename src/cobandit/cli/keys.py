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

    group = kinds.add_parser("group", help="make a group: the authority that admits agents")
    group.add_argument("name", help="the group's name")
    group.add_argument("--out", type=Path, help="the folder for its files (default: keys-NAME)")
    group.set_defaults(command=_group)

    agent = kinds.add_parser("agent", help="make the one file that an agent needs to be in a group")
    agent.add_argument("name", help="the agent's name")
    _add_folder(agent)
    agent.add_argument("--days", type=int, default=DAYS, help="how long it is valid (default: %(default)s)")
    agent.add_argument("--out", type=Path, help="the file to write (default: in the folder, called as the agent)")
    kind = agent.add_mutually_exclusive_group()
    kind.add_argument("--relay", action="store_true", help="it may pass on what other agents observed")
    kind.add_argument("--prefix", action="store_true", help="one file for all agents whose names begin so and go on")
    kind.add_argument("--plain", action="store_true", help="neither, though the last file for this name was of a kind")
    agent.set_defaults(command=_agent)

    revoke = kinds.add_parser("revoke", help="revoke all files that were made for an agent until now")
    revoke.add_argument("name", help="the agent's name")
    _add_folder(revoke)
    revoke.add_argument("--prefix", action="store_true", help="and for every name that begins so")
    revoke.add_argument("--anyway", action="store_true", help="though no file was made for it with this folder")
    revoke.set_defaults(command=_revoke)

    rotate = kinds.add_parser("rotate", help="replace the group's authority while its agents run")
    _add_folder(rotate)
    rotate.add_argument("--finish", action="store_true", help="every agent has a new file: trust no old one any more")
    rotate.set_defaults(command=_rotate)


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, required=True, help="the folder that `cobandit keys group` made")


def _group(options: argparse.Namespace) -> int:
    from cobandit.live.auth.keys import make_group  # noqa: PLC0415  # needs the extra `keys`, as the next commands
    from cobandit.live.auth.trust import TRUST  # noqa: PLC0415

    folder = options.out if options.out is not None else Path(f"keys-{options.name.replace('/', '_')}")
    path = make_group(options.name, folder)
    print(f"The group {options.name!r} is made. Its secret is {path}: its owner can admit any member.")
    print("Keep it where no agent runs. Then, for each agent:")
    print(f"    cobandit keys agent NAME --folder {shlex.quote(str(folder))}")
    print(f"{folder / TRUST} is public. Give it to every agent as `trust` to be able to revoke files.")
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
                f"The last file for {options.name!r} was made with {kind}, and so is this one; --plain makes another."
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
        print(f"The secret of all names that begin with {options.name!r} is {path}, for {options.days} days.")
        print("An agent that has it can pose as any of them. Give no other agent a name that begins so.")
        print("Move it to the machines of those agents, readable for them alone, and name it where they start.")
        return 0
    print(f"The secret of {options.name!r} is {path}: its owner is {options.name!r}, for {options.days} days.")
    if options.relay:
        print("It may pass on what other agents observed: whoever has it can make up observations of all of them.")
    print("Move it to the machine of that agent, readable for that agent alone, and name it where the agent starts.")
    return 0


def _revoke(options: argparse.Namespace) -> int:
    from cobandit.live.auth.group_folder import GroupFolder  # noqa: PLC0415
    from cobandit.live.auth.issued import IssuedFiles  # noqa: PLC0415

    folder, issued = GroupFolder(options.folder), IssuedFiles(options.folder)
    whose = f"names that begin with {options.name!r}" if options.prefix else repr(options.name)
    if not options.anyway and not issued.concerns(options.name, is_prefix=options.prefix):
        like = get_close_matches(options.name, {made.name for made in issued.all()})
        meant = f" Did you mean {' or '.join(map(repr, like))}?" if like else ""
        raise LocalError(
            f"nothing is revoked: {issued.path} has no file for {whose}.{meant} If one was made elsewhere, add --anyway"
        )
    path = folder.revoke(options.name, is_prefix=options.prefix)
    print(f"The files that were made for {whose} until now are revoked; a file that you make from now on is good.")
    _print_trust(path)
    return 0


def _rotate(options: argparse.Namespace) -> int:
    from cobandit.live.auth.group_folder import GroupFolder  # noqa: PLC0415
    from cobandit.live.auth.keys import rotate  # noqa: PLC0415

    if options.finish:
        path = GroupFolder(options.folder).finish()
        print("Only the new authority counts from now on. An agent without a new file is refused.")
        _print_trust(path)
        return 0
    path = rotate(options.folder)
    print("The group has a new authority. Both count until you finish, and new files are made with the new one.")
    _print_trust(path)
    print("When every agent has it, not before: a new file for each agent, in the place of its old one:")
    print(f"    cobandit keys agent NAME --folder {shlex.quote(str(options.folder))} --out FILE")
    print("A name keeps the kind of its last file, --relay or --prefix. Say it for files that another folder made.")
    print("When every agent shows its new certificate:")
    print(f"    cobandit keys rotate --folder {shlex.quote(str(options.folder))} --finish")
    return 0


def _print_trust(path: Path) -> None:
    print(f"Copy {path} to every agent, in the place of its `trust`. They take it over within seconds.")
