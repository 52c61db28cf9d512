"""The index file beside a large database: what a recall reads of it, as flat arrays that are mapped into memory. Of
each passage whose it is and how long; of each term its passages; and the vectors of one model (vectors.py), up to the
first passage that has none. It is read instead of the database's own index, and never changes the answer:

- A passage's words and vector never change under its number, and numbers are never given twice. So what was indexed
  stays right; passages that came later are read from the database, and those that were deleted are left out.
- The database says by a random key which file belongs to it. A file with another key (of a backup, of a build that was
  cut off), of another format, or with one wrong bit is not used. It is written under another name first.

Like FTS5's bm25, but for rarity, which is weighed later: a term's strength is its frequency against the length of the
passage. A question's terms are added up in at most MAX_POSTINGS passages, the rarest first; what the others add is
counted in the best of those. Memory is read as needed: the file of 100,000 memories has 250 MB.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from recollect.base.files import PRIVATE_FILE
from recollect.model.query import Owner, TermValues, WordEvidence
from recollect.store.vectors import SCALE_BYTES, Floats, Grouped, Page, Query, Rows, Segment, bits_of

MAX_POSTINGS = 400_000
_HEAD = struct.Struct(
    "<8sQQI"
)  # the format, where the directory begins, the size of the file, the checksum of the rest
_FORMAT = b"RCLTIX01"
_CHUNK = 1 << 20
_PASSAGES_AT_ONCE, _UNITS_AT_ONCE, _TERMS_AT_ONCE = 5_000, 8_192, 2_000  # some 20 ms each
_K1, _B = 1.2, 0.75  # as in FTS5
_WEIGHTS = np.array([4, 2, 3], np.uint8)  # of title, body and topics, twice what search.py tells FTS5
_MOST = 255

_PASSAGES = """
    SELECT p.seq, p.memory_seq, p.unit, p.voice, d.sz, v.data FROM passage p
    LEFT JOIN words_docsize d ON d.id = p.seq LEFT JOIN vector v ON v.passage_seq = p.seq AND v.model = ?
    WHERE p.seq > ? AND p.seq <= ? ORDER BY p.seq LIMIT ?"""
_VOCABULARY = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.occurrence USING fts5vocab(main, words, instance)"
_OCCURRENCES = """
    SELECT term, count(*), group_concat(4 * doc + CASE col WHEN 'title' THEN 0 WHEN 'body' THEN 1 ELSE 2 END, ' ')
    FROM temp.occurrence WHERE term > ? GROUP BY term LIMIT ?"""

_sound: set[tuple[int, ...]] = set()  # files whose checksum this process has found right


class PassageIndex:
    def __init__(self, about: Mapping[str, Any], held: mmap.mmap) -> None:
        def array(name: str) -> NDArray[Any]:
            dtype, shape, offset = about["arrays"][name]
            return np.frombuffer(held, dtype, int(np.prod(shape)), offset).reshape(shape)

        self.key: str = about["key"]
        self.model: str = about["model"]
        self.passages, self.memories, self.units, self.voices = map(array, (*Page._fields[:3], "voices"))
        self._sizes, self._names, self._ends = map(array, ("sizes", "names", "ends"))
        self._starts, self._rows, self._frequencies = map(array, ("starts", "rows", "frequencies"))
        self.gone: set[int] = set()  # rows of passages that were deleted, as far as they came up
        count = len(array("scales"))
        owners = (self.passages[:count], self.memories[:count], self.units[:count])
        page = Page(*owners, array("scales"), self.voices[:count], array("numbers"))
        self.vectors = Segment(
            page, array("bits"), Grouped(*(array(f"unit_{name}") for name in Grouped._fields)), array("lengths")
        )

    def __len__(self) -> int:
        return len(self.passages)

    @property
    def last(self) -> int:
        return int(self.passages[-1]) if len(self) else 0

    def postings(self, term: str) -> tuple[Rows, NDArray[np.uint8]]:
        wanted = term.encode()

        def name(place: int) -> bytes:
            return self._names[self._ends[place - 1] if place else 0 : self._ends[place]].tobytes()

        place = bisect_left(range(len(self._ends)), wanted, key=name)
        if place == len(self._ends) or name(place) != wanted:
            return self._rows[:0], self._frequencies[:0]
        part = slice(self._starts[place], self._starts[place + 1])
        return self._rows[part], self._frequencies[part]

    def strengths(self, rows: Rows, frequencies: NDArray[np.uint8], average: float) -> Floats:
        frequency = frequencies.astype(np.float32)
        frequency *= 0.5
        divisor = self._sizes[rows].astype(np.float32)
        divisor *= _K1 * _B / average
        divisor += _K1 * (1 - _B)
        divisor += frequency
        frequency *= _K1 + 1
        frequency /= divisor
        return frequency

    def rows_of(self, passages: Sequence[int]) -> Rows:
        """-1 for one that is not in it."""
        wanted = np.fromiter(passages, np.int64)
        rows = np.minimum(np.searchsorted(self.passages, wanted), max(0, len(self) - 1))
        return np.where(self.passages[rows] == wanted, rows, -1) if len(self) else np.full(len(wanted), -1)

    def owners(self, passages: Sequence[int]) -> dict[int, Owner]:
        rows = self.rows_of(passages)
        rows = rows[rows >= 0]
        columns = (column[rows].tolist() for column in (self.memories, self.units, self.voices))
        return dict(zip(self.passages[rows].tolist(), map(Owner, *columns), strict=True))


class IndexedWords(WordEvidence):
    """The rows of its terms are those of passages after the file."""

    file: PassageIndex
    average: float  # length of a passage
    postings: list[tuple[str, Rows, NDArray[np.uint8]]]
    find_gone: Callable[[list[int]], set[int]] | None  # which of these passages were deleted; None: none was

    @classmethod
    def of(
        cls, later: WordEvidence, index: PassageIndex, average: float, find_gone: Callable[[list[int]], set[int]] | None
    ) -> IndexedWords:
        made = cls(*later)
        made.file, made.average, made.find_gone = index, average, find_gone
        made.postings = [(term.term, *index.postings(term.term)) for term in later.terms if term.passages]
        return made

    @property
    def found(self) -> int:
        return sum(term.passages for term in self.terms)

    def best(self, weights: Mapping[str, float], kept: int) -> dict[int, TermValues]:
        later = super().best(weights, kept)
        while earlier := self._best_earlier(weights, kept):
            gone = self.find_gone(list(earlier)) if self.find_gone else set()
            if not gone:
                break
            self.file.gone.update(self.file.rows_of(list(gone)).tolist())
        found = later | earlier

        def score(passage: int) -> float:
            return sum([value for _, value in found[passage]])

        return {passage: found[passage] for passage in nlargest(kept, found, key=score)} if later else found

    def _best_earlier(self, weights: Mapping[str, float], kept: int) -> dict[int, TermValues]:
        index, postings, read = self.file, self.postings, 0
        scores = np.zeros(len(index), np.float32)
        for name, rows, frequencies in postings:
            if read and read + len(rows) > MAX_POSTINGS:
                read = MAX_POSTINGS
                continue
            rows, frequencies = rows[-MAX_POSTINGS:], frequencies[-MAX_POSTINGS:]  # the newest
            scores[rows] += weights[name] * index.strengths(rows, frequencies, self.average)
            read += len(rows)
        if index.gone:
            scores[np.fromiter(index.gone, np.int64)] = 0
        # The best of those with a rare term are a limit below which no other can be among the best.
        rare = postings[0][1] if postings else np.empty(0, np.int32)
        for _, rows, _ in postings[1:]:
            if len(rare) >= 2 * kept:
                break
            rare = np.union1d(rare, rows)
        limit = -np.partition(-scores[rare], kept)[kept] if len(rare) > kept else 0.0
        best = np.flatnonzero(scores >= max(limit, np.finfo(np.float32).tiny))
        if len(best) > kept:
            best = np.sort(best[np.argpartition(scores[best], -kept)[-kept:]])
        found: dict[int, list[tuple[str, float]]] = {passage: [] for passage in index.passages[best].tolist()}
        for name, rows, frequencies in postings:
            places, which = _common(rows, best)
            values = weights[name] * index.strengths(rows[places], frequencies[places], self.average).astype(np.float64)
            for passage, value in zip(index.passages[best[which]].tolist(), values.tolist(), strict=True):
                found[passage].append((name, value))
        return dict(found)

    def terms_of(self, passages: Iterable[int]) -> dict[int, list[str]]:
        found = super().terms_of(passages)
        wanted = list(found)
        rows = self.file.rows_of(wanted)
        order = np.argsort(rows)
        for term, own, _ in self.postings:
            for place in order[_common(own, rows[order])[1]].tolist():
                found[wanted[place]].append(term)
        return found


def _common(rows: Rows, wanted: Rows) -> tuple[Rows, Rows]:
    """Both in order: the places in each of what is in both."""
    if not len(rows):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    places = np.minimum(np.searchsorted(rows, wanted.astype(rows.dtype)), len(rows) - 1)
    which = np.flatnonzero(rows[places] == wanted)
    return places[which], which


def open_index(path: Path, key: str) -> PassageIndex | None:
    """None where there is none, or it is damaged or belongs to another state of the database."""
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            found = os.fstat(file.fileno())
            form, directory, size, checksum = _HEAD.unpack(file.read(_HEAD.size))
            if form != _FORMAT or size != found.st_size or not _HEAD.size <= directory < size:
                return None
            file.seek(directory)
            about = json.loads(file.read())
            stamp = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, checksum)
            if about["key"] != key or (stamp not in _sound and _checksum(file, directory, size) != checksum):
                return None
            _sound.add(stamp)
            return PassageIndex(about, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return None


def _checksum(file: BinaryIO, directory: int, size: int) -> int:
    """Read, not mapped: what is only looked through takes up no memory."""
    file.seek(_HEAD.size)
    found = zlib.crc32(struct.pack("<QQ", directory, size))
    while part := file.read(_CHUNK):
        found = zlib.crc32(part, found)
    return found


class _Writer:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._arrays: dict[str, tuple[str, tuple[int, ...], int]] = {}
        file.write(bytes(_HEAD.size))

    def begin(self) -> int:
        self._file.write(bytes(-self._file.tell() % 64))
        return self._file.tell()

    def add(self, array: NDArray[Any]) -> None:
        self._file.write(np.ascontiguousarray(array).data)

    def end(self, name: str, began: int, dtype: Any, *shape: int) -> None:
        self._arrays[name] = (np.dtype(dtype).str, shape, began)

    def put(self, name: str, array: NDArray[Any]) -> None:
        began = self.begin()
        self.add(array)
        self.end(name, began, array.dtype, *array.shape)

    def numbers(self, began: int, count: int, dim: int) -> NDArray[np.int8]:
        self._file.flush()
        return np.memmap(self._file, np.int8, "r", began, (count, dim)) if count else np.empty((0, dim), np.int8)

    def finish(self, about: Mapping[str, Any]) -> None:
        directory = self.begin()
        self._file.write(json.dumps({**about, "arrays": self._arrays}).encode())
        size = self._file.tell()
        self._file.flush()
        checksum = _checksum(self._file, directory, size)
        self._file.seek(0)
        self._file.write(_HEAD.pack(_FORMAT, directory, size, checksum))
        self._file.flush()
        os.fsync(self._file.fileno())


def write_index(path: Path, query: Query, model: str, key: str) -> Iterator[None]:
    """In steps, each of which sees the database as it then is: what was deleted meanwhile is left out when it is read,
    and what came later is none of its business."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags, PRIVATE_FILE), "w+b") as file:
        writer = _Writer(file)
        passages = yield from _write_passages(writer, query, model)
        yield from _write_terms(writer, query, passages)
        writer.finish({"key": key, "model": model})


def _write_passages(writer: _Writer, query: Query, model: str) -> Generator[None, None, Rows]:
    [(newest,)] = query("SELECT coalesce(max(seq), 0) FROM passage")
    owners: list[NDArray[np.int64]] = []  # by page: passages, memories, units, voices, sizes
    scales, bits = [np.empty(0, np.float32)], list[NDArray[np.uint64]]()
    last, dim, has_all = 0, 0, True
    began = writer.begin()
    while rows := query(_PASSAGES, model, last, newest, _PASSAGES_AT_ONCE):
        last = rows[-1][0]
        owners.append(np.array([(*row[:4], _length(row[4] or b"")) for row in rows], np.int64).T)
        data = [row[5] for row in rows]
        if None in data or not has_all:
            data, has_all = data[: data.index(None)] if has_all else [], False
        if data:
            dim = dim or len(data[0]) - SCALE_BYTES
            # One of another size counts as a vector, and is near nothing.
            page = Page.of(
                [(0, 0, 0, one if len(one) == dim + SCALE_BYTES else bytes(dim + SCALE_BYTES), 0) for one in data], dim
            )
            writer.add(page.numbers)
            scales.append(page.scales)
            bits.append(bits_of(page.numbers))
        yield
    joined_scales = np.concatenate(scales)
    count = len(joined_scales)
    writer.end("numbers", began, np.int8, count, dim)
    passages, memories, units, voices, sizes = np.concatenate(owners, axis=1) if owners else np.empty((5, 0), np.int64)
    writer.put("passages", passages)
    writer.put("memories", memories)
    writer.put("units", units)
    writer.put("voices", voices.astype(np.uint8))
    writer.put("sizes", np.minimum(sizes, np.iinfo(np.uint16).max).astype(np.uint16))
    writer.put("scales", joined_scales)
    writer.put("bits", np.concatenate(bits, axis=1) if bits else bits_of(np.empty((0, dim), np.int8)))
    yield
    by_unit = Grouped.of(units[:count])
    for name, column in zip(Grouped._fields, by_unit, strict=True):
        writer.put(f"unit_{name}", column)
    rows_of_file = Page(
        passages, memories, units, joined_scales, voices.astype(np.uint8), writer.numbers(began, count, dim)
    )
    segment = Segment(rows_of_file, np.empty(0, np.uint64), by_unit, np.ones(len(by_unit.known), np.float32))
    for at in range(0, len(by_unit.known), _UNITS_AT_ONCE):
        segment.measure(np.arange(at, min(at + _UNITS_AT_ONCE, len(by_unit.known))))
        yield
    writer.put("lengths", segment.lengths)
    owned: Rows = passages
    return owned


def _length(sizes: bytes) -> int:
    """Of a passage in words: FTS5 keeps how many there are in each column, seven bits to a byte."""
    total = value = 0
    for byte in sizes:
        value = value << 7 | byte & 127
        if byte < 128:
            total, value = total + value, 0
    return total


def average_length(totals: bytes) -> float:
    """From FTS5's record of how many rows and words it has."""
    numbers, value = list[int](), 0
    for byte in totals:
        value = value << 7 | byte & 127
        if byte < 128:
            numbers, value = [*numbers, value], 0
    return sum(numbers[1:]) / numbers[0] if numbers and numbers[0] else 1.0


def _write_terms(writer: _Writer, query: Query, passages: Rows) -> Iterator[None]:
    query(_VOCABULARY)
    names, ends, starts, frequencies = list[bytes](), list[Rows](), list[Rows](), list[NDArray[np.uint8]]()
    last, size, read = "", 0, 0
    began = writer.begin()
    while page := query(_OCCURRENCES, last, _TERMS_AT_ONCE):
        terms, counts, texts = zip(*page, strict=True)
        last = terms[-1]
        encoded = [term.encode() for term in terms]
        names += encoded
        ends.append(size + np.cumsum([len(name) for name in encoded]))
        size = int(ends[-1][-1])
        occurrences = np.fromstring(" ".join(texts), np.int64, sep=" ")
        owner = np.repeat(np.arange(len(terms)), counts)
        documents = occurrences >> 2
        rows = np.minimum(np.searchsorted(passages, documents), max(0, len(passages) - 1))
        known = passages[rows] == documents if len(passages) else np.zeros(len(rows), bool)
        owner, rows, weights = owner[known], rows[known], _WEIGHTS[(occurrences & 3)[known]]
        # All occurrences of a term in a passage stand together.
        first = np.flatnonzero((np.diff(owner, prepend=-1) != 0) | (np.diff(rows, prepend=-1) != 0))
        summed = np.add.reduceat(weights, first, dtype=np.int64) if len(first) else np.empty(0, np.int64)
        writer.add(rows[first].astype(np.int32))
        frequencies.append(np.minimum(summed, _MOST).astype(np.uint8))
        starts.append(read + np.searchsorted(owner[first], np.arange(len(terms))))
        read += len(first)
        yield
    writer.end("rows", began, np.int32, read)
    writer.put("frequencies", np.concatenate([np.empty(0, np.uint8), *frequencies]))
    writer.put("starts", np.concatenate([*starts, [read]]).astype(np.int64))
    writer.put("names", np.frombuffer(b"".join(names), np.uint8))
    writer.put("ends", np.concatenate([np.empty(0, np.int64), *ends]).astype(np.int64))
