"""A hook of the documentation site: Mermaid's state diagrams as tables.

Viewers of repositories draw a Mermaid block; on the site it would need a script from another host, and the site loads
nothing from elsewhere. A state diagram is a list of transitions, and as a table it can be read on a phone, too.
Any other kind of diagram is an error: draw it as SVG.
"""

import re

from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

_MERMAID = re.compile(r"^```mermaid\n(?P<diagram>.*?)^```\s*$", re.MULTILINE | re.DOTALL)
_TRANSITION = re.compile(r"\s*(?P<before>\w+) --> (?P<after>\w+): (?P<event>.*?)(?: / (?P<effect>.*))?")


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Replace every diagram of a page by its table."""
    return _MERMAID.sub(lambda found: table(found["diagram"], page.file.src_uri), markdown)


def table(diagram: str, page: str) -> str:
    """Return the transitions of a state diagram as a Markdown table.

    Raises:
        PluginError: The block is another kind of diagram.
    """
    kind, *lines = diagram.strip().splitlines()
    if kind != "stateDiagram-v2":
        raise PluginError(f"{page}: only state diagrams can be shown without a script, not {kind!r}. Draw it as SVG.")
    rows = [found for line in lines if (found := _TRANSITION.fullmatch(line))]
    started = [line.split("-->")[1].strip() for line in lines if line.strip().startswith("[*]")]
    if len(rows) + len(started) != len(lines):
        raise PluginError(f"{page}: a line of the state diagram is not understood.")
    cells = [f"| `{row['before']}` | {row['event']} | {row['effect'] or ''} | `{row['after']}` |" for row in rows]
    begins = "".join(f"A pair begins in `{phase}`.\n" for phase in started)
    return "\n".join([begins, "| in | when | it does | then |", "| --- | --- | --- | --- |", *cells, ""])
