"""Where clients meet the daemon of a home: names of files and folders, and whether a folder is safely ours.

The socket and the spool are in the runtime folder, never in the home, which may be on a network mount: there a
socket cannot be, and waiting for the disk would break a hook's deadline. `$XDG_RUNTIME_DIR` is lost at a reboot,
and the pointers in the spool with it; what they point to is not. The locks are in the home, because processes that
disagree about the runtime folder must still agree on one daemon; `daemon.json` tells them where it listens.

The name of the runtime folder can be guessed, so another user of the machine can take it first. Where it is not ours
alone, or cannot be made, `run` in the home takes its place, even on a slower disk.

Naming a place touches nothing but the status of folders.
"""

import sys

if sys.platform == "win32":
    import os as system
else:
    import posix as system

__all__ = ["Place", "expected_runtime", "find_place", "follow", "is_private", "is_usable", "make_private", "system"]
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_SOCKET_BYTES = 100  # a little under macOS's 104, for the spare name that `listen` binds
_PRIME = 4_294_967_291  # the largest of 32 bits
_KIND = 0o170000
_FOLDER = 0o040000


class Place:
    """Not a NamedTuple: `typing` alone costs a third of a hook."""

    def __init__(self, home: str, runtime: str, *, tcp: bool = False) -> None:
        self.home = home
        self.runtime = runtime
        # A home can have a name that is too long for a socket; a file's may be longer.
        self.tcp = tcp or not _fits(runtime)
        self.socket = runtime + "/socket"
        self.address = runtime + "/address"  # port and token, where there are no Unix sockets
        self.spool = runtime + "/spool"
        self.recalls = runtime + "/recalls"  # rendered recalls, read by the agent in place of virtual files
        self.lock = home + "/daemon.lock"  # held by the daemon as long as it lives
        self.spawn_lock = (
            home + "/spawn.lock"
        )  # held by whoever starts a daemon, then by that daemon, which inherits it
        self.daemon_file = home + "/daemon.json"  # where the last daemon listened


def find_place(home: str, environ: "Mapping[str, str]") -> Place:
    tcp = sys.platform == "win32" or environ.get("RECOLLECT_TRANSPORT") == "tcp"
    own = home + "/run"
    # The process that starts a daemon names the folder in which it waits. Only a folder of this home counts: a stranger
    # may have set the variable.
    named = environ.get("RECOLLECT_RUNTIME", "")
    is_of_home = named == own or (named.startswith("/") and named.endswith("-" + _mark(home)) and _fits(named))
    runtime = named if is_of_home else expected_runtime(home, environ)
    return Place(home, runtime if is_usable(runtime) else own, tcp=tcp)


def expected_runtime(home: str, environ: "Mapping[str, str]") -> str:
    """The folder that every process would choose, whatever is there."""
    if sys.platform == "win32":
        return environ.get("LOCALAPPDATA", home) + "/recollect-" + _mark(home)
    session = environ.get("XDG_RUNTIME_DIR", "")
    runtime = f"{session}/recollect-{_mark(home)}"
    if session.startswith("/") and _fits(runtime) and _exists_and_is_private(session):
        return runtime
    own = f"recollect-{system.geteuid()}-{_mark(home)}"
    temp = environ.get("TMPDIR", "").rstrip("/")
    if temp.startswith("/") and _fits(f"{temp}/{own}"):
        return f"{temp}/{own}"
    return f"/tmp/{own}"  # noqa: S108 - made and checked by make_private


def follow(place: Place) -> Place:
    """The same home where its last daemon listened: processes can disagree about the runtime folder."""
    try:
        file = system.open(place.daemon_file, system.O_RDONLY)
        try:
            content = system.read(file, 8192)
        finally:
            system.close(file)
        if place.socket.encode("utf-8", "surrogateescape") in content:
            return place
        import json

        runtime = json.loads(content)["socket"].rpartition("/")[0]
        if is_private(runtime):
            return Place(place.home, runtime, tcp=place.tcp)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        pass
    return place


def is_private(folder: str) -> bool:
    """A real folder, not a link, that is ours and shut to everyone else. OSError where it cannot be looked at."""
    found = system.lstat(folder)
    if found.st_mode & _KIND != _FOLDER:
        return False
    return sys.platform == "win32" or (found.st_uid == system.geteuid() and not found.st_mode & 0o077)


def is_usable(folder: str) -> bool:
    """Whether it is ours alone, or can be made so."""
    try:
        return is_private(folder)
    except FileNotFoundError:
        return system.access(folder.rpartition("/")[0] or "/", system.W_OK | system.X_OK)
    except OSError:
        return False


def make_private(folder: str) -> None:
    """Make it if it is missing; PermissionError where what is there is not safely ours."""
    try:
        system.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    if not is_private(folder):
        raise PermissionError(f"{folder} is not a private folder of this user's.")


def _mark(home: str) -> str:
    """Tells homes of one user apart, no more; hashlib would cost more than the rest of this file."""
    return f"{int.from_bytes(home.encode('utf-8', 'surrogateescape'), 'big') % _PRIME:08x}"


def _fits(runtime: str) -> bool:
    return len(runtime.encode("utf-8", "surrogateescape")) + len("/socket") <= MAX_SOCKET_BYTES


def _exists_and_is_private(folder: str) -> bool:
    try:
        return is_private(folder)
    except OSError:
        return False
