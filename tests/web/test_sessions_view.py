"""Sessions in a real browser: the list, what an agent was told and why, and what a person does about it."""

import json
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.web.chromium import Tab
from tests.web.conftest import OpenPage
from tests.web.served import Ui

SPEED, TESTS = "d1a94be2-speed", "b7720e11-tests"


def _open(ui: Ui, open_page: OpenPage, session: str = "", **options: object) -> Tab:
    tab = open_page(ui, **options)
    tab.go(f"{ui.project}/sessions" + (f"/{session}" if session else ""))
    return tab


def _turn(tab: Tab, words: str) -> Locator:
    return tab.page.locator(".turn", has_text=words)


def _in_force(ui: Ui) -> list[str]:
    return [rule["body"] for rule in ui.world.json("rules")]


def test_the_list_says_of_each_session_what_it_was_told_and_left(ui: Ui, open_page: OpenPage):
    tab = _open(ui, open_page)
    rows = tab.page.locator("tbody tr")
    known = ui.world.json("sessions")["sessions"]
    expect(rows).to_have_count(len(known))
    for row, one in zip(rows.all(), known, strict=True):
        shown = [cell.inner_text() for cell in row.locator(".num").all()]
        assert shown == [f"{one[name]:,}" for name in ("prompts", "told", "kept", "tokens")]
    rows.first.get_by_role("link").click()
    expect(tab.page.get_by_role("heading", level=1)).to_contain_text("Claude Code")
    expect(tab.page.locator(".turn").first).to_be_visible()


def test_a_session_shows_the_very_text_and_a_reason_for_each_line_of_it(
    ui: Ui, open_page: OpenPage
):
    tab = _open(ui, open_page, SPEED)
    turns = ui.world.json("session", SPEED)["turns"]
    texts = [
        told["text"]
        for turn in turns
        for told in (*turn["told"], *(t for c in turn["calls"] for t in c["told"]))
    ]
    assert len(list(filter(None, texts))) == 2
    assert [one.inner_text() for one in tab.page.locator("pre").all()] == list(filter(None, texts))
    start, turn = tab.page.locator(".turn").nth(0), _turn(tab, "The product list is slow.")
    expect(start).to_contain_text(f"about {turns[0]['told'][0]['tokens']} tokens")
    expect(start).to_contain_text("Because it is loaded every time.")
    expect(turn).to_contain_text("Because it names what the call does.")
    expect(turn).to_contain_text("pnpm why lodash")
    numbers = turn.locator("dl.pairs").first
    expect(numbers).to_be_hidden()
    turn.get_by_text("Numbers").first.click()
    expect(numbers).to_contain_text("score")
    expect(turn).to_contain_text("Always write commit messages in the imperative.")
    expect(turn.get_by_role("link", name="Product list is slow")).to_be_visible()
    expect(_turn(tab, "I would rather we use yarn")).to_contain_text("waits in the inbox")


@pytest.mark.parametrize("scripts", [True, False])
def test_what_was_dropped_is_kept_after_all_and_that_is_taken_back(
    own_ui: Ui, open_page: OpenPage, scripts: bool
):
    tab = _open(own_ui, open_page, TESTS, java_script_enabled=scripts)
    turn = _turn(tab, "Commit it now.")
    turn.get_by_text("not read like a rule").click()
    expect(turn).to_contain_text("nothing in it is meant to last")
    turn.get_by_role("button", name="Keep it after all: Commit it now.").click()
    expect(tab.page.locator("#bar")).to_contain_text("Now in force: Commit it now.")
    assert "Commit it now." in _in_force(own_ui)
    expect(turn.get_by_role("link", name="Commit it now.")).to_be_visible()
    tab.page.get_by_role("button", name="Undo").click()
    expect(tab.page.locator("#bar")).to_contain_text("Undone")
    assert "Commit it now." not in _in_force(own_ui)


@pytest.mark.parametrize(
    ("button", "last"),
    [
        ("Useful", {"useful": True}),
        ("Not useful", {"useful": False}),
        ("Never show this again", {"never": True}),
    ],
)
def test_a_memory_is_rated_where_it_was_told(
    own_ui: Ui, open_page: OpenPage, button: str, last: dict[str, bool]
):
    def pnpm() -> Any:
        return next(
            one
            for one in own_ui.world.json("list", "--kind", "rule")
            if one["body"] == "Use pnpm, not npm."
        )

    before = pnpm()["ratings"]
    tab = _open(own_ui, open_page, TESTS)
    tab.page.get_by_role("button", name=f"{button}: Use pnpm", exact=False).first.click()
    expect(tab.page.locator("#bar")).to_contain_text(": Use pnpm, not npm.")
    assert pnpm()["ratings"][-1].items() >= last.items()
    assert (pnpm()["condition"] == "muted") == ("never" in last)
    tab.page.get_by_role("button", name="Undo").click()
    expect(tab.page.locator("#bar")).to_contain_text("Undone")
    assert pnpm()["ratings"] == before


def test_a_long_session_is_turned_over_in_parts(own_ui: Ui, open_page: OpenPage):
    path = own_ui.world.root / "long.jsonl"
    said = (("user", f"prompt number {number}") for number in range(1, 26))
    lines = ({"type": role, "uuid": text, "timestamp": "2026-02-01T08:30:00Z", "cwd": "/gone",
              "message": {"content": text}} for role, text in said)  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    own_ui.world.run("import", "sessions", str(path))
    tab = _open(own_ui, open_page, "long")
    for turns, link in (
        ("16 to 25", "Earlier turns"),
        ("6 to 15", "Earlier turns"),
        ("1 to 10", "Later turns"),
    ):
        expect(tab.page.locator("main")).to_contain_text(f"Turns {turns} of 25")
        expect(tab.page.locator(".turn")).to_have_count(10)
        tab.page.get_by_role("link", name=link).first.click()
    expect(_turn(tab, "prompt number 11")).to_be_visible()
    for odd in ("?turn=0", "?turn=99", "?turn=x", "/nonsense"):
        assert (
            own_ui.get(f"{own_ui.project}/sessions{'/long' if odd[0] == '?' else ''}{odd}").status
            < 500
        )


def test_where_there_are_no_sessions_the_page_says_how_to_get_some(ui: Ui):
    blog = next(
        one for one in ui.world.json("projects")["projects"] if one["folder"].startswith("blog")
    )
    assert "recollect import sessions" in ui.get(f"{ui.root}/p/{blog['folder']}/sessions").body
