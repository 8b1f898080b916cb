"""A hook of the documentation site: its colours and fonts are those of the page and the reports.

The tokens are read from `src/cobandit/look/look.css` and become a style sheet of their own, with the switch between
light and dark as the site's theme has it. `docs/stylesheets/site.css` says what uses which token.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

LOOK = Path(__file__).parent.parent / "src" / "cobandit" / "look" / "look.css"
SHEET = "stylesheets/tokens.css"

_LIGHT = re.compile(r"^:root \{(.*?)^\}", re.MULTILINE | re.DOTALL)
_DARK = re.compile(r'^:root\[data-theme="dark"\] \{(.*?)^\}', re.MULTILINE | re.DOTALL)
_TOKEN = re.compile(r"^\s*(--[\w-]+:[^;]+;)", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the style sheet with the tokens."""
    files.append(File.generated(config, SHEET, content=tokens(LOOK.read_text(encoding="utf-8"))))
    return files


def tokens(look: str) -> str:
    """Return the tokens of the look, light and dark, for the site's theme.

    Raises:
        PluginError: The look has no tokens where they are looked for.
    """
    rules = []
    for selector, block in (("[data-md-color-scheme]", _LIGHT), ('[data-md-color-scheme="slate"]', _DARK)):
        found = block.search(look)
        named = _TOKEN.findall(found[1]) if found else []
        if not any(token.startswith("--accent:") for token in named):
            raise PluginError(f"{LOOK.name} has no accent in {block.pattern!r}: mend tools/site_look.py")
        rules.append("\n".join([f"{selector} {{", *(f"  {token}" for token in named), "}\n"]))
    return "\n".join(rules)
