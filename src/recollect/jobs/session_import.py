"""Chooses past transcripts, and imports those of a project, oldest first: the jobs that run per turn see them as they
see live ones. An import can be killed at any moment, run again and again, and undone: how far each transcript was read,
and by which import, is written in one transaction with what it brought. Acts that a fork copied are recorded once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path

from recollect.agents import Ability, Transcript, hosts
from recollect.agents import agent as agent_of
from recollect.app import rule_keeping, session_ledger
from recollect.app.core import IMPORT_ACTOR, App
from recollect.app.states import CURSORS, ReadTranscript
from recollect.base import project as projects
from recollect.base.clock import FixedClock
from recollect.base.errors import Conflict, NotFound
from recollect.base.moment import Moment
from recollect.base.paths import user_home
from recollect.base.project import Project
from recollect.base.settings import Settings, environment
from recollect.base.structs import Struct, field, replace
from recollect.base.text import one_line
from recollect.capture.prompt_text import Action
from recollect.jobs.transcript_reader import Piece, Reading, is_undone, read_back, read_piece
from recollect.jobs.transcripts import ABANDONED_S, changed_at, cursor_key, run_turn_jobs
from recollect.jobs.turn_threads import (
    forget_session,
    forget_turn_vectors,
    load_turn_vectors,
)
from recollect.lifecycle.strength import fades
from recollect.model.plan import Create, Plan, Update
from recollect.model.result import Scope
from recollect.model.session import ReadAct, SessionPart, Speaker
from recollect.store import ChangeHeader, LocalStore

Step = Callable[[int], None]
Chosen = dict[str, tuple[Project, list[Transcript]]]  # by the project's key
# Half of what is read live at once: live sessions wait for the lock meanwhile, and a person for the bar.
PIECE_BYTES = 1_000_000
_BEFORE_AGENTS = Moment.parse("2020-01-01")  # an earlier time is a mistake of some clock


def choose(
    app: App,
    path: str | None,
    since: Moment | None = None,
    *,
    all: bool = False,
    host: str | None = None,
) -> tuple[Chosen, Counter[str]]:
    """Of every agent, or one; and how many are not read, by the reason. Those that a person names may be from another
    machine."""
    within = Path(os.path.abspath(path)) if path else None
    if within is not None and ("\x00" in str(within) or not os.path.lexists(within)):
        raise NotFound(f"There is no {path}.", hint="Name a transcript, or a folder of them.")
    home, unread, left = user_home(environment()), [], Counter[str]()
    chosen: Chosen = {}

    @cache
    def find(cwd: str) -> Project | None:
        if not os.path.isabs(cwd) or "\x00" in cwd:
            return None
        return projects.locate(app.home.projects, Path(cwd), home)

    @cache
    def here_since_s(project: Project) -> float:
        return projects.here_since_s(app.home.projects, project)

    for one in _find(app, within, [host] if host else hosts(Ability.PAST)):
        if one.problem:
            unread.append(one)
            continue
        project, is_there, why = find(one.cwd), os.path.isdir(one.cwd), "older"
        if all and (project is None or not is_there):
            why = "of no project" if project is None else "of folders that are gone"
            project = None
        elif not all:
            ours = app.require_project()
            is_ours = (project is not None and project.key == ours.key) or (
                bool(path) and not is_there
            )
            project, why = (ours, why) if is_ours else (None, "of other projects")
        if project is not None and is_there and one.changed.micros < here_since_s(project) * 1e6:
            project, why = None, "of another project that was there before"
        if project is None or (since and one.changed < since):
            left[why] += 1
        else:
            chosen.setdefault(project.key, (project, []))[1].append(one)
    # What cannot be read does not say whose it is: it counts beside those that do.
    ours_at = {one.path.parent for _, found in chosen.values() for one in found}
    unread = [one for one in unread if all or path or one.path.parent in ours_at]
    left.update(_named(one, unread) for one in unread)
    return chosen, left


def _find(app: App, within: Path | None, names: Sequence[str]) -> Iterable[Transcript]:
    """A file belongs to the first agent to whom it says where its session began."""
    found: dict[Path, Transcript] = {}
    places = app.places._replace(known=tuple(one.root for one in projects.known(app.home.projects)))
    for name in names:
        for one in agent_of(name).transcripts(places, within):
            if one.path not in found or (one.cwd and not found[one.path].cwd):
                found[one.path] = one
    return found.values()


def _named(one: Transcript, among: Sequence[Transcript]) -> str:
    """Why it is not read; with its name, unless that is so of many."""
    alike = sum(other.problem == one.problem for other in among)
    return one.problem if alike > 5 else f"{one.problem}: {one.path.name}"


def find_unread(store: LocalStore, transcripts: Iterable[Transcript]) -> list[Transcript]:
    """Those in which an import would find something: neither read live nor, to their end, by an import that stands."""
    cursors = {cursor.path: cursor for cursor in CURSORS.find_all(store).values()}
    unread = []
    for transcript in transcripts:
        known = cursors.get(str(transcript.path)) or ReadTranscript(path=str(transcript.path))
        if known.is_live or is_session_live(store, transcript):
            continue
        if without_undone(store, known).last.cursor.offset != transcript.size:
            unread.append(transcript)
    return unread


def is_session_live(store: LocalStore, transcript: Transcript) -> bool:
    """A session that the daemon knows is read live, or will be, where that is possible."""
    is_able = Ability.TRANSCRIPTS in agent_of(transcript.host).ABILITIES
    return is_able and session_ledger.find_session(store, transcript.session) is not None


def without_undone(store: LocalStore, known: ReadTranscript) -> ReadTranscript:
    """As far as it was read by imports that were not undone since."""
    parts = takewhile(lambda part: not is_undone(store, part.change), known.parts)
    return replace(known, parts=tuple(parts))


class PastApp(App):
    """An App for what happened long ago: its clock stands where the acts stand, and all that it writes is one change of
    today, to be undone as a whole. Only fading begins today, or all that is imported would be asleep at once."""

    fills_vectors = False  # nearly all of an import's time; words find everything at once
    clock: FixedClock

    def __init__(self, app: App, project: Project, settings: Settings, summary: str) -> None:
        clock = FixedClock(app.clock.now())
        super().__init__(
            home=app.home,
            project=project,
            settings=settings,
            clock=clock,
            actor=app.actor,
            dry_run=app.dry_run,
        )
        self.wall_clock = app.clock
        # Two stores, two changes: an undo is of one store.
        self.changes = {scope: app.mint.draw("change") for scope in Scope}
        self._summary, self._scope, self._embedder, self.turn_vectors = (
            summary,
            Scope.PROJECT,
            app._embedder,
            {},
        )
        self._paths: dict[Scope, Path | None] = {}

    def set_time(self, at: Moment) -> None:
        self.clock.at = min(at, self.wall_clock.now())

    def store_path(self, scope: Scope) -> Path | None:
        """Looked up once: an import asks for it a hundred times per megabyte, and each look reads a folder."""
        self._paths[scope] = self._paths.get(scope) or super().store_path(scope)
        return self._paths[scope]

    def change_header(
        self, op: str, summary: str, *, undoes: str | None = None, change: str = "", actor: str = ""
    ) -> ChangeHeader:
        """`log` shows an import as one line; what it did is in its plans."""
        change = change or self.changes[self._scope]
        return ChangeHeader(
            change, "import", IMPORT_ACTOR, one_line(self._summary), self.wall_clock.now(), undoes
        )

    def _anchored(self, scope: Scope, plan: Plan) -> Plan:
        """The last step of making a plan: also tells when memories begin to fade, and of which store the change is."""
        self._scope, now, changes = scope, self.wall_clock.now(), list(plan.changes)
        for place, change in enumerate(changes):
            if isinstance(change, Create) and fades(change.memory):
                changes[place] = replace(change, memory=replace(change.memory, reinforced_at=now))
            elif isinstance(change, Update) and "reinforced_at" in change.after:
                changes[place] = replace(change, after={**change.after, "reinforced_at": now.iso()})
        for place, change in enumerate(super()._anchored(scope, Plan(tuple(changes))).changes):
            if scope is Scope.PROJECT and isinstance(change, Create):
                # A file that was written since is no longer what the memory spoke of; nobody knows what it was then.
                created, root = change.memory.created_at.micros, self.require_project().root
                anchors = (
                    one
                    if changed_at(root / one.path, created + 1) <= created
                    else replace(one, hash="")
                    for one in change.memory.anchors
                )
                changes[place] = replace(
                    change, memory=replace(change.memory, anchors=tuple(anchors))
                )
        return Plan(tuple(changes))


def _reading_order(one: Transcript) -> tuple[Moment, str, int, str, str]:
    """The oldest first. A fork begins when its parent did, and holds more: when their files were written says nothing
    once they were copied."""
    return (one.began or one.changed, one.agent, one.size, one.session, one.path.name)


class ImportReport(Struct, frozen=False):  # what an import read, and what became of it
    sessions: dict[str, str] = field(default_factory=dict)  # whose they are
    bytes: int = 0
    acts: Counter[str] = field(default_factory=Counter)  # by who spoke
    copies: int = 0
    damaged: int = 0
    secrets: Counter[str] = field(default_factory=Counter)
    prompts: Counter[str] = field(
        default_factory=Counter
    )  # dry run alone: what would become of prompts
    rules: list[str] = field(
        default_factory=list
    )  # dry run alone: the first few that would be kept
    failed: Counter[str] = field(
        default_factory=Counter
    )  # jobs that failed, and on how many pieces
    known: int = 0  # transcripts with nothing new in them
    times: tuple[Moment, ...] = ()  # of the first and the last act


class Importer:
    """One import into one project's store. `before` is called with each piece just before it is recorded."""

    def __init__(
        self, app: PastApp, step: Step, before: Callable[[SessionPart], None] = lambda _part: None
    ) -> None:
        self._app, self._step, self._before = app, step, before
        self._store: LocalStore = (
            app.reader(Scope.PROJECT) if app.dry_run else app.writer(Scope.PROJECT)
        )
        app.turn_vectors = load_turn_vectors(app, self._store)
        self._seen: set[int] = set()  # acts of this very import: a dry run writes none down
        self.report = ImportReport()

    def read(self, transcripts: Sequence[Transcript]) -> ImportReport:
        read_before = {one.path: one for one in CURSORS.find_all(self._store).values()}
        for one in sorted(transcripts, key=_reading_order):
            known = read_before.get(str(one.path)) or ReadTranscript(path=str(one.path))
            known = replace(known, session=one.session, host=one.host, agent=one.agent, cwd=one.cwd)
            is_read = known.is_live or is_session_live(self._store, one)
            if not is_read:
                standing = without_undone(self._store, known)
                if standing != known and not self._app.dry_run:
                    with self._store.transaction():
                        forget_session(self._store, one.session)
                known = standing
                is_read = known.last.cursor.offset == one.size and (
                    known.last.ended or not self._is_over(one, known)
                )
            self._step(one.size if is_read else min(one.size, known.last.cursor.offset))
            self.report.known += is_read
            reading, more = Reading(), not is_read
            if (
                more and 0 < known.last.cursor.offset <= one.size
            ):  # else it is not the file that it was
                reading = read_back(self._app, one.host, one.path, known.last.cursor)
                reading.found.clear()
            while more:
                piece = read_piece(
                    self._app, self._store, known, reading, PIECE_BYTES, seen=self._seen
                )
                more = piece.more
                known = self._record(one, known, reading, piece)
                self.report.copies += piece.copies
                self.report.bytes += piece.size
                self._step(piece.size)
            self.report.damaged += reading.damaged
            self.report.secrets.update(reading.found)
        if not self._app.dry_run:
            forget_turn_vectors(self._store)
        return self.report

    def _is_over(self, one: Transcript, read: ReadTranscript) -> bool:
        """Nobody will say so any more. A copied or restored file is young, while what was said in it is as old as ever:
        the same sessions must be over wherever they are imported."""
        if one.agent or is_session_live(self._store, one):
            return False
        still = self._app.wall_clock.now().plus(seconds=-ABANDONED_S)
        if one.changed <= still:
            return True
        if one.began is None:  # what was said has no times of its own
            return False
        spoken = [part.last_at for part in read.parts if part.last_at is not None]
        return bool(spoken) and max(spoken) <= still

    def _record(
        self, one: Transcript, known: ReadTranscript, reading: Reading, piece: Piece
    ) -> ReadTranscript:
        change, now = self._app.changes[Scope.PROJECT], self._app.wall_clock.now()
        undated = one.began if one.began and one.began > _BEFORE_AGENTS else one.changed
        acts = piece.new.values()
        fresh = [
            replace(act, at=min(act.at if act.at > _BEFORE_AGENTS else undated, now))
            for act in acts
        ]
        after = known.with_part(change, reading.cursor, False, fresh)
        is_over = not piece.more and self._is_over(one, after)
        if is_over:
            after = known.with_part(change, reading.cursor, True, fresh)
        ends_now = is_over and (bool(fresh) or (bool(known.parts) and not known.last.ended))
        part = known.session_part(reading.acts, fresh, ended=ends_now, past=True)
        reading.acts.extend(fresh)
        if fresh:
            self._seen.update(piece.new)
            self.report.sessions[one.session] = one.host
            self.report.acts.update(str(act.speaker) for act in fresh)
            times = [*self.report.times, *(act.at for act in fresh)]
            self.report.times = (min(times), max(times))

        def write() -> None:
            stored = CURSORS.find(self._store, cursor_key(after.path))
            is_other = stored is not None and stored.last not in (known.last, after.last)
            if stored and is_other and not is_undone(self._store, stored.last.change):
                raise Conflict(
                    "Another import reads the same sessions.", hint="Run this one again later."
                )
            CURSORS.write(self._store, after, cursor_key(after.path))
            self._store.put(*(ReadAct(key, change) for key in piece.new))

        if self._app.dry_run:
            self._preview(part)
        elif fresh or part.ended:
            self._before(part)
            self._app.set_time(max(act.at for act in part.acts))
            self.report.failed.update(run_turn_jobs(self._app, self._store, part, write))
        elif after.last.cursor != known.last.cursor or is_over:
            with self._store.transaction():
                write()
        return after

    def _preview(self, part: SessionPart) -> None:
        for act in part.new:
            if act.speaker is Speaker.PERSON and not act.agent and not part.agent:
                verdict = rule_keeping.read_prompt(self._app, act.text).verdict
                is_dropped = verdict.action is Action.DROPPED
                self.report.prompts[
                    f"dropped: {verdict.reason}" if is_dropped else str(verdict.action)
                ] += 1
                if not is_dropped and len(self.report.rules) < 5:
                    self.report.rules.append(verdict.rule)
