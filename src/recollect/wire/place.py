"""Where clients meet the daemon of a home, and how they connect, on every platform.

The socket and the spool are in the runtime folder, never in the home, which may be on a network mount: there a socket
cannot be, and waiting for the disk would break a hook's deadline. The locks are in the home: processes that disagree
about the runtime folder must still agree on one daemon; `daemon.json` tells them where it listens. Another user of the
machine can guess the folder's name and take it first: then, or where it cannot be made, `run` in the home is used.

A Unix socket, where the system tells the other side's user; else loopback TCP with a token that only the user can read.
A client shows its first half and the daemon the second: somebody else may listen at the port of a dead daemon by now.
"""

import _socket
import sys

if sys.platform == "win32":
    import os as system
else:
    import posix as system

__all__ = ["system"]  # the one name here that is defined elsewhere
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from socket import socket

MAX_SOCKET_BYTES = 100  # a little under macOS's 104, for the spare name that `listen` binds
TOKEN_CHARS = 64
SHOWN_CHARS = TOKEN_CHARS // 2
_PRIME = 4_294_967_291  # the largest of 32 bits
_KIND = 0o170000
_FOLDER = 0o040000
_BACKLOG = 128
_LOOPBACK = "127.0.0.1"
_LOCAL_PEERCRED = 1  # macOS; the value is its own and the module does not name it


class Place:
    """Not a NamedTuple: `typing` alone costs a third of a hook."""

    def __init__(self, home: str, runtime: str, *, tcp: bool = False) -> None:
        self.home = home
        self.runtime = runtime
        # A home can have a name that is too long for a socket; a file's may be longer.
        self.tcp = tcp or sys.platform == "win32" or not _fits(runtime)
        self.socket = runtime + "/socket"
        self.address = runtime + "/address"  # port and token, where there are no Unix sockets
        self.entry = self.address if self.tcp else self.socket  # of these two, the one that is used
        self.spool = runtime + "/spool"
        self.recalls = (
            runtime + "/recalls"
        )  # rendered recalls, read by the agent in place of virtual files
        self.lock = home + "/daemon.lock"  # held by the daemon as long as it lives
        self.spawn_lock = (
            home + "/spawn.lock"
        )  # held by whoever starts a daemon, then by the daemon, which inherits it
        self.daemon_file = home + "/daemon.json"  # where the last daemon listened


def find_place(home: str, environ: "Mapping[str, str]") -> Place:
    """Touches nothing but the status of folders."""
    own = home + "/run"
    # The process that starts a daemon names the folder in which it waits. Only a folder of this home counts: a stranger
    # may have set the variable.
    named = environ.get("RECOLLECT_RUNTIME", "")
    is_of_home = named == own or (
        named.startswith("/") and named.endswith("-" + _mark(home)) and _fits(named)
    )
    runtime = named if is_of_home else expected_runtime(home, environ)
    return Place(
        home,
        runtime if is_usable(runtime) else own,
        tcp=environ.get("RECOLLECT_TRANSPORT") == "tcp",
    )


def expected_runtime(home: str, environ: "Mapping[str, str]") -> str:
    """The folder that every process would choose, whatever is there."""
    if sys.platform == "win32":
        return environ.get("LOCALAPPDATA", home) + "/recollect-" + _mark(home)
    session = environ.get("XDG_RUNTIME_DIR", "")
    runtime = f"{session}/recollect-{_mark(home)}"
    try:
        if session.startswith("/") and _fits(runtime) and is_private(session):
            return runtime
    except OSError:
        pass
    own = f"recollect-{system.geteuid()}-{_mark(home)}"
    temp = environ.get("TMPDIR", "").rstrip("/")
    if temp.startswith("/") and _fits(f"{temp}/{own}"):
        return f"{temp}/{own}"
    return f"/tmp/{own}"  # noqa: S108 - made and checked by make_private


def follow(place: Place) -> Place:
    """The same home where and how its last daemon listened: processes can disagree about both."""
    try:
        file = system.open(place.daemon_file, system.O_RDONLY)
        try:
            content = system.read(file, 8192)
        finally:
            system.close(file)
        if place.entry.encode("utf-8", "surrogateescape") in content:
            return place
        import json

        runtime, _, name = json.loads(content)["socket"].rpartition("/")
        if is_private(runtime):
            return Place(place.home, runtime, tcp=name == "address")
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        pass
    return place


def is_private(folder: str) -> bool:
    """A real folder, not a link, that is ours and shut to everyone else. OSError where it cannot be looked at."""
    found = system.lstat(folder)
    if found.st_mode & _KIND != _FOLDER:
        return False
    return sys.platform == "win32" or (
        found.st_uid == system.geteuid() and not found.st_mode & 0o077
    )


def is_usable(folder: str) -> bool:
    """Whether it is ours alone, or can be made so."""
    try:
        return is_private(folder)
    except FileNotFoundError:
        return system.access(folder.rpartition("/")[0] or "/", system.W_OK | system.X_OK)
    except OSError:
        return False


def make_private(folder: str) -> None:
    """Make it if it is missing; PermissionError where what is there is not safely ours."""
    try:
        system.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    if not is_private(folder):
        raise PermissionError(f"{folder} is not a private folder of this user's.")


def _mark(home: str) -> str:
    """Tells homes of one user apart, no more; hashlib would cost more than the rest of this file."""
    return f"{int.from_bytes(home.encode('utf-8', 'surrogateescape'), 'big') % _PRIME:08x}"


def _fits(runtime: str) -> bool:
    return len(runtime.encode("utf-8", "surrogateescape")) + len("/socket") <= MAX_SOCKET_BYTES


def connect(place: Place, timeout_s: float) -> _socket.socket:
    """A connection to the daemon. FileNotFoundError or ConnectionRefusedError: there is none. PermissionError: the
    folder is not safely ours, or the socket is forbidden. Other OSErrors: there is one, and it does not answer."""
    if not is_private(place.runtime):
        raise PermissionError(place.runtime)
    if sys.platform == "win32" or place.tcp:
        line = _socket.socket(_socket.AF_INET)
    else:
        line = _socket.socket(_socket.AF_UNIX)
    try:
        line.settimeout(max(timeout_s, 0.001))
        if not place.tcp:
            line.connect(place.socket)
            return line
        fd = system.open(place.address, system.O_RDONLY | getattr(system, "O_CLOEXEC", 0))
        try:
            port, _, token = system.read(fd, 128).partition(b" ")
        finally:
            system.close(fd)
        if not port.isdigit() or len(token) != TOKEN_CHARS:
            raise FileNotFoundError(place.address)
        line.connect((_LOOPBACK, int(port)))
        line.sendall(token[:SHOWN_CHARS])
        proof = b""
        while len(proof) < SHOWN_CHARS and (part := line.recv(SHOWN_CHARS - len(proof))):
            proof += part
        if proof != token[SHOWN_CHARS:]:
            raise ConnectionRefusedError(place.address)
    except BaseException:
        line.close()
        raise
    return line


def listen(place: Place, token: str) -> "socket":
    """A listening socket that nobody else can reach, in the place of whatever was left there. The caller holds the
    lifetime lock. `token` is TOKEN_CHARS random characters; only TCP uses it."""
    import os
    import socket

    make_private(place.runtime)
    spare = f"{place.runtime}/b{os.getpid()}"
    _remove(spare)
    before = os.umask(0o177)
    try:
        if sys.platform == "win32" or place.tcp:
            line = socket.create_server((_LOOPBACK, 0), backlog=_BACKLOG)
            with open(spare, "x", encoding="ascii") as file:
                file.write(f"{line.getsockname()[1]} {token}")
            os.replace(spare, place.address)
            return line
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        line.bind(spare)
    finally:
        os.umask(before)
    line.listen(_BACKLOG)  # before it has its name: who finds the name finds someone
    os.replace(spare, place.socket)
    return line


def prove(shown: bytes, token: str) -> bytes:
    """The token's second half, for a client that showed the first; empty for any other."""
    import hmac

    both = token.encode("ascii")
    return both[SHOWN_CHARS:] if hmac.compare_digest(shown, both[:SHOWN_CHARS]) else b""


def peer_uid(line: "socket") -> int:
    """-1 where the system does not say, which is nobody."""
    found = b""
    if sys.platform == "linux":
        found = line.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    elif sys.platform == "darwin":
        found = line.getsockopt(0, _LOCAL_PEERCRED, 76)
    return int.from_bytes(found[4:8], sys.byteorder) if found else -1


def remove_socket(place: Place) -> None:
    """So that the next hook need not find out that nobody is there."""
    _remove(place.socket)
    _remove(place.address)


def _remove(path: str) -> None:
    try:
        system.unlink(path)
    except OSError:
        pass


def program_path(home: str) -> str:
    return home + "/bin/recollect"


def agent_program(home: str) -> str:
    """How an agent's shell calls the command line: its PATH need not have it, so by its whole path where it stands."""
    path = program_path(home)
    if not system.access(path, system.X_OK):
        return "recollect"
    is_one_word = all(char.isalnum() or char in "/._-" for char in path)
    return path if is_one_word else f"'{path}'"
