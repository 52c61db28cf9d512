"""Rendered recalls: files that an agent reads in place of virtual ones.

A private folder for each session, a new file for each recall; kept until the session ends, or a day, because agents
read files again after compaction. No part of a question or of a session's id becomes a name on disk.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from recollect.base.errors import HomeRefused
from recollect.base.files import make_private_folder, write_private
from recollect.base.ids import fresh_key
from recollect.base.moment import DAY_SECONDS, Moment
from recollect.base.settings import environment
from recollect.ops.app import App
from recollect.wire.place import find_place, is_private


def folder_of(app: App) -> Path:
    return Path(find_place(str(app.home.root), environment()).recalls)


def write(folder: Path, session: str, text: str) -> Path | None:
    """The new file; None where none can be made in a place that is ours alone."""
    try:
        for place in (folder.parent, folder, _of_session(folder, session)):
            make_private_folder(place)
            if not is_private(str(place)):
                return None
        path = _of_session(folder, session) / f"{fresh_key()[:16]}.md"
        write_private(path, text)
    except (OSError, HomeRefused):
        return None
    return path


def forget(folder: Path, session: str) -> None:
    _remove(_of_session(folder, session))


def leave(folder: Path) -> None:
    """Where it stands among an agent's own: nothing of ours stays there without use."""
    with suppress(OSError):
        os.rmdir(folder)
        os.rmdir(folder.parent)


def sweep(folder: Path, now: Moment) -> None:
    """Those of sessions that never said goodbye, and of a time that a clock has not reached yet."""
    now_s = now.micros / 1_000_000
    with suppress(OSError):
        for session in list(os.scandir(folder)):
            if session.is_dir(follow_symlinks=False) and abs(now_s - _newest(session.path)) > DAY_SECONDS:
                _remove(Path(session.path))


def _remove(folder: Path) -> None:
    import shutil  # costs a daemon that starts more than all the rest of this file

    shutil.rmtree(folder, ignore_errors=True)


def _newest(folder: str) -> float:
    times = [entry.stat(follow_symlinks=False).st_mtime for entry in os.scandir(folder)]
    return max([os.stat(folder).st_mtime, *times])


def _of_session(folder: Path, session: str) -> Path:
    return folder / hashlib.blake2b(session.encode("utf-8", "replace"), digest_size=12).hexdigest()
