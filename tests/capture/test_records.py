"""What a turn leaves behind."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture.commands import looks_only, telling
from recollect.capture.records import DECIDED_CHARS, ENDED_CHARS, FOUND_CHARS, SAID_CHARS, joined, record
from recollect.capture.sentence import says_nothing
from recollect.capture.turn import MOST_WAITING, Turn, turns
from recollect.model.act import Act, Deed, Doing, Speaker
from recollect.model.record import read as read_record
from tests.capture.turns import asked, call, edited, ran, read, said, turn
from tests.values import NOW

FIX = turn(
    asked("the nightly build fails, can you look? keep everything in UTC"),
    said("Let me look at the logs."),
    ran("make nightly 2>&1 | tail -5", "Error: token from the future", failed=True),
    said("The problem is that the container's clock is an hour behind, so tokens look expired."),
    edited("docker/entrypoint.sh"),
    edited("docker/entrypoint.sh", "tests/clock.py"),
    ran("cd /srv && make nightly", "ok"),
    said("Done! The entrypoint sets the clock from the host now, and the nightly build passes.\n\nShall I commit?"),
)


def test_a_turn_leaves_what_was_asked_found_decided_changed_and_run_and_how_it_ended():
    found = record(FIX)

    assert found.asked == "the nightly build fails, can you look? keep everything in UTC"
    assert found.found.startswith("The problem is that the container's clock is an hour behind")
    assert found.decided == "keep everything in UTC"
    assert found.changed == "docker/entrypoint.sh, tests/clock.py"
    assert found.ran == "make nightly (failed); make nightly"
    assert found.ended == "The entrypoint sets the clock from the host now, and the nightly build passes."
    assert "token from the future" in found.said
    assert "Let me look" not in found.said


def test_an_empty_last_word_is_no_outcome():
    one = turn(
        asked("commit"), said("The retry queue keeps its order now."), ran("git commit -m x"), said("Committed.")
    )

    assert record(one).ended == "The retry queue keeps its order now."


def test_a_commit_that_nobody_speaks_of_ends_with_its_subject():
    one = turn(asked("commit"), ran('git add -A && git commit -m "Keep the order of retries"'), said("Committed."))

    assert record(one).ended == "Committed: Keep the order of retries"


def test_a_list_belongs_to_the_words_before_it():
    one = turn(
        asked("clean up"), edited("a.py"), said("Done! I've:\n\n1. **Removed** the old cache\n2. Renamed `a` to `b`")
    )

    assert record(one).ended == "I've: Removed the old cache; Renamed `a` to `b`"


def test_a_plan_is_asked_for_by_its_heading():
    plan = "Implement the following plan:\n\n# Plan: Retries with backoff\n\n## Context\nAlways use two spaces."

    assert record(turn(asked(plan), said("Implemented."))).asked == "Plan: Retries with backoff"


def test_a_plan_that_is_handed_on_begins_a_turn_and_is_no_word_of_a_person():
    text = "# Plan: Retries with backoff\n\nThe queue drops jobs because nobody waits. Always use two spaces."
    plan = replace(said(text), plan=True)
    added = replace(asked("keep the old queue"), id=plan.id)
    acts = [asked("a"), said("x"), plan, added, edited("f"), said("Jobs are retried now."), asked("b"), said("z")]

    assert [len(one.acts) for one in turns(acts, 0, finished=False)] == [2, 4, 2]
    assert list(turns([plan], 0, finished=False)) == [], "the agent has not answered yet"
    found = record(turn(plan, added, edited("f"), said("Jobs are retried now.")))
    assert (found.asked, found.decided) == ("Plan: Retries with backoff", "keep the old queue")
    assert found.ended == "Jobs are retried now."
    assert "because nobody waits" in found.said


def test_what_a_person_chose_or_said_in_refusing_is_decided():
    question = Doing(Deed.OTHER, "ask", "")
    refusal = Act(id="r", at=NOW, speaker=Speaker.PERSON, text="use pnpm here", refuses="c")
    one = turn(
        asked("add a linter"),
        call(question, 'User has answered your questions: "Two fit. Which linter?"="biome". You can go on.'),
        ran("npm i biome", refused=True),
        refusal,
    )

    assert record(one).decided == "Which linter? biome use pnpm here"
    assert len(list(turns(one.acts, 0, finished=True))) == 1


def test_pasted_blocks_are_cut_out_of_what_was_asked():
    paste = "why does this fail?\n```\nTraceback: boom\n```"

    assert record(turn(asked(paste))).asked == "why does this fail?"


def test_a_report_of_a_subagent_is_kept_without_its_boilerplate():
    report = call(Doing(Deed.DELEGATE, "Task", "look"), "The cache is never emptied.\nagentId: a1 (for resuming)")
    found = record(turn(asked("why is it slow?"), report, said("It is the cache, which is never emptied.")))

    assert "The cache is never emptied." in found.said
    assert "agentId" not in found.said


@pytest.mark.parametrize(
    "cause",
    [
        "Die Ursache ist ein alter Cache.", "El problema es la caché vieja.", "La cause est un vieux cache.",
        "Причина в старом кэше.", "原因是缓存没有清空。", "原因は古いキャッシュです。", "Nguyên nhân là bộ nhớ đệm cũ.",
    ],
)  # fmt: skip
def test_a_cause_is_found_in_other_languages(cause: str):
    assert record(turn(asked("?"), edited("a.py"), said(cause))).found == cause


def test_looks_leave_nothing():
    found = record(turn(asked("hi"), ran("ls", "a"), ran("git status"), read("a.py"), said("Let me check the files.")))

    assert (found.ran, found.changed, found.found, found.ended) == ("", "", "", "")


def test_the_rest_of_a_turn_joins_its_record_once():
    old, rest = record(FIX), record(turn(edited("b.py"), ran("make all"), said("Everything is deployed now.")))

    both = joined(old, rest)

    assert both.asked == old.asked
    assert both.changed.endswith(", b.py")
    assert both.ended == "Everything is deployed now."
    assert joined(both, rest) == both


@given(st.text(max_size=500), st.text(max_size=6_000))
def test_any_turn_has_a_record_within_its_limits(prompt: str, reply: str):
    found = record(turn(asked(prompt), edited("a.py"), said(reply), said(reply)))

    assert len(found.found) <= FOUND_CHARS
    assert len(found.decided) <= DECIDED_CHARS
    assert len(found.ended) <= ENDED_CHARS
    assert len(found.said) <= SAID_CHARS
    assert read_record(found.text()) is not None


# Commands, nods, turns


@pytest.mark.parametrize("command", ["ls -la", "git status", "cat a | grep b", "cd x && git log", "FOO=1 rg x"])
def test_commands_that_only_look(command: str):
    assert looks_only(command)


@pytest.mark.parametrize(
    "command", ["pytest", "git push", "cat a > b", "ls && rm x", "sed -i s/a/b/ c", "find . -delete"]
)
def test_commands_that_do_something(command: str):
    assert not looks_only(command)


def test_nods_say_nothing():
    assert says_nothing("ok thanks!")
    assert says_nothing("ls")
    assert not says_nothing("use pnpm")


def test_the_telling_lines_of_a_failure():
    output = "\n".join(["collected 3 items", *["..."] * 50, "E   assert 1 == 2", "1 failed in 0.1s"])

    assert telling(output, 100) == "E   assert 1 == 2\n1 failed in 0.1s"


def test_a_turn_waits_for_its_end_but_not_for_ever():
    short = [asked("fix it"), *(ran("make") for _ in range(5))]
    long = [asked("fix it"), *(ran("make") for _ in range(MOST_WAITING))]

    assert not list(turns(short, 0, finished=False))
    assert len(list(turns(short, 0, finished=True))) == 1
    (found,) = turns(long, 0, finished=False)
    assert isinstance(found, Turn)
    assert not found.over
