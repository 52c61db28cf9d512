"""What can be wrong around a hook: one row per fault, each tried in a home of its own (hook_trials.py)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from bench import disk_faults, process_faults
from bench.fault import Arrange, Call, Fault, plain, prompt
from bench.house import PROMPT, House, payload
from recollect.wire import stub

_NEWER = "99.0.0"
_LONGEST_BEFORE_KILL_S = 0.12
_WRITE_NEWER = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from recollect.wire import stub; stub.write_hook(*sys.argv[2:])"
)


# What the agent sends


def _sends(body: Callable[[House, int], bytes], event: str = PROMPT) -> Arrange:
    @contextmanager
    def arranged(house: House) -> Iterator[Call]:
        house.start()
        yield Call(lambda number: body(house, number), event)

    return arranged


def _odd_fields(house: House, number: int) -> bytes:
    return prompt(
        house, number, cwd=7, prompt_id=None, unheard_of={"of": [1, None]}, permission_mode=[]
    )


def _megabyte(house: House, number: int) -> bytes:
    return prompt(house, number, prompt="release notes " * 75_000)


def _unknown(house: House, number: int) -> bytes:
    return payload(house, "NoSuchEvent", f"fault-{number}", number)


# The daemon


@contextmanager
def _killed_meanwhile(house: House) -> Iterator[Call]:
    chance = random.Random(1)
    timers: list[threading.Timer] = []

    def before(_number: int) -> None:
        for timer in timers:
            timer.join()
        pids = house.daemons()
        timers[:] = [threading.Timer(chance.uniform(0, _LONGEST_BEFORE_KILL_S), _kill, (pids,))]
        timers[0].start()

    house.start()
    yield replace(plain(house), before=before)
    for timer in timers:
        timer.join()


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def _stopped(house: House) -> Iterator[Call]:
    pid = house.start()
    os.kill(pid, signal.SIGSTOP)
    try:
        yield plain(house)
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def _stale_socket(house: House) -> Iterator[Call]:
    house.start()
    yield replace(plain(house), before=lambda _: house.kill())


@contextmanager
def _socket_missing(house: House) -> Iterator[Call]:
    house.start()
    yield replace(plain(house), before=lambda _: Path(house.place.socket).unlink(missing_ok=True))


@contextmanager
def _runtime_not_ours(house: House) -> Iterator[Call]:
    """To a hook, a folder that others can enter is as good as another user's."""
    house.start()
    runtime = Path(house.place.runtime)
    runtime.chmod(0o777)
    try:
        yield plain(house)
    finally:
        runtime.chmod(0o700)


# The settings, the environment


def _configured(text: bytes) -> Arrange:
    @contextmanager
    def arranged(house: House) -> Iterator[Call]:
        house.home.conf.write_bytes(text)
        yield plain(house)

    return arranged


def _with_environ(**changed: str | None) -> Arrange:
    @contextmanager
    def arranged(house: House) -> Iterator[Call]:
        environ = {name: value for name, value in house.environ.items() if name not in changed}
        given = {name: value for name, value in changed.items() if value is not None}
        yield replace(plain(house), environ=environ | given)

    return arranged


@contextmanager
def _folder_deleted(house: House) -> Iterator[Call]:
    """The shell that starts the hook stands in it when it goes."""
    gone = Path(house.root, "gone")
    yield Call(
        lambda number: prompt(house, number, cwd=str(gone)),
        environ={**house.environ, "CLAUDE_PROJECT_DIR": str(gone)},
        cwd=str(gone),
        shell_line='rmdir "$PWD"; exec "$@"',
        before=lambda _: gone.mkdir(exist_ok=True),
    )


def _by_shell(what: str) -> Arrange:
    @contextmanager
    def arranged(house: House) -> Iterator[Call]:
        house.start()
        yield replace(plain(house), shell_line=what)

    return arranged


# The installation


def _installed(python: str = sys.executable, package: str = stub.PACKAGE) -> Arrange:
    @contextmanager
    def arranged(house: House) -> Iterator[Call]:
        stub.write_hook(str(house.home.root), python, package)
        yield plain(house)

    return arranged


@contextmanager
def _code_missing(house: House) -> Iterator[Call]:
    Path(stub.code_path(str(house.home.root))).unlink()
    yield plain(house)


@contextmanager
def _newer_hook(house: House) -> Iterator[Call]:
    """After an upgrade: the daemon of before still runs, and has to go."""
    newer = _newer_package(house)

    def before(_number: int) -> None:
        house.stop()
        stub.write_hook(str(house.home.root), sys.executable)
        house.start()
        _install_newer(house, newer)

    yield replace(plain(house), before=before)


@contextmanager
def _older_hook(house: House) -> Iterator[Call]:
    """An agent that still calls the old script, while the new daemon runs."""
    newer = _newer_package(house)
    _install_newer(house, newer)
    house.start()
    yield replace(
        plain(house), before=lambda _: stub.write_hook(str(house.home.root), sys.executable)
    )


def _newer_package(house: House) -> Path:
    """This package again, under a later version; its rooms are links to the real ones."""
    made = Path(house.root, "newer", "recollect")
    made.mkdir(parents=True)
    for entry in Path(stub.PACKAGE, "recollect").iterdir():
        if entry.name not in ("__init__.py", "__pycache__"):
            (made / entry.name).symlink_to(entry)
    (made / "__init__.py").write_text(f'__version__ = "{_NEWER}"\n', encoding="utf-8")
    return made.parent


def _install_newer(house: House, package: Path) -> None:
    words = [str(package), str(house.home.root), sys.executable, str(package)]
    subprocess.run([sys.executable, "-I", "-c", _WRITE_NEWER, *words], check=True)


FAULTS = (
    Fault("payload not JSON", _sends(lambda *_: b'{"prompt": ')),
    Fault("payload not UTF-8", _sends(lambda *_: b'{"prompt": "\xff\xfe\x80"}')),
    Fault("payload empty", _sends(lambda *_: b"")),
    Fault("payload with odd fields", _sends(_odd_fields)),
    Fault("prompt of 1 MB", _sends(_megabyte)),
    Fault("event unknown", _sends(_unknown, "NoSuchEvent")),
    Fault("daemon killed meanwhile", _killed_meanwhile),
    Fault("daemon stopped", _stopped),
    Fault("hook killed while spooling", process_faults.spooler_killed),
    Fault("socket stale", _stale_socket),
    Fault("socket missing", _socket_missing),
    Fault("runtime folder not ours", _runtime_not_ours),
    Fault("socket another user's", process_faults.stranger_at_the_socket),
    Fault("locks unusable", disk_faults.locks_unusable),
    Fault("home replaced", disk_faults.home_replaced),
    Fault("home read-only", disk_faults.read_only),
    Fault("disk full", disk_faults.full),
    Fault("database locked", disk_faults.locked),
    Fault("database corrupt", disk_faults.corrupt),
    Fault("database no database", disk_faults.not_a_database),
    Fault("model missing", _configured(b"MEMORY_EMBEDDING_MODEL=/no/such/model\n")),
    Fault("settings broken", _configured(b"\xff\xfe = [\n\x00MEMORY_RECALL=perhaps\n=\n")),
    Fault("clock set back by years", process_faults.jumped(process_faults.YEARS_DAYS)),
    Fault("clock set forward by years", process_faults.jumped(-process_faults.YEARS_DAYS)),
    Fault("HOME unset", _with_environ(HOME=None)),
    Fault(
        "environment empty but for PATH",
        _with_environ(HOME=None, LANG=None, CLAUDE_PROJECT_DIR=None),
    ),
    Fault("project folder deleted", _folder_deleted),
    Fault("BLOCK_HOOK_AGENTS", _with_environ(BLOCK_HOOK_AGENTS="1")),
    Fault("newer hook, older daemon", _newer_hook),
    Fault("older hook, newer daemon", _older_hook),
    Fault("Python removed", _installed(python="/no/such/python")),
    Fault("package removed", _installed(package="/no/such/package")),
    Fault("hook's code removed", _code_missing),
    Fault("stdout closed", _by_shell('exec "$@" >&-')),
    Fault("stdin closed", _by_shell('exec "$@" <&-')),
    Fault("stdout full", _by_shell('exec "$@" >/dev/full')),
)
