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
from recollect.lifecycle.claims import Claim, Sort, claims
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
    said = [f"{path} is gone" for path in sorted(gone)]
    said += [f"{path} changed since" for path in sorted(changed - gone)]
    named = claims(f"{memory.title}\n{memory.body}")
    said += [words for claim in named if claim.name not in changed and (words := _problem(claim, root))]
    return tuple(dict.fromkeys(said))


def _problem(claim: Claim, root: Path | None) -> str:
    """Empty: it exists, or nobody can say."""
    match claim.sort:
        case Sort.PATH:
            return f"{claim.name} is not there" if _is_missing(claim.name, root) else ""
        case Sort.PROGRAM:
            return f"there is no program {claim.name}" if _no_program(claim.name) else ""
        case Sort.SCRIPT:
            known = _scripts(root) if root else None
            return f"package.json has no script {claim.name}" if known is not None and claim.name not in known else ""
        case Sort.TARGET:
            known = _targets(root) if root else None
            return f"the Makefile has no target {claim.name}" if known is not None and claim.name not in known else ""


def _is_missing(name: str, root: Path | None) -> bool:
    try:
        if name.startswith("~/"):
            return _is_missing(str(user_home() / name[2:]), root)
        if name.startswith("/"):
            # `/api/users` is a route as often as a path: its first folder has to be there.
            first = Path("/") / Path(name).parts[1]
            return first.is_dir() and not os.path.lexists(name)
        if root is None:
            return False
        parts = Path(name).parts
        return ".." not in parts and len(parts) > 1 and (root / parts[0]).is_dir() and not os.path.lexists(root / name)
    except (OSError, ValueError):
        return False


def _no_program(name: str) -> bool:
    """As a shell would look it up, on the PATH of this process."""
    path = environment().get("PATH", "")
    return bool(path) and name not in _BUILT_IN and shutil.which(name, path=path) is None


def _scripts(root: Path) -> set[str] | None:
    """None: there is no such file, or it cannot be read."""
    try:
        held = json.loads(read_limited(root / "package.json", _MAX_BYTES))
        scripts = held.get("scripts", {})
        return set(scripts) if isinstance(scripts, dict) else None
    except (OSError, ValueError, AttributeError, RecursionError):
        return None


def _targets(root: Path) -> set[str] | None:
    """None also if it has pattern rules, or includes other files."""
    for name in _MAKEFILES:
        try:
            text = read_limited(root / name, _MAX_BYTES).decode()
        except (OSError, ValueError):
            continue
        targets = {target for line in _TARGET.findall(text) for target in line.split()}
        is_open = any("%" in one or "$" in one for one in targets) or re.search(r"^-?include\s", text, re.MULTILINE)
        return None if is_open else targets
    return None
