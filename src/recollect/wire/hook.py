"""The hook process: passes one event to the daemon and prints what comes back.

Whatever happens, it exits 0, prints a whole reply or nothing, writes nothing to stderr and is gone by its deadline: a
memory that fails must not cost the user a prompt. Its first act is to leave a pointer to the event (pointer.py), which
the daemon removes once it has written the event: nothing is lost where none answers, or either of them is killed.
The soft deadline ends the waiting and leaves PRINT_S to print and to end; the hard one is an alarm that ends the
process in the middle of anything. `--patience-ms` extends both when the daemon says that waiting is worth it."""

import sys
import time

from recollect.wire import frame, pointer
from recollect.wire.place import Place, connect, find_place, follow, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket

# How long a person can wait for a prompt; the client allows 1.5 s for a session's end. The other events are only
# delivered, and nobody should notice them.
DEADLINES_MS = dict.fromkeys(("UserPromptSubmit", "PreToolUse", "SubagentStart"), 300)
DEADLINES_MS |= {"SessionStart": 500, "SessionEnd": 1000}
OTHER_DEADLINE_MS = 150
DEFAULT_HOST = "claude-code"
PRINT_S = 0.03  # kept back for printing the answer and ending
MARGIN_S = 0.01  # for the alarm to be delivered and the process to end
LEAST_S = 0.12  # to pass the event on where starting took the whole deadline: better late than lost
# A pipe that nobody has read from yet takes this much at once, so a reply is never cut in two by the alarm.
MAX_REPLY_BYTES = 65_536
RETRY_S = 0.004
# The alarm repeats; after MAX_RINGS it ends the process even while the pointer is being written.
RING_S = 0.005
MAX_RINGS = 20

_PASSED_PREFIXES = ("MEMORY_", "RECOLLECT_")
_PASSED = frozenset(("BLOCK_HOOK_AGENTS", frame.PROJECT_VARIABLE, frame.SESSION_VARIABLE))


def main(argv: list[str], *, home: str, package: str, version: str) -> None:
    """Never returns. `home` is the one that the stub stands in, `package` the folder that holds this package."""
    try:
        _run(argv, home, package, version)
    except BaseException:  # noqa: BLE001, S110 - the outermost edge; nothing may reach the user's prompt
        pass
    system._exit(0)


def _run(argv: list[str], home: str, package: str, version: str) -> None:
    if sys.platform == "win32":
        environ = dict(system.environ)
    else:  # in `posix`, unlike `os`, names and values are bytes
        how = ("utf-8", "surrogateescape")
        environ = {name.decode(*how): value.decode(*how) for name, value in system.environ.items()}
    if environ.get("BLOCK_HOOK_AGENTS", "0") not in ("", "0"):
        return
    host, event, deadline_ms, patience_ms = _arguments(argv)
    hard = max(
        _began_s() + deadline_ms / 1000 - MARGIN_S,
        time.monotonic() + min(LEAST_S, deadline_ms / 1000),
    )
    header = {
        "protocol": str(frame.PROTOCOL),
        "version": version,
        "op": "hook",
        "home": home,
        "cwd": "",
    }
    header |= {"host": host, "event": event, "deadline_ms": str(deadline_ms)}
    try:
        header["cwd"] = system.getcwd()
    except OSError:
        pass
    if patience_ms:
        header["patience_ms"] = str(patience_ms)
    for name, value in environ.items():
        if (name.startswith(_PASSED_PREFIXES) or name in _PASSED) and len(value) <= 4096:
            header["env-" + name] = value
            if len(header) == frame.MAX_HEADERS - 2:
                break
    delivery = _Delivery(find_place(home, environ), header, hard, patience_ms / 1000)
    can_print = True
    for fd in (0, 1, 2):  # closed streams are opened, or the socket would get their number
        try:
            system.fstat(fd)
        except OSError:
            system.open("/dev/null", system.O_RDWR)
            can_print = can_print and fd != 1
    is_whole = delivery.read_body()
    delivery.leave_pointer()
    if is_whole:
        delivery.send(package, can_print)


class _Delivery:
    """One event on its way to the daemon, with its deadlines."""

    def __init__(
        self, place: Place, header: "dict[str, str]", hard: float, patience_s: float
    ) -> None:
        self._place = place
        self._header = header
        self._body: list[bytes] = []
        self.pointer: str | None = None
        self._patience_s = patience_s
        self._rings = 0
        self._set_deadline(hard)

    def _set_deadline(self, hard: float) -> None:
        self._hard = hard
        self._soft = hard - PRINT_S
        try:
            import _signal  # type: ignore[import-not-found]

            _signal.signal(_signal.SIGALRM, self._give_up)
            _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGALRM,))
            # Repeated: a signal may come just before a call that blocks.
            _signal.setitimer(_signal.ITIMER_REAL, max(hard - time.monotonic(), 0.001), RING_S)
        except (ImportError, AttributeError):  # Windows has only the sockets' timeouts
            pass

    def _give_up(self, *_: object) -> None:
        """The alarm went off. What was read so far is enough for a pointer, if none was left yet."""
        self._rings += 1
        if self._rings == 1 and self.pointer is None:
            self.leave_pointer()
        elif self._rings < MAX_RINGS and self.pointer is None:
            return  # it is being written just now, by the call that this one interrupts
        system._exit(0)

    def read_body(self) -> bool:
        """Reads all of stdin; False where it is more than a frame can hold."""
        size = 0
        while True:
            try:
                part = system.read(0, 1 << 16)
            except BlockingIOError:
                time.sleep(RETRY_S)
                continue
            except OSError:
                part = b""
            if not part:
                break
            size += len(part)
            if size <= frame.MAX_BODY_BYTES:
                self._body.append(part)
            elif time.monotonic() > self._soft:
                break  # until then it is read and dropped: the agent may take a closed pipe for a failed hook
        return size <= frame.MAX_BODY_BYTES

    def leave_pointer(self) -> None:
        try:
            made = pointer.make(self._header, b"".join(self._body))
            self._header["transcript_bytes"] = str(made["transcript_bytes"])
            self.pointer = pointer.leave(
                follow(self._place), made
            )  # the daemon knows only its own spool
            self._header["pointer"] = self.pointer.rpartition("/")[2]
        except OSError:  # nowhere to write: the event can still be delivered
            self.pointer = ""

    def send(self, package: str, can_print: bool) -> None:
        request = frame.encode_request(self._header, b"".join(self._body))
        was_cut_off = False
        while True:
            try:
                line: _socket.socket | None = connect(self._place, self._soft - time.monotonic())
            except (FileNotFoundError, ConnectionRefusedError):
                from recollect.wire import client

                line = client.reach(follow(self._place), sys.executable, package, self._soft)
            except OSError:
                return
            if line is None:
                return
            try:
                kind, reply = self._ask(line, request)
            except (ConnectionError, frame.CutFrame):
                # The daemon died; the next one may accept it. Twice is no accident.
                if was_cut_off:
                    return
                was_cut_off = True
                continue
            except (OSError, frame.BadFrame):
                return
            if kind in (frame.OK, frame.UNKEPT):
                if not reply or (can_print and len(reply) <= MAX_REPLY_BYTES and _print(reply)):
                    try:
                        line.sendall(frame.SHOWN)
                    except OSError:
                        pass
                return
            line.close()
            if kind != frame.RETIRING or time.monotonic() >= self._soft:
                return
            time.sleep(RETRY_S)

    def _ask(self, line: "_socket.socket", request: bytes) -> tuple[str, bytes]:
        def receive(most: int) -> bytes:
            line.settimeout(max(self._soft - time.monotonic(), 0.001))
            return line.recv(most)

        line.sendall(request)  # within the time that it took to connect
        rest = bytearray()
        kind, reply = frame.read_reply(receive, rest)
        if kind == frame.WAIT and reply.isdigit():
            self._set_deadline(
                max(self._hard, time.monotonic() + min(int(reply) / 1000, self._patience_s))
            )
            kind, reply = frame.read_reply(receive, rest)
        return kind, reply


def _began_s() -> float:
    """When this process began: starting the interpreter counts too, and takes longer than its CPU time shows."""
    now = time.monotonic()
    if sys.platform != "linux":
        return now - time.process_time()
    try:
        file = system.open("/proc/self/stat", system.O_RDONLY)
        stat = system.read(file, 1024)
        system.close(file)
        ticks = int(stat[stat.rindex(b")") + 2 :].split()[19])
        ago = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / system.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):  # no /proc
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
