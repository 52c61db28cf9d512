"""Now: rules and what can be done with them, the live feed from a real hook, and the first run."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from recollect.cli.stage import Stage, operate
from recollect.model.plan import Create, Plan
from recollect.model.result import Scope
from tests.ops.test_past import Past
from tests.values import NOW, act, rule
from tests.web.conftest import OpenPage
from tests.web.served import Ui, World, running, scratch_world

PNPM = "Use pnpm, not npm."


def rules(world: World) -> list[str]:
    return [one["body"] for one in world.json("rules")]


def card(tab, text: str):
    return tab.page.locator(".card", has=tab.page.locator("strong", has_text=text))


def say(world: World, prompt: str, session: str = "live-1") -> None:
    """As an agent's hook does."""
    event = {
        "session_id": session,
        "cwd": str(world.project),
        "hook_event_name": "UserPromptSubmit",
        "prompt": prompt,
    }
    command = [sys.executable, "-m", "recollect", "hook", "UserPromptSubmit"]
    subprocess.run(
        command, input=json.dumps(event), cwd=world.project, env=world.environ, text=True, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


def test_rules_stand_with_the_words_they_came_from_and_how_they_did(ui: Ui, open_page: OpenPage):
    tab = open_page(ui)
    tab.go(f"{ui.project}/now")
    said = card(tab, PNPM).inner_text()
    assert "no, we use pnpm here, not npm" in said
    assert re.search(r"20\d\d-\d\d-\d\d · you said it · told \d+ times, helped \d", said), said
    for name in ("Edit", "Turn off", "Delete"):
        assert name in said


def test_a_rule_is_added_edited_turned_off_and_deleted_and_each_is_undone(
    own_ui: Ui, open_page: OpenPage
):
    world, tab = own_ui.world, open_page(own_ui)
    before = rules(world)
    tab.go(f"{own_ui.project}/now")
    bar = tab.page.locator("#bar")

    def undo() -> None:
        bar.get_by_role("button", name="Undo").click()
        expect(bar).to_contain_text("Undone")
        assert sorted(rules(world)) == sorted(before)

    tab.page.get_by_label("A new rule").fill("Name branches after tickets")
    tab.page.get_by_role("button", name="Add the rule").click()
    expect(bar).to_contain_text("Now in force: Name branches after tickets")
    assert "Name branches after tickets" in rules(world)
    undo()
    card(tab, PNPM).locator("summary").click()
    card(tab, PNPM).get_by_label("The rule").fill("Use pnpm 9, never npm")
    card(tab, PNPM).get_by_role("button", name="Save").click()
    expect(bar).to_contain_text("Changed: ")
    assert "Use pnpm 9, never npm" in rules(world)
    undo()
    for name, words in (("Turn off", "Archived: "), ("Delete", "Deleted: ")):
        card(tab, PNPM).get_by_role("button", name=name).click()
        expect(bar).to_contain_text(words + PNPM[:-1])
        assert PNPM not in rules(world)
        undo()


def test_an_edit_of_what_was_changed_meanwhile_is_refused_and_keeps_what_was_typed(
    own_ui: Ui, open_page: OpenPage
):
    world, tab = own_ui.world, open_page(own_ui)
    tab.go(f"{own_ui.project}/now")
    world.run("edit", PNPM[:-1], "--body", "Use pnpm 8")
    card(tab, PNPM).locator("summary").click()
    card(tab, PNPM).get_by_label("The rule").fill("Use pnpm 9")
    card(tab, PNPM).get_by_role("button", name="Save").click()
    expect(tab.page.locator("main")).to_contain_text("This memory has changed")
    assert tab.page.locator("textarea").input_value() == "Use pnpm 9"
    assert tab.problems.pop().startswith(
        "error: Failed to load resource: the server responded with a status of 409"
    )
    assert "Use pnpm 8" in rules(world)


def test_what_a_hook_brings_appears_on_an_open_page_and_can_be_undone_there(
    own_ui: Ui, open_page: OpenPage
):
    tab = open_page(own_ui)
    tab.go(f"{own_ui.project}/now")
    feed = tab.page.locator("#feed")
    say(own_ui.world, "never commit directly to main")
    line = feed.locator("li", has_text="noted: Never commit directly to main")
    expect(line).to_have_count(1)
    expect(line.locator("time")).to_have_text(re.compile(r"^\d\d:\d\d UTC$"))
    say(own_ui.world, "how do we run the smoke test?", "live-2")
    expect(feed).to_contain_text(re.compile(r"told Claude Code \d memor"))
    expect(feed.locator("li").first).to_contain_text("told Claude Code")
    assert "Never commit directly to main." in rules(own_ui.world)
    line.get_by_role("button", name="Undo").click()
    expect(tab.page.locator("#bar")).to_contain_text("Undone: ")
    assert "Never commit directly to main." not in rules(own_ui.world)


def test_a_stream_repeats_what_happened_since_the_page_was_made_and_ends_with_the_server():
    with scratch_world() as world:
        world.project.mkdir()
        with running(world) as ui:
            ui.sign_in()
            world.run("rule", "add", "Use tabs")
            line = ui.connect(f"{ui.project}/live?since=2020-01-01")
            try:
                while not (got := line.getresponse().readline().decode()).startswith("data:"):
                    pass
            finally:
                line.close()
            assert "noted: Use tabs" in json.loads(got[5:])["html"]
            open_line = ui.connect(f"{ui.project}/live")
            assert open_line.getresponse().readline() == b": here\n"
        open_line.close()


@pytest.fixture
def first_ui(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A home without any memory, in which an agent has worked for a while."""
    with scratch_world() as world:
        (world.project / ".git").mkdir(parents=True)
        monkeypatch.setenv("HOME", str(world.root))
        for number in range(12):
            past = Past(f"s-{number}", NOW.plus(days=-number), cwd=world.project)
            past.said({3: "no, we use pnpm here, not npm", 5: "prices are always integers in cents, never floats"}.get(
                number, f"look at the parser of part {number}"))  # fmt: skip
            past.answered(
                f"The parser of part {number} drops the last line when it has no newline. I fixed that."
            )
        with running(world) as ui:
            yield ui.sign_in()


def test_at_the_very_first_past_sessions_of_other_projects_are_offered_and_later_not(first_ui: Ui):
    found = "Found 12 past sessions of other projects. Import?"
    other = first_ui.world.root / "blog"
    (other / ".git").mkdir(parents=True)
    with running(first_ui.world, "--project", str(other)) as ui:
        assert found in ui.sign_in().get(f"{ui.project}/now").body
        first_ui.world.run("rule", "add", "Use pnpm")
        assert found not in ui.get(f"{ui.project}/now").body


def test_sessions_that_were_read_while_they_ran_are_not_offered_for_import(first_ui: Ui):
    world = first_ui.world
    assert "Found 12 past sessions. Import?" in first_ui.get(f"{first_ui.project}/now").body
    for number in range(11):
        say(world, f"look at the parser of part {number}", f"s-{number}")
    with running(world) as ui:
        assert "Found 1 past session. Import?" in ui.sign_in().get(f"{ui.project}/now").body
    say(world, "look at the parser of part 11", "s-11")
    with running(world) as ui:
        assert "Import?" not in ui.sign_in().get(f"{ui.project}/now").body
    counts = world.json("import", "sessions", "--count")
    assert (counts["sessions"], counts["here"], counts["unread_here"]) == (12, 12, 0)


def test_undo_takes_back_a_large_change_as_a_whole_and_says_how_much(
    own_ui: Ui, open_page: OpenPage, tmp_path: Path
):
    world, tab = own_ui.world, open_page(own_ui)
    before = len(world.json("list", "--limit", "10000"))
    file = world.root / "many.jsonl"
    with Stage(tmp_path, "elsewhere", begin=NOW) as stage:
        made = [rule(f"Name branch {number} after its ticket") for number in range(1_150)]
        plan = Plan.of(Create(memory) for memory in made)
        stage.own.writer(Scope.PROJECT).apply(plan, act("import", at=NOW))
        operate("export", stage.own, str(file))
    world.run("import", "jsonl", str(file))
    assert len(world.json("list", "--limit", "10000")) == before + 1_150
    tab.go(f"{own_ui.project}/now")
    tab.page.locator("#feed").get_by_role("button", name="Undo (all 1,150 memories)").first.click()
    expect(tab.page.locator("#bar")).to_contain_text("Undone: 1,150 memories")
    assert len(world.json("list", "--limit", "10000")) == before


@pytest.mark.parametrize("scripts", [True, False])
def test_the_first_run_finds_past_sessions_imports_them_and_says_what_it_learnt(
    first_ui: Ui, open_page: OpenPage, scripts: bool
):
    tab = open_page(first_ui, java_script_enabled=scripts)
    tab.go(f"{first_ui.project}/now")
    expect(tab.page.get_by_role("heading", name="Found 12 past sessions. Import?")).to_be_visible()
    tab.page.get_by_role("button", name="Import", exact=True).click()
    main = tab.page.locator("main")
    expect(main).to_contain_text("Three things I now know about this project")
    expect(main).to_contain_text("Read 12 past sessions of shop")
    kinds = [text.split()[0] for text in main.locator("ol .card .meta").all_inner_texts()]
    assert kinds == ["rule", "rule", "thread"]
    expect(main.locator("ol")).to_contain_text(PNPM)
    tab.page.get_by_role("link", name="See the rules").click()
    expect(card(tab, PNPM)).to_be_visible()
    assert "Found 12" not in tab.text()
    assert not scripts or not tab.serious()
