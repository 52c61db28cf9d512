"""The recall agent as one more system of the recall benchmark: a language model chooses among a task's documents, as it
would for a prompt, with the settings, the prompts and the budget of whoever runs it.

What ordinary recall found comes first among the pointers, then the rest in their order, as many as one question holds.
Where the model gives no answer, ordinary recall stands, as it does in a hook; how often is counted, because figures
that are mostly of the one must not be read as figures of the other.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from recollect.base.errors import BadInput
from recollect.bench.scores import DEPTH
from recollect.model.memory import Memory
from recollect.ops import chosen
from recollect.ops.app import App
from recollect.ops.briefs import waits_for_a_model
from recollect.recall import choose, presearch

SYSTEM = "recall-agent"


class RecallAgent:
    def __init__(self, cwd: Path) -> None:
        self._app = App.here(cwd, actor="bench")
        if not waits_for_a_model(self._app):
            self._app.close()
            raise BadInput(
                "No language model chooses memories here, so there is none to measure.",
                hint="Set MEMORY_LLM=on and MEMORY_RECALL_SCHEME=double in agent.conf.",
            )
        self._scheme = chosen.scheme(self._app)
        self.asked = 0
        self.fell_back = 0

    def close(self) -> None:
        self._app.close()

    def rank(self, question: str, memories: dict[str, Memory], ours: Sequence[str]) -> list[str]:
        """Ids, the best first; `ours` is how ordinary recall ranks."""
        order = [*ours, *(id for id in memories if id not in ours)]
        among = [chosen.pointer_of(memories[id]) for id in order]
        if self._scheme.presearch:
            among = list(
                presearch.presearched(question, among, stop=chosen.STOP, in_content=self._scheme.in_content)
            )  # fmt: skip
        offered = choose.offered(among[: chosen.MOST_OFFERED])
        self.asked += 1
        choice = chosen.choose_among(
            self._app, question, offered, self._scheme, time.monotonic() + self._scheme.seconds
        )
        if choice is None:
            self.fell_back += 1
            return list(ours)
        return list(choice.chosen)[:DEPTH]
