"""Three extensions of the reference pages, for what the source says and a reader of its text alone does not see.

Examples in docstrings are shown as the Python sessions that they are. A function that takes what another one takes is
shown with that one's parameters. A value is shown with all its fields. This file knows nothing of pages.
"""

import re

import griffe

_SESSION = re.compile(r"^>>> .*?(?=\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL)
_VALUES = {"NamedTuple", "msgspec.Struct"}
_TAKES_WHAT = re.compile(r"_takes_what\((\w+)\)")


class Sessions(griffe.Extension):
    """Puts fences around the sessions of every docstring; in Markdown they would be quotations in quotations."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Look at one module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


class Fields(griffe.Extension):
    """Gives named tuples and structs the constructor that they have, so that its signature shows every field."""

    def on_class_members(self, *, cls: griffe.Class, **_: object) -> None:
        """Look at one class."""
        if "__init__" in cls.members or not any(str(base) in _VALUES for base in cls.bases):
            return
        fields = [one for one in cls.attributes.values() if one.annotation and "ClassVar" not in str(one.annotation)]
        constructor = griffe.Function(
            "__init__",
            parameters=griffe.Parameters(
                griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword),
                *(
                    griffe.Parameter(
                        one.name,
                        annotation=one.annotation,
                        kind=griffe.ParameterKind.positional_or_keyword,
                        default=one.value,
                    )
                    for one in fields
                ),
            ),
            returns="None",
        )
        cls.set_member("__init__", constructor)


class TakesWhat(griffe.Extension):
    """Gives a function that is decorated with `_takes_what(other)` the parameters of the other one."""

    def on_module_members(self, *, mod: griffe.Module, **_: object) -> None:
        """Look at all functions of a module."""
        for function in mod.functions.values():
            for decorator in function.decorators:
                found = _TAKES_WHAT.fullmatch(str(decorator.value))
                if found and not function.is_alias:
                    function.parameters = mod.functions[found[1]].parameters


def fenced(docstring: str) -> str:
    """Return a docstring whose sessions have fences; one that has them already keeps them."""
    if "```" in docstring:
        return docstring
    return _SESSION.sub(lambda found: f"```pycon\n{found.group()}\n```", docstring)
