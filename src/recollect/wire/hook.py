"""The hook process: passes one event to the daemon and prints what comes back.

Whatever happens it exits 0, prints a whole reply or nothing, writes nothing to stderr and is gone by its deadline:
a memory that fails must not cost the user a prompt. The payload is not read, only passed on. Where no daemon
answers in time, a pointer to the event is left for the next one (spool.py), never its text. Where one has to be
started first, the pointer is left while it starts, and taken back when it has answered.

Three clocks: the soft deadline ends the waiting and leaves RESERVE_S for the pointer; the hard one is an alarm that
ends the process in the midst of anything, a stdin that never ends and a stdout that nobody reads included. A hook that
was installed with `--patience-ms` sets both anew when the daemon says that it is worth waiting for; one that says
nothing is waited for no longer than ever.
"""

import sys
import time

try:
    import posix as system
except ImportError:  # Windows
    import os as system  # type: ignore[no-redef]

from recollect.wire.frame import (
    MAX_BODY_BYTES,
    MAX_HEADERS,
    OK,
    PROTOCOL,
    RETIRING,
    SHOWN,
    WAIT,
    BadFrame,
    CutFrame,
    encode_request,
    read_reply,
)
from recollect.wire.place import Place, find_place
from recollect.wire.transport import connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable
    from typing import TypeVar

    Given = TypeVar("Given")
    Got = TypeVar("Got")

# What a person can wait for before a prompt, and what the client gives a session's end (1.5 s). The rest only
# deliver, and nobody should notice them.
DEADLINES_MS = {
    "SessionStart": 500,
    "UserPromptSubmit": 300,
    "PreToolUse": 300,
    "SubagentStart": 300,
    "SessionEnd": 1000,
}
OTHER_DEADLINE_MS = 150
DEFAULT_HOST = "claude-code"
# To write and sync one small file on a busy machine; what that needs is loaded before, while waiting.
RESERVE_S = 0.08
# To print an answer and to end, where that is all that is left to do.
PRINT_S = 0.03
# A daemon that is well answers sooner; before half of the time is over, nothing is done but waiting.
PATIENCE_S = 0.1
# Where the machine is so busy that starting took the whole deadline: to pass the event on, or to leave a pointer. An
# event that is late is better than one that is lost.
LEAST_S = 0.12
# The alarm has to be heard and the process to end.
MARGIN_S = 0.01
# A pipe that nobody has read from yet takes this much at once, so a reply is never cut in two by the alarm.
MAX_REPLY_BYTES = 65_536
MAX_VALUE_CHARS = 4096
RETRY_S = 0.004

_PASSED_PREFIXES = ("MEMORY_", "RECOLLECT_")
_PASSED = frozenset(("BLOCK_HOOK_AGENTS", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT"))


def main(argv: list[str], *, home: str, package: str, version: str) -> None:
    """Never returns. `home` is the one that the stub stands in, `package` the folder that holds this package."""
    try:
        _run(argv, home, package, version)
    except BaseException:  # noqa: BLE001, S110 - the outermost edge; nothing may reach the user's prompt
        pass
    system._exit(0)


def _run(argv: list[str], home: str, package: str, version: str) -> None:
    environ = _environ()
    if environ.get("BLOCK_HOOK_AGENTS", "0") not in ("", "0"):
        return
    host, event, deadline_ms, patience_ms = _arguments(argv)
    hard = max(_began_s() + deadline_ms / 1000 - MARGIN_S, time.monotonic() + min(LEAST_S, deadline_ms / 1000))
    soft = hard - min(RESERVE_S, deadline_ms / 2500)
    _arm(hard)
    heard = _standard_streams()
    body = _read_stdin(soft)
    place = find_place(home, environ)
    header = {
        "protocol": str(PROTOCOL),
        "version": version,
        "op": "hook",
        "home": home,
        "host": host,
        "event": event,
        "deadline_ms": str(deadline_ms),
        "cwd": _cwd(),
    }
    if patience_ms:
        header["patience_ms"] = str(patience_ms)
    for name, value in environ.items():
        if (name.startswith(_PASSED_PREFIXES) or name in _PASSED) and len(value) <= MAX_VALUE_CHARS:
            header["env-" + name] = value
            if len(header) == MAX_HEADERS:
                break
    parcel = _Parcel(place, header, body or b"", soft, hard)
    if body is None or not _deliver(parcel, encode_request(header, body), package, heard):
        parcel.leave_pointer()
    else:
        parcel.take_pointer_back()


class _Parcel:
    """What is to be delivered, and how long that can be waited for."""

    __slots__ = ("_body", "_hard", "_header", "_pointer", "place", "soft")

    def __init__(self, place: Place, header: dict[str, str], body: bytes, soft: float, hard: float) -> None:
        self.place = place
        self.soft = soft
        self._header = header
        self._body = body
        self._hard = hard
        self._pointer = ""

    def wait(self, ms: int) -> None:
        """So much longer from now, and no longer than the agent lets us."""
        most_s = int(self._header.get("patience_ms", "0")) / 1000
        self._hard = max(self._hard, time.monotonic() + min(ms / 1000, most_s))
        self.soft = self._hard - (PRINT_S if self._pointer else RESERVE_S)
        _arm(self._hard)

    def leave_pointer(self) -> float:
        """From now on nothing is lost if nobody answers: so the time that was kept for it can be waited, too. The
        soft deadline as it is now."""
        if not self._pointer:
            from recollect.wire import spawn, spool

            self._pointer = spool.spool(spawn.follow(self.place), spool.pointer(self._header, self._body))
            self.soft = max(self.soft, self._hard - PRINT_S)
        return self.soft

    def take_pointer_back(self) -> None:
        if self._pointer:
            system.unlink(self._pointer)


def _deliver(parcel: _Parcel, request: bytes, package: str, heard: bool) -> bool:
    """Whether the daemon took the event for good."""
    was_lost = False
    while True:
        line = _connected(parcel, package)
        if line is None:
            return False
        try:
            kind, reply = _ask(line, request, parcel)
        except (ConnectionError, CutFrame):
            # It died over this, or a moment before; the next one may take it. Twice is no accident.
            if was_lost:
                return False
            was_lost = True
            continue
        except (OSError, BadFrame):
            return False
        if kind == OK:
            if reply and heard and len(reply) <= MAX_REPLY_BYTES and _print(reply):
                _confirm(line)
            return True
        line.close()
        if kind != RETIRING or time.monotonic() >= parcel.soft:
            return False
        _get_ready_to_spool()
        time.sleep(RETRY_S)


def _connected(parcel: _Parcel, package: str) -> "_socket.socket | None":
    try:
        return connect(parcel.place, parcel.soft - time.monotonic())
    except (FileNotFoundError, ConnectionRefusedError):
        from recollect.wire import spawn

        return spawn.reach(
            spawn.follow(parcel.place), sys.executable, package, parcel.soft, meanwhile=parcel.leave_pointer
        )
    except OSError:
        return None


def _ask(line: "_socket.socket", request: bytes, parcel: _Parcel) -> tuple[str, bytes]:
    left = memoryview(request)
    while left:
        left = left[_patiently(line, parcel.soft, line.send, left) :]
    rest = bytearray()
    kind, reply = read_reply(lambda most: _patiently(line, parcel.soft, line.recv, most), rest)
    if kind == WAIT and reply.isdigit():
        parcel.wait(int(reply))
        kind, reply = read_reply(lambda most: _patiently(line, parcel.soft, line.recv, most), rest)
    return kind, reply


def _patiently(line: "_socket.socket", soft: float, act: "Callable[[Given], Got]", given: "Given") -> "Got":
    line.settimeout(max(min((soft - time.monotonic()) / 2, PATIENCE_S), 0.001))
    try:
        return act(given)
    except TimeoutError:
        _get_ready_to_spool()
        line.settimeout(max(soft - time.monotonic(), 0.001))
        return act(given)


def _get_ready_to_spool() -> None:
    """Perhaps there will be no answer: what leaving a pointer takes is better loaded now than at the end."""
    from recollect.wire import spool as spool


def _confirm(line: "_socket.socket") -> None:
    try:
        line.sendall(SHOWN)
    except OSError:
        pass


# The process


def _environ() -> dict[str, str]:
    found = system.environ  # noqa: TID251 - it has to be passed on
    if sys.platform == "win32":
        return dict(found)
    # Of `posix`, unlike that of `os`, in bytes.
    return {
        name.decode("utf-8", "surrogateescape"): value.decode("utf-8", "surrogateescape")
        for name, value in found.items()
    }


def _began_s() -> float:
    """When this process began: starting the interpreter belongs to the deadline, and on a busy machine it takes longer
    than its CPU time tells."""
    now = time.monotonic()
    try:
        file = system.open("/proc/self/stat", system.O_RDONLY)
        stat = system.read(file, 1024)
        system.close(file)
        ticks = int(stat[stat.rindex(b")") + 2 :].split()[19])
        ago = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / system.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):  # no Linux
        ago = 0.0
    return now - max(time.process_time(), ago if ago < 1 else 0.0)


def _arguments(argv: list[str]) -> tuple[str, str, int, int]:
    """`[HOST] EVENT [--deadline-ms N] [--patience-ms N]`"""
    words = list(argv)
    given = []
    for option in ("--deadline-ms", "--patience-ms"):
        given.append(0)
        if option in words:
            at = words.index(option)
            given[-1] = int(words[at + 1])
            del words[at : at + 2]
    host, event = words if len(words) == 2 else (DEFAULT_HOST, words[0])
    return host, event, given[0] or DEADLINES_MS.get(event, OTHER_DEADLINE_MS), given[1]


def _arm(hard: float) -> None:
    try:
        import _signal  # type: ignore[import-not-found]

        _signal.signal(_signal.SIGALRM, _give_up)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGALRM,))
        # Again and again: a signal may come just before a call that blocks.
        _signal.setitimer(_signal.ITIMER_REAL, max(hard - time.monotonic(), 0.001), 0.005)
    except (ImportError, AttributeError):  # Windows: the sockets' time-outs are all there is
        pass


def _give_up(*_: object) -> None:
    system._exit(0)


def _standard_streams() -> bool:
    """Open what is closed, or the socket would get its number; whether anyone can hear us."""
    heard = True
    for fd in (0, 1, 2):
        try:
            system.fstat(fd)
        except OSError:
            system.open("/dev/null", system.O_RDWR)
            heard = heard and fd != 1
    return heard


def _read_stdin(soft: float) -> bytes | None:
    """All of it, or None where it is more than a frame can hold."""
    parts = []
    size = 0
    while True:
        try:
            part = system.read(0, 1 << 16)
        except BlockingIOError:
            time.sleep(RETRY_S)
            continue
        except OSError:
            break
        if not part:
            break
        size += len(part)
        if size <= MAX_BODY_BYTES:
            parts.append(part)
        # The rest is read all the same: the agent may take a closed pipe for a failed hook.
        elif time.monotonic() > soft:
            break
    return b"".join(parts) if size <= MAX_BODY_BYTES else None


def _print(reply: bytes) -> bool:
    left = memoryview(reply)
    while left:
        try:
            left = left[system.write(1, left) :]
        except BlockingIOError:
            time.sleep(RETRY_S)
        except OSError:
            return False
    return True


def _cwd() -> str:
    try:
        return system.getcwd()
    except OSError:
        return ""
