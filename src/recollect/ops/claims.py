"""Looks whether what a memory names is there: files of the project, scripts and targets, programs. Reads names and
small files, and runs nothing, whatever a memory says.

Errs on the side of silence: a path counts as gone only if it could be one of this project's, or was a file when the
memory was made. A memory of the user's holds in every project, so of its paths only whole ones are looked for.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

from recollect.base.files import read_limited
from recollect.base.paths import user_home
from recollect.base.settings import environment
from recollect.lifecycle.claims import Claim, Sort, claims
from recollect.model.memory import Memory
from recollect.model.result import Scope
from recollect.ops import anchors
from recollect.ops.app import App

_MAX_BYTES = 1_000_000
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_TARGET = re.compile(r"^([^\s:=#][^:=#\n]*):(?!=)", re.MULTILINE)
# Shells know these themselves; they need not be files.
_BUILT_IN = frozenset(
    """alias bg builtin cd command declare echo eval exec exit export fg for function hash if jobs kill let local popd
    printf pushd pwd read return set shift source test time trap type ulimit umask unalias unset until wait
    while""".split()
)


def unfounded(app: App, scope: Scope, memory: Memory) -> tuple[str, ...]:
    """What it names and is not there, and files that changed since, each as a few words."""
    root = app.project.root if app.project is not None and scope is Scope.PROJECT else None
    changed = set(anchors.changed(app, memory)) if root else set()
    gone = {path for path in changed if root and not os.path.lexists(root / path)}
    said = [f"{path} is gone" for path in sorted(gone)]
    said += [f"{path} changed since" for path in sorted(changed - gone)]
    named = claims(f"{memory.title}\n{memory.body}")
    said += [words for claim in named if claim.name not in changed and (words := _lacking(claim, root))]
    return tuple(dict.fromkeys(said))


def _lacking(claim: Claim, root: Path | None) -> str:
    """Empty: it is there, or nobody can say."""
    match claim.sort:
        case Sort.PATH:
            return f"{claim.name} is not there" if _is_missing(claim.name, root) else ""
        case Sort.PROGRAM:
            return f"there is no program {claim.name}" if _no_program(claim.name) else ""
        case Sort.SCRIPT:
            scripts = _scripts(root) if root else None
            return f"package.json has no script {claim.name}" if _not_among(claim.name, scripts) else ""
        case Sort.TARGET:
            targets = _targets(root) if root else None
            return f"the Makefile has no target {claim.name}" if _not_among(claim.name, targets) else ""


def _not_among(name: str, known: set[str] | None) -> bool:
    return known is not None and name not in known


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
    """Looked up as a shell would, in the folders that this process knows."""
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
    """None also where it has rules for patterns, or takes in other files."""
    for name in _MAKEFILES:
        try:
            text = read_limited(root / name, _MAX_BYTES).decode()
        except (OSError, ValueError):
            continue
        targets = {target for line in _TARGET.findall(text) for target in line.split()}
        is_open = any("%" in one or "$" in one for one in targets) or re.search(r"^-?include\s", text, re.MULTILINE)
        return None if is_open else targets
    return None
