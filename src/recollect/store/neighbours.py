"""Which memories of a store say nearly the same: pairs by meaning, without comparing all with all.

A memory is represented by the mean of its passages. Up to a few thousand are compared exactly. Beyond that, each is put
into the groups of the two nearest of some hundred marks, and only members of one group are compared: first by every
third number, then those near enough by all of them. So a pair can be missed; one that is given is measured exactly.
The same store gives the same pairs: nothing is random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Means = Callable[[Rows, int], Floats]
"""The means of the memories at these places, by every n-th number, each of length one."""
Pair = tuple[int, int, float]

_ALL_EXACT = 3_000
_BLOCK = 4_096
_EACH = 3  # every third number is enough to see who might be near
_MARGIN = 0.12  # how far that look may err
_MOST_TOGETHER = 1_500  # larger groups are compared in parts
_NEAREST = 4  # of each: a hundred copies of one text are joined through their nearest, not by all their pairs


def pairs(count: int, means: Means, above: float) -> list[Pair]:
    """Places and how near they are, the nearest first."""
    if count < 2:
        return []
    is_exact = count <= _ALL_EXACT
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
