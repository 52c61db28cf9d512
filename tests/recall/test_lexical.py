from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.evidence import Owner, TermEvidence, WordEvidence
from recollect.recall.lexical import KEPT, matches, wording
from tests.recall.evidence import matched, spoken, term

STRONGEST = 2.2  # what BM25 gives a term at most, before its rarity


@st.composite
def stores(draw: st.DrawFn) -> WordEvidence:
    """What a real store could say: no term in more passages than there are, no strength above the most."""
    passages = draw(st.integers(1, 30))
    strengths = st.floats(0.01, STRONGEST)
    rows = st.dictionaries(st.integers(1, passages), strengths, min_size=1, max_size=passages)
    terms = draw(st.dictionaries(st.sampled_from("abcdef"), rows, max_size=6))
    return WordEvidence(passages, tuple(TermEvidence(name, len(r), tuple(r.items())) for name, r in terms.items()))


def test_a_rare_term_says_more_than_a_common_one():
    _, found = matched(spoken(100, term("rare", 1), term("common", *range(2, 60))))

    assert found[0, 1].best > found[0, 2].best


def test_two_stores_make_one_order():
    """In the small store every term is rare; pooled, the one that is common in the large store is not."""
    large = spoken(1_000, term("deploy", 1, of=400), term("zeppelin", 2))
    small = spoken(10, term("deploy", 1), term("zeppelin", 2))

    words, found = matched(large, small)

    assert found[0, 1].best == found[1, 1].best
    assert found[0, 2].best == found[1, 2].best > found[0, 1].best
    assert len(words.rarity) == 2, "one rarity a term, not one a store"


def test_a_term_of_every_passage_still_counts_for_something():
    _, found = matched(spoken(3, term("all", 1, 2, 3)))

    assert all(match.best > 0 for match in found.values())


def test_a_memory_is_as_good_as_its_best_passage_and_whole_by_each_terms_best():
    evidence = spoken(50, term("a", 1), term("b", 1, strength=0.5), TermEvidence("b2", 1, ()), term("c", 2))

    words, found = matched(evidence, owners={1: 7, 2: 7})

    [match] = found.values()
    assert match.best == pytest.approx(words.rarity[0] + 0.5 * words.rarity[1])
    assert match.whole == pytest.approx(match.best + words.rarity[3])


def test_cover_is_the_share_of_the_questions_rarity():
    _, found = matched(spoken(100, term("a", 1, 2), term("b", 1, 3)))

    assert found[0, 1].cover == 1.0
    assert found[0, 2].cover == found[0, 3].cover == pytest.approx(0.5)


def test_a_passage_that_nobody_owns_any_more_is_left_out():
    words = wording([spoken(9, term("a", 1, 2))])

    assert set(matches(words, [{2: Owner(5, 5, 0)}])) == {(0, 5)}


def test_only_the_best_passages_go_on():
    many = TermEvidence("a", 1_000, tuple((p, p / 1_000) for p in range(1, 1_001)))
    evidence = [spoken(1_000, many)]

    assert set(wording(evidence).spoken[0].passages) == set(range(1_001 - KEPT, 1_001))
    assert len(wording(evidence, 1_000).spoken[0].passages) == 1_000


# Whose words

TWO = spoken(100, term("cache", 1, 2))


def test_the_first_person_leads_for_a_question_about_oneself_and_not_for_another():
    spoken_by_me = {2: 100}

    _, of_self = matched(TWO, voices=spoken_by_me, voice=0.6)
    _, of_a_thing = matched(TWO, voices=spoken_by_me)

    assert of_self[0, 2].best > of_self[0, 1].best
    assert of_a_thing[0, 2].best == of_a_thing[0, 1].best


def test_the_more_a_passage_is_in_the_first_person_the_more_it_counts():
    five = spoken(100, term("cache", 1, 2, 3, 4, 5))

    _, found = matched(five, voices={p: 25 * (p - 1) for p in range(1, 6)}, voice=0.6)

    scores = [found[0, p].best for p in range(1, 6)]
    assert scores == sorted(set(scores)), "each more than the one before"


def test_a_passage_all_in_the_first_person_counts_as_it_would_have():
    _, plain = matched(TWO)
    _, of_self = matched(TWO, voices={1: 100, 2: 0}, voice=0.6)

    assert of_self[0, 1].best == pytest.approx(plain[0, 1].best)
    assert of_self[0, 2].best == pytest.approx(plain[0, 2].best / 1.6)
    assert of_self[0, 2].cover == plain[0, 2].cover, "it speaks of as much as before"


def test_the_passage_in_the_first_person_is_the_best_of_its_memory():
    _, found = matched(TWO, owners={1: 7, 2: 7}, voices={2: 100}, voice=0.6)

    _, plain = matched(TWO, owners={1: 7, 2: 7})

    assert found[0, 7].best == pytest.approx(plain[0, 7].best)


# Words that frame a question


def test_a_word_that_frames_the_question_counts_half():
    words, found = matched(spoken(100, term("cache", 1), term("ago", 2)))

    assert words.rarity[1] == pytest.approx(words.rarity[0] / 2)
    assert found[0, 2].best == pytest.approx(found[0, 1].best / 2)


def test_where_there_is_nothing_but_the_frame_it_counts_whole():
    bare = wording([spoken(100, term("cache", 1))]).rarity[0]

    assert wording([spoken(100, term("last", 1), term("week", 2))]).rarity == (bare, bare)


def test_without_words_nothing_matches():
    words, found = matched(spoken(10), spoken(0))

    assert found == {}
    assert words.most == 0


@given(st.lists(stores(), min_size=1, max_size=3))
def test_nothing_scores_above_a_perfect_match(evidence: list[WordEvidence]):
    words, found = matched(*evidence)

    for match in found.values():
        assert 0 < match.best <= match.whole * (1 + 1e-9)
        assert match.whole <= words.most * (1 + 1e-9)
        assert 0 < match.cover <= 1 + 1e-9


@given(stores(), stores())
def test_the_order_of_the_stores_does_not_matter(one: WordEvidence, other: WordEvidence):
    _, forwards = matched(one, other)
    _, backwards = matched(other, one)

    for (store, memory), match in forwards.items():
        assert backwards[1 - store, memory].best == pytest.approx(match.best)
