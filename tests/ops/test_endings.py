"""What is done once when a session ends, and before an agent forgets."""

import os
import time
from pathlib import Path

import pytest

from recollect.app import notices
from recollect.app.core import App
from recollect.app.embedding import TimedQuestion
from recollect.app.memory_search import rules_in_force
from recollect.base.clock import FixedClock
from recollect.jobs import learning, runner, transcripts
from recollect.model.memory import LEARNING_TAG, Lane, Memory, RuleType, Status
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.model.session import EventName
from recollect.ops import past_sessions, rules
from recollect.ops.prompt_recall import search_unasked
from tests.ops.ask import keep
from tests.ops.transcript import Transcript
from tests.values import rule, thread

FACT = "The root cause was that `cookie.ts` never set SameSite."


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other takers keep of the same words is their tests' matter."""
    monkeypatch.setattr(transcripts, "JOBS", (runner.job("session ends"),))


def talk(transcript: Transcript, fact: str = FACT) -> None:
    for number in range(10):
        transcript.replied(f"I read file {number}.")
    transcript.replied(fact)


def end(app: App, transcript: Transcript) -> None:
    transcript.event(EventName.SESSION_ENDED)
    past_sessions.catch_up(app)


def kept(app: App, *tags: str) -> list[Memory]:
    found = app.reader(Scope.PROJECT).find(Query(limit=100))
    return [memory for memory in found if set(tags) <= set(memory.tags)]


def test_a_session_in_which_nothing_came_about_leaves_nothing(app: App, transcript: Transcript):
    transcript.line("user", "hi")
    transcript.replied("Hello.")
    transcript.event(EventName.COMPACTING)
    end(app, transcript)
    assert (kept(app), notices.waiting(app)) == ([], [])


def killed(app: App, transcript: Transcript, last: EventName = EventName.TURN_ENDED) -> None:
    """Another session begins, long after the first was last heard of."""
    transcript.event(last)
    past_sessions.catch_up(app)
    long_ago = app.clock.now().micros / 1e6 - 2 * transcripts.ABANDONED_S
    os.utime(transcript.path, (long_ago, long_ago))
    Transcript(app, transcript.path.parent, "s-2").event(EventName.SESSION_STARTED)
    past_sessions.catch_up(app)


def test_a_session_that_was_killed_is_over_when_the_next_one_starts(
    app: App, transcript: Transcript
):
    talk(transcript)
    killed(app, transcript)
    (learning,) = kept(app, LEARNING_TAG)
    assert learning.group == "s-1"


def test_a_session_whose_transcript_is_gone_while_we_still_hold_it_is_told(
    app: App, transcript: Transcript
):
    held = transcripts.ReadingState()
    talk(transcript)
    transcript.event(EventName.TURN_ENDED)
    transcripts.read_some(app, held)
    transcript.path.unlink()
    transcript.event(EventName.SESSION_ENDED)
    transcripts.read_some(app, held)
    assert [one.body for one in kept(app, LEARNING_TAG)] == [FACT]


def test_a_subagent_s_transcript_ends_no_session(app: App, tmp_path: Path):
    inner = Transcript(app, tmp_path, "agent-1")
    talk(inner)
    inner.session, inner.agent = "s-1", "agent-1"
    killed(app, inner, EventName.SUBAGENT_ENDED)
    assert kept(app) == []


def test_learnings_wait_in_the_inbox_and_reach_no_prompt(app: App, transcript: Transcript):
    talk(transcript)
    for _ in range(2):  # an end that is told twice changes nothing
        end(app, transcript)
        transcript.number += 1
        (one,) = kept(app, LEARNING_TAG)
        assert (one.body, one.status, one.lane, one.group) == (
            FACT,
            Status.CANDIDATE,
            Lane.AGENT,
            "s-1",
        )
        assert notices.waiting(app) == [
            "\U0001f50d Recollect: extracted 1 learning \u00b7 1 waits in the inbox: recollect inbox"
        ]
    assert [card.memory.body for card in rules.list_inbox(app).cards] == [FACT]
    assert rules_in_force(app) == {}
    question = TimedQuestion(app, "SameSite cookie.ts", time.monotonic() + 60)
    assert search_unasked(app, question, seen=set(), limit=5).hits == ()


def test_a_learning_is_counted_once_a_session(app: App, transcript: Transcript, tmp_path: Path):
    talk(transcript)
    transcript.event(EventName.COMPACTING)
    past_sessions.catch_up(app)
    end(app, transcript)
    assert [one.seen for one in kept(app, LEARNING_TAG)] == [1]
    again = Transcript(app, tmp_path, "s-2")
    talk(again)
    end(app, again)
    assert [one.seen for one in kept(app, LEARNING_TAG)] == [2]


def test_an_inbox_that_nobody_reads_is_not_filled_for_ever(
    app: App, transcript: Transcript, tmp_path: Path
):
    numbers = range(learning.MAX_WAITING)
    keep(
        app,
        *(rule(f"r{number}", tags=(LEARNING_TAG,), status=Status.CANDIDATE) for number in numbers),
    )
    talk(transcript)
    end(app, transcript)
    assert len(kept(app, LEARNING_TAG)) == learning.MAX_WAITING
    app.clock = FixedClock(app.clock.now().plus(days=31))
    later = Transcript(app, tmp_path, "s-2")
    talk(later)
    end(app, later)
    standing = [one for one in kept(app, LEARNING_TAG) if one.status is Status.CANDIDATE]
    assert [one.body for one in standing] == [FACT]


def test_lessons_that_were_seen_again_come_into_force_and_the_person_is_told(
    app: App, transcript: Transcript
):
    lesson = rule(
        "l", body="`npm test` fails here; `pnpm test` works.", rule_type=RuleType.FAILURE, origin="outcome",
        lane=Lane.TOOL, status=Status.CANDIDATE, tags=("session:a", "session:b"), seen=2,
    )  # fmt: skip
    keep(app, lesson)
    transcript.line("user", "please fix the login page in Safari")
    transcript.replied("The login page works in Safari now.")
    end(app, transcript)
    assert app.find(lesson.id)[1].status is Status.ACTIVE
    assert notices.waiting(app) == ["\u2b06\ufe0f Recollect: 1 lesson promoted to active rules: l"]


def test_the_person_is_told_what_was_kept_rules_first_and_only_once(
    app: App, transcript: Transcript
):
    keep(app, thread("Login", group="s-1"), rule("Use pnpm", group="s-1"))
    keep(app, rule("Be brief", group="s-1"), scope=Scope.USER)
    talk(transcript)
    end(app, transcript)
    assert notices.waiting(app) == [
        "\U0001f4dd Recollect: captured 3 memories last time: Use pnpm; Be brief; Login",
        "\U0001f50d Recollect: extracted 1 learning \u00b7 1 waits in the inbox: recollect inbox",
    ]
    notices.clear(app, notices.waiting(app))
    later = app.clock.now().plus(seconds=60)
    app.clock = FixedClock(later)
    transcript.line("user", "and tabs")
    end(app, transcript)
    assert notices.waiting(app) == []

    keep(app, rule("Use tabs", group="s-1", created_at=later.plus(seconds=1)))
    app.clock = FixedClock(later.plus(seconds=60))
    transcript.line("user", "and so on")
    end(app, transcript)

    assert notices.waiting(app) == ["\U0001f4dd Recollect: captured 1 memory last time: Use tabs"]


def test_before_compaction_everything_that_is_held_is_swept(app: App, transcript: Transcript):
    keep(app, thread("Login", group="s-1"))
    transcript.replied(FACT)
    for number in range(80):
        transcript.replied(f"step {number}")
    transcript.event(EventName.COMPACTING)
    past_sessions.catch_up(app)
    assert [one.body for one in kept(app, LEARNING_TAG)] == [FACT]
    assert notices.waiting(app) == ["💾 Recollect: preserved 2 memories"]


def test_two_notices_of_one_transaction_are_both_kept(app: App):
    with app.writer(app.scope).transaction():
        notices.add(app, "one")
        notices.add(app, "two")
    assert notices.waiting(app) == ["one", "two"]
