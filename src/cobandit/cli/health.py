"""The command `cobandit health`: asks a member on this machine over HTTP; the exit code is the answer.

For containers and supervisors, which have no other program to ask with. The member's file says where to ask: a sidecar
is asked whether it is ready, any other member for its metrics.
"""

import argparse
import http.client
import json
import sys
from contextlib import suppress

from cobandit.cli.running import add_config, read_config
from cobandit.values.errors import LocalError

WITHIN_S = 5.0
"""Seconds to wait for an answer, by default."""

_EVERYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # where to reach who listens there


def add_health(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of this command."""
    add_config(parser, "docs/operating.md")
    parser.add_argument("--within", type=float, default=WITHIN_S, help="seconds to wait (default: %(default)g)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Ask, print the answer, and return 0 if the member is healthy."""
    from cobandit.live.transports.addresses import parse_address  # noqa: PLC0415  # loads only what is needed

    config = read_config(options)
    if config.serves:
        where, path = config.serving.listen, "/readyz"
    elif config.metrics is not None:
        where, path = config.metrics, "/metrics"
    else:
        raise LocalError(f"{options.config} sets neither listen nor metrics: health checks need one of them")
    address = parse_address(where)
    answered, said = _ask(_EVERYWHERE.get(address.host, address.host), address.port, path, options.within)
    name = config.member["name"] or "the member"
    if not answered:
        print(f"cobandit: {name} is not healthy: {said}", file=sys.stderr)
        return 1
    print(f"{name} is healthy: {said}")
    return 0


def _ask(host: str, port: int, path: str, within: float) -> tuple[bool, str]:
    """Return whether the answer is good, and the answer in words."""
    connection = http.client.HTTPConnection(host, port, timeout=within)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        return False, f"http://{host}:{port}{path} does not answer ({error})"
    finally:
        connection.close()
    said = f"{path} returned {answer.status}"
    with suppress(ValueError, AttributeError):
        remark = json.loads(text).get("detail") or json.loads(text).get("remark")
        said += f", {remark}" if remark else ""
    return answer.status == http.client.OK, said
