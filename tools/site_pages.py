"""A hook of the documentation site: what stands outside `docs` and how pages point to it.

It owns three things. Documents that stand elsewhere, such as those at the root, become pages without a copy of them. A
link from a page to a file of the repository that is no page becomes the file's path, because nobody knows where a
reader has the repository. A folder in the navigation stands for all of its pages. What a link cannot mean is left as it
is, so that MkDocs warns.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent

PAGES_FROM_ELSEWHERE = {
    "README.md": "project/readme.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    "CODE_OF_CONDUCT.md": "project/code_of_conduct.md",
    "clients/javascript/README.md": "guides/javascript-client.md",
}
"""Documents of the repository that are not under `docs`, and the pages that they become."""

_SOURCES = {page: document for document, page in PAGES_FROM_ELSEWHERE.items()}
_INDEXES = ("README.md", "index.md")
_FENCED = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)\s*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!\\)(?P<image>!?)\[(?P<text>[^\[\]]+)\]\((?P<target>[^()\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents that stand elsewhere, and put the pages of folders into the navigation."""
    for document, page in PAGES_FROM_ELSEWHERE.items():
        text = (ROOT / document).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    config.nav = _without_folders(config.nav, files)
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: object) -> str:
    """Make the links of a page right for the site; they are written for the repository."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]  # it has no neighbours
    pages = {file.src_uri for file in files}
    return rewritten(markdown, page.file.src_uri, pages)


def rewritten(markdown: str, page: str, pages: set[str]) -> str:
    """Return the text of a page with links that are right on the site.

    Args:
        markdown: The text, with links that are right in the repository.
        page: The page's place on the site, such as `guides/flask.md`.
        pages: The places of everything that is on the site.
    """
    parts, end = [], 0
    for block in _FENCED.finditer(markdown):
        parts += [_linked(markdown[end : block.start()], page, pages), block.group()]
        end = block.end()
    return "".join([*parts, _linked(markdown[end:], page, pages)])


def _linked(prose: str, page: str, pages: set[str]) -> str:
    source = _SOURCES.get(page, f"docs/{page}")

    def link(found: re.Match[str]) -> str:
        text, target = found["text"], found["target"]
        if _ELSEWHERE.match(target):
            return found.group()
        named, mark, fragment = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), named))
        place = _place(path, pages)
        if place is not None:
            return (
                f"{found['image']}[{text}]({posixpath.relpath(place, posixpath.dirname(page) or '.')}{mark}{fragment})"
            )
        if (ROOT / path).exists() and not found["image"]:
            is_path = text.startswith("`") and text.strip("`") in path
            return f"`{path}`" if is_path else f"{text} (`{path}`)"
        return found.group()

    return _LINK.sub(link, prose)


def _place(path: str, pages: set[str]) -> str | None:
    """Return where on the site a path of the repository is."""
    for document in (path, *(f"{path}/{index}" for index in _INDEXES)):
        if document in PAGES_FROM_ELSEWHERE:
            return PAGES_FROM_ELSEWHERE[document]
    inside = posixpath.relpath(path, "docs")
    candidates = (inside, *(posixpath.normpath(f"{inside}/{index}") for index in _INDEXES))
    return next((place for place in candidates if place in pages), None)


def _without_folders(nav: Any, files: Files) -> Any:  # noqa: ANN401  # lists, mappings and strings, as YAML has them
    """Return a navigation in which every folder is the list of its pages, its index first."""
    if isinstance(nav, list):
        return [_without_folders(item, files) for item in nav]
    if isinstance(nav, dict):
        return {title: _without_folders(item, files) for title, item in nav.items()}
    if not str(nav).endswith("/"):
        return nav
    inside = [file.src_uri for file in files.documentation_pages() if posixpath.dirname(file.src_uri) == nav[:-1]]
    return sorted(inside, key=lambda uri: (posixpath.basename(uri) not in _INDEXES, uri))
