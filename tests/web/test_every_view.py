"""What holds for every view: light, dark, narrow, by keyboard, without scripts, and with a home full of payloads."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.web import payloads
from tests.web.conftest import OpenPage
from tests.web.served import Ui, list_pages, running, scratch_world

SHOTS = os.environ.get("RECOLLECT_SCREENSHOTS", "")  # read before the tests have an environment of their own
IMAGES = Path(__file__).resolve().parent.parent.parent / "docs" / "images"
VIEWS = ("now", "sessions", "inbox", "library", "try", "health")


@pytest.fixture(scope="session")
def hostile_ui() -> Iterator[Ui]:
    """Whose every word wants to be more than that."""
    with scratch_world() as world:
        world.project = payloads.fill(world.root)
        with running(world) as ui:
            yield ui.sign_in()


def test_the_views_are_those_that_are_tested(pages: list[str]):
    assert set(VIEWS) <= {urlsplit(path).path.split("/")[3] for path in pages}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_no_page_has_a_serious_barrier_or_scrolls_sideways(
    ui: Ui, pages: list[str], open_page: OpenPage, scheme: str, width: int
):
    tab = open_page(ui, color_scheme=scheme, viewport={"width": width, "height": 800})
    found = []
    for path in pages:
        assert tab.go(path).status == 200
        found += [f"{path}: {one}" for one in tab.serious()]
        wide = tab.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        found += [f"{path}: {wide} px too wide"] if wide > 0 else []
        headings = tab.page.evaluate("document.querySelectorAll('h1').length")
        found += [f"{path}: {headings} first headings"] if headings != 1 else []
    assert not found, "\n".join(found)


def test_dark_is_dark_by_the_system_or_by_the_switch(ui: Ui, open_page: OpenPage):
    tab = open_page(ui, color_scheme="dark")
    body, light, dark = tab.page.locator("body"), re.compile(r"rgb\(2\d\d, "), re.compile(r"rgb\(\d\d, ")
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
                "(() => { const part = document.activeElement; part.dataset.at ??= '" + str(number) + "';"
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


_STRUCTURE = """() => {
  const wrong = [];
  const all = [...document.querySelectorAll('*')];
  for (const part of all) {
    for (const {name, value} of part.attributes) {
      if (name.startsWith('on') || name === 'style' || name === 'srcdoc') wrong.push(`${part.tagName} ${name}`);
      if (['href', 'src', 'action', 'formaction', 'data', 'xlink:href'].includes(name)
          && !/^(\\/|#|https?:)/.test(value)) wrong.push(`${part.tagName} ${name}=${value.slice(0, 80)}`);
    }
  }
  const banned = 'iframe, object, embed, base, style, template, video, audio, img, plaintext, xmp, [http-equiv]';
  for (const part of document.querySelectorAll(banned)) wrong.push(`a ${part.tagName}`);
  for (const part of document.forms) if (new URL(part.action).host !== location.host) wrong.push('a form');
  if (document.scripts.length !== 1) wrong.push('scripts');
  const frame = [...document.body.children].map((part) => part.tagName).join(' ');
  if (!/HEADER MAIN DIV FOOTER$/.test(frame)) wrong.push(frame);
  if (document.querySelectorAll('main, h1').length !== 2) wrong.push('more than one main or h1');
  if (window.pwned !== undefined) wrong.push('it ran');
  return wrong;
}"""


@pytest.mark.parametrize("view", VIEWS)
def test_stored_words_stay_words(hostile_ui: Ui, open_page: OpenPage, view: str):
    """Nothing runs, nothing is asked elsewhere, and the page keeps its frame, on the view and on what it links to."""
    tab = open_page(hostile_ui)
    found = list(dict.fromkeys([f"{hostile_ui.project}/{view}", *_more_pages(hostile_ui, view)]))
    wrong = []
    for path in found:
        assert tab.go(path).status == 200, path
        wrong += [f"{path}: {one}" for one in tab.page.evaluate(_STRUCTURE)]
        for summary in tab.page.locator("summary").all()[:10]:
            summary.click()
        assert not tab.page.evaluate("window.pwned"), path
    assert not wrong, "\n".join(wrong)


def _more_pages(ui: Ui, view: str) -> list[str]:
    """Of each kind that is linked, some."""
    return [
        path
        for path in list_pages(ui, each=8)
        if path.startswith(f"{ui.project}/{'memory' if view == 'library' else view}")
    ]


@pytest.mark.skipif(not SHOTS, reason="pictures are made when RECOLLECT_SCREENSHOTS=1 asks for them")
@pytest.mark.parametrize("view", VIEWS)
def test_a_picture_of_each_view(ui: Ui, open_page: OpenPage, view: str):
    tab = open_page(ui, color_scheme="light")
    tab.go(f"{ui.project}/{view}")
    IMAGES.mkdir(exist_ok=True)
    tab.page.screenshot(path=IMAGES / f"{view}.png")
