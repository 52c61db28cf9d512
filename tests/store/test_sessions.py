"""Session state in SQLite: hashed, pruned, purged, brought along; and how things went: once each, for a while, and gone
with the memories they speak of. What any engine must do: session_contract.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle import edits
from recollect.lifecycle.reshape import Whole
from recollect.model.plan import Create
from recollect.model.session import Ending, LedgerKey, Outcome, ShownMemory, Way, shorten
from recollect.store import Store, Tuning
from recollect.store.sessions import OUTCOMES_KEPT_DAYS
from tests.store.asking import ME, pointer, session
from tests.store.files import traces
from tests.values import NOW, act, plan, rule, thread

CANARY = "xylocarp"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(Store(path, Tuning())) as opened:
        yield opened


def test_states_are_found_by_how_their_names_begin(store: Store):
    for name in ("past:b", "past:a", "past", "pasture", "Past:c", "past%"):
        store.put_state(name, name.upper())
    assert list(store.states("past:").items()) == [("past:a", "PAST:A"), ("past:b", "PAST:B")]
    assert store.states("none") == {}
    assert store.verify() == []


def test_a_purged_memory_stands_in_no_ledger(store: Store, path: Path):
    memory = thread("Billing")
    store.apply(plan(Create(memory)), act())
    store.show(ME, Way.TOLD, [memory.id], at=NOW)

    store.purge((memory.id,))

    assert store.shown(ME, Way.TOLD) == frozenset()
    assert traces(path.parent, memory.id) == []


@given(st.lists(st.text(max_size=3), min_size=5, max_size=7), st.lists(st.text(max_size=3), min_size=5, max_size=7))
def test_different_events_have_different_keys(one: list[str], other: list[str]):
    def key(parts: list[str]) -> str:
        host, name, agent, prompt, source, *calls = parts
        return pointer(host=host, name=name, agent=agent, prompt=prompt, source=source, calls=tuple(calls)).key

    assert (key(one) == key(other)) is (one == other)


def test_events_are_not_kept_for_ever(store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("recollect.store.sessions.EVENTS_KEPT", 100)
    with store.transaction():
        for number in range(120):
            store.put_event(pointer(prompt=str(number)))
    assert [one.prompt for _, one in store.events(limit=200)] == [str(number) for number in range(20, 120)]


@pytest.mark.parametrize("table", ["session", "shown", "state", "event", "outcome"])
def test_a_changed_value_is_found(store: Store, path: Path, table: str):
    store.put_session(session(), at=NOW)
    store.show(ME, Way.TOLD, ["m1"], at=NOW)
    store.put_state("a", "1")
    store.put_event(pointer())
    store.put_outcome(outcome())
    assert store.verify() == []
    column = {"session": "number", "shown": "at", "state": "value", "event": "size", "outcome": "action"}[table]
    with closing(apsw.Connection(str(path))) as db:
        db.execute(f"UPDATE {table} SET {column} = 77")

    assert [finding.table for finding in store.verify()] == [table]


# Outcomes


def outcome(act: str = "toolu_1", **given: object) -> Outcome:
    made = Outcome(
        kind=Ending.FAILURE, at=NOW, session="s-1", act=act, actor="Bash", action="npm test", next_state="no script",
        tags=("call",), shown=("rule_1",),
    )  # fmt: skip
    return replace(made, **given)  # type: ignore[arg-type]


def test_an_outcome_is_recorded_once_and_read_as_it_was(store: Store):
    assert store.put_outcome(outcome())
    assert not store.put_outcome(outcome(at=NOW.plus(seconds=5)))
    assert store.put_outcome(outcome(kind=Ending.REFUSAL))
    assert [one for _, one in store.outcomes()] == [outcome(), outcome(kind=Ending.REFUSAL)]


def test_outcomes_are_found_by_session_kind_and_number(store: Store):
    for number in range(4):
        store.put_outcome(outcome(f"toolu_{number}", session=f"s-{number % 2}"))
    store.put_outcome(outcome("prompt", kind=Ending.RE_ASK))

    assert [one.act for _, one in store.outcomes(session="s-0")] == ["toolu_0", "toolu_2"]
    assert [one.act for _, one in store.outcomes(kinds=(Ending.RE_ASK,))] == ["prompt"]
    assert [seq for seq, _ in store.outcomes(after=3)] == [4, 5]
    assert [one.act for _, one in store.outcomes(limit=2)] == ["toolu_3", "prompt"]


def test_outcomes_are_not_kept_for_ever(store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("recollect.store.sessions.OUTCOMES_KEPT", 50)
    with store.transaction():
        for number in range(60):
            store.put_outcome(outcome(str(number)))
    assert [one.act for _, one in store.outcomes()] == [str(number) for number in range(10, 60)]

    store.put_outcome(outcome("late", at=NOW.plus(days=OUTCOMES_KEPT_DAYS + 1)))

    assert [one.act for _, one in store.outcomes()] == ["late"]


def test_a_purge_takes_the_outcomes_of_the_same_sessions_along(store: Store, path: Path):
    lesson = rule("Lesson", body=CANARY, group="s-1", tags=("session:s-1", "session:s-2"))
    other = rule("Other", body="stays", group="s-3")
    store.apply(plan(Create(lesson), Create(other)), act())
    for one in ("s-1", "s-2", "s-3"):
        store.put_outcome(outcome(session=one, action=CANARY if one != "s-3" else "make", shown=()))
    store.put_outcome(outcome("named", session="s-4", shown=(lesson.id,)))

    store.purge((lesson.id,))

    assert [one.session for _, one in store.outcomes()] == ["s-3"]
    assert traces(path.parent, CANARY) == []
    assert store.verify() == []


def test_a_purge_of_what_was_deleted_takes_them_along_too(store: Store, path: Path):
    lesson = rule("Lesson", body=CANARY, group="s-1")
    store.apply(plan(Create(lesson)), act())
    store.put_outcome(outcome(action=CANARY, shown=()))
    store.apply(edits.delete(Whole(lesson)), act("delete"))

    store.purge((lesson.id,))

    assert traces(path.parent, CANARY) == []


def test_what_an_agent_was_shown_is_known_with_its_time_and_call(store: Store):
    store.show(LedgerKey("s-1"), Way.TOLD, ["m1"], at=NOW)
    store.show(LedgerKey("s-1", epoch=1), Way.REMINDED, ["m2"], at=NOW.plus(seconds=1), call="toolu_1")
    store.show(LedgerKey("s-1", "a1"), Way.TOLD, ["m3"], at=NOW)

    assert store.memories_shown("s-1") == [
        ShownMemory("m1", Way.TOLD, NOW),
        ShownMemory("m2", Way.REMINDED, NOW.plus(seconds=1), "toolu_1"),
    ]


def test_a_text_is_cut_to_one_short_line():
    assert shorten("a\nb") == "a b"
    assert len(shorten("long " * 200)) == 300
