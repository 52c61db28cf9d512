from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle import compaction
from recollect.lifecycle.compaction import FIGURES, Chosen, Figures, Pair, Reason, Strategy, Whole
from recollect.lifecycle.strength import status_at, strength
from recollect.model.memory import Lane, Sketch, Status, Thread
from recollect.model.plan import Move, Update
from tests.values import AGE, NOW, bridge, messages, thread

ALL = Figures(merge_above=0.85, archive_after_days=14, most_active=3, decay=0.9)


def sketch(memory: Thread, seq: int = 0) -> Sketch:
    return Sketch(
        seq, memory.id, memory.status, memory.weight, memory.pinned, memory.reinforced_at.micros,
        memory.last_active_at.micros,
        memory.lane,
    )  # fmt: skip


def stood(sketches: list[Sketch]) -> list[compaction.Standing]:
    return compaction.standing(sketches, now=NOW, rules=AGE)


def chosen(threads: list[Thread], pairs: list[Pair] | None = None, figures: Figures = ALL) -> Chosen:
    return compaction.choose(stood([sketch(t) for t in threads]), pairs or [], figures, now=NOW, rules=AGE)


@pytest.mark.parametrize(
    ("strategy", "figures"),
    [
        (Strategy.GENTLE, Figures(0.95, 30, 50, 0.95)),
        (Strategy.NORMAL, Figures(0.85, 14, 30, 0.90)),
        (Strategy.AGGRESSIVE, Figures(0.75, 7, 15, 0.80)),
    ],
)
def test_each_strategy_has_its_figures(strategy: Strategy, figures: Figures):
    assert FIGURES[strategy] == figures


def test_what_is_alike_is_merged_and_the_stronger_one_stays():
    weak, strong = thread("a", weight=0.4), thread("b", weight=0.9)
    assert [merge[:2] for merge in chosen([weak, strong], [(weak.id, strong.id, 0.9)]).merges] == [(strong.id, weak.id)]


def test_what_is_only_as_near_as_the_threshold_is_not_merged():
    one, other = thread("a"), thread("b")
    assert chosen([one, other], [(one.id, other.id, 0.85)]).merges == ()


def test_any_number_of_copies_end_in_one():
    copies = [thread(f"copy {n}", weight=1 - n / 100) for n in range(12)]
    pairs = [(a.id, b.id, 0.99) for a, b in combinations(copies, 2)]
    merges = chosen(copies, pairs).merges
    assert {keep for keep, _, _ in merges} == {copies[0].id}
    assert len(merges) == 11


def test_a_copy_of_a_copy_goes_where_that_went():
    a, b, c = thread("a", weight=1.0), thread("b", weight=0.9), thread("c", weight=0.8)

    near = chosen([a, b, c], [(a.id, b.id, 0.999), (b.id, c.id, 0.998)]).merges
    far = chosen([a, b, c], [(a.id, b.id, 0.90), (b.id, c.id, 0.89)]).merges

    assert [(keep, lose) for keep, lose, _ in near] == [(a.id, b.id), (a.id, c.id)]
    assert near[1][2] < 0.998
    assert [(keep, lose) for keep, lose, _ in far] == [(a.id, b.id)]


def test_only_threads_of_one_lane_are_merged():
    mine, theirs = thread("a", lane=Lane.USER), thread("b", lane=Lane.WEB)
    assert chosen([mine, theirs], [(mine.id, theirs.id, 0.99)]).merges == ()


def test_a_pin_is_neither_merged_nor_archived_nor_faded():
    pin = thread("pin", pinned=True, weight=1.3, boost=0.3, days_old=400)
    copy = thread("copy")

    made = chosen([pin, copy], [(pin.id, copy.id, 0.99)], replace(ALL, most_active=1))

    assert made.merges == ()
    assert made.archives == ((copy.id, Reason.CAPACITY),)
    assert made.faded == ()


def test_what_is_old_is_archived_even_if_it_sleeps_already():
    asleep, fresh = thread("old", days_old=20), thread("new")
    assert status_at(asleep, now=NOW, rules=AGE) is Status.SUSPENDED
    assert chosen([asleep, fresh]).archives == ((asleep.id, Reason.AGE),)


def test_what_age_has_archived_is_put_away_on_purpose_like_all_that_is_old():
    ancient = thread("ancient", days_old=200)
    assert chosen([ancient]).archives == ((ancient.id, Reason.AGE),)


def test_imported_history_is_as_young_as_its_import():
    imported = replace(thread("imported", days_old=200), reinforced_at=NOW.plus(days=-1))
    assert chosen([imported]).archives == ()


def test_the_weakest_go_beyond_the_cap():
    threads = [thread(f"t{n}", weight=w) for n, w in enumerate((0.9, 0.3, 0.7, 0.5, 0.8))]
    made = chosen(threads)
    assert made.archives == ((threads[1].id, Reason.CAPACITY), (threads[3].id, Reason.CAPACITY))
    assert (made.before.active_threads, made.after.active_threads) == (5, 3)


def test_a_merged_thread_was_last_active_when_either_was():
    recent = thread("recent", weight=0.2, days_old=0)
    stale = replace(thread("stale", weight=1.0), last_active_at=NOW.plus(days=-20))
    made = chosen([stale, recent], [(stale.id, recent.id, 0.9)])
    assert [merge[:2] for merge in made.merges] == [(stale.id, recent.id)]
    assert made.archives == ()


threads_made = st.lists(
    st.builds(
        lambda weight, days, pinned, lane: thread(
            "t", weight=weight, days_old=days, pinned=pinned, boost=0.3 if pinned else 0.0, lane=lane
        ),
        st.floats(0.01, 1.0), st.floats(0, 60), st.booleans(), st.sampled_from((Lane.USER, Lane.AGENT)),
    ),
    max_size=25,
)  # fmt: skip


@given(threads_made, st.data(), st.sampled_from(Strategy))
def test_no_pin_is_archived_and_the_cap_is_reached_unless_only_pins_remain(
    threads: list[Thread], data: st.DataObject, strategy: Strategy
):
    figures = replace(FIGURES[strategy], most_active=data.draw(st.integers(0, 10)))
    all_pairs = list(combinations([t.id for t in threads], 2))
    drawn = data.draw(st.lists(st.sampled_from(all_pairs), max_size=30)) if all_pairs else []
    near = sorted(((a, b, data.draw(st.floats(0.7, 1.0))) for a, b in drawn), key=lambda pair: -pair[2])

    made = chosen(threads, near, figures)

    by_id = {t.id: t for t in threads}
    touched = {id for id, _ in made.archives} | set(made.faded) | {i for a, b, _ in made.merges for i in (a, b)}
    assert not [id for id in touched if by_id[id].pinned]
    pins = sum(t.pinned for t in threads)
    assert made.after.active_threads <= max(figures.most_active, pins)
    lost = [lose for _, lose, _ in made.merges]
    assert len(lost) == len(set(lost))
    assert not set(lost) & {keep for keep, _, _ in made.merges}
    assert not set(lost) & {id for id, _ in made.archives}
    assert all(by_id[a].lane is by_id[b].lane for a, b, _ in made.merges)


@given(threads_made, st.sampled_from(Strategy))
def test_what_is_foretold_is_what_the_plan_does(threads: list[Thread], strategy: Strategy):
    figures = FIGURES[strategy]
    sketches = [sketch(t) for t in threads]
    made = compaction.choose(stood(sketches), [], figures, now=NOW, rules=AGE)

    plan = compaction.plan(made, sketches, Whole({}, {}, (), {}), figures, now=NOW, rules=AGE)

    after = {t.id: t for t in threads}
    for change in plan.changes:
        assert isinstance(change, Update)
        standing = after[change.id]
        status, weight = change.after.get("status", str(standing.status)), change.after.get("weight", standing.weight)
        after[change.id] = replace(standing, status=Status(str(status)), weight=float(str(weight)))
    awake = [t for t in after.values() if status_at(t, now=NOW, rules=AGE) is Status.ACTIVE]
    assert len(awake) == made.after.active_threads
    assert sum(strength(t, now=NOW, rules=AGE) for t in awake) == pytest.approx(made.after.total_weight)


def test_every_message_of_the_merged_moves_and_bridges_follow():
    one, two, three, other = (thread(name) for name in ("one", "two", "three", "other"))
    whole = Whole(
        {t.id: t for t in (one, two, three)},
        {two.id: messages(two, "x", "y"), three.id: messages(three, "z")},
        (bridge(two, three), bridge(three, other)),
        {},
    )
    pairs: list[Pair] = [(one.id, two.id, 0.99), (one.id, three.id, 0.98)]
    threads = [one, two, three, other]
    made = chosen(threads, pairs, replace(ALL, most_active=9))

    plan = compaction.plan(made, [sketch(t) for t in threads], whole, ALL, now=NOW, rules=AGE)

    moved = [id for change in plan.changes if isinstance(change, Move) for id in change.message_ids]
    assert sorted(moved) == sorted(m.id for said in whole.messages.values() for m in said)
