"""Any text can be stored, comes back byte for byte, and can be asked for."""

from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.base.text import one_line, storable
from recollect.model.plan import Alias, Create, Link, Remove
from recollect.model.query import Query
from recollect.store import SqliteStore, Store, Tuning
from tests.naughty import NAUGHTY
from tests.store.helpers import do, search
from tests.values import act, bridge, messages, plan, thread


def has_words(text: str) -> bool:
    """And is not so long that only its beginning is asked for."""
    return any(c.isalnum() for c in text) and len(text) < 1_000 and max(text) < "\ud800"


def test_naughty_text_comes_back_byte_for_byte_and_can_be_asked_for_everywhere():
    with closing(SqliteStore(None, Tuning())) as store:
        kept = {}
        for raw in NAUGHTY:
            text, short = storable(raw), storable(raw)[:600]  # very long titles have their own test
            memory = thread(
                short, body=text, topics=(short, short), tags=(text,), drift=(text,), group=text, origin=text
            )
            kept[raw] = memory
            store.apply(plan(Create(memory, messages(memory, text, f"x {text}"))), act(text, summary=text))

        for raw, memory in kept.items():
            asked = storable(raw)
            assert store.get(memory.id) == memory, repr(raw[:40])
            assert [message.content for message in store.messages(memory.id)] == [asked, f"x {asked}"]
            assert store.log(limit=1, memory=memory.id)[0].summary == asked
            hits = search(store, Query(text=asked, limit=1_000 if has_words(raw) else 5))
            assert all(said.rstrip("\u2026") in hit.text for hit in hits for said in hit.shown)
            if has_words(raw):
                found = {one_line(hit.memory.body).casefold() for hit in hits}
                assert one_line(memory.body).casefold() in found, repr(raw)
            if asked:
                assert memory in store.find(Query(topic=asked[:600], group=asked, limit=1_000)), repr(raw[:40])
                assert store.log(limit=3, memory=asked) == store.log(limit=3, change=asked) == []
            assert store.get(asked) is None
            assert store.find(Query(like=asked))

        assert store.verify() == []
        assert store.reindex() > len(NAUGHTY)
        assert store.verify() == []


@given(st.lists(st.text(max_size=60).map(storable), min_size=1, max_size=5), st.text(max_size=60).map(storable))
@settings(max_examples=50)
def test_any_text_is_kept_and_any_question_is_answered(contents: list[str], question: str):
    with closing(SqliteStore(None, Tuning())) as store:
        made = [thread(text, body=text, topics=(text,)) for text in contents]
        do(store, *(Create(m, messages(m, *contents)) for m in made))

        assert [memory for memory, _ in store.each()] == made
        for text in (question, *contents):
            search(store, Query(text=text, topic=text))
        assert store.verify() == []


def test_ids_of_any_shape_can_be_bridged_and_named(store: Store):
    strange = {m.id: m for m in (thread("t", id=storable(text)) for text in NAUGHTY if len(text) < 400)}
    _, first, second, *_ = strange.values()
    do(store, *map(Create, strange.values()), Link(bridge(first, second)), Alias("'; --", first.id))

    assert all(store.get(id) == memory for id, memory in strange.items())
    assert store.get("'; --") == first
    assert store.bridges(second.id)[0].source == first.id
    assert store.verify() == []


@pytest.mark.parametrize(
    "word", ["a" * 33_000, "É" * 33_000, "日" * 2_000, "aB" * 2_000, "a_" * 2_000, "\u023a" * 17_000]
)
def test_a_title_that_is_one_endless_word_is_sound_and_found(store: Store, word: str):
    endless = thread(word)
    do(store, Create(endless))
    assert store.verify() == []
    assert [hit.memory for hit in search(store, Query(text=word))] == [endless]
    do(store, Remove(endless))
    assert store.verify() == []


def test_a_body_of_a_million_characters_is_kept_whole(store: Store):
    long = thread("long", body="A line of some words that says very little. \n" * 22_000)
    do(store, Create(long))
    assert store.get(long.id) == long
    [hit] = search(store, Query(text="little words"))
    assert sum(map(len, hit.shown)) <= 1_200
