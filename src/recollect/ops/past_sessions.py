"""Past sessions of agents: `import sessions` makes memory of them, `catch-up` reads what sessions left since then,
and `replay` shows what Recollect would have told in them: sessions are read in their order, into a scratch home, and at
each prompt memory is asked as the hook asks it. Transcripts are chosen here and read by jobs/session_import.py."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated

from recollect.agents import DEFAULT_HOST, Ability, Transcript, hosts
from recollect.agents import agent as agent_of
from recollect.app import embedding
from recollect.app.core import App
from recollect.app.memory_search import rules_in_force
from recollect.app.states import CURSORS, SET_ASIDE
from recollect.base import project as projects
from recollect.base.clock import SystemClock
from recollect.base.errors import BadInput, ModelError, NotFound
from recollect.base.local_time import local_day, local_minute
from recollect.base.moment import Moment
from recollect.base.paths import Home, user_home
from recollect.base.project import Project
from recollect.base.settings import environment, load
from recollect.base.structs import Struct, field
from recollect.base.text import clip, counted, one_line
from recollect.capture.prompt_text import Action
from recollect.capture.turns import is_used
from recollect.jobs import transcripts
from recollect.jobs.session_import import (
    Chosen,
    Importer,
    ImportReport,
    PastApp,
    Step,
    choose,
    find_unread,
)
from recollect.jobs.transcript_reader import is_undone
from recollect.lifecycle.strength import status_at
from recollect.model.codec import Json
from recollect.model.memory import Kind, Rule, RuleType, Status
from recollect.model.query import REACHED, Hit, Query
from recollect.model.result import Scope, Summary
from recollect.model.session import SessionPart, Speaker
from recollect.ops.library import read_day
from recollect.ops.prompt_recall import search_unasked
from recollect.ops.table import Arg
from recollect.ops.upkeep import embed_imported

_MAX_TITLES = 3
_TITLE_CHARS = 70
_MAX_THREADS = 50_000
_MAX_RULES = 5_000
_AGENTS = ", ".join(hosts(Ability.PAST))
_FILLED_AT_ONCE = 256
_NO_HURRY_S = 3_600.0
_PROMPT_CHARS, _PASSAGE_CHARS = 160, 240
_DID_CHARS = 40_000  # of what the agent said and ran in one turn

_Path = Annotated[
    str | None,
    Arg("A transcript or a folder of them; by default where the agent leaves them.", "[PATH]"),
]


def import_past(
    app: App,
    path: _Path = None,
    *,
    agent: Annotated[
        str | None, Arg(f"Only sessions of this one: {_AGENTS}.", metavar="NAME")
    ] = None,
    all: Annotated[
        bool, Arg("Import the sessions of every project, each into its own memory.")
    ] = False,
    since: Annotated[
        str | None, Arg("Only sessions still active after this date.", metavar="2026-01-31")
    ] = None,
    count: Annotated[bool, Arg("Only count them, in this project and in all; read none.")] = False,
) -> Summary:
    if agent and agent not in hosts(Ability.PAST):
        raise BadInput(
            f"No past sessions of {agent!r} can be read.", hint=f"Name one of {_AGENTS}."
        )
    if count:
        return _count(app, agent)
    if not all:
        app.require_project()
    chosen, left = choose(app, path, read_day("since", since), all=all, host=agent)
    sizes = [one.size for _, found in chosen.values() for one in found]
    step = _show_progress(app, sum(sizes), f"MB of {counted(len(sizes), 'session')}")
    read = [_read(app, project, found, step) for project, found in chosen.values()]
    step(sum(sizes))
    notes = [note for one in read for note in one.notes]
    if left:
        notes.append(
            "Left out: " + ", ".join(f"{many:,} ({why})" for why, many in left.most_common()) + "."
        )
    nobody = agent_of(agent).TITLE if agent else "No agent"
    nothing = f"{nobody} left {'no' if agent else 'any'} sessions {'here' if all or path else 'of this project'}."
    summary = "\n\n".join(one.summary for one in read) or nothing
    projects_read: list[Json] = [dict(one.facts) for one in read]
    facts: dict[str, Json] = {
        "projects": projects_read,
        "left_out": dict(left),
        "dry_run": app.dry_run,
    }
    return Summary(summary, facts, tuple(notes))


def catch_up(
    app: App,
    *,
    again: Annotated[
        bool, Arg("Also try lines that were set aside because reading them ended the daemon.")
    ] = False,
) -> Summary:
    """Does at once what the daemon does automatically after each turn."""
    waiting = transcripts.count_waiting(app)
    lines = SET_ASIDE.read(app.reader(app.scope)) if again else []
    if app.dry_run:
        said = f"Would read {counted(waiting, 'event')}."
        if again:
            said += f" {counted(len(lines), 'line')} set aside would be tried again."
        return Summary(said, {"waiting": waiting, "set_aside": len(lines), "dry_run": True})
    state = transcripts.ReadingState()
    while transcripts.read_some(app, state):
        pass
    read = waiting - transcripts.count_waiting(app)
    said = f"{read} events read." if read else "Nothing was waiting to be read."
    facts: dict[str, Json] = {"read": read}
    if again:
        lines_read = sum(transcripts.read_set_aside(app, line) for line in lines)
        lines_gone = len(lines) - lines_read
        said += f" {_say_tried_again(lines_read, lines_gone)}"
        facts |= {"lines_read": lines_read, "lines_gone": lines_gone}
    return Summary(said, facts, app.notes())


def _say_tried_again(lines_read: int, lines_gone: int) -> str:
    if not lines_read + lines_gone:
        return "No line had been set aside."
    said = f"{counted(lines_read, 'line')} read that had been set aside."
    if lines_gone:
        said += f" {counted(lines_gone, 'line')} no longer in a transcript."
    return said


def _count(app: App, host: str | None) -> Summary:
    """`imported`: whether any of this project's were; `unread`: those that an import would read."""
    chosen, _ = choose(app, None, all=True, host=host)
    found = _count_by_agent(app, chosen)
    everywhere, here = (
        sum(many for many, _ in found.values()),
        sum(here for _, here in found.values()),
    )
    unread = _keep_unread(app, chosen)
    unread_by_agent = _count_by_agent(app, unread).values()
    unread_everywhere = sum(many for many, _ in unread_by_agent)
    unread_here = sum(here for _, here in unread_by_agent)
    store = app.reader(app.scope)
    changes = {
        part.change for one in CURSORS.find_all(store).values() for part in one.parts if part.change
    }
    imported = any(not is_undone(store, change) for change in changes)
    whose = [f"{agent_of(name).TITLE} {many:,}" for name, (many, _) in found.items() if many]
    said = f"{counted(everywhere, 'past session')}, {here:,} of this project{': ' if whose else ''}{', '.join(whose)}."
    if unread_everywhere < everywhere:
        said += f" Not read yet: {unread_everywhere:,}, {unread_here:,} of this project."
    agents: dict[str, Json] = {name: many for name, (many, _) in found.items()}
    facts: dict[str, Json] = {
        "sessions": everywhere,
        "here": here,
        "imported": imported,
        "unread": unread_everywhere,
        "unread_here": unread_here,
        "agents": agents,
    }
    return Summary(said, {**facts, "dry_run": app.dry_run})


def count_past(app: App, host: str | None = None) -> dict[str, tuple[int, int]]:
    """By agent: how many past sessions could be read, and how many of them are this project's."""
    chosen, _ = choose(app, None, all=True, host=host)
    return _count_by_agent(app, _keep_unread(app, chosen))


def _keep_unread(app: App, chosen: Chosen) -> Chosen:
    """Without the sessions that were read, live or by an import, into the memory of their own project."""
    unread: Chosen = {}
    for key, (project, left) in chosen.items():
        with closing(
            App(home=app.home, project=project, settings=app.settings, clock=app.clock)
        ) as there:
            store = there.reader(Scope.PROJECT)
            unread[key] = (project, find_unread(store, left))
    return unread


def _count_by_agent(app: App, chosen: Chosen) -> dict[str, tuple[int, int]]:
    own = app.project.key if app.project else ""
    many = Counter(
        (one.host, key == own)
        for key, (_, found) in chosen.items()
        for one in found
        if not one.agent
    )
    return {
        name: (many[name, True] + many[name, False], many[name, True]) for name, _ in sorted(many)
    }


def _show_progress(app: App, total: int, what: str) -> Step:
    """Returns a function to call with the number of bytes after each step."""
    done = 0

    def step(size: int) -> None:
        nonlocal done
        done = min(done + size, total)
        app.progress(done / 1e6, total / 1e6, what)

    return step


def _read(app: App, project: Project, found: list[Transcript], step: Step) -> Summary:
    is_ours = app.project is not None and project.key == app.project.key
    settings = app.settings if is_ours else load(app.home.conf, project.conf, environment())
    many = counted(len({one.session for one in found}), "past session")
    whose = ", ".join(agent_of(name).TITLE for name in sorted({one.host for one in found}))
    with closing(PastApp(app, project, settings, f"Read {many} of {whose}")) as past:
        report = Importer(past, step).read(found)
        if not app.dry_run:
            past.log.line(
                "import", change=past.changes[Scope.PROJECT], sessions=len(report.sessions),
                bytes=report.bytes, acts=report.acts.total(), copies=report.copies,
            )  # fmt: skip
        past.progress = app.progress
        return _summarize(past, project, report)


# What would become of a prompt with a rule: what it would be, and where.
_PREVIEWED = {
    str(Action.STORED): ("rule", " that would be in force"),
    str(Action.INBOX): ("rule", " that would wait in the inbox"),
}


def _summarize(past: PastApp, project: Project, report: ImportReport) -> Summary:
    many, verb = len(report.sessions), "Would read" if past.dry_run else "Read"
    days = [local_day(at) for at in report.times[:2]] if report.times else []
    span = f", {' to '.join(days)}" if days else ""
    acts = report.acts
    said = f"{counted(acts['person'], 'prompt')}, {counted(acts['tool'], 'tool call')}"
    head = f"{verb} {counted(many, 'past session')} of {project.name} ({report.bytes / 1e6:,.1f} MB{span}): {said}."
    by_agent = Counter(report.sessions.values())
    if by_agent.keys() - {DEFAULT_HOST}:
        head += f" {', '.join(f'{agent_of(name).TITLE}: {one:,}' for name, one in by_agent.most_common())}."
    if not many:
        head = f"Nothing new in {counted(report.known, 'transcript')} of {project.name}."
    facts: dict[str, Json] = {
        "project": project.name, "sessions": many, "agents": dict(by_agent), "bytes": report.bytes,
        "acts": dict(report.acts),
        "copies": report.copies, "damaged_lines": report.damaged, "secrets": dict(report.secrets),
        "known": report.known, "failed": dict(report.failed),
    }  # fmt: skip
    notes = []
    if report.secrets:
        kinds = (
            f"{kind} ({many:,})" if many > 1 else kind
            for kind, many in sorted(report.secrets.items())
        )
        notes.append(f"Kept out: {', '.join(kinds)}.")
    if report.damaged:
        notes.append(f"{counted(report.damaged, 'line')} could not be read and were left out.")
    for name, many in report.failed.items():
        notes.append(f"{name} failed on {counted(many, 'piece')}; `recollect logs` says how.")
    if past.dry_run:
        became = [
            (many, *_PREVIEWED.get(what, ("prompt", f" {what}")))
            for what, many in report.prompts.most_common()
        ]
        became.append((report.copies, "line", " copied from another transcript"))
        became.append((acts["machine"], "prompt", " that no person wrote"))
        lines = [
            f"  {many:>6,} {one if many == 1 else one + 's'}{what}"
            for many, one, what in became
            if many
        ]
        facts |= {"prompts": dict(report.prompts), "rules": [*report.rules]}
        return Summary(
            "\n".join((head, *lines, *_format_titles("rule", report.rules))), facts, tuple(notes)
        )
    made: list[Json] = []
    for scope, what in ((Scope.PROJECT, "it"), (Scope.USER, "the rules for every project")):
        if past.reader(scope).log(limit=1, change=past.changes[scope]):
            made.append(past.changes[scope])
            notes.append(f"`recollect undo {past.changes[scope]}` takes {what} back.")
    notes += embed_imported(past)
    waiting = embedding.read_vector_status(past).waiting
    remembers, lines = _describe_memory(past)
    changes: dict[str, Json] = {str(scope): change for scope, change in past.changes.items()}
    facts |= {"changes": changes, "made": made, "remembers": remembers, "vectors_missing": waiting}
    return Summary("\n".join((head, *lines)), facts, tuple(notes))


def _describe_memory(past: PastApp) -> tuple[dict[str, Json], list[str]]:
    """What is remembered about this project now."""
    store, now = past.reader(Scope.PROJECT), past.wall_clock.now()
    threads = store.find(Query(kinds=(Kind.THREAD,), statuses=REACHED, limit=_MAX_THREADS))
    by_status = Counter(status_at(one, now=now, rules=past.age_rules) for one in threads)
    faded = [
        f"{by_status[one]:,} {one}" for one in (Status.SUSPENDED, Status.ARCHIVED) if by_status[one]
    ]
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


class Asked(Struct, frozen=False):
    """One prompt, and what it would have been told."""

    session: str
    at: Moment
    prompt: str
    hits: tuple[Hit, ...] = ()
    did: list[str] = field(default_factory=list)  # what the agent said and ran afterwards
    files: set[str] = field(default_factory=set)

    def is_used(self, hit: Hit) -> bool:
        return is_used(hit.passage, self.prompt, "\n".join(self.did), self.files)


def replay(
    app: App,
    path: _Path = None,
    *,
    project: Annotated[
        str | None, Arg("The folder of another project; by default this one.", metavar="FOLDER")
    ] = None,
    since: Annotated[
        str | None,
        Arg("Count only prompts after this date; earlier sessions are still read.", "2026-01-31"),
    ] = None,
    show: Annotated[
        int | None, Arg("Show up to N prompts that would have received memories.", metavar="N")
    ] = None,
) -> Summary:
    if show is not None and show < 0:
        raise BadInput(
            f"--show is {show}, which is less than 0.", hint="`recollect replay --show 10`"
        )
    first_day = read_day("since", since)
    at = (
        projects.locate(app.home.projects, Path(project), user_home(environment()))
        if project
        else app.require_project()
    )
    if at is None:
        raise NotFound(
            f"{project} is not a project folder.",
            hint="`recollect projects` lists those that are known.",
        )
    with tempfile.TemporaryDirectory(prefix="recollect-replay-") as scratch:
        # Under another root, so that nothing is written beside the project's files.
        copy = at._replace(root=Path(scratch, "project"), common_dir=None)
        copy.root.mkdir()
        there = App(home=Home(Path(scratch, "home")), project=copy, settings=app.settings, clock=SystemClock(),
                    progress=app.progress)  # fmt: skip
        here = App(home=app.home, project=at, settings=app.settings, clock=app.clock)
        _, found = choose(here, path)[0].get(at.key, (at, []))
        if not found:
            return Summary(
                f"No agent left any sessions of {at.name}.", {"project": at.name, "sessions": 0}
            )
        with closing(there):
            asked = replay_sessions(there, found)
    sessions = len({one.session for one in found})
    asked = [one for one in asked if first_day is None or one.at >= first_day]
    return _summarize_replay(at.name, sessions, asked, show or 0)


def replay_sessions(app: App, found: Sequence[Transcript]) -> list[Asked]:
    """Reads them into the memory of this app, which starts empty."""
    total = sum(one.size for one in found)
    step = _show_progress(app, total, "MB of sessions")
    with closing(
        PastApp(app, app.require_project(), app.settings, "Replayed past sessions")
    ) as past:
        player = _Player(past)
        Importer(past, step, player.play).read(found)
    step(total)
    return player.asked


def _summarize_replay(project: str, sessions: int, asked: Sequence[Asked], show: int) -> Summary:
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
    lines += [
        f"  {what:<40} {count:>7,}" + (f"  {count / of:.0%}" if of else "")
        for what, count, of in rows
    ]
    sample: list[Json] = []
    for one in answered[:: max(1, len(answered) // show)][:show] if show else ():
        lines += [
            "",
            f"{local_minute(one.at)}  {clip(one_line(one.prompt), _PROMPT_CHARS)}",
        ]
        told: list[Json] = []
        for hit in one.hits:
            title, mark = hit.memory.title, "used    " if one.is_used(hit) else "not used"
            said = f"{clip(one_line(title), 60)}: {clip(one_line(hit.passage), _PASSAGE_CHARS)}"
            lines.append(f"  {hit.score:.2f} {mark} {said}")
            told.append({"id": hit.memory.id, "title": title, "score": round(hit.score, 2), "passage": hit.passage,
                         "used": one.is_used(hit)})  # fmt: skip
        prompt = clip(one.prompt, _PROMPT_CHARS)
        sample.append({"session": one.session, "at": one.at.iso(), "prompt": prompt, "told": told})
    facts: dict[str, Json] = {
        "project": project, "sessions": sessions, "prompts": len(asked), "told": len(answered),
        "silent": len(asked) - len(answered), "memories": len(hits), "used": used, "chars": chars,
        "sample": sample,
    }  # fmt: skip
    return Summary("\n".join(lines), facts, ("Nothing was written.",))


class _Player:
    """Asks memory at each prompt of the session that is about to be imported."""

    def __init__(self, app: PastApp) -> None:
        self._app = app
        self._session, self._began = "", Moment(0)
        self._shown: set[str] = (
            set()
        )  # what this session was told already; its start tells the rules
        self.asked: list[Asked] = []

    def play(self, part: SessionPart) -> None:
        if part.agent:
            return
        if part.new and part.session != self._session:
            self._begin(part.session, part.new[0].at)
        for act in part.new:
            if act.agent:
                continue
            if act.speaker is Speaker.PERSON:
                self.asked.append(
                    Asked(part.session, act.at, act.text, self._ask(act.text, act.at))
                )
            elif self.asked and self.asked[-1].session == part.session:
                asked, use = self.asked[-1], act.use
                if sum(map(len, asked.did)) < _DID_CHARS:
                    used = use.what if use else ""
                    asked.did.append(act.text if act.speaker is Speaker.AGENT else used)
                asked.files.update(use.files if use else ())

    def _begin(self, session: str, at: Moment) -> None:
        """Live, the daemon makes the vectors between two sessions."""
        app, self._session, self._began = self._app, session, at
        app.set_time(at)
        if app.store_path(Scope.PROJECT) is not None:
            with suppress(ModelError, BadInput):  # words answer alone, as they would have
                while embedding.fill_vectors(
                    app.writer(Scope.PROJECT), app.embedder, _FILLED_AT_ONCE
                ):
                    pass
        self._shown = set(rules_in_force(app))

    def _ask(self, text: str, at: Moment) -> tuple[Hit, ...]:
        self._app.set_time(at)
        limit = self._app.settings.count("MEMORY_PROMPT_HITS")
        question = embedding.TimedQuestion(self._app, text, time.monotonic() + _NO_HURRY_S)
        found = search_unasked(self._app, question, seen=self._shown, limit=limit)
        hits = tuple(hit for hit in found.hits if time_of(hit) < self._began)
        self._shown.update(hit.mark for hit in hits)
        return hits


def time_of(hit: Hit) -> Moment:
    return hit.turn.at if hit.turn is not None else hit.memory.created_at
