"""One word of the person for a fix is enough; words about something else are none."""

from __future__ import annotations

import pytest

from recollect.capture.confirmed import confirmed_at
from recollect.capture.pairs import pairs
from recollect.model.act import Act, Speaker
from tests.capture.acts import failed, ran, said

MISSING = "ModuleNotFoundError: No module named 'torch'"
ENV = (failed("python train.py", MISSING), ran("conda run -n vision python train.py"))
NO_DB = "connect ECONNREFUSED 127.0.0.1:5432"


def is_confirmed(*acts: Act) -> bool:
    [pair] = pairs(acts)
    return confirmed_at(pair, acts) is not None


@pytest.mark.parametrize(
    "words",
    [
        "use the vision env",
        "try it in the conda env vision",
        "conda run -n vision python train.py",
        "benutze die Umgebung vision",
        "usa el entorno vision",
        "用 vision 环境",
        "используй окружение vision",
    ],
)
def test_the_person_names_the_fix_before_it_is_tried(words: str):
    assert is_confirmed(ENV[0], said(words), ENV[1])


@pytest.mark.parametrize(
    "words",
    [
        "yes, that's how it works here",
        "ok, remember that",
        "keep this in mind please",
        "always use the vision env for training",
        "so läuft das hier, merk dir das",
        "recuerda esto",
        "retiens ça",
        "запомни это",
        "记住",
    ],
)
def test_the_person_speaks_for_the_fix_after_it_worked(words: str):
    assert is_confirmed(*ENV, said("It runs now.", Speaker.AGENT), said(words))


@pytest.mark.parametrize(
    "words",
    [
        "thanks, now the docs",
        "don't use the vision env",
        "never run it in vision",
        "is vision the right env?",
        "that didn't work, use the vision env",
        "vision " + "and a long plan " * 60,
    ],
)
def test_other_words_are_no_word_for_it(words: str):
    assert not is_confirmed(*ENV, said(words))


def test_words_before_the_failure_say_nothing_of_the_fix():
    assert not is_confirmed(said("use the vision env"), *ENV)


def test_remember_that_belongs_to_what_was_just_done():
    assert not is_confirmed(*ENV, said("now the docs"), said("written", Speaker.AGENT), said("remember that"))


def test_what_the_agent_says_is_not_the_persons_word():
    assert not is_confirmed(ENV[0], said("use the vision env", Speaker.AGENT), ENV[1])


def test_a_step_is_named_by_all_its_telling_words():
    steps = (
        failed("pytest", NO_DB),
        said("start the db with make database first"),
        ran("make database up"),
        ran("pytest"),
    )

    assert is_confirmed(*steps)
    assert not is_confirmed(steps[0], said("make it quick"), *steps[2:])
