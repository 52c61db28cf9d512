"""Starts the daemon where there is none, once, however many ask at the same moment.

Who gets the spawn lock starts it; nobody waits for a lock. The daemon inherits the locked descriptor and so holds
it until it ends: from the first instant of its start no second one is begun, and one that dies frees the way. The
lifetime lock, which a daemon takes itself, decides in the end; it is looked at first, to start nothing in vain.

The daemon is nobody's child (reparented, so no zombie), in a session of its own, with its descriptors on
/dev/null, `/` as its folder, and of the environment only what is listed here: no key of the agent's, and none of
the settings of the session that happened to come first.
"""

import os
import sys
import time

from recollect.wire.place import Place, is_private
from recollect.wire.transport import connect

if sys.platform != "win32":
    import fcntl

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable

RETRY_S = 0.004
# A daemon that cannot start must not be started by every hook.
MOST_FAILURES = 3
REST_S = 60.0
LOCK_FD = 3

# What became of an attempt to start one.
BEGUN = 1
UNDER_WAY = 2
"""Another process is at it, or a daemon lives and does not answer yet."""
IN_VAIN = 3
"""It cannot be started from here, or failed too often lately."""

_KEPT = frozenset(
    "DBUS_SESSION_BUS_ADDRESS HOME LANG LOGNAME PATH SHELL TMPDIR TZ USER XDG_RUNTIME_DIR".split()
)  # the first for notices on a desktop
_KEPT_PREFIXES = ("LC_", "RECOLLECT_TRANSPORT")
# The package comes from the folder that was installed, everything else from where this Python finds it: -I leaves
# out the folder of the script and what the environment adds, not site-packages. A hook waits, and what is loaded now
# is never thrown away: the daemon lets its garbage be collected once it has answered.
_LAUNCH = (
    "import gc; gc.disable(); import sys; sys.path.insert(0, sys.argv.pop(1)); import recollect; del sys.path[0]; "
    "import recollect.daemon.__main__"
)


def ensure_daemon(place: Place, python: str, package: str, until: float) -> bool:
    """Whether a daemon can be spoken to by `until`, on time.monotonic()."""
    line = reach(place, python, package, until)
    if line is None:
        return False
    line.close()
    return True


def reach(
    place: Place, python: str, package: str, until: float, meanwhile: "Callable[[], float] | None" = None
) -> "_socket.socket | None":
    """A line to the daemon, which is started if need be; None where it does not answer by `until`. `meanwhile` is
    done once while it starts, and says until when it can be waited for then."""
    began = UNDER_WAY
    while (left_s := until - time.monotonic()) > 0:
        try:
            return connect(place, left_s)
        except (FileNotFoundError, ConnectionRefusedError):
            pass
        except OSError:
            return None
        if began == BEGUN and not _is_under_way(place):
            return None  # it is dead already
        if began == UNDER_WAY:
            began = start(place, python, package)
            if meanwhile is not None and began != IN_VAIN:
                try:
                    until = meanwhile()
                except OSError:
                    pass
                meanwhile = None
        if began == IN_VAIN:
            return None
        time.sleep(min(RETRY_S, left_s))
    return None


def start(place: Place, python: str, package: str) -> int:
    """Begin to start a daemon, if nobody else is at it and none is alive; it may take a while to answer, or die."""
    if sys.platform == "win32" or not _is_ours(place.home):
        return IN_VAIN
    try:
        lock = os.open(place.spawn_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return IN_VAIN
    try:
        if not _locked(lock, fcntl.LOCK_EX) or _is_held(place.lock):
            return UNDER_WAY
        if not _may_try(lock):
            return IN_VAIN
        _spawn(place, python, package, lock)
        return BEGUN
    except OSError:  # no more processes
        return IN_VAIN
    finally:
        os.close(lock)


def follow(place: Place) -> Place:
    """The same home where its last daemon listened: processes can disagree about the runtime folder."""
    try:
        with open(place.pointer, "rb") as file:
            said = file.read(8192)
        if place.socket.encode("utf-8", "surrogateescape") in said:
            return place
        import json

        runtime = os.path.dirname(json.loads(said)["socket"])
        if is_private(runtime):
            return Place(place.home, runtime, tcp=place.tcp)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return place


def point(place: Place, pid: int, version: str, protocol: int) -> None:
    """Say in the home where this daemon listens. For the daemon, which holds the lifetime lock."""
    import json

    spare = f"{place.pointer}.{pid}"
    said = json.dumps(
        {"socket": place.socket, "pid": pid, "version": version, "protocol": protocol}, ensure_ascii=False
    )
    fd = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(said)
    os.replace(spare, place.pointer)


def _is_ours(home: str) -> bool:
    try:
        return os.path.isdir(home) and os.stat(home).st_uid == os.geteuid()
    except OSError:
        return False


def _locked(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_under_way(place: Place) -> bool:
    return _is_held(place.spawn_lock) or _is_held(place.lock)


def _is_held(path: str) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return not _locked(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


def _may_try(lock: int) -> bool:
    """Each start adds the second of the system's uptime to the lock's file; `listen` empties it."""
    now_s = time.monotonic()
    tries = [float(line) for line in os.pread(lock, 4096, 0).split() if line.replace(b".", b"").isdigit()]
    # Later than now: from before a reboot.
    recent = [at for at in tries if now_s - REST_S <= at <= now_s]
    if len(recent) >= MOST_FAILURES:
        return False
    said = b"".join(b"%.3f\n" % at for at in [*recent, now_s])
    try:
        os.pwrite(lock, said, 0)
        os.ftruncate(lock, len(said))
    except OSError:
        pass  # a full disk: what cannot be counted is tried all the same, and the hook goes on
    return True


def _spawn(place: Place, python: str, package: str, lock: int) -> None:
    environ = {"RECOLLECT_HOME": place.home, "RECOLLECT_RUNTIME": place.runtime}
    for name, value in os.environ.items():  # noqa: TID251 - only to leave most of it behind
        if name in _KEPT or name.startswith(_KEPT_PREFIXES):
            environ[name] = value
    child = os.fork()
    if child:
        try:
            os.waitpid(child, 0)
        except ChildProcessError:  # whoever started us ignores the end of children
            pass
        return
    try:
        os.setsid()
        if os.fork() == 0:
            _become_daemon(lock)
            os.execve(python, [python, "-I", "-c", _LAUNCH, package], environ)  # noqa: S606 - no shell is the point
    finally:
        os._exit(0)


def _become_daemon(lock: int) -> None:
    import signal

    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.dup2(lock, LOCK_FD)
    os.set_inheritable(LOCK_FD, True)
    os.closerange(LOCK_FD + 1, 4096)
    os.chdir("/")
    os.umask(0o077)
