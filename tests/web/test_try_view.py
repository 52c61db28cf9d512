"""Try a prompt: what would be told, what came near, and a floor that changes nothing until it is saved."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.web.chromium import Tab
from tests.web.conftest import OpenPage
from tests.web.served import Ui

PROMPT = "How do we deploy the shop?"


@pytest.fixture
def tab(ui: Ui, open_page: OpenPage) -> Tab:
    found = open_page(ui)
    found.go(f"{ui.project}/try")
    found.page.get_by_role("textbox", name="Prompt").fill(PROMPT)
    found.page.get_by_role("button", name="Try it").click()
    expect(read(found)).to_be_visible()
    return found


def read(tab: Tab) -> Locator:
    """What the agent would read."""
    return tab.page.locator("section[aria-labelledby=told] pre:visible")


def slide(tab: Tab, floor: float) -> None:
    tab.page.get_by_label("The floor").fill(str(floor))


def test_it_shows_what_the_agent_would_read_and_records_nothing(ui: Ui, tab: Tab):
    before = ui.world.json("activity"), ui.world.json("why")
    expect(read(tab)).to_contain_text(re.compile(r"Loaded \d relevant memor"))
    expect(tab.page.locator("main")).to_contain_text(re.compile(r"about \d+ tokens"))
    said = ui.world.json("try", PROMPT)
    assert [line for line in read(tab).inner_text().splitlines() if line.startswith("- ")] == [
        line for line in said["text"].splitlines() if line.startswith("- ")
    ]
    cards = tab.page.locator(".candidate")
    expect(cards).to_have_count(len(said["candidates"]))
    expect(cards.first).to_contain_text("Because ")
    assert not tab.serious()
    assert (ui.world.json("activity"), ui.world.json("why")) == before


def test_the_slider_moves_the_line_at_once_and_saves_nothing(ui: Ui, tab: Tab):
    told = tab.page.locator(".candidate [data-told]:visible")
    at_first = told.count()
    assert at_first >= 1
    slide(tab, 1)
    expect(told).to_have_count(0)
    expect(read(tab)).to_have_count(0)
    expect(tab.page.locator("main")).to_contain_text("Nothing: the agent is left alone")
    slide(tab, 0)
    expect(read(tab)).to_have_count(1)
    assert told.count() >= at_first
    shown = {
        line.split()[2].partition("#")[0]
        for line in read(tab).inner_text().splitlines()
        if line.startswith("- ")
    }
    assert len(shown) == len(
        set(told.evaluate_all("all => all.map(one => one.closest('li').querySelector('a').href)"))
    )
    expect(tab.page.get_by_role("button", name="Save this floor")).to_be_enabled()
    assert ui.world.json("config", "MEMORY_RECALL_FLOOR")["settings"][0]["source"] == "default"


@pytest.mark.parametrize("scripts", [True, False])
def test_a_floor_is_saved_and_the_bar_takes_it_back(own_ui: Ui, open_page: OpenPage, scripts: bool):
    conf, tab = (
        own_ui.world.root / "home" / "agent.conf",
        open_page(own_ui, java_script_enabled=scripts),
    )
    tab.go(f"{own_ui.project}/try?prompt=deploy the shop{'' if scripts else '&floor=0.8'}")
    if scripts:
        slide(tab, 0.8)
    tab.page.get_by_role("button", name="Save this floor").click()
    bar = tab.page.locator("#bar")
    expect(bar).to_contain_text("Saved: MEMORY_RECALL_FLOOR is 0.8")
    assert conf.read_text(encoding="utf-8") == "MEMORY_RECALL_FLOOR=0.8\n"
    expect(tab.page.locator("main")).to_contain_text("Now it is 0.80.")
    bar.get_by_role("button", name="Undo").click()
    expect(tab.page.locator("main")).to_contain_text("Now it is 0.50.")
    assert conf.read_text(encoding="utf-8") == ""


def test_no_other_setting_can_be_changed_from_the_page(ui: Ui):
    for sent in (
        {"name": "MEMORY_LLM_COMMAND", "value": "sh"},
        {"name": "MEMORY_LLM", "value": "on"},
        {"value": "1"},
    ):
        assert ui.do("config", **sent).status in (400, 404), sent
    assert not (ui.world.root / "home" / "agent.conf").exists()


def test_a_prompt_that_finds_nothing_says_what_to_do(ui: Ui):
    for prompt, words in (
        ("ok+thanks", "nothing to look for"),
        ("zzyzx+qwfp", "Nothing: the agent is left alone"),
    ):
        answer = ui.get(f"{ui.project}/try?prompt={prompt}&floor=abc")
        assert (answer.status, words in answer.body) == (200, True), prompt
    assert "<h2" not in ui.get(f"{ui.project}/try").body
