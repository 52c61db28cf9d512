"""Session state: sessions, ledgers by agent and epoch, usage, states, events once each, outcomes for a while."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.app.session_ledger import find_session
from recollect.app.states import read_text
from recollect.base.errors import Conflict
from recollect.model.plan import Create, Update
from recollect.model.query import Query
from recollect.model.session import (
    Ending,
    LedgerKey,
    Outcome,
    ReadAct,
    RecallRecord,
    SessionCounts,
    ShownMemory,
    StateRecord,
    Way,
    shorten,
)
from recollect.store import LocalStore
from recollect.store.database import KEPT_DAYS, OUTCOMES_KEPT_DAYS
from tests.store.helpers import ME, delete_plan, do, pointer, search, session, show, traces
from tests.values import NOW, act, plan, rule, thread

CANARY = "xylocarp"


@pytest.fixture
def store(local: LocalStore) -> LocalStore:
    return local


def outcome(act: str = "toolu_1", **given: object) -> Outcome:
    made = Outcome(
        kind=Ending.FAILURE, at=NOW, session="s-1", act=act, actor="Bash", action="npm test", next_state="no script",
        tags=("call",), shown=("rule_1",),
    )  # fmt: skip
    return replace(made, **given)  # type: ignore[arg-type]


# Sessions and ledgers


def test_a_session_is_known_until_it_was_not_heard_of_for_long(store: LocalStore):
    old = session(number=4, epoch=2, last_at=NOW.plus(days=-KEPT_DAYS - 1))
    store.put(old)
    show(store, ME, ["m1"])
    assert find_session(store, "s-1") == old
    assert find_session(store, "s-1", "a1") is find_session(store, "s-2") is None
    store.put(session("new"))
    show(store, LedgerKey("new"), ["m1"])
    store.put(session("newer"))
    assert find_session(store, "s-1") is None
    assert [*store.marks(ME, Way.TOLD), *store.marks(LedgerKey("new"), Way.TOLD)] == ["m1"]


def test_a_ledger_is_that_of_one_agent_in_one_epoch_and_way(store: LocalStore):
    show(store, ME, ["m1", "m2", "m1"])
    show(store, ME, ["m2"], NOW.plus(seconds=1))
    store.put(ShownMemory("m3", Way.REMINDED, NOW.plus(seconds=2), "toolu_1", "s-1", epoch=1))
    show(store, LedgerKey("s-1", "a1"), ["m4"], NOW.plus(seconds=3))
    show(store, LedgerKey("s-2"), ["other"])

    assert store.marks(ME, Way.TOLD) == {"m1", "m2"}
    assert (
        store.marks(ME, Way.REMINDED)
        == store.marks(LedgerKey("s-1", epoch=1), Way.TOLD)
        == frozenset()
    )
    told = [ShownMemory(f"m{n + 1}", Way.TOLD, NOW.plus(seconds=n), session="s-1") for n in (0, 1)]
    own = [*told, ShownMemory("m3", Way.REMINDED, NOW.plus(seconds=2), "toolu_1", "s-1", epoch=1)]
    assert store.records(ShownMemory, session="s-1", agent="") == own
    agents = ShownMemory("m4", Way.TOLD, NOW.plus(seconds=3), "", "s-1", "a1")
    assert store.records(ShownMemory, session="s-1") == [*own, agents]


def test_what_a_session_asked_was_told_and_left_is_counted(store: LocalStore):
    store.put(
        *(pointer(name="prompt", prompt=id, transcript="/t/s-1.jsonl") for id in ("p1", "p2")),
        pointer(),
    )
    show(store, ME, ["a#body.0", "a#body.40", "b"])
    store.put(ShownMemory("c", Way.OWN, NOW, "", *ME))
    told: list[dict[str, object]] = [
        {"chars": 90},
        {"chars": 10},
        {"chars": 5, "delivered": False},
        {"session": "s-2"},
    ]
    for number, more in enumerate(told):
        answer = json.dumps({"session": "s-1", "delivered": True, "chars": 7, **more})
        store.put(RecallRecord(f"recall_{number}", NOW, answer))
    do(
        store,
        Create(rule("r", group="s-1")),
        Create(thread("t", group="s-1")),
        Create(thread("other")),
    )
    assert store.session_counts() == {
        "s-1": SessionCounts(prompts=2, told=2, chars=100, kept=2, transcript="/t/s-1.jsonl"),
        "s-2": SessionCounts(chars=7),
    }
    assert [one.id for one in store.records(RecallRecord, told_session="s-2")] == ["recall_3"]


def test_use_is_counted_not_journalled_and_cannot_change_what_a_memory_says(store: LocalStore):
    memory = thread("Billing")
    do(store, Create(memory))
    store.use([memory.id, memory.id, "nobody"], lambda m: replace(m, frequency=m.frequency + 1))
    with pytest.raises(ValueError, match="would change what it says"):
        store.use([memory.id], lambda m: replace(m, body="other words"))
    assert store.get(memory.id) == replace(memory, frequency=1)
    assert len(store.log(limit=10)) == 1


# States, events, acts


def test_states_are_found_by_how_their_names_begin_and_can_be_removed(store: LocalStore):
    last = "vault:\U0010fffd.md"
    for name in (
        "vault:b",
        last,
        "vault:a",
        "vault",
        "vault-allowed",
        "Vault:c",
        "vaulu:",
        "u",
        "u",
    ):
        store.put(StateRecord(name, f"{len(store.records(StateRecord))}"))
    assert (read_text(store, "vault"), read_text(store, "u"), read_text(store, "focus")) == (
        "3",
        "8",
        None,
    )
    assert store.records(StateRecord, under="vault:") == [
        ("vault:a", "2"),
        ("vault:b", "0"),
        (last, "1"),
    ]
    store.put(StateRecord("vault:a", None), StateRecord("never there", None))
    assert [name for name, _ in store.records(StateRecord, under="vault:")] == ["vault:b", last]
    assert (len(store.records(StateRecord)), store.records(StateRecord, under="none")) == (7, [])


def test_an_event_is_received_once_and_goes_to_the_end_with_the_smaller_size_when_it_comes_again(
    store: LocalStore,
):
    given = (
        {"size": 5},
        {"prompt": "p2", "calls": ("a", "b")},
        {"size": 5, "at": NOW.plus(seconds=9)},
        {"size": 9},
    )
    new = [store.put(pointer(**said)) for said in (*given, {"size": 3}, {"size": 3})]
    assert new == [True, True, False, False, False, False]
    assert store.events() == [(2, pointer(prompt="p2", calls=("a", "b"))), (4, pointer(size=3))]
    assert [n for n, _ in store.events(after=2)] == [4]


@given(
    st.lists(st.text(max_size=3), min_size=5, max_size=7),
    st.lists(st.text(max_size=3), min_size=5, max_size=7),
)
def test_different_events_have_different_keys(one: list[str], other: list[str]):
    def key(parts: list[str]) -> str:
        host, name, agent, prompt, source, *calls = parts
        return pointer(
            host=host, name=name, agent=agent, prompt=prompt, source=source, calls=tuple(calls)
        ).key

    assert (key(one) == key(other)) is (one == other)


def test_acts_that_were_read_are_known(store: LocalStore):
    store.put(*map(ReadAct, (1, -5, 2**62)))
    store.put(ReadAct(7, "change_1"), ReadAct(1, "change_1"))
    assert store.records(ReadAct, key=[1, 2, -5, 7]) == [(-5, ""), (1, "change_1"), (7, "change_1")]
    assert store.records(ReadAct, key=[]) == []


# Outcomes


def test_an_outcome_is_recorded_once_and_found_by_session_kind_and_number(store: LocalStore):
    assert store.put(outcome())
    assert not store.put(outcome(at=NOW.plus(seconds=5)))
    assert store.put(outcome(kind=Ending.REFUSAL))
    assert store.records(Outcome) == [outcome(kind=Ending.REFUSAL), outcome()]
    store.put(outcome("toolu_2", session="s-2"))
    assert [one.act for one in store.records(Outcome, session="s-2")] == ["toolu_2"]
    assert [one.kind for one in store.records(Outcome, kind=Ending.REFUSAL)] == [Ending.REFUSAL]
    assert [one.session for one in store.records(Outcome, limit=2)] == ["s-2", "s-1"]
    assert (shorten("a\nb"), len(shorten("long " * 200))) == ("a b", 300)


def test_events_and_outcomes_are_not_kept_for_ever(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("recollect.store.database.EVENTS_KEPT", 50)
    monkeypatch.setattr("recollect.store.database.OUTCOMES_KEPT", 50)
    with store.transaction():
        for number in range(60):
            store.put(pointer(prompt=str(number)))
            store.put(outcome(str(number)))
    last = [str(number) for number in range(10, 60)]
    assert (
        [one.prompt for _, one in store.events()]
        == [one.act for one in store.records(Outcome)][::-1]
        == last
    )
    store.put(outcome("late", at=NOW.plus(days=OUTCOMES_KEPT_DAYS + 1)))
    assert [one.act for one in store.records(Outcome)] == ["late"]


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_purge_takes_ledgers_and_the_outcomes_of_the_same_sessions_along(
    store: LocalStore, path: Path, is_deleted: bool
):
    lesson = rule("Lesson", body=CANARY, group="s-1", tags=("session:s-1", "session:s-2"))
    do(store, Create(lesson), Create(rule("Other", body="stays", group="s-3")))
    show(store, ME, [lesson.id])
    for one in ("s-1", "s-2", "s-3"):
        store.put(outcome(session=one, action=CANARY if one != "s-3" else "make", shown=()))
    store.put(outcome("named", session="s-4", shown=(lesson.id,)))
    if is_deleted:
        do(store, *delete_plan(store, lesson).changes)

    store.purge((lesson.id,))

    assert not store.marks(ME, Way.TOLD)
    assert [one.session for one in store.records(Outcome)] == ["s-3"]
    assert traces(path.parent, CANARY) == traces(path.parent, lesson.id) == []


# Transactions


def test_several_writes_are_one_or_none_and_a_part_that_fails_takes_back_its_own(store: LocalStore):
    kept, lost, made = thread("Billing"), thread("Brewing"), act()

    def fail() -> None:
        with store.transaction():
            store.put(StateRecord("a", "1"))
            do(store, Create(lost))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (read_text(store, "a"), list(store.each())) == (None, [])

    with store.transaction():
        store.apply(plan(Create(kept)), made)
        with pytest.raises(Conflict):
            store.apply(plan(Create(lost), Update.between(thread("gone"), thread("gone"))), act())
        store.put(StateRecord("a", "1"))
        assert store.undo(made.change, act(), dry_run=True)

    assert ([memory.id for memory, _ in store.each()], read_text(store, "a")) == ([kept.id], "1")
    assert search(store, Query(text="brewing")) == []
