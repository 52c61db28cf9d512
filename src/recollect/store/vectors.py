"""Vectors: how they are stored, and the search among them.

A vector is stored as signed bytes with one scale (388 bytes for 384 numbers). In memory are the bytes and one bit per
number: a question is compared by bits with all, which is cheap, then by bytes with the best of those (up to a few
thousand, by bytes with all). A unit is as near as its nearest passage; the mean of its passages is measured, too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.model.query import Background, Nearness

_ALL_EXACT = 4_096  # up to here every vector is compared by bytes: bits would save nothing
_RESCORED = 2_000
_SAMPLED = 500
_PAGE = 50_000
_BLOCK = 4_096  # memories measured at a time
_SCALE_BYTES = 4
_LEAST_SCALE = 1e-30  # of a vector of zeros: scale 0 marks a deleted row

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Query = Callable[..., list[Any]]  # SQL and its values: the rows


def pack(vector: bytes) -> bytes:
    """From 32-bit floats to a scale and signed bytes."""
    values = np.frombuffer(vector, dtype="<f4")
    scale = max(float(np.abs(values).max()) / 127, _LEAST_SCALE)
    return np.float32(scale).tobytes() + np.rint(values / scale).astype(np.int8).tobytes()


def closest(question: bytes, packed: Iterable[tuple[str, bytes]]) -> dict[str, float]:
    """For each name the nearest of its vectors; those of another size are left out."""
    asked = np.frombuffer(question, dtype="<f4")
    names, data = zip(*packed, strict=True) if (packed := list(packed)) else ((), ())
    page = _Page.of([(place, 0, 0, one, 0) for place, one in enumerate(data)], len(asked))
    near = (page.numbers.astype(np.float32) @ asked) * page.scales
    found: dict[str, float] = {}
    for place, how in zip(page.passages.tolist(), near.tolist(), strict=True):
        found[names[place]] = max(how, found.get(names[place], -1.0))
    return found


class Vectors:
    """The vectors of one model, refreshed when the database has changed."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._changes = 0
        self.stale = False  # some were deleted since they were loaded
        self._clear(0)

    def _clear(self, dim: int) -> None:
        self._dim = dim
        self._rows = _Page.of([], dim)
        self._bits = np.empty((-(-dim // 64), 0), np.uint64)
        self._by_unit = _Grouped.of(self._rows.units)
        self._lengths: Floats = np.empty(0, np.float32)

    def refresh(self, query: Query) -> None:
        """Loads what was added. What was deleted stays until half of it is gone; `forget` is told of those that come
        up."""
        counted = query("SELECT vectors, changes FROM vector_count WHERE model = ?", self._model)
        [(stored, changes)] = counted or [(0, 0)]
        if changes == self._changes:
            return
        last = int(self._rows.passages[-1]) if len(self) else 0
        [(added,)] = query("SELECT count(*) FROM vector WHERE model = ? AND passage_seq > ?", self._model, last)
        if not len(self) / 2 <= stored - added <= len(self):  # more: vectors of older passages came late
            self._clear(self._dim)
            last = 0
        self.stale = stored - added < len(self)
        sql = f"""
            SELECT v.passage_seq, p.memory_seq, p.unit, v.data, p.voice
            FROM vector v JOIN passage p ON p.seq = v.passage_seq
            WHERE v.model = ? AND v.passage_seq > ? ORDER BY v.passage_seq LIMIT {_PAGE}"""  # noqa: S608
        pages: list[_Page] = []
        while page := query(sql, self._model, last):
            last = page[-1][0]
            pages.append(_Page.of(page, self._dim or len(page[0][3]) - _SCALE_BYTES))
        if pages:
            self._join(pages)
        # By unit, so that all passages of one are found at once. Only units that have new passages are measured.
        known, lengths, fresh = self._by_unit.known, self._lengths, self._rows.units[len(self._by_unit.rows) :]
        self._by_unit = _Grouped.of(self._rows.units)
        self._lengths = np.ones(len(self._by_unit.known), np.float32)
        self._lengths[np.searchsorted(self._by_unit.known, known)] = lengths
        changed = np.searchsorted(self._by_unit.known, np.unique(fresh))
        for at in range(0, len(changed), _BLOCK):
            self._lengths[changed[at : at + _BLOCK]] = self._measured(changed[at : at + _BLOCK])
        self._changes = changes

    def _join(self, pages: list[_Page]) -> None:
        if not len(self):
            self._clear(pages[0].numbers.shape[1])
        # Joined once: page by page, everything would be copied again and again.
        self._bits = np.concatenate([self._bits, *(_bits(page.numbers) for page in pages)], axis=1)
        self._rows = _Page(*map(np.concatenate, zip(self._rows, *pages, strict=True)))

    def _measured(self, places: Rows) -> Floats:
        """The length of the sum of a unit's vectors: the divisor of its mean, whatever is asked."""
        rows, begins, counts = self._by_unit.rows_of(places)
        lengths = np.ones(len(begins), np.float32)
        several = counts > 1
        if several.any():
            vectors = self._rows.numbers[rows].astype(np.float32) * self._rows.scales[rows, None]
            lengths[several] = np.linalg.norm(_sums(vectors, begins, counts)[several], axis=1)
        return np.maximum(lengths, 1e-9)

    def __len__(self) -> int:
        return len(self._rows.passages)

    def nearest(self, question: bytes, count: int, also: Iterable[int], voice: float = 0.0) -> dict[int, Nearness]:
        """The nearest units, and those of `also` that have vectors."""
        asked = np.frombuffer(question, dtype="<f4")
        if not len(self) or len(asked) != self._dim:
            return {}
        likely = np.arange(len(self))
        if len(self) > _ALL_EXACT:
            differing = np.zeros(len(self), np.uint16)
            for column, word in zip(self._bits, _bits(asked[None, :])[:, 0], strict=True):
                differing += np.bitwise_count(column ^ word)
            # Counting each distance finds the limit without sorting: there are only as many as a vector has numbers.
            limit = np.searchsorted(np.cumsum(np.bincount(differing)), max(_RESCORED, 2 * count))
            likely = np.flatnonzero(differing <= limit)
        if len(likely) > count:
            likely = likely[np.argpartition(-self._closeness(asked, likely), count)[:count]]
        places, units = self._by_unit.places(np.union1d(self._rows.units[likely], np.fromiter(also, np.int64)))
        if not len(units):
            return {}
        rows, begins, _ = self._by_unit.rows_of(places)
        close = self._closeness(asked, rows)
        best = voiced = np.maximum.reduceat(close, begins)
        if voice:
            voiced = np.maximum.reduceat(close * (1 + voice / 100 * self._rows.voices[rows]), begins)
        middles = np.add.reduceat(close, begins) / self._lengths[places]
        alive = np.add.reduceat(self._rows.scales[rows], begins) > 0
        columns = (units, alive, best, middles, self._rows.memories[rows[begins]], voiced)
        found = zip(*(column.tolist() for column in columns), strict=True)
        return {unit: Nearness(*near) for unit, lives, *near in found if lives}

    def background(self, question: bytes) -> Background:
        """From a few hundred rows: a mean needs no more."""
        asked = np.frombuffer(question, dtype="<f4")
        if not len(self) or len(asked) != self._dim:
            return Background()
        rows = np.arange(0, len(self), -(-len(self) // _SAMPLED))
        close = self._closeness(asked, rows[self._rows.scales[rows] > 0])
        return Background(len(close), float(close.sum()), float(close @ close))

    def closeness_of(self, question: bytes, passages: Sequence[int]) -> list[float]:
        """How near each of these passages is; 0 without a vector."""
        asked = np.frombuffer(question, dtype="<f4")
        wanted = np.fromiter(passages, np.int64)
        if not len(self) or len(asked) != self._dim:
            return [0.0] * len(wanted)
        rows = np.minimum(np.searchsorted(self._rows.passages, wanted), len(self) - 1)
        return [*np.where(self._rows.passages[rows] == wanted, self._closeness(asked, rows), 0.0).tolist()]

    def pairs(self, memories: Sequence[int], above: float, more: list[tuple[int, int, bytes]]) -> list[Pair]:
        """Pairs of these memories whose means are nearer than `above`, the nearest first. `more`: vectors that are not
        stored (passage, memory, 32-bit floats)."""
        if more and (not len(self) or len(more[0][2]) == 4 * self._dim):
            packed = [(seq, owner, owner, pack(vector), 0) for seq, owner, vector in more]
            joined = copy.copy(self)
            joined._join([_Page.of(packed, len(more[0][2]) // 4)])
            return joined.pairs(memories, above, [])
        by_memory = _Grouped.of(self._rows.memories)
        places, _ = by_memory.places(np.unique(np.fromiter(memories, np.int64)))

        def means(which: Rows, every: int) -> Floats:
            found = np.empty((len(which), -(-self._dim // every)), np.float32)
            for at in range(0, len(which), _BLOCK):
                rows, begins, counts = by_memory.rows_of(places[which[at : at + _BLOCK]])
                vectors = self._rows.numbers[rows, ::every].astype(np.float32)
                vectors *= self._rows.scales[rows, None]
                sums = _sums(vectors, begins, counts)
                found[at : at + len(sums)] = sums / np.maximum(np.linalg.norm(sums, axis=1), 1e-9)[:, None]
            return found

        owners = by_memory.known[places].tolist()
        return [(owners[a], owners[b], how) for a, b, how in pairs(len(places), means, above)]

    def forget(self, memories: Iterable[int], passages: Collection[int]) -> bool:
        """Marks vectors of these memories as deleted unless their passages are given; False where none is."""
        of_them = np.isin(self._rows.memories, np.fromiter(memories, np.int64))
        gone = of_them & (self._rows.scales > 0) & ~np.isin(self._rows.passages, np.fromiter(passages, np.int64))
        self._rows.scales[gone] = 0
        places = np.searchsorted(self._by_unit.known, np.unique(self._rows.units[gone]))
        if len(places):
            self._lengths[places] = self._measured(places)
        return bool(gone.any())

    def _closeness(self, asked: Floats, rows: Rows) -> Floats:
        found: Floats = (self._rows.numbers[rows].astype(np.float32) @ asked) * self._rows.scales[rows]
        return found


class _Grouped(NamedTuple):
    rows: Rows
    known: Rows  # the owners, in order
    starts: Rows
    counts: Rows

    @classmethod
    def of(cls, owners: Rows) -> _Grouped:
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
        return self.rows[np.arange(int(counts.sum())) + np.repeat(starts - begins, counts)], begins, counts


class _Page(NamedTuple):
    passages: Rows
    memories: Rows
    units: Rows
    scales: Floats
    voices: NDArray[np.uint8]
    numbers: NDArray[np.int8]

    @classmethod
    def of(cls, rows: list[tuple[int, int, int, bytes, int]], dim: int) -> _Page:
        sound = [row for row in rows if len(row[3]) == dim + _SCALE_BYTES]
        *owners, data, voices = zip(*sound, strict=True) if sound else ((), (), (), (), ())
        raw = np.frombuffer(b"".join(data), np.uint8).reshape(len(sound), dim + _SCALE_BYTES)
        scales = np.ascontiguousarray(raw[:, :_SCALE_BYTES]).view("<f4")[:, 0]
        numbers = np.ascontiguousarray(raw[:, _SCALE_BYTES:]).view(np.int8)
        passages, memories, units = (np.array(column, np.int64) for column in owners)
        return cls(passages, memories, units, scales, np.array(voices, np.uint8), numbers)


def _bits(numbers: NDArray[np.int8] | Floats) -> NDArray[np.uint64]:
    packed = np.packbits(numbers > 0, axis=1)
    if spare := -packed.shape[1] % 8:
        packed = np.pad(packed, ((0, 0), (0, spare)))
    # One row per 64-bit word: a comparison then runs along memory, which is many times faster.
    return np.ascontiguousarray(np.ascontiguousarray(packed).view(np.uint64).T)


def _sums(vectors: Floats, begins: Rows, counts: Rows) -> Floats:
    """For each beginning the sum of `counts` rows: all first rows, then all second ones. `reduceat` goes by owner, and
    most have only a few rows: it takes three times as long."""
    found: Floats = vectors[begins]
    for step in range(1, int(counts.max(initial=1))):
        longer = np.flatnonzero(counts > step)
        found[longer] += vectors[begins[longer] + step]
    return found


# Pairs: which memories of a store say nearly the same, without comparing all with all. A few thousand are compared
# exactly. Beyond that, each is put into the groups of the two nearest of a few hundred, and only members of one
# are compared: first by every third number, then those near enough by all of them. So a pair can be missed; one that is
# given is measured exactly. The same store gives the same pairs: nothing is random.

Means = Callable[[Rows, int], Floats]
"""The means of the passages of the memories at these places, by every n-th number, each of length one."""
Pair = tuple[int, int, float]

_ALL_PAIRS = 3_000
_EACH = 3  # every third number is enough to see who might be near
_MARGIN = 0.12  # how far that look may err
_MOST_TOGETHER = 1_500  # larger groups are compared in parts
_NEAREST = 4  # of each: a hundred copies of one text are joined through their nearest, not by all their pairs


def pairs(count: int, means: Means, above: float) -> list[Pair]:
    if count < 2:
        return []
    is_exact = count <= _ALL_PAIRS
    rough = means(np.arange(count), 1 if is_exact else _EACH)
    groups = [np.arange(count)] if is_exact else _groups(rough)
    floor = above if is_exact else above - _MARGIN
    likely = sorted({pair for group in groups for pair in _likely(rough[group], group, floor)})
    found: list[Pair] = []
    for at in range(0, len(likely), _BLOCK):
        part = np.array(likely[at : at + _BLOCK], np.int64)
        near = np.einsum("ij,ij->i", means(part[:, 0], 1), means(part[:, 1], 1))
        found += [
            (a, b, min(how, 1.0)) for (a, b), how in zip(part.tolist(), near.tolist(), strict=True) if how > above
        ]
    return sorted(found, key=lambda pair: (-pair[2], pair[0], pair[1]))


def _groups(rough: Floats) -> Iterator[Rows]:
    """Each place is in two groups."""
    marks = rough[:: max(1, len(rough) // int(len(rough) ** 0.5))]
    nearest = np.empty((2, len(rough)), np.int64)
    for at in range(0, len(rough), _BLOCK):
        near = rough[at : at + _BLOCK] @ marks.T
        nearest[0, at : at + len(near)] = best = np.argmax(near, axis=1)
        near[np.arange(len(near)), best] = -2
        nearest[1, at : at + len(near)] = np.argmax(near, axis=1)
    places, mark = np.tile(np.arange(len(rough)), 2), nearest.ravel()
    order = np.argsort(mark, kind="stable")
    for group in np.split(places[order], np.flatnonzero(np.diff(mark[order])) + 1):
        for at in range(0, len(group), _MOST_TOGETHER):
            if len(part := np.sort(group[at : at + _MOST_TOGETHER])) > 1:
                yield part


def _likely(part: Floats, places: Rows, above: float) -> Iterator[tuple[int, int]]:
    """For each member of a group the nearest others, if near enough."""
    near = part @ part.T
    np.fill_diagonal(near, -2)
    rows = np.flatnonzero(near.max(axis=1) > above)
    if not len(rows):
        return
    near = near[rows]
    count = min(_NEAREST, len(part) - 1)
    best = np.argpartition(-near, count - 1, axis=1)[:, :count]
    is_close = np.take_along_axis(near, best, axis=1) > above
    one, other = places[np.repeat(rows, count)[is_close.ravel()]], places[best[is_close]]
    yield from zip(np.minimum(one, other).tolist(), np.maximum(one, other).tolist(), strict=True)
