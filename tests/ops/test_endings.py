"""What is done once when a session ends, and before an agent forgets."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from recollect.base.clock import FixedClock
from recollect.base.moment import Moment
from recollect.model.ledger import Pointer
from recollect.model.memory import LEARNING_TAG, Lane, Memory, RuleType, Status
from recollect.model.plan import Create
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.model.session import EventName
from recollect.ops import briefs, digest, endings, inbox, notices
from recollect.ops.app import App
from recollect.ops.haste import Haste
from recollect.ops.here import scope_here
from tests.ops.conftest import Opens
from tests.ops.test_digest import Transcript
from tests.values import act, plan, rule, thread

FACT = "The root cause was that `cookie.ts` never set SameSite."


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other takers keep of the same words is their tests' matter."""
    monkeypatch.setattr(digest, "TAKERS", ("endings:take",))


@pytest.fixture
def transcript(app: App, tmp_path: Path) -> Transcript:
    return Transcript(app, tmp_path)


def work(transcript: Transcript, asked: str = "please fix the login page in Safari") -> None:
    transcript.line("user", asked)
    for file in ("login", "cookie"):
        id = f"toolu_{transcript.number}_{file}"
        given = {"file_path": f"/elsewhere/{file}.ts", "old_string": "a", "new_string": "b"}
        transcript.line("assistant", [{"type": "tool_use", "id": id, "name": "Edit", "input": given}])
        transcript.line("user", [{"type": "tool_result", "tool_use_id": id, "content": "ok"}])
    transcript.ran("npm test", "12 passed")
    transcript.line("assistant", [{"type": "text", "text": "The login page works in Safari now."}])


def talk(transcript: Transcript, fact: str = FACT) -> None:
    for number in range(10):
        transcript.line("assistant", [{"type": "text", "text": f"I read file {number}."}])
    transcript.line("assistant", [{"type": "text", "text": fact}])


def end(app: App, transcript: Transcript) -> None:
    transcript.event(EventName.SESSION_ENDED)
    digest.digest(app)


def kept(app: App, *tags: str) -> list[Memory]:
    found = app.reading(Scope.PROJECT).find(Query(limit=100))
    return [memory for memory in found if set(tags) <= set(memory.tags)]


def test_a_session_in_which_nothing_came_about_leaves_nothing(app: App, transcript: Transcript):
    transcript.line("user", "hi")
    transcript.line("assistant", [{"type": "text", "text": "Hello."}])

    end(app, transcript)

    assert kept(app) == []
    assert notices.waiting(app) == []


def test_an_end_that_is_told_twice_changes_nothing(app: App, transcript: Transcript):
    work(transcript)
    talk(transcript)
    end(app, transcript)
    before, lines = kept(app), notices.waiting(app)
    transcript.number += 1  # another event

    end(app, transcript)

    assert kept(app) == before
    assert notices.waiting(app) == lines


# Sessions whose end nobody told


def killed(app: App, transcript: Transcript, tmp_path: Path) -> None:
    """Another session begins, long after the first was last heard of."""
    transcript.event(EventName.TURN_ENDED)
    digest.digest(app)
    if transcript.path.exists():
        long_ago = app.clock.now().micros / 1e6 - 2 * digest.ABANDONED_S
        os.utime(transcript.path, (long_ago, long_ago))
    other = Transcript(app, tmp_path, "s-2")
    other.event(EventName.SESSION_STARTED)
    digest.digest(app)


def test_a_session_that_was_killed_is_over_when_the_next_one_starts(app: App, transcript: Transcript, tmp_path: Path):
    work(transcript)
    talk(transcript)

    killed(app, transcript, tmp_path)

    (learning,) = kept(app, LEARNING_TAG)
    assert learning.group == "s-1"


def test_a_killed_session_whose_transcript_is_gone_is_over_without_trouble(
    app: App, transcript: Transcript, tmp_path: Path, open_app: Opens
):
    work(transcript)
    transcript.event(EventName.TURN_ENDED)
    digest.digest(app)
    transcript.path.unlink()

    killed(app, transcript, tmp_path)
    killed(app, Transcript(app, tmp_path, "s-3"), tmp_path)

    assert kept(app) == []
    logged = (app.home.logs / "recollect.log").read_text()
    assert "not-taken" not in logged


def test_a_session_whose_transcript_is_gone_while_we_still_hold_it_is_told(app: App, transcript: Transcript):
    held = digest.Held()
    work(transcript)
    talk(transcript)
    transcript.event(EventName.TURN_ENDED)
    digest.some(app, held)
    transcript.path.unlink()
    transcript.event(EventName.SESSION_ENDED)

    digest.some(app, held)

    assert [one.body for one in kept(app, LEARNING_TAG)] == [FACT]


def test_a_subagent_s_transcript_ends_no_session(app: App, transcript: Transcript, tmp_path: Path):
    inner = Transcript(app, tmp_path, "agent-1")
    work(inner, "a task that the agent gave")
    app.writing(scope_here(app)).sessions.receive(
        Pointer(
            name=str(EventName.SUBAGENT_ENDED),
            host="claude-code",
            session="s-1",
            agent="agent-1",
            at=Moment(app.clock.now().micros - 5_000_000),
            transcript=str(inner.path),
        )
    )
    digest.digest(app)
    long_ago = app.clock.now().micros / 1e6 - 2 * digest.ABANDONED_S
    os.utime(inner.path, (long_ago, long_ago))
    other = Transcript(app, tmp_path, "s-2")
    other.event(EventName.SESSION_STARTED)

    digest.digest(app)

    assert kept(app) == []


# Learnings, lessons, notices


def test_learnings_wait_in_the_inbox_and_reach_no_prompt(app: App, transcript: Transcript):
    talk(transcript)
    end(app, transcript)

    (one,) = kept(app, LEARNING_TAG)

    assert (one.body, one.status, one.lane, one.group) == (FACT, Status.CANDIDATE, Lane.AGENT, "s-1")
    assert [card.memory.id for card in inbox.listing(app).cards] == [one.id]
    assert briefs.rules(app) == {}
    mind = briefs.brought_to_mind(app, Haste(app, "SameSite cookie.ts", time.monotonic() + 60), seen=set(), limit=5)
    assert mind.hits == ()
    assert notices.waiting(app) == ["🔍 Recollect: extracted 1 learning"]


def test_a_learning_is_counted_once_a_session(app: App, transcript: Transcript, tmp_path: Path):
    talk(transcript)
    transcript.event(EventName.COMPACTING)
    digest.digest(app)
    end(app, transcript)
    (one,) = kept(app, LEARNING_TAG)
    assert one.seen == 1
    again = Transcript(app, tmp_path, "s-2")
    talk(again)

    end(app, again)

    (one,) = kept(app, LEARNING_TAG)
    assert one.seen == 2


def test_an_inbox_that_nobody_reads_is_not_filled_for_ever(app: App, transcript: Transcript, tmp_path: Path):
    old = app.clock.now()
    waiting = [
        rule(f"r{n}", tags=(LEARNING_TAG,), status=Status.CANDIDATE, last_active_at=old)
        for n in range(endings.WAITING_MOST)
    ]
    app.writing(Scope.PROJECT).apply(plan(*map(Create, waiting)), act(summary="kept"))
    talk(transcript)
    end(app, transcript)
    assert len(kept(app, LEARNING_TAG)) == endings.WAITING_MOST

    app.clock = FixedClock(old.plus(days=31))
    later = Transcript(app, tmp_path, "s-2")
    talk(later)
    end(app, later)

    standing = [one for one in kept(app, LEARNING_TAG) if one.status is Status.CANDIDATE]
    assert [one.body for one in standing] == [FACT]


def test_lessons_that_were_seen_again_come_into_force_and_the_person_is_told(app: App, transcript: Transcript):
    lesson = rule(
        "l", body="`npm test` fails here; `pnpm test` works.", rule_type=RuleType.FAILURE, origin="outcome",
        lane=Lane.TOOL, status=Status.CANDIDATE, tags=("session:a", "session:b"), seen=2,
    )  # fmt: skip
    app.writing(Scope.PROJECT).apply(plan(Create(lesson)), act(summary="kept"))
    work(transcript)

    end(app, transcript)

    assert app.find(lesson.id)[1].status is Status.ACTIVE
    assert "⬆️ Recollect: 1 lesson promoted to active rules" in notices.waiting(app)


def test_the_person_is_told_how_much_was_captured(app: App, transcript: Transcript):
    memories_of_it = [thread("Login", group="s-1"), rule("Use pnpm", group="s-1")]
    app.writing(Scope.PROJECT).apply(plan(*map(Create, memories_of_it)), act(summary="kept"))
    app.writing(Scope.USER).apply(plan(Create(rule("Be brief", group="s-1"))), act(summary="kept"))
    talk(transcript)

    end(app, transcript)

    assert notices.waiting(app) == ["📝 Recollect: captured 3 memories", "🔍 Recollect: extracted 1 learning"]


def test_of_what_was_told_once_nothing_is_told_again(app: App, transcript: Transcript):
    app.writing(Scope.PROJECT).apply(plan(Create(rule("Use pnpm", group="s-1"))), act(summary="kept"))
    transcript.line("user", "use pnpm")
    end(app, transcript)
    assert notices.waiting(app) == ["📝 Recollect: captured 1 memory"]
    notices.clear(app, notices.waiting(app))
    later = app.clock.now().plus(seconds=60)
    app.clock = FixedClock(later)
    transcript.line("user", "and tabs")
    end(app, transcript)
    assert notices.waiting(app) == []

    new = rule("Use tabs", group="s-1", created_at=later.plus(seconds=1))
    app.writing(Scope.PROJECT).apply(plan(Create(new)), act(summary="kept"))
    app.clock = FixedClock(later.plus(seconds=60))
    transcript.line("user", "and so on")
    end(app, transcript)

    assert notices.waiting(app) == ["📝 Recollect: captured 1 memory"]


def test_before_compaction_everything_that_is_held_is_swept(app: App, transcript: Transcript):
    app.writing(Scope.PROJECT).apply(plan(Create(thread("Login", group="s-1"))), act(summary="kept"))
    transcript.line("assistant", [{"type": "text", "text": FACT}])
    for number in range(80):
        transcript.line("assistant", [{"type": "text", "text": f"step {number}"}])
    transcript.event(EventName.COMPACTING)

    digest.digest(app)

    assert [one.body for one in kept(app, LEARNING_TAG)] == [FACT]
    assert notices.waiting(app) == ["💾 Recollect: preserved 2 memories"]


def test_a_compaction_of_nothing_says_nothing(app: App, transcript: Transcript):
    transcript.line("user", "hi")
    transcript.event(EventName.COMPACTING)

    digest.digest(app)

    assert notices.waiting(app) == []


def test_two_notices_of_one_transaction_are_both_kept(app: App):
    with app.writing(scope_here(app)).together():
        notices.leave(app, "one")
        notices.leave(app, "two")

    assert notices.waiting(app) == ["one", "two"]
