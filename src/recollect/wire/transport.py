"""How two processes of one user connect, on every platform.

A Unix socket in a private folder, where the system tells the other side's user; or, where there are no Unix sockets,
loopback TCP with a token that only the user can read. A client shows its first half and the daemon answers with the
second: somebody else may listen by now at the port of a dead daemon, and is told nothing more. Callers see connected
sockets and nothing else.
"""

import _socket
import sys

from recollect.wire.place import Place, is_private, make_private, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket

TOKEN_CHARS = 64
SHOWN_CHARS = TOKEN_CHARS // 2
_BACKLOG = 128
_LOOPBACK = "127.0.0.1"
_LOCAL_PEERCRED = 1  # macOS; the value is its own and the module does not name it


def connect(place: Place, timeout_s: float) -> _socket.socket:
    """A connection to the daemon. FileNotFoundError or ConnectionRefusedError: there is none. PermissionError: the
    folder is not safely ours, or the socket is forbidden. Other OSErrors: there is one, and it does not answer."""
    if not is_private(place.runtime):
        raise PermissionError(place.runtime)
    if sys.platform == "win32" or place.tcp:
        line = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    else:
        line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        line.settimeout(max(timeout_s, 0.001))
        if sys.platform == "win32" or place.tcp:
            port, token = _read_address(place)
            line.connect((_LOOPBACK, port))
            line.sendall(token[:SHOWN_CHARS])
            proof = b""
            while len(proof) < SHOWN_CHARS and (part := line.recv(SHOWN_CHARS - len(proof))):
                proof += part
            if proof != token[SHOWN_CHARS:]:
                raise ConnectionRefusedError(place.address)
        else:
            line.connect(place.socket)
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
    # Listening before it has its name: who finds the name finds someone.
    line.listen(_BACKLOG)
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


def _read_address(place: Place) -> tuple[int, bytes]:
    fd = system.open(place.address, system.O_RDONLY | getattr(system, "O_CLOEXEC", 0))
    try:
        port, _, token = system.read(fd, 128).partition(b" ")
    finally:
        system.close(fd)
    if not port.isdigit() or len(token) != TOKEN_CHARS:
        raise FileNotFoundError(place.address)
    return int(port), token


def _remove(path: str) -> None:
    try:
        system.unlink(path)
    except OSError:
        pass
