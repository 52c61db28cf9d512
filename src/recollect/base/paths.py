"""Where Recollect keeps its things, and whether that place is safely ours.

`RECOLLECT_HOME`, else `.recollect` in the user's home folder. Only `prepare` makes folders: commands that read work
before there is any home. A home of another user is refused, for reading too."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

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
    if not os.path.isabs(named) and sys.platform != "win32":
        import pwd

        with suppress(KeyError):  # a user who is not in the system's list
            named = pwd.getpwuid(os.getuid()).pw_dir
    if not os.path.isabs(named):
        raise HomeRefused("This user has no home folder.", hint=_NAME_ANOTHER)
    return Path(os.path.normpath(named))


def find_program(word: str, search_path: str, user_home: Path) -> str:
    """The absolute path of the program that a word names; empty if it cannot be run. Only absolute folders of PATH
    count: a relative one would be a folder of whatever project we are in."""
    if word.startswith("~/"):
        word = str(user_home) + word[1:]
    folders = [""] if os.sep in word else search_path.split(os.pathsep)
    endings = [""]
    if sys.platform == "win32":
        endings += os.environ.get("PATHEXT", ".EXE;.CMD").split(";")
    for folder in folders:
        for ending in endings:
            path = os.path.join(folder, word + ending)
            if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return ""


class Home:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.conf = root / "agent.conf"
        self.user_store = root / "user" / "memory.db"
        self.projects = root / "projects"
        self.logs = root / "logs"
        self.hang_report = self.logs / "stuck.log"  # where in the code daemons hung
        self.teams = root / "teams"  # the logins of teams
        self.vault = root / "vault"
        self.erasures = root / "erasures"  # that are not finished yet
        self.embedding_key = (
            root / "embedding.key"
        )  # for an endpoint that wants one; settings are shown, this is not

    def check(self) -> bool:
        """Whether there is a home; HomeRefused when what is there is not safely ours. Changes nothing."""
        try:
            found = os.stat(self.root)
        except (FileNotFoundError, NotADirectoryError):
            if self.root.is_symlink():
                message = f"{self.root} is a link to a place that does not exist."
                raise HomeRefused(message, hint="Make that folder, or remove the link.") from None
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
                found = os.stat(folder)
                _check_ours(folder, found)
                if (
                    stat.S_IMODE(found.st_mode) != PRIVATE_FOLDER
                ):  # some file systems refuse even what changes nothing
                    os.chmod(folder, PRIVATE_FOLDER)
                # Some file systems report success and change nothing.
                is_open = sys.platform != "win32" and os.stat(folder).st_mode & (
                    stat.S_IWGRP | stat.S_IWOTH
                )
            except OSError as error:
                raise _refused(folder, error) from error
            if is_open:
                raise HomeRefused(
                    f"Others can write to {folder}, and that cannot be changed.", hint=_NAME_ANOTHER
                )
            if not os.access(folder, os.W_OK | os.X_OK):
                raise HomeRefused(f"{folder} cannot be written.", hint=_NAME_ANOTHER)


def _check_ours(folder: Path, found: os.stat_result) -> None:
    if not stat.S_ISDIR(found.st_mode):
        raise HomeRefused(f"{folder} is not a folder.", hint=f"Move it away. Or: {_NAME_ANOTHER}")
    if sys.platform != "win32" and found.st_uid != os.geteuid():
        message = f"{folder} belongs to user {found.st_uid}, and this is user {os.geteuid()}."
        raise HomeRefused(message, hint=f"Run as its owner (not through sudo). Or: {_NAME_ANOTHER}")


def _refused(folder: Path, error: OSError) -> HomeRefused:
    why = error.strerror or type(error).__name__
    if isinstance(error, FileNotFoundError):
        hint = f"Make {folder.parent} first. Or: {_NAME_ANOTHER}"
        return HomeRefused(
            f"{folder} cannot be created: {folder.parent} does not exist.", hint=hint
        )
    return HomeRefused(f"{folder} cannot be used: {why}.", hint=_NAME_ANOTHER)
