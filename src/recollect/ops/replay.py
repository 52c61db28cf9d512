"""Replay: what Recollect would have told in past sessions, had it been there from the first one on.

The sessions are read in the order in which they began, into a scratch home that is gone afterwards. At each prompt
memory is asked as the prompt hook asks it, with what earlier sessions left and no more; then the session is taken in.
Nothing of the user's memory is read or written.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from recollect.agents import DEFAULT_HOST, Transcript, agent
from recollect.base import project as projects
from recollect.base.clock import SystemClock
from recollect.base.errors import BadInput, ModelError, NotFound
from recollect.base.moment import Moment
from recollect.base.paths import Home, user_home
from recollect.base.settings import environment
from recollect.base.text import clip, counted, one_line
from recollect.capture.used import used
from recollect.model.act import Act, Sitting, Speaker
from recollect.model.codec import Json
from recollect.model.query import Hit
from recollect.model.result import Scope, Told
from recollect.ops import asking, briefs, past
from recollect.ops.app import App
from recollect.ops.haste import Haste
from recollect.ops.past_app import PastApp
from recollect.ops.past_read import Reader, Reckoning
from recollect.ops.table import Arg

_FILLED_AT_ONCE = 256
_NO_HURRY_S = 3_600.0
_PROMPT_CHARS, _PASSAGE_CHARS = 160, 240
_DID_CHARS = 40_000
"""Of what the agent said and ran in one turn."""


@dataclass(slots=True)
class Entry:
    """One memory that would have been told."""

    id: str
    title: str
    at: Moment
    """When the turn was, or when the memory was made."""
    score: float
    passage: str
    used: bool = False


@dataclass(slots=True)
class Asked:
    """One prompt, and what it would have been told."""

    session: str
    at: Moment
    prompt: str
    entries: tuple[Entry, ...] = ()
    did: list[str] = field(default_factory=list)
    """What the agent said and ran afterwards."""
    files: set[str] = field(default_factory=set)


def replay(
    app: App,
    path: Annotated[
        str | None, Arg("A transcript or a folder of them; where the agent leaves them if none is given.", "[PATH]")
    ] = None,
    *,
    project: Annotated[str | None, Arg("The folder of another project than this one.", metavar="FOLDER")] = None,
    since: Annotated[
        str | None, Arg("Count only prompts after this day; earlier sessions are read all the same.", "2026-01-31")
    ] = None,
    show: Annotated[
        int | None, Arg("Show so many of the prompts that would have been told something.", metavar="N")
    ] = None,
) -> Told:
    if show is not None and show < 0:
        raise BadInput(f"--show is {show}, which is less than 0.", hint="`recollect replay --show 10`")
    first_day = past.day(since)
    at = projects.find(Path(project), user_home(environment())) if project else app.project_here()
    if at is None:
        raise NotFound(f"{project} is no project's folder.", hint="`recollect projects` lists those that are known.")
    with tempfile.TemporaryDirectory(prefix="recollect-replay-") as scratch:
        # Under another root, so that nothing is written beside the project's files.
        copy = at._replace(root=Path(scratch, "project"), common_dir=None)
        copy.root.mkdir()
        here, there = (
            App(home=Home(Path(scratch, "home")), project=one, settings=app.settings, clock=SystemClock(),
                progress=app.progress)
            for one in (at, copy)
        )  # fmt: skip
        chosen = past.choose(here, path).by_project.get(at.key)
        try:
            return _result(there, played(there, chosen[1] if chosen else []), first_day, show or 0)
        finally:
            there.close()


def played(app: App, transcripts: Sequence[Transcript]) -> tuple[Reckoning, list[Asked]]:
    """Into the memory of this app, which knows nothing before."""
    project = app.project_here()
    total = sum(one.size for one in transcripts)
    done = 0

    def step(size: int) -> None:
        nonlocal done
        done += size
        app.progress(min(done, total), total)

    scratch = PastApp(app, project, app.settings, "Replayed past sessions")
    reckoning = Reckoning()
    player = _Player(scratch)
    try:
        Reader(scratch, DEFAULT_HOST, reckoning, step, player.play).read(transcripts)
    finally:
        scratch.close()
    app.progress(total, total)
    return reckoning, player.finished()


class _Player:
    """Asks memory at each prompt of the session that is about to be taken in."""

    def __init__(self, app: PastApp) -> None:
        self._app = app
        self._session = ""
        self._began = Moment(0)
        self._shown: set[str] = set()
        """What this session was told already; its start tells the rules."""
        self._asked: list[Asked] = []

    def play(self, sitting: Sitting) -> None:
        if sitting.agent:
            return
        if sitting.new and sitting.session != self._session:
            self._begin(sitting)
        for act in sitting.new:
            if act.agent:
                continue
            if act.speaker is Speaker.PERSON:
                self._asked.append(self._ask(sitting.session, act))
            elif self._asked and self._asked[-1].session == sitting.session:
                _follow(self._asked[-1], act)

    def finished(self) -> list[Asked]:
        for one in self._asked:
            did = "\n".join(one.did)
            for entry in one.entries:
                entry.used = used(entry.passage, one.prompt, did, one.files)
        return self._asked

    def _begin(self, sitting: Sitting) -> None:
        self._session, self._began = sitting.session, sitting.new[0].at
        self._app.past.stand(self._began)
        self._fill()
        self._shown = set(briefs.rules(self._app))

    def _fill(self) -> None:
        """Live, the daemon makes the vectors between two sessions."""
        if self._app.store_path(Scope.PROJECT) is None:
            return
        try:
            while asking.fill_vectors(self._app.writing(Scope.PROJECT), self._app.embedder, _FILLED_AT_ONCE):
                pass
        except (ModelError, BadInput):
            return  # words answer alone, as they would have

    def _ask(self, session: str, act: Act) -> Asked:
        self._app.past.stand(act.at)
        limit = self._app.settings.count("MEMORY_PROMPT_HITS")
        haste = Haste(self._app, act.text, time.monotonic() + _NO_HURRY_S)
        mind = briefs.brought_to_mind(self._app, haste, seen=self._shown, limit=limit)
        hits = [hit for hit in mind.hits if _time_of(hit) < self._began]
        self._shown.update(hit.mark for hit in hits)
        entries = (
            Entry(hit.memory.id, hit.memory.title, _time_of(hit), round(hit.score, 2), hit.passage) for hit in hits
        )
        return Asked(session, act.at, act.text, tuple(entries))


def _time_of(hit: Hit) -> Moment:
    return hit.turn.at if hit.turn is not None else hit.memory.created_at


def _follow(asked: Asked, act: Act) -> None:
    if sum(map(len, asked.did)) < _DID_CHARS:
        asked.did.append(act.text if act.speaker is Speaker.AGENT else act.doing.what if act.doing else "")
    asked.files.update(act.doing.files if act.doing else ())


# What is said of it


def _result(app: App, replayed: tuple[Reckoning, list[Asked]], since: Moment | None, show: int) -> Told:
    read, every = replayed
    asked = [one for one in every if since is None or one.at >= since]
    answered = [one for one in asked if one.entries]
    entries = [entry for one in answered for entry in one.entries]
    in_use = sum(entry.used for entry in entries)
    sample = answered[:: max(1, len(answered) // show)][:show] if show else []
    name = app.project_here().name
    if not read.sessions:
        return Told(f"{agent(DEFAULT_HOST).TITLE} left no sessions of {name}.", {"project": name, "sessions": 0})
    chars = sum(min(len(entry.passage), _PASSAGE_CHARS) for entry in entries)
    lines = [
        f"Replayed {counted(len(read.sessions), 'session')} of {name} ({read.bytes / 1e6:,.1f} MB).",
        *_row("prompts", len(asked)),
        *_row("told something", len(answered), len(asked)),
        *_row("silent", len(asked) - len(answered), len(asked)),
        *_row("memories told", len(entries)),
        *_row("of them used by the turn that followed", in_use, len(entries)),
        *_row("characters told per prompt", round(chars / len(asked)) if asked else 0),
    ]
    for one in sample:
        lines += ["", f"{one.at.iso()[:16].replace('T', ' ')}  {clip(one_line(one.prompt), _PROMPT_CHARS)}"]
        lines += [f"  {entry.score:.2f} {_shown(entry)}" for entry in one.entries]
    facts: dict[str, Json] = {
        "project": name, "sessions": len(read.sessions), "prompts": len(asked), "told": len(answered),
        "silent": len(asked) - len(answered), "memories": len(entries), "used": in_use, "chars": chars,
        "sample": [_facts(one) for one in sample],
    }  # fmt: skip
    return Told("\n".join(lines), facts, ("Nothing was written.",))


def _row(name: str, count: int, of: int = 0) -> Iterator[str]:
    yield f"  {name:<40} {count:>7,}" + (f"  {count / of:.0%}" if of else "")


def _shown(entry: Entry) -> str:
    mark = "used    " if entry.used else "not used"
    return f"{mark} {clip(one_line(entry.title), 60)}: {clip(one_line(entry.passage), _PASSAGE_CHARS)}"


def _facts(one: Asked) -> dict[str, Json]:
    return {
        "session": one.session, "at": one.at.iso(), "prompt": clip(one.prompt, _PROMPT_CHARS),
        "told": [
            {"id": entry.id, "title": entry.title, "score": entry.score, "passage": entry.passage, "used": entry.used}
            for entry in one.entries
        ],
    }  # fmt: skip
