"""Finds the transcripts that an agent left, as files of JSON lines below a folder.

Follows no link: what stands elsewhere was not left here. Reads no more than the first lines of each.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from recollect.agents import Transcript
from recollect.agents.payload import moment
from recollect.agents.transcript import Tail
from recollect.base.moment import Moment
from recollect.base.text import storable

_SUFFIX = ".jsonl"
_HEAD_LINES = 40
_MAX_DEPTH = 5  # folders below the one that is searched; one more than agents make, in case all of it was copied


class Head(NamedTuple):
    """What one of the first lines tells of a session; empty where it does not."""

    cwd: str = ""
    session: str = ""
    began: str = ""
    agent: str = ""


ReadHead = Callable[[Mapping[str, object]], Head]


def find_transcripts(within: Path, read_head: ReadHead) -> Iterator[Transcript]:
    """Every transcript below a folder, or one file."""
    if within.is_dir():
        yield from _find_below(within, _MAX_DEPTH, read_head)
    elif os.path.lexists(within):
        yield _read(within, read_head)


def _find_below(folder: Path, depth: int, read_head: ReadHead) -> Iterator[Transcript]:
    try:
        found = sorted(folder.iterdir())
    except OSError as problem:
        yield Transcript(folder, problem=problem.strerror or "cannot be read")
        return
    for path in found:
        if path.name.endswith(_SUFFIX):
            yield _read(path, read_head)
        elif path.is_symlink() and path.is_dir():
            yield Transcript(path, problem="a link")
        elif path.is_dir() and depth > 1:
            yield from _find_below(path, depth - 1, read_head)


def _read(path: Path, read_head: ReadHead) -> Transcript:
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            return Transcript(path, problem="a link" if stat.S_ISLNK(found.st_mode) else "not a file")
        os.close(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)))
    except OSError as problem:
        return Transcript(path, problem=problem.strerror or "cannot be read")
    head = Head()
    for line in islice(Tail(path), _HEAD_LINES):
        head = Head(*(old or storable(new) for old, new in zip(head, read_head(line), strict=True)))
        if head.cwd and head.began and head.session:
            break
    return Transcript(
        path=path,
        session=head.session or storable(path.stem),
        agent=head.agent,
        cwd=head.cwd,
        began=moment(head.began),
        size=found.st_size,
        changed=Moment(found.st_mtime_ns // 1_000),
        problem="" if found.st_size else "empty",
    )
