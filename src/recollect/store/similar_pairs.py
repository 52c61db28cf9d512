"""Which memories of a store say nearly the same, without comparing all with all. A few thousand are compared
exactly. Beyond that, each is put into the groups of the two nearest of a few hundred, and only members of one
are compared: first by every third number, then those near enough by all of them. So a pair can be missed; one that is
given is measured exactly. The same store gives the same pairs: nothing is random."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Means = Callable[[Rows, int], Floats]
"""The means of the passages of the memories at these places, by every n-th number, each of length one."""
Pair = tuple[int, int, float]

_ALL_PAIRS = 3_000
_EACH = 3  # every third number is enough to see who might be near
_MARGIN = (
    0.08  # how far that look may err: of pairs of real texts one in two thousand is further off
)
_MOST_TOGETHER = 1_500  # larger groups are compared in parts
_BLOCK = 4_096  # memories at a time
_NEAREST = 4  # of each: a hundred copies of one text are joined through their nearest, not by all their pairs


def pairs(count: int, means: Means, above: float) -> list[Pair]:
    if count < 2:
        return []
    is_exact = count <= _ALL_PAIRS
    rough = means(np.arange(count), 1 if is_exact else _EACH)
    groups = [np.arange(count)] if is_exact else _groups(rough)
    floor = above if is_exact else above - _MARGIN
    likely = np.unique(
        np.concatenate([one * count + other for one, other in _likely(rough, groups, floor)])
    )
    found: list[Pair] = []
    for at in range(0, len(likely), _BLOCK):
        one, other = np.divmod(likely[at : at + _BLOCK], count)
        near = np.einsum("ij,ij->i", means(one, 1), means(other, 1))
        each = zip(one.tolist(), other.tolist(), near.tolist(), strict=True)
        found += [(a, b, min(how, 1.0)) for a, b, how in each if how > above]
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


def _likely(rough: Floats, groups: Iterable[Rows], above: float) -> Iterator[tuple[Rows, Rows]]:
    """For each member of a group the nearest others, if near enough; the one that comes first is given first."""
    yield np.empty(0, np.int64), np.empty(0, np.int64)
    for places in groups:
        part = rough[places]
        near = part @ part.T
        np.fill_diagonal(near, -2)
        rows = np.arange(len(places))
        for _ in range(_NEAREST):
            each, best = np.arange(len(rows)), np.argmax(near, axis=1)
            close = np.flatnonzero(near[each, best] > above)
            one, other = places[rows[close]], places[best[close]]
            yield np.minimum(one, other), np.maximum(one, other)
            near[each, best] = -2
            near, rows = near[close], rows[close]
            if not len(rows):
                break
