"""Reads a project's past transcripts, oldest first, and shows them to the takers that the digest shows new ones to.

Transcripts that the digest follows are left to it. Acts that a fork or a resumed session copied are taken once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from recollect.agents import Transcript
from recollect.base.moment import Moment
from recollect.capture.draft import Action
from recollect.model.act import Act, Sitting, Speaker
from recollect.model.result import Scope
from recollect.ops import acts, capture, cursors, digest, past_marks
from recollect.ops.past_app import PastApp
from recollect.ops.past_marks import Part, PastMark

if TYPE_CHECKING:
    from recollect.store import Store

Step = Callable[[int], None]
PIECE_BYTES = 300_000
"""Smaller than what the digest takes at once: live sessions wait for the lock meanwhile, and a person for the bar."""
_RULES_SHOWN = 5
_BEFORE_AGENTS = Moment.parse("2020-01-01")
"""An earlier time is a mistake of some clock."""


@dataclass(slots=True)
class Reckoning:
    """What an import read, and what became of it."""

    sessions: set[str] = field(default_factory=set)
    bytes: int = 0
    said: Counter[str] = field(default_factory=Counter)
    """Acts by who spoke."""
    copies: int = 0
    damaged: int = 0
    secrets: Counter[str] = field(default_factory=Counter)
    heard: Counter[str] = field(default_factory=Counter)
    """Dry run alone: what would become of prompts."""
    rules: list[str] = field(default_factory=list)
    """Dry run alone: the first few that would be kept."""
    broke: Counter[str] = field(default_factory=Counter)
    """Takers that failed, and on how many pieces."""
    known: int = 0
    """Transcripts with nothing new in them."""
    first: Moment | None = None
    last: Moment | None = None


class Reader:
    """One import into one project's store."""

    def __init__(
        self,
        app: PastApp,
        host: str,
        reckoning: Reckoning,
        step: Step,
        before: Callable[[Sitting], None] | None = None,
    ) -> None:
        """`before` is called with each piece just before it is taken in."""
        self._app, self._host, self._step, self._before = app, host, step, before
        self._reckoning = reckoning
        self._store: Store = app.reading(Scope.PROJECT) if app.dry_run else app.writing(Scope.PROJECT)
        self._marks = past_marks.load(self._store)
        self._followed = {one.path for one in cursors.load(self._store)}
        self._seen: set[int] = set()
        """Acts of this very import: a dry run writes none down."""

    def read(self, transcripts: Sequence[Transcript]) -> None:
        for one in sorted(transcripts, key=lambda one: (one.began or one.changed, one.agent, one.changed)):
            mark = self._marks.get(str(one.path)) or PastMark(str(one.path))
            if self._is_live(one) or self._is_read(one, mark):
                self._reckoning.known += 1
                self._step(one.size)
            else:
                self._step(min(one.size, mark.last.cursor.offset))
                self._read_one(one, mark)

    def _is_live(self, one: Transcript) -> bool:
        """The digest reads it, from its beginning on: it follows it already, or hooks have told of its session."""
        return str(one.path) in self._followed or self._store.sessions.session(one.session) is not None

    def _is_read(self, one: Transcript, mark: PastMark) -> bool:
        return mark.last.cursor.offset == one.size and (mark.last.ended or not self._is_over(one))

    def _read_one(self, one: Transcript, mark: PastMark) -> None:
        app, cursor = self._app, mark.last.cursor
        reading = acts.Reading()
        if 0 < cursor.offset <= one.size:  # else it is not the file that it was
            reading = acts.looked_back(app, self._host, one.path, cursor, digest.BACK_BYTES)
            reading.found.clear()
        more = True
        while more:
            before = reading.cursor.offset
            new = acts.read_on(
                app, self._host, one.path, reading, session="", max_bytes=PIECE_BYTES
            )  # fmt: skip
            at = reading.cursor.offset
            more = at - before > PIECE_BYTES or at < before
            keys = [cursors.act_key(act) for act in new]
            fresh = self._fresh(new, one)
            self._reckoning.copies += len(set(keys)) - len(fresh)
            # What a fork copied tells what went before.
            copied = next((number for number, key in enumerate(keys) if key in fresh), len(new))
            reading.acts.extend(new[:copied])
            is_over = not more and self._is_over(one)
            mark = self._take(one, mark, reading, fresh, is_over)
            reading.acts.extend(new[copied:])
            self._reckoning.bytes += max(0, at - before)
            self._step(max(0, at - before))
        self._reckoning.damaged += reading.damaged
        self._reckoning.secrets.update(reading.found)

    def _fresh(self, new: Sequence[Act], one: Transcript) -> dict[int, Act]:
        now = self._app.past.real.now()
        undated = one.began if one.began and one.began > _BEFORE_AGENTS else one.changed
        return {
            key: replace(act, at=min(act.at if act.at > _BEFORE_AGENTS else undated, now))
            for key, act in cursors.unknown_acts(self._store, new).items()
            if key not in self._seen
        }

    def _is_over(self, one: Transcript) -> bool:
        """Nobody will say so any more."""
        still = self._app.past.real.now().plus(seconds=-digest.ABANDONED_S)
        return not one.agent and one.changed <= still and self._store.sessions.session(one.session) is None

    def _take(
        self, one: Transcript, mark: PastMark, reading: acts.Reading, fresh: dict[int, Act], is_over: bool
    ) -> PastMark:
        had_some = bool(fresh or mark.parts)
        change = self._app.changes[Scope.PROJECT]
        after = mark.read_on(Part(change, reading.cursor, is_over))
        sitting = Sitting(
            host=self._host,
            session=one.session,
            agent=one.agent,
            cwd=one.cwd,
            transcript=str(one.path),
            acts=(*reading.acts, *fresh.values()),
            new_from=len(reading.acts),
            ended=is_over and had_some and (bool(fresh) or not mark.last.ended),
            past=True,
        )
        self._count(one, fresh)
        if self._app.dry_run:
            self._hear(sitting)
        elif fresh or sitting.ended:
            if self._before is not None:
                self._before(sitting)
            self._app.past.stand(max(act.at for act in sitting.acts))

            def put_mark() -> None:
                past_marks.put(self._store, mark, after)
                self._store.sessions.put_acts(list(fresh), change)

            self._reckoning.broke.update(digest.take(self._app, self._store, sitting, put_mark))
        elif after.last.cursor != mark.last.cursor or is_over:
            with self._store.together():
                past_marks.put(self._store, mark, after)
        self._seen.update(fresh)
        return after

    def _count(self, one: Transcript, fresh: dict[int, Act]) -> None:
        if not fresh:
            return
        told = self._reckoning
        told.sessions.add(one.session)
        told.said.update(str(act.speaker) for act in fresh.values())
        times = [act.at for act in fresh.values()]
        told.first = min([*times, told.first] if told.first else times)
        told.last = max([*times, told.last] if told.last else times)

    def _hear(self, sitting: Sitting) -> None:
        for act in sitting.new:
            if act.speaker is not Speaker.PERSON or act.agent or sitting.agent:
                continue
            draft = capture.read(self._app, act.text)
            verdict = draft.verdict
            dropped = verdict.action is Action.DROPPED
            self._reckoning.heard[f"dropped: {verdict.reason}" if dropped else str(verdict.action)] += 1
            if not dropped and len(self._reckoning.rules) < _RULES_SHOWN:
                self._reckoning.rules.append(verdict.rule)
