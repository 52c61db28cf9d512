"""Replays past sessions: what Recollect would have told in them, had it been there from the first one on.

The sessions are read in the order in which they began. At each prompt memory is asked as the prompt hook asks it, with
what earlier sessions left and no more; then the session is imported.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from recollect.agents import DEFAULT_HOST, Transcript
from recollect.app.core import App
from recollect.app.memory_search import rules_in_force
from recollect.app.question_vector import TimedQuestion, fill_vectors
from recollect.base.errors import BadInput, ModelError
from recollect.base.moment import Moment
from recollect.capture.shown_memories import is_used
from recollect.jobs.session_import import Importer, PastApp
from recollect.model.act import Act, SessionPart, Speaker
from recollect.model.query import Hit
from recollect.model.result import Scope
from recollect.ops.prompt_recall import search_unasked

_FILLED_AT_ONCE = 256
_NO_HURRY_S = 3_600.0
_DID_CHARS = 40_000  # of what the agent said and ran in one turn


@dataclass(slots=True)
class Asked:
    """One prompt, and what it would have been told."""

    session: str
    at: Moment
    prompt: str
    hits: tuple[Hit, ...] = ()
    did: list[str] = field(default_factory=list)  # what the agent said and ran afterwards
    files: set[str] = field(default_factory=set)

    def is_used(self, hit: Hit) -> bool:
        return is_used(hit.passage, self.prompt, "\n".join(self.did), self.files)


def replay_sessions(app: App, transcripts: Sequence[Transcript]) -> list[Asked]:
    """Into the memory of this app, which knows nothing before."""
    past = PastApp(app, app.require_project(), app.settings, "Replayed past sessions")
    player = _Player(past)
    try:
        Importer(past, DEFAULT_HOST, lambda _size: None, player.play).read(transcripts)
    finally:
        past.close()
    return player.asked


class _Player:
    """Asks memory at each prompt of the session that is about to be imported."""

    def __init__(self, app: PastApp) -> None:
        self._app = app
        self._session = ""
        self._began = Moment(0)
        self._shown: set[str] = set()  # what this session was told already; its start tells the rules
        self.asked: list[Asked] = []

    def play(self, part: SessionPart) -> None:
        if part.agent:
            return
        if part.new and part.session != self._session:
            self._begin(part)
        for act in part.new:
            if act.agent:
                continue
            if act.speaker is Speaker.PERSON:
                self.asked.append(self._ask(part.session, act))
            elif self.asked and self.asked[-1].session == part.session:
                _follow(self.asked[-1], act)

    def _begin(self, part: SessionPart) -> None:
        self._session, self._began = part.session, part.new[0].at
        self._app.set_time(self._began)
        self._fill()
        self._shown = set(rules_in_force(self._app))

    def _fill(self) -> None:
        """Live, the daemon makes the vectors between two sessions."""
        if self._app.store_path(Scope.PROJECT) is None:
            return
        try:
            while fill_vectors(self._app.writer(Scope.PROJECT), self._app.embedder, _FILLED_AT_ONCE):
                pass
        except (ModelError, BadInput):
            return  # words answer alone, as they would have

    def _ask(self, session: str, act: Act) -> Asked:
        self._app.set_time(act.at)
        limit = self._app.settings.count("MEMORY_PROMPT_HITS")
        question = TimedQuestion(self._app, act.text, time.monotonic() + _NO_HURRY_S)
        found = search_unasked(self._app, question, seen=self._shown, limit=limit)
        hits = tuple(hit for hit in found.hits if time_of(hit) < self._began)
        self._shown.update(hit.mark for hit in hits)
        return Asked(session, act.at, act.text, hits)


def time_of(hit: Hit) -> Moment:
    return hit.turn.at if hit.turn is not None else hit.memory.created_at


def _follow(asked: Asked, act: Act) -> None:
    if sum(map(len, asked.did)) < _DID_CHARS:
        asked.did.append(act.text if act.speaker is Speaker.AGENT else act.doing.what if act.doing else "")
    asked.files.update(act.doing.files if act.doing else ())
