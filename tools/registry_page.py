"""A hook of the build: the README as a registry shows it, with links that lead to the repository.

In the repository the README links to files beside it. A registry shows it alone, where such links lead nowhere.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

BRANCH = "main"
RELATIVE = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!\w+:|#)(?P<path>[^)\s]+)\)")


class RegistryPage(MetadataHookInterface):
    """Fills in `readme`, which pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the text."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": page(text, metadata["urls"]["Source"])}


def page(readme: str, source: str) -> str:
    """Return the README with links into the repository at an address."""

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link["picture"] else "blob"
        return f"{link['picture']}[{link['text']}]({source}/{kind}/{BRANCH}/{link['path']})"

    return RELATIVE.sub(absolute, readme)
