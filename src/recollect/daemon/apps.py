"""An open App for each project that was used lately, each with a lock, and the one embedder that they share.

The settings are checked each time an App is taken, so a changed `agent.conf` holds from the next hook on. An App whose
database was deleted or replaced underneath, or that met a damaged one, is opened anew. The model is loaded while hooks
are already being answered, with words alone and saying so. An App is *warm* once its vectors are in memory; large
stores are warmed on connections of their own, which then take the place of the cold ones, so that no hook waits for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.app.core import App
from recollect.base import project as projects
from recollect.base.clock import Clock
from recollect.base.errors import (
    BadInput,
    ModelError,
    ModelLoading,
    RecollectError,
    StoreBusy,
    StoreError,
    StoreTooNew,
)
from recollect.base.files import Stamp, stamp
from recollect.base.paths import Home
from recollect.base.project import Project
from recollect.base.settings import PREFIX, Settings, load
from recollect.model.result import Scope

if TYPE_CHECKING:
    from recollect.embed.embedder import Embedder

MAX_APPS = 8  # five to ten descriptors each, and the vectors
LOCK_WAIT_S = 1.0  # longer than any hook waits
HOOK_LOCK_WAIT_S = 0.08  # a slow disk takes longer to write what an earlier event left
# A hook that cannot write says so in time, and its pointer stays; a command can wait for another writer.
BUSY_TIMEOUT_MS = 60
WARMED_AT_ONCE_BYTES = 20_000_000  # a store this small is warmed by the first request: some 10 ms
NO_PROJECT = "/"

_MODEL = "MEMORY_EMBEDDING_MODEL"
_BUSY = "MEMORY_BUSY_TIMEOUT_MS"

# How long until a model that failed is tried again, at first and at most: its folder or server may be there by then.
RETRY_S = (5.0, 120.0)


class Model:
    """The one embedder of the process."""

    def __init__(self, wanted: str = "shipped", key_file: Path | None = None) -> None:
        self.wanted = wanted  # what the settings named last: loaded by the next `load`
        self._key_file = key_file
        self._guard = threading.Lock()
        self._loaded: dict[str, Embedder] = {}  # one at most: each is about 90 MB
        self._failed: dict[str, ModelError | BadInput] = {}  # one at most
        self._retry_at_s = self._wait_s = 0.0

    def embedder(self, name: str) -> Embedder:
        """Raises what a recall then says: words alone, and why."""
        if found := self._loaded.get(name):
            return found
        if problem := self._failed.get(name):
            # A new one each time: an error that is raised again and again only grows.
            raise ModelError(problem.message, hint=problem.hint)
        self.wanted = name
        raise ModelLoading

    def is_ready(self, name: str) -> bool:
        return name in self._loaded

    @property
    def state(self) -> str:
        if self.wanted in self._loaded:
            return "ready"
        return next((problem.message for problem in self._failed.values()), ModelLoading().message)

    def load(self) -> bool:
        """Loads what is wanted, one at a time; False where that is done, or was tried in vain."""
        name = self.wanted
        with self._guard:
            if name in self._loaded or (
                name in self._failed and time.monotonic() < self._retry_at_s
            ):
                return False
            from recollect.embed.embedder import load

            try:
                self._loaded, self._failed = {name: load(name, self._key_file)}, {}
            except (ModelError, BadInput) as problem:
                self._wait_s = (
                    min(2 * self._wait_s, RETRY_S[1]) if name in self._failed else RETRY_S[0]
                )
                self._retry_at_s = time.monotonic() + self._wait_s
                self._failed = {name: problem}
            return name in self._loaded


class WarmApp(App):
    """Never loads the model itself, and uses it only once its own vectors are there."""

    model: Model
    warm = False
    fills_vectors = (
        False  # a job does, on connections of its own, while nobody waits for this one's lock
    )
    paths: dict[Scope, Path]

    def store_path(self, scope: Scope) -> Path | None:
        """Looked up once per request: a prompt asks for it 25 times, and each look reads a folder."""
        if scope not in self.paths and (found := super().store_path(scope)):
            self.paths[scope] = found
        return self.paths.get(scope)

    @property
    def embedder(self) -> Embedder:
        found = self.model.embedder(self.settings.text(_MODEL))
        if not self.warm:
            raise ModelLoading
        return found

    def load_vectors(self) -> None:
        """Raises as the model and the stores do."""
        embedder = self.model.embedder(self.settings.text(_MODEL))
        for _, store in self.scopes():
            store.load_vectors(embedder.id)
        self.warm = True


class _OpenApp:
    def __init__(self, app: WarmApp) -> None:
        self.app = app
        self.lock = threading.Lock()
        self.environ: Mapping[str, str] = {}  # of the session that used it last
        self.settings: Settings | None = None  # as loaded, before our own changes to them
        self.files: tuple[object, ...] = ()
        self.used_s = time.monotonic()
        self.was_served = False  # its stores could be used at least once
        self.dropped = False  # closed by the last thread that has it


class Apps:
    def __init__(
        self, home: Home, user_home: Path, clock: Clock, model: Model, *, max_apps: int = MAX_APPS
    ) -> None:
        self._home = home
        self._user_home = user_home
        self._clock = clock
        self._model = model
        self._max_apps = max_apps
        # By what its tree shows, and its root; the one used last stands last.
        self._open: dict[tuple[str, str], _OpenApp] = {}
        self._guard = threading.Lock()
        self.was_overtaken = False  # a newer Recollect wrote a store that this process had in use

    @contextmanager
    def app(self, project_folder: str, cwd: str, environ: Mapping[str, str]) -> Iterator[App]:
        """The App of a project, for one thread. StoreBusy where others have it for too long."""
        entry = self._entry(self._project(project_folder or cwd))
        if not entry.lock.acquire(timeout=LOCK_WAIT_S):
            hint = "Nothing was done. Try again in a moment."
            raise StoreBusy("The daemon is busy: too many requests at once.", hint=hint)
        with self._taken(entry, environ) as app:
            yield app

    @contextmanager
    def app_for_hook(
        self, project_folder: str, cwd: str, environ: Mapping[str, str]
    ) -> Iterator[App]:
        """The same, for one that cannot wait: while what came before is still being written it gets an App of its own,
        which answers by words alone and may not see yet what is being written."""
        project = self._project(project_folder or cwd)
        entry = self._entry(project)
        if entry.lock.acquire(timeout=HOOK_LOCK_WAIT_S):
            with self._taken(entry, environ) as app:
                yield app
            return
        settings = self._settings(project, environ)
        app = self._new_app(project, _as_hooks_need(settings))
        app.skips_busy_stores = True
        try:
            yield app
        finally:
            app.close()

    @contextmanager
    def _taken(self, entry: _OpenApp, environ: Mapping[str, str]) -> Iterator[App]:
        """The App of an entry whose lock this thread has; the lock is free afterwards."""
        try:
            self._refresh(entry, environ)
            yield entry.app
            entry.was_served = True
        except StoreBusy:
            raise
        except (StoreError, OSError) as problem:
            if isinstance(problem, StoreTooNew) and entry.was_served:
                self.was_overtaken = True
            self._drop(entry)
            raise
        finally:
            # Again: jobs wait until nobody has used it for a while, and on a busy machine a use takes long.
            entry.used_s = time.monotonic()
            self._file_anew(entry)
            entry.lock.release()
            _close_if_dropped(entry)

    @contextmanager
    def own(self, project_folder: str, cwd: str, environ: Mapping[str, str]) -> Iterator[App]:
        """An App that nobody else uses, for requests that take long: no hook waits for it."""
        project = self._project(project_folder or cwd)
        settings = self._settings(project, environ)
        app = self._new_app(project, settings, warm=self._model.is_ready(settings.text(_MODEL)))
        try:
            yield app
        finally:
            app.close()

    def open_roots(self) -> dict[str, float]:
        found = {root: entry.used_s for (_, root), entry in self._entries()}
        return found | {NO_PROJECT: found.get(NO_PROJECT, float("-inf"))}

    def known_roots(self) -> list[str]:
        return [
            NO_PROJECT,
            *(one.root for one in projects.known(self._home.projects) if one.exists),
        ]

    def background_app(self, root: str) -> WarmApp:
        entry = next((entry for key, entry in reversed(self._entries()) if key[1] == root), None)
        if entry is not None:
            project, environ = entry.app.project, entry.environ
        else:
            project, environ = None if root == NO_PROJECT else self._project(root), {}
        settings = self._settings(project, environ)
        # The model that the home's settings name now: a project that nobody used since may still have another, and the
        # two would take turns in loading theirs and in removing each other's vectors.
        settings = settings.with_value(_MODEL, self._settings(None, {}).text(_MODEL))
        return self._new_app(project, settings, warm=self._model.is_ready(settings.text(_MODEL)))

    def warm_one(self) -> bool:
        """Gives one cold App its vectors; False where none is left, or none can be."""
        for _, entry in self._entries():
            if entry.app.warm or not self._model.is_ready(entry.app.settings.text(_MODEL)):
                continue
            fresh = self._new_app(entry.app.project, entry.app.settings)
            try:
                fresh.load_vectors()
            except (RecollectError, OSError):
                fresh.close()
                continue
            with entry.lock:
                entry.app, cold = fresh, entry.app
                fresh.project = cold.project
            cold.close()
            _close_if_dropped(entry)
            return True
        return False

    def close_unused(self, unused_s: float = 900.0) -> None:
        before_s = time.monotonic() - unused_s
        for _, entry in self._entries():
            if entry.used_s <= before_s:
                self._drop(entry)

    def close(self) -> None:
        self.close_unused(0)

    def names(self) -> list[tuple[str, bool]]:
        """Each open project and whether it is warm."""
        apps = (entry.app for _, entry in self._entries())
        return [(app.project.name if app.project else "", app.warm) for app in apps]

    def _settings(self, project: Project | None, environ: Mapping[str, str]) -> Settings:
        conf = project.conf if project else None
        ours = tuple(
            (name, value) for name, value in sorted(environ.items()) if name.startswith(PREFIX)
        )
        return _load_settings(self._home.conf, conf, (stamp(self._home.conf), stamp(conf)), ours)

    def _project(self, folder: str) -> Project | None:
        """None for a folder that is gone and has no memory: nothing is made for it."""
        found = projects.locate(self._home.projects, Path(folder or NO_PROJECT), self._user_home)
        is_kept = found and (
            found.root.is_dir() or projects.store_folder(self._home.projects, found)
        )
        return found if is_kept else None

    def _entries(self) -> list[tuple[tuple[str, str], _OpenApp]]:
        with self._guard:
            return list(self._open.items())

    def _entry(self, project: Project | None) -> _OpenApp:
        key = _key_of(project)
        with self._guard:
            entry = self._open.pop(key, None) or _OpenApp(
                self._new_app(project, load(None, None, {}))
            )
            entry.used_s = time.monotonic()
            self._open[key] = entry
            surplus = list(self._open.values())[: -self._max_apps]
        for old in surplus:
            self._drop(old)
        return entry

    def _file_anew(self, entry: _OpenApp) -> None:
        """With its first write a project gets an id. Under what it showed before, another may come to the same path."""
        key = _key_of(entry.app.project)
        with self._guard:
            if self._open.get(key) is entry:
                return
            others = {known: one for known, one in self._open.items() if one is not entry}
            is_open = len(others) < len(self._open)
            self._open = others
            if is_open and key not in others:
                self._open[key] = entry
                return
        entry.dropped = True

    def _drop(self, entry: _OpenApp) -> None:
        """Closed now, or by the thread that has it."""
        with self._guard:
            self._open = {key: one for key, one in self._open.items() if one is not entry}
        entry.dropped = True
        _close_if_dropped(entry)

    def _new_app(
        self, project: Project | None, settings: Settings, *, warm: bool = False
    ) -> WarmApp:
        app = WarmApp(
            home=self._home, project=project, settings=settings, clock=self._clock, actor="agent"
        )
        app.model, app.warm, app.paths = self._model, warm, {}
        return app

    def _refresh(self, entry: _OpenApp, environ: Mapping[str, str]) -> None:
        app = entry.app
        app.notes()  # notes of an earlier request are not for this one
        app.paths = {}
        stamps = [stamp(app.store_path(scope)) or (0, 0, 0, 0) for scope in Scope]
        files = tuple(found[2:] for found in stamps)  # what changes when a file is replaced
        if any(
            before not in ((0, 0), now) for before, now in zip(entry.files, files, strict=False)
        ):
            app.close()
            entry.app = app = self._new_app(app.project, app.settings)
        entry.files = files
        entry.environ = environ
        settings = self._settings(app.project, environ)
        if settings is not entry.settings:
            before = app.settings.text(_MODEL)
            app.settings = _as_hooks_need(settings)
            app.warm = app.warm and before == app.settings.text(_MODEL)
            entry.settings = settings
            self._model.wanted = app.settings.text(_MODEL)
        is_small = sum(size for _, size, _, _ in stamps) <= WARMED_AT_ONCE_BYTES
        if not app.warm and is_small and self._model.is_ready(app.settings.text(_MODEL)):
            with suppress(ModelError, BadInput):
                app.load_vectors()


def _key_of(project: Project | None) -> tuple[str, str]:
    if project is None:
        return "", NO_PROJECT
    kind = "repository" if project.common_dir else "folder"
    return f"{kind} {project.key} {project.mark}", str(project.root)


def _as_hooks_need(settings: Settings) -> Settings:
    return settings.with_value(_BUSY, str(min(BUSY_TIMEOUT_MS, settings.count(_BUSY))))


def _close_if_dropped(entry: _OpenApp) -> None:
    """Called with the lock free: by the thread that dropped it, and by the one that had it then. One gets the lock."""
    if entry.dropped and entry.lock.acquire(blocking=False):
        try:
            with suppress(RecollectError):
                entry.app.close()
        finally:
            entry.lock.release()


@lru_cache(maxsize=64)
def _load_settings(
    home_conf: Path,
    conf: Path | None,
    _stamps: tuple[Stamp | None, ...],
    environ: tuple[tuple[str, str], ...],
) -> Settings:
    """Loaded again only when a file changed: a daemon at rest looks at its vaults twice a second."""
    return load(home_conf, conf, dict(environ), hook=True)
