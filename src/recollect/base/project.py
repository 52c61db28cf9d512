"""Which project a folder belongs to, and which store is that project's.

Found by reading files, never by running git: the first `.git` upwards (worktrees share their main repository, a
submodule is its own), else the nearest `.ai/`, else the folder itself. The user's home, what is above it, and the root
are never a project.

A stranger may have written anything in a tree, so a pointer out of it counts only if the place it names points back: an
unpacked archive could claim another project's memory. For that reason keys made of paths begin with `p`, as no id can.

A path says where a project is, not which one: the folder may be removed and another put in its place. So a tree holds a
random id (a repository in its git dir, which a clone does not carry; a folder in `.ai/`), and a store that has met one
is given to no tree without it. An id that is still at its old place, too, came here with a copy. Who has no store but
looks like a project that has one (the same first commit, say) is offered its memory; a person decides.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recollect.base.errors import HomeRefused, NotFound
from recollect.base.files import (
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    create_new,
    make_private_folder,
    read_limited,
    write_private,
    write_view,
)
from recollect.base.text import one_line, storable

if TYPE_CHECKING:
    from recollect.base.git_files import Repository

ID_FILE = "recollect-id"
_ATTACHED = "attached"
_OWNER = "owner"  # in a store under a path: the id of the tree that it belongs to
_OFFERED = "offered"  # in a new store: others that may be this project's
_CARD = "project.json"
# Patterns stay text until used: most commands need one of them.
_ID = r"[0-9a-f]{32}"
_KEY_CHARS_SHOWN = 12
_FOLDER = r"[A-Za-z0-9._-]{1,60}-[0-9a-fp][0-9a-f]{11}"
_MAX_OFFERS = 3

# `recall/` is not among them: nothing is ever written there, and some agents refuse to read what is ignored.
_IGNORED = """\
# State that Recollect shows here. It is yours alone and changes all the time.
/heartbeat.json
/focus.json
/recollect-id
/.gitignore
"""
_IGNORED_BEFORE = _IGNORED.replace(f"/{ID_FILE}\n", "")


class Project(NamedTuple):
    # Where `.ai/` stands: the main work tree, or the folder itself.
    root: Path
    name: str
    common_dir: Path | None
    # 32 characters: an id kept in the common dir, or `p` and a hash of the path.
    key: str
    # The id that stands in `.ai/`, for a folder that is no repository, or was none.
    mark: str = ""

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


def locate(projects: Path, cwd: Path, user_home: Path) -> Project | None:
    """The same, as this home knows it: a copy of a repository that is still at its old place does not go by the id that
    was copied along."""
    project = find(cwd, user_home)
    if project is None or project.common_dir is None:
        return project
    if re.fullmatch(_ID, project.key) and _is_held_elsewhere(projects, project):
        return project._replace(key=_path_key(_anchor(str(project.common_dir))))
    return project


def _is_held_elsewhere(projects: Path, project: Project) -> bool:
    """Whether another repository that is there now has the same id, and was the first to."""
    for folder in _folders(projects, project.key):
        first = _card(folder).get("common_dir", "")
        if not first or first == str(project.common_dir):
            return False
        with suppress(OSError):
            if project.common_dir and os.path.samefile(first, project.common_dir):
                return False
        return _pointer(os.path.join(first, ID_FILE), _ID) == project.key
    return False


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
    name = one_line(storable(os.path.basename(named or root))) or "project"
    mark = "" if re.fullmatch(_ID, key) else _pointer(os.path.join(root, ".ai", ID_FILE), _ID)
    return Project(Path(root), name, Path(common) if common else None, key, mark)


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
            elif section == "[core]" and (tree := _worktree_of(line)):
                return os.path.realpath(os.path.join(git_dir, tree))
    return None


def _worktree_of(line: str) -> str:
    """The path in a line `worktree = path`; empty for any other. No pattern: the line may be as long as the file."""
    name, _, value = line.partition("=")
    path = value.strip().removeprefix('"').removesuffix('"')
    is_path = name.strip().lower() == "worktree" and '"' not in path and "\x00" not in path
    return path if is_path else ""


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
    return Repository(Path(head_dir), Path(git_dir), may_lead_out=True)


def claim(projects: Path, project: Project, fresh: str) -> Project:
    """Give a repository the id that lets it move, `fresh`, before its first store is made: one under its path stays."""
    if (
        project.common_dir is None
        or re.fullmatch(_ID, project.key)
        or store_folder(projects, project)
    ):
        return project
    return _give_id(projects, project, fresh)


def _give_id(projects: Path, project: Project, fresh: str) -> Project:
    """Where it cannot be written, the project goes on by its path."""
    if project.common_dir is None:
        return project
    if not re.fullmatch(_ID, fresh):
        raise ValueError("an id is 32 hex digits")
    path = project.common_dir / ID_FILE
    carried = project._replace(key=_pointer(str(path), _ID))
    with suppress(OSError, HomeRefused):
        if carried.key and _is_held_elsewhere(projects, carried):
            write_private(path, fresh + "\n")
        else:
            create_new(path, fresh + "\n", mode=PRIVATE_FILE)
    # Read again: another process may have been first.
    now = project._replace(key=_pointer(str(path), _ID), mark="")
    return now if now.key and not _is_held_elsewhere(projects, now) else project


def settle(projects: Path, project: Project, fresh: str, max_commits: int) -> Project:
    """Binds a store that exists to the tree it is used from, and notes what else the tree can be recognised by."""
    own = _own_folder(projects, project)
    if own is None:
        return project
    if own.name.endswith(_end(project.key)) and re.fullmatch(_ID, project.key):
        _note_place(own, project)
    elif project.common_dir is not None:
        project = _bind_repository(projects, project, own, fresh)
    else:
        project = _bind_folder(project, own, fresh)
    note_first_commit(projects, project, max_commits)
    return project


def _bind_repository(projects: Path, project: Project, own: Path, fresh: str) -> Project:
    """A store under the path, of a folder that became a repository or from before there were ids: from now on it is
    found by the id."""
    if not re.fullmatch(_ID, project.key):
        project = _give_id(projects, project, _owner(own) or fresh)
    if re.fullmatch(_ID, project.key):
        write_private(own / _OWNER, project.key + "\n")
        pointer = projects / f"{_safe_name(project)}{_end(project.key)}"
        make_private_folder(pointer)
        write_private(pointer / _ATTACHED, own.name + "\n")
        _note_place(pointer, project)
    return project


def _bind_folder(project: Project, own: Path, fresh: str) -> Project:
    if _owner(own):
        return project
    path = project.root / ".ai" / ID_FILE
    prepare_view(project.root)
    with suppress(OSError):
        create_new(path, fresh + "\n", mode=PRIVATE_FILE)
    mark = _pointer(str(path), _ID)
    if mark:
        write_private(own / _OWNER, mark + "\n")
    return project._replace(mark=mark)


def store_folder(projects: Path, project: Project) -> Path | None:
    """The folder that holds the project's store, if there is one. Makes nothing."""
    own = _own_folder(projects, project)
    return own and _resolve_attached(projects, own)


def make_store_folder(projects: Path, project: Project) -> Path:
    """The same, made if it is not there."""
    folder = store_folder(projects, project)
    if folder is None:
        offered = [store.folder.name for store in lookalikes(projects, project)]
        folder = _make_folder(projects, project)
        if offered:
            write_private(folder / _OFFERED, "\n".join(offered) + "\n")
    if not os.path.isdir(_card(folder).get("root", "")):
        _write_card(folder, project)  # new, or the project has moved: note where it is now
    return folder


def _make_folder(projects: Path, project: Project) -> Path:
    """Another process may make it at the same moment: then it is that one. The store of another tree that was at this
    path may have the name: then it gets a number."""
    name, end = _safe_name(project), _end(project.key)
    folder, number = projects / f"{name}{end}", 1
    while True:
        try:
            os.mkdir(folder, PRIVATE_FOLDER)
        except FileExistsError:
            made_meanwhile = _own_folder(projects, project)
            if made_meanwhile is not None:
                return _resolve_attached(projects, made_meanwhile)
            number += 1
            folder = projects / f"{name}-{number}{end}"
        else:
            os.chmod(folder, PRIVATE_FOLDER)  # whatever the umask
            return folder


def _safe_name(project: Project) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", project.name)[:40].strip(".-") or "project"


def _end(key: str) -> str:
    return f"-{key[:_KEY_CHARS_SHOWN]}"


def _note_place(folder: Path, project: Project) -> None:
    """Where the owner of this id is now."""
    card = _card(folder)
    is_known = card.get("common_dir") == str(project.common_dir) and os.path.isdir(card["root"])
    if not is_known:
        _write_card(folder, project)


def _write_card(folder: Path, project: Project, **more: str) -> None:
    import json

    # What people see of the project, and what copies are recognised by. Never read to decide whose store it is.
    card = {"name": project.name, "root": str(project.root), "key": project.key}
    card["common_dir"] = str(project.common_dir or "")
    before = _card(folder)
    card |= {name: before[name] for name in ("first_commit", "remote") if name in before}
    # ASCII escapes: a path may hold bytes that are not text.
    write_private(folder / _CARD, json.dumps(card | more, indent=2) + "\n")


def note_first_commit(projects: Path, project: Project, max_commits: int) -> None:
    """By which a clone elsewhere is recognised. Once per project: a longer history is left to who has more time."""
    folder = store_folder(projects, project)
    if folder is None or project.common_dir is None:
        return
    card = _card(folder)
    if "first_commit" in card or card.get("root") != str(project.root):
        return
    own = repository(project)
    first = own.first_commit(max_commits, mainline=True) if own else None
    if own and first and first.id:
        from recollect.base.git_files import normal_remote

        _write_card(folder, project, first_commit=first.id, remote=normal_remote(own.remote))


def lookalikes(projects: Path, project: Project) -> tuple[Known, ...]:
    """Stores of others that may be this project's: their first commit is in it, or they were at this path or had the id
    that is in it. All of that is what a tree says of itself, so it decides nothing."""
    own = store_folder(projects, project)
    here = repository(project)
    found = []
    for store in known(projects):
        is_other = store.folder != own and not store.attached and _has_memory(store.folder)
        if is_other and _looks_alike(store.folder, project, here):
            found.append(store)
    found.sort(key=lambda store: store.root != str(project.root))
    return tuple(found[:_MAX_OFFERS])


def _looks_alike(folder: Path, project: Project, here: Repository | None) -> bool:
    card = _card(folder)
    first = card.get("first_commit", "")
    if here is not None and first:
        return here.has_root_commit(first) or _is_without_its_history(card, project, here)
    ids = {project.mark}
    if project.common_dir is not None:
        ids.add(_pointer(str(project.common_dir / ID_FILE), _ID))
    is_same_id = bool({_owner(folder), card.get("key", "")} & (ids - {""}))
    return is_same_id or card.get("root") == str(project.root)


def _is_without_its_history(card: dict[str, str], project: Project, here: Repository) -> bool:
    """Whether a repository that lacks the first commit may be the same one nevertheless."""
    from recollect.base.git_files import normal_remote

    remote = normal_remote(here.remote)
    has_same_remote = remote == card.get("remote", "")
    if card.get("root") == str(project.root):  # its history was begun anew
        return has_same_remote or here.head() is None
    return here.is_shallow and bool(remote) and has_same_remote


def _has_memory(folder: Path) -> bool:
    return os.path.isfile(folder / "memory.db")


def offers(projects: Path, project: Project) -> tuple[Known, ...]:
    """The stores that a person may want to use here: found when this project was new, until one is attached or all are
    declined."""
    own = _own_folder(projects, project)
    if own is None:
        return lookalikes(projects, project)
    try:
        names = os.fsdecode(read_limited(own / _OFFERED, 8_192)).split()
    except OSError:
        return ()
    return tuple(store for store in known(projects) if store.folder.name in names)


def here_since_s(projects: Path, project: Project) -> float:
    """Since when this tree is at its path (seconds); 0 where nothing says that another project was there before."""
    own = store_folder(projects, project)
    is_second = any(
        store.root == str(project.root) and store.folder != own and not store.attached
        for store in known(projects)
    )
    if not is_second:
        return 0.0
    signs = [project.root / ".ai" / ID_FILE]
    with suppress(OSError):
        if project.common_dir is not None:
            signs = [project.common_dir / name for name in os.listdir(project.common_dir)]
        return min(os.lstat(sign).st_mtime for sign in signs)
    return float("inf")


def detach(projects: Path, project: Project) -> Path:
    """Its own store again, and nothing is offered any more."""
    own = _own_folder(projects, project) or make_store_folder(projects, project)
    for name in (_ATTACHED, _OFFERED):
        (own / name).unlink(missing_ok=True)
    return own


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
    (own / _OFFERED).unlink(missing_ok=True)
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
                folder=folder,
                name=name,
                root=root,
                exists=os.path.isdir(root) and _is_still_there(folder, card),
                attached=_pointer(str(folder / _ATTACHED), _FOLDER),
            )
        )
    return tuple(found)


def _is_still_there(folder: Path, card: dict[str, str]) -> bool:
    """Whether what is at its place is not another project by now."""
    id = _owner(folder) or card.get("key", "")
    if not re.fullmatch(_ID, id):
        return True
    places = [os.path.join(card["root"], ".ai", ID_FILE)]
    if common := card.get("common_dir", ""):
        places.append(os.path.join(common, ID_FILE))
    elif git_dir := _git_dir(card["root"]):
        places.append(os.path.join(git_dir, ID_FILE))
    return any(_pointer(place, _ID) == id for place in places)


def _folders(projects: Path, key: str = "") -> list[Path]:
    """By name; `key`: those that were made for it."""
    try:
        names = sorted(os.listdir(projects))
    except OSError:
        return []
    end = _end(key) if key else ""
    return [
        projects / name
        for name in names
        if name.endswith(end) and re.fullmatch(_FOLDER, name) and os.path.isdir(projects / name)
    ]


def _own_folder(projects: Path, project: Project) -> Path | None:
    """By key alone: the name part is what the project was called when the store was made."""
    path_key = project.key
    if project.common_dir is not None and re.fullmatch(_ID, project.key):
        for folder in _folders(projects, project.key):
            return folder
        # A store from before there was an id, or made where it could not be written.
        path_key = _path_key(_anchor(str(project.common_dir)))
    for folder in _folders(projects, path_key):
        owner = _owner(folder)
        # Where it has met no id, whoever is at the path may have it.
        if not owner or _shows(project, owner) or not os.path.isdir(project.root):
            return folder
    return None


def _shows(project: Project, id: str) -> bool:
    """As the tree is now: another process may have given it the id a moment ago."""
    places = [project.root / ".ai" / ID_FILE]
    if project.common_dir is not None:
        places.append(project.common_dir / ID_FILE)
    return any(_pointer(str(place), _ID) == id for place in places)


def _owner(folder: Path) -> str:
    return _pointer(str(folder / _OWNER), _ID)


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
        if not create_new(folder / ".gitignore", _IGNORED, mode=0o644):
            _renew_ignored(folder / ".gitignore")


def _renew_ignored(path: Path) -> None:
    """Only where it is ours, word for word."""
    with suppress(OSError, HomeRefused):
        if read_limited(path, 1_000) == _IGNORED_BEFORE.encode():
            write_view(path, _IGNORED)
