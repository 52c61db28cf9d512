"""What is heard as a rule, and what is not. The families of the two are tables; the figures are in bench/capture.py."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import capture
from recollect.capture.prompt_rules import (
    MAX_CHARS,
    find_rules,
    judge_prompt,
    scope_of,
    traits,
    word_rule,
)
from recollect.capture.prompt_text import MAX_SENTENCE_CHARS, Action, Draft
from recollect.capture.tables import CODES, Patterns, Words, compiled, language, table
from recollect.model.result import Scope
from tests.cases import cases


def rules(draft: Draft, action: Action) -> list[str]:
    return [one.rule for one in draft.found if one.action is action]


def in_force(said: str) -> list[str]:
    return rules(find_rules(said), Action.STORED)


@pytest.mark.parametrize(("said", "rule_type"), cases("prompt_rules", "a_standing_rule_is_heard"))
def test_a_standing_rule_is_heard(said: str, rule_type: str):
    assert find_rules(said).verdict.rule_type == rule_type


@pytest.mark.parametrize(
    "said",
    [
        *cases("prompt_rules", "what_holds_for_this_once_or_for_nobody_is_no_rule"),
        *cases("prompt_rules", "pasted_text_is_never_a_rules_wording"),
        *cases("prompt_rules", "wishes_and_symptoms_are_dropped_in_each_language"),
    ],
)
def test_what_holds_for_this_once_or_for_nobody_is_no_rule(said: str):
    verdict = find_rules(said).verdict
    assert verdict.action is Action.DROPPED
    assert verdict.reason


def test_only_what_the_person_says_beside_a_paste_is_kept():
    said = "FAILED tests/test_auth.py::test_x - always close it\n1 failed\n\nPlease fix. In this repo we freeze time."
    draft = find_rules(said)
    assert "freeze time" in draft.verdict.rule
    assert "close" not in draft.verdict.rule


@pytest.mark.parametrize(
    ("said", "rule"), cases("prompt_rules", "a_rule_is_worded_as_a_sentence_that_stands_alone")
)
def test_a_rule_is_worded_as_a_sentence_that_stands_alone(said: str, rule: str):
    assert find_rules(said).verdict.rule == rule


@pytest.mark.parametrize(
    ("said", "rule"), cases("prompt_rules", "no_word_that_bears_the_meaning_is_taken_away")
)
def test_no_word_that_bears_the_meaning_is_taken_away(said: str, rule: str):
    assert word_rule([said], language("en")) == rule


def test_what_a_sentence_points_back_to_is_kept_with_it():
    rule = find_rules(
        "you edited texts in legal/. hands off that folder, only the lawyers change it"
    ).verdict.rule
    assert "legal/" in rule
    assert "hands off" in rule.lower()


@pytest.mark.parametrize(("said", "scope"), cases("prompt_rules", "scopes"))
def test_the_wording_says_how_far_a_rule_reaches(said: str, scope: str):
    assert find_rules(said).verdict.scope == scope


@given(st.text(max_size=2_000))
def test_any_text_gets_a_verdict_with_a_reason(text: str):
    verdict = find_rules(text).verdict
    assert verdict.reason
    assert bool(verdict.rule) == (verdict.action is not Action.DROPPED)
    assert find_rules(text).verdict == verdict


@pytest.mark.parametrize("piece", cases("prompt_rules", "a_hostile_prompt_costs_little"))
def test_a_hostile_prompt_costs_little(piece: str):
    """One that is tried again at every place would take hours; the milliseconds are the benchmark's."""
    import time

    sentence = piece * (MAX_SENTENCE_CHARS // len(piece))
    begun = time.process_time()
    find_rules(piece * (MAX_CHARS // len(piece)))
    find_rules(f"{sentence}. " * 5)
    assert time.process_time() - begun < 30


@pytest.mark.parametrize(
    ("said", "rule"), cases("prompt_rules", "a_standing_order_or_fact_is_in_force_at_once")
)
def test_a_standing_order_or_fact_is_in_force_at_once(said: str, rule: str):
    found = in_force(said)
    assert len(found) == 1
    assert not rule or found == [rule]


@pytest.mark.parametrize(
    "said", cases("prompt_rules", "what_is_said_of_the_work_at_hand_is_not_in_force")
)
def test_what_is_said_of_the_work_at_hand_is_not_in_force(said: str):
    assert in_force(said) == []


def test_of_a_specification_nothing_is_in_force():
    points = (
        "The worker must always retry three times|Never log the payload|We use a queue per tenant|"
        "Tests must not depend on each other|Always close the connection|Commit messages are in English"
    )
    spec = "Plan for the import\n\n" + "\n".join(f"- {point}." for point in points.split("|"))
    draft = find_rules(spec)
    assert rules(draft, Action.STORED) == []
    assert len(rules(draft, Action.INBOX)) <= 1
    assert {one.action for one in draft.refused} == {Action.DROPPED}


def test_in_a_long_text_one_sentence_that_is_to_last_waits():
    story = " ".join(f"Then step {number} reads the file and writes a row." for number in range(40))
    draft = find_rules(f"{story} From now on always use worktrees for parallel work.")
    assert rules(draft, Action.STORED) == []
    assert rules(draft, Action.INBOX) == ["Always use worktrees for parallel work."]


def test_what_looks_like_a_rule_and_is_dropped_is_named_with_its_reason():
    (one,) = find_rules("never run the migrations until monday").refused
    assert (one.action, one.reason) == (Action.DROPPED, "an order for this once")


def test_a_rule_names_the_very_words_that_it_was_made_from():
    said = "ok fix it. And we always use Decimal for money here, never float. thanks"
    (one,) = find_rules(said).found
    assert one.span == "And we always use Decimal for money here, never float."
    assert one.span in said
    (file,) = find_rules("Use billing.py, not payment_utils.py.").found
    assert file.rule == "Use billing.py, not payment_utils.py.", (
        "a dot in a file name ends no sentence"
    )


@pytest.mark.parametrize(("said", "found"), cases("prompt_rules", "rules_of_one_prompt"))
def test_each_rule_of_a_prompt_is_one_with_what_makes_it_lasting(said: str, found: list[str]):
    assert in_force(said) == found


@pytest.mark.parametrize(
    "said", cases("prompt_rules", "orders_names_and_what_is_to_last_are_heard_in_each_language")
)
def test_orders_names_and_what_is_to_last_are_heard_in_each_language(said: str):
    assert in_force(said)


def test_a_rule_by_its_form_that_the_words_speak_against_waits():
    assert not in_force("this repo is a mess of scripts that run on cron")
    assert not in_force("the importer must never skip rows in this repo")
    assert (
        find_rules("we prefer many small functions over comments").verdict.action
        is not Action.DROPPED
    )


def test_words_only_add_what_waits_in_other_languages():
    draft = find_rules("ya no usamos jenkins, ahora todo corre en github actions. arregla el build")
    assert [(one.action, one.span) for one in draft.found] == [
        (Action.INBOX, "ya no usamos jenkins, ahora todo corre en github actions.")
    ]


def test_quotes_and_pastes_are_marks_and_never_words():
    pieces = judge_prompt(
        'the reviewer said "always use tabs in every single file", see:\n```\nnever push\n```'
    ).pieces
    words = " ".join(trait for number in range(len(pieces)) for trait in traits(pieces, number))
    assert "tabs" not in words
    assert "push" not in words


def test_a_rule_is_likelier_than_the_task_beside_it():
    task, rule = judge_prompt("fix the login form. in this repo we only use named exports").pieces
    assert (task.odds or 0.0) < -2.0
    assert (rule.odds or 0.0) > 0.0


@pytest.mark.parametrize(
    ("said", "scope"),
    [
        ("I want one common client id for login.shop.example from now on", Scope.PROJECT),
        ("I always want tests in tests/unit", Scope.PROJECT),
        ("from now on ask me before you edit src/api/auth.ts", Scope.PROJECT),
        ("I never want to see API_TOKEN in the logs", Scope.PROJECT),
        ("I prefer short answers", Scope.USER),
        ("I always want type hints and/or docstrings", Scope.USER),
        ("from now on show me the diff before you commit", Scope.USER),
    ],
)
def test_what_names_a_thing_of_this_project_holds_here_even_if_it_says_i(said: str, scope: Scope):
    draft = judge_prompt(said)
    assert scope_of(draft, said) is scope


# The tables of capture: all of them compile, all of them are used, and nothing else is asked for.


ROOM = Path(capture.__file__).parent
TABLES = sorted(path.stem for path in (ROOM / "data").glob("*.toml"))


@pytest.mark.parametrize("code", CODES)
def test_every_language_compiles(code: str):
    found = language(code)
    assert found.signals
    assert "a question" in found.vetoes


@pytest.mark.parametrize("name", [name for name in TABLES if name not in CODES])
def test_a_module_uses_all_of_its_table_and_no_more(name: str):
    texts = [path.read_text(encoding="utf-8") for path in ROOM.glob("*.py")]
    source = "".join(
        text
        for text in texts
        if f'("{name}")' in text or (name == "terms" and "import CUES" in text)
    )
    for kind, made in (("patterns", Patterns), ("words", Words)):
        alias = re.search(rf'^(\w+) = {made.__name__}\("{name}"\)$', source, re.MULTILINE)
        used = set(re.findall(rf"(?<!\w){alias[1]}\.(\w+)", source)) if alias else set()
        assert used == set(table(f"{name}.toml").get(kind, {}))
        for one in used:
            assert getattr(made(name), one)


def test_parts_lists_and_line_breaks_are_put_together_and_what_no_table_has_is_an_error():
    assert compiled(["a{B}", "\n    c|\n    d"], {"B": ["x", "y"]}).pattern == "ax|y|c|d"
    assert compiled("words: to do", {}).fullmatch("to  do")
    with pytest.raises(KeyError):
        _ = Patterns("titles").unheard_of


@pytest.mark.parametrize("said", cases("prompt_rules", "words_that_open_a_rule_and_are_part_of_it"))
def test_a_rule_keeps_the_word_that_makes_it_a_refusal_or_says_what_it_is_about(said: str):
    [found] = find_rules(said).found
    assert found.rule == said


@pytest.mark.parametrize(("said", "rule"), cases("prompt_rules", "a_no_to_what_was_done"))
def test_a_no_that_only_answers_the_agent_is_no_part_of_the_rule(said: str, rule: str):
    assert [found.rule for found in find_rules(said).found] == [rule]


# What a person dictates.


CALLS = (
    "remember:", "Remember:", "please remember:", "Remember this:", "merk dir:", "Bitte merk dir:", "retiens :",
    "recuerda:", "lembra:", "запомни:", "记住：", "覚えておいて:", "hãy nhớ:", "기억해줘:",
)  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "words",
    [
        "can you keep your answers shorter?",
        'customers are called "clients"',
        "its spelled Müller not Mueller",
        "staging está en el puerto 5433",
        "why would anybody edit api/? it is generated from openapi.yaml",
        "コミットメッセージは日本語で書いてください",
    ],
)
def test_what_is_dictated_is_in_force_word_for_word(call: str, words: str):
    [found] = find_rules(f"{call} {words}").found

    assert found.action is Action.STORED
    assert found.rule == words


@pytest.mark.parametrize(
    "call",
    [
        "Hey Claude, remember:",
        "Good morning. Remember:",
        "ok and also please remember:",
        "**Remember:**",
        "**remember**:",
        "- remember:",
        "S\u2019il te plaît, retiens :",
        "你好，记住：",
        "请 记住:",
        "Bitte merken:",
        "Claude, remember:",
        "Important, remember:",
        "Merken Sie sich:",
        "Retiens ça :",
        "Recuerde:",
        "Lembre que:",
        "Ricorda che:",
        "Onthoud dit:",
        "Zapamiętaj to:",
        "Запомни на будущее:",
        "请记住这一点：",
        "これを覚えておいて：",
        "기억해 주세요:",
        "Hãy nhớ rằng:",
    ],
)
def test_a_greeting_a_courtesy_or_emphasis_before_it_takes_nothing_from_what_is_dictated(call: str):
    assert [found.rule for found in find_rules(f"{call} deploys are on Tuesday").found] == [
        "deploys are on Tuesday"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "remember:",
        "remember:\n\nfix the login bug in auth.ts",
        "fix the pod:\nlimits:\n  memory: 512Mi\n  cpu: 1",
    ],
)
def test_a_call_with_nothing_to_keep_and_a_setting_are_no_rules(text: str):
    assert not find_rules(text).found


@pytest.mark.parametrize(
    "prompt",
    [
        "remember: [private]",
        "remember: [redacted:github-token:1a2b]",
        "merk dir: [private].",
        "/memory remember [private]",
        "remember:\n- [private]\n- [redacted:secret:00ff]",
    ],
)
def test_what_is_private_as_a_whole_makes_no_rule(prompt: str):
    assert find_rules(prompt).found == ()


def test_beside_what_is_private_the_rest_is_dictated():
    draft = find_rules("remember:\n- [private]\n- the gate code is [private]\n- deploy on Tuesdays")
    assert [rule.rule for rule in draft.found] == [
        "the gate code is [private]",
        "deploy on Tuesdays",
    ]


def test_what_is_dictated_stands_beside_a_task_and_beside_other_rules():
    draft = find_rules(
        "fix the login test please\nremember: we deploy on Tuesdays\nwe use pnpm here, not npm"
    )

    assert [found.rule for found in draft.found] == ["we deploy on Tuesdays", "Use pnpm, not npm."]


def test_a_list_is_dictated_item_by_item():
    draft = find_rules(
        "remember:\n- amounts are integer cents\n* Anna owns billing\n\nnow fix the test"
    )

    assert [found.rule for found in draft.found] == [
        "amounts are integer cents",
        "Anna owns billing",
    ]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (
            "remember: deploys need approval\nremember: tests need docker",
            ["deploys need approval", "tests need docker"],
        ),
        (
            "remember: to release:\n1. tag the commit\n2. push the tag\nthanks",
            ["to release: tag the commit; push the tag"],
        ),
        ("remember: - first thing\n- second thing", ["first thing", "second thing"]),
        ("remember:\n\n- [ ] use pnpm\n\u2013 tabs", ["use pnpm", "tabs"]),
        ("remember:\nuse pnpm\nnever push to main\n\nthanks", ["use pnpm", "never push to main"]),
        (
            "remember:\nAll amounts are integer cents in every table and every reply, and\nnever floats.",
            ["All amounts are integer cents in every table and every reply, and never floats."],
        ),
        ("remember: to release:\nrun make release", ["to release: run make release"]),
        ("remember: to build:\n```sh\nmake gen\n```\nthanks", ["to build: make gen"]),
        ("remember: " + "one and the same " * 50, [("one and the same " * 50).strip()]),
    ],
)
def test_what_is_dictated_in_several_lines_is_kept_whole(text: str, rules: list[str]):
    assert [found.rule for found in find_rules(text).found] == rules


@pytest.mark.parametrize(
    "text",
    [
        "do you remember: what was the port?",
        "can you remember: what was the port?",
        "I can't remember: is it 5432?",
        "```\nremember: use npm\n```",
        "> remember: use npm",
        "remember:",
        "the label says remember: use npm",
    ],
)
def test_who_only_speaks_of_remembering_dictates_nothing(text: str):
    assert not [
        found for found in find_rules(text).found if "npm" in found.rule or "port" in found.rule
    ]


def test_what_a_pasted_specification_tells_to_remember_waits():
    paragraph = "The service reads orders from the queue and writes them to the ledger. "
    text = f"{paragraph * 30}\nRemember: retry three times\n{paragraph * 10}"

    assert [found.action for found in find_rules(text).found] == [Action.INBOX]
