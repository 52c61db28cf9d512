"""The systems that recall is compared with: words alone, vectors alone, the two usual ways to mix
them, and the recall agent. Each ranks all documents of a task and knows nothing but the text and the vectors.

The lexical one is FTS5 as it comes (`porter unicode61`, BM25), one row a document, asked with all words of the
question but the stop words. The dense one is exact, in 32-bit floats: a document is as near as its nearest passage.

The recall agent: a language model chooses among a task's documents, as it would for a prompt, with the settings, the
prompts and the budget of whoever runs it. What ordinary recall found comes first among the pointers, then the rest in
their order, as many as one question holds. Where the model gives no answer, ordinary recall stands, as it does in a
hook; how often is counted, because figures that are mostly of the one must not be read as figures of the other.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from bench.scores import DEPTH
from recollect.app import language_model
from recollect.app.core import App
from recollect.base.errors import BadInput
from recollect.model.ask import Use
from recollect.model.memory import Memory
from recollect.ops import recall_agent
from recollect.store.search import STOP_WORDS

SYSTEM = "recall-agent"


class RecallAgent:
    def __init__(self, cwd: Path) -> None:
        self._app = App.open(cwd, actor="bench")
        if not language_model.is_on(self._app, Use.RECALL_BROAD):
            self._app.close()
            raise BadInput(
                "No language model chooses memories here, so there is none to measure.",
                hint="Set MEMORY_LLM=on and MEMORY_RECALL_SCHEME=double in agent.conf.",
            )
        self.asked = 0
        self.fell_back = 0

    def close(self) -> None:
        self._app.close()

    def rank(self, question: str, memories: dict[str, Memory], ours: Sequence[str]) -> list[str]:
        """Ids, the best first; `ours` is how ordinary recall ranks."""
        order = [*ours, *(id for id in memories if id not in ours)]
        offered = recall_agent.make_candidates(self._app, question, [memories[id] for id in order])
        self.asked += 1
        until_s = time.monotonic() + self._app.settings.count("MEMORY_RECALL_SECONDS")
        choice = recall_agent.choose_among(self._app, question, offered, until_s)
        if choice is None:
            self.fell_back += 1
            return list(ours)
        return list(choice.chosen)[:DEPTH]


BASELINES = ("fts5", "dense", "rrf60", "convex")
_RRF_K = 60
_LEXICAL_SHARE = 0.6
_STOP = frozenset(STOP_WORDS)
_SCHEMA = "CREATE VIRTUAL TABLE bare USING fts5 (text, tokenize = 'porter unicode61')"
_QUERY = "SELECT rowid, -rank FROM bare WHERE bare MATCH ?"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranking:
    documents: tuple[int, ...]
    """By place in the task, best first, at most ten."""
    ms_cpu: float


class Baselines:
    """Those of the distractors of a suite and of one task after the other. `owners` says of each row of `vectors` which
    document it is a passage of."""

    def __init__(
        self, texts: Sequence[str], vectors: NDArray[np.float32], owners: Sequence[int]
    ) -> None:
        self._db = apsw.Connection(":memory:")
        self._db.execute(_SCHEMA)
        self._kept = 0, vectors[:0], np.empty(0, np.int64)
        self._kept = self.put(texts, vectors, owners)

    def put(
        self, texts: Sequence[str], vectors: NDArray[np.float32], owners: Sequence[int]
    ) -> tuple[int, NDArray[np.float32], NDArray[np.int64]]:
        """The documents of the next task, in place of those of the last; their places come after the distractors'."""
        before, kept, kept_owners = self._kept
        with self._db:
            self._db.execute("DELETE FROM bare WHERE rowid >= ?", (before,))
            self._db.executemany(
                "INSERT INTO bare(rowid, text) VALUES (?, ?)", enumerate(texts, start=before)
            )
        self._documents = before + len(texts)
        every = np.concatenate([kept_owners, np.array(owners, np.int64) + before])
        self._vectors = np.concatenate([kept, vectors])
        # A document's passages stand together.
        self._owners, self._starts = np.unique(every, return_index=True)
        return self._documents, self._vectors, every

    def close(self) -> None:
        self._db.close()

    def rank(self, question: str, vector: NDArray[np.float32]) -> dict[str, Ranking]:
        """A mix pays for both of its parts."""
        began = time.process_time()
        said = self._by_words(question)
        after_words = time.process_time()
        near = self._by_vectors(vector)
        after_vectors = time.process_time()
        words_s, vectors_s = after_words - began, after_vectors - after_words
        return {
            "fts5": _ranking(lambda: said, words_s),
            "dense": _ranking(lambda: near, vectors_s),
            "rrf60": _ranking(lambda: _rank_mix(said, near), words_s + vectors_s),
            "convex": _ranking(lambda: _score_mix(said, near), words_s + vectors_s),
        }

    def _by_words(self, question: str) -> Floats:
        """-inf: not one of the words."""
        found = np.full(self._documents, -np.inf)
        every = dict.fromkeys(re.findall(r"\w+", question.lower()))
        match = " OR ".join(
            f'"{word}"' for word in [word for word in every if word not in _STOP] or every
        )
        if match:
            for row, score in self._db.execute(_QUERY, (match,)):
                found[row] = score
        return found

    def _by_vectors(self, vector: NDArray[np.float32]) -> Floats:
        found = np.full(self._documents, -np.inf)
        if len(self._owners):
            found[self._owners] = np.maximum.reduceat(self._vectors @ vector, self._starts)
        return found


def _ranking(scored: Callable[[], Floats], before_s: float) -> Ranking:
    began = time.process_time()
    scores = scored()
    order = np.argsort(-scores, kind="stable")[:DEPTH]
    best = tuple(int(place) for place in order if scores[place] > -np.inf)
    return Ranking(best, (before_s + time.process_time() - began) * 1_000)


def _rank_mix(said: Floats, near: Floats) -> Floats:
    total = np.zeros(len(said))
    for scores in (said, near):
        ranks = np.empty(len(scores))
        ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
        total += np.where(scores > -np.inf, 1 / (_RRF_K + ranks), 0.0)
    return total


def _score_mix(said: Floats, near: Floats) -> Floats:
    # No word in common is a score of nothing, and the least that BM25 can give.
    mixed: Floats = _LEXICAL_SHARE * _stretched(np.maximum(said, 0.0)) + (
        1 - _LEXICAL_SHARE
    ) * _stretched(near)
    return mixed


def _stretched(scores: Floats) -> Floats:
    """From 0 for the worst document to 1 for the best."""
    known = scores[scores > -np.inf]
    if not len(known) or known.max() == known.min():
        return np.zeros(len(scores))
    stretched: Floats = np.maximum((scores - known.min()) / (known.max() - known.min()), 0.0)
    return stretched
