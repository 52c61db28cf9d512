"""Who is near to whom: what is found is right, and little is missed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.model.memory import Sketch
from recollect.model.plan import Create
from recollect.model.query import Query
from recollect.store import Store
from recollect.store.neighbours import Means, pairs
from tests.store.asking import vector
from tests.values import act, messages, plan, thread


def middles_of(vectors: NDArray[np.float32]) -> Means:
    def middles(rows: NDArray[np.int64], every: int) -> NDArray[np.float32]:
        part = vectors[rows][:, ::every]
        return np.asarray(part / np.linalg.norm(part, axis=1)[:, None], np.float32)

    return middles


def chance(count: int, seed: int = 1) -> NDArray[np.float32]:
    made = np.random.default_rng(seed).normal(size=(count, 384)).astype(np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1)[:, None], np.float32)


def with_twins(vectors: NDArray[np.float32], twins: int, cosine: float) -> NDArray[np.float32]:
    noise = chance(twins, 2)
    noise -= np.sum(noise * vectors[:twins], axis=1)[:, None] * vectors[:twins]
    noise /= np.linalg.norm(noise, axis=1)[:, None]
    return np.concatenate([vectors, vectors[:twins] * cosine + noise * np.sqrt(1 - cosine**2)]).astype(np.float32)


def test_a_few_are_compared_exactly():
    vectors = with_twins(chance(200), 20, 0.9)
    found = pairs(len(vectors), middles_of(vectors), 0.85)
    assert {(a, b) for a, b, _ in found} >= {(n, 200 + n) for n in range(20)}
    assert all(abs(float(vectors[a] @ vectors[b]) - how) < 1e-5 for a, b, how in found)
    assert [how for _, _, how in found] == sorted((how for _, _, how in found), reverse=True)


def test_among_many_nearly_all_are_found_and_none_is_wrong():
    vectors = with_twins(chance(5_000), 300, 0.92)

    found = pairs(len(vectors), middles_of(vectors), 0.85)

    right = {(a, b) for a, b, _ in found} & {(n, 5_000 + n) for n in range(300)}
    assert len(right) >= 0.9 * 300
    assert all(float(vectors[a] @ vectors[b]) > 0.85 for a, b, _ in found)
    assert pairs(len(vectors), middles_of(vectors), 0.85) == found


def test_a_great_many_copies_cost_a_few_pairs_each():
    vectors = np.ones((6_000, 384), np.float32)
    found = pairs(len(vectors), middles_of(vectors), 0.85)
    assert len(vectors) - 1 <= 2 * len(found) <= 10 * len(vectors)
    assert {place for a, b, _ in found for place in (a, b)} == set(range(len(vectors)))


def test_one_or_none_has_no_neighbour():
    assert pairs(0, middles_of(chance(1)), 0.5) == []
    assert pairs(1, middles_of(chance(1)), 0.5) == []


def test_a_store_gives_pairs_of_its_threads_by_the_middle_of_their_passages(store: Store):
    one, two, far = thread("one"), thread("two"), thread("far")
    store.apply(plan(*(Create(t, messages(t, f"said in {t.title}")) for t in (one, two, far))), act())
    given = {"one": (1, 0.1, 0), "two": (1, 0, 0.1), "far": (0, 0, 1)}
    rows = [(seq, vector(*given[next(n for n in given if n in text)])) for seq, text in store.vectorless("m", 10)]
    store.put_vectors("m", rows)
    sketches = {s.seq: s.id for s in store.sketches()}

    [(a, b, how)] = store.pairs("m", list(sketches), 0.85, [])

    assert {sketches[a], sketches[b]} == {one.id, two.id}
    assert 0.85 < how < 1


def test_vectors_that_are_not_kept_count_for_the_occasion_alone(store: Store):
    one, two = thread("one"), thread("two")
    store.apply(plan(Create(one), Create(two)), act())
    owners = store.owners([seq for seq, _ in store.vectorless("m", 10)])
    more = [(seq, owner.memory, vector(1, 0)) for seq, owner in owners.items()]
    seqs = [s.seq for s in store.sketches()]

    assert len(store.pairs("m", seqs, 0.85, more)) == 1
    assert store.pairs("m", seqs, 0.85, []) == []
    assert store.counts().vectors == 0


def test_a_sketch_is_what_the_memory_is(store: Store):
    made = thread("one", days_old=3, weight=0.5, pinned=True)
    store.apply(plan(Create(made)), act())

    [found] = store.sketches()

    assert found == Sketch(
        found.seq, made.id, made.status, 0.5, True, made.reinforced_at.micros, made.last_active_at.micros, made.lane
    )
    assert found.kind is made.kind


def test_what_drifted_is_found_by_how_often(store: Store):
    much, little = thread("much", drift=("a", "b", "c", "d")), thread("little", drift=("a", "b", "c"))
    store.apply(plan(Create(much), Create(little)), act())
    assert store.find(Query(drifts_over=3)) == [much]


def test_memories_are_found_by_topic_title_or_id(store: Store):
    topical = thread("Login", topics=("Authentication",))
    titled = thread("Why authentication broke", body="Nothing of that.")
    headed = thread("The authentication flow", body="The authentication flow is slow.")
    spoken = thread("Login", body="It speaks of authentication in passing.")
    store.apply(plan(*(Create(t) for t in (topical, titled, headed, spoken))), act())
    names = {s.seq: s.id for s in store.sketches()}

    assert {names[seq] for seq in store.about("authentication", 10)} == {topical.id, titled.id, headed.id}
    assert [names[seq] for seq in store.about(spoken.id, 10)] == [spoken.id]
    assert store.about("", 10) == store.about('"; DROP', 10) == []
