"""An extension of the reference pages: examples in docstrings are shown as the Python sessions that they are.

The tests run every `>>>` of a docstring. In Markdown such a line would be a quotation in a quotation, so each session
gets a fence before the docstring is read. This file knows nothing of pages.
"""

import re

import griffe

_SESSION = re.compile(r"^>>> .*?(?=\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL)


class Sessions(griffe.Extension):
    """Puts fences around the sessions of every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Look at one module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """Return a docstring whose sessions have fences; one that has them already keeps them."""
    if "```" in docstring:
        return docstring
    return _SESSION.sub(lambda found: f"```pycon\n{found.group()}\n```", docstring)
