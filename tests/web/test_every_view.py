"""What holds for every view: light, dark, narrow, by keyboard, and without scripts."""

import os
import re
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import expect

from tests.web.conftest import OpenPage
from tests.web.served import Ui

SHOTS = os.environ.get(
    "RECOLLECT_SCREENSHOTS", ""
)  # read before the tests have an environment of their own
IMAGES = Path(__file__).resolve().parent.parent.parent / "docs" / "images"
# How much of the page moved while it was loaded, as browsers measure it.
_SHIFTED = """new Promise((done) => {
  let moved = 0;
  const add = (list) => list.getEntries().forEach((one) => { moved += one.value; });
  new PerformanceObserver(add).observe({type: 'layout-shift', buffered: true});
  requestAnimationFrame(() => requestAnimationFrame(() => done(moved)));
})"""
ASKED = "the webhook booked an order twice, fix it"
VIEWS = ("now", "sessions", "inbox", "library", "try", "health")


def test_the_views_are_those_that_are_tested(pages: list[str]):
    assert set(VIEWS) <= {urlsplit(path).path.split("/")[4] for path in pages}


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 400)])
def test_no_page_has_a_serious_barrier_scrolls_sideways_or_moves(
    ui: Ui, pages: list[str], open_page: OpenPage, scheme: str, width: int
):
    tab = open_page(ui, color_scheme=scheme, viewport={"width": width, "height": 800})
    found = []
    for path in pages:
        assert tab.go(path).status == 200
        found += [f"{path}: {one}" for one in tab.serious()]
        wide = tab.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        found += [f"{path}: {wide} px too wide"] if wide > 0 else []
        headings = tab.page.evaluate("document.querySelectorAll('h1').length")
        found += [f"{path}: {headings} first headings"] if headings != 1 else []
        shifted = tab.page.evaluate(_SHIFTED)
        found += [f"{path}: moved by {shifted}"] if shifted > 0.01 else []
    assert not found, "\n".join(found)


def test_dark_is_dark_by_the_system_or_by_the_switch(ui: Ui, open_page: OpenPage):
    tab = open_page(ui, color_scheme="dark")
    body, light, dark = (
        tab.page.locator("body"),
        re.compile(r"rgb\(2\d\d, "),
        re.compile(r"rgb\(\d\d, "),
    )
    tab.go(ui.home)
    expect(body).to_have_css("background-color", dark)
    tab.page.get_by_label("Theme").select_option("light")
    expect(body).to_have_css("background-color", light)
    tab.go(ui.home)
    expect(body).to_have_css("background-color", light)
    tab.page.get_by_label("Theme").select_option("dark")
    expect(body).to_have_css("background-color", dark)


def test_every_control_is_reached_by_tab_is_seen_and_has_a_name(ui: Ui, open_page: OpenPage):
    tab = open_page(ui)
    for view in VIEWS:
        tab.go(f"{ui.project}/{view}")
        wanted = tab.page.evaluate(
            "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]"
            ".filter((part) => part.checkVisibility() && !part.disabled).length"
        )
        seen = set()
        for number in range(wanted + 5):
            tab.page.keyboard.press("Tab")
            at = tab.page.evaluate(
                "(() => { const part = document.activeElement; part.dataset.at ??= '"
                + str(number)
                + "';"
                "const style = getComputedStyle(part);"
                "return [part.dataset.at, part.tagName, style.outlineStyle, part.getBoundingClientRect().width]; })()"
            )
            if at[1] == "BODY":
                continue
            assert at[2] != "none", (view, at)
            assert at[3] > 0, (view, at)
            seen.add(at[0])
        assert len(seen) >= wanted - 1, (view, len(seen), wanted)


def test_every_view_can_be_read_without_scripts(ui: Ui, pages: list[str], open_page: OpenPage):
    tab, plain = open_page(ui), open_page(ui, java_script_enabled=False)
    for path in pages:
        tab.go(path)
        plain.go(path)
        with_scripts, without = (set(one.text().split()) for one in (tab, plain))
        lost = with_scripts - without
        assert len(lost) <= 0.2 * len(with_scripts) + 10, (path, lost)
        assert plain.page.locator("footer").count() == 1


@pytest.mark.skipif(
    not SHOTS, reason="pictures are made when RECOLLECT_SCREENSHOTS=1 asks for them"
)
def test_a_picture_of_each_view(ui: Ui, open_page: OpenPage):
    tab = open_page(ui, color_scheme="light")
    pnpm = next(
        one["id"]
        for one in ui.world.json("list", "--kind", "rule")
        if one["body"] == "Use pnpm, not npm."
    )
    more = {
        "session": "sessions/c05d9a70-webhook#turn1",
        "memory": f"memory/{pnpm}",
        "try": f"try?prompt={quote(ASKED)}",
    }
    IMAGES.mkdir(exist_ok=True)
    for name, path in ({view: view for view in VIEWS} | more).items():
        tab.go(f"{ui.project}/{path}")
        tab.page.screenshot(path=IMAGES / f"{name}.png")
