"""Reads the transcript that an agent writes of a session, from where we last stopped.

A transcript is a file of JSON lines that grows while we read it. Lines come one at a time; a last line that is not
yet complete waits for the next read; one that is not a JSON object, or too long to be of use, is counted and skipped.
A file that is no longer the one we read (shorter, or other bytes before our mark) is read from its beginning.

Does not know what a line says: that is each agent's own file. Keeps nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from recollect.base.moment import Moment
from recollect.model.session import ToolCall

# Agents write whole requests into their transcripts; what a person or a tool said is far below this.
MAX_LINE_BYTES = 4_000_000
_CHUNK_BYTES = 1 << 16
_MARK_BYTES = 256


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    voice: Voice
    text: str = ""
    id: str = ""  # the line's own, where it has one: several utterances may share it
    call: ToolCall | None = None  # for a prompt: the call that was refused with these words
    session: str = ""
    """The session that the line says it belongs to, where it says so. A fork's file may begin with another's."""
    prompt_id: str = ""
    agent_id: str = ""
    at: Moment | None = None
    machine_made: bool = False


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a transcript was read. `mark` is a hash of the bytes just before, so that another file is noticed; none
    where the file is known by its size alone."""

    offset: int = 0
    mark: str = ""


class Tail:
    """The complete lines after a cursor, as JSON objects. `cursor` moves with what has been handed out. Lines that are
    not `wanted`, by a look at their bytes, are skipped before anything is parsed."""

    def __init__(self, path: Path, cursor: Cursor | None = None) -> None:
        self.path = path
        self.wanted: Callable[[bytes], bool] | None = None
        self.skipped = 0
        self.restarted = False
        self._cursor = cursor or Cursor()
        self._fd = -1
        self.offset = self._cursor.offset

    @property
    def cursor(self) -> Cursor:
        # The mark is made when it is asked for: most lines are skipped, and a mark costs a read.
        if self._cursor.offset != self.offset and self._fd >= 0:
            self._cursor = Cursor(self.offset, _mark(self._fd, self.offset))
        return self._cursor

    def __iter__(self) -> Iterator[Mapping[str, object]]:
        try:
            fd = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        except (OSError, ValueError):  # not there; or a name no file can have
            return
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                return
            start, self._fd = self._start(fd, found.st_size), fd
            for line, end in self._lines(fd, start):
                self.offset = end
                if line is not None and self.wanted is not None and not self.wanted(line):
                    continue
                parsed = _parsed(line) if line is not None else None
                if parsed is not None:
                    yield parsed
                else:
                    self.skipped += line is None or bool(line.strip())
        finally:
            _ = self.cursor
            self._fd = -1
            os.close(fd)

    def _start(self, fd: int, size: int) -> int:
        offset = self._cursor.offset
        if 0 < offset <= size and self._cursor.mark in ("", _mark(fd, offset)):
            return offset
        self.restarted = offset != 0
        self._cursor, self.offset = Cursor(), 0
        return 0

    def _lines(self, fd: int, start: int) -> Iterator[tuple[bytes | None, int]]:
        """Each line with the offset after it; None for one that is too long, of which only a chunk is ever held."""
        held, too_long, at = bytearray(), False, start
        while chunk := _read(fd, at):
            at += len(chunk)
            *whole, rest = chunk.split(b"\n")
            end = at - len(chunk)
            for piece in whole:
                end += len(piece) + 1
                held += piece
                yield (None if too_long or len(held) > MAX_LINE_BYTES else bytes(held)), end
                held, too_long = bytearray(), False
            held += rest
            if len(held) > MAX_LINE_BYTES:
                held, too_long = bytearray(), True


def _read(fd: int, at: int) -> bytes:
    os.lseek(fd, at, os.SEEK_SET)
    try:
        return os.read(fd, _CHUNK_BYTES)
    except OSError:
        return b""  # the disk or the mount went away: what came so far stands


def _mark(fd: int, offset: int) -> str:
    before = max(0, offset - _MARK_BYTES)
    os.lseek(fd, before, os.SEEK_SET)
    try:
        return hashlib.sha256(os.read(fd, offset - before)).hexdigest()[:16]
    except OSError:
        return ""


def _parsed(line: bytes) -> Mapping[str, object] | None:
    try:
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        return None
    return value if isinstance(value, dict) else None
