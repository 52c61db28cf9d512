"""The inbox in a real browser: accept, reject, reword, by mouse, by keys and without scripts; and take it back."""

import pytest
from playwright.sync_api import Locator, expect

from tests.web.chromium import Tab
from tests.web.conftest import OpenPage
from tests.web.served import Ui

YARN = "I would rather we use yarn, not pnpm."
TESTS_FIRST = "I'd rather you ran the tests before you say it is done."
LESSON = "docker compose up -d db"


@pytest.fixture
def inbox(own_ui: Ui, open_page: OpenPage) -> Tab:
    return _inbox(own_ui, open_page)


def _inbox(ui: Ui, open_page: OpenPage, **options: object) -> Tab:
    tab = open_page(ui, **options)
    tab.go(f"{ui.project}/inbox")
    return tab


def _waiting(ui: Ui) -> list[str]:
    return [rule["body"] for rule in ui.world.json("inbox", "list")]


def _in_force(ui: Ui) -> list[str]:
    return [rule["body"] for rule in ui.world.json("rules")]


def _card(tab: Tab, words: str) -> Locator:
    return tab.page.locator(".card", has_text=words)


def _bar(tab: Tab, words: str) -> None:
    expect(tab.page.locator("#bar")).to_contain_text(words)


@pytest.mark.parametrize("scripts", [True, False])
def test_a_rule_is_accepted_and_that_is_taken_back(own_ui: Ui, open_page: OpenPage, scripts: bool):
    tab = _inbox(own_ui, open_page, java_script_enabled=scripts)
    card = _card(tab, YARN)
    expect(card).to_contain_text("Use pnpm, not npm.")
    expect(card).to_contain_text("Replaces this rule?")
    card.get_by_role("button", name="Accept and replace").click()
    _bar(tab, f"In force: {YARN}")
    expect(_card(tab, YARN)).to_have_count(0)
    assert YARN in _in_force(own_ui)
    assert "Use pnpm, not npm." not in _in_force(own_ui)
    tab.page.get_by_role("button", name="Undo").click()
    _bar(tab, "Undone")
    expect(_card(tab, YARN)).to_have_count(1)
    assert "Use pnpm, not npm." in _in_force(own_ui)
    assert YARN in _waiting(own_ui)
    tab.page.get_by_role("button", name="Redo").click()
    expect(_card(tab, YARN)).to_have_count(0)
    assert YARN in _in_force(own_ui)


@pytest.mark.parametrize("scripts", [True, False])
def test_a_rule_is_rejected_or_reworded_in_place(own_ui: Ui, open_page: OpenPage, scripts: bool):
    tab = _inbox(own_ui, open_page, java_script_enabled=scripts)
    _card(tab, YARN).get_by_role("button", name="Reject").click()
    _bar(tab, f"Rejected: {YARN}")
    card = _card(tab, TESTS_FIRST)
    card.get_by_text("Edit the wording").click()
    card.get_by_label("The rule").fill("Run the tests before saying <done>.")
    card.get_by_role("button", name="Accept with these words").click()
    _bar(tab, "In force: ")
    expect(_card(tab, TESTS_FIRST)).to_have_count(0)
    assert "Run the tests before saying <done>." in _in_force(own_ui)
    assert not any(words in (YARN, TESTS_FIRST) for words in _waiting(own_ui))


def test_all_of_a_session_are_decided_at_once_wherever_they_are_kept(own_ui: Ui, inbox: Tab):
    """One of the two is for this project and one for all: two stores, one change, one Undo."""
    before = _waiting(own_ui)
    for verb, done in (("Accept", "In force"), ("Reject", "Rejected")):
        inbox.page.get_by_role("button", name=f"{verb} all 2").click()
        _bar(inbox, f"{done}: 2 memories")
        expect(_card(inbox, LESSON)).to_have_count(0)
        assert _waiting(own_ui) == [YARN]
        inbox.page.get_by_role("button", name="Undo").click()
        _bar(inbox, "Undone: 2 memories")
        assert _waiting(own_ui) == before


def test_keys_move_accept_reject_and_edit(own_ui: Ui, inbox: Tab):
    page = inbox.page
    keys = page.keyboard
    keys.press("j")
    expect(_card(inbox, YARN)).to_be_focused()
    keys.press("j")
    keys.press("j")
    keys.press("k")
    expect(_card(inbox, TESTS_FIRST)).to_be_focused()
    keys.press("e")
    expect(_card(inbox, TESTS_FIRST).get_by_label("The rule")).to_be_focused()
    keys.type(" yn")
    assert len(_waiting(own_ui)) == 3, "keys typed into a field are text"
    keys.press("Escape")
    expect(_card(inbox, TESTS_FIRST)).to_be_focused()
    keys.press("y")
    _bar(inbox, f"In force: {TESTS_FIRST}")
    expect(_card(inbox, LESSON)).to_be_focused()
    keys.press("n")
    _bar(inbox, "Rejected: ")
    expect(_card(inbox, YARN)).to_be_focused()
    assert _waiting(own_ui) == [YARN]
    keys.press("n")
    expect(page.locator("main .empty")).to_contain_text("Nothing waits for you")
    keys.press("y")
    keys.press("j")
    assert (_waiting(own_ui), YARN in _in_force(own_ui)) == ([], False)


def test_tab_and_enter_are_enough(own_ui: Ui, inbox: Tab):
    for _ in range(40):
        inbox.page.keyboard.press("Tab")
        if inbox.focused().endswith("Accept and replace"):
            break
    outline = inbox.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "the focus can be seen"
    inbox.page.keyboard.press("Enter")
    _bar(inbox, "In force")


def test_what_was_decided_elsewhere_meanwhile_says_so_and_changes_nothing(own_ui: Ui, inbox: Tab):
    own_ui.world.run("inbox", "reject", YARN)
    _card(inbox, YARN).get_by_role("button", name="Accept").click()
    expect(inbox.page.get_by_role("alert")).to_contain_text("does not wait in the inbox")
    assert YARN not in _in_force(own_ui)
    inbox.problems = [one for one in inbox.problems if "400" not in one]


def test_a_note_that_waits_is_there_too(own_ui: Ui, inbox: Tab):
    own_ui.world.run("note", "save", "Ask **Zoe** before a deploy", "--inbox")
    inbox.page.reload()
    expect(_card(inbox, "Zoe").locator("strong")).to_have_text("Zoe")
    _card(inbox, "Zoe").get_by_role("button", name="Accept").click()
    _bar(inbox, "Brought back: Ask")
    assert [note["status"] for note in own_ui.world.json("notes") if "Zoe" in note["body"]] == [
        "active"
    ]


@pytest.mark.parametrize(
    ("button", "left"),
    [
        ("Keep both", {"Use tabs in Go", "Use spaces in Go, too"}),
        ("Keep the newer", {"Use spaces in Go, too"}),
        ("Keep the older", {"Use tabs in Go"}),
    ],
)
def test_two_rules_that_may_contradict_each_other_are_decided_on_and_that_is_taken_back(
    own_ui: Ui, open_page: OpenPage, button: str, left: set[str]
):
    both = {"Use tabs in Go", "Use spaces in Go, too"}
    own_ui.world.run("rule", "add", "Use tabs in Go")
    own_ui.world.run("rule", "add", "Use spaces in Go, too")
    tab = _inbox(own_ui, open_page)
    card = _card(tab, "These two may contradict each other")
    expect(card).to_contain_text("Use tabs in Go")
    expect(card).to_contain_text("Use spaces in Go, too")
    card.get_by_role("button", name=button).click()
    _bar(tab, "Decided: ")
    expect(_card(tab, "These two may contradict")).to_have_count(0)
    assert both & set(_in_force(own_ui)) == left
    tab.page.get_by_role("button", name="Undo").click()
    expect(_card(tab, "These two may contradict")).to_have_count(1)
    assert both <= set(_in_force(own_ui))
