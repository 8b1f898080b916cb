"""What makes the site's pages: links that are right in the repository and on the site, and a page made of numbers."""

import json
import re
import runpy
from pathlib import Path
from typing import Any

import griffe
import pytest
from tools import site_tree

from cobandit.studies.paper import published
from cobandit.studies.reproduction import STUDIES

ROOT = Path(__file__).parent.parent.parent
PAGES = {
    "images/page.png",
    "images/two.svg",
    "index.md",
    "live.md",
    "guides/README.md",
    "guides/flask.md",
    "decisions/README.md",
    "project/readme.md",
}


def tool(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / name))


@pytest.mark.parametrize(
    ("page", "written", "shown"),
    [
        ("live.md", "[guides](guides/README.md)", "[guides](guides/README.md)"),
        ("live.md", "[all](guides)", "[all](guides/README.md)"),
        ("guides/flask.md", "[Live](../live.md#a-member)", "[Live](../live.md#a-member)"),
        ("guides/flask.md", "[back](../../README.md)", "[back](../project/readme.md)"),
        ("project/readme.md", "[what\nit is](docs/live.md)", "[what\nit is](../live.md)"),
        ("project/readme.md", "[map](ARCHITECTURE.md#rooms)", "[map](architecture.md#rooms)"),
        ("project/readme.md", "[example](examples/own_policy.py)", "example (`examples/own_policy.py`)"),
        ("guides/flask.md", "[`shop.py`](../../examples/flask_app/shop.py)", "`examples/flask_app/shop.py`"),
        ("live.md", "[it](../clients/javascript/README.md)", "[it](guides/javascript-client.md)"),
        ("live.md", "[it](../clients/javascript)", "[it](guides/javascript-client.md)"),
        ("guides/javascript-client.md", "[it](../../docs/live.md)", "[it](../live.md)"),
        ("live.md", "[gone](nowhere.md)", "[gone](nowhere.md)"),
        ("project/readme.md", "![it](docs/images/page.png)", "![it](../images/page.png)"),
        ("live.md", "![it](../LICENSE)", "![it](../LICENSE)"),
        ("live.md", "[elsewhere](https://example.org/a)", "[elsewhere](https://example.org/a)"),
        ("live.md", "[below](#here)", "[below](#here)"),
        (
            "guides/flask.md",
            "![a](../images/two.svg)",
            "![a](../images/two.svg#light) ![a](../images/two-dark.svg#dark)",
        ),
        ("live.md", "[a](images/two.svg)", "[a](images/two.svg)"),
        ("live.md", "```\n[x](../README.md)\n```\n", "```\n[x](../README.md)\n```\n"),
    ],
)
def test_a_link_of_the_repository_becomes_right_for_the_site(page: str, written: str, shown: str) -> None:
    assert site_tree.rewritten(written, page, PAGES, {"images/two.svg"}) == shown


def test_a_state_diagram_becomes_a_table() -> None:
    diagram = (
        "stateDiagram-v2\n    [*] --> OPEN\n    OPEN --> WAITING: it goes out / repeat\n    WAITING --> OPEN: back\n"
    )
    assert site_tree.table(diagram, "a.md").splitlines() == [
        "A pair begins in `OPEN`.",
        "",
        "| in | when | it does | then |",
        "| --- | --- | --- | --- |",
        "| `OPEN` | it goes out | repeat | `WAITING` |",
        "| `WAITING` | back |  | `OPEN` |",
    ]


@pytest.mark.parametrize("diagram", ["flowchart LR\n  a --> b\n", "stateDiagram-v2\n    note: what is this\n"])
def test_another_diagram_is_refused(diagram: str) -> None:
    with pytest.raises(site_tree.WrongError, match=r"a\.md: "):
        site_tree.table(diagram, "a.md")


def test_the_tokens_of_the_site_are_those_of_the_look() -> None:
    look = (ROOT / "src" / "cobandit" / "look" / "look.css").read_text(encoding="utf-8")
    light, dark = site_tree.tokens(look).split('[data-md-color-scheme="slate"]')
    accents = dict.fromkeys(re.findall(r"--accent: (#\w+);", look))
    assert [re.findall(r"--accent: (#\w+);", part) for part in (light, dark)] == [[accent] for accent in accents]


def test_a_folder_in_the_navigation_is_its_pages_with_the_index_first() -> None:
    places = {"b/z.md", "b/a.md", "b/README.md", "b/c/d.md", "b/picture.svg", "a.md"}
    nav = [{"Home": "a.md"}, {"More": "b/"}]
    assert site_tree.whole_nav(nav, places) == [{"Home": "a.md"}, {"More": ["b/README.md", "b/a.md", "b/z.md"]}]


def test_the_tree_is_plain_markdown_without_anything_of_ours_to_run(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "of-before.md").touch()
    assert site_tree.main([str(tmp_path)]) == 0
    settings = json.loads((tmp_path / "mkdocs.yml").read_text(encoding="utf-8"))
    assert set(settings) == {"INHERIT", "docs_dir", "nav", "plugins"}
    assert "hooks" not in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    written = {path.relative_to(tmp_path / "pages").as_posix() for path in (tmp_path / "pages").rglob("*.md")}
    documents = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert written == documents | set(site_tree.PAGES_FROM_ELSEWHERE.values())
    assert [page for page in written if "```mermaid" in (tmp_path / "pages" / page).read_text(encoding="utf-8")] == []


def test_a_session_in_a_docstring_gets_a_fence() -> None:
    fenced = tool("site_reference.py")["fenced"]
    assert fenced("Add.\n\n>>> 1 + 1\n2\n\nArgs:") == "Add.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nArgs:"


def test_values_are_shown_with_all_their_fields_and_a_function_with_what_it_takes() -> None:
    reference = tool("site_reference.py")
    code = (
        "class Pair(NamedTuple):\n    one: int\n    two: str = ''\n"
        "def join(url: str, *, group: str) -> None: ...\n"
        "@_takes_what(join)\ndef connect(*arguments: Any, **options: Any) -> None: ...\n"
    )
    extensions = griffe.load_extensions(reference["Fields"](), reference["TakesWhat"]())
    with griffe.temporary_visited_module(code, extensions=extensions) as module:
        fields = [(one.name, str(one.annotation), one.default) for one in module["Pair.__init__"].parameters]
        assert fields[1:] == [("one", "int", None), ("two", "str", "''")]
        assert [one.name for one in module["connect"].parameters] == ["url", "group"]


# The page of the reproduction.


def kept() -> Any:  # JSON
    return json.loads((ROOT / "docs" / "reproduction" / "report.json").read_text(encoding="utf-8"))


def test_the_page_of_the_reproduction_is_made_of_the_measurement_that_is_kept() -> None:
    made = tool("write_reproduction_page.py")["page"](kept())
    assert (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8") == made


def test_the_measurement_that_is_kept_is_of_the_whole_paper() -> None:
    assert kept()["complete"]
    assert {one["experiment"]: one["trials"] for one in kept()["experiments"]} == {
        name: study.trials for name, study in STUDIES.items()
    }


def test_the_published_numbers_on_the_page_are_those_of_the_paper() -> None:
    shown = {
        (cell["experiment"], cell["algorithm"], cell["quantity"]): (cell["published"]["mean"], cell["published"]["sd"])
        for cell in kept()["cells"]
    }
    of_the_paper = {}
    for key, row in published().items():
        of_the_paper[*key, "communications"] = (row.communications, row.communications_sd)
        of_the_paper[*key, "group regret"] = (row.group_regret, row.group_regret_sd)
    assert shown == of_the_paper


def test_a_part_of_the_paper_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(json.dumps({**kept(), "complete": False}), encoding="utf-8")
    with pytest.raises(SystemExit, match="not all of the paper"):
        tool("write_reproduction_page.py")["keep"](tmp_path)
