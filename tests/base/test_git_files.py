"""Our own reading of repositories agrees with git, and nothing in a hostile one makes it wait, run or grow."""

import os
import random
import subprocess
import sys
import zlib
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.base.git_files import NO_COMMIT, Repository, read_config

posix = pytest.mark.skipif(sys.platform == "win32", reason="no such files there")
MANY = 100_000


def git(folder: Path, *args: str, stdin: bytes = b"") -> str:
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.com", "GIT_COMMITTER_NAME": "t",
        "GIT_COMMITTER_EMAIL": "t@example.com",
    }  # fmt: skip
    ran = subprocess.run(
        ["git", *args], cwd=folder, check=True, capture_output=True, env=environ, input=stdin
    )
    return ran.stdout.decode().strip()


def read(folder: Path, **options: bool) -> Repository:
    git_dir = Path(git(folder, "rev-parse", "--absolute-git-dir"))
    common = folder / git(folder, "rev-parse", "--git-common-dir")
    return Repository(git_dir, common.resolve(), **options)


def roots_by_git(folder: Path) -> list[str]:
    return git(folder, "rev-list", "--max-parents=0", "HEAD").split()


def grow(folder: Path, commits: int, seed: int = 1) -> Path:
    """A history with merges, several roots, and clocks that were wrong."""
    chance = random.Random(seed)
    lines = []
    for number in range(1, commits + 1):
        at_s = 1_500_000_000 + number * 60 + chance.randrange(-5_000, 5_000)
        is_root = number == 1 or chance.random() < 0.02
        branch = f"root{number}" if is_root else "main"
        message = f"change {number} " + "of a text that is long enough to be stored as a delta " * 4
        lines.append(f"commit refs/heads/{branch}\nmark :{number}")
        lines.append(f"committer A <a@b> {at_s} +0000\ndata {len(message)}\n{message}")
        if not is_root:
            lines.append(f"from :{number - 1}")
        if not is_root and number > 30 and chance.random() < 0.3:
            lines.append(f"merge :{chance.randrange(number - 30, number - 1)}")
    lines.append(f"reset refs/heads/main\nfrom :{commits}\n")
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "fast-import", "--quiet", "--force", stdin="\n".join(lines).encode())
    return folder


def unpack(folder: Path) -> None:
    for pack in list((folder / ".git" / "objects" / "pack").glob("*.pack")):
        content = pack.read_bytes()
        for part in pack.parent.glob(f"{pack.stem}.*"):
            part.unlink()
        git(folder, "unpack-objects", "-q", stdin=content)


def repack_by_id(folder: Path) -> None:
    git(folder, "-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq", "--depth=50")


def split_into_packs(folder: Path) -> None:
    unpack(folder)
    ids = git(folder, "rev-list", "--all", "--objects").split("\n")
    for part in (ids[::3], ids[1::3]):
        git(folder, "pack-objects", "-q", ".git/objects/pack/pack", stdin="\n".join(part).encode())
    git(folder, "prune-packed", "-q")


FORMS: dict[str, Callable[[Path], object]] = {
    "as imported": lambda folder: None,
    "loose objects": unpack,
    "deltas by distance": lambda folder: git(folder, "repack", "-adfq", "--depth=50"),
    "deltas by id": repack_by_id,
    "several packs and loose objects": split_into_packs,
    "packed refs": lambda folder: git(folder, "pack-refs", "--all"),
    "a detached HEAD": lambda folder: git(folder, "update-ref", "--no-deref", "HEAD", "main"),
    "a commit graph": lambda folder: git(folder, "commit-graph", "write", "--reachable"),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_first_commit_is_the_one_that_git_names(form: str, tmp_path: Path):
    folder = grow(tmp_path / "repo", 300)
    FORMS[form](folder)
    repository = read(folder)

    assert len(roots_by_git(folder)) > 1
    assert repository.first_commit(MANY).id == roots_by_git(folder)[-1]
    assert repository.first_commit(MANY, mainline=True).id in roots_by_git(folder)
    for root in roots_by_git(folder):
        assert repository.has_root_commit(root)
    assert not repository.has_root_commit(git(folder, "rev-parse", "HEAD"))


@pytest.mark.parametrize("seed", range(2, 8))
def test_histories_of_any_shape_have_the_same_first_commit_as_for_git(seed: int, tmp_path: Path):
    folder = grow(tmp_path / "repo", 150, seed)
    assert read(folder).first_commit(MANY).id == roots_by_git(folder)[-1]


def commit_in(folder: Path) -> None:
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")


def test_a_repository_with_long_ids_is_read(tmp_path: Path):
    git(tmp_path, "init", "-q", "--object-format=sha256")
    commit_in(tmp_path)
    git(tmp_path, "repack", "-adq")
    assert read(tmp_path).first_commit(MANY).id == roots_by_git(tmp_path)[-1]


def test_work_trees_read_their_own_head_and_a_borrowing_clone_what_it_borrows_if_asked(
    tmp_path: Path,
):
    origin = grow(tmp_path / "origin", 40)
    git(origin, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"), "main~3")
    git(tmp_path, "clone", "-q", "--shared", str(origin), "borrower")
    expected = roots_by_git(origin)[-1]

    assert read(tmp_path / "tree").first_commit(MANY).id == roots_by_git(tmp_path / "tree")[-1]
    assert read(tmp_path / "borrower", may_lead_out=True).first_commit(MANY).id == expected
    unread = read(tmp_path / "borrower").first_commit(MANY)
    assert (unread.id, "cannot be read" in unread.why_not) == ("", True)


def test_where_there_is_no_first_commit_it_is_said_why(tmp_path: Path):
    origin = grow(tmp_path / "origin", 40)
    git(tmp_path, "clone", "-q", "--depth", "1", origin.as_uri(), "shallow")
    git(tmp_path, "init", "-q", "unborn")

    assert read(tmp_path / "unborn").first_commit(MANY) == NO_COMMIT
    assert "a part of the history" in read(tmp_path / "shallow").first_commit(MANY).why_not
    assert read(origin).first_commit(5).why_not == "it has more than 5 commits"


CONFIGS = (
    '[remote "origin"]\n\turl = git@host:a/b.git\n', '[remote "origin"] url=x ; comment\n',
    "[remote.origin]\nurl = y\n",
    '[remote "origin"]\nurl = "a # b" # c\n', '[remote "origin"]\nURL = one\nurl = two\n', '[REMOTE "origin"]\nurl=z',
    '[remote "origin"]\nurl = long\\\n er\n', '[remote "origin"]\nurl = a\\tb\\\\c\\"d\n',
    '[remote "Origin"]\nurl = n\n',
    '# [remote "origin"]\n; url = no\n[core]\nbare\n[remote "origin"]\n  url =   spaces in   it   \n',
    '[remote "origin"]\nurl = one\n[remote "other"]\nurl = two\n', '\n\n[remote "origin"]\nurl = a\r\n',
    '[remote "origin"]\nurl = "  quoted  " tail  \n', '[remote "origin"]\nurl =\n', "[core]\nbare = false\n",
)  # fmt: skip


@pytest.mark.parametrize("text", CONFIGS)
def test_a_remote_is_read_as_git_reads_it(text: str, tmp_path: Path):
    path = tmp_path / "config"
    path.write_bytes(text.encode())
    ran = subprocess.run(
        ["git", "config", "-f", str(path), "--get", "remote.origin.url"], capture_output=True
    )
    assert ran.returncode in (0, 1), "git can read it"
    by_git = ran.stdout.decode().removesuffix("\n")

    ours = read_config(path).get("remote.origin.url", "")

    # Versions of git differ in whether they keep several spaces.
    assert ours.split() == by_git.split()


# Hostile repositories.


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def set_head(folder: Path, id: str) -> None:
    (folder / ".git" / "HEAD").write_text(f"{id}\n")


def index_of(ids: list[bytes], offsets: list[int]) -> bytes:
    counts = [sum(id[0] <= first for id in ids) for first in range(256)]
    return b"".join((
        b"\xfftOc\x00\x00\x00\x02", b"".join(word.to_bytes(4, "big") for word in counts), b"".join(ids),
        b"\x00" * 4 * len(ids), b"".join(offset.to_bytes(4, "big") for offset in offsets),
    ))  # fmt: skip


def write_pack(folder: Path, name: str, ids: list[bytes], entries: list[bytes]) -> None:
    packs = folder / ".git" / "objects" / "pack"
    content, offsets = b"PACK\x00\x00\x00\x02\x00\x00\x00\x01", []
    for entry in entries:
        offsets.append(len(content))
        content += entry
    (packs / f"pack-{name}.pack").write_bytes(content + b"\x00" * 20)
    (packs / f"pack-{name}.idx").write_bytes(index_of(ids, offsets))


def by_id_delta(base: bytes) -> bytes:
    return bytes([7 << 4 | 5]) + base + zlib.compress(b"\x05\x05\x05aaaaa")


def test_deltas_that_lead_in_circles_through_many_packs_end(victim: Path):
    one, other = b"\x01" * 20, b"\x02" * 20
    for number in range(30):
        write_pack(victim, f"{number}", [one, other], [by_id_delta(other), by_id_delta(one)])
    set_head(victim, one.hex())
    assert not read(victim).first_commit(MANY).id
    assert not read(victim).has_root_commit(one.hex())


def test_an_object_that_unpacks_to_gigabytes_is_not_unpacked(victim: Path):
    packer = zlib.compressobj(9)
    bomb = packer.compress(b"commit 99999999999\x00")
    bomb += b"".join(packer.compress(b"\x00" * 1_000_000) for _ in range(300)) + packer.flush()
    id = sha1(b"bomb").hexdigest()
    path = victim / ".git" / "objects" / id[:2] / id[2:]
    path.parent.mkdir()
    path.write_bytes(bomb)
    set_head(victim, id)
    assert read(victim).first_commit(MANY).id in ("", id)


@posix
def test_a_sparse_index_of_terabytes_is_not_read(victim: Path):
    packs = victim / ".git" / "objects" / "pack"
    header = b"\xfftOc\x00\x00\x00\x02" + b"\xff\xff\xff\xff" * 256
    with open(packs / "pack-1.idx", "wb") as file:
        file.write(header)
        file.truncate(1 << 40)
    (packs / "pack-1.pack").touch()
    set_head(victim, "01" * 20)
    assert not read(victim).first_commit(MANY).id


@posix
@pytest.mark.parametrize(
    "name", ["HEAD", "config", "packed-refs", "objects/01/" + "01" * 19, "objects/pack/pack-1.idx"]
)
@pytest.mark.parametrize("kind", ["pipe", "link to a device", "link to itself", "folder"])
def test_what_is_not_a_file_is_not_read(name: str, kind: str, victim: Path):
    repository = read(victim)
    path = victim / ".git" / name
    set_head(victim, "01" * 20)
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "link to a device":
            path.symlink_to("/dev/zero")
        case "link to itself":
            path.symlink_to(path)
        case _:
            path.mkdir()
    assert not repository.first_commit(MANY).id
    assert repository.remote == ""


@pytest.mark.parametrize("ref", ["../../secret", "refs/../../secret", "/etc/hostname", "refs//x"])
def test_head_leads_nowhere_out_of_the_repository(ref: str, victim: Path, tmp_path: Path):
    commit_in(victim)
    id = git(victim, "rev-parse", "HEAD")
    (tmp_path / "secret").write_text(f"{id}\n")
    (victim / "secret").write_text(f"{id}\n")
    set_head(victim, f"ref: {ref}")
    assert Repository(victim / ".git", victim / ".git").head() is None


def fan_out(folder: Path) -> str:
    """The folder of the object that HEAD names."""
    return f"objects/{git(folder, 'rev-parse', 'HEAD')[:2]}"


LINKED: dict[str, Callable[[Path], str]] = {
    "refs": lambda _: "refs",
    "a folder of refs": lambda _: "refs/heads",
    "objects": lambda _: "objects",
    "packs": lambda _: "objects/pack",
    "a folder of objects": fan_out,
}


@posix
@pytest.mark.parametrize("place", LINKED.values(), ids=LINKED)
def test_a_linked_folder_in_a_repository_leads_out_only_where_that_was_asked_for(
    place: Callable[[Path], str], tmp_path: Path
):
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-b", "main")
    commit_in(folder)
    if place(folder) == "objects/pack":
        git(folder, "repack", "-ad")
    expected = roots_by_git(folder)[-1]
    linked = folder / ".git" / place(folder)
    linked.rename(tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")
    assert roots_by_git(folder) == [expected], "git follows it"

    assert Repository(folder / ".git", folder / ".git").first_commit(MANY).id == ""
    asked = Repository(folder / ".git", folder / ".git", may_lead_out=True)
    assert asked.first_commit(MANY).id == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(st.data())
def test_no_damage_to_a_pack_makes_it_raise(tmp_path: Path, data: st.DataObject):
    folder = tmp_path / "repo"
    if not folder.exists():
        grow(folder, 40)
        repack_by_id(folder)
    (index,) = (folder / ".git" / "objects" / "pack").glob("*.idx")
    path = data.draw(st.sampled_from([index, index.with_suffix(".pack")]))
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    noise = data.draw(st.binary(min_size=1, max_size=30))
    path.chmod(0o600)
    try:
        path.write_bytes(whole[:at] + noise + whole[at + len(noise) :])
        Repository(folder / ".git", folder / ".git").first_commit(MANY)
    finally:
        path.write_bytes(whole)
