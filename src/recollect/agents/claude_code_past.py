"""Where Claude Code leaves its transcripts, and what their places and first lines tell.

`<config>/projects/<folder of the session, spelt with dashes>/<session>.jsonl`; subagents below it in
`<session>/subagents/agent-<id>.jsonl`, with older clients beside it as `agent-<id>.jsonl`. The spelling with dashes
cannot be read back, so where a session was begun is taken from its own lines.

Follows no link: what stands elsewhere was not left here. Reads no more than the first lines.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from recollect.agents import Transcript
from recollect.agents.transcript import Tail
from recollect.base.moment import Moment
from recollect.base.text import storable

_SUFFIX = ".jsonl"
_SUBAGENT = "agent-"
_HEAD_LINES = 40
_DEEPEST = 4
"""Folder of a project, of a session, of its subagents; one more where all of it was copied somewhere."""


def transcripts(within: Path) -> Iterator[Transcript]:
    if within.is_dir():
        yield from _below(within, _DEEPEST)
    elif os.path.lexists(within):
        yield _looked_at(within)


def _below(folder: Path, deep: int) -> Iterator[Transcript]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as problem:
        yield Transcript(folder, problem=problem.strerror or "cannot be read")
        return
    for entry in found:
        path = Path(entry.path)
        if entry.is_symlink():
            if entry.name.endswith(_SUFFIX) or os.path.isdir(path):
                yield Transcript(path, problem="a link")
        elif entry.is_dir(follow_symlinks=False):
            if entry.name.endswith(_SUFFIX):
                yield Transcript(path, problem="not a file")
            elif deep > 1:
                yield from _below(path, deep - 1)
        elif entry.name.endswith(_SUFFIX):
            yield _looked_at(path)


def _looked_at(path: Path) -> Transcript:
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            return Transcript(path, problem="a link" if stat.S_ISLNK(found.st_mode) else "not a file")
        os.close(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)))
    except OSError as problem:
        return Transcript(path, problem=problem.strerror or "cannot be read")
    cwd, began, session, agent = "", None, "", ""
    for line in islice(Tail(path), _HEAD_LINES):
        cwd = cwd or _text(line.get("cwd"))
        began = began or _moment(_text(line.get("timestamp")))
        session = session or _text(line.get("sessionId"))
        agent = agent or _text(line.get("agentId"))
        if cwd and began and session:
            break
    is_subagent = path.stem.startswith(_SUBAGENT)
    return Transcript(
        path=path,
        session=session if is_subagent and session else storable(_session_of(path)),
        agent=(agent or storable(path.stem.removeprefix(_SUBAGENT))) if is_subagent else "",
        cwd=cwd,
        began=began,
        size=found.st_size,
        changed=Moment(found.st_mtime_ns // 1_000),
        problem="" if found.st_size else "empty",
    )


def _session_of(path: Path) -> str:
    return path.parent.parent.name if path.parent.name == "subagents" else path.stem


def _text(value: object) -> str:
    return storable(value) if isinstance(value, str) else ""


def _moment(text: str) -> Moment | None:
    try:
        return Moment.parse(text)
    except ValueError:
        return None
