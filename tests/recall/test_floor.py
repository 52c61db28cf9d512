"""The floor: monotone in every feature, strict with words alone, right in stores of any size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.model.evidence import NO_BACKGROUND, Background, TermEvidence, WordEvidence
from recollect.recall import floor
from recollect.recall.floor import Features, Prompt

FLOOR = 0.5
LARGE = Background(500, 500 * 0.15, 500 * (0.15**2 + 0.1**2))
PROMPT = Prompt.of("why does the nightly build fail on the runner?")


def bears(
    near: float | None,
    cover: float,
    background: Background = LARGE,
    text: str = "",
    prompt: Prompt = PROMPT,
    kept: bool = False,
):
    return floor.features(
        prompt, text, near=near, cover=cover, background=background, passages=background.passages, kept=kept
    ).probability


@pytest.mark.parametrize("feature", ["lift", "stands_out", "cover", "names", "kept"])
def test_more_of_any_feature_never_makes_it_less_sure(feature: str):
    less = Features(lift=0.3, stands_out=2.0, cover=0.2, names=0, prompt=PROMPT, fresh=0.1, kept=False)
    more = replace(less, **{feature: getattr(less, feature) + 1})

    assert more.probability > less.probability


def test_by_words_alone_a_prompt_that_says_more_is_surer_of_what_bears_on_it():
    assert bears(None, 0.3, prompt=Prompt.of("deploy fails")) < bears(None, 0.3)


@pytest.mark.parametrize(
    "prompt",
    [
        "rename tmp2 in the nightly build of the runner",
        "remove the commented-out code of the nightly build",
        "what is the difference between a nightly build and a runner?",
        "how do i run one single nightly test with python's unittest",
    ],
)
def test_little_bears_on_tidying_and_on_questions_about_a_language(prompt: str):
    assert bears(0.65, 0.4, prompt=Prompt.of(prompt)) < bears(0.65, 0.4)


@pytest.mark.parametrize(
    "prompt",
    [
        "what does tools/nightly.sh do?",
        "what is the default branch?",
        "what's the difference between our staging and prod?",
        "how do we run the nightly tests in the container?",
    ],
)
def test_a_question_about_the_project_is_not_general(prompt: str):
    assert not Prompt.of(prompt).is_general


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

    assert bears(0.5, 0.2, others) > FLOOR
    assert bears(0.15, 0.0, unrelated) < FLOOR / 2


def test_a_store_of_one_is_not_its_own_background():
    assert bears(0.5, 0.2, Background(1, 0.5, 0.25)) == pytest.approx(
        floor.features(PROMPT, "", near=0.5, cover=0.2, background=NO_BACKGROUND, passages=1, kept=False).probability
    )


def test_words_alone_must_cover_more():
    assert bears(None, 0.2, Background(200)) < FLOOR
    assert bears(None, 0.6, Background(200)) > FLOOR


def test_nearness_says_nothing_in_a_script_that_the_model_does_not_read():
    prompt = Prompt.of("什么是闭包")

    assert bears(0.99, 0.0, prompt=prompt) == bears(None, 0.0, prompt=prompt) < 0.05


def test_names_that_both_have_count():
    prompt = Prompt.of("is `totals.ts` still used by reserve_stock?")

    assert prompt.names == {"totals.ts", "reserve_stock"}
    assert bears(0.4, 0.1, text="Edited services/cart/Totals.ts", prompt=prompt) > bears(0.4, 0.1, prompt=prompt)


def test_a_word_that_is_common_everywhere_covers_little_in_a_new_store():
    evidence = [WordEvidence(1, (TermEvidence("test", 1, ((1, 1.0),)), TermEvidence("invoic", 0, ())))]
    rare = [WordEvidence(1, (TermEvidence("invoic", 1, ((1, 1.0),)), TermEvidence("test", 0, ())))]

    assert floor.cover(evidence, 0, [1])[1] < floor.cover(rare, 0, [1])[1]


def test_a_single_word_covers_no_prompt():
    evidence = [WordEvidence(300, (TermEvidence("mutex", 1, ((7, 1.0),)),))]

    assert floor.cover(evidence, 0, [7, 8]) == {7: pytest.approx(0.5, abs=0.1), 8: 0.0}
