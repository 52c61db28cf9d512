"""What an operation works with: the home, the project, settings, clock, and the stores, opened when needed. One way in
for text (`redact_text`: storable, within limits, redacted) and one way out to the database (`commit`: made into a plan,
redacted again, applied, journalled, logged). Reading never creates anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from recollect import __version__
from recollect.base import project as projects
from recollect.base.clock import Clock, SystemClock
from recollect.base.errors import (
    BadInput,
    Conflict,
    HomeRefused,
    NoProject,
    RecollectError,
    StoreBusy,
    StoreDamaged,
)
from recollect.base.files import make_private_folder, read_limited, write_private
from recollect.base.ids import Mint, fresh_key
from recollect.base.paths import Home, home, user_home
from recollect.base.project import Project
from recollect.base.settings import Settings, environment, load
from recollect.base.text import indexed_length, one_line, storable
from recollect.model.memory import Memory
from recollect.model.plan import Plan
from recollect.model.result import Done, Scope
from recollect.wire import client
from recollect.wire.place import find_place

if TYPE_CHECKING:
    from recollect.agents import Places
    from recollect.app.file_recovery import BegunChanges
    from recollect.base.log import Log
    from recollect.embed.embedder import Embedder
    from recollect.lifecycle.strength import AgeRules
    from recollect.model.result import Entry
    from recollect.redact import Redactor
    from recollect.store import ChangeHeader, LocalStore, SqliteStore, Store

MAX_TITLE_CHARS = 200
MAX_TOPIC_CHARS = 80
MAX_TOPICS = 50
_SET_ASIDE = "set-aside"
PERSON, AGENT = "user", "agent"  # in the journal: whose hand it was
IMPORT_ACTOR = "import"  # in the journal: words that somebody else kept before us
# Of a history, to find its first commit: for a command, and while a hook waits. A job reads longer ones.
_COMMITS_READ, _COMMITS_READ_AT_ONCE = 20_000, 300
_TRIES = 3  # a plan made from a state that another process changed meanwhile is made anew
Progress = Callable[
    ..., None
]  # called with how far a long operation is: done, total, what is counted (its unit first)


class App:
    fills_vectors = True  # a recall gives a few passages the vectors that they lack
    skips_busy_stores = (
        False  # reads on without a store that is just being made or brought up to date
    )

    def __init__(
        self, *, home: Home, project: Project | None, settings: Settings, clock: Clock, actor: str = PERSON,
        dry_run: bool = False, progress: Progress = lambda done, total, what="": None,
    ) -> None:  # fmt: skip
        self.home, self.project, self.settings = home, project, settings
        self.clock, self.actor, self.dry_run, self.progress = clock, actor, dry_run, progress
        self.wall_clock = self.clock  # of logs; another than `clock` where that stands in the past
        self.mint = Mint(self.clock)
        # By thread, where passages get their vectors later: those of the turns that went to it, for the next turn.
        self.turn_vectors: dict[str, list[bytes]] | None = None
        self._open: dict[tuple[Path | None, bool], SqliteStore] = {}
        self._found: Counter[str] = Counter()
        self._put_back: list[Callable[[], None]] | None = None
        self.begun_changes: BegunChanges | None = None  # of files, in the transaction under way
        self._change = ""  # the id of what is committed as one change
        self.queued_changes: set[str] = set()  # for the team
        self.is_unsent = False  # some of them wait
        self._is_settled = False  # the project's store is bound to the tree that it is used from
        self._redactor: Redactor | None = None
        self._embedder: Embedder | None = None

    @classmethod
    def open(cls, cwd: Path, **options: object) -> App:
        """The App for the folder a command was called in, with the user's settings. What an agent starts has an
        environment that a project's settings may have set: it may only narrow."""
        environ = environment()
        place = Home(home(environ))
        place.check()
        found = projects.locate(place.projects, cwd, user_home(environ))
        is_agent = options.get("actor") == "agent"
        settings = load(place.conf, found.conf if found else None, environ, hook=is_agent)
        return cls(home=place, project=found, settings=settings, clock=SystemClock(), **options)  # type: ignore[arg-type]

    def close(self) -> None:
        # Readers first: whoever is last folds the log into the file, and only a writer can.
        for _, store in sorted(self._open.items(), key=lambda pair: not pair[0][1]):
            store.close()
        self._open.clear()

    @property
    def scope(self) -> Scope:
        """Whose store keeps the state of what goes on here: the project's, or the user's outside of one."""
        return Scope.PROJECT if self.project is not None else Scope.USER

    def store_path(self, scope: Scope) -> Path | None:
        """Where the store is; None where there is none yet."""
        path: Path | None = self.home.user_store
        if scope is Scope.TEAM:
            own = (
                None if self.settings.text("MEMORY_TEAM") == "off" else self.store_path(self.scope)
            )
            path = own and own.parent / "team" / own.name
        elif scope is Scope.PROJECT:
            folder = (
                projects.store_folder(self.home.projects, self.project) if self.project else None
            )
            path = folder / "memory.db" if folder else None
        return path if path and (path.is_symlink() or path.exists()) else None

    def reader(self, scope: Scope) -> LocalStore:
        """The store as it is; an empty one in memory where there is none."""
        return self._opened(self.store_path(scope), read_only=True)

    def writer(self, scope: Scope) -> LocalStore:
        path = self.store_path(scope)
        if path is None:
            self.require_scope(scope)
            self.home.prepare()
            path = self.home.user_store
            if scope is Scope.TEAM:
                own = self.writer(self.scope).path or path
                path = own.parent / "team" / own.name
                make_private_folder(path.parent)
            elif scope is Scope.PROJECT:
                self.project = projects.claim(
                    self.home.projects, self.require_project(), fresh_key()
                )
                path = projects.make_store_folder(self.home.projects, self.project) / "memory.db"
                projects.prepare_view(self.project.root)
        if scope is Scope.PROJECT:
            self._settle()
        return self._opened(path, read_only=False)

    def _settle(self) -> None:
        """Once: what this project is recognised by, in its tree and beside its store."""
        if self._is_settled or self.dry_run or self.project is None:
            return
        self._is_settled = True
        max_commits = _COMMITS_READ if self.actor == "user" else _COMMITS_READ_AT_ONCE
        with suppress(OSError, HomeRefused):
            self.project = projects.settle(
                self.home.projects, self.project, fresh_key(), max_commits
            )

    def scopes(self) -> Iterator[tuple[Scope, LocalStore]]:
        """The stores that exist, the project's first, the team's last."""
        for scope in Scope:
            if self.store_path(scope) is not None:
                yield scope, self.reader(scope)

    def own_scopes(self) -> Iterator[tuple[Scope, LocalStore]]:
        """Those that hold what was kept here, not what colleagues shared."""
        return ((scope, store) for scope, store in self.scopes() if scope is not Scope.TEAM)

    @property
    def places(self) -> Places:
        """Where the files of this person and of this project stand, for the agents that look for them."""
        from recollect.agents import Places

        environ = environment()
        return Places(user_home(environ), self.project.root if self.project else None, environ)

    def find(self, name: str) -> tuple[Scope, Memory]:
        """The memory that a person or an agent means by an id, a part of one, a title, `last` or a list number."""
        from recollect.app.lookup import find_memory

        return find_memory(self, name)

    def exact(self, id: str) -> tuple[Scope, Memory] | None:
        """The memory with this whole id, its own or one that was merged into it."""
        found = ((scope, store.get(id)) for scope, store in self.scopes())
        return next(((scope, memory) for scope, memory in found if memory is not None), None)

    def find_pair(self, first: str, second: str) -> tuple[Scope, Memory, Memory]:
        scope, a = self.find(first)
        other, b = self.find(second)
        if scope is not other:
            where = f"{first} is in the {scope}'s store and {second} in the {other}'s"
            raise BadInput(
                f"{where}; memories in different stores cannot be joined.",
                hint="Name two of one store.",
            )
        if a.id == b.id:
            raise BadInput(
                f"{first} and {second} are the same memory.", hint="Name two different ones."
            )
        return scope, a, b

    def require_scope(self, scope: Scope) -> None:
        if scope is Scope.PROJECT:
            self.require_project()

    def require_project(self) -> Project:
        if self.project is None:
            hint = "Go into a project's folder, or add --user to keep it everywhere."
            raise NoProject(
                "This folder is not a project: your home folder and its parents never are.",
                hint=hint,
            )
        return self.project

    def _opened(self, path: Path | None, *, read_only: bool) -> SqliteStore:
        from recollect.store import SqliteStore, Tuning

        key = (path, read_only)
        if key not in self._open:
            busy_ms, days = map(
                self.settings.count, ("MEMORY_BUSY_TIMEOUT_MS", "MEMORY_JOURNAL_DAYS")
            )
            tuning = Tuning(busy_timeout_ms=busy_ms, journal_days=days)
            try:
                if read_only and path is not None and path.is_file() and path.stat().st_size == 0:
                    return self._opened(None, read_only=True)  # its first write is still to come
                self._open[key] = SqliteStore(
                    path, tuning, read_only=read_only and path is not None
                )
            except StoreBusy:
                if not (read_only and self.skips_busy_stores):
                    raise
                return self._opened(None, read_only=True)
            except StoreDamaged as problem:
                if path is None or self.dry_run:
                    raise
                raise set_aside(self, path, problem) from None
            if self._open[key].was_migrated:
                self._retire_older_daemon()
        return self._open[key]

    def _retire_older_daemon(self) -> None:
        """It could no longer write the store that was just brought up to date."""
        place = find_place(str(self.home.root), environment())
        if client.retire_older(place, __version__):
            self.log.line("older-daemon-retired", version=__version__)

    def redact_text(self, name: str, text: str, *, max_chars: int | None = None) -> str:
        """Any text that will be kept: storable, within its limit, free of secrets. `max_chars`: instead of the limit of
        a memory's text."""
        if max_chars is None:
            self._check_body_length(name, text)
        elif len(text) > max_chars:
            problem = f"The {name} has {len(text):,} characters; at most {max_chars:,} are kept."
            raise BadInput(problem, hint="Shorten it.")
        cleaned = self.redactor.clean(storable(text))
        self._found.update(dict(cleaned.found))
        return cleaned.text

    def _check_body_length(self, name: str, text: str) -> None:
        limit = self.settings.count("MEMORY_MAX_BODY_CHARS")
        length = indexed_length(text)
        if length <= limit:
            return
        counting = (
            ""
            if length == len(text)
            else f", which count as {length:,} (Chinese, Japanese and Korean ones four)"
        )
        raise BadInput(
            f"The {name} has {len(text):,} characters{counting}; at most {limit:,} are kept.",
            hint="Keep the part that matters, or raise MEMORY_MAX_BODY_CHARS.",
        )

    def redact_title(self, text: str | None) -> str:
        return one_line(self.redact_text("title", text, max_chars=MAX_TITLE_CHARS)) if text else ""

    def redact_topics(self, topics: tuple[str, ...]) -> tuple[str, ...]:
        if len(topics) > MAX_TOPICS:
            raise BadInput(
                f"{len(topics)} topics; at most {MAX_TOPICS} are kept.", hint="Name the main ones."
            )
        cleaned = (
            one_line(self.redact_text("topic", topic, max_chars=MAX_TOPIC_CHARS))
            for topic in topics
        )
        return tuple(dict.fromkeys(topic for topic in cleaned if topic))

    @property
    def embedder(self) -> Embedder:
        """Raises ModelError where there is none: words go on alone."""
        if self._embedder is None:
            from recollect.embed.embedder import load

            self._embedder = load(
                self.settings.text("MEMORY_EMBEDDING_MODEL"), self.home.embedding_key
            )
        return self._embedder

    def question_for_model(self, text: str) -> str:
        """The text as the model may see it: without secrets if it leaves this process."""
        return (
            self.redactor.clean(text).text
            if "://" in self.settings.text("MEMORY_EMBEDDING_MODEL")
            else text
        )

    @property
    def redactor(self) -> Redactor:
        """With one key per home, so that equal secrets get equal marks here and tell nothing elsewhere."""
        if self._redactor is None:
            from recollect.redact import Redactor

            path = self.home.root / "redaction.key"
            try:
                key = bytes.fromhex(read_limited(path, 100).decode("ascii").strip())
            except (OSError, ValueError):
                key = bytes.fromhex(fresh_key())
                if not self.dry_run:
                    with suppress(
                        OSError, HomeRefused
                    ):  # the write that follows will say what is wrong with the home
                        self.home.prepare()
                        write_private(path, f"{key.hex()}\n")
            self._redactor = Redactor(key)
        return self._redactor

    def commit(
        self,
        scope: Scope,
        op: str,
        make: Callable[[LocalStore], Plan],
        say: Callable[[Plan], str],
        *,
        actor: str = "",
    ) -> Done:
        """Makes a plan from the state as it is, and applies it. `actor`: whose words it keeps, if another's."""
        if self.dry_run:
            self.require_scope(scope)
        left = _TRIES
        while True:
            store = self.reader(scope) if self.dry_run else self.writer(scope)
            plan = self.redact_plan(self._anchored(scope, make(store)))
            summary = say(plan) if plan else "Nothing to change."
            if self.dry_run or not plan:
                return Done(summary, plan, scope, None, self.dry_run, self.notes())
            act = self.change_header(op, summary, actor=actor)
            try:
                with (
                    self.file_transaction(store) if plan.files else nullcontext(),
                    self._queued(scope, store, plan, act),
                ):
                    wrote = store.apply(plan, act)
                    self._write_files(scope, store, plan)
            except Conflict:
                left -= 1
                if not left:
                    raise
                continue
            self.log.line(op, change=act.change, scope=scope, memories=",".join(plan.touched()[:5]))
            return Done(summary, plan, scope, act.change if wrote else None, False, self.notes())

    @contextmanager
    def as_one_change(self) -> Iterator[None]:
        """What is committed within is one change to `log` and `undo`, even in two stores."""
        self._change = self.mint.draw("change")
        try:
            yield
        finally:
            self._change = ""

    @contextmanager
    def file_transaction(self, store: LocalStore) -> Iterator[None]:
        """A transaction that may change files of notes: where it fails, also at its very end (a full disk), the files
        are put back. One within another hands its files on to it."""
        outer, mine = self._put_back, list[Callable[[], None]]()
        self._put_back = mine
        try:
            with store.transaction():
                yield
        except BaseException:
            for put_back in reversed(mine):
                put_back()
            raise
        finally:
            self._put_back = outer
            if outer is None:
                self._end_file_changes(store)
        if outer is not None:
            outer.extend(mine)

    def _end_file_changes(self, store: LocalStore) -> None:
        if self.begun_changes is not None:
            from recollect.app import file_recovery

            file_recovery.end(self, store.path)

    def files_changed(self, put_back: Callable[[], None]) -> None:
        """Within a `file_transaction`, what puts them back."""
        if self._put_back is not None:
            self._put_back.append(put_back)

    def undo(self, scope: Scope, entry: Entry) -> Done:
        """Takes a change back: what it did to memory, and to the files of notes."""
        summary = f"Undid {entry.op}: {entry.summary}"
        act = self.change_header("undo", summary, undoes=entry.change)
        store = self.writer(scope)
        touched = entry.memories
        if entry.unlisted:
            touched = store.undo(entry.change, act, dry_run=True).touched()
        with self.file_transaction(store), self._queued(scope, store, touched, act):
            plan = store.undo(entry.change, act, dry_run=self.dry_run)
            if self.dry_run:
                return Done(summary, plan, scope, None, dry_run=True)
            if plan.files and self.actor == "agent":
                message = f"{entry.change} changed a note's file, which is a person's."
                raise BadInput(message, hint="Ask the user to run `recollect undo`.")
            if self.actor == "agent" and entry.actor == "user" and entry.op != "capture":
                self._refuse_rules(store, plan, entry)
            self._write_files(scope, store, plan)
        self.log.line("undo", change=act.change, undoes=entry.change, scope=scope)
        return Done(summary, plan, scope, act.change, dry_run=False)

    def _refuse_rules(self, store: Store, plan: Plan, entry: Entry) -> None:
        """Where this would put a rule in force: an agent's words may not stand because a person's no is taken back."""
        from recollect.lifecycle import edits

        held = edits.rules_put_in_force(plan, lambda id: store.get(id, follow=False))
        if rule := next(held, None):
            problem = f"Rule {rule} would be in force by this, and a person decided on it."
            raise BadInput(problem, hint=f"Ask the user to run `recollect undo {entry.change}`.")

    def _write_files(self, scope: Scope, store: Store, plan: Plan) -> None:
        if plan.files:
            from recollect.app import note_files

            note_files.write(self, scope, store, plan.files)

    def _queued(
        self, scope: Scope, store: Store, what: Plan | Sequence[str], header: ChangeHeader
    ) -> AbstractContextManager[None]:
        """Around a write: what it changes of shared memories waits for the team."""
        if self.dry_run or scope is Scope.USER or not self.home.teams.is_dir():
            return nullcontext()
        from recollect.app import teams

        ids = (
            teams.shared_ids_in(self, scope, store, what, header.op)
            if isinstance(what, Plan)
            else what
        )
        return teams.queued(self, scope, store, ids, header) if ids else nullcontext()

    def _anchored(self, scope: Scope, plan: Plan) -> Plan:
        if scope is not Scope.PROJECT or not plan:
            return plan
        from recollect.app.plan_gate import add_anchors

        return add_anchors(self, plan)

    def change_header(
        self, op: str, summary: str, *, undoes: str | None = None, change: str = "", actor: str = ""
    ) -> ChangeHeader:
        from recollect.app.lookup import UNASKED_OPS
        from recollect.store import ChangeHeader

        change = change or ("" if op in UNASKED_OPS else self._change) or self.mint.draw("change")
        return ChangeHeader(
            change, op, str(actor or self.actor), one_line(summary)[:300], self.clock.now(), undoes
        )

    def notes(self) -> tuple[str, ...]:
        """What was kept out since the last call, for a person."""
        found = ", ".join(
            f"{kind} ({count})" if count > 1 else kind
            for kind, count in sorted(self._found.items())
        )
        self._found.clear()
        return (f"Kept out: {found}.",) if found else ()

    @property
    def log(self) -> Log:
        from recollect.base.log import Log

        size = self.settings.count("MEMORY_LOG_MAX_MB") * 1_000_000
        return Log(
            self.home.logs,
            self.wall_clock,
            max_bytes=size,
            redact=lambda text: self.redactor.clean(text).text,
        )

    @property
    def age_rules(self) -> AgeRules:
        from recollect.lifecycle.strength import AgeRules

        names = (
            "MEMORY_HALF_LIFE_DAYS",
            "MEMORY_SUSPEND_BELOW",
            "MEMORY_ARCHIVE_AFTER_DAYS",
            "MEMORY_REINFORCEMENT",
        )
        return AgeRules(*map(self.settings.figure, names))

    def redact_plan(self, plan: Plan) -> Plan:
        from recollect.app.plan_gate import redact_plan

        cleaned, found = redact_plan(plan, self.redactor)
        self._found.update(found)
        return cleaned


# Damaged databases are set aside, never deleted. `recover` (ops/upkeep.py) reads them and the backups.


def set_aside(app: App, path: Path, problem: RecollectError) -> StoreDamaged:
    """Moves the file and its log out of the way; the next command starts with a new one."""
    from recollect.store import free_name

    folder = path.parent / _SET_ASIDE
    folder.mkdir(mode=0o700, exist_ok=True)
    target = free_name(folder, app.clock.now().stamp())
    try:
        path.rename(target)
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                path.with_name(path.name + suffix).rename(target.with_name(target.name + suffix))
    except OSError as trouble:
        return StoreDamaged(
            f"{problem.message} It could not be moved: {trouble.strerror}.", hint=problem.hint
        )
    app.log.line("set-aside", file=target.name, why=problem.message)
    hint = "`recollect recover` brings back what it and the backups still hold; other commands start anew."
    return StoreDamaged(
        f"{problem.message} It was moved to {target}; nothing was deleted.", hint=hint
    )


def set_aside_files(app: App) -> list[Path]:
    return sorted(file for _, folder in store_folders(app) for file in set_aside_in(folder))


def set_aside_in(folder: Path) -> list[Path]:
    """Newest first."""
    return sorted((folder / _SET_ASIDE).glob("*.db"), reverse=True)


def store_folders(app: App) -> Iterable[tuple[Scope, Path]]:
    project = projects.store_folder(app.home.projects, app.project) if app.project else None
    if project is not None:
        yield Scope.PROJECT, project
    yield Scope.USER, app.home.user_store.parent


def backups_of(path: Path | None) -> list[Path]:
    """Newest first."""
    if path is None:
        return []
    files = (path.parent / "backups").glob("memory-*.db")
    return sorted(files, key=lambda f: f.stat().st_mtime_ns, reverse=True)
