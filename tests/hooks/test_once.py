"""Two ways to the same event, one answer."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from recollect.hooks.once import Once
from recollect.ops import briefs, rules
from recollect.ops.app import App
from tests.hooks.talk import Talk, events

SETTINGS, PLUGIN = "", "plugin"
WAYS: tuple[dict[str, str], ...] = ({}, {"RECOLLECT_VIA": PLUGIN})


def test_the_first_way_is_answered_and_the_other_is_not():
    once = Once()

    assert once.is_first("e", PLUGIN)
    assert not once.is_first("e", SETTINGS)


def test_an_event_that_comes_again_is_answered_again_once():
    once = Once()

    assert [once.is_first("e", way) for way in (SETTINGS, PLUGIN, PLUGIN, SETTINGS)] == [True, False, True, False]


def test_one_way_alone_is_always_answered():
    once = Once()

    assert all(once.is_first("e", SETTINGS) for _ in range(5))


@given(st.lists(st.sampled_from([SETTINGS, PLUGIN]), max_size=60))
def test_no_event_is_answered_more_often_than_the_way_that_told_most(ways: list[str]):
    once = Once()

    answered = sum(once.is_first("e", way) for way in ways)

    assert answered == max(ways.count(SETTINGS), ways.count(PLUGIN))


def test_two_at_the_same_moment_are_one():
    once, answers, start = Once(), [], threading.Barrier(8)

    def tell(way: str) -> None:
        start.wait()
        answers.extend([once.is_first(f"e{number}", way) for number in range(200)])

    threads = [threading.Thread(target=tell, args=(f"way {number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers.count(True) == 200


def test_an_agent_that_calls_in_two_ways_is_told_once_and_heard_once(app: App, talk: Talk):
    rules.add(app, "Write commit subjects in the imperative mood")

    started = [talk.tell("SessionStart", source="startup", environ=way) for way in WAYS]
    said = [talk.tell("UserPromptSubmit", prompt="no, we use pnpm here, not npm", environ=way) for way in WAYS]
    asked = "are commit subjects written in an imperative mood?"
    later = [talk.tell("UserPromptSubmit", prompt=asked, prompt_id="p9", environ=way) for way in WAYS]

    assert ["imperative mood" in one.context for one in started] == [True, False]
    assert [bool(one.raw) for one in said] == [True, False]
    assert [bool(one.raw) for one in later] == [False, False], "the rule was told at the start"
    assert sorted(events(app)) == ["prompt", "prompt", "session-started"]
    (kept,) = [rule for _, rule in briefs.rules(app).values() if "npm" in rule.title + rule.body]
    assert kept.seen == 1
