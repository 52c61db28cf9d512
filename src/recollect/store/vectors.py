"""Vectors: how they are stored, and the search among them.

A vector is stored as signed bytes with one scale (388 bytes for 384 numbers). A question is compared by one bit per
number with all, which is cheap, then by bytes with the best of those (up to a few thousand, by bytes with all). A unit
is as near as its nearest passage; the mean of its passages is measured, too. In a large store most vectors are in the
index file (passage_index.py); those of later passages are read from the database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.model.query import Background, Nearness
from recollect.store.similar_pairs import Floats, Pair, Rows, pairs

_ALL_EXACT = 4_096  # up to here every vector is compared by bytes: bits would save nothing
_COMPARED, _COUNTED = 65_536, 200_000
# Above so many rows they are compared by half of their bits first, and by all where that is among the nearest so many
# and a fiftieth of all. On real vectors, of what is as rare as the nearest 150 of 411,000 (of 4,100,000), the nearest
# tenth (3 %) by half holds 99.7 % (99.7); after rescoring, half and all bits leave 99.7 and 99.9 % of the former.
_HALVED_FROM, _BY_HALF = 250_000, 30_000
_PAGE = 50_000
_BLOCK = 4_096  # memories measured at a time
SCALE_BYTES = 4
_DELETED = -2.0  # farther than any that is not

Query = Callable[..., list[Any]]  # SQL and its values: the rows


def pack(vector: bytes) -> bytes:
    """From 32-bit floats to a scale and signed bytes."""
    values = np.frombuffer(vector, dtype="<f4")
    scale = max(
        float(np.abs(values).max()) / 127, 1e-30
    )  # of a vector of zeros: scale 0 marks a deleted row
    return np.float32(scale).tobytes() + np.rint(values / scale).astype(np.int8).tobytes()


def closest(question: bytes, packed: Iterable[tuple[str, bytes]]) -> dict[str, float]:
    """For each name the nearest of its vectors; those of another size are left out."""
    asked = np.frombuffer(question, dtype="<f4")
    names, data = zip(*packed, strict=True) if (packed := list(packed)) else ((), ())
    page = Page.of([(place, 0, 0, one, 0) for place, one in enumerate(data)], len(asked))
    near = (page.numbers.astype(np.float32) @ asked) * page.scales
    found: dict[str, float] = {}
    for place, how in zip(page.passages.tolist(), near.tolist(), strict=True):
        found[names[place]] = max(how, found.get(names[place], -1.0))
    return found


class Segment(NamedTuple):
    """Vectors in the order of their passages, and grouped by unit, so that all passages of one are found at once."""

    rows: Page
    bits: NDArray[np.uint64]
    by_unit: Grouped
    lengths: Floats  # of the sum of each unit's vectors: the divisor of its mean, whatever is asked

    @classmethod
    def of(cls, rows: Page) -> Segment:
        by_unit = Grouped.of(rows.units)
        found = cls(rows, bits_of(rows.numbers), by_unit, np.ones(len(by_unit.known), np.float32))
        found.measure(np.arange(len(by_unit.known)))
        return found

    def __len__(self) -> int:
        return len(self.rows.passages)

    @property
    def dim(self) -> int:
        return int(self.rows.numbers.shape[1])

    @property
    def last(self) -> int:
        return int(self.rows.passages[-1]) if len(self) else 0

    def measure(self, places: Rows) -> None:
        several = places[self.by_unit.counts[places] > 1]
        for part in (several[at : at + _BLOCK] for at in range(0, len(several), _BLOCK)):
            self.lengths[part] = np.maximum(np.linalg.norm(self.sums(part), axis=1), 1e-9)

    def sums(self, places: Rows) -> Floats:
        rows, begins, counts = self.by_unit.rows_of(places)
        return _sums(
            self.rows.numbers[rows].astype(np.float32) * self.rows.scales[rows, None],
            begins,
            counts,
        )

    def closeness(self, asked: Floats, rows: Rows) -> Floats:
        found: Floats = (self.rows.numbers[rows].astype(np.float32) @ asked) * self.rows.scales[
            rows
        ]
        return found

    def nearest(self, asked: Floats, count: int) -> tuple[Floats, Rows]:
        """The nearest rows (all, where there are no more than `count`): how near, and of which units."""
        likely = np.arange(len(self))
        if len(self) > _ALL_EXACT:
            likely = _fewest_differing(
                self.bits, bits_of(asked[None, :])[:, 0], max(2_000, 2 * count)
            )
        close = self.closeness(asked, likely)
        close[self.rows.scales[likely] == 0] = _DELETED
        if len(likely) > count:
            best = np.argpartition(-close, count)[:count]
            likely, close = likely[best], close[best]
        return close, self.rows.units[likely]

    def near(self, asked: Floats, units: Rows, voice: float) -> dict[int, Nearness]:
        places, known = self.by_unit.places(units)
        if not len(known):
            return {}
        rows, begins, _ = self.by_unit.rows_of(places)
        close = self.closeness(asked, rows)
        middles = np.add.reduceat(close, begins) / self.lengths[places]
        close[self.rows.scales[rows] == 0] = _DELETED
        best = voiced = np.maximum.reduceat(close, begins)
        if voice:
            voiced = np.maximum.reduceat(close * (1 + voice / 100 * self.rows.voices[rows]), begins)
        alive = best > _DELETED
        columns = (best, middles, self.rows.memories[rows[begins]], voiced)
        return dict(
            zip(
                known[alive].tolist(),
                map(Nearness, *(one[alive].tolist() for one in columns)),
                strict=True,
            )
        )


class Vectors:
    """The vectors of one model, refreshed when the database has changed: those of an index file, each passage up to its
    last one, and those of later passages."""

    def __init__(self, model: str, base: Segment | None = None) -> None:
        self._model = model
        self._changes = self._forgotten = 0
        self.taken_from = base
        self.base = base or Segment.of(Page.of([], 0))
        self._tail = Segment.of(Page.of([], self.base.dim))
        self._shared: dict[int, tuple[float, float, float]] = {}
        """Units with vectors in both: the lengths of the two sums and of their sum."""
        self.stale = False  # some of the index file were deleted since

    @property
    def _segments(self) -> list[Segment]:
        return [segment for segment in (self.base, self._tail) if len(segment)]

    def refresh(self, query: Query) -> None:
        """What is deleted of the index file stays; `forget` is told of those that come up."""
        counted = query("SELECT vectors, changes FROM vector_count WHERE model = ?", self._model)
        [(stored, changes)] = counted or [(0, 0)]
        if changes == self._changes:
            return
        sql = "SELECT passage_seq FROM vector WHERE model = ? AND passage_seq > ? ORDER BY passage_seq"
        listed = np.fromiter((seq for (seq,) in query(sql, self._model, self.base.last)), np.int64)
        if (
            stored - len(listed) > len(self.base) - self._forgotten
        ):  # some came back: the file is no longer right
            self.base, self._forgotten = Segment.of(Page.of([], 0)), 0
            self.refresh(query)
            return
        self.stale = stored - len(listed) < len(self.base) - self._forgotten
        rows = self._tail.rows
        new, kept = (
            np.setdiff1d(listed, rows.passages),
            np.flatnonzero(np.isin(rows.passages, listed)),
        )
        sql = """
            SELECT v.passage_seq, p.memory_seq, p.unit, v.data, p.voice
            FROM vector v JOIN passage p ON p.seq = v.passage_seq
            WHERE v.model = ? AND v.passage_seq BETWEEN ? AND ? ORDER BY v.passage_seq"""
        pages = [rows.take(kept)] if len(kept) else []
        for part in (new[at : at + _PAGE] for at in range(0, len(new), _PAGE)):
            wanted = set(part.tolist())
            page = [
                row
                for row in query(sql, self._model, int(part[0]), int(part[-1]))
                if row[0] in wanted
            ]
            if page:  # none where another process has just deleted them
                dim = self.base.dim or (
                    pages[0].numbers.shape[1] if pages else len(page[0][3]) - SCALE_BYTES
                )
                pages.append(Page.of(page, dim))
        joined = Page.joined(pages) if pages else Page.of([], self.base.dim)
        self._tail = Segment.of(joined.take(np.argsort(joined.passages, kind="stable")))
        self._compare()
        self._changes = changes

    def _compare(self) -> None:
        base, units = self.base.by_unit.places(self._tail.by_unit.known)
        tail, _ = self._tail.by_unit.places(units)
        whole = (
            np.linalg.norm(self.base.sums(base) + self._tail.sums(tail), axis=1)
            if len(units)
            else ()
        )
        lengths = zip(
            self.base.lengths[base].tolist(), self._tail.lengths[tail].tolist(), whole, strict=True
        )
        self._shared = dict(zip(units.tolist(), lengths, strict=True))

    def nearest(
        self, question: bytes, count: int, also: Iterable[int], voice: float = 0.0
    ) -> dict[int, Nearness]:
        """The nearest units, and those of `also` that have vectors."""
        asked = np.frombuffer(question, dtype="<f4")
        if not self._segments or len(asked) != self._segments[0].dim:
            return {}
        close, units = map(
            np.concatenate,
            zip(*(part.nearest(asked, count) for part in self._segments), strict=True),
        )
        if len(close) > count:
            units = units[np.argpartition(-close, count)[:count]]
        wanted = np.union1d(units, np.fromiter(also, np.int64))
        found = self.base.near(asked, wanted, voice)
        for unit, near in self._tail.near(asked, wanted, voice).items():
            other = found.get(unit)
            if other is not None:
                mine, its, whole = self._shared[unit]
                middle = (other.middle * mine + near.middle * its) / max(whole, 1e-9)
                best, voiced = max(near.best, other.best), max(near.voiced, other.voiced)
                near = near._replace(best=best, middle=middle, voiced=voiced)
            found[unit] = near
        return found

    def background(self, question: bytes) -> Background:
        """From a few hundred rows: a mean needs no more."""
        asked = np.frombuffer(question, dtype="<f4")
        if not self._segments or len(asked) != self._segments[0].dim:
            return Background()
        step = -(-sum(map(len, self._segments)) // 500)
        sampled = [(part, np.arange(0, len(part), step)) for part in self._segments]
        close = np.concatenate(
            [part.closeness(asked, rows[part.rows.scales[rows] > 0]) for part, rows in sampled]
        )
        return Background(len(close), float(close.sum()), float(close @ close))

    def closeness_of(self, question: bytes, passages: Sequence[int]) -> list[float]:
        """How near each of these passages is; 0 without a vector."""
        asked = np.frombuffer(question, dtype="<f4")
        wanted = np.fromiter(passages, np.int64)
        near = np.zeros(len(wanted), np.float32)
        for part in (
            self._segments if self._segments and len(asked) == self._segments[0].dim else ()
        ):
            rows = np.minimum(np.searchsorted(part.rows.passages, wanted), len(part) - 1)
            near += np.where(part.rows.passages[rows] == wanted, part.closeness(asked, rows), 0.0)
        return [*near.tolist()]

    def pairs(
        self, memories: Sequence[int], above: float, more: list[tuple[int, int, bytes]]
    ) -> list[Pair]:
        """Pairs of these memories whose means are nearer than `above`, the nearest first. `more`: vectors that are not
        stored (passage, memory, 32-bit floats)."""
        pages = [part.rows for part in self._segments]
        if more and (not pages or len(more[0][2]) == 4 * self._segments[0].dim):
            packed = [(seq, owner, owner, pack(vector), 0) for seq, owner, vector in more]
            pages.append(Page.of(packed, len(more[0][2]) // 4))
        if not pages:
            return []
        held = Page.joined(pages)
        by_memory = Grouped.of(held.memories)
        places, _ = by_memory.places(np.unique(np.fromiter(memories, np.int64)))

        def means(which: Rows, every: int) -> Floats:
            found = np.empty((len(which), -(-held.numbers.shape[1] // every)), np.float32)
            for at in range(0, len(which), _BLOCK):
                rows, begins, counts = by_memory.rows_of(places[which[at : at + _BLOCK]])
                vectors = held.numbers[rows, ::every].astype(np.float32)
                vectors *= held.scales[rows, None]
                sums = _sums(vectors, begins, counts)
                found[at : at + len(sums)] = (
                    sums / np.maximum(np.linalg.norm(sums, axis=1), 1e-9)[:, None]
                )
            return found

        owners = by_memory.known[places].tolist()
        return [(owners[a], owners[b], how) for a, b, how in pairs(len(places), means, above)]

    def passages_of(self, units: Iterable[int]) -> list[int]:
        """Those of the index file."""
        places, _ = self.base.by_unit.places(np.unique(np.fromiter(units, np.int64)))
        rows = self.base.by_unit.rows_of(places)[0]
        return [*self.base.rows.passages[rows[self.base.rows.scales[rows] > 0]].tolist()]

    def forget(self, passages: Iterable[int]) -> None:
        """These, of the index file, were deleted."""
        rows = np.searchsorted(self.base.rows.passages, np.fromiter(passages, np.int64))
        self.base.rows.scales[rows] = 0
        self._forgotten += len(rows)
        self.base.measure(
            np.searchsorted(self.base.by_unit.known, np.unique(self.base.rows.units[rows]))
        )
        self._compare()


class Grouped(NamedTuple):
    rows: Rows
    known: Rows  # the owners, in order
    starts: Rows
    counts: Rows

    @classmethod
    def of(cls, owners: Rows) -> Grouped:
        rows = np.argsort(owners, kind="stable")
        ordered = owners[rows]
        starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
        return cls(rows, ordered[starts], starts, np.diff(starts, append=len(rows)))

    def places(self, wanted: Rows) -> tuple[Rows, Rows]:
        """The places of those of these owners that are known, and which those are."""
        places = np.searchsorted(self.known, wanted)
        there = places < len(self.known)
        there[there] = self.known[places[there]] == wanted[there]
        return places[there], wanted[there]

    def rows_of(self, places: Rows) -> tuple[Rows, Rows, Rows]:
        """All rows of these owners one after the other, where each owner's begin, and how many there are."""
        starts, counts = self.starts[places], self.counts[places]
        begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
        return (
            self.rows[np.arange(int(counts.sum())) + np.repeat(starts - begins, counts)],
            begins,
            counts,
        )


class Page(NamedTuple):
    passages: Rows
    memories: Rows
    units: Rows
    scales: Floats
    voices: NDArray[np.uint8]
    numbers: NDArray[np.int8]

    @classmethod
    def of(cls, rows: list[tuple[int, int, int, bytes, int]], dim: int) -> Page:
        sound = [row for row in rows if len(row[3]) == dim + SCALE_BYTES]
        *owners, data, voices = zip(*sound, strict=True) if sound else ((), (), (), (), ())
        raw = np.frombuffer(b"".join(data), np.uint8).reshape(len(sound), dim + SCALE_BYTES)
        scales = np.ascontiguousarray(raw[:, :SCALE_BYTES]).view("<f4")[:, 0]
        numbers = np.ascontiguousarray(raw[:, SCALE_BYTES:]).view(np.int8)
        passages, memories, units = (np.array(column, np.int64) for column in owners)
        return cls(passages, memories, units, scales, np.array(voices, np.uint8), numbers)

    @classmethod
    def joined(cls, pages: Sequence[Page]) -> Page:
        return cls(*map(np.concatenate, zip(*pages, strict=True))) if len(pages) > 1 else pages[0]

    def take(self, rows: Rows) -> Page:
        cells: list[Any] = [column[rows] for column in self]
        return Page(*cells)


def bits_of(numbers: NDArray[np.int8] | Floats) -> NDArray[np.uint64]:
    packed = np.packbits(numbers > 0, axis=1)
    if spare := -packed.shape[1] % 8:
        packed = np.pad(packed, ((0, 0), (0, spare)))
    # One row per 64-bit word: a comparison then runs along memory, which is many times faster.
    return np.ascontiguousarray(np.ascontiguousarray(packed).view(np.uint64).T)


def _fewest_differing(bits: NDArray[np.uint64], asked: NDArray[np.uint64], count: int) -> Rows:
    """About so many rows, in order; in a very large store those of which the first half differs little."""
    words = len(bits) // 2 if bits.shape[1] > _HALVED_FROM else len(bits)
    differing = _differing(bits[:words], asked[:words])
    if words == len(bits):
        return np.flatnonzero(differing <= _limit(differing, count))
    rows = np.flatnonzero(differing <= _limit(differing, _BY_HALF + bits.shape[1] // 50))
    whole = differing[rows] + _differing(np.take(bits[words:], rows, axis=1), asked[words:])
    return rows[whole <= _limit(whole, count)]


def _differing(bits: NDArray[np.uint64], asked: NDArray[np.uint64]) -> NDArray[np.uint16]:
    found = np.zeros(bits.shape[1], np.uint16)
    for at in range(
        0, len(found), _COMPARED
    ):  # what is compared at a time stays in the processor's cache
        part = found[at : at + _COMPARED]
        for column, word in zip(bits[:, at : at + _COMPARED], asked, strict=True):
            part += np.bitwise_count(column ^ word)
    return found


def _limit(differing: NDArray[np.uint16], count: int) -> int:
    """The distance within which about so many are. Counting each finds it without sorting; a sample is enough."""
    step = -(-len(differing) // _COUNTED)
    return int(np.searchsorted(np.cumsum(np.bincount(differing[::step])), -(-count // step)))


def _sums(vectors: Floats, begins: Rows, counts: Rows) -> Floats:
    """For each beginning the sum of `counts` rows: all first rows, then all second ones. `reduceat` goes by owner, and
    most have only a few rows: it takes three times as long."""
    found: Floats = vectors[begins]
    for step in range(1, int(counts.max(initial=1))):
        longer = np.flatnonzero(counts > step)
        found[longer] += vectors[begins[longer] + step]
    return found
