"""One question to the daemon, for the command line and the MCP server. Starts no daemon (spawn.py)."""

import time

from recollect.wire.frame import PROTOCOL, BadFrame, encode_request, read_reply
from recollect.wire.place import Place
from recollect.wire.spawn import follow
from recollect.wire.transport import connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Unanswered(Exception):
    """There is no daemon, it is not ours, or it did not answer in time."""


def ask(place: Place, header: "Mapping[str, str]", body: bytes, timeout_s: float) -> tuple[str, bytes]:
    """The reply's kind and body."""
    until = time.monotonic() + timeout_s
    full = {"protocol": str(PROTOCOL), "home": place.home, **header}
    try:
        try:
            line = connect(place, timeout_s)
        except (FileNotFoundError, ConnectionRefusedError):
            elsewhere = follow(place)
            if elsewhere is place:
                raise
            line = connect(elsewhere, timeout_s)

        def receive(most: int) -> bytes:
            line.settimeout(max(until - time.monotonic(), 0.001))
            return line.recv(most)

        try:
            line.sendall(encode_request(full, body))
            return read_reply(receive)
        finally:
            line.close()
    except (OSError, BadFrame) as problem:
        raise Unanswered(str(problem)) from problem
