"""Titles: three to eight words that name the matter, taken out of untidy records."""

from __future__ import annotations

import pytest

from recollect.capture.title import title
from recollect.model.record import Record

TOPICS = ("parse_header", "http parser")


@pytest.mark.parametrize(
    ("prompt", "wanted"),
    [
        ("can you please fix the flaky outbox test on CI?", "Fix the flaky outbox test on CI"),
        ("unrelated: product search misses umlauts, any idea?", "Product search misses umlauts"),
        ("Hi! I want you to add --json to `agentctl status` so scripts can read it", "Add --json to `agentctl status`"),
        (
            "the build is broken again!!! please please just make the docker image build on arm64",
            "Make the docker image build on arm64",
        ),
        ("give me a script that prunes old backups", "Script that prunes old backups"),
        ("no, rename `fetch_all` to `load_rows` if possible", "rename `fetch_all` to `load_rows`"),
        ("clean this up by removing the unused `merge_rows()` helper", "Removing the unused `merge_rows()` helper"),
        ("parse_header.py breaks on empty lines", "parse_header.py breaks on empty lines"),
    ],
)
def test_a_request_is_named_without_what_leads_up_to_it(prompt: str, wanted: str):
    assert title([Record(asked=prompt, ended="Done.")], ("x", "y")).casefold() == wanted.casefold()


@pytest.mark.parametrize(
    ("ended", "wanted"),
    [
        ("I've replaced the polling loop in the sync with webhooks.", "Replace polling loop in sync with webhooks"),
        ("The price cache has been moved to Redis.", "Move price cache to Redis"),
        ("Done. I dropped the unused `tags` column.", "Drop the unused `tags` column"),
        ("The WAL no longer loses its torn tail.", "WAL no longer loses its torn tail"),
        ("`cart.py:12` - Added a guard for empty carts; `tax.py:8` - Removed it", "Add a guard for empty carts"),
        ("All done! I've implemented the coupon engine with stacking rules and wrote 12 tests.",
         "Implement coupon engine with stacking rules"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("asked", ["fix it", "Option 3", "looks good", "address the comments", "why is that?", "do it"])
def test_where_the_request_names_nothing_the_outcome_does(asked: str, ended: str, wanted: str):
    assert title([Record(asked=asked, ended=ended)], ()) == wanted


def test_a_plan_is_named_by_its_heading_and_a_commit_by_its_subject():
    plan = Record(asked="Plan: Move Session Tokens to Redis (Phase 2)", ended="I've added a token table.")
    commit = Record(
        asked="commit",
        ran='git commit -m "fix(inventory): stop double counting returned items (#42)"',
        ended="Committed.",
    )
    request = Record(asked="open a PR", ran='gh pr create --title "feat: offline mode for the map view"', ended="Done.")

    assert title([plan]) == "Move Session Tokens to Redis"
    assert title([commit]) == "Stop double counting returned items"
    assert title([request]) == "Offline mode for the map view"


def test_a_long_sentence_is_cut_where_a_part_of_it_ends():
    long = "The `resume()` function may incorrectly mark an active job as lost if it has just started and has no lease"
    quoted = 'The loop in `drain()` is safe, and the "stop if the queue is empty" rule keeps it from spinning for ever'

    assert title([Record(asked="hm", ended=long)]) == "`resume()` function may mark active job as lost"
    assert title([Record(asked="hm", ended=quoted)]) == "Loop in `drain()` is safe"


@pytest.mark.parametrize(
    ("prompt", "wanted"),
    [
        (
            "hola, ¿puedes agregar paginación a la lista de clientes?",
            "Agregar paginación a la lista de clientes",
        ),
        ("por favor agrega un filtro a la lista de facturas", "Agrega un filtro a la lista de facturas"),
        (
            "Привет, можешь добавить тёмную тему в настройки профиля, чтобы она сохранялась?",
            "Добавить тёмную тему в настройки профиля",
        ),
        ("请帮我修复登录页面的验证码，谢谢", "修复登录页面的验证码"),
        ("giúp tôi sửa lỗi không tải được ảnh khi mạng chậm", "Sửa lỗi không tải được ảnh"),
        ("Kannst du bitte die Preise im Export runden, weil der Kunde das braucht?", "Preise im Export runden"),
        ("bonjour, peux-tu ajouter un filtre par date ?", "Ajouter un filtre par date"),
    ],
)
def test_a_title_is_in_the_language_of_the_request(prompt: str, wanted: str):
    assert title([Record(asked=prompt)], TOPICS) == wanted


def test_topics_stand_in_for_what_nobody_named():
    assert title([Record(asked="fix it", ended="Done.")], TOPICS) == "parse_header and http parser"


@pytest.mark.parametrize(
    "prompt", ["fix it", "", "日本語のタイトル", "a" * 500, '"""', "src/a/b/c.py", "?? !! ..", "`" * 9]
)
def test_a_title_has_at_most_eight_words_and_is_never_empty(prompt: str):
    found = title([Record(asked=prompt)], ())

    assert found
    assert len(found.split()) <= 8
    assert len(found) <= 80
