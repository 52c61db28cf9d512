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
_MAX_DEPTH = 5
"""Folders below the one that is searched; one more than agents make, for where all of it was copied somewhere."""


class Head(NamedTuple):
    """What one of the first lines tells of a session; empty where it does not."""

    cwd: str = ""
    session: str = ""
    began: str = ""
    agent: str = ""


def find(within: Path, read_head: Callable[[Mapping[str, object]], Head]) -> Iterator[Transcript]:
    """Every transcript below a folder, or one file."""
    if within.is_dir():
        yield from _below(within, _MAX_DEPTH, read_head)
    elif os.path.lexists(within):
        yield _read(within, read_head)


def _below(folder: Path, depth: int, read_head: Callable[[Mapping[str, object]], Head]) -> Iterator[Transcript]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as problem:
        yield Transcript(folder, problem=problem.strerror or "cannot be read")
        return
    for entry in found:
        path, is_named = Path(entry.path), entry.name.endswith(_SUFFIX)
        if entry.is_symlink():
            if is_named or os.path.isdir(path):
                yield Transcript(path, problem="a link")
        elif entry.is_dir(follow_symlinks=False):
            if is_named:
                yield Transcript(path, problem="not a file")
            elif depth > 1:
                yield from _below(path, depth - 1, read_head)
        elif is_named:
            yield _read(path, read_head)


def _read(path: Path, read_head: Callable[[Mapping[str, object]], Head]) -> Transcript:
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
