"""Timeline and health: figures, charts that can be read without seeing them, and long work with its progress."""

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from tests.ops.test_past import SPRING, Past
from tests.web.conftest import OpenPage
from tests.web.served import WAIT_S, Ui


def test_figures_are_drawn_and_told(ui: Ui, open_page: OpenPage):
    tab = open_page(ui)
    tab.go(f"{ui.project}/health")
    text, figures = tab.text(), ui.world.json("figures")
    prompts = sum(day["prompts"] for day in figures["days"])
    assert f"{prompts} prompts" in text
    charts = tab.page.get_by_role("img", name="Prompts by day")
    assert charts.locator("rect.all").count() == 30
    tab.page.get_by_text("The same as a table").click()
    cells = (
        tab.page.locator("[aria-label='Figures by day'] tbody tr")
        .first.locator("td")
        .all_inner_texts()
    )
    today = figures["days"][-1]
    assert cells == [str(today[name]) for name in ("prompts", "answered", "told", "tokens", "kept")]
    for words in (
        "rules",
        "you said it",
        "Median",
        "ms",
        "MB, no backup yet",
        "none for the project",
        "recollect backup",
    ):
        assert words in text, words
    assert not tab.serious()


def test_a_backup_is_made_and_is_the_last_one_from_then_on(own_ui: Ui, open_page: OpenPage):
    tab = open_page(own_ui)
    tab.go(f"{own_ui.project}/health")
    tab.page.get_by_role("button", name="Back up").click()
    expect(tab.page.locator("h1")).to_have_text("Backed up")
    expect(tab.page.locator("main")).to_contain_text("Wrote and checked")
    assert not tab.serious()
    assert list((own_ui.world.root / "home").rglob("backups/*.db"))
    tab.go(f"{own_ui.project}/health")
    expect(tab.page.locator("main")).to_contain_text(re.compile(r"last backup 20\d\d-"))
    assert "recollect backup" not in tab.text()


def test_an_export_is_downloaded_and_can_be_imported_elsewhere_and_undone(
    own_ui: Ui, open_page: OpenPage
):
    tab, world = open_page(own_ui), own_ui.world
    tab.go(f"{own_ui.project}/health")
    tab.page.get_by_role("button", name="Export").click()
    with tab.page.expect_download() as download:
        tab.page.get_by_role("link", name="Download").click()
    file = Path(download.value.path())
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(lines) > 10
    file = file.rename(world.root / "memories.jsonl")
    other = "/".join(
        [*own_ui.project.split("/")[:3], world.json("projects")["projects"][0]["folder"]]
    )
    tab.go(f"{other}/health")
    before = len(world.json("threads", cwd=world.root / "blog"))
    tab.page.get_by_text("Import a file").click()
    tab.page.get_by_label("The whole path").fill("memories.jsonl")
    tab.page.get_by_role("button", name="Import", exact=True).click()
    expect(tab.page.locator("main")).to_contain_text("Name the file with its whole path")
    assert tab.problems.pop().startswith(
        "error: Failed to load resource: the server responded with a status of 400"
    )
    tab.go(f"{other}/health")
    tab.page.get_by_text("Import a file").click()
    tab.page.get_by_label("The whole path").fill(str(file))
    tab.page.get_by_role("button", name="Import", exact=True).click()
    expect(tab.page.locator("h1")).to_have_text("The file is imported")
    assert len(world.json("threads", cwd=world.root / "blog")) > before
    tab.page.get_by_role("button", name="Undo the import").click()
    expect(tab.page.locator("#bar")).to_contain_text("Undone")
    assert len(world.json("threads", cwd=world.root / "blog")) == before


def test_work_can_be_watched_and_stopped_and_what_was_finished_stays(
    own_ui: Ui, open_page: OpenPage, monkeypatch
):
    world, tab = own_ui.world, open_page(own_ui)
    monkeypatch.setenv("HOME", str(world.root))
    for number in range(60):
        past = Past(f"s-{number}", SPRING.plus(days=number), cwd=world.project)
        for part in range(20):
            past.said(f"look at part {part} of page {number}").answered(
                f"Part {part} of page {number} is fine."
            )
    tab.go(f"{own_ui.project}/health")
    tab.page.get_by_role("button", name="Import past sessions").click()
    expect(tab.page.get_by_role("progressbar")).to_be_visible()
    expect(tab.page.locator("[data-said]")).to_contain_text(
        re.compile(r"^[\d.]+ of [\d.]+ MB of 6\d sessions"), timeout=WAIT_S * 1_000
    )
    tab.page.get_by_role("button", name="Stop").click()
    expect(tab.page.locator("h1")).to_have_text("It was not finished", timeout=WAIT_S * 1_000)
    expect(tab.page.locator("main")).to_contain_text("What was finished stays")
    assert len(world.json("threads", "--limit", "1000")) > 0


def test_only_known_work_is_run_and_only_that_of_its_project_is_shown(ui: Ui):
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": ui.base}
    for op in ("install", "recover", "reindex", "..%2fundo"):
        assert ui.ask("POST", f"{ui.project}/work/{op}", b"", form).status in (404, 405), op
    for path in ("nothing", "nothing/file", "0" * 16):
        assert ui.get(f"{ui.project}/work/{path}").status == 404, path
