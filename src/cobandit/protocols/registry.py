"""Which protocols come as plug-ins. To add one, add a file and a name here; for one of your own, call `register`."""

from importlib import import_module
from typing import Any

from cobandit.protocols.aac import AccuracyAdaptive
from cobandit.protocols.comex import ComEx
from cobandit.protocols.coop_ucb2 import CoopUcb2
from cobandit.protocols.dducb import Dducb
from cobandit.protocols.dpe2 import LeaderFollower
from cobandit.protocols.event_hub import EventHub
from cobandit.protocols.gosine import Gosine
from cobandit.protocols.gossip import Gossip
from cobandit.protocols.lf_relay import LeaderRelay
from cobandit.protocols.periodic_hub import PeriodicHub
from cobandit.protocols.plug_in import about
from cobandit.protocols.se_aac_odc import EliminateAdaptively
from cobandit.protocols.tcom import Tcom
from cobandit.values.errors import LocalError

PLUG_INS: dict[str, type[Any]] = {}
"""By their names in scenario files."""

BY_TABLE = ("odc", "ibc", "none")
"""The names of protocols that are tables (`cobandit.core.protocols`)."""


def register(build: type[Any]) -> None:
    """Register a protocol, so that scenario files in this process can name it and reports can describe it.

    A class that is defined again, as in a notebook, replaces its earlier definition.

    Raises:
        LocalError: The protocol has no word, or its word belongs to another protocol.
    """
    word = about(build).word
    if not word:
        raise LocalError(f"{build.__qualname__} needs about = About(word=...): files name a protocol by its word")
    known = PLUG_INS.get(word, build)
    is_new = (known.__module__, known.__qualname__) != (build.__module__, build.__qualname__)
    if word in BY_TABLE or is_new:
        raise LocalError(f"{build.__qualname__} has the word {word!r}, which another protocol has already")
    PLUG_INS[word] = build


def class_named(text: str) -> type[Any]:
    """Return the class named by `module:Class`.

    Raises:
        LocalError: There is no such module or class.
    """
    module, colon, name = text.partition(":")
    if not (module and colon and name):
        raise LocalError(f"name your own protocol as module:Class, such as my_protocols:Mine, not {text!r}")
    try:
        found: type[Any] = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise LocalError(f"cannot find {text}: {error}; the module must be on the path of Python") from error
    return found


for _protocol in (
    PeriodicHub,
    EventHub,
    Gossip,
    AccuracyAdaptive,
    EliminateAdaptively,
    Tcom,
    ComEx,
    CoopUcb2,
    Dducb,
    Gosine,
    LeaderFollower,
    LeaderRelay,
):
    register(_protocol)
