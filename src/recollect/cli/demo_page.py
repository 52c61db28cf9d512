"""`recollect demo --ui`: the page on sample data, in a scratch home. Its server ends with this process, however that
ends, and the folder goes; one that a killed process left goes at the next start."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from recollect.base.errors import RecollectError
from recollect.base.moment import Moment
from recollect.base.settings import environment
from recollect.base.signals import ended_by_signals, interrupt
from recollect.cli.extras import announce_page
from recollect.cli.sample_week import play_week
from recollect.cli.stage import SCRATCH
from recollect.web.entrance import Invitation, find_file
from recollect.wire import lockfile
from recollect.wire.place import is_private

_PASSED = ("PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LANG")
_PROGRAM = (sys.executable, "-m", "recollect")
_LOCK = "demo.lock"  # held as long as somebody uses the folder
_END_S = 10.0
_LOOK_S = 0.2


def show_page(now: Moment) -> None:
    """Until it is interrupted."""
    with ended_by_signals(interrupt):
        _remove_stale()
        with _scratch_folder() as scratch:
            _serve(scratch, play_week(scratch, now))


def _serve(scratch: Path, project: Path) -> None:
    environ = _environ(scratch)
    page = subprocess.Popen(
        [*_PROGRAM, "ui", "--no-browser", "--until-input-ends"],
        cwd=project,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        with suppress(KeyboardInterrupt):
            # Here, not in the scratch home, where the person's own browser would not know itself.
            invitation = _read_invitation(page, Path(environ["RECOLLECT_RUNTIME"]))
            _announce_and_wait(page, invitation)
    finally:
        _end(page)
        stop = [*_PROGRAM, "daemon", "stop"]
        subprocess.run(stop, cwd=project, env=environ, capture_output=True)


def _read_invitation(page: subprocess.Popen[str], runtime: Path) -> Invitation:
    lines = [page.stdout.readline().strip() for _ in range(2)] if page.stdout else ["", ""]
    address, code = lines[0], lines[1].removeprefix("Code: ")
    port = urlsplit(address).port
    if not port:
        raise RecollectError("The page did not start.", hint="`recollect ui` may say why.")
    return Invitation(address, code, find_file(runtime, port))


def _announce_and_wait(page: subprocess.Popen[str], invitation: Invitation) -> None:
    """Until the page ends or a signal asks for it. Looked for now and then: a KeyboardInterrupt is lost where it is
    raised while the interpreter cleans up after the thread that starts the browser."""
    signals: list[bool] = []
    with ended_by_signals(lambda: signals.append(True), ("SIGINT", "SIGTERM", "SIGHUP")):
        announce_page(invitation)
        while page.poll() is None and not signals:
            time.sleep(_LOOK_S)


def _end(page: subprocess.Popen[str]) -> None:
    """It ends with its input."""
    if page.stdin is not None:
        page.stdin.close()
    try:
        page.wait(_END_S)
    except subprocess.TimeoutExpired:
        page.kill()
        page.wait()


def _environ(scratch: Path) -> dict[str, str]:
    kept = {name: value for name, value in environment().items() if name in _PASSED}
    home = scratch / "home"
    return kept | {
        "HOME": str(scratch),
        "USERPROFILE": str(scratch),
        "RECOLLECT_HOME": str(home),
        "RECOLLECT_RUNTIME": str(home / "run"),  # so that nothing is left outside
    }


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=SCRATCH, ignore_cleanup_errors=True) as name:
        scratch = Path(name)
        lock = lockfile.acquire(str(scratch / _LOCK))
        try:
            yield scratch
        finally:
            if lock is not None:
                lockfile.release(lock)


def _remove_stale() -> None:
    """Folders of ours that nobody holds; with whatever still runs in them."""
    for scratch in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        lock = scratch / _LOCK
        if not _is_own(scratch) or not lock.exists() or lockfile.is_held(str(lock)):
            continue
        stop = [*_PROGRAM, "daemon", "stop"]
        subprocess.run(stop, cwd=scratch, env=_environ(scratch), capture_output=True)
        shutil.rmtree(scratch, ignore_errors=True)


def _is_own(folder: Path) -> bool:
    try:
        return is_private(str(folder))
    except OSError:
        return False
