"""What goes over the line: one request and one reply, each of them one frame.

    RCL1\\n                 the shape of frames; what they mean is told by the header `protocol`
    name: value\\n          up to 64 lines, percent-escaped where a line could not hold them
    \\n
    8 bytes, big-endian    the length of the body
    the body               bytes as they came

A request says protocol, version, home, host, event, deadline_ms, cwd, op (`hook`, `ask`, …) and `env-NAME` for
each variable that is passed on. A reply says `kind`. Text is UTF-8 with surrogateescape, so any file name survives.
A hook that names the `pointer` it left may be answered before its event is written; the pointer is then removed by the
daemon. A hook that has printed a reply sends SHOWN; only then does the reply count as shown. A hook that says
`patience_ms` may be told to WAIT once; then another reply follows."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Receive = Callable[[int], bytes]
    Header = dict[str, str]

PROTOCOL = 1
# Variables that agents set for their hooks and servers.
PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"
SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"
MAGIC = b"RCL1\n"
MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_HEADERS = 64
MAX_HEAD_BYTES = 256 * 1024
SHOWN = b"\x06"

# Kinds of reply.
OK = "ok"  # accepted: print the body, which may be empty; written, too, where no pointer was named
UNKEPT = (
    "unkept"  # answered, but the event could not be written: print the body, and the pointer stays
)
BUSY = "busy"  # not accepted: too much to do
RETIRING = "retiring"  # not accepted: this daemon is about to end, and the next one will accept it
ERROR = "error"  # not accepted; the body says why
WAIT = "wait"  # not yet: the body says how many milliseconds more, for a client that can wait


class BadFrame(Exception):
    """Not a frame, or too large."""


class CutFrame(BadFrame):
    """Only the beginning came: the sender is gone."""


def encode_reply(kind: str, body: bytes = b"") -> bytes:
    return encode_request({"kind": kind, "protocol": str(PROTOCOL)}, body)


def read_reply(receive: "Receive", rest: bytearray | None = None) -> tuple[str, bytes]:
    header, body = read_request(receive, rest)
    return header.get("kind", ERROR), body


def encode_request(header: "Mapping[str, str]", body: bytes) -> bytes:
    head = "".join([f"{_escape(name)}: {_escape(value)}\n" for name, value in header.items()])
    return b"%b%b\n%b%b" % (
        MAGIC,
        head.encode("utf-8", "surrogateescape"),
        len(body).to_bytes(8, "big"),
        body,
    )


def read_request(receive: "Receive", rest: bytearray | None = None) -> "tuple[Header, bytes]":
    """`rest`: bytes that came after the frame before; afterwards, those that came after this one."""
    found = bytearray() if rest is None else rest
    while (parsed := parse(found)) is None:
        part = receive(1 << 16)
        if not part:
            raise CutFrame("ended early")
        found += part
    header, body, size = parsed
    del found[:size]
    return header, body


def parse(found: bytearray) -> "tuple[Header, bytes, int] | None":
    """The header and body of the first frame, and how many bytes it takes up; None while more must come."""
    end = found.find(b"\n\n")
    if (
        found[: len(MAGIC)] != MAGIC[: len(found)]
        or (len(found) if end < 0 else end) > MAX_HEAD_BYTES
    ):
        raise BadFrame("not a frame")
    start = end + 10
    if end < 0 or len(found) < start:
        return None
    length = int.from_bytes(found[end + 2 : start], "big")
    if length > MAX_BODY_BYTES:
        raise BadFrame("too large")
    if len(found) < start + length:
        return None
    lines = bytes(found[:end]).split(b"\n")[1:]
    if len(lines) > MAX_HEADERS:
        raise BadFrame("too many headers")
    header = {}
    for line in lines:
        name, colon, value = line.partition(b": ")
        if not colon:
            raise BadFrame("a header without a value")
        header[_unescape(name)] = _unescape(value)
    return header, bytes(found[start : start + length]), start + length


def _escape(text: str) -> str:
    for mark, escape in (("%", "%25"), ("\n", "%0A"), ("\r", "%0D"), (":", "%3A")):
        if mark in text:
            text = text.replace(mark, escape)
    return text


def _unescape(text: bytes) -> str:
    if b"%" in text:
        first, *rest = text.split(b"%")
        try:
            text = first + b"".join([bytes((int(part[:2], 16),)) + part[2:] for part in rest])
        except ValueError:
            raise BadFrame("a bad escape") from None
    return text.decode("utf-8", "surrogateescape")
