"""The index file beside a large database: what a recall reads of it, as flat arrays that are mapped into memory. Of
each passage whose it is and how long; of each term its passages; and the vectors of one model (vectors.py), up to the
first passage that has none. It is read instead of the database's own index, and never changes the answer:

- A passage's words and vector never change under its number, and numbers are never given twice. So what was indexed
  stays right; passages that came later are read from the database, and those that were deleted are left out.
- The database says by a random key which file belongs to it. A file with another key (of a backup, of a build that was
  cut off), of another format, or with one wrong bit is not used. It is written under another name first.

Like FTS5's bm25, but for rarity, which is weighed later: a term's strength is its frequency against the length of the
passage. A question's terms are added up in at most MAX_POSTINGS passages, the rarest first; what the others add is
counted in the best of those. Memory is read as needed: the file of 100,000 memories has 250 MB."""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from heapq import nlargest
from itertools import takewhile
from pathlib import Path
from typing import Any, BinaryIO
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from recollect.base.files import PRIVATE_FILE
from recollect.model.query import Owner, TermValues, WordEvidence
from recollect.store.similar_pairs import Floats, Rows
from recollect.store.vectors import SCALE_BYTES, Grouped, Page, Query, Segment, bits_of

MAX_POSTINGS = 250_000  # more than a question has in 100,000 memories
_HEAD = struct.Struct(
    "<8sQQI"
)  # the format, where the directory begins, the file's size, the checksum of the rest
_FORMAT = b"RCLTIX01"
_PASSAGES_AT_ONCE, _UNITS_AT_ONCE, _TERMS_AT_ONCE = 5_000, 8_192, 2_000  # some 20 ms each
_K1, _B = 1.2, 0.75  # as in FTS5
_WEIGHTS = np.array(
    [4, 2, 3], np.uint8
)  # of title, body and topics, twice what search.py tells FTS5

_PASSAGES = """
    SELECT p.seq, p.memory_seq, p.unit, p.voice, d.sz, v.data FROM passage p
    LEFT JOIN words_docsize d ON d.id = p.seq LEFT JOIN vector v ON v.passage_seq = p.seq AND v.model = ?
    WHERE p.seq > ? AND p.seq <= ? ORDER BY p.seq LIMIT ?"""
_VOCABULARY = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.occurrence USING fts5vocab(main, words, instance)"
)
_OCCURRENCES = """
    SELECT term, count(*), group_concat(4 * doc + CASE col WHEN 'title' THEN 0 WHEN 'body' THEN 1 ELSE 2 END, ' ')
    FROM temp.occurrence WHERE term > ? GROUP BY term LIMIT ?"""

_sound: set[tuple[int, ...]] = set()  # files whose checksum this process has found right
# Those in use: a second connection has the same memory. What is deleted is so for all.
_opened: WeakValueDictionary[tuple[int, ...], PassageIndex] = WeakValueDictionary()
_OWNERS = ("passages", "memories", "units", "voices", "sizes")
_NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
Directory = dict[str, tuple[str, list[int], int]]  # for each array its type, shape and place
Add = Callable[[str, NDArray[Any]], None]
FindGone = Callable[[list[int]], set[int]]  # which of these passages were deleted


class PassageIndex:
    def __init__(self, arrays: Directory, held: mmap.mmap, key: str, model: str) -> None:
        def array(name: str) -> NDArray[Any]:
            kind, shape, place = arrays[name]
            return np.frombuffer(held, kind, int(np.prod(shape)), place).reshape(shape)

        self.key, self.model = key, model
        self.passages, self.memories, self.units, self.voices, self._sizes = map(array, _OWNERS)
        self._names, self._ends, self._starts = map(array, ("names", "ends", "starts"))
        self._rows, self._frequencies = array("rows"), array("frequencies")
        self.gone: set[int] = set()  # rows of passages that were deleted, as far as they came up
        passages, memories, units, voices = (
            array(name)[: len(array("scales"))] for name in _OWNERS[:4]
        )
        page = Page(passages, memories, units, array("scales"), voices, array("numbers"))
        by_unit = Grouped(*(array(f"unit_{name}") for name in Grouped._fields))
        self.vectors = Segment(page, array("bits"), by_unit, array("lengths"))
        begin, end = (
            -(-arrays[name][2] // mmap.PAGESIZE) * mmap.PAGESIZE for name in ("rows", "starts")
        )
        self._held, self._postings = held, (begin, max(0, end - mmap.PAGESIZE - begin))

    @property
    def last(self) -> int:
        return int(self.passages[-1]) if len(self.passages) else 0

    def postings(self, term: str) -> tuple[Rows, NDArray[np.uint8]]:
        def name(place: int) -> bytes:
            return self._names[self._ends[place] : self._ends[place + 1]].tobytes()

        place = bisect_left(range(len(self._starts) - 1), term.encode(), key=name)
        is_known = place < len(self._starts) - 1 and name(place) == term.encode()
        part = slice(self._starts[place], self._starts[place + 1]) if is_known else slice(0)
        return self._rows[part], self._frequencies[part]

    def free_memory(self) -> None:
        """What was read of postings: the next question has others."""
        if self._postings[1] and hasattr(self._held, "madvise"):
            self._held.madvise(mmap.MADV_DONTNEED, *self._postings)

    def strengths(self, rows: Rows, frequencies: NDArray[np.uint8], average: float) -> Floats:
        frequency = frequencies * np.float32(0.5)
        divisor = self._sizes[rows] * np.float32(_K1 * _B / average)
        divisor += frequency + np.float32(_K1 * (1 - _B))
        found: Floats = frequency * np.float32(_K1 + 1) / divisor
        return found

    def owners(self, passages: Iterable[int]) -> dict[int, Owner]:
        rows, _ = _common(self.passages, np.sort(np.fromiter(passages, np.int64)))
        columns = (column[rows].tolist() for column in (self.memories, self.units, self.voices))
        return dict(zip(self.passages[rows].tolist(), map(Owner, *columns), strict=True))


class IndexedWords(WordEvidence):  # the rows of its terms are those of passages after the file
    file: PassageIndex
    postings: list[tuple[str, Rows, NDArray[np.uint8]]]
    average: float  # length of a passage
    find_gone: FindGone | None  # None: none was

    @classmethod
    def of(
        cls, later: WordEvidence, file: PassageIndex, totals: bytes, find_gone: FindGone | None
    ) -> IndexedWords:
        """`totals`: FTS5's record of how many rows and words it has."""
        file.free_memory()
        made, [rows, *words] = cls(*later), _numbers(totals) or [1, 1]
        made.file, made.average, made.find_gone = (
            file,
            sum(words) / rows if sum(words) else 1.0,
            find_gone,
        )
        made.postings = [
            (term.term, *file.postings(term.term)) for term in later.terms if term.passages
        ]
        return made

    def best(self, weights: Mapping[str, float], kept: int) -> dict[int, TermValues]:
        later = super().best(weights, kept)
        while earlier := self._best_earlier(weights, kept):
            gone = self.find_gone(list(earlier)) if self.find_gone else ()
            if not gone:
                break
            self.file.gone.update(_common(self.file.passages, np.sort([*gone]))[0].tolist())
        found = later | earlier

        def score(passage: int) -> float:
            return sum([value for _, value in found[passage]])

        return (
            {passage: found[passage] for passage in nlargest(kept, found, key=score)}
            if later
            else found
        )

    def _best_earlier(self, weights: Mapping[str, float], kept: int) -> dict[int, TermValues]:
        file, read = self.file, 0
        scores = np.zeros(len(file.passages), np.float32)
        for name, rows, frequencies in self.postings:
            if not read or read + len(rows) <= MAX_POSTINGS:
                newest = rows[-MAX_POSTINGS:], frequencies[-MAX_POSTINGS:]
                scores[newest[0]] += weights[name] * file.strengths(*newest, self.average)
            read += len(rows)
        scores[np.fromiter(file.gone, np.int64)] = 0
        # Those with one rare term give a limit below which none is among the best.
        some = next((rows for _, rows, _ in self.postings if len(rows) > kept), None)
        limit = 0.0 if some is None else -np.partition(-scores[some], kept)[kept]
        best = np.flatnonzero(scores >= max(limit, np.finfo(np.float32).tiny))
        if len(best) > kept:
            best = np.sort(best[np.argpartition(scores[best], -kept)[-kept:]])
        passages = file.passages[best]
        found: dict[int, list[tuple[str, float]]] = {passage: [] for passage in passages.tolist()}
        for name, rows, frequencies in self.postings:
            places, which = _common(rows, best)
            values = weights[name] * file.strengths(
                rows[places], frequencies[places], self.average
            ).astype(np.float64)
            for passage, value in zip(passages[which].tolist(), values.tolist(), strict=True):
                found[passage].append((name, value))
        return dict(found)

    def terms_of(self, passages: Iterable[int]) -> dict[int, list[str]]:
        found = super().terms_of(passages)
        rows, _ = _common(self.file.passages, np.sort(np.fromiter(found, np.int64)))
        for term, own, _ in self.postings:
            for passage in self.file.passages[rows[_common(own, rows)[1]]].tolist():
                found[passage].append(term)
        return found


def _common(rows: Rows, wanted: Rows) -> tuple[Rows, Rows]:
    """Both in order: the places in each of what is in both."""
    places = np.searchsorted(rows, wanted.astype(rows.dtype))
    which = np.flatnonzero(places < len(rows))
    which = which[rows[places[which]] == wanted[which]]
    return places[which], which


def open_index(path: Path, key: str) -> PassageIndex | None:
    """None where there is none, or it is damaged or belongs to another state of the database."""
    try:
        with open(os.open(path, os.O_RDONLY | _NO_FOLLOW), "rb") as file:
            found = os.fstat(file.fileno())
            form, directory, size, checksum = _HEAD.unpack(file.read(_HEAD.size))
            stamp = (found.st_dev, found.st_ino, found.st_mtime_ns, size, directory, checksum)
            if (
                form != _FORMAT
                or size != found.st_size
                or not (stamp in _sound or _check(file) == checksum)
            ):
                return None
            _sound.add(stamp)
            if (index := _opened.get(stamp)) is None:
                file.seek(directory)
                held = mmap.mmap(
                    file.fileno(), 0, access=mmap.ACCESS_COPY
                )  # rows can be marked as deleted
                index = _opened[stamp] = PassageIndex(held=held, **json.loads(file.read()))
            return index if index.key == key else None
    except (OSError, ValueError, struct.error):
        return None


def _check(file: BinaryIO) -> int:
    """The checksum, of the head, too. Read, not mapped: what is only looked through takes up no memory."""
    file.seek(0)
    found = zlib.crc32(file.read(_HEAD.size)[:-4])
    while part := file.read(1 << 20):
        found = zlib.crc32(part, found)
    return found


def write_index(path: Path, query: Query, model: str, key: str) -> Iterator[None]:
    """In steps, each of which sees the database as it then is: what was deleted meanwhile is left out when it is read,
    and what came later is none of its business."""
    with open(
        os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, PRIVATE_FILE), "w+b"
    ) as file:
        arrays: Directory = {}

        def add(name: str, part: NDArray[Any]) -> None:
            """More rows of the array that was added to last, or a new one."""
            if name not in arrays:
                file.write(bytes(-file.tell() % 64))
            kind, shape, place = arrays.get(
                name, (part.dtype.str, [0, *part.shape[1:]], file.tell())
            )
            arrays[name] = (kind, [shape[0] + len(part), *shape[1:]], place)
            file.write(np.ascontiguousarray(part).data)

        file.write(bytes(_HEAD.size))
        passages = yield from _add_passages(add, query, model)
        yield from _add_terms(add, query, passages)
        directory = file.tell()
        file.write(json.dumps({"arrays": arrays, "key": key, "model": model}).encode())
        size = file.tell()
        file.flush()
        held = mmap.mmap(file.fileno(), 0)
        for _ in _measure(PassageIndex(arrays, held, key, model).vectors):
            if hasattr(held, "madvise"):
                held.madvise(mmap.MADV_DONTNEED)  # memory that was looked at once
            yield
        file.seek(0)
        file.write(_HEAD.pack(_FORMAT, directory, size, 0))
        checksum = _check(file)
        file.seek(0)
        file.write(_HEAD.pack(_FORMAT, directory, size, checksum))
        file.flush()
        os.fsync(file.fileno())


def _measure(vectors: Segment) -> Iterator[None]:
    for at in range(0, len(vectors.lengths), _UNITS_AT_ONCE):
        vectors.measure(np.arange(at, min(at + _UNITS_AT_ONCE, len(vectors.lengths))))
        yield


def _add_passages(add: Add, query: Query, model: str) -> Generator[None, None, Rows]:
    [(newest,)] = query("SELECT coalesce(max(seq), 0) FROM passage")
    owners, scales = [np.empty((len(_OWNERS), 0), np.int64)], [np.empty(0, np.float32)]
    bits: list[NDArray[np.uint64]] = []
    last, dim, has_all = 0, 0, True
    while rows := query(_PASSAGES, model, last, newest, _PASSAGES_AT_ONCE):
        last = rows[-1][0]
        owners.append(
            np.array([(*row[:4], sum(_numbers(row[4] or b""))) for row in rows], np.int64).T
        )
        data = (
            [row[5] for row in takewhile(lambda row: row[5] is not None, rows)] if has_all else []
        )
        has_all = len(data) == len(rows)
        if data:
            dim = dim or len(data[0]) - SCALE_BYTES
            whole = dim + SCALE_BYTES  # one of another size counts as a vector, and is near nothing
            page = Page.of(
                [(0, 0, 0, one if len(one) == whole else bytes(whole), 0) for one in data], dim
            )
            add("numbers", page.numbers)
            scales.append(page.scales)
            bits.append(bits_of(page.numbers))
        yield
    columns = np.concatenate(owners, axis=1)
    for name, column, most in zip(
        _OWNERS, columns, ("int64", "int64", "int64", "uint8", "uint16"), strict=True
    ):
        add(name, np.minimum(column, np.iinfo(most).max).astype(most))
    if not bits:
        add("numbers", np.empty((0, 0), np.int8))
    add("scales", np.concatenate(scales))
    add("bits", np.concatenate(bits, axis=1) if bits else np.empty((0, 0), np.uint64))
    by_unit = Grouped.of(columns[2, : sum(map(len, scales))])
    for name, column in zip(Grouped._fields, by_unit, strict=True):
        add(f"unit_{name}", column)
    add("lengths", np.ones(len(by_unit.known), np.float32))
    passages: Rows = columns[0]
    return passages


def _numbers(data: bytes) -> list[int]:
    """As FTS5 keeps them: seven bits to a byte, the last of a number below 128."""
    found, value = list[int](), 0
    for byte in data:
        value = value << 7 | byte & 127
        if byte < 128:
            found.append(value)
            value = 0
    return found


def _add_terms(add: Add, query: Query, passages: Rows) -> Iterator[None]:
    query(_VOCABULARY)
    names, starts, frequencies = list[bytes](), [np.empty(0, np.int64)], [np.empty(0, np.uint8)]
    last, read = "", 0
    add("rows", np.empty(0, np.int32))
    while page := query(_OCCURRENCES, last, _TERMS_AT_ONCE):
        terms, counts, texts = zip(*page, strict=True)
        last = terms[-1]
        names += [term.encode() for term in terms]
        occurrences = np.fromstring(" ".join(texts), np.int64, sep=" ")
        owner = np.repeat(np.arange(len(terms)), counts)
        order = np.searchsorted(passages, occurrences >> 2)
        known = np.flatnonzero(
            np.append(passages, -1)[order] == occurrences >> 2
        )  # it may be newer, or be deleted
        owner, rows, weights = owner[known], order[known], _WEIGHTS[occurrences[known] & 3]
        # All occurrences of a term in a passage stand together.
        first = np.flatnonzero((np.diff(owner, prepend=-1) != 0) | (np.diff(rows, prepend=-1) != 0))
        add("rows", rows[first].astype(np.int32))
        summed = np.add.reduceat(weights, first, dtype=np.int64) if len(first) else first
        frequencies.append(np.minimum(summed, np.iinfo(np.uint8).max).astype(np.uint8))
        starts.append(read + np.searchsorted(owner[first], np.arange(len(terms))))
        read += len(first)
        yield
    add("frequencies", np.concatenate(frequencies))
    add("starts", np.concatenate([*starts, [read]]).astype(np.int64))
    add("names", np.frombuffer(b"".join(names), np.uint8))
    add("ends", np.cumsum([0, *map(len, names)]))
