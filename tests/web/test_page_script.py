"""What the script does with slow, refused and repeated requests, in a real browser; and how stored words are shown."""

import re
import time

import pytest
from playwright.sync_api import Route, expect

from recollect.web.words import MAX_MARKDOWN_CHARS, markdown, ticks
from tests.daemon.real import PATIENCE_S
from tests.web.conftest import OpenPage
from tests.web.served import Ui


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("Run `recollect ui` again.", "Run <code>recollect ui</code> again."),
        ("`<script>alert(1)</script>`", "<code>&lt;script&gt;alert(1)&lt;/script&gt;</code>"),
        ('<img src=x onerror="`a`">', "&lt;img src=x onerror=&#34;<code>a</code>&#34;&gt;"),
        ("one ` alone", "one ` alone"),
        ("a\u202eb `\x1b`", r"a\u202eb <code>\x1b</code>"),
    ],
)
def test_backticks_become_code_and_the_rest_stays_words(text: str, html: str):
    assert str(ticks(text)) == html


def test_a_very_long_text_is_shown_as_it_was_written():
    long = "* **one** <script>\u202e\n" * (MAX_MARKDOWN_CHARS // 10)

    shown = str(markdown(long))

    assert shown.startswith("<pre>* **one** &lt;script&gt;\\u202e\n")
    assert "<b" not in shown
    assert "<script" not in shown


def test_markdown_shows_what_would_hide_or_reorder():
    assert (
        str(markdown("one\u202e\r\n\r\n* two\x1b"))
        == "<p>one\\u202e</p>\n<ul>\n<li>two\\x1b</li>\n</ul>\n"
    )


def test_a_refusal_is_said_and_what_was_typed_stays(own_ui: Ui, open_page: OpenPage):
    tab = open_page(own_ui)
    tab.go(f"{own_ui.project}/now")
    typed = tab.page.get_by_label("A new rule")
    typed.fill("Never lose what was typed.")
    tab.page.context.clear_cookies()
    typed.press("Enter")
    expect(tab.page.locator("#bar")).to_contain_text("This page is private: Run recollect ui again")
    expect(typed).to_have_value("Never lose what was typed.")
    expect(tab.page.get_by_role("button", name="Add the rule")).to_be_enabled()
    tab.problems = [one for one in tab.problems if "401" not in one]


def test_a_slow_answer_does_not_replace_a_later_one(own_ui: Ui, open_page: OpenPage):
    tab, held = open_page(own_ui), list[Route]()
    tab.go(f"{own_ui.project}/library")
    tab.page.route("**/library?q=first", lambda route: held.append(route))
    words = tab.page.get_by_role("searchbox")
    words.fill("first")
    words.press("Enter")
    expect(tab.page.get_by_role("button", name="Search")).to_be_disabled()
    words.fill("second")
    tab.page.locator("[name=since]").select_option("in the last year")
    expect(tab.page).to_have_url(re.compile("q=second"))
    with tab.page.expect_response("**/library?q=first") as answer:
        held[0].continue_()
    answer.value.finished()
    expect(tab.page.locator("body")).not_to_have_attribute("aria-busy", "true")
    expect(tab.page).to_have_url(re.compile("q=second"))


def test_a_decision_is_sent_once_however_often_the_key_is_pressed(own_ui: Ui, open_page: OpenPage):
    tab, held = open_page(own_ui), list[Route]()
    tab.go(f"{own_ui.project}/inbox")
    many = tab.page.locator("[data-card]").count()
    tab.page.route("**/do/**", lambda route: held.append(route))
    tab.page.keyboard.press("y")
    expect(tab.page.locator("body")).to_have_attribute("aria-busy", "true")
    for key in "yny":
        tab.page.keyboard.press(key)
    # The page is busy before its request has reached the route here.
    limit_s = time.monotonic() + PATIENCE_S
    while not held and time.monotonic() < limit_s:
        tab.page.wait_for_timeout(10)
    held[0].continue_()
    expect(tab.page.locator("#bar")).to_contain_text("In force: ")
    expect(tab.page.locator("[data-card]")).to_have_count(many - 1)
    assert len(held) == 1
