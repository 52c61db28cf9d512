"""Who waits is answered in time: with the vector where it is there, by words alone where it is not."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from recollect.ops import briefs, haste, recalls
from recollect.ops.app import App
from recollect.ops.aside import Aside
from recollect.ops.haste import Haste
from tests.ops.ask import pinned


class Slow:
    """A model that is not done before it is told to be."""

    def __init__(self, real: Any) -> None:
        self.id, self.dim, self.at_once = real.id, real.dim, 1
        self._real = real
        self.go_on = threading.Event()
        self.asked: list[tuple[str, int]] = []

    def embed(self, texts: Any, most_tokens: int | None = None) -> Any:
        return self._real.embed(texts, most_tokens)

    def embed_one(self, text: str) -> Any:
        return self._real.embed_one(text)

    def embed_ends(self, text: str, most_tokens: int) -> Any:
        self.asked.append((text, most_tokens))
        self.go_on.wait(60)
        return self._real.embed_ends(text, most_tokens)


@pytest.fixture
def slow(app: App) -> Iterator[Slow]:
    found = Slow(app.embedder)
    app._embedder = found
    yield found
    found.go_on.set()


def until(seconds: float) -> float:
    return time.monotonic() + seconds


def test_work_beside_has_its_outcome_when_it_is_asked_for():
    assert Aside(lambda: 7).wait(until(60)) == 7


def test_work_that_is_not_done_in_time_is_gone_on_without():
    go_on = threading.Event()
    beside = Aside(lambda: go_on.wait(60))

    assert beside.wait(until(0)) is None
    go_on.set()
    assert beside.wait(until(60)) is True


def test_what_went_wrong_beside_is_raised_where_it_is_asked_for():
    def work() -> None:
        raise KeyError("beside")

    beside = Aside(work)

    with pytest.raises(KeyError, match="beside"):
        beside.wait(until(60))


def test_a_vector_that_comes_too_late_is_not_waited_for_and_it_is_said(app: App, slow: Slow):
    id = pinned(app, "Deploys go through staging")

    mind = briefs.brought_to_mind(app, Haste(app, "staging deploys", until(0.3)), seen=frozenset(), limit=5)

    assert [hit.memory.id for hit in mind.hits] in ([id], [])  # none: the machine was too busy for words, too
    if mind.found is not None:
        assert mind.found.how == f"words alone: {haste.LATE}"


def test_a_vector_in_time_is_used(app: App, slow: Slow):
    slow.go_on.set()
    id = pinned(app, "Deploys go through staging")
    recalls.recall(app, ("deploys",))  # it is given its own on the way

    mind = briefs.brought_to_mind(
        app, Haste(app, "do deploys go through staging", until(60)), seen=frozenset(), limit=5
    )

    assert mind.found is not None
    assert mind.found.how == "words and vectors"
    assert [hit.memory.id for hit in mind.hits] == [id]


def test_of_a_long_question_only_so_much_is_embedded(app: App, slow: Slow):
    slow.go_on.set()
    text = "at the beginning " + "x = 1\n" * 200_000 + " at the end"

    Haste(app, text, until(60)).asked()

    ((asked, tokens),) = slow.asked
    assert (asked[:16], asked[-10:], tokens) == ("at the beginning", "at the end", haste.MOST_TOKENS)
    assert len(asked) < 5_000


def test_with_too_little_time_no_vector_is_begun(app: App, slow: Slow):
    hurried = Haste(app, "staging deploys", until(haste.VECTORS_NEED_S - 0.01))

    assert hurried.asked() is None
    assert hurried.how == f"words alone: {haste.HURRY}"
    assert slow.asked == []
