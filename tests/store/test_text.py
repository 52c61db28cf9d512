"""Any text can be kept, comes back byte for byte, and can be asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.base.text import one_line, storable
from recollect.model.memory import Thread
from recollect.model.plan import Alias, Create, Link, Plan, Remove
from recollect.model.query import Query
from recollect.store import Store, Tuning
from tests.naughty import NAUGHTY
from tests.store.asking import search
from tests.values import act, bridge, messages, plan, thread

Full = tuple[Store, dict[str, Thread]]
# What has words and is not so long that only its beginning is asked for.
SEARCHABLE = [t for t in NAUGHTY if any(c.isalnum() for c in t) and len(t) < 1_000 and max(t) < "\ud800"]


@pytest.fixture(scope="module")
def full() -> Iterator[Full]:
    """Every naughty string in every place that takes text."""
    store, kept = Store(None, Tuning()), dict[str, Thread]()
    for raw in NAUGHTY:
        text = storable(raw)
        # Titles and topics stand in every passage: very long ones have their own test.
        short = text[:600]
        memory = thread(short, body=text, topics=(short, short), tags=(text,), drift=(text,), group=text, origin=text)
        kept[raw] = memory
        store.apply(plan(Create(memory, messages(memory, text, f"x {text}"))), act(text, summary=text))
    yield store, kept
    store.close()


def test_naughty_text_comes_back_byte_for_byte(full: Full) -> None:
    store, kept = full
    for text, memory in kept.items():
        assert store.get(memory.id) == memory, repr(text[:40])
        assert memory.body.encode() == storable(text).encode()
        assert _contents(store, memory.id) == [storable(text), f"x {storable(text)}"]
        assert store.log(limit=1, memory=memory.id)[0].summary == storable(text)


def test_naughty_text_can_be_asked_for_everywhere(full: Full) -> None:
    store, kept = full
    for text, memory in kept.items():
        asked = storable(text)
        for hit in search(store, Query(text=asked, limit=5)):
            assert hit.text in (hit.memory.body, *_contents(store, hit.memory.id))
            assert all(said.rstrip("\u2026") in hit.text for said in hit.shown)
        if asked:
            assert memory in store.find(Query(topic=asked[:600], group=asked, limit=1_000)), repr(text[:40])
            assert store.log(limit=3, memory=asked) == store.log(limit=3, change=asked) == []
        assert store.get(asked) is None
        assert store.near(asked)


def test_naughty_words_are_found(full: Full) -> None:
    store, kept = full
    for text in SEARCHABLE:
        found = {one_line(hit.memory.body).casefold() for hit in search(store, Query(text=text, limit=1_000))}
        assert one_line(kept[text].body).casefold() in found, repr(text)


def _contents(store: Store, id: str) -> list[str]:
    return [message.content for message in store.messages(id)]


def test_a_store_full_of_naughty_text_is_sound(full: Full) -> None:
    store, _ = full
    assert store.verify() == []
    assert store.reindex() > len(NAUGHTY)
    assert store.verify() == []


@given(st.lists(st.text(max_size=60).map(storable), min_size=1, max_size=5), st.text(max_size=60).map(storable))
@settings(max_examples=50)
def test_any_text_is_kept_and_any_question_is_answered(contents: list[str], question: str) -> None:
    store = Store(None, Tuning())
    made = [thread(text, body=text, topics=(text,)) for text in contents]
    store.apply(Plan(tuple(Create(m, messages(m, *contents)) for m in made)), act())

    assert [memory for memory, _ in store.each()] == made
    search(store, Query(text=question))
    for text in contents:
        search(store, Query(text=text, topic=text))
    assert store.verify() == []
    store.close()


def test_ids_of_any_shape_can_be_bridged_and_named(store: Store) -> None:
    strange = [thread("t", id=storable(text)) for text in NAUGHTY if len(text) < 400]
    unique = list({m.id: m for m in strange}.values())
    store.apply(Plan(tuple(map(Create, unique))), act())
    first, second = unique[1:3]
    store.apply(plan(Link(bridge(first, second)), Alias("'; --", first.id)), act())

    assert all(store.get(m.id) == m for m in unique)
    assert store.get("'; --") == first
    assert store.bridges(second.id)[0].source == first.id
    assert store.verify() == []


@pytest.mark.parametrize(
    "word", ["a" * 33_000, "É" * 33_000, "日" * 2_000, "aB" * 2_000, "a_" * 2_000, "\u023a" * 17_000]
)
def test_a_title_that_is_one_endless_word_is_sound_and_found(store: Store, word: str) -> None:
    endless = thread(word)
    store.apply(plan(Create(endless)), act())

    assert store.verify() == []
    assert [hit.memory for hit in search(store, Query(text=word))] == [endless]
    store.apply(plan(Remove(endless)), act())
    assert store.verify() == []


def test_a_body_of_a_million_characters_is_kept_whole(store: Store) -> None:
    body = "A line of some words that says very little. \n" * 22_000
    long = thread("long", body=body)
    store.apply(plan(Create(long)), act())

    assert store.get(long.id) == long
    [hit] = search(store, Query(text="little words"))
    assert sum(map(len, hit.shown)) <= 1_200
