"""Finds the transcripts that an agent left, and reads one, which may grow meanwhile, from where we last stopped.

A last line that is not yet complete waits for the next read; one that is not a JSON object, or too long to be of use,
is counted and skipped. A file that is no longer the one we read (shorter, or other bytes before our mark) is read from
its beginning. What a line says is known to each agent's class."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from recollect.base.moment import Moment
from recollect.base.structs import Struct
from recollect.base.text import storable
from recollect.model.session import ToolCall

# Agents write whole requests into their transcripts; what a person or a tool said is far below this.
MAX_LINE_BYTES = 4_000_000
# What goes on longer than this without a line's end is no transcript: a device's image, a file of a terabyte of holes.
ENDLESS_LINE_BYTES = 256_000_000
_CALENDAR_ENDS_MS = 253_402_300_800_000  # the year 10,000
_MAX_DEPTH = 5  # folders below the one that is searched; one more than agents make, in case all of it was copied

Line = Mapping[str, object]
Head = tuple[
    str, str, str, str
]  # what a line tells of a session: its folder, its id, when it began, its subagent
ReadHead = Callable[[Line], Head]
Open = Callable[[Path], BinaryIO]


class Voice(StrEnum):
    PROMPT = "prompt"
    PLAN = "plan"  # a plan of the agent's own that the client gave back to it in place of a prompt
    QUEUED = "queued"  # typed while the agent was at work. It is a prompt only when it is sent.
    SENT = "sent"  # what was queued first goes to the agent in the middle of its work
    UNQUEUED = "unqueued"  # what was queued first is taken out again, to become a prompt of its own or none
    REPLY = "reply"
    TOOL_CALL = "tool-call"
    TOOL_RESULT = "tool-result"
    INJECTION = "injection"  # what a hook added, ours included: nothing is ever learnt from it
    SUMMARY = "summary"  # what the agent made of the session when it compacted


class Utterance(Struct, kw_only=True):
    voice: Voice
    text: str = ""
    id: str = ""  # the line's own, where it has one: several utterances may share it
    call: ToolCall | None = None  # for a prompt: the call that was refused with these words
    session: str = (
        ""  # as the line says, where it says so: a fork's file may begin with another's lines
    )
    prompt_id: str = ""
    agent_id: str = ""
    at: Moment | None = None
    machine_made: bool = False


class Cursor(Struct):
    """How far a transcript was read. `mark` is a hash of the bytes just before, so that another file is noticed; none
    where the file is known by its size alone."""

    offset: int = 0
    mark: str = ""


def open_file(path: Path) -> BinaryIO:
    if not os.path.isfile(path):
        raise FileNotFoundError(errno.ENOENT, "not a file")
    return open(path, "rb")


class Tail:
    """The complete lines after a cursor, as JSON objects. `cursor` moves with what has been handed out. Lines that are
    not `wanted`, by a look at their bytes, are skipped before anything is parsed."""

    def __init__(self, path: Path, cursor: Cursor | None = None, open: Open = open_file) -> None:
        self.path, self.open = path, open
        self.wanted: Callable[[bytes], bool] | None = None
        self.skipped = 0
        self.restarted = False
        self._cursor = cursor or Cursor()
        self._file: BinaryIO | None = None
        self.offset = self._cursor.offset

    @property
    def cursor(self) -> Cursor:
        # The mark is made when it is asked for: most lines are skipped, and a mark costs a read.
        if self._cursor.offset != self.offset and self._file:
            self._cursor = Cursor(self.offset, _mark(self._file, self.offset))
        return self._cursor

    def __iter__(self) -> Iterator[Line]:
        with (
            suppress(OSError),
            self.open(self.path) as file,
        ):  # if the disk goes away, what came so far stands
            offset, mark = self._cursor.offset, self._cursor.mark
            if not (0 < offset <= file.seek(0, os.SEEK_END) and mark in ("", _mark(file, offset))):
                self.restarted = offset != 0
                self._cursor, self.offset = Cursor(), 0
            file.seek(self.offset)
            self._file = file
            try:
                while (line := _next_line(file)) != b"":
                    self.offset = file.tell()
                    if line and self.wanted and not self.wanted(line):
                        self.skipped += _is_torn(line)
                        continue
                    if (parsed := _parsed(line or b"")) is not None:
                        yield parsed
                    else:
                        self.skipped += line is None or bool(line.strip())
            finally:
                _ = self.cursor
                self._file = None


def _is_torn(line: bytes) -> bool:
    """Whether it cannot be an object, as a look at its ends shows."""
    is_object = line.startswith(b"{") and line.endswith((b"}\n", b"}\r\n"))
    return not is_object and not line.isspace()


def _next_line(file: BinaryIO) -> bytes | None:
    """Empty at the end, or where the last line is not complete; None for a line that is too long, which is skipped."""
    line = file.readline(MAX_LINE_BYTES + 1)
    if line.endswith(b"\n") or len(line) <= MAX_LINE_BYTES:
        return line if line.endswith(b"\n") else b""
    return None if pass_line(file) else b""


def pass_line(file: BinaryIO) -> bool:
    """Moves behind the end of the line that the file stands in. False: it has no end, or none within reach."""
    stop = file.tell() + ENDLESS_LINE_BYTES
    while part := file.readline(1 << 16):
        if part.endswith(b"\n"):
            return True
        if file.tell() >= stop:
            return False
    return False


def _mark(file: BinaryIO, offset: int) -> str:
    import hashlib  # a first prompt reads no transcript

    here, before = file.tell(), max(0, offset - 256)
    file.seek(before)
    mark = hashlib.sha256(file.read(offset - before)).hexdigest()[:16]
    file.seek(here)
    return mark


def _parsed(line: bytes) -> Line | None:
    try:
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        return None
    return value if isinstance(value, dict) else None


class Transcript(
    NamedTuple
):  # one file that a session left, as far as its place and its first lines tell
    path: Path
    session: str = ""
    agent: str = ""  # the subagent whose transcript it is
    cwd: str = ""  # where the session began
    began: Moment | None = None
    size: int = 0
    changed: Moment = Moment(0)
    problem: str = ""  # why it cannot be read
    host: str = ""


def find_transcripts(
    within: Path, read_head: ReadHead, endings: tuple[str, ...] = (".jsonl",), open: Open = open_file,
    depth: int = _MAX_DEPTH,
) -> Iterator[Transcript]:  # fmt: skip
    """Every transcript below a folder, or one file. Follows no link: what stands elsewhere was not left here."""
    if not within.is_dir():
        if os.path.lexists(within):
            yield _read_head(within, read_head, open)
        return
    try:
        found = sorted(within.iterdir())
    except OSError as problem:
        yield Transcript(within, problem=problem.strerror or "cannot be read")
        return
    for path in found:
        if path.name.endswith(endings):
            yield _read_head(path, read_head, open)
        elif path.is_symlink() and path.is_dir():
            yield Transcript(path, problem="a link")
        elif path.is_dir() and depth > 1:
            yield from find_transcripts(path, read_head, endings, open, depth - 1)


def _read_head(path: Path, read_head: ReadHead, open: Open) -> Transcript:
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            return Transcript(
                path, problem="a link" if stat.S_ISLNK(found.st_mode) else "not a file"
            )
        with open(path) as file:
            size = file.seek(0, os.SEEK_END)
    except OSError as problem:
        return Transcript(path, problem=problem.strerror or "cannot be read")
    cwd, session, began, agent = "", "", "", ""
    for line in islice(Tail(path, open=open), 40):
        known = zip((cwd, session, began, agent), read_head(line), strict=True)
        cwd, session, began, agent = (old or storable(new) for old, new in known)
        if cwd and began and session:
            break
    changed, why = Moment(found.st_mtime_ns // 1_000), "" if size else "empty"
    return Transcript(
        path, session or storable(path.stem), agent, cwd, moment(began), size, changed, why
    )


def moment_of_ms(written: object) -> Moment | None:
    """None where it is no number, or none that a calendar knows."""
    if not isinstance(written, int | float) or not 0 <= written < _CALENDAR_ENDS_MS:
        return None
    return Moment(int(written) * 1_000)


def moment(written: str) -> Moment | None:
    try:
        return Moment.parse(written)
    except (ValueError, OverflowError):
        return None
