"""What every engine must do about sessions: ledgers by agent and epoch, counters of use, pointers once each. A part of
the contract (contract.py)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.base.errors import Conflict
from recollect.model.plan import Create, Update
from recollect.model.query import Query
from recollect.model.session import LedgerKey, Way
from recollect.store import Store
from recollect.store.sessions import KEPT_DAYS
from tests.store.asking import ME, pointer, search, session, vector
from tests.values import NOW, act, plan, thread


class SessionContract:
    def test_a_session_is_known_again(self, store: Store):
        store.put_session(session(number=4, epoch=2), at=NOW)
        assert store.session("s-1") == session(number=4, epoch=2)
        assert store.session("s-1", "a1") is None
        assert store.session("s-2") is None

    def test_a_ledger_is_that_of_one_agent_in_one_epoch_and_way(self, store: Store):
        store.show(ME, Way.TOLD, ["m1", "m2", "m1"], at=NOW)
        store.show(ME, Way.TOLD, ["m2"], at=NOW.plus(seconds=1))

        assert store.shown(ME, Way.TOLD) == {"m1", "m2"}
        for other in (LedgerKey("s-2"), LedgerKey("s-1", "a1"), LedgerKey("s-1", epoch=1)):
            assert store.shown(other, Way.TOLD) == frozenset()
        assert store.shown(ME, Way.REMINDED) == frozenset()

    def test_sessions_that_were_not_heard_of_for_long_go_with_their_ledgers(self, store: Store):
        store.put_session(session("old"), at=NOW.plus(days=-KEPT_DAYS - 1))
        store.show(LedgerKey("old"), Way.TOLD, ["m1"], at=NOW)
        store.put_session(session("new"), at=NOW)
        store.show(LedgerKey("new"), Way.TOLD, ["m1"], at=NOW)

        store.put_session(session("now"), at=NOW)

        assert store.session("old") is None
        assert store.shown(LedgerKey("old"), Way.TOLD) == frozenset()
        assert store.shown(LedgerKey("new"), Way.TOLD) == {"m1"}

    def test_use_is_counted_and_not_journalled_and_cannot_change_what_a_memory_says(self, store: Store):
        memory = thread("Billing")
        store.apply(plan(Create(memory)), act())

        store.use([memory.id, memory.id, "nobody"], lambda m: replace(m, frequency=m.frequency + 1))
        with pytest.raises(ValueError, match="would change what it says"):
            store.use([memory.id], lambda m: replace(m, body="other words"))

        assert store.get(memory.id) == replace(memory, frequency=1)
        assert len(store.log(limit=10)) == 1
        assert store.verify() == []

    def test_undo_leaves_what_was_counted_since(self, store: Store):
        memory = thread("Billing", weight=0.5)
        store.apply(plan(Create(memory)), act())
        changed = act()
        store.apply(plan(Update.between(memory, replace(memory, title="Invoices", weight=0.9))), changed)
        store.use([memory.id], lambda m: replace(m, weight=1.0, frequency=3))

        store.undo(changed.change, act())

        assert store.get(memory.id) == replace(memory, weight=1.0, frequency=3)

    def test_states_are_found_by_how_their_names_begin_and_can_be_dropped(self, store: Store):
        for name in ("vault:a.md", "vault:\U0010fffd.md", "vault", "vault-allowed", "vaulu:", "u", "u"):
            store.put_state(name, f"{len(store.states(''))}")

        assert (store.state("vault"), store.state("u"), store.state("focus")) == ("2", "6", None)

        assert set(store.states("vault:")) == {"vault:a.md", "vault:\U0010fffd.md"}
        store.put_state("vault:a.md", None)
        store.put_state("never there", None)
        assert set(store.states("vault:")) == {"vault:\U0010fffd.md"}
        assert len(store.states("")) == 5

    def test_what_every_agent_of_a_session_was_shown_can_be_asked(self, store: Store):
        for number, agent in enumerate(("", "a-1")):
            talker = LedgerKey("s-1", agent, 0)
            store.show(talker, Way.TOLD, [f"m{number}"], at=NOW.plus(seconds=number))
        store.show(LedgerKey("s-2", "", 0), Way.TOLD, ["other"], at=NOW)

        assert [sight.memory for sight in store.memories_shown("s-1", None)] == ["m0", "m1"]
        assert [sight.memory for sight in store.memories_shown("s-1")] == ["m0"]

    def test_an_event_is_received_once(self, store: Store):
        assert store.put_event(pointer())
        assert not store.put_event(pointer(at=NOW.plus(seconds=9)))
        assert store.put_event(pointer(prompt="p2", calls=("a", "b")))
        assert [p for _, p in store.events()] == [pointer(), pointer(prompt="p2", calls=("a", "b"))]

    def test_an_event_that_is_told_of_again_stands_anew_at_the_end_with_the_smaller_size(self, store: Store):
        new = [
            store.put_event(pointer(**said))
            for said in ({"size": 5}, {"prompt": "p2"}, {"size": 9}, {"size": 3}, {"size": 3})
        ]

        assert new == [True, True, False, False, False]
        assert [(n, p.prompt, p.size) for n, p in store.events()] == [(2, "p2", 0), (4, "", 3)]
        assert [n for n, _ in store.events(after=2)] == [4]

    def test_acts_that_were_taken_in_are_known(self, store: Store):
        store.put_acts([1, -5, 2**62])
        store.put_acts([7, 1], "change_1")
        assert store.acts([1, 2, -5, 7]) == {1: "change_1", -5: "", 7: "change_1"}
        assert store.acts([]) == {}

    def test_several_writes_are_one_or_none(self, store: Store):
        def both() -> None:
            with store.transaction():
                store.put_state("a", "1")
                store.apply(plan(Create(thread("Billing"))), act())
                raise KeyError

        with pytest.raises(KeyError):
            both()

        assert store.state("a") is None
        assert list(store.each()) == []
        assert store.verify() == []

    def test_a_part_that_fails_takes_back_its_own_and_the_rest_stands(self, store: Store):
        kept, lost = thread("Billing"), thread("Brewing")
        with store.transaction():
            store.apply(plan(Create(kept)), act())
            with pytest.raises(Conflict):
                store.apply(plan(Create(lost), Update.between(thread("gone"), thread("gone"))), act())
            store.put_state("a", "1")

        assert [memory.id for memory, _ in store.each()] == [kept.id]
        assert store.state("a") == "1"
        assert search(store, Query(text="brewing")) == []
        assert store.verify() == []

    def test_an_undo_that_is_only_tried_within_a_transaction_leaves_nothing(self, store: Store):
        kept, made = thread("Billing"), act()
        store.apply(plan(Create(kept)), made)

        with store.transaction():
            assert store.undo(made.change, act(), dry_run=True)

        assert [memory.id for memory, _ in store.each()] == [kept.id]
        assert store.verify() == []

    def test_how_near_given_memories_are(self, store: Store):
        near, far = thread("near", body="x"), thread("far", body="y")
        store.apply(plan(Create(near), Create(far), Create(thread("other", body="z"))), act())
        seqs = [seq for seq, _ in store.vectorless("m", 10)]
        store.put_vectors("m", list(zip(seqs, [vector(1, 0), vector(0, 1), vector(1, 0)], strict=True)))

        found, _ = store.nearness("m", vector(1, 0), [near.id, far.id, "nobody"])

        assert {id: round(how, 2) for id, how in found.items()} == {near.id: 1.0, far.id: 0.0}
