from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.lifecycle import compaction
from recollect.lifecycle.compaction import FIGURES, Chosen, Figures, Pair, Strategy
from recollect.lifecycle.edits import Whole
from recollect.lifecycle.strength import status_at, strength
from recollect.model.memory import Lane, Sketch, Status, Thread
from recollect.model.plan import Link, Move, Unlink, Update, UpdateAll, ids_of
from tests.values import AGE, NOW, bridge, messages, thread

ALL = Figures(merge_above=0.85, archive_after_days=14, most_active=3, decay=0.9)


def sketch(memory: Thread) -> Sketch:
    return Sketch(
        0, memory.id, memory.status, memory.weight, memory.pinned, memory.reinforced_at.micros,
        memory.last_active_at.micros, memory.lane,
    )  # fmt: skip


def chosen(
    threads: list[Thread], pairs: list[Pair] | None = None, figures: Figures = ALL
) -> Chosen:
    standing = compaction.assess([sketch(t) for t in threads], now=NOW, rules=AGE)
    return compaction.choose(standing, pairs or [], figures, now=NOW, rules=AGE)


def merges(threads: list[Thread], *pairs: Pair) -> list[tuple[str, str]]:
    return [(keep, lose) for keep, lose, _ in chosen(threads, list(pairs)).merges]


def test_each_strategy_has_its_figures():
    assert list(FIGURES.values()) == [
        (0.95, 30, 50, 0.95),
        (0.85, 14, 30, 0.90),
        (0.75, 7, 15, 0.80),
    ]


def test_what_is_alike_is_merged_and_the_stronger_one_stays():
    weak, strong = thread("a", weight=0.4), thread("b", weight=0.9)
    assert merges([weak, strong], (weak.id, strong.id, 0.9)) == [(strong.id, weak.id)]
    assert merges([weak, strong], (weak.id, strong.id, 0.85)) == [], "only as near as the threshold"


def test_any_number_of_copies_end_in_one():
    copies = [thread(f"copy {n}", weight=1 - n / 100) for n in range(12)]
    made = merges(copies, *((a.id, b.id, 0.99) for a, b in combinations(copies, 2)))
    assert {keep for keep, _ in made} == {copies[0].id}
    assert len(made) == 11


def test_a_copy_of_a_copy_goes_where_that_went_if_it_is_near_enough():
    a, b, c = thread("a", weight=1.0), thread("b", weight=0.9), thread("c", weight=0.8)
    near = chosen([a, b, c], [(a.id, b.id, 0.999), (b.id, c.id, 0.998)]).merges
    assert [merge[:2] for merge in near] == [(a.id, b.id), (a.id, c.id)]
    assert near[1][2] < 0.998
    assert merges([a, b, c], (a.id, b.id, 0.90), (b.id, c.id, 0.89)) == [(a.id, b.id)]


def test_what_is_old_is_archived_and_imported_history_is_as_young_as_its_import():
    asleep, put_away = (
        thread("asleep already", days_old=20),
        thread("archived by age", days_old=200),
    )
    young = [
        thread("fresh"),
        replace(thread("imported", days_old=200), reinforced_at=NOW.plus(days=-1)),
    ]
    assert chosen([*young, asleep, put_away]).archives == ((asleep.id, "age"), (put_away.id, "age"))


def test_the_weakest_go_beyond_the_limit():
    threads = [thread(f"t{n}", weight=w) for n, w in enumerate((0.9, 0.3, 0.7, 0.5, 0.8))]
    made = chosen(threads)
    assert made.archives == ((threads[1].id, "capacity"), (threads[3].id, "capacity"))
    assert (made.before[0], made.after[0]) == (5, 3)


def test_a_merged_thread_was_last_active_when_either_was():
    recent = thread("recent", weight=0.2)
    stale = replace(thread("stale"), last_active_at=NOW.plus(days=-20))
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
def test_no_pin_is_archived_and_the_limit_is_kept_unless_only_pins_remain(
    threads: list[Thread], data: st.DataObject, strategy: Strategy
):
    figures = FIGURES[strategy]._replace(most_active=data.draw(st.integers(0, 10)))
    all_pairs = list(combinations([t.id for t in threads], 2))
    drawn = data.draw(st.lists(st.sampled_from(all_pairs), max_size=30)) if all_pairs else []
    near = sorted(
        ((a, b, data.draw(st.floats(0.7, 1.0))) for a, b in drawn), key=lambda pair: -pair[2]
    )
    made = chosen(threads, near, figures)
    by_id, archived = {t.id: t for t in threads}, {id for id, _ in made.archives}
    kept, lost = [keep for keep, _, _ in made.merges], [lose for _, lose, _ in made.merges]
    assert not [id for id in (*archived, *made.weakened, *kept, *lost) if by_id[id].pinned]
    assert made.after[0] <= max(figures.most_active, sum(t.pinned for t in threads))
    assert len(lost) == len(set(lost) - {*kept, *archived})
    assert all(by_id[a].lane is by_id[b].lane for a, b, _ in made.merges)


@given(threads_made, st.sampled_from(Strategy))
@example([thread("barely awake", weight=0.125, days_old=1)], Strategy.GENTLE)
def test_what_is_foretold_is_what_the_plan_does(threads: list[Thread], strategy: Strategy):
    figures = FIGURES[strategy]
    made = chosen(threads, figures=figures)

    plan = compaction.plan(made, [sketch(t) for t in threads], {}, now=NOW, rules=AGE)

    after = {t.id: t for t in threads}
    for change, id in ((one, id) for one in plan.changes for id in ids_of(one)):
        assert isinstance(change, Update | UpdateAll)
        standing = after[id]
        status, weight = (
            change.after.get("status", str(standing.status)),
            change.after.get("weight", standing.weight),
        )
        after[id] = replace(standing, status=Status(str(status)), weight=float(str(weight)))
    awake = [t for t in after.values() if status_at(t, now=NOW, rules=AGE) is Status.ACTIVE]
    assert len(awake) == made.after[0]
    assert sum(strength(t, now=NOW, rules=AGE) for t in awake) == pytest.approx(made.after[1])


def test_messages_and_bridges_of_all_that_is_merged_go_where_it_went():
    one, two, three, other = threads = [
        thread(name, weight=1 - n / 10) for n, name in enumerate("abcd")
    ]
    inner, outer = bridge(two, three), bridge(three, other)
    said = {t.id: messages(t, "x", "y") for t in (two, three)}
    whole = {
        t.id: Whole(t, said.get(t.id, ()), (inner, outer) if t is three else ())
        for t in threads[:3]
    }
    made = chosen(
        threads, [(one.id, two.id, 0.99), (one.id, three.id, 0.98)], ALL._replace(most_active=9)
    )
    changes = compaction.plan(made, [sketch(t) for t in threads], whole, now=NOW, rules=AGE).changes
    moves = [change for change in changes if isinstance(change, Move)]
    assert moves == [Move(tuple(m.id for m in spoken), id, one.id) for id, spoken in said.items()]
    assert [change.bridge for change in changes if isinstance(change, Unlink)] == [inner, outer]
    assert [change.bridge for change in changes if isinstance(change, Link)] == [bridge(one, other)]
