"""How things went: once each, for a while, and gone with the memories they speak of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from recollect.lifecycle import change
from recollect.model.ledger import Sight, Talker, Way
from recollect.model.outcome import Ending, Outcome, cut
from recollect.model.plan import Create
from recollect.store import SqliteStore, Tuning
from recollect.store.outcomes import KEPT_DAYS, OUTCOMES_KEPT
from tests.store.files import traces
from tests.values import NOW, act, plan, rule

CANARY = "xylocarp"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o700)
    return folder / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path, Tuning())) as opened:
        yield opened


def outcome(act: str = "toolu_1", **given: object) -> Outcome:
    made = Outcome(
        kind=Ending.FAILURE, at=NOW, session="s-1", act=act, actor="Bash", action="npm test", next_state="no script",
        tags=("call",), shown=("rule_1",),
    )  # fmt: skip
    return replace(made, **given)  # type: ignore[arg-type]


def test_an_outcome_is_recorded_once_and_read_as_it_was(store: SqliteStore):
    assert store.outcomes.record(outcome())
    assert not store.outcomes.record(outcome(at=NOW.plus(seconds=5)))
    assert store.outcomes.record(outcome(kind=Ending.REFUSAL))

    assert [one for _, one in store.outcomes.recorded()] == [outcome(), outcome(kind=Ending.REFUSAL)]


def test_outcomes_are_found_by_session_kind_and_number(store: SqliteStore):
    for number in range(4):
        store.outcomes.record(outcome(f"toolu_{number}", session=f"s-{number % 2}"))
    store.outcomes.record(outcome("prompt", kind=Ending.RE_ASK))

    assert [one.act for _, one in store.outcomes.recorded(session="s-0")] == ["toolu_0", "toolu_2"]
    assert [one.act for _, one in store.outcomes.recorded(kinds=(Ending.RE_ASK,))] == ["prompt"]
    assert [seq for seq, _ in store.outcomes.recorded(after=3)] == [4, 5]
    assert [one.act for _, one in store.outcomes.recorded(limit=2)] == ["toolu_3", "prompt"]


def test_outcomes_are_not_kept_for_ever(store: SqliteStore):
    with store.together():
        for number in range(OUTCOMES_KEPT + 10):
            store.outcomes.record(outcome(str(number)))
    assert len(store.outcomes.recorded(limit=2 * OUTCOMES_KEPT)) == OUTCOMES_KEPT

    store.outcomes.record(outcome("late", at=NOW.plus(days=KEPT_DAYS + 1)))

    assert [one.act for _, one in store.outcomes.recorded()] == ["late"]


def test_a_changed_value_is_found(store: SqliteStore, path: Path):
    store.outcomes.record(outcome())
    assert store.verify() == []
    with closing(apsw.Connection(str(path))) as db:
        db.execute("UPDATE outcome SET action = 'npm tess'")

    assert [finding.table for finding in store.verify()] == ["outcome"]


def test_a_purge_takes_the_outcomes_of_the_same_sessions_along(store: SqliteStore, path: Path):
    lesson = rule("Lesson", body=CANARY, group="s-1", tags=("session:s-1", "session:s-2"))
    other = rule("Other", body="stays", group="s-3")
    store.apply(plan(Create(lesson), Create(other)), act())
    for session in ("s-1", "s-2", "s-3"):
        store.outcomes.record(outcome(session=session, action=CANARY if session != "s-3" else "make", shown=()))
    store.outcomes.record(outcome("named", session="s-4", shown=(lesson.id,)))

    store.purge((lesson.id,))

    assert [one.session for _, one in store.outcomes.recorded()] == ["s-3"]
    assert traces(path.parent, CANARY) == []
    assert store.verify() == []


def test_a_purge_of_what_was_deleted_takes_them_along_too(store: SqliteStore, path: Path):
    lesson = rule("Lesson", body=CANARY, group="s-1")
    store.apply(plan(Create(lesson)), act())
    store.outcomes.record(outcome(action=CANARY, shown=()))
    store.apply(change.delete(lesson, (), (), ()), act("delete"))

    store.purge((lesson.id,))

    assert traces(path.parent, CANARY) == []


def test_what_an_agent_was_shown_is_known_with_its_time_and_call(store: SqliteStore):
    store.sessions.show(Talker("s-1"), Way.TOLD, ["m1"], at=NOW)
    store.sessions.show(Talker("s-1", epoch=1), Way.REMINDED, ["m2"], at=NOW.plus(seconds=1), call="toolu_1")
    store.sessions.show(Talker("s-1", "a1"), Way.TOLD, ["m3"], at=NOW)

    assert store.sessions.sights("s-1") == [
        Sight("m1", Way.TOLD, NOW),
        Sight("m2", Way.REMINDED, NOW.plus(seconds=1), "toolu_1"),
    ]


def test_a_text_is_cut_to_one_short_line():
    assert cut("a\nb") == "a b"
    assert len(cut("long " * 200)) == 300
