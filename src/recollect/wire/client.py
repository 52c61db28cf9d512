"""The client's side of the daemon: asks it, starts it where there is none, and, at uninstall, removes its files.

Whoever gets the spawn lock starts it; nobody waits for a lock. The daemon inherits the locked descriptor and holds it
until it ends: from the first instant of its start no second one is begun, and one that dies frees the way. (On Windows
it cannot inherit a lock; there a start counts as under way for STARTING_S.) The lifetime lock, which a daemon takes
itself, decides in the end. The daemon is nobody's child (reparented, so no zombie), in a session of its own, with only
the environment variables listed here: none of the agent's keys or the first session's settings."""

import os
import sys
import time

from recollect.wire import lockfile
from recollect.wire.frame import PROTOCOL, RETIRING, BadFrame, encode_request, read_reply
from recollect.wire.place import Place, connect, follow, is_private, remove_socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Mapping

RETRY_S = 0.004
# One that dies by accident is replaced at once; one that cannot live must not be started by every hook.
STARTS_AT_ONCE = 3
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0
# A daemon that was started longer ago than this served well: what happens to it now is counted anew.
STEADY_S = 60.0
STARTING_S = 3.0
LOCK_FD = 3
RETIRE_WITHIN_S = 1.0

# What became of an attempt to start one.
BEGUN = 1
UNDER_WAY = 2  # another process is starting one, or a daemon lives and does not answer yet
IN_VAIN = 3  # it cannot be started from here, or not before a pause is over

# The first is for notices on a desktop.
_KEPT = frozenset(
    "DBUS_SESSION_BUS_ADDRESS HOME LANG LOGNAME PATH SHELL TMPDIR TZ USER XDG_RUNTIME_DIR".split()
)
if sys.platform == "win32":  # what sockets, temporary files and the home folder are found by
    _KEPT |= frozenset(
        "APPDATA LOCALAPPDATA SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE".split()
    )
# Of Windows. CREATE_NO_WINDOW, not DETACHED_PROCESS: a virtual environment's python.exe starts another one, which
# would open a window if it had no console to inherit. CREATE_NEW_PROCESS_GROUP: Ctrl-C is not meant for it.
_DETACHED = 0x08000000 | 0x00000200
_OUTSIDE_JOB = (
    0x01000000  # CREATE_BREAKAWAY_FROM_JOB: the processes of an agent's job end with the agent
)
# The package comes from the folder that was installed, everything else from where this Python finds it (-I). A hook
# waits, and what is loaded now is never thrown away: the daemon lets its garbage be collected once it has answered.
_LAUNCH = (
    "import gc; gc.disable(); import sys; sys.path.insert(0, sys.argv.pop(1)); import recollect; del sys.path[0]; "
    "from recollect.daemon.startup import main; main()"
)


class Unanswered(Exception):
    """There is no daemon, it is not ours, or it did not answer in time."""


def ask(
    place: Place, header: "Mapping[str, str]", body: bytes, timeout_s: float
) -> tuple[str, bytes]:
    """The reply's kind and body. Starts no daemon."""
    until = time.monotonic() + timeout_s
    try:
        try:
            line = connect(place, timeout_s)
        except (FileNotFoundError, ConnectionRefusedError):
            if (elsewhere := follow(place)) is place:
                raise
            line = connect(elsewhere, timeout_s)

        def receive(most: int) -> bytes:
            line.settimeout(max(until - time.monotonic(), 0.001))
            return line.recv(most)

        try:
            line.sendall(
                encode_request({"protocol": str(PROTOCOL), "home": place.home, **header}, body)
            )
            return read_reply(receive)
        finally:
            line.close()
    except (OSError, BadFrame) as problem:
        raise Unanswered(str(problem)) from problem


def remove_runtime(place: Place, until: float) -> bool:
    """Remove what daemons and hooks of a home made for each other, and only that; False where a daemon still lives at
    `until`. Both locks are held meanwhile: a daemon that starts just then finds its lock file gone, and makes one."""
    import shutil
    from contextlib import suppress

    held: list[int] = []
    try:
        with suppress(OSError):  # a home that can hold no lock has no daemon
            for path in (place.spawn_lock, place.lock):
                while (fd := lockfile.acquire(path)) is None:
                    if time.monotonic() >= until:
                        return False
                    time.sleep(0.02)
                held.append(fd)
        with suppress(OSError):
            if is_private(place.runtime):
                for folder in (place.spool, place.recalls):
                    shutil.rmtree(folder, ignore_errors=True)
                remove_socket(place)
                os.rmdir(place.runtime)
        while held and sys.platform == "win32":  # where no file can be removed while it is open
            lockfile.release(held.pop())
        for path in (place.daemon_file, place.spawn_lock, place.lock):
            with suppress(OSError):
                os.unlink(path)
        return True
    finally:
        for fd in held:
            lockfile.release(fd)


def ensure_daemon(place: Place, python: str, package: str, until: float) -> bool:
    """Whether a daemon can be spoken to by `until`, on time.monotonic(). The home must exist."""
    if line := reach(follow(place), python, package, until):
        line.close()
    return line is not None


def reach(place: Place, python: str, package: str, until: float) -> "_socket.socket | None":
    """A line to the daemon, which is started if need be; None where it does not answer by `until`."""
    began = UNDER_WAY
    while (left_s := until - time.monotonic()) > 0:
        try:
            return connect(place, left_s)
        except (FileNotFoundError, ConnectionRefusedError):
            pass
        except OSError:
            return None
        if began == BEGUN:
            is_starting = (
                lockfile.is_held(place.spawn_lock)
                if lockfile.INHERITED
                else read_starts(place).is_recent
            )
            # The lifetime lock is checked last: checking takes it for an instant, when a daemon may want it.
            began = (
                BEGUN if is_starting or lockfile.is_held(place.lock) else IN_VAIN
            )  # it is dead already
        if began == UNDER_WAY:
            began = start(place, python, package)
        if began == IN_VAIN:
            return None
        time.sleep(min(RETRY_S, left_s))
    return None


def start(place: Place, python: str, package: str) -> int:
    """Begin to start a daemon, unless another process does or one is alive; it may take a while to answer, or die."""
    try:
        if sys.platform != "win32" and os.stat(place.home).st_uid != os.geteuid():
            return IN_VAIN
        lock = lockfile.acquire(place.spawn_lock)
    except OSError:
        return IN_VAIN
    if lock is None:
        return UNDER_WAY
    try:
        starts = read_starts(place)
        if lockfile.is_held(place.lock) or (not lockfile.INHERITED and starts.is_recent):
            return UNDER_WAY
        if starts.pause_s > 0:
            return IN_VAIN
        _write_starts(place, Starts(starts.count + 1, 0.0))
        environ = _environ_of_daemon(place)
        command = [python, "-I", "-c", _LAUNCH, package]
        if sys.platform == "win32" or not lockfile.INHERITED:
            _create_process(command, environ)
        else:
            _fork(command, environ, lock)
        return BEGUN
    except OSError:  # no more processes
        return IN_VAIN
    finally:
        lockfile.release(lock)


def _environ_of_daemon(place: Place) -> dict[str, str]:
    """It listens where its starter waits."""
    # glibc would keep a pool of memory per thread: 20 to 50 MB more.
    environ = {
        "RECOLLECT_HOME": place.home,
        "RECOLLECT_RUNTIME": place.runtime,
        "MALLOC_ARENA_MAX": "2",
    }
    if place.tcp:
        environ["RECOLLECT_TRANSPORT"] = "tcp"
    for name, value in os.environ.items():  # noqa: TID251 - only to leave most of it behind
        if name in _KEPT or name.startswith("LC_"):
            environ[name] = value
    return environ


def announce(place: Place, pid: int, version: str) -> None:
    """Say in the home where this daemon listens (`follow`). For the daemon, which holds the lifetime lock."""
    import json

    spare = f"{place.daemon_file}.{pid}"
    content = {"socket": place.entry, "pid": pid, "version": version, "protocol": PROTOCOL}
    fd = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with open(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
        json.dump(content, file, ensure_ascii=False)
    os.replace(spare, place.daemon_file)


def is_newer(version: str, *, than: str) -> bool:
    """`0.10.0` is newer than `0.9.1`, and `0.9.1` than `0.9.1rc2`; what cannot be read is the oldest."""
    return _version_key(version) > _version_key(than)


def _version_key(version: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if digits:
            numbers.append(int(digits))
        if digits != part:  # what comes before a release
            return (*numbers, -1) if numbers else ()
    return (*numbers, 0)


def retire_older(place: Place, version: str) -> bool:
    """Ask a daemon of an older version to make way, for a program that has just brought a store up to date. Whether it
    was asked. The next hook starts the one that is installed."""
    import json

    try:
        with open(place.daemon_file, encoding="utf-8", errors="surrogateescape") as file:
            announced = json.load(file)
        running = str(announced["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if not is_newer(version, than=running):
        return False
    try:
        kind, _ = ask(place, {"op": "ask", "version": version}, b"", RETIRE_WITHIN_S)
    except Unanswered:
        return False
    return kind == RETIRING


class Starts:
    """How many were started in a row, each within STEADY_S of the one before; when the last was, and why it failed. The
    spawn lock's file says so."""

    def __init__(self, count: int = 0, age_s: float = STEADY_S, why: str = "") -> None:
        self.count = count
        self.age_s = age_s
        self.why = why
        self.is_recent = age_s < STARTING_S
        # How long until the next may be started.
        longest_s = min(FIRST_PAUSE_S * 2.0 ** min(count - STARTS_AT_ONCE, 16), LONGEST_PAUSE_S)
        self.pause_s = max(longest_s - age_s, 0.0) if count >= STARTS_AT_ONCE else 0.0


def read_starts(place: Place) -> Starts:
    """None where the last is STEADY_S ago, or, by the system's uptime, later than now: then there was a reboot."""
    try:
        with open(lockfile.open_existing(place.spawn_lock), "rb") as file:
            head, _, why = file.read(4096).partition(b"\n")
        count, last_s = head.split()
        age_s = time.monotonic() - float(last_s)
        starts = Starts(int(count), age_s) if 0 <= age_s < STEADY_S else Starts()
        starts.why = why.decode("utf-8", "replace")
        return starts
    except (OSError, ValueError):
        return Starts()


def _write_starts(place: Place, starts: Starts) -> None:
    """Where there is no file, nothing was counted. On a full disk, what cannot be counted is tried all the same."""
    content = f"{starts.count} {time.monotonic() - starts.age_s}\n{starts.why}".encode(
        "utf-8", "replace"
    )[:4096]
    try:
        with open(lockfile.open_existing(place.spawn_lock, os.O_RDWR), "r+b", buffering=0) as file:
            file.truncate(file.write(content))
    except OSError:
        pass


def forget_starts(place: Place) -> None:
    """The next start is the first: a person asked for it, or the last daemon ended in good order."""
    _write_starts(place, Starts())


def keep_failure(place: Place, why: str) -> None:
    """For a daemon that cannot go on: what to tell a person who asks why there is none."""
    starts = read_starts(place)
    _write_starts(place, Starts(starts.count, starts.age_s, why))


def explain_starts(place: Place) -> str:
    """For a person: that restarts are slowed down, and why the last daemon failed; usually empty."""
    starts = read_starts(place)
    parts = []
    if starts.count >= STARTS_AT_ONCE:
        parts.append(
            f"restarts are slowed down: {starts.count} in a row, each within {STEADY_S:.0f} s of the last one"
        )
    if starts.pause_s:
        parts.append(f"hooks start none for another {starts.pause_s:.0f} s")
    if starts.why:
        parts.append(f"the last one said: {starts.why}")
    return "; ".join(parts)


def _create_process(command: list[str], environ: dict[str, str]) -> None:
    """The way of Windows. Its handles are not inherited, and it does not end with the process that began it."""
    from subprocess import DEVNULL, Popen

    for flags in (_DETACHED | _OUTSIDE_JOB, _DETACHED):
        try:
            made = Popen(
                command,
                env=environ,
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=DEVNULL,
                creationflags=flags,
            )
        except PermissionError:  # the agent's job holds what is started in it
            continue
        made.returncode = 0  # nobody waits for it, and nobody has to be warned of that
        return
    raise PermissionError(command[0])


if sys.platform != "win32":

    def _fork(command: list[str], environ: dict[str, str], lock: int) -> None:
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
                import _signal  # type: ignore[import-not-found]  # `signal` takes 6 ms

                _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
                null = os.open("/dev/null", os.O_RDWR)
                for fd in (0, 1, 2):
                    os.dup2(null, fd)
                os.dup2(lock, LOCK_FD)
                os.set_inheritable(LOCK_FD, True)
                os.closerange(LOCK_FD + 1, 4096)
                os.chdir("/")
                os.umask(0o077)
                os.execve(command[0], command, environ)  # noqa: S606 - no shell is the point
        finally:
            os._exit(0)
