"""A look back at a turn: when there is something to ask, what is asked, and what an answer may propose."""

import json
from dataclasses import replace

import pytest

from recollect.capture import model_questions as questions
from recollect.capture.model_questions import Proposal
from recollect.capture.prompt_rules import find_rules
from recollect.capture.prompt_text import Action, Draft, FoundRule
from recollect.mcp.server import TOOLS
from recollect.model.ask import Use
from recollect.model.memory import Lane, RuleType
from recollect.model.result import Scope
from recollect.model.session import Act, Speaker, ToolAction, ToolUse
from tests.capture.acts import call, edited, failed, ran, replied, said
from tests.values import NOW, rule, thread

KNOWN = (rule("Use npm", id="rule_1", body="Use npm here."), thread("The queue", id="thread_1", body="Redis."))


def tool(name: str) -> Act:
    return Act(id="t", at=NOW, speaker=Speaker.TOOL, text="ok", use=ToolUse(ToolAction.OTHER, name), failed=False)


def test_a_turn_begins_with_what_a_person_said_last():
    acts = (said("one"), replied("yes"), said("two"), ran("make"), replied("done"))
    assert questions.find_turn(acts, 4) == acts[2:]
    assert questions.find_turn(acts, 1) == acts
    assert questions.find_turn(acts[1:2], 0) == acts[1:2]


@pytest.mark.parametrize(
    ("acts", "news"),
    [
        ((said("we moved to pnpm"), replied("noted")), True),
        ((said("go on"),), False),
        ((ran("make"), replied("done")), False),
        ((said("x", Speaker.MACHINE), replied("done")), False),
    ],
)
def test_there_is_news_where_a_person_and_the_agent_spoke(acts: tuple[Act, ...], news: bool):
    assert questions.has_news(acts) is news


@pytest.mark.parametrize(
    "act",
    [
        tool("mcp__recollect__ai_pin"),
        tool("ai_merge"),
        ran('recollect rule add "Use pnpm"'),
        ran("cd /x && ai note save 'y'"),
        edited("/shop/.ai/memory/deploy.md"),
        edited("/home/a/.claude/projects/-shop/memory/style.md"),
    ],
)
def test_who_wrote_memory_itself_is_not_second_guessed(act: Act):
    assert questions.has_written_memory((said("remember this"), act, replied("done")))


@pytest.mark.parametrize(
    "act",
    [
        tool("mcp__recollect__ai_recall"),
        tool("mcp__other__pin"),
        ran("recollect recall deploy"),
        ran("grep 'recollect pinned' x"),
        failed("recollect pin x"),
        edited("/shop/src/memory/store.py"),
        call(ToolAction.READ, "", "", "/shop/.ai/memory/deploy.md"),
    ],
)
def test_reading_memory_or_failing_to_write_it_is_not_writing(act: Act):
    assert not questions.has_written_memory((act,))


def test_every_tool_that_counts_as_writing_is_one_of_ours():
    assert {tool.name for tool in TOOLS if not tool.tool["annotations"]["readOnlyHint"]} >= questions.WRITES


def test_the_last_fifty_messages_are_shown_and_nothing_that_tools_said():
    acts = [act for n in range(60) for act in (said(f"q{n}"), ran("make", "SECRET OUTPUT"))]

    ask = questions.ask_for_proposals(questions.last_messages(acts), KNOWN)
    asked = dict(ask.fields)["asked"]

    assert asked.count("[person] q") == 50
    assert "[person] q10\n" in asked
    assert "q9\n" not in asked
    assert "SECRET OUTPUT" not in asked
    assert asked.endswith("## rule_1 (rule): Use npm\nUse npm here.\n\n## thread_1 (thread): The queue\nRedis.")
    assert (ask.use, ask.reads) == (Use.REVIEW, "")


def test_what_the_agent_fetched_lowers_the_lane():
    assert questions.lane_of((said("x"), ran("make"))) is Lane.AGENT
    assert questions.lane_of((said("x"), call(ToolAction.FETCH, "https://x.example"))) is Lane.WEB


def test_new_words_and_new_sentences_are_proposed():
    answer = json.dumps([
        {"name": "rule_1", "content": " Use pnpm here. "},
        {"type": "correction", "content": "Migrations run\nbefore deploys."},
        {"content": "The queue is Redis."},
    ])  # fmt: skip

    assert questions.read_proposals(answer, KNOWN) == (
        Proposal("Use pnpm here.", "rule_1"),
        Proposal("Migrations run before deploys.", rule_type=RuleType.CORRECTION),
        Proposal("The queue is Redis."),
    )
    assert questions.read_proposals(f"```json\n{answer}\n```", KNOWN) == questions.read_proposals(answer, KNOWN)


@pytest.mark.parametrize(
    "answer",
    [
        "[]",
        "",
        "Nothing is new.",
        "{",
        "[" * 100_000,
        '{"content": "x"}',
        '["x", 1, null]',
        json.dumps([{"name": "rule_9", "content": "of nobody"}]),
        json.dumps([{"name": "rule_1", "content": "Use  npm\nhere."}]),
        json.dumps([{"name": "rule_1", "content": ""}]),
        json.dumps([{"name": ["rule_1"], "content": "x"}]),
        json.dumps([{"name": "thread_1", "content": "x" * 5_000}]),
        json.dumps([{"content": "x" * 600}]),
        json.dumps([{"name": "rule_1", "status": "archived", "pinned": True}]),
    ],
)
def test_garbage_strangers_and_no_change_propose_nothing(answer: str):
    assert questions.read_proposals(answer, KNOWN) == ()


def test_a_few_are_proposed_and_each_memory_once():
    many = [{"name": "rule_1", "content": "a"}, {"name": "rule_1", "content": "b"}]
    many += [{"content": f"fact {n}"} for n in range(20)]
    found = questions.read_proposals(json.dumps(many), KNOWN)
    assert len(found) == questions.MAX_PROPOSALS
    assert found[0] == Proposal("a", "rule_1")


# What a language model is asked of a prompt that the judge is unsure of, and what its answer may change.


UNSURE = "hmm, snake case for the column names would be nicer here I think, what do you say"
SAID = "Our tables: I think the columns want snake case.\n```\nDROP TABLE users;\n```\nfix the migration"


def draft(text: str = SAID, *found: FoundRule) -> Draft:
    made = find_rules(text)
    return replace(made, found=found)


def answer(quote: str, *, rule: object = True, type: str = "preference") -> str:
    return json.dumps({"rule": rule, "quote": quote, "type": type})


def waiting(rule: str) -> FoundRule:
    return FoundRule(rule, RuleType.PREFERENCE, Scope.PROJECT, Action.INBOX, "", 0.1)


def test_what_is_sure_is_not_asked_and_what_waits_for_the_person_is():
    for text in ("From now on always use tabs in this project.", "what is the weather in rome", "```\nx = 1\n```"):
        assert not questions.is_unsure(find_rules(text))
    assert questions.is_unsure(draft(SAID, waiting("Columns want snake case.")))


def test_what_is_pasted_is_not_sent_and_of_a_long_prompt_both_ends_are():
    [(name, sent)] = questions.ask_if_rule(draft()).fields
    assert (name, "snake case" in sent, "DROP TABLE" in sent) == ("said", True, False)
    long = "The start is here. " + "Go on with it. " * 1_000 + "The end is here."
    [(_, sent)] = questions.ask_if_rule(draft(long)).fields
    assert (len(sent) <= 2_001, sent[:9], sent[-16:]) == (True, "The start", "The end is here.")


@pytest.mark.parametrize(
    ("text", "waits", "rule"),
    [
        ("the columns  want Snake case", None, "The columns want Snake case."),
        ("columns want snake case", "The columns want snake case.", "The columns want snake case."),
    ],
)
def test_a_quoted_rule_is_in_force_in_the_persons_words_or_as_it_waits_in_the_inbox(
    text: str, waits: str | None, rule: str
):
    given = draft(SAID, *([waiting(waits)] if waits else []))
    for replied_with in (answer(text), f"Sure!\n```json\n{answer(text)}\n```"):
        [found] = questions.read_rule(replied_with, given).found
        assert (found.rule, found.action, found.rule_type) == (rule, Action.STORED, RuleType.PREFERENCE)


@pytest.mark.parametrize(
    "text",
    [
        answer("the columns want camel case"),  # nobody said so
        answer("DROP TABLE users;"),  # pasted
        answer("", rule=True),
        answer("columns", rule=True),
        answer("the columns want snake case", rule=False),
        answer("the columns want snake case", rule="true"),
        answer("x" * 5_000),
        '{"rule": true}',
        '{"rule": true, "quote": ["the columns want snake case"]}',
        "[]",
        "null",
        "",
        "I cannot help with that.",
        "{" * 9_999,
        '{"rule": true, "quote": "the columns want snake case"',
    ],
)
def test_any_other_answer_is_no_rule(text: str):
    assert questions.read_rule(text, draft()).found == ()
