"""Which project a folder belongs to, and which store is that project's.

Found by reading files, never by running git: the first `.git` upwards (worktrees share their main repository, a
submodule is its own), else the nearest `.ai/`, else the folder itself. The user's home, what is above it, and the root
are never a project.

A stranger may have written anything in a tree, so a pointer out of it counts only if the place it names points back: an
unpacked archive could claim another project's memory. For that reason keys made of paths begin with `p`, as no id can.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recollect.base.errors import NotFound
from recollect.base.files import (
    PRIVATE_FILE,
    create_new,
    make_private_folder,
    read_limited,
    write_private,
)
from recollect.base.text import storable

if TYPE_CHECKING:
    from recollect.base.git_files import Repository

ID_FILE = "recollect-id"
_ATTACHED = "attached"
_CARD = "project.json"
# Patterns stay text until used: most commands need one of them.
_ID = r"[0-9a-f]{32}"
_KEY_CHARS_SHOWN = 12
_FOLDER = r"[A-Za-z0-9._-]{1,60}-[0-9a-fp][0-9a-f]{11}"
_WORKTREE_LINE = r'(?i:worktree)\s*=\s*"?([^"\x00]+?)"?'

# `recall/` is not among them: nothing is ever written there, and some agents refuse to read what is ignored.
_IGNORED = """\
# State that Recollect shows here. It is yours alone and changes all the time.
/heartbeat.json
/focus.json
/.gitignore
"""


class Project(NamedTuple):
    # Where `.ai/` stands: the main work tree, or the folder itself.
    root: Path
    name: str
    common_dir: Path | None
    # 32 characters: an id kept in the common dir, or `p` and a hash of the path.
    key: str

    @property
    def conf(self) -> Path:
        return self.root / ".ai" / "agent.conf"


class Known(
    NamedTuple
):  # a store folder, for people to look at. `attached` names the one it points to, if any
    folder: Path
    name: str
    root: str
    exists: bool
    attached: str


def find(cwd: Path, user_home: Path) -> Project | None:
    """The project of a folder; None for the home folder, what is above it, and the root."""
    here, home = os.path.realpath(cwd), Path(os.path.realpath(user_home))
    barred = frozenset(str(folder) for folder in (home, *home.parents))
    if _is_barred(here, barred):
        return None
    folder, viewed = here, ""
    while not _is_barred(folder, barred) and not _is_shared_temp(folder):
        if project := _git_project(folder, barred):
            return project
        if not viewed and os.path.isdir(os.path.join(folder, ".ai")):
            viewed = folder
        folder = os.path.dirname(folder)
    return _project(viewed or here)


def _is_barred(folder: str, barred: frozenset[str]) -> bool:
    return folder in barred or os.path.dirname(folder) == folder


def _is_shared_temp(folder: str) -> bool:
    """A temporary folder of the system's: anyone can plant a `.git` there for everyone below."""
    with suppress(OSError):
        mode = os.stat(folder).st_mode
        return bool(mode & stat.S_ISVTX and mode & stat.S_IWOTH)
    return False


def _project(root: str, common: str | None = None, named: str = "") -> Project:
    """Without an id, it is known by its path: a folder keeps its memory when it becomes a repository."""
    key = (common and _pointer(os.path.join(common, ID_FILE), _ID)) or _path_key(
        _anchor(common) if common else root
    )
    name = storable(os.path.basename(named or root)) or "project"
    return Project(Path(root), name, Path(common) if common else None, key)


def _git_project(folder: str, barred: frozenset[str]) -> Project | None:
    if os.path.lexists(os.path.join(folder, ".git")):
        common = _common_dir(folder)
    elif os.path.isfile(os.path.join(folder, "HEAD")) and all(
        os.path.isdir(os.path.join(folder, part)) for part in ("objects", "refs")
    ):  # a git dir without a work tree around it, or one we stand in
        common = folder
    else:
        return None
    if common is None:
        return _project(folder)
    for tree in (os.path.dirname(common), _configured_tree(common)):
        if tree is not None and not _is_barred(tree, barred) and _git_dir(tree) == common:
            return _project(tree, common)
    # Bare: `proj` for `proj.git`, `proj/.bare` and `proj/.git`.
    is_inside = os.path.basename(common) in {".git", ".bare"}
    return _project(
        folder, common, os.path.dirname(common) if is_inside else common.removesuffix(".git")
    )


def _common_dir(folder: str) -> str | None:
    """What all work trees of this repository share; None where `.git` is malformed or proves nothing."""
    git_dir, dot_git = _git_dir(folder), os.path.join(folder, ".git")
    if git_dir is None or not os.path.lexists(os.path.join(git_dir, "HEAD")):
        return None
    if git_dir == dot_git:
        return git_dir
    if not os.path.lexists(os.path.join(git_dir, "commondir")):
        is_ours = (
            git_dir.startswith(os.path.join(folder, "")) or _configured_tree(git_dir) == folder
        )
        return git_dir if is_ours else None
    up, back = (_pointer(os.path.join(git_dir, name)) for name in ("commondir", "gitdir"))
    if not (up and back):
        return None
    common = os.path.realpath(os.path.join(git_dir, up))
    is_listed = os.path.dirname(git_dir) == os.path.join(common, "worktrees")
    points_back = os.path.realpath(os.path.join(git_dir, back)) == dot_git
    return (
        common
        if is_listed and points_back and os.path.lexists(os.path.join(common, "HEAD"))
        else None
    )


def _git_dir(folder: str) -> str | None:
    """Where `.git` leads: itself, or where its one line `gitdir: …` says."""
    dot_git = os.path.join(folder, ".git")
    if os.path.isdir(dot_git):
        return os.path.realpath(dot_git)
    pointer = _pointer(dot_git)
    if not pointer.startswith("gitdir:"):
        return None
    target = os.path.realpath(os.path.join(folder, pointer.removeprefix("gitdir:").strip()))
    return target if os.path.isdir(target) else None


def _configured_tree(git_dir: str) -> str | None:
    """`core.worktree`, which git sets for submodules."""
    for name in ("config.worktree", "config"):
        try:
            content = os.fsdecode(read_limited(Path(git_dir, name), 262_144))
        except (OSError, ValueError):
            continue
        section = ""
        for line in map(str.strip, content.split("\n")):
            if line.startswith("["):
                section = line.lower()
            elif section == "[core]" and (found := re.fullmatch(_WORKTREE_LINE, line)):
                return os.path.realpath(os.path.join(git_dir, found[1]))
    return None


def _pointer(path: str, pattern: str = ".+") -> str:
    """The one line of a small file, as a path; empty for anything else."""
    try:
        content = os.fsdecode(read_limited(Path(path), 8_192).strip())
    except (OSError, ValueError):
        return ""
    return content if "\x00" not in content and re.fullmatch(pattern, content) else ""


def _anchor(common: str) -> str:
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common


def _path_key(folder: str) -> str:
    import hashlib  # only where there is no id to read

    return "p" + hashlib.sha256(os.fsencode(os.path.normcase(folder))).hexdigest()[:31]


def repository(project: Project) -> Repository | None:
    """Its git repository, to be read by our own code."""
    if project.common_dir is None:
        return None
    from recollect.base.git_files import Repository  # no hook needs it before its answer

    git_dir = _git_dir(str(project.root)) or project.common_dir
    return Repository(Path(git_dir), project.common_dir)


def linked_repository(project: Project) -> Repository | None:
    """The same for a person who names this project as theirs: also where its git dir stands apart, or borrows objects
    from another repository."""
    git_dir = project.common_dir or _git_dir(str(project.root))
    if git_dir is None:
        return None
    from recollect.base.git_files import Repository

    head_dir = _git_dir(str(project.root)) or git_dir
    return Repository(Path(head_dir), Path(git_dir), follow_alternates=True)


def claim(projects: Path, project: Project, fresh: str) -> Project:
    """Give a repository the id that lets it move, `fresh`, before its first store is made: one under its path stays."""
    if (
        project.common_dir is None
        or re.fullmatch(_ID, project.key)
        or store_folder(projects, project)
    ):
        return project
    if not re.fullmatch(_ID, fresh):
        raise ValueError("an id is 32 hex digits")
    with suppress(OSError):
        create_new(project.common_dir / ID_FILE, fresh + "\n", mode=PRIVATE_FILE)
    # Read again: another process may have been first.
    return project._replace(key=_pointer(str(project.common_dir / ID_FILE), _ID) or project.key)


def store_folder(projects: Path, project: Project) -> Path | None:
    """The folder that holds the project's store, if there is one. Makes nothing."""
    own = _own_folder(projects, project)
    return own and _resolve_attached(projects, own)


def make_store_folder(projects: Path, project: Project) -> Path:
    """The same, made if it is not there."""
    folder = store_folder(projects, project)
    if folder is None:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", project.name)[:40].strip(".-") or "project"
        folder = projects / f"{name}-{project.key[:_KEY_CHARS_SHOWN]}"
        make_private_folder(folder)
    if not os.path.isdir(
        _card(folder).get("root", "")
    ):  # new, or the project has moved: note where it is now
        import json

        # What people see of the project. Never read to decide whose store it is.
        card = {"name": project.name, "root": str(project.root), "key": project.key}
        card["common_dir"] = str(project.common_dir or "")
        # ASCII escapes: a path may hold bytes that are not text.
        write_private(folder / _CARD, json.dumps(card, indent=2) + "\n")
    return folder


def attach(projects: Path, project: Project, folder_name: str) -> Path:
    """Let the project use that store folder from now on; naming its own again undoes it."""
    names = [folder.name for folder in _folders(projects)]
    if folder_name not in names:
        import difflib

        near = difflib.get_close_matches(folder_name, names, n=3, cutoff=0.5) or names[:10]
        hint = f"Did you mean {' or '.join(near)}?" if near else "No project has a store yet."
        raise NotFound(f"No project's store is called {folder_name!r}.", hint=hint)
    own = _own_folder(projects, project) or make_store_folder(projects, project)
    target = projects / folder_name
    if target != own:
        # A folder that points on stands for the one it points to, so there are no chains.
        target = _resolve_attached(projects, target)
    if target == own:
        (own / _ATTACHED).unlink(missing_ok=True)
        return own
    write_private(own / _ATTACHED, target.name + "\n")
    return make_store_folder(projects, project)


def known(projects: Path) -> tuple[Known, ...]:
    """Every store folder there is, by name."""
    found = []
    for folder in _folders(projects):
        card = _card(folder)
        root = card.get("root", "")
        name = card.get("name") or folder.name[: -_KEY_CHARS_SHOWN - 1]
        found.append(
            Known(
                folder, name, root, os.path.isdir(root), _pointer(str(folder / _ATTACHED), _FOLDER)
            )
        )
    return tuple(found)


def _folders(projects: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(projects))
    except OSError:
        return []
    return [
        projects / name
        for name in names
        if re.fullmatch(_FOLDER, name) and os.path.isdir(projects / name)
    ]


def _own_folder(projects: Path, project: Project) -> Path | None:
    """By key alone: the name part is what the project was called when the store was made."""
    keys = [project.key]
    # A store from before there was an id, made where the id could not be written.
    if project.common_dir is not None and re.fullmatch(_ID, project.key):
        keys.append(_path_key(_anchor(str(project.common_dir))))
    ends, folders = ["-" + key[:_KEY_CHARS_SHOWN] for key in keys], _folders(projects)
    return next((folder for end in ends for folder in folders if folder.name.endswith(end)), None)


def _resolve_attached(projects: Path, folder: Path) -> Path:
    target = projects / (_pointer(str(folder / _ATTACHED), _FOLDER) or folder)
    return target if os.path.isdir(target) else folder


def _card(folder: Path) -> dict[str, str]:
    import json

    try:
        card = json.loads(read_limited(folder / _CARD, 65_536))
        return {
            key: value
            for key, value in card.items()
            if isinstance(value, str) and "\x00" not in value
        }
    except (OSError, ValueError, RecursionError, AttributeError):  # the last where it is no object
        return {}


def prepare_view(root: Path) -> None:
    """Keep our state files out of the user's commits. Quietly nothing where it cannot be written."""
    folder = root / ".ai"
    with suppress(OSError):
        with suppress(FileExistsError):
            os.mkdir(folder)
        create_new(folder / ".gitignore", _IGNORED, mode=0o644)
