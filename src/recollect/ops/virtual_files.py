"""A read of `.ai/recall/<question>` is a question to memory; the agent reads a file with the answer instead. Answers
stand in a private folder per session until it ends or a day has passed: agents read files again after compaction. No
part of a question or of a session's id becomes a name on disk.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from recollect.app.core import App
from recollect.base.errors import HomeRefused
from recollect.base.files import make_private_folder, write_private
from recollect.base.ids import fresh_key
from recollect.base.moment import DAY_SECONDS, Moment
from recollect.base.settings import environment
from recollect.base.text import storable
from recollect.model.session import ToolCall
from recollect.wire.place import find_place, is_private

# What agents call the tool that reads a file. Tools that write a file or search in it are left alone.
READERS = frozenset({"Read", "read", "read_file", "ReadFile"})
_FOLDER = ".ai/recall/"
_MAX_CHARS = 1_000


def read_question(call: ToolCall, roots: Iterable[str]) -> str:
    """What the call asks memory; empty for any other call. Absolute names count only below `roots`: those of other
    projects are not ours to answer."""
    named = next((value for key in ("file_path", "path") if isinstance(value := call.input.get(key), str)), "")
    if call.name not in READERS or not named:
        return ""
    path = named.replace("\\", "/").removeprefix("./")
    for root in ("", *(root.replace("\\", "/").rstrip("/") + "/" for root in roots if root)):
        if path.startswith(root + _FOLDER):
            # As it was written: a secret of several lines is not recognised in one.
            return storable(unquote(path[len(root + _FOLDER) :], errors="replace")).strip()[:_MAX_CHARS]
    return ""


def answers_folder(app: App) -> Path:
    return Path(find_place(str(app.home.root), environment()).recalls)


def write_answer(folder: Path, session: str, text: str) -> Path | None:
    """The new file; None where none can be made in a place that is ours alone."""
    try:
        for place in (folder.parent, folder, _session_folder(folder, session)):
            make_private_folder(place)
            if not is_private(str(place)):
                return None
        path = _session_folder(folder, session) / f"{fresh_key()[:16]}.md"
        write_private(path, text)
    except (OSError, HomeRefused):
        return None
    return path


def remove_answers(folder: Path, session: str, *, with_folder: bool) -> None:
    """`with_folder`: it stands among an agent's own files, where nothing of ours stays without use."""
    _remove(_session_folder(folder, session))
    if with_folder:
        with suppress(OSError):
            os.rmdir(folder)
            os.rmdir(folder.parent)


def sweep_old_answers(folder: Path, now: Moment) -> None:
    """Removes the answers of sessions that never ended, and answers dated in the future."""
    now_s = now.micros / 1_000_000
    with suppress(OSError):
        for session in [one for one in os.scandir(folder) if one.is_dir(follow_symlinks=False)]:
            newest_s = max(os.stat(path).st_mtime for path in (session.path, *os.scandir(session.path)))
            if abs(now_s - newest_s) > DAY_SECONDS:
                _remove(Path(session.path))


def _remove(folder: Path) -> None:
    import shutil  # its import takes longer than all the rest of this file

    shutil.rmtree(folder, ignore_errors=True)


def _session_folder(folder: Path, session: str) -> Path:
    return folder / hashlib.blake2b(session.encode("utf-8", "replace"), digest_size=12).hexdigest()
