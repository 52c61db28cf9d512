"""Whether the program on the disk is still the one that this process was started from.

Processes of ours live for days, and an upgrade (`git pull`, `pip install`) replaces files under them. What such a
process has not loaded yet would come from another version, so it does not go on: the daemon ends, the others say what
to do."""

from __future__ import annotations

import os
import time

import recollect

_FOLDER = os.path.dirname(os.path.abspath(recollect.__file__))
_LOOK_AGAIN_S = 1.0

FileStamp = tuple[str, int, int, int]


class Installation:
    """The files of the package, as they were when this was made."""

    def __init__(self, folder: str = _FOLDER) -> None:
        self._folder = folder
        self._files = list_files(folder)
        self._looked_s = float("-inf")
        self._has_changed = False

    def has_changed(self) -> bool:
        """Looks at most once a second: who asks may ask often. What has changed stays changed."""
        now_s = time.monotonic()
        if not self._has_changed and now_s - self._looked_s >= _LOOK_AGAIN_S:
            self._has_changed = list_files(self._folder) != self._files
            self._looked_s = now_s
        return self._has_changed


def list_files(folder: str) -> frozenset[FileStamp]:
    """Every file below it, with what differs once it was written or replaced. Python's own copies do not count."""
    found: set[FileStamp] = set()
    folders = [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name != "__pycache__":
                            folders.append(entry.path)
                        continue
                    status = entry.stat(follow_symlinks=False)
                    found.add((entry.path, status.st_mtime_ns, status.st_size, status.st_ino))
        except OSError:  # it was removed meanwhile: what is missing is a difference
            continue
    return frozenset(found)
