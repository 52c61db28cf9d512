"""Past sessions of an agent become memory, so that it is not empty on the first day; and what sessions left since then.

Chooses the transcripts (each belongs to the project that its session was begun in), has them read
(jobs/session_import.py), and says what is remembered now.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple

from recollect.agents import DEFAULT_HOST, Ability, Transcript, hosts
from recollect.agents import agent as agent_of
from recollect.app import question_vector
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
from recollect.ops.recall import read_day
from recollect.ops.table import Arg

_MAX_TITLES = 3
_TITLE_CHARS = 70
_MAX_THREADS = 50_000
_MAX_RULES = 5_000
_AGENTS = ", ".join(hosts(Ability.PAST))


class Chosen(NamedTuple):
    by_project: dict[str, tuple[Project, list[Transcript]]]
    left: Counter[str]  # transcripts that are not read, by the reason


def import_past(
    app: App,
    path: Annotated[
        str | None, Arg("A transcript or a folder of them; by default where the agent leaves them.", "[PATH]")
    ] = None,
    *,
    agent: Annotated[str, Arg(f"Whose sessions: {_AGENTS}.", metavar="NAME")] = DEFAULT_HOST,
    all: Annotated[bool, Arg("Import the sessions of every project, each into its own memory.")] = False,
    since: Annotated[str | None, Arg("Only sessions still active after this date.", metavar="2026-01-31")] = None,
) -> Summary:
    host = agent
    if host not in hosts(Ability.PAST):
        raise BadInput(f"No past sessions of {host!r} can be read.", hint=f"Name one of {_AGENTS}.")
    if not all:
        app.require_project()
    chosen = choose(app, path, read_day("since", since), all=all, host=host)
    sessions = sum(len(found) for _, found in chosen.by_project.values())
    total = sum(one.size for _, found in chosen.by_project.values() for one in found)
    step = show_progress(app, total, f"MB of {counted(sessions, 'session')}")
    read = [_read(app, host, project, found, step) for project, found in chosen.by_project.values()]
    step(total)
    facts: dict[str, Json] = {"projects": [dict(one.facts) for one in read], "left_out": dict(chosen.left)}
    notes = [note for one in read for note in one.notes]
    if chosen.left:
        notes.append("Left out: " + ", ".join(f"{many:,} ({why})" for why, many in chosen.left.most_common()) + ".")
    nothing = f"{agent_of(host).TITLE} left no sessions {'here' if all or path else 'of this project'}."
    summary = "\n\n".join(one.summary for one in read) or nothing
    return Summary(summary, {**facts, "dry_run": app.dry_run}, tuple(notes))


def catch_up(app: App) -> Summary:
    """Does at once what the daemon does automatically after each turn."""
    waiting = transcripts.count_waiting(app)
    if app.dry_run:
        return Summary(f"{waiting} events wait to be read.", {"waiting": waiting, "dry_run": True})
    state = transcripts.ReadingState()
    while transcripts.read_some(app, state):
        pass
    read = waiting - transcripts.count_waiting(app)
    return Summary(f"{read} events read." if read else "Nothing was waiting to be read.", {"read": read}, app.notes())


def count_past(app: App) -> tuple[int, int]:
    """How many past sessions there are, and how many of them are this project's."""
    listed = [one for one in agent_of(DEFAULT_HOST).transcripts(app.places) if not one.problem and not one.agent]
    key, find = app.project.key if app.project else "", _project_finder()
    return len(listed), sum((found := find(one.cwd)) is not None and found.key == key for one in listed)


# Which transcripts


def _project_finder() -> Callable[[str], Project | None]:
    """Returns a function that finds the project of a folder, and looks each folder up once."""
    home = user_home(environment())

    @cache
    def find(cwd: str) -> Project | None:
        return projects.find(Path(cwd), home) if os.path.isabs(cwd) and "\x00" not in cwd else None

    return find


def choose(
    app: App, path: str | None, since: Moment | None = None, *, all: bool = False, host: str = DEFAULT_HOST
) -> Chosen:
    """Those that a person names are read too where nobody can say whose they are: they may be from another machine."""
    within = Path(os.path.abspath(path)) if path else None
    if within is not None and ("\x00" in str(within) or not os.path.lexists(within)):
        raise NotFound(f"There is no {path}.", hint="Name a transcript, or a folder of them.")
    chosen, find, unread = Chosen({}, Counter()), _project_finder(), []
    for one in agent_of(host).transcripts(app.places, within):
        if one.problem:
            unread.append(one)
            continue
        project, is_there, why = find(one.cwd), os.path.isdir(one.cwd), "older"
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


def show_progress(app: App, total: int, what: str) -> Step:
    """Returns a function to call with the number of bytes after each step."""
    done = 0

    def step(size: int) -> None:
        nonlocal done
        done = min(done + size, total)
        app.progress(done / 1e6, total / 1e6, what)

    return step


# One project


def _read(app: App, host: str, project: Project, found: list[Transcript], step: Step) -> Summary:
    is_ours = app.project is not None and project.key == app.project.key
    settings = app.settings if is_ours else load(app.home.conf, project.conf, environment())
    past = PastApp(app, project, settings, f"Read past sessions of {agent_of(host).TITLE}")
    try:
        report = Importer(past, host, step).read(found)
        if not app.dry_run:
            past.log.line(
                "import", host=host, change=past.changes[Scope.PROJECT], sessions=len(report.sessions),
                bytes=report.bytes, acts=report.acts.total(), copies=report.copies,
            )  # fmt: skip
        return _summarize(past, project, report)
    finally:
        past.close()


def _summarize(past: PastApp, project: Project, report: ImportReport) -> Summary:
    many = len(report.sessions)
    span = f", {report.times[0].iso()[:10]} to {report.times[1].iso()[:10]}" if report.times else ""
    size = f"{report.bytes / 1e6:,.1f} MB{span}"
    said = f"{report.acts['person']:,} prompts, {report.acts['tool']:,} tool calls"
    verb = "Would read" if past.dry_run else "Read"
    head = f"{verb} {counted(many, 'past session')} of {project.name} ({size}): {said}."
    if not many:
        head = f"Nothing new in {counted(report.known, 'transcript')} of {project.name}."
    facts: dict[str, Json] = {
        "project": project.name, "sessions": many, "bytes": report.bytes, "acts": dict(report.acts),
        "copies": report.copies, "damaged_lines": report.damaged, "secrets": dict(report.secrets),
        "known": report.known, "failed": dict(report.failed),
    }  # fmt: skip
    notes = [*_list_problems(report)]
    if past.dry_run:
        facts |= {"prompts": dict(report.prompts), "rules": [*report.rules]}
        return Summary("\n".join((head, *_format_preview(report))), facts, tuple(notes))
    for scope, what in ((Scope.PROJECT, "it"), (Scope.USER, "the rules for every project")):
        if past.reader(scope).log(limit=1, change=past.changes[scope]):
            notes.append(f"`recollect undo {past.changes[scope]}` takes {what} back.")
    waiting = question_vector.read_vector_status(past).waiting
    if waiting:
        notes.append(
            f"{counted(waiting, 'passage')} can be found by words now, and by meaning once the daemon has made the"
            " vectors; `recollect reindex` makes them at once."
        )
    remembers, lines = _describe_memory(past)
    changes: dict[str, Json] = {str(scope): change for scope, change in past.changes.items()}
    facts |= {"changes": changes, "remembers": remembers, "vectors_missing": waiting}
    return Summary("\n".join((head, *lines)), facts, tuple(notes))


def _format_preview(report: ImportReport) -> Iterator[str]:
    """For a dry run: counts rules, waiting rules, and dropped sentences by reason."""
    for what, many in report.prompts.most_common():
        yield f"  {many:>6,} {'prompts ' if what.startswith('dropped') else 'rules '}{what}"
    if report.copies:
        yield f"  {report.copies:>6,} copies of lines in another transcript"
    if report.acts["machine"]:
        yield f"  {report.acts['machine']:>6,} prompts that no person wrote"
    yield from _format_titles("rule", report.rules)


def _list_problems(report: ImportReport) -> Iterator[str]:
    if report.secrets:
        kinds = (f"{kind} ({many:,})" if many > 1 else kind for kind, many in sorted(report.secrets.items()))
        yield f"Kept out: {', '.join(kinds)}."
    if report.damaged:
        yield f"{counted(report.damaged, 'line')} could not be read and were left out."
    for name, many in report.failed.items():
        yield f"{name} failed on {counted(many, 'piece')}; `recollect logs` says how."


def _describe_memory(past: PastApp) -> tuple[dict[str, Json], list[str]]:
    """What is remembered about this project now."""
    store, now = past.reader(Scope.PROJECT), past.wall_clock.now()
    threads = store.find(Query(kinds=(Kind.THREAD,), statuses=REACHED, limit=_MAX_THREADS))
    by_status = Counter(status_at(one, now=now, rules=past.age_rules) for one in threads)
    faded = [f"{by_status[one]:,} {one}" for one in (Status.SUSPENDED, Status.ARCHIVED) if by_status[one]]
    active = store.find(Query(kinds=(Kind.RULE,), statuses=(Status.ACTIVE,), limit=_MAX_RULES))
    lessons = sum(isinstance(one, Rule) and one.rule_type is RuleType.FAILURE for one in active)
    waiting = len(store.find(Query(statuses=(Status.CANDIDATE,), limit=_MAX_RULES)))
    counts: dict[str, Json] = {
        "threads": len(threads), "threads_by_status": {str(one): many for one, many in sorted(by_status.items())},
        "rules": len(active) - lessons, "lessons": lessons, "inbox": waiting,
    }  # fmt: skip
    asleep = f" ({', '.join(faded)} by age)" if faded else ""
    kinds = f"{counted(len(threads), 'thread')}{asleep}, {counted(len(active) - lessons, 'rule')}"
    return counts, [
        f"Now remembered here: {kinds}, {counted(lessons, 'lesson')}; {waiting:,} in the inbox.",
        *_format_titles("rule", [one.title for one in active[:_MAX_TITLES]]),
        *_format_titles("thread", [one.title for one in threads[:_MAX_TITLES]]),
    ]


def _format_titles(kind: str, titles: Iterable[str]) -> list[str]:
    return [f"  {kind}: {clip(one_line(title), _TITLE_CHARS)}" for title in titles]
