"""Vectors as they are stored, and the search among them compared with an exact one."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from recollect.lifecycle import edits
from recollect.model.memory import Message, Status
from recollect.model.plan import Create, Remove, Say, Update
from recollect.model.query import Query
from recollect.store import LocalStore, SqliteStore, Store, vectors
from recollect.store.similar_pairs import Means, pairs
from tests.store.helpers import do, search, vector
from tests.values import MINT, NOW, act, messages, note, renamed, thread

Floats = NDArray[np.float32]
DIM = 64


def unit_vectors(count: int, *, dim: int = DIM, seed: int = 7) -> Floats:
    """In a few clusters, as meanings are: all apart from each other would make the search too easy."""
    chance = np.random.default_rng(seed)
    centres = chance.normal(size=(max(1, count // 40), dim))
    return scaled(
        centres[chance.integers(0, len(centres), count)] + 0.7 * chance.normal(size=(count, dim))
    )


def scaled(values: NDArray[Any]) -> Floats:
    return np.asarray(values / np.linalg.norm(values, axis=1, keepdims=True), np.float32)


def fill(store: Store, values: Floats, model: str = "m") -> None:
    """One note per vector, the nth note with the nth one; its row number is n + 1."""
    do(store, *(Create(note(f"Note {i}", body=f"b{i}")) for i in range(len(values))))
    put(store, values, model)


def put(store: Store, values: Floats, model: str = "m") -> None:
    waiting = store.vectorless(model, len(values))
    store.put_vectors(
        model, [(seq, row.tobytes()) for (seq, _), row in zip(waiting, values, strict=True)]
    )


def nearest(store: Store, asked: bytes, count: int = 10, model: str = "m") -> dict[int, float]:
    return {seq: near.best for seq, near in store.nearest(model, asked, count, ()).near.items()}


# As they are stored


@given(arrays.arrays(np.float32, st.integers(1, 50), elements=st.floats(-1, 1, width=32)))
def test_a_stored_vector_is_the_given_one_but_for_half_a_step(values: Floats):
    packed = vectors.pack(values.tobytes())
    assert len(packed) == 4 + len(values)
    unpacked = (
        np.frombuffer(packed[4:], np.int8).astype(np.float32) * np.frombuffer(packed[:4], "<f4")[0]
    )
    assert np.abs(unpacked - values).max() <= 0.51 * max(float(np.abs(values).max()) / 127, 1e-30)


def test_every_passage_waits_for_a_vector_oldest_first_until_it_has_one(store: Store):
    first = note("First", body="a")
    do(store, Create(first), *(Create(note(f"Note {i}", body=f"b{i}")) for i in range(4)))
    do(store, Update.between(first, renamed(first, "Again")))
    waiting = store.vectorless("small", 100)
    assert (
        len(waiting)
        == store.nearest("small", vector(1, 0), 5, ()).missing
        == store.counts().passages
        == 5
    )
    assert (waiting == sorted(waiting), waiting[-1][1], store.vectorless("small", 2)) == (
        True,
        "Again\na",
        waiting[:2],
    )
    store.put_vectors("small", [(seq, vector(1, 0)) for seq, _ in waiting[:3]])
    assert (store.vectorless("small", 100), store.vectorless("large", 100)) == (
        waiting[3:],
        waiting,
    )
    store.put_vectors(
        "small", [(waiting[0][0], vector(0, 1)), (999_999, vector(1, 1))]
    )  # again, and of nothing
    assert (store.counts().vectors, store.nearest("small", vector(1, 0), 5, ()).missing) == (3, 2)


def test_vectors_of_other_models_are_never_compared_and_removed_some_at_a_time(store: Store):
    fill(store, np.eye(2, dtype=np.float32), model="small")
    put(store, np.eye(3, dtype=np.float32)[:2], model="large")
    assert nearest(store, vector(1, 0), 1, "small").keys() == {1}
    assert nearest(store, vector(0, 1, 0), 1, "large").keys() == {2}
    assert store.nearest("other", vector(1, 0), 10, [1, 2, 3])[:2] == ({}, 2)
    for most, dropped, left in (
        (1, 1, {"large": 1, "small": 2}),
        (9, 1, {"small": 2}),
        (9, 0, {"small": 2}),
    ):
        assert store.put_vectors("small", [], drop_others=most) == dropped
        assert store.counts().vectors_by_model == left


def test_vectors_stay_with_their_text_and_go_with_it(store: Store):
    talk = thread("Talk", body="body")
    do(store, Create(talk, messages(talk, "one", "two")))
    put(store, np.eye(3, dtype=np.float32))
    do(store, *edits.archive(talk).changes)
    assert store.counts().vectors == 3, "another status makes no other vectors"

    later = Message(MINT.draw("message"), talk.id, NOW.plus(days=1), "user", "it works again")
    archived = replace(talk, status=Status.ARCHIVED)
    summed_up = Update.between(archived, replace(archived, body="In sum.", topics=("night",)))
    done = do(store, Say(talk.id, (later,)), summed_up)
    assert {text for _, text in store.vectorless("m", 100)} == {
        "Talk\nit works again",
        "Talk\nIn sum.",
    }
    assert [hit.memory.id for hit in search(store, Query(text="works again"))] == [talk.id]
    store.undo(done, act("undo"))
    assert [text for _, text in store.vectorless("m", 100)] == ["Talk\nbody"]
    assert search(store, Query(text="works again")) == []

    store.purge((talk.id,))
    assert store.counts().vectors == 0


# Searching


@pytest.mark.parametrize("count", [1, 9, 500])
def test_up_to_a_few_thousand_the_nearest_are_exact(store: Store, count: int):
    values = unit_vectors(count)
    fill(store, values)
    for asked in unit_vectors(20, seed=8):
        truth, found = values @ asked, nearest(store, asked.tobytes())
        assert len(found) == min(10, count)
        assert all(
            near == pytest.approx(float(truth[seq - 1]), abs=0.01) for seq, near in found.items()
        )
        assert min(found.values()) >= np.sort(truth)[-len(found)] - 0.02


def test_above_that_nearly_all_of_the_nearest_are_found(local: LocalStore):
    store = local
    values, chance = unit_vectors(vectors._ALL_EXACT + 2_000, dim=384), np.random.default_rng(9)
    fill(store, values)
    # Questions that something answers: a stored vector each, with as much again of something else.
    near = values[chance.integers(0, len(values), 30)] + chance.normal(size=(30, 384)) / np.sqrt(
        384
    )
    # Far from everything, the ten nearest are hardly nearer than the rest: bits tell them apart less well.
    for questions, share in ((scaled(near), 0.95), (unit_vectors(30, dim=384, seed=8), 0.8)):
        hits = 0
        for asked in questions:
            truth = set((np.argsort(-(values @ asked))[:10] + 1).tolist())
            hits += len(truth & set(nearest(store, asked.tobytes())))
        assert hits >= share * 10 * len(questions)


@pytest.mark.parametrize("dim", [3, 100, 768, 4_096])
def test_a_models_vectors_may_have_any_size(
    store: Store, dim: int, monkeypatch: pytest.MonkeyPatch
):
    values = unit_vectors(300, dim=dim)
    fill(store, values)
    for most_exact in (vectors._ALL_EXACT, 100):  # by bytes with all; by bits first
        monkeypatch.setattr(vectors, "_ALL_EXACT", most_exact)
        for place in (0, 150, 299):
            found = nearest(store, values[place].tobytes(), 3)
            assert max(found, key=lambda seq: found[seq]) == place + 1
    if isinstance(store, SqliteStore):
        assert store.similar_pairs("m", list(range(1, 301)), 0.999, []) == [] or dim == 3


def test_what_was_asked_about_is_measured_and_odd_vectors_are_left_out(store: Store):
    fill(store, np.vstack([np.eye(DIM, dtype=np.float32), np.zeros((1, DIM), np.float32)]))
    do(store, Create(note("Odd")))
    put(store, np.ones((1, 9), np.float32))
    asked = np.eye(DIM, dtype=np.float32)[0].tobytes()
    found = store.nearest("m", asked, 1, [5, 9, DIM + 1, DIM + 2, 999]).near
    assert {unit: round(near.best, 1) for unit, near in found.items()} == {
        1: 1.0,
        5: 0.0,
        9: 0.0,
        DIM + 1: 0.0,
    }
    for dim in (1, 3, 384):
        assert nearest(store, unit_vectors(1, dim=dim).tobytes()) == {}


def test_a_unit_is_as_near_as_its_nearest_passage_and_has_a_mean(store: Store):
    talk, long = (
        thread("Talk", body="body"),
        note("Long", body="\n\n".join(letter * 200 for letter in "abc")),
    )
    do(store, Create(talk, messages(talk, "one", "two")), Create(long))
    given = [vector(1, 0), vector(0, 1), vector(0.6, 0.8)]
    store.put_vectors(
        "m", [(seq, given[n % 3]) for n, (seq, _) in enumerate(store.vectorless("m", 9))]
    )
    near = store.nearest("m", vector(0, 1), 9, ()).near
    best = {unit: (one.memory, round(one.best, 1)) for unit, one in near.items()}
    assert best == {1: (1, 0.0), -1: (1, 1.0), -2: (1, 0.8), 2: (2, 1.0)}
    assert near[2].middle == pytest.approx(1.8 / np.hypot(1.6, 1.8), abs=0.01)
    pieces = store.pieces([2], "m", vector(0, 1))
    assert [(one.unit, one.start, round(one.near, 1)) for one in pieces] == [
        (2, 0, 0.0),
        (2, 202, 1.0),
        (2, 404, 0.8),
    ]


def test_similarity_is_that_of_the_nearest_passage_of_a_body_or_of_its_messages(store: Store):
    near, far = thread("near", body="x"), thread("far", body="y")
    do(store, Create(near, messages(near, "said")), Create(far), Create(thread("other", body="z")))
    put(store, np.array([[1, 0], [0, 1], [0.6, 0.8], [1, 0]], np.float32))
    ids = [near.id, far.id, "nobody"]
    close = store.similarity("m", vector(0, 1), ids)
    assert {id: round(how, 1) for id, how in close.items()} == {near.id: 1.0, far.id: 0.8}, (
        "its messages count, too"
    )
    assert store.nearest("m", vector(0, 1), 1, ()).background.passages == 4
    assert (
        store.similarity("other", vector(0, 1), ids)
        == store.similarity("m", vector(0, 1) * 2, ids)
        == {}
    )
    found = store.similarity("other", vector(0, 1), ids, [(id, vector(0, 1)) for id in ids[:2]])
    assert found == pytest.approx(dict.fromkeys(ids[:2], 1.0), abs=0.01)


# What changes meanwhile


def test_what_another_writes_and_deletes_is_seen(store: Store, ours: Store):
    values = unit_vectors(40)
    assert nearest(ours, values[0].tobytes()) == {}
    for part in (values[:10], values[10:]):
        fill(store, part)
        assert 1 in nearest(ours, values[0].tobytes())
    assert nearest(ours, values[20].tobytes(), 1).keys() == {21}

    made = [memory for memory, _ in store.each()]
    do(store, Remove(made[20]))
    assert 21 not in nearest(ours, values[20].tobytes(), 3)
    assert len(nearest(ours, values[20].tobytes(), 3)) >= 2, "the next ones take its place"
    do(store, *map(Remove, [*made[:20], *made[21:35]]))
    assert set(nearest(ours, values[38].tobytes(), 40)) == {36, 37, 38, 39, 40}, "most is gone"


def test_a_memory_that_was_reworded_is_not_near_by_its_old_words(store: Store, ours: Store):
    eight = np.eye(8, dtype=np.float32)
    fill(store, eight)
    asked = eight[2].tobytes()
    assert nearest(ours, asked)[3] == pytest.approx(1, abs=0.01)
    old = [memory for memory, _ in store.each()][2]
    do(store, Update.between(old, renamed(old, "Other words")))
    assert 3 not in nearest(ours, asked), "until its new words have a vector, none is known"
    put(store, eight[:1])
    assert nearest(ours, asked)[3] == pytest.approx(0, abs=0.01)


def test_vectors_may_come_in_any_order(store: Store):
    do(store, *(Create(note(f"Note {i}", body=f"b{i}")) for i in range(3)))
    first, *others = store.vectorless("m", 3)
    store.put_vectors("m", [(seq, vector(0, 1)) for seq, _ in others])
    assert len(nearest(store, vector(1, 0))) == 2
    store.put_vectors("m", [(first[0], vector(1, 0))])
    assert nearest(store, vector(1, 0), 1).keys() == {1}


# Pairs


def means_of(values: Floats) -> Means:
    return lambda rows, every: scaled(values[rows][:, ::every])


def with_twins(values: Floats, twins: int, cosine: float) -> Floats:
    noise = scaled(np.random.default_rng(2).normal(size=(twins, 384)))
    noise -= np.sum(noise * values[:twins], axis=1)[:, None] * values[:twins]
    return scaled(
        np.concatenate(
            [values, values[:twins] * cosine + scaled(noise) * float(np.sqrt(1 - cosine**2))]
        )
    )


@pytest.mark.parametrize(
    ("count", "twins", "least"), [(200, 20, 20), (5_000, 300, 270)], ids=["few", "many"]
)
def test_pairs_are_nearly_all_found_and_none_is_wrong(count: int, twins: int, least: int):
    values = with_twins(scaled(np.random.default_rng(1).normal(size=(count, 384))), twins, 0.92)
    found = pairs(len(values), means_of(values), 0.85)
    assert len({(a, b) for a, b, _ in found} & {(n, count + n) for n in range(twins)}) >= least
    assert all(abs(float(values[a] @ values[b]) - how) < 1e-4 and how > 0.85 for a, b, how in found)
    assert [how for _, _, how in found] == sorted((how for _, _, how in found), reverse=True)
    assert pairs(len(values), means_of(values), 0.85) == found
    assert pairs(1, means_of(values), 0.5) == pairs(0, means_of(values), 0.5) == []


def test_a_great_many_copies_cost_a_few_pairs_each():
    found = pairs(6_000, means_of(np.ones((6_000, 384), np.float32)), 0.85)
    assert 5_999 <= 2 * len(found) <= 60_000
    assert {place for a, b, _ in found for place in (a, b)} == set(range(6_000))


def test_a_store_pairs_threads_by_the_mean_of_their_passages_also_with_unstored_vectors(
    local: LocalStore,
):
    store = local
    one, two, far, new = thread("one"), thread("two"), thread("far"), thread("new", body="new")
    do(store, *(Create(t, messages(t, f"said in {t.title}")) for t in (one, two, far)))
    given = {"one": (1, 0.1, 0), "two": (1, 0, 0.1), "far": (0, 0, 1)}
    rows = [
        (seq, vector(*given[next(n for n in given if n in text)]))
        for seq, text in store.vectorless("m", 10)
    ]
    store.put_vectors("m", rows)
    do(store, Create(new))
    ids = {s.seq: s.id for s in store.sketches()}

    [(a, b, how)] = store.similar_pairs("m", list(ids), 0.85, [])
    assert {ids[a], ids[b]} == {one.id, two.id}
    assert 0.85 < how < 1

    owners = store.owners([seq for seq, _ in store.vectorless("m", 10)])
    more = [(seq, owner.memory, vector(0, 0, 1)) for seq, owner in owners.items()]
    found = store.similar_pairs("m", list(ids), 0.85, more)
    assert {ids[a] for a, b, _ in found} | {ids[b] for _, b, _ in found} == {
        one.id,
        two.id,
        far.id,
        new.id,
    }
    assert len(store.similar_pairs("m", list(ids), 0.85, [])) == 1, "for this once alone"
