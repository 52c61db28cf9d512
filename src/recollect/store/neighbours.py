"""Which memories of a store say nearly the same: pairs by meaning, without comparing all with all.

A memory stands here as the middle of its passages. Up to a few thousand are compared exactly. Beyond that each is
laid beside the two of some hundred others that it is nearest to, and only those that lie together are compared: at
first by every third number, then those that come near enough by all of them. So a pair can be missed; one that is
given is what it is said to be. The same store gives the same pairs, because nothing is drawn by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Middles = Callable[[Rows, int], Floats]
"""The middles of the memories at these places, by every n-th number, each of length one."""
Pair = tuple[int, int, float]

_ALL_EXACT = 3_000
_BLOCK = 1_024
_EACH = 3  # every third number is enough to see who might be near
_MARGIN = 0.12  # how far that look may err
_MOST_TOGETHER = 1_500  # more than these in one place are looked at in parts
_NEAREST = 4  # of each: a hundred copies of one text are joined through their nearest, not by all their pairs


def pairs(count: int, middles: Middles, above: float) -> list[Pair]:
    """Places and how near they are, the nearest first."""
    if count < 2:
        return []
    found: set[tuple[int, int]] = set()
    if count <= _ALL_EXACT:
        whole = middles(np.arange(count), 1)
        for at in range(0, count, _BLOCK):
            found |= _likely(whole[at : at + _BLOCK], whole, np.arange(at, min(at + _BLOCK, count)), None, above)
        return _measured(found, lambda rows: whole[rows], above)
    rough = middles(np.arange(count), _EACH)
    for together in _laid_together(rough):
        part = rough[together]
        found |= _likely(part, part, together, together, above - _MARGIN)
    return _measured(found, lambda rows: middles(rows, 1), above)


def _laid_together(rough: Floats) -> Iterator[Rows]:
    """Groups of places; each place is in two."""
    marks = rough[:: max(1, len(rough) // int(len(rough) ** 0.5))]
    first = np.empty(len(rough), np.int64)
    second = np.empty(len(rough), np.int64)
    for at in range(0, len(rough), 4 * _BLOCK):
        near = rough[at : at + 4 * _BLOCK] @ marks.T
        rows = np.arange(len(near))
        first[at : at + len(near)] = best = np.argmax(near, axis=1)
        near[rows, best] = -2
        second[at : at + len(near)] = np.argmax(near, axis=1)
    places = np.concatenate([np.arange(len(rough))] * 2)
    mark = np.concatenate([first, second])
    order = np.argsort(mark, kind="stable")
    for group in np.split(places[order], np.flatnonzero(np.diff(mark[order])) + 1):
        for at in range(0, len(group), _MOST_TOGETHER):
            if len(part := np.sort(group[at : at + _MOST_TOGETHER])) > 1:
                yield part


def _likely(some: Floats, all_: Floats, at: Rows, names: Rows | None, above: float) -> set[tuple[int, int]]:
    """Of each of `some`, which stand at `at`, the nearest others, if near enough."""
    near = some @ all_.T
    own = at if names is None else np.arange(len(some))
    near[np.arange(len(some)), own] = -2
    rows = np.flatnonzero(near.max(axis=1) > above)
    if not len(rows):
        return set()
    near = near[rows]
    count = min(_NEAREST, near.shape[1] - 1)
    best = np.argpartition(-near, count - 1, axis=1)[:, :count]
    close = np.take_along_axis(near, best, axis=1) > above
    one = np.repeat(at[rows], count)[close.ravel()]
    other = best.ravel()[close.ravel()]
    if names is not None:
        other = names[other]
    return set(zip(np.minimum(one, other).tolist(), np.maximum(one, other).tolist(), strict=True))


def _measured(found: set[tuple[int, int]], whole: Callable[[Rows], Floats], above: float) -> list[Pair]:
    ordered = sorted(found)
    made: list[Pair] = []
    for at in range(0, len(ordered), 8 * _BLOCK):
        part = np.array(ordered[at : at + 8 * _BLOCK], np.int64)
        near = np.einsum("ij,ij->i", whole(part[:, 0]), whole(part[:, 1]))
        made += [
            (int(a), int(b), float(min(how, 1.0)))
            for (a, b), how in zip(part.tolist(), near.tolist(), strict=True)
            if how > above
        ]
    return sorted(made, key=lambda pair: (-pair[2], pair[0], pair[1]))
