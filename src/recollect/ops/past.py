"""History: past sessions of an agent become memory, so that it is not empty on the first day.

Chooses the transcripts (each belongs to the project that its session was begun in), has them read (past_read.py), and
says what is remembered now. Killed at any moment and run again it goes on; run twice it takes in nothing twice.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from recollect.agents import DEFAULT_HOST, Transcript, agent
from recollect.base import project as projects
from recollect.base.errors import BadInput, NotFound
from recollect.base.moment import Moment
from recollect.base.paths import user_home
from recollect.base.project import Project
from recollect.base.settings import environment, load
from recollect.base.text import clip, counted, one_line
from recollect.lifecycle.strength import status_at
from recollect.model.codec import Json
from recollect.model.memory import Kind, Rule, RuleType, Status
from recollect.model.query import REACHED, Query
from recollect.model.result import Scope, Told
from recollect.ops import embedding
from recollect.ops.app import App
from recollect.ops.install import places
from recollect.ops.past_app import PastApp
from recollect.ops.past_read import Reader, Reckoning, Step
from recollect.ops.table import Arg

_TITLES = 3
_TITLE_CHARS = 70
_THREADS_READ = 50_000
_RULES_READ = 5_000


@dataclass(slots=True)
class Chosen:
    by_project: dict[str, tuple[Project, list[Transcript]]] = field(default_factory=dict)
    left: Counter[str] = field(default_factory=Counter)
    """Transcripts that are not read, by the reason."""


def import_past(
    app: App,
    path: Annotated[
        str | None, Arg("A transcript or a folder of them; where the agent leaves them if none is given.", "[PATH]")
    ] = None,
    *,
    all: Annotated[bool, Arg("Every project's, each into its own memory.")] = False,
    since: Annotated[str | None, Arg("Only sessions that went on after this day.", metavar="2026-01-31")] = None,
) -> Told:
    if not all:
        app.project_here()
    chosen = _chosen(app, path, _moment(since), all)
    total = sum(one.size for _, found in chosen.by_project.values() for one in found)
    done = 0

    def step(size: int) -> None:
        nonlocal done
        done += size
        app.progress(min(done, total), total)

    told = [_read(app, project, found, step) for project, found in chosen.by_project.values()]
    app.progress(total, total)
    facts: dict[str, Json] = {
        "projects": [dict(one.facts) for one in told], "left_out": dict(chosen.left), "dry_run": app.dry_run,
    }  # fmt: skip
    notes = [note for one in told for note in one.notes]
    if chosen.left:
        notes.append("Left out: " + ", ".join(f"{many:,} ({why})" for why, many in chosen.left.most_common()) + ".")
    nothing = f"{agent(DEFAULT_HOST).TITLE} left no sessions {'here' if all or path else 'of this project'}."
    return Told("\n\n".join(one.summary for one in told) or nothing, facts, tuple(notes))


def left_behind(app: App) -> tuple[int, int]:
    """How many past sessions there are, and how many of them are this project's."""
    listed = [one for one in agent(DEFAULT_HOST).transcripts(places(app)) if not one.problem and not one.agent]
    key = app.project.key if app.project else ""
    homes = _Homes()
    return len(listed), sum((home := homes.of(one.cwd)) is not None and home.key == key for one in listed)


# Which transcripts


class _Homes:
    """Whose a folder is; looked up once."""

    def __init__(self) -> None:
        self._user_home = user_home(environment())
        self._known: dict[str, Project | None] = {}

    def of(self, cwd: str) -> Project | None:
        if cwd not in self._known:
            self._known[cwd] = projects.find(Path(cwd), self._user_home) if _is_place(cwd) else None
        return self._known[cwd]


def _chosen(app: App, path: str | None, since: Moment | None, all: bool) -> Chosen:
    within = Path(os.path.abspath(path)) if path else None
    if within is not None and ("\x00" in str(within) or not os.path.lexists(within)):
        raise NotFound(f"There is no {path}.", hint="Name a transcript, or a folder of them.")
    chosen, homes, unread = Chosen(), _Homes(), []
    for one in agent(DEFAULT_HOST).transcripts(places(app), within):
        if one.problem:
            unread.append(one)
            continue
        project = homes.of(one.cwd)
        project, why = _all(project, one) if all else _ours(app.project_here(), project, one, named=bool(path))
        if project is None or (since and one.changed < since):
            chosen.left[why or "older"] += 1
        else:
            chosen.by_project.setdefault(project.key, (project, []))[1].append(one)
    # What cannot be read does not say whose it is: it counts beside those that do.
    ours = {one.path.parent for _, found in chosen.by_project.values() for one in found}
    chosen.left.update(one.problem for one in unread if all or path or one.path.parent in ours)
    return chosen


def _all(project: Project | None, one: Transcript) -> tuple[Project | None, str]:
    if project is None:
        return None, "of no project"
    return (project, "") if os.path.isdir(one.cwd) else (None, "of folders that are gone")


def _ours(ours: Project, project: Project | None, one: Transcript, *, named: bool) -> tuple[Project | None, str]:
    """Those that a person names come in too where nobody can say whose they are: they may be from another machine."""
    if project is not None and project.key == ours.key:
        return ours, ""
    if named and not os.path.isdir(one.cwd):
        return ours, ""
    return None, "of other projects"


def _is_place(cwd: str) -> bool:
    return os.path.isabs(cwd) and "\x00" not in cwd


def _moment(said: str | None) -> Moment | None:
    if not said:
        return None
    try:
        return Moment.parse(said)
    except (ValueError, OverflowError):
        raise BadInput(f"--since {said!r} is no day.", hint="Write it as 2026-01-31.") from None


# One project


def _read(app: App, project: Project, found: list[Transcript], step: Step) -> Told:
    ours = app.project is not None and project.key == app.project.key
    settings = app.settings if ours else load(app.home.conf, project.conf, environment())
    past = PastApp(app, project, settings, f"Read past sessions of {agent(DEFAULT_HOST).TITLE}")
    reckoning = Reckoning()
    try:
        everywhere = _rules_everywhere(past)
        Reader(past, DEFAULT_HOST, reckoning, step).read(found)
        everywhere = _rules_everywhere(past) - everywhere
        if not app.dry_run:
            past.log.line(
                "import", host=DEFAULT_HOST, change=past.changes[Scope.PROJECT], sessions=len(reckoning.sessions),
                bytes=reckoning.bytes, acts=sum(reckoning.said.values()), copies=reckoning.copies,
            )  # fmt: skip
        return _told(past, project, reckoning, everywhere)
    finally:
        past.close()


def _rules_everywhere(past: PastApp) -> int:
    return sum(count for kind, _, count in past.reading(Scope.USER).counts().by_kind_and_status if kind == Kind.RULE)


def _told(past: PastApp, project: Project, read: Reckoning, everywhere: int) -> Told:
    many = len(read.sessions)
    word = "Would read" if past.dry_run else "Read"
    span = f", {_day(read.first)} to {_day(read.last)}" if read.first and read.last else ""
    said = f"{read.said['person']:,} prompts, {read.said['tool']:,} tool calls"
    head = f"{word} {counted(many, 'past session')} of {project.name} ({read.bytes / 1e6:,.1f} MB{span}): {said}."
    if not many:
        head = f"Nothing new in {counted(read.known, 'transcript')} of {project.name}."
    remembers, lines = _remembered(past)
    facts: dict[str, Json] = {
        "project": project.name, "sessions": many, "bytes": read.bytes, "acts": dict(read.said),
        "copies": read.copies, "damaged_lines": read.damaged, "secrets": dict(read.secrets), "known": read.known,
        "failed": dict(read.broke),
    }  # fmt: skip
    if past.dry_run:
        heard: dict[str, Json] = {**read.heard}
        return Told("\n".join((head, *_would(read))), {**facts, "prompts": heard, "rules": [*read.rules]}, _notes(read))
    changes: dict[str, Json] = {str(scope): change for scope, change in past.changes.items()}
    notes = [*_notes(read)]
    if _wrote(past, Scope.PROJECT):
        notes.append(f"`recollect undo {past.changes[Scope.PROJECT]}` takes it back.")
    waiting = embedding.standing(past).waiting
    if waiting:
        notes.append(
            f"{counted(waiting, 'passage')} can be found by words now, and by meaning once the daemon has made the"
            " vectors; `recollect reindex` makes them at once."
        )
    if everywhere:
        also = f"`recollect undo {past.changes[Scope.USER]}` takes those back"
        notes.append(f"{counted(everywhere, 'rule')} more for every project; {also}.")
    return Told(
        "\n".join((head, *lines)),
        {**facts, "changes": changes, "remembers": remembers, "vectors_missing": waiting},
        tuple(notes),
    )


def _wrote(past: PastApp, scope: Scope) -> bool:
    return bool(past.reading(scope).log(limit=1, change=past.changes[scope]))


def _would(read: Reckoning) -> Iterator[str]:
    """Of a dry run: rules, what waits, and the junk, by the reason."""
    for what, many in read.heard.most_common():
        yield f"  {many:>6,} {'prompts ' if what.startswith('dropped') else 'rules '}{what}"
    if read.copies:
        yield f"  {read.copies:>6,} copies of what stands in another transcript"
    if read.said["machine"]:
        yield f"  {read.said['machine']:>6,} prompts that no person wrote"
    for rule in read.rules:
        yield f"  rule: {clip(one_line(rule), _TITLE_CHARS)}"


def _notes(read: Reckoning) -> tuple[str, ...]:
    notes = []
    if read.secrets:
        kinds = ", ".join(f"{kind} ({many:,})" if many > 1 else kind for kind, many in sorted(read.secrets.items()))
        notes.append(f"Kept out: {kinds}.")
    if read.damaged:
        notes.append(f"{counted(read.damaged, 'line')} could not be read and stayed out.")
    for name, many in read.broke.items():
        notes.append(f"{name.partition(':')[0]} failed on {counted(many, 'piece')}; `recollect logs` says how.")
    return tuple(notes)


def _remembered(past: PastApp) -> tuple[dict[str, Json], list[str]]:
    """What is remembered about this project now."""
    store = past.reading(Scope.PROJECT)
    fading = Query(kinds=(Kind.THREAD,), statuses=REACHED, limit=_THREADS_READ)
    of_work = store.find(fading)
    threads = len(of_work)
    now = past.past.real.now()
    by_status = Counter(status_at(one, now=now, rules=past.age_rules) for one in of_work)
    faded = [f"{by_status[one]:,} {one}" for one in (Status.SUSPENDED, Status.ARCHIVED) if by_status[one]]
    known = [one for one in store.find(Query(kinds=(Kind.RULE,), limit=_RULES_READ)) if isinstance(one, Rule)]
    in_force = [one for one in known if one.status is Status.ACTIVE]
    lessons = sum(one.rule_type is RuleType.FAILURE for one in in_force)
    waiting = len(store.find(Query(statuses=(Status.CANDIDATE,), limit=_RULES_READ)))
    counts: dict[str, Json] = {
        "threads": threads, "threads_by_status": {str(status): many for status, many in sorted(by_status.items())},
        "rules": len(in_force) - lessons, "lessons": lessons, "inbox": waiting,
    }  # fmt: skip
    asleep = f" ({', '.join(faded)} by age)" if faded else ""
    said = f"{counted(threads, 'thread')}{asleep}, {counted(len(in_force) - lessons, 'rule')}"
    lines = [f"Now remembered here: {said}, {counted(lessons, 'lesson')}; {waiting:,} in the inbox."]
    lines += _titles("rule", (one.title for one in in_force[:_TITLES]))
    lines += _titles("thread", (one.title for one in of_work[:_TITLES]))
    return counts, lines


def _titles(kind: str, titles: Iterable[str]) -> Iterator[str]:
    for title in titles:
        yield f"  {kind}: {clip(one_line(title), _TITLE_CHARS)}"


def _day(at: Moment) -> str:
    return at.iso()[:10]
