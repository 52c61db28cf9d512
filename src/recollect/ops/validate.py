"""`validate`: checks whether memories are still true. A random sample is checked every so many sessions
(jobs/runner.py): for free, whether what a memory names exists; by a model, which may read the project's files and
nothing else, what rules and notes state, and their titles. A rule that should read otherwise waits in the inbox, a
memory that no longer holds is flagged. Nothing that a memory says is run; a repository is never written."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from recollect.app import language_model, notices, plan_gate
from recollect.app.core import MAX_TITLE_CHARS, App
from recollect.app.embedding import fill_vectors
from recollect.app.memory_search import search as search_memory
from recollect.app.states import OUTDATED, SESSIONS
from recollect.base.errors import BadInput, Conflict, ModelError, RecollectError
from recollect.base.files import read_limited
from recollect.base.ids import draw_numbers
from recollect.base.log import Log
from recollect.base.paths import user_home
from recollect.base.settings import environment
from recollect.base.structs import replace
from recollect.base.text import clip, counted, one_line
from recollect.jobs import runner
from recollect.jobs.runner import VALIDATION
from recollect.lifecycle import edits, review
from recollect.lifecycle.review import Check
from recollect.model.ask import Ask, Use
from recollect.model.codec import Json, content_hash
from recollect.model.memory import BridgeType, Kind, Lane, Memory, Note, Rule, Status
from recollect.model.plan import Plan, Update
from recollect.model.query import REACHED, Query
from recollect.model.result import Scope, Summary
from recollect.ops import memories, notes
from recollect.ops.table import Arg
from recollect.vault import dialects

if TYPE_CHECKING:
    from recollect.store import Store

PER_QUESTION = 5  # memories in one question of the first phase
LOGS_KEPT = 20
_MAX_SHOWN = 2_000
_RENAME = "describe"
_MAX_RANK = 50
_VECTORS_AT_ONCE = 32


def validate(
    app: App,
    *,
    run: Annotated[bool, Arg("Validate some memories now, whatever the schedule says.")] = False,
) -> Summary:
    if run and not app.dry_run:
        lines = runner.run_by_hand(app, VALIDATION)
        paths = dict.fromkeys(_log_path(app, SESSIONS.read(store)) for _, store in app.scopes())
        logs = [str(path) for path in paths if path.exists()]
        summary = (
            f"Validated; {counted(len(lines), 'finding')}."
            if logs
            else "There was nothing to validate."
        )
        ran: dict[str, Json] = {"lines": [*lines], "logs": [*logs], "dry_run": False}
        return Summary(summary, ran, (*lines, *(f"Log: {path}" for path in logs), *app.notes()))
    # What a run would draw from, what a model flagged, and what the free checks find.
    lines, looked_at = [], 0
    listed: list[Json] = []
    for scope, store in app.own_scopes():
        pool, flagged = _pool(app, scope), read_flags(store)
        amount = min(app.settings.count("MEMORY_VALIDATION_AMOUNT"), len(pool))
        schedule = runner.describe_schedule(app, VALIDATION, scope)
        lines.append(f"Validation: {schedule}; {amount} of {len(pool):,} would be drawn.")
        looked_at += len(pool[:_MAX_SHOWN])
        for memory in pool[:_MAX_SHOWN]:
            why = [
                *outdated_claims(app, scope, memory),
                *(["flagged by a review"] if memory.id in flagged else []),
            ]
            if why:
                listed.append(
                    {"id": memory.id, "title": memory.title, "scope": str(scope), "why": [*why]}
                )
                lines.append(f"{_name(memory)}: {'; '.join(why)}")
    summary = f"{len(listed):,} of {counted(looked_at, 'memory', 'memories')} may be out of date; nothing was changed."
    return Summary(
        summary, {"findings": listed, "looked_at": looked_at, "dry_run": app.dry_run}, tuple(lines)
    )


def _pool(app: App, scope: Scope) -> list[Memory]:
    return app.reader(scope).find(
        Query(kinds=(Kind.RULE, Kind.NOTE), statuses=(Status.ACTIVE,), limit=100_000)
    )


def _name(memory: Memory) -> str:
    where = memory.path if isinstance(memory, Note) and memory.path else memory.title
    return f"{memory.id} ({clip(one_line(where), 60)})"


def check_sample(app: App, run: runner.Run) -> Iterator[str]:
    file, size = _log_path(app, run.session).name, 2_000_000
    log = Log(
        app.home.logs,
        app.clock,
        max_bytes=size,
        redact=lambda text: app.redactor.clean(text).text,
        file=file,
    )
    where = app.project.name if app.project is not None and run.scope is Scope.PROJECT else "user"
    log.line(f"validation of {where} at session {run.session}")
    notices.toast(app, "Memory validation started")
    pool = _pool(app, run.scope)
    sample = [
        pool[number]
        for number in draw_numbers(app.settings.count("MEMORY_VALIDATION_AMOUNT"), len(pool))
    ]
    flagged: set[str] = set()
    proposed: list[str] = []
    for line in _check(app, run.scope, sample, flagged, proposed):
        log.line(clip(one_line(line), 500))
        yield line
    log.line(f"looked at {len(sample)}, flagged {len(flagged)}, proposed {len(proposed)}")
    for path in sorted(log_files(app), key=lambda path: path.stat().st_mtime_ns)[:-LOGS_KEPT]:
        path.unlink(missing_ok=True)
    parts = [f"{counted(len(flagged), 'memory', 'memories')} may be out of date"] if flagged else []
    parts += [f"{counted(len(proposed), 'reworded rule')} in the inbox"] if proposed else []
    if parts:
        notices.add(app, f"Validation: {', '.join(parts)}. `recollect validate` shows what.")


def _check(
    app: App, scope: Scope, sample: Sequence[Memory], flagged: set[str], proposed: list[str]
) -> Iterator[str]:
    """What they name, what they state, and their titles. Once a model does not answer, no other question is asked."""
    for memory in sample:
        if missing := outdated_claims(app, scope, memory):
            flagged.add(memory.id)
            yield f"{_name(memory)}: {'; '.join(missing)}"
    # A user's memories hold in every project: no single project's files can contradict them.
    root = app.project.root if app.project is not None and scope is Scope.PROJECT else None
    for start in range(0, len(sample) if root else 0, PER_QUESTION):
        some = sample[start : start + PER_QUESTION]
        question = Ask(
            Use.VALIDATE_CLAIMS, (("entries", review.format_entries(some)),), reads=str(root)
        )
        checks: dict[str, Check] | None = language_model.ask(app, question, some)
        if checks is None:
            return
        for memory in some:
            check = checks.get(memory.id)
            if check and check.state != "holds" and language_model.read_again(app, scope, memory):
                yield _apply_check(app, scope, memory, check, flagged, proposed)
    # Rules, and notes of the user's own whose dialect has a place for a title; nothing that is pinned.
    loose = [memory for memory in sample if not memory.pinned]
    some = [one for one in loose if isinstance(one, Rule) or notes.has_own_tags(app, scope, one)]
    question = Ask(Use.VALIDATE_DESCRIPTIONS, (("entries", review.format_entries(some)),))
    titles: dict[str, str] = (language_model.ask(app, question, some) if some else None) or {}
    for memory in some:
        if memory.id in titles and language_model.read_again(app, scope, memory):
            try:
                yield f"{_name(memory)}: {_try_title(app, scope, memory, titles[memory.id])}"
            except RecollectError as problem:
                yield f"{_name(memory)}: not measured: {problem.message}"


def _apply_check(
    app: App, scope: Scope, memory: Memory, check: Check, flagged: set[str], proposed: list[str]
) -> str:
    why = f": {check.why}" if check.why else ""
    if (
        check.state == "fix"
        and isinstance(memory, Rule)
        and (id := _propose(app, scope, memory, check.body))
    ):
        proposed.append(id)
        return f"{_name(memory)} should read differently{why}; {id} waits in the inbox"
    flagged.add(memory.id)
    with (store := app.writer(scope)).transaction():
        OUTDATED.write(store, {**read_flags(store), memory.id: content_hash(memory)})
    return f"{_name(memory)} is out of date{why}"


def _propose(app: App, scope: Scope, rule: Rule, body: str) -> str:
    """The id of the candidate; empty: one waits already in this rule's place."""
    id = app.mint.draw("rule")
    words = edits.Words(
        app.redact_text("rule", body), Lane.lowest(Lane.AGENT, Lane.REPOSITORY), rule.group or ""
    )

    def make(store: Store) -> Plan:
        sources = [one.source for one in store.bridges(rule.id) if one.type is BridgeType.REPLACES]
        waiting = [
            one
            for id in sources
            if (one := store.get(id, follow=False)) and one.status is Status.CANDIDATE
        ]
        return (
            Plan()
            if waiting
            else Plan.of(edits.propose_words(rule, words, id=id, now=app.clock.now()))
        )

    done = app.commit(
        scope, "validate", make, lambda _: f"{rule.id} in other words waits in the inbox as {id}."
    )
    return id if done.plan else ""


def _try_title(app: App, scope: Scope, memory: Memory, line: str) -> str:
    """Put a title in place, measure it with the engine that answers everyone, and take it back unless the memory still
    comes up as early for what it should be found by. Returns the outcome in a few words.

    For a note, the store is changed first and its file last, and only the condition in it."""
    title = app.redact_text("description", line, max_chars=MAX_TITLE_CHARS)
    asked = review.questions(memory)
    before = _ranks(app, scope, memory, asked)

    def plan_of(standing: Memory) -> Plan:
        return Plan.of([Update.between(standing, replace(standing, title=title))])

    tried = memories.change_one(
        app, scope, memory, _RENAME, plan_of, f"{memory.id} is called {title!r}."
    )
    is_kept = False
    try:
        after = _ranks(app, scope, memory, asked)
        ranks = f"rank {before}, then {after}"
        if any(new > old for old, new in zip(before, after, strict=True)):
            return f"kept the old title: the new one ranked lower ({ranks})"
        if isinstance(memory, Note):
            summary = f"{memory.path} has a new condition."
            notes.rewrite(
                app, memory.id, lambda text: dialects.with_condition(text, title), _RENAME, summary
            )
        is_kept = True
        return f"now called {title!r} ({ranks})"
    except (BadInput, Conflict) as problem:
        return f"the title stays: {problem.message}"
    finally:
        if not is_kept and tried.change:
            [entry] = app.writer(scope).log(limit=1, change=tried.change)
            app.undo(scope, entry)


def _ranks(app: App, scope: Scope, memory: Memory, asked: Sequence[str]) -> list[int]:
    """For each question, from 1; one more than the most where it is not found. With vectors if there are any."""
    with suppress(ModelError, BadInput):  # words alone, before and after
        while fill_vectors(app.writer(scope), app.embedder, _VECTORS_AT_ONCE):
            pass
    searches = [
        search_memory(app, Query(text=text, statuses=REACHED, limit=_MAX_RANK)).found
        for text in asked
    ]
    found = [[one.hit.memory.id for one in search] for search in searches]
    return [ids.index(memory.id) + 1 if memory.id in ids else _MAX_RANK + 1 for ids in found]


# The free checks: files of the project, scripts and targets, programs. They read names and small files, and say nothing
# in doubt: a path counts as gone only if it could be one of this project's, or was a file when the memory was made. A
# memory of the user's holds in every project, so only its absolute paths are checked.

_MAX_BYTES = 1_000_000
_MANIFESTS = (
    "package.json",
    "pyproject.toml",
    "requirements.txt",
    "go.mod",
    "Cargo.toml",
    "Gemfile",
)
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_TARGET = re.compile(r"^([^\s:=#][^:=#\n]*):(?!=)", re.MULTILINE)
# Shells know these without a file.
_BUILT_IN = frozenset(
    """alias bg builtin cd command declare echo eval exec exit export fg for function hash if jobs kill let local popd
    printf pushd pwd read return set shift source test time trap type ulimit umask unalias unset until wait
    while""".split()
)


def outdated_claims(app: App, scope: Scope, memory: Memory) -> tuple[str, ...]:
    """What it names that does not exist, and files that changed since, in a few words each."""
    root = app.project.root if app.project is not None and scope is Scope.PROJECT else None
    changed = set(plan_gate.changed_files(app, memory)) if root else set()
    gone = {path for path in changed if root and not os.path.lexists(root / path)}
    problems = [f"{path} is gone" for path in sorted(gone)]
    problems += [f"{path} changed since" for path in sorted(changed - gone)]
    for claim in review.find_claims(f"{memory.title}\n{memory.body}"):
        with suppress(OSError, ValueError, RecursionError):
            problems.append(_describe_missing(claim, root) if claim[1] not in changed else "")
    return tuple(dict.fromkeys(filter(None, problems)))


def _describe_missing(claim: review.Claim, root: Path | None) -> str:
    """Empty where it is there, or cannot be told."""
    kind, name = claim
    if kind == "program":  # as a shell would look it up, on the PATH of this process
        places = environment().get("PATH", "")
        is_missing = (
            bool(places) and name not in _BUILT_IN and shutil.which(name, path=places) is None
        )
        return f"there is no program {name}" if is_missing else ""
    if kind == "path":
        return f"{name} is not there" if _is_missing_path(name, root) else ""
    if root is None:
        return ""
    if kind == "script":
        held = json.loads(read_limited(root / "package.json", _MAX_BYTES))
        scripts = held.get("scripts", {}) if isinstance(held, dict) else None
        return (
            f"package.json has no script {name}"
            if isinstance(scripts, dict) and name not in scripts
            else ""
        )
    makefile = next(
        (root / file for file in _MAKEFILES if (root / file).exists()), root / _MAKEFILES[0]
    )
    text = read_limited(makefile, _MAX_BYTES).decode()
    targets = {target for line in _TARGET.findall(text) for target in line.split()}
    # Never where the Makefile has pattern rules, or includes other files.
    is_open = any("%" in one or "$" in one for one in targets) or re.search(
        r"^-?include\s", text, re.MULTILINE
    )
    return f"the Makefile has no target {name}" if not is_open and name not in targets else ""


def _is_missing_path(name: str, root: Path | None) -> bool:
    """`/api/users` is a route as often as a path, and a relative one may be another project's: its first folder has to
    be there, or it has to look like a file of this project."""
    path = user_home() / name[2:] if name.startswith("~/") else Path(name)
    if path.is_absolute():
        return Path(*path.parts[:2]).is_dir() and not os.path.lexists(path)
    if root is None or ".." in path.parts or len(path.parts) < 2 or os.path.lexists(root / path):
        return False
    first = path.parts[0]
    if (root / first).is_dir():
        return True
    return review.may_be_of_project(name) and not _is_dependency(root, first)


def _is_dependency(root: Path, name: str) -> bool:
    """Whether the project gets a package of this name from elsewhere: `three/examples/jsm/x.js` is a file of one."""
    if (root / "node_modules" / name).exists():
        return True
    for file in _MANIFESTS:
        with suppress(OSError, ValueError):
            text = read_limited(root / file, _MAX_BYTES).decode()
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
                return True
    return False


def read_flags(store: Store) -> dict[str, str]:
    """Memories that a model found out of date, with a hash of what they said then. Once that changes, or the memory is
    put away, the flag is gone."""
    found = [(store.get(id, follow=False), hash) for id, hash in OUTDATED.read(store).items()]
    active = [(one, hash) for one, hash in found if one and one.status is Status.ACTIVE]
    return {one.id: hash for one, hash in active if content_hash(one) == hash}


def _log_path(app: App, session: int) -> Path:
    """A line per finding. Two stores may be at the same session."""
    return app.home.logs / f"validation-{session}.log"


def log_files(app: App) -> list[Path]:
    """Every line about a memory begins with its id."""
    return list(app.home.logs.glob("validation-*.log*"))
