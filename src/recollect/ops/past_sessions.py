"""Past sessions of an agent become memory, so that it is not empty on the first day; and what sessions left since then.

Chooses the transcripts (each belongs to the project that its session was begun in), has them read
(jobs/session_import.py), and says what is remembered now. Killed at any moment and run again it goes on; run twice it
records nothing twice.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from recollect.agents import DEFAULT_HOST, Ability, Transcript, hosts
from recollect.agents import agent as agent_of
from recollect.app import question_vector
from recollect.app.agent_places import places
from recollect.app.core import App
from recollect.base import project as projects
from recollect.base.errors import BadInput, NotFound
from recollect.base.moment import Moment
from recollect.base.paths import user_home
from recollect.base.project import Project
from recollect.base.settings import environment, load
from recollect.base.text import clip, counted, one_line
from recollect.jobs import transcripts
from recollect.jobs.session_import import Importer, ImportReport, PastApp, Step
from recollect.lifecycle.strength import status_at
from recollect.model.codec import Json
from recollect.model.memory import Kind, Rule, RuleType, Status
from recollect.model.query import REACHED, Query
from recollect.model.result import Scope, Summary
from recollect.ops.table import Arg

_TITLES = 3
_TITLE_CHARS = 70
_THREADS_READ = 50_000
_RULES_READ = 5_000


@dataclass(slots=True)
class Chosen:
    by_project: dict[str, tuple[Project, list[Transcript]]] = field(default_factory=dict)
    left: Counter[str] = field(default_factory=Counter)  # transcripts that are not read, by the reason


_AGENTS = ", ".join(hosts(Ability.PAST))


def import_past(
    app: App,
    path: Annotated[
        str | None, Arg("A transcript or a folder of them; where the agent leaves them if none is given.", "[PATH]")
    ] = None,
    *,
    agent: Annotated[str, Arg(f"Whose sessions: {_AGENTS}.", metavar="NAME")] = DEFAULT_HOST,
    all: Annotated[bool, Arg("Every project's, each into its own memory.")] = False,
    since: Annotated[str | None, Arg("Only sessions that went on after this day.", metavar="2026-01-31")] = None,
) -> Summary:
    host = agent
    if host not in hosts(Ability.PAST):
        raise BadInput(f"No past sessions of {host!r} can be read.", hint=f"Name one of {_AGENTS}.")
    if not all:
        app.require_project()
    chosen = choose(app, path, day(since), all=all, host=host)
    sessions = sum(len(found) for _, found in chosen.by_project.values())
    total = sum(one.size for _, found in chosen.by_project.values() for one in found)
    done = 0

    def step(size: int) -> None:
        nonlocal done
        done += size
        app.progress(min(done, total) / 1e6, total / 1e6, f"MB of {counted(sessions, 'session')}")

    told = [_read(app, host, project, found, step) for project, found in chosen.by_project.values()]
    app.progress(total / 1e6, total / 1e6, "MB")
    facts: dict[str, Json] = {
        "projects": [dict(one.facts) for one in told], "left_out": dict(chosen.left), "dry_run": app.dry_run,
    }  # fmt: skip
    notes = [note for one in told for note in one.notes]
    if chosen.left:
        notes.append("Left out: " + ", ".join(f"{many:,} ({why})" for why, many in chosen.left.most_common()) + ".")
    nothing = f"{agent_of(host).TITLE} left no sessions {'here' if all or path else 'of this project'}."
    return Summary("\n\n".join(one.summary for one in told) or nothing, facts, tuple(notes))


def catch_up(app: App) -> Summary:
    """What the daemon does by itself a moment after each turn."""
    waiting = transcripts.count_waiting(app)
    if app.dry_run:
        return Summary(f"{waiting} events wait to be read.", {"waiting": waiting, "dry_run": True})
    state = transcripts.ReadingState()
    while transcripts.read_some(app, state):
        pass
    read = waiting - transcripts.count_waiting(app)
    return Summary(f"{read} events read." if read else "Everything is read.", {"read": read}, app.notes())


def left_behind(app: App) -> tuple[int, int]:
    """How many past sessions there are, and how many of them are this project's."""
    listed = [one for one in agent_of(DEFAULT_HOST).transcripts(places(app)) if not one.problem and not one.agent]
    key, known = app.project.key if app.project else "", _Projects()
    return len(listed), sum((found := known.of_folder(one.cwd)) is not None and found.key == key for one in listed)


# Which transcripts


class _Projects:
    """Whose a folder is; looked up once."""

    def __init__(self) -> None:
        self._user_home = user_home(environment())
        self._known: dict[str, Project | None] = {}

    def of_folder(self, cwd: str) -> Project | None:
        if cwd not in self._known:
            is_place = os.path.isabs(cwd) and "\x00" not in cwd
            self._known[cwd] = projects.find(Path(cwd), self._user_home) if is_place else None
        return self._known[cwd]


def choose(
    app: App, path: str | None, since: Moment | None = None, *, all: bool = False, host: str = DEFAULT_HOST
) -> Chosen:
    """Those that a person names are read too where nobody can say whose they are: they may be from another machine."""
    within = Path(os.path.abspath(path)) if path else None
    if within is not None and ("\x00" in str(within) or not os.path.lexists(within)):
        raise NotFound(f"There is no {path}.", hint="Name a transcript, or a folder of them.")
    chosen, known, unread = Chosen(), _Projects(), []
    for one in agent_of(host).transcripts(places(app), within):
        if one.problem:
            unread.append(one)
            continue
        project, is_there, why = known.of_folder(one.cwd), os.path.isdir(one.cwd), "older"
        if all and (project is None or not is_there):
            why = "of no project" if project is None else "of folders that are gone"
            project = None
        elif not all:
            ours = app.require_project()
            is_ours = (project is not None and project.key == ours.key) or (bool(path) and not is_there)
            project, why = (ours, why) if is_ours else (None, "of other projects")
        if project is None or (since and one.changed < since):
            chosen.left[why] += 1
        else:
            chosen.by_project.setdefault(project.key, (project, []))[1].append(one)
    # What cannot be read does not say whose it is: it counts beside those that do.
    ours_at = {one.path.parent for _, found in chosen.by_project.values() for one in found}
    chosen.left.update(one.problem for one in unread if all or path or one.path.parent in ours_at)
    return chosen


def day(said: str | None) -> Moment | None:
    if not said:
        return None
    try:
        return Moment.parse(said)
    except (ValueError, OverflowError):
        raise BadInput(f"--since {said!r} is no day.", hint="Write it as 2026-01-31.") from None


# One project


def _read(app: App, host: str, project: Project, found: list[Transcript], step: Step) -> Summary:
    ours = app.project is not None and project.key == app.project.key
    settings = app.settings if ours else load(app.home.conf, project.conf, environment())
    past = PastApp(app, project, settings, f"Read past sessions of {agent_of(host).TITLE}")
    report = ImportReport()
    try:
        everywhere = _rules_everywhere(past)
        Importer(past, host, report, step).read(found)
        everywhere = _rules_everywhere(past) - everywhere
        if not app.dry_run:
            past.log.line(
                "import", host=host, change=past.changes[Scope.PROJECT], sessions=len(report.sessions),
                bytes=report.bytes, acts=sum(report.said.values()), copies=report.copies,
            )  # fmt: skip
        return _result(past, project, report, everywhere)
    finally:
        past.close()


def _rules_everywhere(past: PastApp) -> int:
    return sum(count for kind, _, count in past.reader(Scope.USER).counts().by_kind_and_status if kind == Kind.RULE)


def _result(past: PastApp, project: Project, read: ImportReport, everywhere: int) -> Summary:
    many = len(read.sessions)
    word = "Would read" if past.dry_run else "Read"
    span = f", {read.first.iso()[:10]} to {read.last.iso()[:10]}" if read.first and read.last else ""
    said = f"{read.said['person']:,} prompts, {read.said['tool']:,} tool calls"
    head = f"{word} {counted(many, 'past session')} of {project.name} ({read.bytes / 1e6:,.1f} MB{span}): {said}."
    if not many:
        head = f"Nothing new in {counted(read.known, 'transcript')} of {project.name}."
    facts: dict[str, Json] = {
        "project": project.name, "sessions": many, "bytes": read.bytes, "acts": dict(read.said),
        "copies": read.copies, "damaged_lines": read.damaged, "secrets": dict(read.secrets), "known": read.known,
        "failed": dict(read.failed),
    }  # fmt: skip
    notes = [*_problems(read)]
    if past.dry_run:
        facts |= {"prompts": dict(read.prompts), "rules": [*read.rules]}
        return Summary("\n".join((head, *_preview(read))), facts, tuple(notes))
    if past.reader(Scope.PROJECT).log(limit=1, change=past.changes[Scope.PROJECT]):
        notes.append(f"`recollect undo {past.changes[Scope.PROJECT]}` takes it back.")
    waiting = question_vector.read_vector_status(past).waiting
    if waiting:
        notes.append(
            f"{counted(waiting, 'passage')} can be found by words now, and by meaning once the daemon has made the"
            " vectors; `recollect reindex` makes them at once."
        )
    if everywhere:
        also = f"`recollect undo {past.changes[Scope.USER]}` takes those back"
        notes.append(f"{counted(everywhere, 'rule')} more for every project; {also}.")
    remembers, lines = _remembered(past)
    facts |= {
        "changes": {str(scope): change for scope, change in past.changes.items()}, "remembers": remembers,
        "vectors_missing": waiting,
    }  # fmt: skip
    return Summary("\n".join((head, *lines)), facts, tuple(notes))


def _preview(read: ImportReport) -> Iterator[str]:
    """Of a dry run: rules, what waits, and what is dropped, by the reason."""
    for what, many in read.prompts.most_common():
        yield f"  {many:>6,} {'prompts ' if what.startswith('dropped') else 'rules '}{what}"
    if read.copies:
        yield f"  {read.copies:>6,} copies of what stands in another transcript"
    if read.said["machine"]:
        yield f"  {read.said['machine']:>6,} prompts that no person wrote"
    yield from _titles("rule", read.rules)


def _problems(read: ImportReport) -> Iterator[str]:
    if read.secrets:
        kinds = ", ".join(f"{kind} ({many:,})" if many > 1 else kind for kind, many in sorted(read.secrets.items()))
        yield f"Kept out: {kinds}."
    if read.damaged:
        yield f"{counted(read.damaged, 'line')} could not be read and stayed out."
    for name, many in read.failed.items():
        yield f"{name} failed on {counted(many, 'piece')}; `recollect logs` says how."


def _remembered(past: PastApp) -> tuple[dict[str, Json], list[str]]:
    """What is remembered about this project now."""
    store, now = past.reader(Scope.PROJECT), past.wall_clock.now()
    threads = store.find(Query(kinds=(Kind.THREAD,), statuses=REACHED, limit=_THREADS_READ))
    by_status = Counter(status_at(one, now=now, rules=past.age_rules) for one in threads)
    faded = [f"{by_status[one]:,} {one}" for one in (Status.SUSPENDED, Status.ARCHIVED) if by_status[one]]
    active = store.find(Query(kinds=(Kind.RULE,), statuses=(Status.ACTIVE,), limit=_RULES_READ))
    lessons = sum(isinstance(one, Rule) and one.rule_type is RuleType.FAILURE for one in active)
    waiting = len(store.find(Query(statuses=(Status.CANDIDATE,), limit=_RULES_READ)))
    counts: dict[str, Json] = {
        "threads": len(threads), "threads_by_status": {str(one): many for one, many in sorted(by_status.items())},
        "rules": len(active) - lessons, "lessons": lessons, "inbox": waiting,
    }  # fmt: skip
    asleep = f" ({', '.join(faded)} by age)" if faded else ""
    said = f"{counted(len(threads), 'thread')}{asleep}, {counted(len(active) - lessons, 'rule')}"
    lines = [f"Now remembered here: {said}, {counted(lessons, 'lesson')}; {waiting:,} in the inbox."]
    lines += _titles("rule", [one.title for one in active[:_TITLES]])
    lines += _titles("thread", [one.title for one in threads[:_TITLES]])
    return counts, lines


def _titles(kind: str, titles: Iterable[str]) -> list[str]:
    return [f"  {kind}: {clip(one_line(title), _TITLE_CHARS)}" for title in titles]
