"""Where Recollect keeps its things, and whether that place is safely ours.

`RECOLLECT_HOME`, else `.recollect` in the user's home folder. Naming a place touches nothing, so
reading commands work before there is any home; only `prepare` makes folders.

Relies on one owner: a home of another user is refused, for reading too. Says nothing about which
project a folder belongs to (project.py).
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from recollect.base.errors import HomeRefused
from recollect.base.files import PRIVATE_FOLDER, make_private_folder

_NAME_ANOTHER = "Set RECOLLECT_HOME to a folder of your own."


def home(environ: Mapping[str, str] | None = None) -> Path:
    """The absolute path of our folder; whether it exists is not asked."""
    environ = os.environ if environ is None else environ
    named = environ.get("RECOLLECT_HOME", "")
    if named:
        if named == "~" or named.startswith("~/"):
            # Written in a settings file, where no shell expands it.
            named = str(user_home(environ)) + named[1:]
        return Path(os.path.abspath(named))
    return user_home(environ) / ".recollect"


def user_home(environ: Mapping[str, str] | None = None) -> Path:
    """The user's own home folder: never a project, and where ours stands unless told otherwise."""
    environ = os.environ if environ is None else environ
    named = environ.get("USERPROFILE" if sys.platform == "win32" else "HOME", "")
    if os.path.isabs(named):
        return Path(os.path.normpath(named))
    listed = _listed_home()
    if listed and os.path.isabs(listed):
        return Path(listed)
    raise HomeRefused("This user has no home folder.", hint=_NAME_ANOTHER)


def _listed_home() -> str | None:
    """From the system's list of users."""
    if sys.platform == "win32":
        return None
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None


# A NamedTuple here and in the two files beside: built five times faster than a frozen dataclass,
# and these are loaded by every command.
class Home(NamedTuple):
    root: Path

    @property
    def conf(self) -> Path:
        return self.root / "agent.conf"

    @property
    def user_store(self) -> Path:
        return self.root / "user" / "memory.db"

    @property
    def projects(self) -> Path:
        return self.root / "projects"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def embedding_key(self) -> Path:
        """What an endpoint that makes vectors wants to be shown; most want nothing. Settings are shown, this is not."""
        return self.root / "embedding.key"

    @property
    def vault(self) -> Path:
        return self.root / "vault"

    def check(self) -> bool:
        """Whether there is a home; HomeRefused when what is there is not safely ours. Changes nothing."""
        try:
            found = os.stat(self.root)
        except (FileNotFoundError, NotADirectoryError):
            if self.root.is_symlink():
                raise HomeRefused(
                    f"{self.root} is a link to a place that is not there.", hint="Make that folder, or remove the link."
                ) from None
            return False
        except OSError as error:
            raise _refused(self.root, error) from error
        _check_ours(self.root, found)
        return True

    def prepare(self) -> None:
        """Make what is missing, and shut out everyone else whatever the umask or the modes before."""
        self.check()
        for folder in (self.root, self.user_store.parent, self.projects, self.logs):
            try:
                make_private_folder(folder)
                _shut(folder)
            except OSError as error:
                raise _refused(folder, error) from error
            if not os.access(folder, os.W_OK | os.X_OK):
                raise HomeRefused(f"{folder} cannot be written.", hint=_NAME_ANOTHER)


def _check_ours(folder: Path, found: os.stat_result) -> None:
    if not stat.S_ISDIR(found.st_mode):
        raise HomeRefused(f"{folder} is not a folder.", hint=f"Move it away. Or: {_NAME_ANOTHER}")
    if sys.platform != "win32" and found.st_uid != os.geteuid():
        raise HomeRefused(
            f"{folder} belongs to user {found.st_uid}, and this is user {os.geteuid()}.",
            hint=f"Run as its owner (not through sudo). Or: {_NAME_ANOTHER}",
        )


def _shut(folder: Path) -> None:
    if sys.platform == "win32":
        return
    found = os.stat(folder)
    _check_ours(folder, found)
    if stat.S_IMODE(found.st_mode) == PRIVATE_FOLDER:
        return
    os.chmod(folder, PRIVATE_FOLDER)
    # Some file systems nod and change nothing.
    if os.stat(folder).st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise HomeRefused(f"Others can write to {folder}, and that cannot be changed.", hint=_NAME_ANOTHER)


def _refused(folder: Path, error: OSError) -> HomeRefused:
    why = error.strerror or type(error).__name__
    if isinstance(error, FileNotFoundError):
        return HomeRefused(
            f"{folder} cannot be made: {folder.parent} is not there.",
            hint=f"Make {folder.parent} first. Or: {_NAME_ANOTHER}",
        )
    return HomeRefused(f"{folder} cannot be used: {why}.", hint=_NAME_ANOTHER)
