"""What goes over the line: one request, one reply, each of them one frame.

    RCL1\\n                 the shape of frames; what they mean is told by the header `protocol`
    name: value\\n          up to 64 lines, percent-escaped where a line could not hold them
    \\n
    8 bytes, big-endian    the length of the body
    the body               bytes as they came

A request says protocol, version, home, host, event, deadline_ms, cwd, op (`hook`, `ask`, …) and `env-NAME` for
each variable that is passed on. A reply says `kind`. Text is UTF-8 with surrogateescape, so any file name survives.
After it has printed a reply that was not empty, a hook sends SHOWN; only then was it shown. A hook that says
`patience_ms` may be told to WAIT once; then another reply follows.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Receive = Callable[[int], bytes]
    Header = dict[str, str]

PROTOCOL = 1
MAGIC = b"RCL1\n"
MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_HEADERS = 64
MAX_HEAD_BYTES = 256 * 1024
SHOWN = b"\x06"

# Kinds of reply.
OK = "ok"
"""Taken for good; the body is to be printed as it is, and may be empty."""
UNKEPT = "unkept"
"""Answered, but the event could not be written down: the body is to be printed, and the pointer stays."""
BUSY = "busy"
"""Not taken: too much to do."""
RETIRING = "retiring"
"""Not taken: this daemon is about to end, and the next one will take it."""
NEWER = "newer"
"""Not taken: the daemon is so much newer that it no longer speaks this protocol."""
ERROR = "error"
"""Not taken; the body says why."""
WAIT = "wait"
"""Not yet: the body says for how many milliseconds more. Only to who said that it can."""


class BadFrame(Exception):
    """What came is no frame, or too large a one."""


class CutFrame(BadFrame):
    """Only the beginning came: whoever sent it is gone."""


def encode_request(header: "Mapping[str, str]", body: bytes) -> bytes:
    return _encode(header, body)


def encode_reply(kind: str, body: bytes = b"") -> bytes:
    return _encode({"kind": kind, "protocol": str(PROTOCOL)}, body)


def read_request(receive: "Receive") -> "tuple[Header, bytes]":
    return _read(receive)


def read_reply(receive: "Receive", rest: bytearray | None = None) -> tuple[str, bytes]:
    """`rest`: what came with the reply before, and then with this one; for who is sent several."""
    header, body = _read(receive, rest)
    return header.get("kind", ERROR), body


def _encode(header: "Mapping[str, str]", body: bytes) -> bytes:
    head = "".join([f"{_escape(name)}: {_escape(value)}\n" for name, value in header.items()])
    return b"%b%b\n%b%b" % (MAGIC, head.encode("utf-8", "surrogateescape"), len(body).to_bytes(8, "big"), body)


def _read(receive: "Receive", rest: bytearray | None = None) -> "tuple[Header, bytes]":
    found = bytearray(rest or b"")
    while (end := found.find(b"\n\n")) < 0:
        if len(found) > MAX_HEAD_BYTES or found[: len(MAGIC)] != MAGIC[: len(found)]:
            raise BadFrame("not a frame")
        _more(found, receive)
    if found[: len(MAGIC)] != MAGIC or end > MAX_HEAD_BYTES:
        raise BadFrame("not a frame")
    lines = bytes(found[:end]).split(b"\n")[1:]
    if len(lines) > MAX_HEADERS:
        raise BadFrame("too many headers")
    header = dict([_parted(line) for line in lines])
    start = end + 10
    while len(found) < start:
        _more(found, receive)
    length = int.from_bytes(found[end + 2 : start], "big")
    if length > MAX_BODY_BYTES:
        raise BadFrame("too large")
    while len(found) < start + length:
        _more(found, receive)
    # Bytes after the body are no part of a frame; a hook's SHOWN comes only after the reply.
    if rest is not None:
        rest[:] = found[start + length :]
    return header, bytes(found[start : start + length])


def _more(found: bytearray, receive: "Receive") -> None:
    part = receive(1 << 16)
    if not part:
        raise CutFrame("ended early")
    found += part


def _escape(text: str) -> str:
    for mark, escape in (("%", "%25"), ("\n", "%0A"), ("\r", "%0D"), (":", "%3A")):
        if mark in text:
            text = text.replace(mark, escape)
    return text


def _parted(line: bytes) -> tuple[str, str]:
    name, colon, value = line.partition(b": ")
    if not colon:
        raise BadFrame("a header without a value")
    return _unescape(name), _unescape(value)


def _unescape(text: bytes) -> str:
    if b"%" in text:
        first, *rest = text.split(b"%")
        try:
            text = first + b"".join([bytes((int(part[:2], 16),)) + part[2:] for part in rest])
        except ValueError:
            raise BadFrame("a bad escape") from None
    return text.decode("utf-8", "surrogateescape")
