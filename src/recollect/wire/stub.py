"""What agents call: `<home>/bin/hook`, and the precompiled copy of this room beside it.

A copy, because a package that is being upgraded or was removed must not fail a prompt; one file, already compiled,
because compiling at every start would take as long as all the rest. The daemon rewrites what is not its own
(`is_current`), so an upgrade needs no second install."""

import hashlib
import importlib.util
import marshal
import os
import shlex
from contextlib import suppress
from pathlib import Path
from types import CodeType

from recollect import __version__
from recollect.wire.place import program_path

_ROOM = Path(os.path.abspath(__file__)).parent
# The folder that holds the package: site-packages, or the source of a clone.
PACKAGE = str(_ROOM.parent.parent)

# In the order in which they need each other.
_AT_ONCE = ("place", "frame", "pointer", "hook")
_PARTS = (*_AT_ONCE, "lockfile", "client")  # the rest is loaded by a hook without a daemon

# Exits 0 whatever became of Python: without its file Python exits 2, which makes some agents throw the prompt away.
# That it waits for Python, instead of becoming Python, costs too little to measure.
_SCRIPT = """\
#!/bin/sh
# Written by Recollect for the agents that call it; written anew when Recollect changes.
exec 2>/dev/null
[ -x {python} ] && [ -r {code} ] || exit 0
{python} -I -S {code} "$@"
exit 0
"""

# The server of tools, and the program that a plugin's commands call: it knows where `bin` is, not where the program was
# installed. As in client.py, the package comes from the installed folder, everything else from where Python finds it.
# Its home is the one that it stands in: a project's settings can set variables for what an agent starts.
_PROGRAM = """\
#!/bin/sh
# Written by Recollect for the agents that call it; written anew when Recollect changes.
RECOLLECT_HOME={home}
export RECOLLECT_HOME
exec {python} -I -c 'import sys; sys.path.insert(0, sys.argv.pop(1)); import recollect; del sys.path[0]
from recollect.{module} import main; main()' {package} "$@"
"""

# Makes the room out of its parts, without a search for files.
_MAIN = """\
import sys
from marshal import loads
parts = {parts!r}
Module = type(sys)
top, room = Module("recollect"), Module("recollect.wire")
sys.modules["recollect"], sys.modules["recollect.wire"] = top, room
top.__path__, room.__path__, top.wire = [], [], room
def load(name):
    if name not in parts:
        raise AttributeError(name)
    part = Module("recollect.wire." + name)
    sys.modules[part.__name__] = part
    setattr(room, name, part)
    exec(loads(parts[name]), part.__dict__)
    return part
room.__getattr__ = load
for name in {at_once!r}:
    part = load(name)
part.main(sys.argv[1:], home={home!r}, package={package!r}, version={version!r})
"""


def script_path(home: str) -> str:
    return home + "/bin/hook"


def code_path(home: str) -> str:
    return home + "/bin/hook.pyc"


def server_path(home: str) -> str:
    return home + "/bin/mcp"


def write_hook(home: str, python: str, package: str = PACKAGE) -> None:
    """Make or renew what agents call. `python`: a virtual environment's own name for it, not what that points to."""
    with suppress(FileExistsError):
        os.mkdir(home + "/bin", 0o700)
    # The code first: the script may not come before what it calls.
    parts = {
        name: marshal.dumps(_compile(_source(name), f"recollect/wire/{name}.py")) for name in _PARTS
    }
    main = _MAIN.format(
        parts=parts, at_once=_AT_ONCE, home=home, package=package, version=__version__
    )
    code = marshal.dumps(_compile(main.encode("utf-8", "surrogateescape"), "hook"))
    _write(code_path(home), _stamp(home, package) + code)
    for path, text in _scripts(home, python, package).items():
        _write(path, text)


def is_current(home: str, python: str, package: str = PACKAGE) -> bool:
    """Whether agents call exactly what `write_hook` would write."""
    try:
        is_same = all(
            Path(path).read_bytes() == text
            for path, text in _scripts(home, python, package).items()
        )
        return is_same and Path(code_path(home)).read_bytes().startswith(_stamp(home, package))
    except OSError:
        return False


def remove_hook(home: str) -> None:
    for path in (code_path(home), *_scripts(home, "", "")):
        with suppress(OSError):
            os.unlink(path)
    with suppress(OSError):
        os.rmdir(home + "/bin")


def _scripts(home: str, python: str, package: str) -> dict[str, bytes]:
    words = {
        "python": shlex.quote(python),
        "package": shlex.quote(package),
        "code": shlex.quote(code_path(home)),
        "home": shlex.quote(home),
    }
    scripts = {
        script_path(home): _SCRIPT.format(**words),
        server_path(home): _PROGRAM.format(**words, module="mcp.server"),
        program_path(home): _PROGRAM.format(**words, module="cli.main"),
    }
    return {path: os.fsencode(text) for path, text in scripts.items()}


def _stamp(home: str, package: str) -> bytes:
    """The head of a compiled file, with what it was made from: the rest is not the same byte for byte each time."""
    given = "\0".join((home, package, __version__, _MAIN)).encode("utf-8", "surrogateescape")
    sources = b"".join(_source(name) for name in _PARTS)
    return importlib.util.MAGIC_NUMBER + bytes(4) + hashlib.sha256(given + sources).digest()[:8]


def _compile(source: bytes, name: str) -> CodeType:
    return compile(source, name, "exec", dont_inherit=True, optimize=2)


def _source(name: str) -> bytes:
    return (_ROOM / f"{name}.py").read_bytes()


def _write(path: str, content: bytes) -> None:
    """Whole or not at all, and 0700: a hook may be reading the one before."""
    spare = f"{path}.{os.getpid()}"
    with suppress(FileNotFoundError):
        os.unlink(spare)
    fd = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o700)
    with open(fd, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(fd)
    os.replace(spare, path)
