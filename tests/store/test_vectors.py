"""Vectors as they are kept, and the search among them held against comparing with every one."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from recollect.model.memory import Note
from recollect.model.plan import Create, Plan, Remove, Update
from recollect.store import Store, Tuning, vectors
from tests.store.asking import vector
from tests.values import act, messages, note, plan, renamed, thread

Floats = NDArray[np.float32]
DIM = 64
QUICK = Tuning(synchronous="OFF")


def of_length_one(count: int, *, dim: int = DIM, seed: int = 7) -> Floats:
    """In a few heaps, as meanings lie: all apart from each other would make the search too easy."""
    chance = np.random.default_rng(seed)
    heaps = chance.normal(size=(max(1, count // 40), dim))
    found = heaps[chance.integers(0, len(heaps), count)] + 0.7 * chance.normal(size=(count, dim))
    scaled: Floats = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def filled(store: Store, values: Floats, model: str = "m") -> None:
    """One note a vector, the nth note with the nth one; its row number is n + 1."""
    store.apply(Plan(tuple(Create(note(f"Note {i}", body=f"b{i}")) for i in range(len(values)))), act())
    put(store, values, model)


def put(store: Store, values: Floats, model: str = "m") -> None:
    waiting = store.vectorless(model, len(values))
    store.put_vectors(model, [(seq, row.tobytes()) for (seq, _), row in zip(waiting, values, strict=True)])


def nearest(store: Store, asked: bytes, count: int = 10, model: str = "m") -> dict[int, float]:
    return {seq: near.best for seq, near in store.nearest(model, asked, count, ()).near.items()}


def unpacked(packed: bytes) -> Floats:
    scale = np.frombuffer(packed[:4], "<f4")[0]
    values: Floats = np.frombuffer(packed[4:], np.int8).astype(np.float32) * scale
    return values


# As they are kept


@given(arrays.arrays(np.float32, st.integers(1, 50), elements=st.floats(-1, 1, width=32)))
def test_a_kept_vector_is_the_given_one_but_for_half_a_step(values: Floats):
    packed = vectors.pack(values.tobytes())
    assert len(packed) == 4 + len(values)
    step = max(float(np.abs(values).max()) / 127, 1e-30)
    assert np.abs(unpacked(packed) - values).max() <= 0.51 * step


def test_nearness_loses_less_than_a_hundredth_by_keeping():
    values = of_length_one(200, dim=384)
    kept = np.stack([unpacked(vectors.pack(row.tobytes())) for row in values])
    assert np.abs(kept @ values.T - values @ values.T).max() < 0.01


def test_a_vector_of_nothing_is_kept_and_near_to_nothing(store: Store):
    filled(store, np.zeros((1, DIM), np.float32))
    assert all(near == 0 for near in nearest(store, of_length_one(1).tobytes()).values())


# Searching


@pytest.mark.parametrize("count", [1, 9, 500])
def test_up_to_a_few_thousand_the_nearest_are_those_of_comparing_all(store: Store, count: int):
    values = of_length_one(count)
    filled(store, values)
    for asked in of_length_one(20, seed=8):
        truth = values @ asked

        found = nearest(store, asked.tobytes())

        assert len(found) == min(10, count)
        for seq, near in found.items():
            assert near == pytest.approx(float(truth[seq - 1]), abs=0.01)
        assert min(found.values()) >= np.sort(truth)[-len(found)] - 0.02


def near_some(values: Floats, count: int) -> Floats:
    """Questions that something answers: a stored vector each, with as much again of something else."""
    chance = np.random.default_rng(9)
    noise = chance.normal(size=(count, values.shape[1])) / np.sqrt(values.shape[1])
    asked = values[chance.integers(0, len(values), count)] + noise
    scaled: Floats = (asked / np.linalg.norm(asked, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def test_above_that_nearly_all_of_the_nearest_are_found():
    values = of_length_one(vectors._ALL_EXACT + 2_000, dim=384)
    with closing(Store(None, Tuning())) as store:
        filled(store, values)

        assert share_found(store, values, near_some(values, 30)) >= 0.95
        # Far from all there is, the ten nearest are hardly nearer than the rest: bits tell them apart less well.
        assert share_found(store, values, of_length_one(30, dim=384, seed=8)) >= 0.8


def share_found(store: Store, values: Floats, questions: Floats) -> float:
    hits = 0
    for asked in questions:
        truth = set((np.argsort(-(values @ asked))[:10] + 1).tolist())
        hits += len(truth & set(nearest(store, asked.tobytes())))
    return hits / (10 * len(questions))


def test_those_asked_about_are_told_however_far(store: Store):
    filled(store, np.eye(DIM, dtype=np.float32))
    found = store.nearest("m", np.eye(DIM, dtype=np.float32)[0].tobytes(), 1, [5, 9, 999]).near
    assert set(found) == {1, 5, 9}, "999 is nobody"


def test_each_turn_of_a_thread_is_as_near_as_its_own_passages(store: Store):
    talk = thread("Talk", body="body")
    store.apply(plan(Create(talk, messages(talk, "one", "two"))), act())
    waiting = store.vectorless("m", 9)
    assert len(waiting) == 3
    given = [vector(1, 0), vector(0, 1), vector(0.6, 0.8)]
    store.put_vectors("m", [(seq, value) for (seq, _), value in zip(waiting, given, strict=True)])

    near = store.nearest("m", vector(0, 1), 5, ()).near

    assert {unit: round(one.best, 1) for unit, one in near.items()} == {1: 0.0, -1: 1.0, -2: 0.8}
    assert {one.memory for one in near.values()} == {1}


def test_a_text_is_as_near_as_its_nearest_passage_and_has_a_middle(store: Store):
    store.apply(plan(Create(note("Long", body="\n\n".join(letter * 200 for letter in "abc")))), act())
    waiting = store.vectorless("m", 9)
    given = [vector(1, 0), vector(0, 1), vector(0.6, 0.8)]
    store.put_vectors("m", [(seq, value) for (seq, _), value in zip(waiting, given, strict=True)])

    [near] = store.nearest("m", vector(0, 1), 5, ()).near.values()
    pieces = store.pieces([1], "m", vector(0, 1))

    assert near.best == pytest.approx(1, abs=0.01)
    assert near.middle == pytest.approx(1.8 / np.hypot(1.6, 1.8), abs=0.01)
    assert [(one.unit, one.start, round(one.near, 1)) for one in pieces] == [(1, 0, 0.0), (1, 202, 1.0), (1, 404, 0.8)]


def test_a_memory_of_hundreds_of_passages_is_judged_by_a_sample(store: Store):
    long = note("Long", body="\n\n".join(f"{i} " + "x" * 590 for i in range(300)))
    store.apply(plan(Create(long)), act())
    put(store, of_length_one(len(store.vectorless("m", 1_000))))
    [near] = store.nearest("m", of_length_one(1, seed=3).tobytes(), 5, ()).near.values()
    assert -1 <= near.middle <= 1.01


# What changes meanwhile


def test_what_another_writes_is_seen(path: Path):
    values = of_length_one(30)
    with closing(Store(path, QUICK)) as theirs, closing(Store(path, QUICK)) as ours:
        assert nearest(ours, values[0].tobytes()) == {}
        for part in (values[:10], values[10:]):
            filled(theirs, part)
            assert 1 in nearest(ours, values[0].tobytes())
        assert nearest(ours, values[20].tobytes(), 1).keys() == {21}


def test_vectors_may_come_in_any_order(store: Store):
    store.apply(Plan(tuple(Create(note(f"Note {i}", body=f"b{i}")) for i in range(3))), act())
    first, *others = store.vectorless("m", 3)
    store.put_vectors("m", [(seq, vector(0, 1)) for seq, _ in others])
    assert len(nearest(store, vector(1, 0))) == 2

    store.put_vectors("m", [(first[0], vector(1, 0))])

    assert nearest(store, vector(1, 0), 1).keys() == {1}


def test_passages_without_a_vector_are_told_oldest_first(store: Store):
    first = note("First", body="a")
    store.apply(plan(Create(first), Create(note("Second", body="b"))), act())
    store.apply(plan(Update.between(first, renamed(first, "Again"))), act())
    waiting = [seq for seq, _ in store.vectorless("m", 9)]
    assert waiting == sorted(waiting)


def test_what_another_deletes_is_no_longer_near(path: Path):
    values = of_length_one(30)
    with closing(Store(path, QUICK)) as theirs, closing(Store(path, QUICK)) as ours:
        filled(theirs, values)
        assert 4 in nearest(ours, values[3].tobytes(), 3)
        gone = [memory for memory, _ in theirs.each()][3]
        theirs.apply(plan(Remove(gone, ())), act())

        assert 4 not in nearest(ours, values[3].tobytes(), 3)
        assert len(nearest(ours, values[3].tobytes(), 3)) >= 2, "the next ones stand in its place"


def test_a_memory_that_was_reworded_is_not_near_by_its_old_words(path: Path):
    with closing(Store(path, QUICK)) as theirs, closing(Store(path, QUICK)) as ours:
        filled(theirs, np.eye(8, dtype=np.float32))
        asked = np.eye(8, dtype=np.float32)[2].tobytes()
        assert nearest(ours, asked)[3] == pytest.approx(1, abs=0.01)
        old = [memory for memory, _ in theirs.each()][2]
        assert isinstance(old, Note)
        theirs.apply(plan(Update.between(old, renamed(old, "Other words"))), act())

        assert 3 not in nearest(ours, asked), "until its new words have a vector, none is known"
        put(theirs, np.eye(8, dtype=np.float32)[:1])
        assert nearest(ours, asked)[3] == pytest.approx(0, abs=0.01)


def test_when_most_is_gone_the_rest_is_still_found(path: Path):
    values = of_length_one(40)
    with closing(Store(path, QUICK)) as theirs, closing(Store(path, QUICK)) as ours:
        filled(theirs, values)
        nearest(ours, values[0].tobytes())
        theirs.apply(Plan(tuple(Remove(memory, ()) for memory, _ in list(theirs.each())[:35])), act())

        assert set(nearest(ours, values[38].tobytes(), 40)) == {36, 37, 38, 39, 40}


# Models


def test_vectors_of_another_model_are_never_compared(store: Store):
    filled(store, np.eye(2, dtype=np.float32), model="small")
    put(store, np.eye(3, dtype=np.float32)[:2], model="large")

    assert nearest(store, vector(1, 0), 1, "small").keys() == {1}
    assert nearest(store, vector(0, 1, 0), 1, "large").keys() == {2}
    found = store.nearest("other", vector(1, 0), 10, [1, 2, 3])
    assert (dict(found.near), found.missing) == ({}, 2)


@pytest.mark.parametrize("dim", [3, 100, 768, 1_024, 4_096])
def test_a_model_s_vectors_may_have_any_size(dim: int, monkeypatch: pytest.MonkeyPatch):
    values = of_length_one(300, dim=dim)
    with closing(Store(None, Tuning())) as store:
        filled(store, values)
        for most_exact in (vectors._ALL_EXACT, 100):  # by bytes with all; by bits first
            monkeypatch.setattr(vectors, "_ALL_EXACT", most_exact)
            for place in (0, 150, 299):
                found = nearest(store, values[place].tobytes(), 3)
                assert max(found, key=lambda seq: found[seq]) == place + 1
        assert store.pairs("m", list(range(1, 301)), 0.999, []) == [] or dim == 3


def test_a_question_or_a_vector_of_another_size_is_left_out(store: Store):
    filled(store, np.eye(4, dtype=np.float32)[:2])
    store.apply(plan(Create(note("Odd"))), act())
    put(store, np.ones((1, 9), np.float32))

    assert set(nearest(store, vector(1, 0, 0, 0))) == {1, 2}
    for dim in (1, 3, 5, 384):
        assert nearest(store, of_length_one(1, dim=dim).tobytes()) == {}


def test_how_many_passages_wait_for_a_vector_is_told(store: Store):
    asked = of_length_one(1).tobytes()
    assert store.nearest("m", asked, 5, ()).missing == 0
    filled(store, of_length_one(10))
    assert store.nearest("m", asked, 5, ()).missing == 0
    store.apply(plan(Create(note("New", body="a")), Create(note("Newer", body="b"))), act())
    assert store.nearest("m", asked, 5, ()).missing == 2


# Places


def test_neighbours_are_those_before_and_after_in_the_group(store: Store):
    said = [note(f"{i}", body=f"b{i}", group="talk" if i != 2 else "other") for i in range(5)]
    store.apply(Plan((*map(Create, said), Create(note("alone")))), act())

    places = store.places([1, 2, 3, 4, 5, 6, 99], beside=9)

    groups = {seq: place.group for seq, place in places.items()}
    assert groups == {1: "talk", 2: "talk", 3: "other", 4: "talk", 5: "talk", 6: ""}
    assert (places[1].before, places[1].after[:1]) == ((), (2,))
    assert (places[2].before[:1], places[2].after[:1]) == ((1,), (4,))
    assert (places[3].before, places[3].after) == ((), ())
    assert (places[5].before[:1], places[5].after) == ((4,), ())
    assert (places[6].before, places[6].after) == ((), ())
    places = store.places([4, 5], beside=1)
    assert (places[4].before, places[4].after) == ((2,), (5,))
    assert (places[5].group, places[5].before, places[5].after) == ("talk", (), ()), "only the first is looked up"
