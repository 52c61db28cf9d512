"""What a git repository says of itself, read from its files: where HEAD is, its remote, its first commit.

Never runs git: git obeys the repository's own configuration, which can name programs (a promisor's upload-pack,
fsmonitor, hooks, filters), and a stranger may have written it. Here every file is only data: it must be a regular one,
is read up to a limit, and nothing in it leads to another place, but for alternates and linked folders where the caller
says that it may.

Understands loose objects and packs (index version 2, both kinds of delta), SHA-1 and SHA-256. Does not understand
reftables, grafts or replacements; a history that cannot be followed to its end has no first commit.
"""

from __future__ import annotations

import heapq
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from recollect.base.files import open_regular, read_limited
from recollect.base.text import blake2b, storable

_MAX_CONFIG_BYTES = 262_144
_MAX_POINTER_BYTES = 8_192
_MAX_PACKED_REFS_BYTES = 20_000_000
_MAX_OBJECT_BYTES = 1_000_000
_MAX_IDS_BYTES = 16_000_000  # of one pack, that begin with the same byte
# What reading may cost, counted in bytes: a malformed pack may lead in circles, or make much out of little.
_COST_OF_LOOKUP = 4 * _MAX_OBJECT_BYTES
_COST_OF_COMMIT = 3_000
_COST_OF_STEP = 1_000
_MAX_PACKS = 500
_MAX_DELTAS = 1_000  # one upon the other; git makes 50
_MAX_SYMBOLIC_REFS = 5
_MAX_STORES = 5  # of objects: the repository's own and its alternates
_BLOCK_BYTES = 65_536
_ENTRY_BYTES = 4_096  # enough of a pack for nearly every commit
_IDS_AT = 8 + 256 * 4  # in the index of a pack, after its header
_COMMIT, _OFFSET_DELTA, _ID_DELTA = 1, 6, 7

_SECTION = r'\[\s*([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\s*\]'
_TOKEN = re.compile(r'"|\\[\s\S]|[#;]|[^"\\#;\n]+')  # of a value in the configuration
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\n": ""}  # the last: it goes on in the next line


class Commit(NamedTuple):
    parents: tuple[bytes, ...]
    committed_s: int


class FirstCommit(NamedTuple):
    id: str  # hexadecimal; empty where it is not known
    why_not: str = ""


NO_COMMIT = FirstCommit("", "it has no commit")


class _Budget:
    def __init__(self) -> None:
        self.left = 0

    def spend(self, cost: int) -> None:
        self.left -= cost
        if self.left < 0:
            raise ValueError("malformed: it costs more than any sound repository")


class Repository:
    """`git_dir` is where HEAD is; `common_dir` where all work trees have their objects, refs and configuration."""

    def __init__(self, git_dir: Path, common_dir: Path, *, may_lead_out: bool = False) -> None:
        self._git_dir = git_dir
        self._common_dir = common_dir
        self._may_lead_out = may_lead_out
        self._budget = _Budget()

    @cached_property
    def config(self) -> dict[str, str]:
        return read_config(self._common_dir / "config")

    @property
    def remote(self) -> str:
        return self.config.get("remote.origin.url", "")

    @property
    def is_shallow(self) -> bool:
        return os.path.lexists(self._common_dir / "shallow")

    @cached_property
    def _id_bytes(self) -> int:
        is_long = self.config.get("extensions.objectformat", "").lower() == "sha256"
        return 32 if is_long else 20

    @cached_property
    def _stores(self) -> list[_ObjectStore]:
        own = self._common_dir / "objects"
        folders = [own]
        if self._may_lead_out:
            folders += _alternates(own)
        elif os.path.islink(own):
            folders = []
        return [
            _ObjectStore(folder, self._id_bytes, self._budget, may_lead_out=self._may_lead_out)
            for folder in folders
        ]

    def _commit(self, id: bytes) -> Commit | None:
        for store in self._stores:
            if content := store.read_commit(id):
                return _parse_commit(content, self._id_bytes)
        return None

    def has_root_commit(self, id: str) -> bool:
        """Whether it holds this commit, and that is one without parents. Walks through no history."""
        if not re.fullmatch(f"[0-9a-f]{{{2 * self._id_bytes}}}", id):
            return False
        self._budget.left = _COST_OF_LOOKUP
        commit = self._commit(bytes.fromhex(id))
        return commit is not None and not commit.parents

    def head(self) -> bytes | None:
        """The commit that HEAD names; None before the first one, and where refs cannot be read."""
        text = _read_line(self._git_dir / "HEAD")
        for _ in range(_MAX_SYMBOLIC_REFS):
            if not text.startswith("ref:"):
                break
            text = self._read_ref(text.removeprefix("ref:").strip())
        is_id = re.fullmatch(f"[0-9a-f]{{{2 * self._id_bytes}}}", text)
        return bytes.fromhex(text) if is_id else None

    def _read_ref(self, name: str) -> str:
        parts = name.split("/")
        if parts[0] != "refs" or not all(parts) or ".." in parts:
            return ""
        folders = [Path(*parts[:count]) for count in range(1, len(parts))]
        leads_out = any(os.path.islink(self._common_dir / folder) for folder in folders)
        if leads_out and not self._may_lead_out:
            return ""
        return _read_line(self._common_dir / name) or self._packed_refs.get(name, "")

    @cached_property
    def _packed_refs(self) -> dict[str, str]:
        try:
            content = read_limited(self._common_dir / "packed-refs", _MAX_PACKED_REFS_BYTES)
        except (OSError, ValueError):
            return {}
        pairs = (line.split(" ", 1) for line in os.fsdecode(content).split("\n"))
        return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}

    def first_commit(self, max_commits: int, *, mainline: bool = False) -> FirstCommit:
        """The last root that `git rev-list --max-parents=0 HEAD` lists: by date, the newest first, so that a merged
        history of another origin does not change it. `mainline`: follows first parents alone, which is much less to
        read, and finds the same one unless there are several roots."""
        if self.is_shallow:
            return FirstCommit("", "this clone has only a part of the history")
        head = self.head()
        if head is None:
            return NO_COMMIT
        self._budget.left = _COST_OF_LOOKUP + max_commits * _COST_OF_COMMIT
        try:
            return FirstCommit(self._last_root(head, max_commits, mainline=mainline).hex())
        except ValueError as problem:
            return FirstCommit("", str(problem))

    def _last_root(self, head: bytes, max_commits: int, *, mainline: bool) -> bytes:
        """In git's order: of those whose child was seen, the one with the latest date comes next. ValueError says why
        the end of the history was not reached."""
        waiting: list[tuple[int, int, bytes, tuple[bytes, ...]]] = []
        seen = {head}
        new = [head]
        root = b""
        while new or waiting:
            for id in new:
                commit = self._commit(id)
                if commit is None:
                    raise ValueError(f"commit {id.hex()[:10]} cannot be read")
                parents = commit.parents[:1] if mainline else commit.parents
                heapq.heappush(waiting, (-commit.committed_s, len(seen), id, parents))
            _, _, id, parents = heapq.heappop(waiting)
            if not parents:
                root = id
            new = [parent for parent in parents if parent not in seen]
            seen.update(new)
            if len(seen) > max_commits:
                raise ValueError(f"it has more than {max_commits:,} commits")
        return root


def _alternates(own: Path) -> list[Path]:
    """Other object stores that this one borrows from, as `git clone --shared` makes them."""
    folders = [own]
    for folder in folders:
        try:
            lines = os.fsdecode(
                read_limited(folder / "info" / "alternates", _MAX_POINTER_BYTES)
            ).splitlines()
        except (OSError, ValueError):
            continue
        for line in lines:
            if not line or line.startswith(("#", '"')) or "\x00" in line:
                continue
            other = Path(os.path.realpath(folder / line))
            if other not in folders and len(folders) < _MAX_STORES:
                folders.append(other)
    return folders[1:]


def normal_remote(url: str) -> str:
    """One spelling for `git@host:team/shop.git` and `https://user:token@host/team/shop`, without any login; a path of
    this machine only by a hash."""
    from urllib.parse import urlsplit

    url = storable(url)
    found = re.fullmatch(r"(?:[^@/:]+@)?([A-Za-z0-9.-]+):(?!/)([^?#]*)", url)
    try:
        parts = urlsplit(url)
        host, path = (found[1], found[2]) if found else (parts.hostname or "", parts.path)
    except ValueError:
        host, path = "", url
    path = path.strip("/").removesuffix(".git").strip("/")
    if not host:
        return f"local {blake2b(url.encode(), digest_size=6).hexdigest()}" if url else ""
    return f"{host.lower()}/{path}"


# Objects.


class _ObjectStore:
    def __init__(self, folder: Path, id_bytes: int, budget: _Budget, *, may_lead_out: bool) -> None:
        self._folder = folder
        self._id_bytes = id_bytes
        self._budget = budget
        self._may_lead_out = may_lead_out

    def _leads_out(self, name: str) -> bool:
        return not self._may_lead_out and os.path.islink(self._folder / name)

    @cached_property
    def _packs(self) -> list[_Pack]:
        if self._leads_out("pack"):
            return []
        try:
            names = sorted(os.listdir(self._folder / "pack"))
        except OSError:
            return []
        stems = [name.removesuffix(".idx") for name in names if name.endswith(".idx")]
        return [
            _Pack(self._folder / "pack" / stem, self._id_bytes, self._budget)
            for stem in stems[:_MAX_PACKS]
        ]

    def read_commit(self, id: bytes) -> bytes:
        """What it says, at most `_MAX_OBJECT_BYTES`; empty where it is not there, is no commit or is malformed."""
        for pack in self._packs:
            with suppress(OSError, ValueError, IndexError, zlib.error):
                if content := pack.read_commit(id):
                    return content
        with suppress(OSError, ValueError, zlib.error):
            return self._read_loose(id.hex())
        return b""

    def _read_loose(self, name: str) -> bytes:
        if self._leads_out(name[:2]):
            return b""
        path = self._folder / name[:2] / name[2:]
        try:
            packed = read_limited(path, _MAX_OBJECT_BYTES)
        except FileNotFoundError:
            return b""
        self._budget.spend(_COST_OF_STEP + len(packed))
        header, _, content = _inflate(packed, _MAX_OBJECT_BYTES).partition(b"\x00")
        return content if header.startswith(b"commit ") else b""


class _Pack:
    def __init__(self, stem: Path, id_bytes: int, budget: _Budget) -> None:
        self._index = stem.with_name(f"{stem.name}.idx")
        self._data = stem.with_name(f"{stem.name}.pack")
        self._id_bytes = id_bytes
        self._budget = budget
        self._parts: dict[int, tuple[bytes, bytes]] = {}  # of the index, by the first byte of ids
        self._block = b""
        self._block_at = 0

    @cached_property
    def _counts(self) -> list[int]:
        """How many ids begin with this byte or a lesser one."""
        header = _read_part(self._index, 0, _IDS_AT)
        if header[:8] != b"\xfftOc\x00\x00\x00\x02" or len(header) < _IDS_AT:
            return [0] * 256
        return [int.from_bytes(header[at : at + 4], "big") for at in range(8, len(header), 4)]

    def read_commit(self, id: bytes) -> bytes:
        offset = self._offset(id)
        return self._read_at(offset) if offset is not None else b""

    def _offset(self, id: bytes) -> int | None:
        """Where the object begins; None where this pack does not have it."""
        first, size = id[0], self._id_bytes
        ids, offsets = self._ids_beginning_with(first)
        low, high = 0, len(ids) // size
        while low < high:
            middle = (low + high) // 2
            if ids[middle * size : (middle + 1) * size] < id:
                low = middle + 1
            else:
                high = middle
        if ids[low * size : (low + 1) * size] != id:
            return None
        offset = int.from_bytes(offsets[low * 4 : low * 4 + 4], "big")
        if not offset & 0x8000_0000:
            return offset
        # A large pack: what stands here is the place in another table.
        total = self._counts[255]
        large_at = _IDS_AT + total * (size + 4 + 4) + (offset & 0x7FFF_FFFF) * 8
        return int.from_bytes(_read_part(self._index, large_at, 8), "big")

    def _ids_beginning_with(self, first: int) -> tuple[bytes, bytes]:
        """In order, and where in the pack the object of each begins."""
        if first not in self._parts:
            size, total = self._id_bytes, self._counts[255]
            begin = self._counts[first - 1] if first else 0
            count = max(0, self._counts[first] - begin)
            if count * size > _MAX_IDS_BYTES:
                raise ValueError("more ids than any repository has")
            ids = _read_part(self._index, _IDS_AT + begin * size, count * size)
            offsets_at = _IDS_AT + total * (size + 4) + begin * 4
            self._parts[first] = ids, _read_part(self._index, offsets_at, count * 4)
        return self._parts[first]

    def _read_at(self, offset: int) -> bytes:
        """The commit that begins there, put together where it is a delta. The base of a delta is in the same pack."""
        deltas: list[bytes] = []
        for _ in range(_MAX_DELTAS):
            entry = self._bytes_at(offset, _ENTRY_BYTES)
            kind, size, at = _entry_header(entry)
            self._budget.spend(_COST_OF_STEP + size)
            if size > _MAX_OBJECT_BYTES:
                return b""
            if kind == _COMMIT:
                return self._put_together(self._inflate_at(offset, at, size), deltas)
            base: int | None = None
            if kind == _OFFSET_DELTA:
                distance, at = _entry_distance(entry, at)
                base = offset - distance
            elif kind == _ID_DELTA:
                base = self._offset(entry[at : at + self._id_bytes])
                at += self._id_bytes
            if base is None or base < 0:
                return b""
            deltas.append(self._inflate_at(offset, at, size))
            offset = base
        return b""

    def _put_together(self, content: bytes, deltas: list[bytes]) -> bytes:
        for delta in reversed(deltas):
            self._budget.spend(len(content))
            content = _apply_delta(content, delta)
        return content

    def _inflate_at(self, offset: int, at: int, size: int) -> bytes:
        content = _inflate(self._bytes_at(offset, _ENTRY_BYTES)[at:], size)
        if len(content) < size:  # it is longer than most
            content = _inflate(self._bytes_at(offset, _MAX_OBJECT_BYTES)[at:], size)
        return content if len(content) == size else b""

    def _bytes_at(self, offset: int, size: int) -> bytes:
        """From a block that is kept: commits stand one after the other, the newest first."""
        start = offset - self._block_at
        if start < 0 or start + size > len(self._block):
            self._block = _read_part(self._data, offset, max(size, _BLOCK_BYTES))
            self._block_at, start = offset, 0
        return self._block[start : start + size]


def _read_part(path: Path, offset: int, size: int) -> bytes:
    with open_regular(path) as file:
        file.seek(offset)
        return file.read(size)


def _inflate(packed: bytes, max_bytes: int) -> bytes:
    return zlib.decompressobj().decompress(packed, max(1, max_bytes))


def _entry_header(entry: bytes) -> tuple[int, int, int]:
    """Its kind, the size of its content, and where that begins."""
    byte = entry[0]
    kind, size, shift, at = byte >> 4 & 7, byte & 15, 4, 1
    while byte & 0x80:
        byte = entry[at]
        size |= (byte & 0x7F) << shift
        shift += 7
        at += 1
    return kind, size, at


def _entry_distance(entry: bytes, at: int) -> tuple[int, int]:
    """How far before this entry its base stands, and where the delta begins."""
    byte = entry[at]
    distance = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = entry[at]
        distance = ((distance + 1) << 7) | (byte & 0x7F)
    return distance, at + 1


def _apply_delta(base: bytes, delta: bytes) -> bytes:
    """Parts of the base and new bytes, in turn; empty where it contradicts itself."""
    base_size, at = _varint(delta, 0)
    size, at = _varint(delta, at)
    if base_size != len(base) or size > _MAX_OBJECT_BYTES:
        return b""
    made = bytearray()
    while at < len(delta) and len(made) <= size:
        code = delta[at]
        at += 1
        if not code & 0x80:
            made += delta[at : at + code]
            at += code
            continue
        numbers = [0, 0]  # where the part begins in the base, and its length
        for bit in range(7):
            if code >> bit & 1:
                numbers[bit // 4] |= delta[at] << 8 * (bit % 4)
                at += 1
        start, length = numbers[0], numbers[1] or 0x10000
        made += base[start : start + length]
    return bytes(made) if len(made) == size else b""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if not byte & 0x80:
            return number, at


def _parse_commit(content: bytes, id_bytes: int) -> Commit | None:
    parents = []
    for line in content.split(b"\n"):
        name, _, value = line.partition(b" ")
        if name == b"parent":
            if not re.fullmatch(rb"[0-9a-f]{%d}" % (2 * id_bytes), value):
                return None
            parents.append(bytes.fromhex(value.decode()))
        elif name == b"committer":
            # A date that git cannot read counts as the beginning of time, for it too.
            date = re.match(rb"\s*(\d{1,18})", value.rpartition(b">")[2])
            return Commit(tuple(parents), int(date[1]) if date else 0)
        elif not line:
            break
    return Commit(tuple(parents), 0)


# Small files.


def _read_line(path: Path) -> str:
    try:
        return os.fsdecode(read_limited(path, _MAX_POINTER_BYTES).strip())
    except (OSError, ValueError):
        return ""


def read_config(path: Path) -> dict[str, str]:
    """The last value of each name, such as `remote.origin.url`; sections and names in small letters. What it includes
    is not read. Empty where the file cannot be."""
    try:
        text = os.fsdecode(read_limited(path, _MAX_CONFIG_BYTES)).replace("\r\n", "\n")
    except (OSError, ValueError):
        return {}
    return {f"{section}.{name}": value for section, name, value in _config_lines(text)}


def _config_lines(text: str) -> Iterator[tuple[str, str, str]]:
    section, at = "", 0
    space, name = re.compile(r"\s*"), re.compile(r"[A-Za-z][A-Za-z0-9-]*")
    head = re.compile(_SECTION)
    while (at := space.match(text, at).end()) < len(text):  # type: ignore[union-attr]
        if found := head.match(text, at):
            section = found[1].lower()
            if found[2] is not None:
                section += "." + re.sub(r"\\(.)", r"\1", found[2])
            at = found.end()
        elif found := name.match(text, at):
            value, at = _config_value(text, found.end())
            yield section, found[0].lower(), value
        else:  # a comment, or nothing that git would read
            at = text.find("\n", at) + 1 or len(text)


def _config_value(text: str, at: int) -> tuple[str, int]:
    """What stands behind a name, without quotes and comments; and where the next line begins."""
    begin = re.compile(r"[ \t]*=[ \t]*").match(text, at)
    if begin is None:
        return "true", text.find("\n", at) + 1 or len(text)
    value, kept, is_quoted = "", 0, False  # `kept`: how much of it is not space at the end
    at = begin.end()
    while token := _TOKEN.match(text, at):
        part, at = token[0], token.end()
        if part == '"':
            is_quoted = not is_quoted
            kept = len(value)
        elif part in "#;" and not is_quoted:
            break
        elif part.startswith("\\"):
            value += _ESCAPES.get(part[1:], part[1:])
            kept = len(value)
        else:
            value += part
            kept = len(value) if is_quoted else max(kept, len(value.rstrip()))
    return value[:kept], text.find("\n", at) + 1 or len(text)
