"""The learned judge: what it is made of, and that it works with an ear and without."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture import learned, traits
from recollect.capture.draft import Action
from recollect.capture.pipeline import EAR_CHARS, Ear, capture, own_words, read
from recollect.embed.minilm import TONE_DIM


def judge() -> learned.Judge:
    found = learned.judge("en")
    assert found is not None
    return found


def hears(tone: list[float]) -> Ear:
    return lambda _: tone


def test_every_trait_has_a_share_in_every_column():
    english = judge()

    assert len(english.rows) > 1_000
    assert {len(column.shares) for column in english.words.values()} == {len(english.rows)}
    assert {len(column.shares) for column in english.tones.values()} == {TONE_DIM}


def test_what_waits_needs_less_than_what_is_in_force():
    assert judge().by_words.inbox < judge().by_words.store
    assert judge().by_tone.inbox < judge().by_tone.store


@pytest.mark.parametrize("code", ["de", "fr", "es", "ja", "zh"])
def test_other_languages_have_patterns_alone(code: str):
    assert learned.judge(code) is None


def test_names_paths_and_numbers_are_one_class_each():
    assert traits.tokens("we keep parseUser() in src/a.py, port 5433") == [
        "we", "keep", "<name>", "in", "<path>", ",", "port", "<num>",
    ]  # fmt: skip


def test_quotes_and_pastes_are_marks_and_never_words():
    draft = read('the reviewer said "always use tabs in every single file", see:\n```\nnever push\n```')

    words = " ".join(traits.of(draft).prompt)

    assert "tabs" not in words
    assert "push" not in words


def test_the_ear_is_given_what_the_person_says_and_no_paste():
    heard: list[str] = []

    def ear(text: str) -> list[float]:
        heard.append(text)
        return [0.0] * TONE_DIM

    capture("in this repo we freeze time.\n\n```\nsecret paste\n```\n" + "and so on " * 500, ear)

    assert len(heard) == 1
    assert "freeze time" in heard[0]
    assert "paste" not in heard[0]
    assert len(heard[0]) <= EAR_CHARS + 1


def test_the_tone_moves_the_odds():
    silent = [0.0] * TONE_DIM
    loud = [(share - 128) / 100 for share in judge().tones["rule"].shares]

    low, high = (capture("tests go next to the code", hears(tone)).leaning for tone in (silent, loud))

    assert low is not None
    assert high is not None
    assert high.odds > low.odds
    assert high.words == low.words
    assert high.action is Action.STORED


def test_the_judge_names_what_speaks_for_and_against():
    leaning = capture("we never use tabs here, maybe").leaning

    assert leaning is not None
    assert leaning.speaks_for
    assert leaning.against
    assert leaning.tone is None


@given(st.text(max_size=3_000))
def test_own_words_are_never_longer_than_an_ear_takes(text: str):
    draft = read(text)

    if not draft.dropped:
        assert len(own_words(draft)) <= EAR_CHARS + 1
