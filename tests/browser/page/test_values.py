"""What the page shows is what the frame says, for small and large fleets, whatever they are called."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Page, expect

from cobandit.dashboard.frame import Event, Frame, Messages

Look = Callable[[Frame], Page]
MakeFrame = Callable[..., Frame]
replace = msgspec.structs.replace

HOSTILE = "<img src=x onerror=\"document.title='pwned'\">"
LONG = "a-very-long-name-without-any-place-to-break-" * 4

READ = """(selector) => [...document.querySelectorAll(selector)].map((row) => ({
    ...row.dataset,
    fields: Object.fromEntries([...row.querySelectorAll('[data-field]')].map(
        (field) => [field.dataset.field, 'value' in field.dataset ? JSON.parse(field.dataset.value) : null]))}))"""


def shown(page: Page, field: str) -> Any:
    """The exact value of a field outside of all rows."""
    value = page.locator(f"#{field.replace('_', '-')}").get_attribute("data-value")
    return None if value is None else json.loads(value)


def test_leaves_that_are_not_asked_are_not_counted_as_away(look: Any, frame_of: MakeFrame) -> None:
    relay, *leaves = frame_of(members=3).members
    leaves = [replace(leaf, state="not asked", decisions=None, missing=None) for leaf in leaves]
    page = look(replace(frame_of(members=3), members=(relay, *leaves)))
    assert (shown(page, "members_here"), shown(page, "members_known"), shown(page, "members_unasked")) == (1, 1, 2)
    expect(page.locator(".facts li").first).to_have_text("1 of 1 member here, and 2 not asked")


@pytest.mark.parametrize(("members", "arms"), [(1, 4), (3, 5), (10, 24), (50, 200)])
def test_every_number_on_the_page_is_the_frames(look: Look, frame_of: MakeFrame, members: int, arms: int) -> None:
    frame = frame_of(members, arms, regret=1234.5)
    page = look(frame)
    for more in ("#arms-more", "#members-more"):
        if page.locator(more).is_visible():
            page.click(more)

    fields = ("observations", "decisions", "candidates", "regret")
    assert {field: shown(page, field) for field in fields} == {field: getattr(frame, field) for field in fields}
    assert shown(page, "missing") == max(member.missing or 0 for member in frame.members)
    assert (shown(page, "members_here"), shown(page, "members_known")) == (members, members)
    assert page.locator("#group").inner_text() == "homepage"

    arm_fields = ("mean", "low", "high", "p_best", "observations", "share", "recent_share")
    assert page.evaluate(READ, "[data-arm]") == [
        {"arm": arm.arm, "state": arm.state, "fields": {field: getattr(arm, field) for field in arm_fields}}
        for arm in sorted(frame.arms, key=lambda arm: -arm.share)
    ]
    member_fields = [
        field for field in frame.members[0].__struct_fields__ if field.endswith("s") and field != "troubles"
    ]
    member_fields += ["missing", "refused"]
    assert page.evaluate(READ, "[data-member]") == [
        {"member": one.name, "state": one.state, "fields": {name: getattr(one, name) for name in member_fields}}
        for one in frame.members
    ]


@pytest.mark.parametrize("members", [3, 50])
@pytest.mark.parametrize("view", ["shares", "heard", "lacks"])
def test_every_pair_is_in_the_matrix_in_every_view(look: Look, frame_of: MakeFrame, members: int, view: str) -> None:
    frame = frame_of(members)
    page = look(frame)
    page.click(f"[data-choice={view}]")
    rows = {"shares": frame.pairs.shares, "heard": frame.pairs.heard_s, "lacks": frame.pairs.lacks}[view]
    found = page.evaluate(
        """() => [...document.querySelectorAll('td[data-from]')].map((cell) =>
            [cell.dataset.from, cell.dataset.to, 'value' in cell.dataset ? JSON.parse(cell.dataset.value) : null])"""
    )
    names = frame.pairs.names
    assert found == [[one, other, rows[i][j]] for i, one in enumerate(names) for j, other in enumerate(names)]
    assert page.locator("td.stale").count() == (
        sum(value is not None and value >= 30 for row in rows for value in row) if view == "heard" else 0
    )


def test_the_traffic_of_the_newest_interval_stands_beside_its_arms(look: Look, frame_of: MakeFrame) -> None:
    frame = frame_of(3, 9)
    page = look(frame)
    lines = frame.series.lines
    page.wait_for_function("document.querySelectorAll('#traffic-labels li').length === 8")
    page.focus("#traffic-plot")
    page.keyboard.press("Home")
    expect(page.locator("#traffic-reading")).not_to_contain_text("Latest")
    found = page.evaluate(
        """() => [...document.querySelectorAll('#traffic-labels li')].map((item) =>
            [item.querySelector('.name').textContent, Number(item.dataset.count),
                Number(item.querySelector('.number').dataset.value)])"""
    )
    # At this width two intervals are one column.
    firsts = [sum(line.counts[1:3]) for line in lines]
    assert found == [
        [line.arm if not line.is_rest else "all other arms", first, first / sum(firsts)]
        for line, first in reversed(list(zip(lines, firsts, strict=True)))
    ]
    page.keyboard.press("Escape")
    expect(page.locator("#traffic-reading")).to_contain_text("Latest")


def test_no_saving_is_called_no_saving(look: Look, frame_of: MakeFrame) -> None:
    page = look(frame_of(messages=Messages(shares=50, packets=90, bytes=9000, immediate=40, observed=20)))
    expect(page.locator("#saved")).to_have_text("none")
    expect(page.locator("#saved-note")).to_have_text(
        "50 shares sent, immediate broadcast would have sent 40: no saving"
    )


def test_states_of_arms_and_members_are_words_with_signs(look: Look, frame_of: MakeFrame) -> None:
    frame = frame_of(5, 5)
    states = ("candidate", "frozen", "ruled out", "removed", "switched off")
    arms = tuple(replace(arm, state=state) for arm, state in zip(frame.arms, states, strict=True))
    kinds = ("here", "silent", "left", "superseded", "not asked")
    members = tuple(replace(one, state=kind) for one, kind in zip(frame.members, kinds, strict=True))
    page = look(replace(frame, arms=arms, members=members, control_arm="variant-1"))
    assert page.locator("[data-arm] .mark").all_inner_texts() == list(states)
    assert sorted(page.locator("[data-member] .mark").all_inner_texts()) == sorted(kinds)
    signs = page.locator("[data-arm] .mark path, [data-member] .mark path").evaluate_all(
        "paths => paths.map(path => path.getAttribute('d'))"
    )
    assert len(set(signs)) == 10
    assert page.locator("[data-row=edge-2]").get_attribute("class") == "no-answer"
    expect(page.locator("[data-row=edge-2] th")).to_contain_text("no answer")
    expect(page.locator("#kill")).to_contain_text("switch is on. All decisions go to the control arm variant-1")


def test_troubles_are_written_out_in_full(look: Look, frame_of: MakeFrame) -> None:
    frame = frame_of(3)
    trouble = "The state could not be written: no space left. Free some."
    page = look(replace(frame, members=(*frame.members[:2], replace(frame.members[2], troubles=(trouble,)))))
    expect(page.locator("[data-member=edge-3] .troubles")).to_have_text(trouble)
    assert page.locator("[data-member]").first.get_attribute("data-member") == "edge-3"
    expect(page.locator("#members-note")).to_have_text("1 member has troubles.")


@pytest.mark.parametrize("width", [390, 1200])
def test_hostile_and_endless_names_are_only_text(look: Look, frame_of: MakeFrame, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    frame = frame_of(3, 3)
    names = (HOSTILE, LONG, "__proto__")
    frame = replace(
        frame,
        group=HOSTILE,
        policy=LONG,
        seen_from=LONG,
        control_arm=HOSTILE,
        arms=tuple(replace(arm, arm=name) for arm, name in zip(frame.arms, names, strict=True)),
        members=tuple(
            replace(one, name=name, troubles=(HOSTILE, LONG)) for one, name in zip(frame.members, names, strict=True)
        ),
        pairs=replace(frame.pairs, names=names),
        events=(Event(9, frame.at, "constructor", HOSTILE, LONG), *frame.events),
        series=replace(
            frame.series,
            lines=tuple(replace(line, arm=name) for line, name in zip(frame.series.lines, names, strict=True)),
        ),
    )
    look(frame)
    assert page.locator("#group").inner_text() == HOSTILE
    assert [row["arm"] for row in page.evaluate(READ, "[data-arm]")] == list(names)
    assert page.locator("img").count() == 0
    assert page.title() == f"{HOSTILE} · cobandit"
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_hundreds_of_arms_are_shown_on_demand(look: Look, frame_of: MakeFrame) -> None:
    page = look(frame_of(3, 200, arms_left_out=50))
    assert page.locator("[data-arm]").count() == 12
    expect(page.locator("#arms-note")).to_contain_text("50 arms with less traffic are not listed.")
    page.click("text=Show all 200 arms")
    assert page.locator("[data-arm]").count() == 200
    page.click("text=Show only the first 12")
    assert page.locator("[data-arm]").count() == 12


def test_the_order_of_arms_is_kept_for_the_next_visit(look: Look, frame_of: MakeFrame) -> None:
    frame = frame_of(3, 5)
    arms = tuple(replace(arm, mean=number / 10) for number, arm in enumerate(frame.arms))
    page = look(replace(frame, arms=arms))
    page.click("text=By mean")
    by_mean = [f"variant-{number}" for number in (5, 4, 3, 2, 1)]
    assert [row["arm"] for row in page.evaluate(READ, "[data-arm]")] == by_mean
    page.reload()
    page.wait_for_selector("body.has-frame")
    assert [row["arm"] for row in page.evaluate(READ, "[data-arm]")] == by_mean
    assert page.locator("[aria-pressed=true]").first.inner_text() == "By mean"


def test_events_are_filtered_by_kind_and_new_ones_are_marked(look: Look, frame_of: MakeFrame, fake: Any) -> None:
    frame = frame_of(3)
    page = look(frame)
    assert page.locator(".new:visible").count() == 0
    silent = Event(77, frame.at, "silent", "edge-2", "no answer for 12 s")
    fake.send(replace(frame, events=(silent, *frame.events)))
    expect(page.locator("[data-event='77'] .new")).to_be_visible()
    expect(page.locator("[data-event='77']")).to_contain_text("edge-2 no answer for 12 s")
    expect(page.locator("#happened")).to_have_text("silent: edge-2, no answer for 12 s")
    page.select_option("#events-filter", "joined")
    kinds = page.locator("[data-event]").evaluate_all("items => items.map(item => item.dataset.kind)")
    assert kinds == ["joined"] * 3


def test_who_has_left_is_listed_but_not_among_those_who_could_be_here(look: Look, frame_of: MakeFrame) -> None:
    frame = frame_of(members=3)
    gone = msgspec.structs.replace(frame.members[2], state="left")
    page = look(msgspec.structs.replace(frame, members=(*frame.members[:2], gone), control_arm=frame.arms[0].arm))
    assert (shown(page, "members_here"), shown(page, "members_known")) == (2, 2)
    assert page.locator(f'[data-member="{gone.name}"]').first.get_attribute("data-state") == "left"
    assert "the others are switched off" in page.locator("#candidates-note").inner_text()
