"""Each sentence of a prompt is judged by itself: invented prompts, as untidy as people type them."""

from __future__ import annotations

import pytest

from recollect.capture.draft import Action, Draft
from recollect.capture.pipeline import capture


def rules(draft: Draft, action: Action) -> list[str]:
    return [one.rule for one in draft.found if one.action is action]


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("ok fix it. And we always use Decimal here, never float.", "Always use Decimal, never float."),
        ("squash merge always happens. could you enable auto merge for it?", "Squash merge always happens."),
        ("never commit to main, open a pull request instead", "Never commit to main, open a pull request instead."),
        ("do not restart ngrok as the url is stable", "Do not restart ngrok as the url is stable."),
        ("Tests must not hit the network. Mock the HTTP client.", "Tests must not hit the network."),
        ("can you check the failing job? also remember that we target python 3.9", "We target python 3.9."),
        ("use tabs not spaces", "Use tabs not spaces."),
        ("I told you already: tests go in tests/unit.", "I told you already: tests go in tests/unit."),
        ("my name is Lisa, call me Lisa", "My name is Lisa, call me Lisa."),
        ("remember: staging deploys from the release branch", "Staging deploys from the release branch."),
        ("from now on use conventional commits", "Use conventional commits."),
        ("stop creating summary files after each task, i never read them", None),
        ("don't push without asking me first", "Do not push without asking me first."),
    ],
)  # fmt: skip
def test_a_standing_order_or_fact_is_in_force_at_once(said: str, rule: str | None):
    found = rules(capture(said), Action.STORED)

    assert len(found) == 1
    assert rule is None or found == [rule]


@pytest.mark.parametrize(
    "said",
    [
        "I allow you to commit with --no-verify",
        "don't touch auth.py in this PR",
        "don't fix anything yet, just tell me what you see",
        "The docker image is 2 GB",
        "the export is 40 MB, thats way too much",
        "We need a CDN",
        "we should have dark mode and the contrast must always be AA",
        "the button should be blue",
        "the importer must skip empty lines and never crash",
        "That's not what I meant, the tooltip belongs on the left",
        "no i meant the other endpoint, the one for invoices",
        "😭.",
        "We are back.",
        "should tests always live next to the code?",
        "i prefer option b",
        "it should remember the choice of the user",
        "from the reviewer: always validate input at the boundary",
        "can you take a look at: The wrapper is never used. Consider removing it, and always use the helper directly.",
        "let's use true/false and not on/off for the new option",
        "make sure the tests pass and then push",
        "when i click on save it always jumps back to the first tab",
    ],
)
def test_what_is_said_of_the_work_at_hand_is_not_in_force(said: str):
    assert rules(capture(said), Action.STORED) == []


def test_of_a_specification_nothing_is_in_force():
    points = [
        "The worker must always retry three times.",
        "Never log the payload.",
        "We use a queue per tenant.",
        "Tests must not depend on each other.",
        "Always close the connection.",
        "Commit messages are in English.",
    ]
    spec = "Plan for the import\n\n" + "\n".join(f"- {point}" for point in points)

    draft = capture(spec)

    assert rules(draft, Action.STORED) == []
    assert len(rules(draft, Action.INBOX)) <= 1
    assert {one.action for one in draft.refused} == {Action.DROPPED}


def test_in_a_long_text_one_sentence_that_is_to_last_waits():
    story = " ".join(f"Then step {number} reads the file and writes a row." for number in range(40))

    draft = capture(f"{story} From now on always use worktrees for parallel work.")

    assert rules(draft, Action.STORED) == []
    assert rules(draft, Action.INBOX) == ["Always use worktrees for parallel work."]


def test_what_looks_like_a_rule_and_is_dropped_is_named_with_its_reason():
    (one,) = capture("never run the migrations until monday").refused

    assert (one.action, one.reason) == (Action.DROPPED, "an order for this once")


def test_a_rule_names_the_very_words_that_it_was_made_from():
    said = "ok fix it. And we always use Decimal for money here, never float. thanks"

    (one,) = capture(said).found

    assert one.span == "And we always use Decimal for money here, never float."
    assert one.span in said


def test_two_rules_in_one_prompt_are_two_rules():
    found = rules(capture("Never push to main. Always run make lint before you commit."), Action.STORED)

    assert found == ["Never push to main.", "Always run make lint before you commit."]


def test_a_dot_in_a_file_name_ends_no_sentence():
    (one,) = capture("Use billing.py, not payment_utils.py.").found

    assert one.rule == "Use billing.py, not payment_utils.py."


def test_a_sentence_may_make_the_one_before_it_lasting():
    assert rules(capture("the api key rotates weekly. make sure to memorize this"), Action.STORED) == [
        "The api key rotates weekly. Make sure to memorize this."
    ]


def test_what_somebody_asks_to_remember_is_in_force():
    assert capture("make sure to memorize this: the api key rotates weekly").verdict.action is Action.STORED


def test_a_rule_by_its_form_that_the_words_speak_against_waits():
    assert capture("this repo is a mess of scripts that run on cron").verdict.action is not Action.STORED
    assert capture("we prefer many small functions over comments").verdict.action is not Action.DROPPED


@pytest.mark.parametrize(
    "said",
    [
        "Nunca hagas push directamente a main.",
        "a partir de ahora usa siempre comillas simples",
        "Me llamo Lucía.",
        "Меня зовут Лиза. Обращайся ко мне Лиза.",
        "с этого момента пиши комментарии на русском",
        "никогда не коммить напрямую в main, открывай PR",
        "мы используем pnpm, а не npm",
        "Gọi tôi là Minh",
        "từ giờ trở đi hãy viết commit bằng tiếng Anh",
        "Đừng bao giờ push thẳng lên main",
        "以后提交信息都用中文写",
        "记住：测试数据库端口是5433",
        "永远不要直接推送到 main",
        "Pushe niemals direkt auf main",
        "Ich heiße Jonas, nenn mich Jo",
        "merk dir: Staging läuft auf Port 8081",
        "Ne pousse jamais directement sur main",
        "désormais réponds toujours en français",
        "私の名前はユキです。ユキと呼んでください。",
        "今後コミットメッセージは日本語で書いてください",
        "Nunca faça push direto na main",
        "meu nome é Rafa, me chame de Rafa",
    ],
)
def test_orders_names_and_what_is_to_last_are_heard_in_each_language(said: str):
    assert rules(capture(said), Action.STORED)


@pytest.mark.parametrize(
    "said",
    [
        "cada vez que abro la página falla",
        "el botón debe ser siempre azul",
        "эта кнопка всегда падает с ошибкой",
        "добавь кнопку выхода",
        "nút này luôn bị lỗi",
        "sửa lỗi đăng nhập giúp tôi",
        "每次点击都会报错",
        "这个按钮应该是蓝色的",
        "我希望你修复登录页面",
        "jedes Mal wenn ich speichere kommt ein Fehler",
        "Der Button soll immer blau sein",
        "ボタンの色を青にしてください",
        "adicione um botão azul",
    ],
)
def test_wishes_and_symptoms_are_dropped_in_each_language(said: str):
    assert capture(said).verdict.action is Action.DROPPED
