"""Checks whether what a memory names exists: files of the project, scripts and targets, programs. Reads names and small
files, and runs nothing, whatever a memory says.

In doubt it says nothing: a path counts as gone only if it could be one of this project's, or was a file when the memory
was made. A memory of the user's holds in every project, so only its absolute paths are checked.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

from recollect.app import anchors
from recollect.app.core import App
from recollect.base.files import read_limited
from recollect.base.paths import user_home
from recollect.base.settings import environment
from recollect.lifecycle.claims import Sort, find_claims
from recollect.model.memory import Memory
from recollect.model.result import Scope

_MAX_BYTES = 1_000_000
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_TARGET = re.compile(r"^([^\s:=#][^:=#\n]*):(?!=)", re.MULTILINE)
# Shells know these without a file.
_BUILT_IN = frozenset(
    """alias bg builtin cd command declare echo eval exec exit export fg for function hash if jobs kill let local popd
    printf pushd pwd read return set shift source test time trap type ulimit umask unalias unset until wait
    while""".split()
)


def outdated_claims(app: App, scope: Scope, memory: Memory) -> tuple[str, ...]:
    """What it names that does not exist, and files that changed since, in a few words each."""
    root = app.project.root if app.project is not None and scope is Scope.PROJECT else None
    changed = set(anchors.changed_files(app, memory)) if root else set()
    gone = {path for path in changed if root and not os.path.lexists(root / path)}
    problems = [f"{path} is gone" for path in sorted(gone)]
    problems += [f"{path} changed since" for path in sorted(changed - gone)]
    for sort, name in find_claims(f"{memory.title}\n{memory.body}"):
        is_missing, words = _CHECKS[sort]
        if name not in changed and is_missing(name, root):
            problems.append(words.format(name))
    return tuple(dict.fromkeys(problems))


def _is_missing_path(name: str, root: Path | None) -> bool:
    """`/api/users` is a route as often as a path, and a relative one may be another project's: its first folder has to
    be there."""
    try:
        path = user_home() / name[2:] if name.startswith("~/") else Path(name)
        if path.is_absolute():
            return Path(*path.parts[:2]).is_dir() and not os.path.lexists(path)
        if root is None or ".." in path.parts or len(path.parts) < 2:
            return False
        return (root / path.parts[0]).is_dir() and not os.path.lexists(root / path)
    except (OSError, ValueError):
        return False


def _is_missing_program(name: str, _root: Path | None) -> bool:
    """As a shell would look it up, on the PATH of this process."""
    path = environment().get("PATH", "")
    return bool(path) and name not in _BUILT_IN and shutil.which(name, path=path) is None


def _is_missing_script(name: str, root: Path | None) -> bool:
    try:
        held = json.loads(read_limited(root / "package.json", _MAX_BYTES)) if root else None
        scripts = held.get("scripts", {}) if isinstance(held, dict) else None
        return isinstance(scripts, dict) and name not in scripts
    except (OSError, ValueError, RecursionError):
        return False


def _is_missing_target(name: str, root: Path | None) -> bool:
    """Never where the Makefile has pattern rules, or includes other files."""
    for path in (root / file for file in _MAKEFILES) if root else ():
        try:
            text = read_limited(path, _MAX_BYTES).decode()
        except (OSError, ValueError):
            continue
        targets = {target for line in _TARGET.findall(text) for target in line.split()}
        is_open = any("%" in one or "$" in one for one in targets) or re.search(r"^-?include\s", text, re.MULTILINE)
        return not is_open and name not in targets
    return False


_CHECKS = {
    Sort.PATH: (_is_missing_path, "{} is not there"),
    Sort.PROGRAM: (_is_missing_program, "there is no program {}"),
    Sort.SCRIPT: (_is_missing_script, "package.json has no script {}"),
    Sort.TARGET: (_is_missing_target, "the Makefile has no target {}"),
}
