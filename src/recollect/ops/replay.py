"""Replay: what Recollect would have told in past sessions, had it been there from the first one on.

Sessions are read in the order in which they began, into a scratch home. At each prompt memory is asked as the hook asks
it, with what earlier sessions left and no more; then the session is imported. Nothing of the user's is written.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from recollect.agents import DEFAULT_HOST, Transcript, agent
from recollect.app.core import App
from recollect.app.memory_search import rules_in_force
from recollect.app.question_vector import TimedQuestion, fill_vectors
from recollect.base import project as projects
from recollect.base.clock import SystemClock
from recollect.base.errors import BadInput, ModelError, NotFound
from recollect.base.moment import Moment
from recollect.base.paths import Home, user_home
from recollect.base.settings import environment
from recollect.base.text import clip, counted, one_line
from recollect.capture.turns import is_used
from recollect.jobs.session_import import Importer, PastApp
from recollect.model.codec import Json
from recollect.model.query import Hit
from recollect.model.result import Scope, Summary
from recollect.model.session import Act, SessionPart, Speaker
from recollect.ops import past_sessions
from recollect.ops.prompt_recall import search_unasked
from recollect.ops.recall import read_day
from recollect.ops.table import Arg

_FILLED_AT_ONCE = 256
_NO_HURRY_S = 3_600.0
_PROMPT_CHARS, _PASSAGE_CHARS = 160, 240
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

    def as_json(self) -> dict[str, Json]:
        told: list[Json] = [
            {"id": hit.memory.id, "title": hit.memory.title, "score": round(hit.score, 2), "passage": hit.passage,
             "used": self.is_used(hit)}
            for hit in self.hits
        ]  # fmt: skip
        prompt = clip(self.prompt, _PROMPT_CHARS)
        return {"session": self.session, "at": self.at.iso(), "prompt": prompt, "told": told}


def replay(
    app: App,
    path: Annotated[
        str | None, Arg("A transcript or a folder of them; by default where the agent leaves them.", "[PATH]")
    ] = None,
    *,
    project: Annotated[str | None, Arg("The folder of another project; by default this one.", metavar="FOLDER")] = None,
    since: Annotated[
        str | None, Arg("Count only prompts after this date; earlier sessions are still read.", "2026-01-31")
    ] = None,
    show: Annotated[int | None, Arg("Show up to N prompts that would have received memories.", metavar="N")] = None,
) -> Summary:
    if show is not None and show < 0:
        raise BadInput(f"--show is {show}, which is less than 0.", hint="`recollect replay --show 10`")
    first_day = read_day("since", since)
    at = projects.find(Path(project), user_home(environment())) if project else app.require_project()
    if at is None:
        raise NotFound(f"{project} is not a project folder.", hint="`recollect projects` lists those that are known.")
    with tempfile.TemporaryDirectory(prefix="recollect-replay-") as scratch:
        # Under another root, so that nothing is written beside the project's files.
        copy = at._replace(root=Path(scratch, "project"), common_dir=None)
        copy.root.mkdir()
        here, there = (
            App(home=Home(Path(scratch, "home")), project=one, settings=app.settings, clock=SystemClock(),
                progress=app.progress)
            for one in (at, copy)
        )  # fmt: skip
        _, transcripts = past_sessions.choose(here, path).by_project.get(at.key, (at, []))
        if not transcripts:
            left_none = f"{agent(DEFAULT_HOST).TITLE} left no sessions of {at.name}."
            return Summary(left_none, {"project": at.name, "sessions": 0})
        try:
            asked = replay_sessions(there, transcripts)
        finally:
            there.close()
    sessions = len({one.session for one in transcripts})
    return _summary(at.name, sessions, [one for one in asked if first_day is None or one.at >= first_day], show or 0)


def replay_sessions(app: App, transcripts: Sequence[Transcript]) -> list[Asked]:
    """Reads them into the memory of this app, which starts empty."""
    total = sum(one.size for one in transcripts)
    step = past_sessions.show_progress(app, total, "MB of sessions")
    past = PastApp(app, app.require_project(), app.settings, "Replayed past sessions")
    player = _Player(past)
    try:
        Importer(past, DEFAULT_HOST, step, player.play).read(transcripts)
    finally:
        past.close()
    step(total)
    return player.asked


def _summary(project: str, sessions: int, asked: Sequence[Asked], show: int) -> Summary:
    answered = [one for one in asked if one.hits]
    hits = [(one, hit) for one in answered for hit in one.hits]
    used = sum(one.is_used(hit) for one, hit in hits)
    chars = sum(min(len(hit.passage), _PASSAGE_CHARS) for _, hit in hits)
    rows = (
        ("prompts", len(asked), 0),
        ("received memories", len(answered), len(asked)),
        ("silent", len(asked) - len(answered), len(asked)),
        ("memories told", len(hits), 0),
        ("of them used in the following turn", used, len(hits)),
        ("characters told per prompt", round(chars / len(asked)) if asked else 0, 0),
    )
    lines = [f"Replayed {counted(sessions, 'session')} of {project}."]
    lines += [f"  {what:<40} {count:>7,}" + (f"  {count / of:.0%}" if of else "") for what, count, of in rows]
    sample = answered[:: max(1, len(answered) // show)][:show] if show else []
    for one in sample:
        lines += ["", f"{one.at.iso()[:16].replace('T', ' ')}  {clip(one_line(one.prompt), _PROMPT_CHARS)}"]
        for hit in one.hits:
            mark = "used    " if one.is_used(hit) else "not used"
            said = f"{clip(one_line(hit.memory.title), 60)}: {clip(one_line(hit.passage), _PASSAGE_CHARS)}"
            lines.append(f"  {hit.score:.2f} {mark} {said}")
    facts: dict[str, Json] = {
        "project": project, "sessions": sessions, "prompts": len(asked), "told": len(answered),
        "silent": len(asked) - len(answered), "memories": len(hits), "used": used, "chars": chars,
        "sample": [one.as_json() for one in sample],
    }  # fmt: skip
    return Summary("\n".join(lines), facts, ("Nothing was written.",))


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
                asked, use = self.asked[-1], act.use
                if sum(map(len, asked.did)) < _DID_CHARS:
                    asked.did.append(act.text if act.speaker is Speaker.AGENT else use.what if use else "")
                asked.files.update(use.files if use else ())

    def _begin(self, part: SessionPart) -> None:
        """Live, the daemon makes the vectors between two sessions."""
        self._session, self._began = part.session, part.new[0].at
        self._app.set_time(self._began)
        if self._app.store_path(Scope.PROJECT) is not None:
            with suppress(ModelError, BadInput):  # words answer alone, as they would have
                while fill_vectors(self._app.writer(Scope.PROJECT), self._app.embedder, _FILLED_AT_ONCE):
                    pass
        self._shown = set(rules_in_force(self._app))

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
