"""Pointers to events that no daemon took: where to look later, never what was said.

One small file each, made in `tmp`, synced, then named in `new`, so that nobody ever sees half of one and a hook
killed in the midst leaves nothing behind that counts. When it happened is the file's own time. Who drains it
deletes a pointer only after the event is committed; to drain twice is no harm.

What cannot be read is set aside in `bad`. Past MOST_POINTERS events are only counted (`lost`).
"""

import json
import os
import time

from recollect.wire.place import Place, make_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Pointer = dict[str, object]

UNFINISHED = "/tmp"  # noqa: S108 - a folder of the spool
FINISHED = "/new"
SET_ASIDE = "/bad"
MOST_POINTERS = 20_000
MAX_POINTER_BYTES = 64 * 1024
MAX_PARSED_BYTES = 1024 * 1024  # some 10 ms; of more than that the beginning is looked at
_HEAD_CHARS = 16 * 1024
_MAX_ID_CHARS = 200
_MAX_PATH_CHARS = 4096
_MAX_TOOLS = 200
_TAKEN = {
    "session_id": "session",
    "prompt_id": "prompt",
    "turn_id": "prompt",
    "agent_id": "agent",
    "agent_type": "agent_type",
    "source": "source",
    "reason": "source",
    "trigger": "source",
    "tool_use_id": "tool",
    "transcript_path": "transcript",
    "cwd": "cwd",
}
_PATHS = frozenset(("transcript", "cwd"))


def pointer(header: "Mapping[str, str]", body: bytes) -> "Pointer":
    """What may be kept of an event. Of a body that is too large, cut or broken, what its beginning says."""
    said = _parse(body)
    made: Pointer = {
        "host": header.get("host", ""),
        "event": header.get("event", ""),
        "session": header.get("env-CLAUDE_CODE_SESSION_ID", ""),
        "project": header.get("env-CLAUDE_PROJECT_DIR", ""),
        "cwd": header.get("cwd", ""),
    }
    for name, as_name in _TAKEN.items():
        value = said.get(name)
        most = _MAX_PATH_CHARS if as_name in _PATHS else _MAX_ID_CHARS
        if isinstance(value, str) and value and len(value) <= most:
            made[as_name] = value
    calls = said.get("tool_calls")
    ids = [call.get("tool_use_id") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    ids.insert(0, made.pop("tool", None))
    made["tools"] = [one for one in ids if isinstance(one, str) and len(one) <= _MAX_ID_CHARS][:_MAX_TOOLS]
    made["transcript_bytes"] = _size(made.get("transcript"))
    prompt = said.get("prompt")
    if isinstance(prompt, str):
        made["mark"] = marked(prompt)
    return made


def marked(prompt: str) -> str:
    """Tells two prompts of a session apart, and is too short to tell more."""
    from binascii import crc32

    return f"{crc32(prompt.encode('utf-8', 'surrogatepass')):08x}" if prompt else ""


def spool(place: Place, pointer: "Pointer") -> str:
    """Where it is kept; empty where it is only counted. OSError where nothing can be written, PermissionError where
    the folder is not ours."""
    make_private(place.runtime)
    for folder in (place.spool, place.spool + UNFINISHED, place.spool + FINISHED):
        make_private(folder)
    if len(os.listdir(place.spool + FINISHED)) >= MOST_POINTERS:
        _count_lost(place)
        return ""
    name = f"{time.monotonic_ns():020d}.{os.getpid()}"
    spare = f"{place.spool}{UNFINISHED}/{name}"
    fd = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as file:
            file.write(json.dumps(pointer).encode("ascii"))
            file.flush()
            os.fsync(fd)
        os.rename(spare, f"{place.spool}{FINISHED}/{name}")
    except BaseException:
        os.unlink(spare)
        raise
    return f"{place.spool}{FINISHED}/{name}"


def drain(place: Place) -> "Iterator[tuple[str, Pointer]]":
    """Every pointer, the oldest first, with the path to delete once it is dealt with. `at_ns`: when it was left."""
    folder = place.spool + FINISHED
    try:
        found = [(entry.stat(follow_symlinks=False).st_mtime_ns, entry.name) for entry in os.scandir(folder)]
    except OSError:
        return
    for at_ns, name in sorted(found):
        path = f"{folder}/{name}"
        try:
            said = _read(path)
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            _set_aside(place, name)
            continue
        yield path, said | {"at_ns": at_ns}


def reap(place: Place, now_ns: int, age_ns: int) -> None:
    """Remove what killed hooks left in `tmp`: what is older than that, or, after the clock was set back, younger."""
    try:
        for entry in os.scandir(place.spool + UNFINISHED):
            if abs(now_ns - entry.stat(follow_symlinks=False).st_mtime_ns) > age_ns:
                os.unlink(entry.path)
    except OSError:
        pass


def lost(place: Place) -> int:
    """How many events not even a pointer was kept of."""
    return max(_size(place.spool + "/lost"), 0)


def _read(path: str) -> "Pointer":
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        said = json.loads(file.read(MAX_POINTER_BYTES))
    if not isinstance(said, dict):
        raise ValueError("not a pointer")
    return said


def _parse(body: bytes) -> "dict[str, object]":
    if len(body) <= MAX_PARSED_BYTES:
        try:
            said = json.loads(body)
            return said if isinstance(said, dict) else {}
        except (ValueError, RecursionError):
            pass
    return _beginning(body[:_HEAD_CHARS].decode("utf-8", "replace"))


def _beginning(text: str) -> "dict[str, object]":
    """The first fields of an object whose end is not there."""
    decoder = json.JSONDecoder()
    said: dict[str, object] = {}
    at = text.find("{") + 1
    try:
        while at > 0:
            name, at = decoder.raw_decode(text, text.index('"', at))
            at = text.index(":", at) + 1
            while text[at].isspace():
                at += 1
            said[str(name)], at = decoder.raw_decode(text, at)
    except (ValueError, IndexError, RecursionError):
        pass
    return said


def _size(path: object) -> int:
    """-1 where there is none."""
    try:
        return os.stat(path).st_size if isinstance(path, str) and path else -1
    except (OSError, ValueError):
        return -1


def _count_lost(place: Place) -> None:
    """A byte each: no reading, no lock, no number that two hooks could both raise to the same."""
    fd = os.open(place.spool + "/lost", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, b".")
    finally:
        os.close(fd)


def _set_aside(place: Place, name: str) -> None:
    try:
        make_private(place.spool + SET_ASIDE)
        os.replace(f"{place.spool}{FINISHED}/{name}", f"{place.spool}{SET_ASIDE}/{name}")
    except OSError:
        pass
