"""A question whose answer is waited for. Its vector is made beside, while its words are looked up; where it is not
there in time, words answer alone, and it is said."""

from __future__ import annotations

import time
from functools import partial

from recollect.base.errors import BadInput, ModelError
from recollect.ops import asking
from recollect.ops.app import App
from recollect.ops.aside import Aside

VECTORS_NEED_S = 0.06  # to embed a question and compare, on a busy machine
RANKING_NEEDS_S = 0.03  # of that, what follows once the vector is there
# Some fifty words: 20 ms. Of a longer question both ends; its rare words count wherever they stand.
MOST_TOKENS = 64
HURRY = "too little time was left for vectors"
LATE = "the question's vector was not there in time"
_HEAD_CHARS, _TAIL_CHARS = 3_000, 1_000


class Haste:
    def __init__(self, app: App, text: str, until_s: float) -> None:
        """`until_s` by the monotonic clock: when the answer has to be there."""
        self.text = shortened(text)
        self.until_s = until_s
        self.how = "words and vectors"
        self._vector: Aside[asking.Asked] | None = None
        if until_s - time.monotonic() < VECTORS_NEED_S:
            self.how = f"words alone: {HURRY}"
            return
        try:
            embedder = app.embedder
        except (ModelError, BadInput) as problem:  # missing, broken, or a setting that names none
            self.how = f"words alone: {problem.message.rstrip('.')}"
            return
        self._vector = Aside(partial(asking.question_vector, embedder, app.question(self.text), MOST_TOKENS))

    @property
    def left_s(self) -> float:
        return self.until_s - time.monotonic()

    def asked(self) -> asking.Asked | None:
        if self._vector is None:
            return None
        try:
            found = self._vector.wait(self.until_s - RANKING_NEEDS_S)
        except ModelError as problem:  # it was there, and does not answer
            self.how = f"words alone: {problem.message.rstrip('.')}"
            return None
        if found is None:
            self.how = f"words alone: {LATE}"
        return found


def shortened(text: str) -> str:
    """A long prompt is often something pasted, with the question before or behind it."""
    if len(text) <= _HEAD_CHARS + _TAIL_CHARS:
        return text
    return f"{text[:_HEAD_CHARS]}\n{text[-_TAIL_CHARS:]}"
