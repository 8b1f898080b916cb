"""Write the documentation as a plain tree of Markdown, ready for a generator of sites.

    python tools/site_tree.py build/site      # build/site/pages, build/site/mkdocs.yml

Documents are written for the repository. This step makes them right for a site, so that the generator needs no hook of
ours and can be changed: documents that stand elsewhere become pages, a link to a file that is no page becomes the
file's path, a state diagram becomes a table, a picture for both themes becomes one for each, and the colours are those
of `src/cobandit/look`. `docs/nav.yml` has the navigation, in which a folder stands for its pages. The only file for one
generator is `mkdocs.yml`: the one of the repository, with paths and the whole navigation added.

What a link cannot mean is left as it is, so that the generator warns.
"""

import argparse
import json
import posixpath
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import yaml

from cobandit.look import style_sheet

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"

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

TOKENS = "stylesheets/tokens.css"

HOME = "index.md"
_NO_NEIGHBOURS = "---\nhide: [navigation, toc]\n---\n\n"

_SOURCES = {page: document for document, page in PAGES_FROM_ELSEWHERE.items()}
_INDEXES = ("README.md", "index.md")
_FENCED = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)\s*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!\\)(?P<image>!?)\[(?P<text>[^\[\]]+)\]\((?P<target>[^()\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#")
_MERMAID = re.compile(r"^```mermaid\n(?P<diagram>.*?)^```\s*$", re.MULTILINE | re.DOTALL)
_TRANSITION = re.compile(r"\s*(?P<before>\w+) --> (?P<after>\w+): (?P<event>.*?)(?: / (?P<effect>.*))?")
_IN_THE_DARK = re.compile(r"^@media \(prefers-color-scheme: dark\) \{(?P<rules>.*)\}$", re.MULTILINE)
_LIGHT = re.compile(r"^:root \{(.*?)^\}", re.MULTILINE | re.DOTALL)
_DARK = re.compile(r'^:root\[data-theme="dark"\] \{(.*?)^\}', re.MULTILINE | re.DOTALL)
_TOKEN = re.compile(r"^\s*(--[\w-]+:[^;]+;)", re.MULTILINE)


class WrongError(Exception):
    """A document or the look is not as this step needs it."""


def write_tree(folder: Path) -> None:
    """Write all pages and the generator's file into a folder; what was there before is gone."""
    pages = folder / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    copied = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*") if path.is_file()} - {"nav.yml"}
    places = copied | set(_SOURCES)
    in_both_themes = set()
    for place in sorted(copied - {place for place in copied if place.endswith(".md")}):
        themes = _both_themes(DOCS / place)
        for name, content in themes.items():
            _write(pages / posixpath.dirname(place) / name, content)
        if len(themes) > 1:
            in_both_themes.add(place)
    for place in sorted(place for place in places if place.endswith(".md")):
        text = (ROOT / _SOURCES.get(place, f"docs/{place}")).read_text(encoding="utf-8")
        _write(pages / place, page(text, place, places, in_both_themes).encode())
    _write(pages / TOKENS, tokens(style_sheet()).encode())
    _write(folder / "mkdocs.yml", _settings(folder, places).encode())


def page(text: str, place: str, places: set[str], in_both_themes: set[str]) -> str:
    """Return a document as a page of the site.

    Args:
        text: The document, as it is in the repository.
        place: The page's place on the site, such as `guides/flask.md`.
        places: The places of everything that is on the site.
        in_both_themes: Those of them that are pictures with a file for each theme.
    """
    text = _MERMAID.sub(lambda found: table(found["diagram"], place), text)
    text = rewritten(text, place, places, in_both_themes)
    return _NO_NEIGHBOURS + text if place == HOME else text


def rewritten(markdown: str, page: str, places: set[str], in_both_themes: set[str]) -> str:
    """Return the text of a page with links that are right on the site; they are written for the repository."""
    parts, end = [], 0
    for block in _FENCED.finditer(markdown):
        parts += [_linked(markdown[end : block.start()], page, places, in_both_themes), block.group()]
        end = block.end()
    return "".join([*parts, _linked(markdown[end:], page, places, in_both_themes)])


def _linked(prose: str, page: str, places: set[str], in_both_themes: set[str]) -> str:
    source = _SOURCES.get(page, f"docs/{page}")

    def link(found: re.Match[str]) -> str:
        text, target, image = found["text"], found["target"], found["image"]
        if _ELSEWHERE.match(target):
            return found.group()
        named, mark, fragment = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), named))
        place = _place(path, places)
        if place is not None:
            to = posixpath.relpath(place, posixpath.dirname(page) or ".")
            if image and place in in_both_themes:
                return f"![{text}]({to}#light) ![{text}]({_dark_name(to)}#dark)"
            return f"{image}[{text}]({to}{mark}{fragment})"
        if (ROOT / path).exists() and not image:
            is_path = text.startswith("`") and text.strip("`") in path
            return f"`{path}`" if is_path else f"{text} (`{path}`)"
        return found.group()

    return _LINK.sub(link, prose)


def _place(path: str, places: set[str]) -> str | None:
    """Return where on the site a path of the repository is."""
    for document in (path, *(f"{path}/{index}" for index in _INDEXES)):
        if document in PAGES_FROM_ELSEWHERE:
            return PAGES_FROM_ELSEWHERE[document]
    inside = posixpath.relpath(path, "docs")
    candidates = (inside, *(posixpath.normpath(f"{inside}/{index}") for index in _INDEXES))
    return next((place for place in candidates if place in places), None)


def table(diagram: str, page: str) -> str:
    """Return the transitions of a Mermaid state diagram as a Markdown table: to draw it takes a script.

    Raises:
        WrongError: The block is another kind of diagram.
    """
    kind, *lines = diagram.strip().splitlines()
    if kind != "stateDiagram-v2":
        raise WrongError(f"{page}: only state diagrams can be shown without a script, not {kind!r}. Draw it as SVG.")
    rows = [found for line in lines if (found := _TRANSITION.fullmatch(line))]
    started = [line.split("-->")[1].strip() for line in lines if line.strip().startswith("[*]")]
    if len(rows) + len(started) != len(lines):
        raise WrongError(f"{page}: a line of the state diagram is not understood.")
    cells = [f"| `{row['before']}` | {row['event']} | {row['effect'] or ''} | `{row['after']}` |" for row in rows]
    begins = "".join(f"A pair begins in `{phase}`.\n" for phase in started)
    return "\n".join([begins, "| in | when | it does | then |", "| --- | --- | --- | --- |", *cells, ""])


def _both_themes(path: Path) -> dict[str, bytes]:
    """Return a file; of a picture that follows the reader's system, one for each theme: the site has a switch."""
    content = path.read_bytes()
    if path.suffix != ".svg" or not _IN_THE_DARK.search(text := content.decode()):
        return {path.name: content}
    dark = _IN_THE_DARK.sub(lambda found: found["rules"], text)
    return {path.name: _IN_THE_DARK.sub("", text).encode(), _dark_name(path.name): dark.encode()}


def _dark_name(name: str) -> str:
    return name.removesuffix(".svg") + "-dark.svg"


def tokens(look: str) -> str:
    """Return the tokens of the look, light and dark, with the switch between them as the site's theme has it.

    Raises:
        WrongError: The look has no tokens where they are looked for.
    """
    rules = []
    for selector, block in (("[data-md-color-scheme]", _LIGHT), ('[data-md-color-scheme="slate"]', _DARK)):
        found = block.search(look)
        named = _TOKEN.findall(found[1]) if found else []
        if not any(token.startswith("--accent:") for token in named):
            raise WrongError(f"look.css has no accent in {block.pattern!r}: mend tools/site_tree.py")
        rules.append("\n".join([f"{selector} {{", *(f"  {token}" for token in named), "}\n"]))
    return "\n".join(rules)


def whole_nav(nav: Any, places: set[str]) -> Any:  # noqa: ANN401  # lists, mappings and strings, as YAML has them
    """Return a navigation in which every folder is the list of its pages, its index first."""
    if isinstance(nav, list):
        return [whole_nav(item, places) for item in nav]
    if isinstance(nav, dict):
        return {title: whole_nav(item, places) for title, item in nav.items()}
    if not str(nav).endswith("/"):
        return nav
    inside = [place for place in places if place.endswith(".md") and posixpath.dirname(place) == nav[:-1]]
    return sorted(inside, key=lambda place: (posixpath.basename(place) not in _INDEXES, place))


def _settings(folder: Path, places: set[str]) -> str:
    """Return the generator's file: the repository's one, and what only this step knows."""
    nav = yaml.safe_load((DOCS / "nav.yml").read_text(encoding="utf-8"))
    reference = {
        "paths": [str(ROOT / "src")],
        "options": {
            "extensions": [
                f"{ROOT / 'tools' / 'site_reference.py'}:{name}" for name in ("Sessions", "Fields", "TakesWhat")
            ]
        },
    }
    return json.dumps(
        {
            "INHERIT": str(ROOT / "mkdocs.yml"),
            "docs_dir": str(folder.resolve() / "pages"),
            "nav": whole_nav(nav, places),
            "plugins": {"mkdocstrings": {"handlers": {"python": reference}}},
        },
        indent=1,
    )


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def main(arguments: list[str] | None = None) -> int:
    """Write the tree into the folder that is named."""
    parser = argparse.ArgumentParser(description="Write the documentation as a plain tree of Markdown.")
    parser.add_argument("folder", type=Path)
    try:
        write_tree(parser.parse_args(arguments).folder)
    except WrongError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
