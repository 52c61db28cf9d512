"""A pointer to an event: where its words can be read later, never the words themselves.

A hook leaves one first of all and names it to the daemon, which removes it once the event is written; else it finds it
later (spool.py). Not synced: what it points to outlives it, and a lost pointer costs only time. Every hook runs this;
only built-in modules are used: `json` alone would cost as much as all the rest."""

import time

from recollect.wire.frame import PROJECT_VARIABLE, SESSION_VARIABLE
from recollect.wire.place import Place, is_private, make_private, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

Pointer = dict[str, object]

MAX_POINTERS = 20_000
MAX_PARSED_BYTES = 1024 * 1024  # some 10 ms; of a longer body only the beginning is parsed
_HEAD_CHARS = 16 * 1024
_MAX_ID_CHARS = 200
_MAX_PATH_CHARS = 4096  # of a transcript and a folder
# What payloads call it; of several the last counts.
_FIELDS = {
    "session": ("session_id",),
    "prompt": ("prompt_id", "turn_id"),
    "agent": ("agent_id",),
    "agent_type": ("agent_type",),
    "source": ("source", "reason", "trigger"),
    "tool": ("tool_use_id",),
    "transcript": ("transcript_path",),
    "cwd": ("cwd",),
}
# The C function raises JSONDecodeError; where `json` was never imported it cannot, and raises SystemError.
_BROKEN = (ValueError, StopIteration, RecursionError, SystemError)


def make(header: "Mapping[str, str]", body: bytes) -> "Pointer":
    """The part of an event that may be kept; of a body that is too large, cut or broken, what its beginning shows."""
    payload = _parse(body)
    # The most important fields come first: of a file that was cut short the beginning is still read.
    made: Pointer = {
        "host": header.get("host", ""),
        "event": header.get("event", ""),
        "session": header.get("env-" + SESSION_VARIABLE, ""),
        "transcript": "",
        "cwd": header.get("cwd", ""),
        "project": header.get("env-" + PROJECT_VARIABLE, ""),
    }
    for name, spellings in _FIELDS.items():
        max_chars = _MAX_PATH_CHARS if name in ("transcript", "cwd") else _MAX_ID_CHARS
        for value in map(payload.get, spellings):
            if isinstance(value, str) and 0 < len(value) <= max_chars:
                made[name] = value
    made["transcript_bytes"] = file_size(made["transcript"])
    prompt = payload.get("prompt")
    if isinstance(prompt, str):
        made["mark"] = checksum(prompt)
    calls = payload.get("tool_calls")
    ids = (
        [call.get("tool_use_id") for call in calls if isinstance(call, dict)]
        if isinstance(calls, list)
        else []
    )
    ids.insert(0, made.pop("tool", None))
    made["tools"] = [one for one in ids if isinstance(one, str) and len(one) <= _MAX_ID_CHARS][:200]
    return made


def checksum(prompt: str) -> str:
    """Tells two prompts of a session apart, and is too short to reveal more."""
    from binascii import crc32

    return f"{crc32(prompt.encode('utf-8', 'surrogatepass')):08x}" if prompt else ""


def leave(place: Place, pointer: "Pointer") -> str:
    """The path of the file; empty where there are too many and it was only counted. OSError: none can be written."""
    folder = place.spool + "/new"
    try:
        if not is_private(place.runtime):
            raise PermissionError(place.runtime)
        waiting = len(system.listdir(folder))
    except FileNotFoundError:
        for one in (place.runtime, place.spool, folder):
            make_private(one)
        waiting = 0
    if waiting >= MAX_POINTERS:
        # One byte per lost event: no reading, no lock, and no number that two hooks could both set to the same value.
        _write(place.spool + "/lost", system.O_CREAT | system.O_APPEND, b".")
        return ""
    path = f"{folder}/{time.monotonic_ns():020d}.{system.getpid()}"
    _write(path, system.O_CREAT | system.O_EXCL, _encode(pointer))
    return path


def file_size(path: object) -> int:
    """-1 where there is no such file."""
    try:
        return system.stat(path).st_size if isinstance(path, str) and path else -1
    except (OSError, ValueError):
        return -1


def _write(path: str, how: int, data: bytes) -> None:
    guards: int = (
        getattr(system, "O_NOFOLLOW", 0)
        | getattr(system, "O_CLOEXEC", 0)
        | getattr(system, "O_BINARY", 0)
    )
    fd = system.open(path, system.O_WRONLY | how | guards, 0o600)
    try:
        system.write(fd, data)
    finally:
        system.close(fd)


# JSON by the interpreter's own C functions, which `json` wraps.


class _Context:
    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = str
    memo: "dict[str, str]" = {}  # noqa: RUF012 - what the C function expects of its caller


def _scan(text: str, at: int) -> "tuple[Any, int]":
    """The value that begins there, and where it ends."""
    from _json import make_scanner

    scan: Any = make_scanner
    found: tuple[Any, int] = scan(_Context)(text, at)
    return found


def _parse(body: bytes) -> "dict[str, object]":
    is_whole = len(body) <= MAX_PARSED_BYTES
    text = (
        (body if is_whole else body[:_HEAD_CHARS])
        .decode("utf-8", "replace")
        .lstrip("\ufeff \t\r\n")
    )
    try:
        payload = _scan(text, 0)[0] if is_whole else parse_beginning(text)
    except _BROKEN:
        payload = parse_beginning(text[:_HEAD_CHARS])
    return payload if isinstance(payload, dict) else {}


def parse_beginning(text: str) -> "dict[str, object]":
    """The first fields of an object whose end is missing."""
    found: dict[str, object] = {}
    at = text.find("{") + 1
    try:
        while at > 0:
            name, at = _scan(text, text.index('"', at))
            at = text.index(":", at) + 1
            while text[at].isspace():
                at += 1
            found[str(name)], at = _scan(text, at)
    except (*_BROKEN, IndexError):
        pass
    return found


def _encode(pointer: "Pointer") -> bytes:
    from _json import encode_basestring_ascii as quote

    def spell(value: object) -> str:
        if isinstance(value, list):
            return "[" + ",".join([spell(one) for one in value]) + "]"
        return quote(value) if isinstance(value, str) else str(value)

    return (
        "{" + ",".join([f"{quote(name)}:{spell(value)}" for name, value in pointer.items()]) + "}"
    ).encode("ascii")
