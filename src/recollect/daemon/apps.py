"""What answers: an open App for each project that was lately spoken of, with a lock each, since an App is one
thread's at a time.

The settings are looked at each time an App is taken, so a changed `agent.conf` holds from the next hook on. An App
whose database was deleted or replaced underneath, or that met a damaged one, is opened anew. An App is *warm* once
its vectors are in memory; before that it answers with words alone. Large stores are warmed on connections of their
own and then take the place of the cold ones, so that no hook waits for it.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.base import project as projects
from recollect.base.clock import Clock
from recollect.base.errors import BadInput, ModelError, RecollectError, StoreBusy, StoreError
from recollect.base.paths import Home
from recollect.base.project import Project
from recollect.base.settings import PREFIX, Settings, load
from recollect.daemon.model import LOADING, Model
from recollect.model.result import Scope
from recollect.ops.app import App

if TYPE_CHECKING:
    from recollect.embed import Embedder

MOST_APPS = 8  # five to ten descriptors each, and the vectors
UNUSED_AFTER_S = 900.0
LOCK_WAIT_S = 1.0  # longer than any hook waits
# A hook that cannot write says so in time, and its pointer stays; a command can wait for another writer.
BUSY_TIMEOUT_MS = 60
PATIENT_TIMEOUT_MS = 15_000  # of background work that was paid for
WARMED_AT_ONCE_BYTES = 20_000_000  # a store so small is warmed by who asks first: some 10 ms

_MODEL = "MEMORY_EMBEDDING_MODEL"

Stamp = tuple[object, ...]


class WarmApp(App):
    """Never loads the model itself, and uses it only once its own vectors are there."""

    model: Model
    warm = False
    fills_on_the_way = False  # a chore does, on connections of its own, while nobody waits for this one's lock
    _paths: dict[Scope, Path]

    def store_path(self, scope: Scope) -> Path | None:
        """Looked up once a visit (`forget_paths`): a prompt asks for it 25 times, and each look reads a folder."""
        found = self._paths.get(scope) or super().store_path(scope)
        if found is not None:
            self._paths[scope] = found
        return found

    def forget_paths(self) -> None:
        self._paths = {}

    @property
    def embedder(self) -> Embedder:
        found = self.model.embedder(self.settings.text(_MODEL))
        if not self.warm:
            raise ModelError(LOADING, hint="It takes a moment.")
        return found

    def store_bytes(self) -> int:
        paths = (self.store_path(scope) for scope in Scope)
        return sum(path.stat().st_size for path in paths if path is not None and path.is_file())

    def load_vectors(self) -> None:
        """Raises as the model and the stores do."""
        embedder = self.model.embedder(self.settings.text(_MODEL))
        for _, store in self.scopes():
            store.nearest(embedder.id, bytes(4 * embedder.dim), 1, ())
        self.warm = True


class _Kept:
    def __init__(self, app: WarmApp, now_s: float) -> None:
        self.app = app
        self.lock = threading.Lock()
        self.settings_stamp: Stamp = ()
        self.files: Stamp = ()
        self.used_s = now_s
        self.filled_s = 0.0
        """When missing vectors were last looked for."""
        self.digested_s = 0.0
        """When what its sessions left was last read."""
        self.looked_s = float("-inf")
        """When it was last asked whether its threads are to be aged."""
        self.over = False
        """No longer among the kept: closed by whoever has it last."""


class Apps:
    def __init__(self, home: Home, user_home: Path, clock: Clock, model: Model, *, most: int = MOST_APPS) -> None:
        self._home = home
        self._user_home = user_home
        self._clock = clock
        self._model = model
        self._most = most
        self._kept: OrderedDict[Stamp, _Kept] = OrderedDict()
        self._guard = threading.Lock()
        self._named: tuple[Stamp | None, str] | None = None

    @contextmanager
    def app(self, project_folder: str, cwd: str, environ: Mapping[str, str]) -> Iterator[App]:
        """The App of a project, for one thread. StoreBusy where others have it for too long."""
        kept = self._keep(self._project(project_folder or cwd or "/"))
        if not kept.lock.acquire(timeout=LOCK_WAIT_S):
            raise StoreBusy("Too many ask at once.", hint="Nothing was done. Try again in a moment.")
        try:
            self._freshen(kept, environ)
            yield kept.app
        except StoreBusy:
            raise
        except (StoreError, OSError):
            self._drop(kept)
            raise
        finally:
            kept.lock.release()
            _close_if_over(kept)

    def _project(self, folder: str) -> projects.Project | None:
        """None for a folder that is gone and of which nothing was ever kept: nothing is made for it."""
        found = projects.find(Path(folder), self._user_home)
        if found is not None and not found.root.is_dir():
            return found if projects.store_folder(self._home.projects, found) else None
        return found

    @contextmanager
    def own(self, project_folder: str, cwd: str, environ: Mapping[str, str]) -> Iterator[App]:
        """An App that is nobody else's, for what takes long: no hook waits for it."""
        app = self.of(project_folder or cwd or "/", environ)
        self._lend_vectors(app.project, app)
        try:
            yield app
        finally:
            app.close()

    def _lend_vectors(self, project: Project | None, app: WarmApp) -> None:
        """What the kept App has in memory need not be read again."""
        with self._guard:
            kept = self._kept.get((project.key, project.root) if project else ())
        if kept is None or not kept.app.warm or not kept.lock.acquire(timeout=LOCK_WAIT_S):
            return
        try:
            if not kept.over:
                app.borrow_vectors(kept.app)
        finally:
            kept.lock.release()
            _close_if_over(kept)

    def each(self) -> Iterator[App]:
        """Those that are open, one after the other, each locked while it is looked at; busy ones are left out."""
        for kept in self._snapshot():
            if not kept.lock.acquire(timeout=LOCK_WAIT_S):
                continue
            try:
                if not kept.over:
                    yield kept.app
            finally:
                kept.lock.release()
                _close_if_over(kept)

    def warm_one(self) -> bool:
        """Gives one cold App its vectors; False where none is left, or none can be."""
        for kept in self._snapshot():
            if kept.app.warm or not self._model.ready(kept.app.settings.text(_MODEL)):
                continue
            fresh = self._made(kept.app.project, kept.app.settings)
            try:
                fresh.load_vectors()
            except (RecollectError, OSError):
                fresh.close()
                continue
            with kept.lock:
                kept.app, cold = fresh, kept.app
                fresh.project = cold.project
            cold.close()
            _close_if_over(kept)
            return True
        return False

    def background(self, every_s: float) -> App | None:
        """An App of its own for work that may take long, for one of the projects that it is due for. To be closed."""
        now_s = time.monotonic()
        for kept in self._snapshot():
            if kept.app.warm and now_s - kept.filled_s >= every_s:
                kept.filled_s = now_s
                return self._beside(kept)
        return None

    def told(self, quiet_s: float) -> App | None:
        """An App of its own for a project whose sessions said something that was not read yet, once they have been
        quiet for a moment. To be closed."""
        now_s = time.monotonic()
        for kept in self._snapshot():
            if kept.used_s > kept.digested_s and now_s - kept.used_s >= quiet_s:
                kept.digested_s = now_s
                return self._beside(kept)
        return None

    def of(self, folder: str, environ: Mapping[str, str] | None = None) -> WarmApp:
        """An App of its own for the project of a folder, or for none. To be closed."""
        project = self._project(folder)
        app = self._made(project, load(self._home.conf, project.conf if project else None, environ or {}, hook=True))
        app.warm = self._model.ready(app.settings.text(_MODEL))
        return app

    def roots_kept(self) -> list[str]:
        """Where the projects are that have a memory, and a folder that is in none."""
        return ["/", *(one.root for one in projects.known(self._home.projects) if one.exists)]

    def unlooked(self, every_s: float) -> App | None:
        """An App of its own for a project that was not looked at for so long. To be closed."""
        now_s = time.monotonic()
        for kept in self._snapshot():
            if now_s - kept.looked_s >= every_s:
                kept.looked_s = now_s
                return self._beside(kept)
        return None

    def thinkers(self) -> Iterator[App]:
        """An App of its own for each project where language models may be asked; one that can wait for other writers,
        since what it writes was paid for. To be closed."""
        for kept in self._snapshot():
            if kept.app.settings.switch("MEMORY_LLM"):
                app = self._beside(kept)
                app.settings = _waiting(app.settings, PATIENT_TIMEOUT_MS)
                yield app

    def _beside(self, kept: _Kept) -> App:
        name = self.embedding_model()
        app = self._made(kept.app.project, _with(kept.app.settings, _MODEL, name))
        app.warm = kept.app.warm and kept.app.settings.text(_MODEL) == name
        return app

    def embedding_model(self) -> str:
        """As the home's settings name it now. A project that nobody spoke of since may still hold another, and two
        that differ would take turns in loading theirs and in removing each other's vectors."""
        stamp = _version(self._home.conf)
        if self._named is None or self._named[0] != stamp:
            self._named = stamp, load(self._home.conf, None, {}).text(_MODEL)
        return self._named[1]

    def close_unused(self, unused_s: float = UNUSED_AFTER_S) -> None:
        before_s = time.monotonic() - unused_s
        for kept in self._snapshot():
            if kept.used_s <= before_s:
                self._drop(kept)
                _close_if_over(kept)

    def close(self) -> None:
        self.close_unused(0)

    def names(self) -> list[tuple[str, bool]]:
        """Each open project and whether it is warm."""
        return [(kept.app.project.name if kept.app.project else "", kept.app.warm) for kept in self._snapshot()]

    def roots(self) -> list[str]:
        """Of each open project."""
        return [str(kept.app.project.root) for kept in self._snapshot() if kept.app.project]

    def _snapshot(self) -> list[_Kept]:
        with self._guard:
            return list(self._kept.values())

    def _keep(self, project: Project | None) -> _Kept:
        key: Stamp = (project.key, project.root) if project else ()
        now_s = time.monotonic()
        with self._guard:
            kept = self._kept.get(key)
            if kept is None:
                kept = self._kept[key] = _Kept(self._made(project, load(None, None, {})), now_s)
            kept.used_s = now_s
            self._kept.move_to_end(key)
            over = [self._kept.popitem(last=False)[1] for _ in range(len(self._kept) - self._most)]
        for old in over:
            old.over = True
            _close_if_over(old)
        return kept

    def _drop(self, kept: _Kept) -> None:
        with self._guard:
            for key, other in self._kept.items():
                if other is kept:
                    del self._kept[key]
                    break
        kept.over = True

    def _made(self, project: Project | None, settings: Settings) -> WarmApp:
        app = WarmApp(home=self._home, project=project, settings=settings, clock=self._clock, actor="agent")
        app.model = self._model
        app.forget_paths()
        return app

    def _freshen(self, kept: _Kept, environ: Mapping[str, str]) -> None:
        app = kept.app
        app.notes()  # what an earlier one left is not this one's to tell
        app.forget_paths()
        files = tuple(_identity(app.store_path(scope)) for scope in Scope)
        if any(before not in (None, now) for before, now in zip(kept.files, files, strict=False)):
            app.close()
            kept.app = app = self._made(app.project, app.settings)
        kept.files = files
        conf = app.project.conf if app.project else None
        ours = tuple(sorted((name, value) for name, value in environ.items() if name.startswith(PREFIX)))
        stamp = (_version(self._home.conf), _version(conf), ours)
        if stamp != kept.settings_stamp:
            before = app.settings.text(_MODEL)
            app.settings = _hasty(load(self._home.conf, conf, environ, hook=True))
            app.warm = app.warm and before == app.settings.text(_MODEL)
            kept.settings_stamp = stamp
            self._model.wanted = app.settings.text(_MODEL)
        if not app.warm and self._model.ready(app.settings.text(_MODEL)):
            with suppress(ModelError, BadInput):
                if app.store_bytes() <= WARMED_AT_ONCE_BYTES:
                    app.load_vectors()


def _close_if_over(kept: _Kept) -> None:
    """Called with the lock free: by who put it out, and by who had it then. One of the two gets the lock."""
    if kept.over and kept.lock.acquire(blocking=False):
        try:
            with suppress(RecollectError):
                kept.app.close()
        finally:
            kept.lock.release()


def _hasty(settings: Settings) -> Settings:
    return _waiting(settings, min(BUSY_TIMEOUT_MS, settings.count("MEMORY_BUSY_TIMEOUT_MS")))


def _waiting(settings: Settings, timeout_ms: int) -> Settings:
    return _with(settings, "MEMORY_BUSY_TIMEOUT_MS", str(timeout_ms))


def _with(settings: Settings, name: str, value: str) -> Settings:
    return settings._replace(
        values=tuple(one._replace(value=value) if one.name == name else one for one in settings.values)
    )


def _version(path: Path | None) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path) if path is not None else None
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if found else None


def _identity(path: Path | None) -> tuple[int, int] | None:
    try:
        found = os.stat(path) if path is not None else None
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found else None
