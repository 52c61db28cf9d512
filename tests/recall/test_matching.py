"""Words and vectors become one score per unit: rarity pooled over the stores, then company, time and voice."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.base.moment import Moment
from recollect.model.query import Background, Nearness, Owner, Place, TermEvidence, WordEvidence
from recollect.recall import matching, time_words
from recollect.recall.matching import (
    TURN_BYTES,
    Match,
    Prompt,
    Ref,
    TermScores,
    WordMatch,
    fuse,
    raise_by_context,
    score_terms,
)
from recollect.recall.time_words import Span, asked_time
from tests.cases import cases
from tests.values import NOW

STRONGEST = 2.2  # what BM25 gives a term at most, before its rarity
MOST = 10.0
YESTERDAY = Span.of(NOW.plus(days=-1.5).datetime(), NOW.plus(days=-0.5).datetime())


def term(name: str, *passages: int, strength: float = 1.0, of: int | None = None) -> TermEvidence:
    """Stands in these passages; `of` where it stands in more of them than are told."""
    return TermEvidence(
        name, len(passages) if of is None else of, tuple((p, strength) for p in passages)
    )


def spoken(passages: int, *terms: TermEvidence) -> WordEvidence:
    return WordEvidence(passages, terms)


def matched(
    *stores: WordEvidence,
    owners: dict[int, int] | None = None,
    voices: dict[int, int] | None = None,
    voice: float = 0.0,
) -> tuple[TermScores, dict[Ref, WordMatch]]:
    """Every passage is its own memory unless `owners` says whose it is; `voices`: how much is in the first person."""
    words = score_terms(stores)
    own = [owners or {p: p for t in store.terms for p, _ in t.rows} for store in stores]
    whose = [
        {p: Owner(memory, memory, (voices or {}).get(p, 0)) for p, memory in one.items()}
        for one in own
    ]
    return words, matching.match_units(words, whose, voice)


def near(best: float, middle: float | None = None, *, voiced: float | None = None) -> Nearness:
    return Nearness(best, best if middle is None else middle, 1, best if voiced is None else voiced)


def place(
    group: str = "", before: tuple[int, ...] = (), after: tuple[int, ...] = (), **more: Any
) -> Place:
    return Place(group, before, after, **more)


def equals(count: int = 2) -> tuple[dict[Ref, WordMatch], float]:
    """Memories that say the same of the question."""
    words, found = matched(spoken(100, term("a", *range(1, count + 1))))
    return found, words.perfect


def ranked(matches: dict[Ref, Match]) -> list[int]:
    return [seq for _, seq in sorted(matches, key=lambda ref: -matches[ref].score)]


@st.composite
def stores(draw: st.DrawFn) -> WordEvidence:
    """What a real store could say: no term in more passages than there are, no strength above the most."""
    passages = draw(st.integers(1, 30))
    rows = st.dictionaries(
        st.integers(1, passages), st.floats(0.01, STRONGEST), min_size=1, max_size=passages
    )
    terms = draw(st.dictionaries(st.sampled_from("abcdef"), rows, max_size=6))
    return WordEvidence(
        passages, tuple(TermEvidence(name, len(r), tuple(r.items())) for name, r in terms.items())
    )


@given(st.lists(stores(), min_size=1, max_size=3))
def test_nothing_scores_above_a_perfect_match_and_the_order_of_stores_does_not_matter(
    evidence: list[WordEvidence],
):
    words, found = matched(*evidence)
    _, backwards = matched(*reversed(evidence))
    for (store, memory), match in found.items():
        assert 0 < match.best <= match.whole * (1 + 1e-9)
        assert match.whole <= words.perfect * (1 + 1e-9)
        assert 0 < match.cover <= 1 + 1e-9
        assert backwards[len(evidence) - 1 - store, memory].best == pytest.approx(match.best)


def test_a_rare_term_says_more_than_a_common_one_and_one_of_every_passage_says_something():
    _, found = matched(spoken(100, term("rare", 1), term("common", *range(2, 60))))
    _, everywhere = matched(spoken(3, term("all", 1, 2, 3)))
    assert found[0, 1].best > found[0, 2].best
    assert all(match.best > 0 for match in everywhere.values())
    assert matched(spoken(10), spoken(0))[1] == {}


def test_two_stores_make_one_order():
    """In the small store every term is rare; pooled, the one that is common in the large store is not."""
    large = spoken(1_000, term("deploy", 1, of=400), term("zeppelin", 2))
    words, found = matched(large, spoken(10, term("deploy", 1), term("zeppelin", 2)))
    assert found[0, 1].best == found[1, 1].best
    assert found[0, 2].best == found[1, 2].best > found[0, 1].best
    assert len(words.rarity) == 2, "one rarity per term, not one per store"


def test_a_memory_is_as_good_as_its_best_passage_and_whole_by_each_terms_best():
    evidence = spoken(
        50, term("a", 1), term("b", 1, strength=0.5), TermEvidence("b2", 1, ()), term("c", 2)
    )
    words, found = matched(evidence, owners={1: 7, 2: 7})
    [match] = found.values()
    assert match.best == pytest.approx(words.rarity["a"] + 0.5 * words.rarity["b"])
    _, half = matched(spoken(100, term("a", 1, 2), term("b", 1, 3)))
    assert [half[0, memory].cover for memory in (1, 2, 3)] == [
        1.0,
        pytest.approx(0.5),
        pytest.approx(0.5),
    ]
    assert match.whole == pytest.approx(match.best + words.rarity["c"])


def test_only_the_best_passages_go_on_and_those_that_somebody_owns():
    evidence = [
        spoken(1_000, TermEvidence("a", 1_000, tuple((p, p / 1_000) for p in range(1, 1_001))))
    ]
    assert set(score_terms(evidence).passages[0]) == set(range(1_001 - matching.KEPT, 1_001))
    assert len(score_terms(evidence, 1_000).passages[0]) == 1_000
    words = score_terms([spoken(9, term("a", 1, 2))])
    assert set(matching.match_units(words, [{2: Owner(5, 5, 0)}])) == {(0, 5)}


def test_the_first_person_leads_for_a_question_about_oneself_and_not_for_another():
    five = spoken(100, term("cache", 1, 2, 3, 4, 5))
    voices = {p: 25 * (p - 1) for p in range(1, 6)}
    _, plain = matched(five, voices=voices)
    _, of_self = matched(five, voices=voices, voice=0.6)
    _, one_memory = matched(five, owners=dict.fromkeys(range(1, 6), 7), voices=voices, voice=0.6)

    scores = [of_self[0, p].best for p in range(1, 6)]
    assert scores == sorted(set(scores)), "each more than the one before"
    assert len({match.best for match in plain.values()}) == 1
    assert of_self[0, 5].best == one_memory[0, 7].best == pytest.approx(plain[0, 5].best)
    assert of_self[0, 1].best == pytest.approx(plain[0, 1].best / 1.6)
    assert of_self[0, 1].cover == plain[0, 1].cover, "it speaks of as much as before"


def test_a_word_that_frames_the_question_counts_half_unless_there_is_nothing_else():
    words, found = matched(spoken(100, term("cache", 1), term("ago", 2)))
    assert words.rarity["ago"] == pytest.approx(words.rarity["cache"] / 2)
    assert found[0, 2].best == pytest.approx(found[0, 1].best / 2)
    framed = score_terms([spoken(100, term("last", 1), term("week", 2))]).rarity
    assert set(framed.values()) == {words.rarity["cache"]}


refs = st.tuples(st.integers(0, 1), st.integers(1, 8))
parts = st.floats(0.001, MOST)
by_words = st.dictionaries(
    refs,
    st.tuples(parts, parts, st.floats(0.01, 1)).map(
        lambda drawn: WordMatch(drawn[0], max(drawn[:2]), drawn[2], (("a", drawn[0]),))
    ),
)
by_vectors = st.dictionaries(refs, st.builds(near, st.floats(-1, 1), st.floats(-1, 1)))
numbers = st.lists(st.integers(1, 8), max_size=2).map(tuple)
places = st.dictionaries(
    refs, st.builds(place, st.sampled_from(["", "g", "h"]), before=numbers, after=numbers)
)
times = st.lists(st.floats(-400, 400).map(lambda days: NOW.plus(days=days)), max_size=2).map(tuple)


@given(by_words, by_vectors, st.sampled_from([0.0, MOST, 1e-9]))
def test_every_memory_with_evidence_gets_one_score_from_zero_to_perfect(words, close, most: float):
    found = fuse(words, close, most)
    assert set(found) == {*words, *close}
    assert all(math.isfinite(match.score) and match.score >= 0 for match in found.values())
    assert all(match.score <= 1 + 1e-9 for match in fuse(words, close, MOST).values())


def test_words_alone_vectors_alone_and_both_rank():
    words, found = matched(
        spoken(100, term("rare", 1), term("common", 1, 2, 3), term("most", *range(2, 50)))
    )
    by_word = fuse(found, {}, words.perfect)
    by_vector = fuse({}, {(0, 1): near(0.2), (0, 2): near(0.8), (0, 3): near(0.5)}, 0.0)
    alike, most = equals()
    assert ranked(by_word)[:3] == [1, 2, 3]
    assert all(match.near == 0 for match in by_word.values())
    assert ranked(by_vector) == [2, 3, 1]
    assert all(match.words == match.cover == 0 for match in by_vector.values())
    assert ranked(fuse(alike, {(0, 1): near(0.6), (0, 3): near(0.6)}, most))[0] == 1, "both agree"


def test_what_is_said_in_the_first_person_leads_by_its_vector_where_it_counts_more():
    found = fuse({}, {(0, 1): near(0.6), (0, 2): near(0.55, 0.6, voiced=0.8)}, 0.0)
    assert ranked(found) == [2, 1]
    assert found[0, 2].near == 0.55, "as near as it is, however it was said"


@given(
    by_words,
    by_vectors,
    places,
    st.dictionaries(refs, times),
    st.floats(-400, 400),
    st.floats(0, 400),
)
def test_neither_company_nor_the_asked_time_ever_lowers_a_short_turn(
    words, close, where, when, start, days
):
    alone = fuse(words, close, MOST)
    span = Span.of(NOW.plus(days=start).datetime(), NOW.plus(days=start + days).datetime())
    where = {ref: one._replace(times=when.get(ref, ())) for ref, one in where.items()}

    together = raise_by_context(alone, words, where, MOST, span)

    assert set(together) == set(alone), "company brings nobody new"
    for ref, match in together.items():
        assert math.isfinite(match.score)
        assert match.neighbours >= 0
        assert match.group >= 0
        assert 0 <= match.time <= matching.TIME
        gained = match.neighbours + match.group + match.length + match.time
        assert match.score == pytest.approx(alone[ref].score + gained), (
            "every part of a score is named"
        )


def test_a_memory_gains_by_who_stands_beside_it():
    words, found = matched(spoken(100, term("a", 1, 2), term("b", 2)))
    alone = fuse(found, {}, words.perfect)
    together = raise_by_context(alone, found, {(0, 1): place("talk", after=(2,))}, words.perfect)
    assert together[0, 1].neighbours > 0
    assert together[0, 1].score > alone[0, 1].score
    assert together[0, 2] == alone[0, 2], "it has no place of its own here"


def test_an_answer_takes_after_the_question_before_it_which_itself_counts_less():
    words, found = matched(spoken(100, term("a", 1)))
    alone = fuse(found, {}, words.perfect)
    where = ({(0, 1): place("talk", after=(2,), asks=asks)} for asks in (True, False))
    asks, states = (raise_by_context(alone, found, one, words.perfect) for one in where)
    assert asks[0, 1].score < states[0, 1].score
    assert asks[0, 2].neighbours == asks[0, 2].score > 0, "nothing else speaks for it"
    assert (0, 2) not in states


@pytest.mark.parametrize(
    "where",
    [
        {(0, 1): place("only me"), (0, 2): place("nor here")},
        {(0, 1): place(""), (0, 2): place("")},
        {(0, 1): place("s1"), (1, 1): place("s1")},
    ],
    ids=["a group of one", "no group", "the same name in two stores"],
)
def test_who_is_alone_has_no_company(where: dict[Ref, Place]):
    words, found = matched(spoken(100, term("a", 1, 2)), spoken(100, term("a", 1)))
    alone = fuse(found, {}, words.perfect)
    assert raise_by_context(alone, found, where, words.perfect) == alone


def test_of_two_that_are_otherwise_equal_the_one_of_the_asked_time_leads():
    found, most = equals(3)
    alone = fuse(found, {}, most)
    yesterday, earlier = NOW.plus(days=-1), NOW.plus(days=-9)
    where = {
        (0, 1): place(times=(earlier,)),
        (0, 2): place(times=(earlier, yesterday)),
        (0, 3): place("talk", before=(1,), times=(yesterday,)),
    }

    asked = raise_by_context(alone, found, where, most, YESTERDAY)

    assert ranked(asked)[-1] == 1
    assert asked[0, 2].time == asked[0, 3].time == pytest.approx(matching.TIME / matching.OWN)
    assert asked[0, 1] == alone[0, 1], "one of another time loses nothing"
    assert raise_by_context(alone, found, where, most)[0, 2] == alone[0, 2], (
        "nobody asked for a time"
    )


def test_time_does_not_bring_up_what_fits_much_less():
    words, found = matched(
        spoken(100, term("rare", 1), term("other", 1), term("common", *range(1, 60)))
    )
    where = {(0, 2): place(times=(NOW.plus(days=-1),))}
    assert (
        ranked(
            raise_by_context(fuse(found, {}, words.perfect), found, where, words.perfect, YESTERDAY)
        )[0]
        == 1
    )


def test_a_long_turn_of_a_conversation_gives_way_to_a_short_one():
    found, most = equals()
    where = {
        (0, 1): place("talk", after=(2,), size=8 * TURN_BYTES),
        (0, 2): place("talk", before=(1,), size=TURN_BYTES),
    }
    together = raise_by_context(fuse(found, {}, most), found, where, most)
    assert ranked(together) == [2, 1]
    assert together[0, 1].length < 0 == together[0, 2].length


# The floor: monotone in every feature, strict with words alone, right in stores of any size.


FLOOR = 0.5
LARGE = Background(500, 500 * 0.15, 500 * (0.15**2 + 0.1**2))
PROMPT = Prompt.of("why does the nightly build fail on the runner?")


def bears(near: float | None, cover: float, background: Background = LARGE, **more: Any) -> float:
    given: dict[str, Any] = {"prompt": PROMPT, "text": "", "kept": False} | more
    passages = background.passages
    return matching.judge_relevance(
        near=near, cover=cover, background=background, passages=passages, **given
    )[0]


@pytest.mark.parametrize(
    "more", [{"near": 0.5}, {"cover": 0.3}, {"text": "the runner in src/runner.ts"}, {"kept": True}]
)
def test_more_of_any_feature_never_makes_it_less_sure(more: dict[str, Any]):
    less: dict[str, Any] = {
        "near": 0.4,
        "cover": 0.2,
        "prompt": Prompt.of("why does src/runner.ts fail?"),
    }
    assert bears(**less | more) > bears(**less)


@pytest.mark.parametrize(
    ("prompt", "is_worth_less"),
    [
        ("rename tmp2 in the nightly build of the runner", True),
        ("remove the commented-out code of the nightly build", True),
        ("what is the difference between a nightly build and a runner?", True),
        ("how do i run one single nightly test with python's unittest", True),
        ("what does tools/nightly.sh do?", False),
        ("what is the default branch?", False),
        ("what's the difference between our staging and prod?", False),
        ("how do we run the nightly tests in the container?", False),
    ],
)
def test_little_bears_on_tidying_and_on_questions_about_a_language(
    prompt: str, is_worth_less: bool
):
    read = Prompt.of(prompt)
    assert (read.is_general or read.is_tidying) is is_worth_less
    assert not is_worth_less or bears(0.65, 0.4, prompt=read) < bears(0.65, 0.4)


def test_what_is_near_and_speaks_of_it_passes_and_what_is_merely_usual_does_not():
    assert bears(0.65, 0.4) > FLOOR
    assert bears(0.2, 0.05) < 0.05
    assert bears(0.15, 0.0) < 0.02


def test_the_same_nearness_says_less_where_everything_is_near():
    crowded = Background(500, 500 * 0.45, 500 * (0.45**2 + 0.1**2))
    assert bears(0.55, 0.2, crowded) < bears(0.55, 0.2, LARGE)


@pytest.mark.parametrize("passages", [1, 2, 5, 30])
def test_in_a_small_store_what_fits_passes_and_what_does_not_is_silent(passages: int):
    others = Background(passages, 0.5 + (passages - 1) * 0.05, 0.25 + (passages - 1) * 0.01)
    unrelated = Background(passages, passages * 0.05, passages * 0.01)
    assert bears(0.5, 0.2, others) > FLOOR, "no passage is its own background"
    assert bears(0.15, 0.0, unrelated) < FLOOR / 2


def test_words_alone_must_cover_more_and_say_more():
    assert bears(None, 0.2, Background(200)) < FLOOR < bears(None, 0.6, Background(200))
    assert bears(None, 0.3, prompt=Prompt.of("deploy fails")) < bears(None, 0.3)


def test_nearness_says_nothing_in_a_script_that_the_model_does_not_read():
    prompt = Prompt.of("什么是闭包")
    assert bears(0.99, 0.0, prompt=prompt) == bears(None, 0.0, prompt=prompt) < 0.05


def test_names_that_both_have_count():
    prompt = Prompt.of("is `totals.ts` still used by reserve_stock?")
    assert prompt.names == {"totals.ts", "reserve_stock"}
    assert bears(0.4, 0.1, text="Edited services/cart/Totals.ts", prompt=prompt) > bears(
        0.4, 0.1, prompt=prompt
    )


def covered(evidence: list[WordEvidence], *passages: int) -> dict[int, float]:
    return matching.cover(matching.information(evidence), evidence[0], passages, matching.NEEDED)


def test_a_word_that_is_common_everywhere_covers_little_and_a_single_word_covers_no_prompt():
    common = [
        WordEvidence(1, (TermEvidence("test", 1, ((1, 1.0),)), TermEvidence("invoic", 0, ())))
    ]
    rare = [WordEvidence(1, (TermEvidence("invoic", 1, ((1, 1.0),)), TermEvidence("test", 0, ())))]
    assert covered(common, 1)[1] < covered(rare, 1)[1]
    evidence = [WordEvidence(300, (TermEvidence("mutex", 1, ((7, 1.0),)),))]
    assert covered(evidence, 7, 8) == {7: pytest.approx(0.5, abs=0.1), 8: 0.0}


# The time that a question names. The day of the table is a Wednesday.


WEDNESDAY = Moment.parse("2026-03-18T10:00:00Z")


@pytest.mark.parametrize(("question", "inside", "outside"), cases("time_words", "named", "recall"))
def test_a_named_time_holds_what_is_of_it_and_nothing_far_from_it(
    question: str, inside: str, outside: list[str]
):
    span = asked_time(question, WEDNESDAY)
    assert span is not None
    assert span.holds(Moment.parse(inside)) == 1
    assert [span.holds(Moment.parse(other)) for other in outside] == [0] * len(outside)


@pytest.mark.parametrize("question", cases("time_words", "not_named", "recall"))
def test_a_question_that_names_no_time_or_an_impossible_one_asks_for_none(question: str):
    assert asked_time(question, WEDNESDAY) is None


def test_the_edges_fade_because_people_misremember_by_a_day_or_so():
    span = asked_time("LAST WEEK", WEDNESDAY)
    assert span is not None
    assert span == asked_time("last week", WEDNESDAY) != asked_time("this week", WEDNESDAY)
    fading = [span.holds(Moment.parse(f"2026-03-{day}")) for day in (12, 16, 17, 18)]
    assert fading == sorted(fading, reverse=True)
    assert 0 < span.holds(Moment.parse("2026-03-17")) < 1


words = st.sampled_from(
    "a an the two 3 0 31 9999 0001 few couple of day days night week weeks month year years ago last past previous "
    "this in on since before until after mid monday sunday january may december dec today yesterday tonight weekend "
    "2026-02-30 9999-12-31 0001-01-01 2024 1st 29 february ,".split()
)
phrases = st.lists(words, max_size=8).map(" ".join)
moments = st.datetimes(timezones=st.just(UTC)).map(Moment.of)


@given(st.text() | phrases, moments, moments)
@example("29 february", WEDNESDAY, WEDNESDAY)
@example("a day ago", Moment.of(datetime(1, 1, 1, tzinfo=UTC)), WEDNESDAY)
@example("after today", Moment.of(datetime.max.replace(tzinfo=UTC)), WEDNESDAY)
def test_any_question_at_any_time_is_read_and_holds_from_zero_to_one(
    question: str, now: Moment, when: Moment
):
    span = asked_time(question, now)
    assert span is None or 0 <= span.holds(when) <= 1
    first, end = sorted((now, when))
    assert first == end or Span.of(first.datetime(), end.datetime()).holds(first) == 1


WORDS = (
    "a two 3 few of day days week last past previous ago this morning today yesterday the before since on in "
    "tuesday march may 12 2026 2026-03 1st cart deploy mid"
).split()


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join))
def test_a_question_that_is_not_looked_at_closely_names_no_time(question: str):
    is_found = any(pattern.search(question) for pattern, _ in time_words._readers())
    assert time_words._HINT.search(question) or not is_found


@pytest.mark.parametrize(
    "piece", ["last ", "a couple of ", "march ", "1", "x", "before last ", " ", "2026-03-"]
)
def test_of_a_megabyte_only_the_beginning_is_read(piece: str):
    text = piece * (1_000_000 // len(piece))
    assert asked_time(f"{text} yesterday", WEDNESDAY) == asked_time(
        text[: time_words._MAX_CHARS], WEDNESDAY
    )
