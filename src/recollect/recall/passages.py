"""Which part of what was found answers the question.

Takes a hit whose pieces are scored and returns the passages to show, best first: the best piece, grown by its
neighbours, and others that match nearly as well, until the room is used. Decisions, findings and what the agent said
come before commands and files; an earlier question is never an answer, nor is the title.

Does not rank hits (fuse.py, weigh.py), does not word anything (render).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from recollect.base.text import one_line
from recollect.model.query import Hit
from recollect.model.record import Part, Role, parts

ASKED_CHARS = 1_200
UNASKED_CHARS = 240

_BESIDE = 0.15  # what standing next to something that is shown is worth: an answer is rarely one sentence long
ASKED = {
    Role.ASKED: 0.6,
    Role.FOUND: 1.1,
    Role.DECIDED: 1.1,
    Role.CHANGED: 0.5,
    Role.RAN: 0.5,
    Role.ENDED: 1.1,
    Role.SAID: 1.0,
}
UNASKED = ASKED | {Role.ASKED: 0.0, Role.CHANGED: 0.0, Role.RAN: 0.0}
"""Nobody who did not ask wants to read an earlier question, or which commands were run."""
_SENTENCE = re.compile(r"[^\n]*?(?:[.!?]+[)\"'`*]*(?=\s|$)|[\u3002\uff01\uff1f]+|\n|$)\s*")
_LOOK_BACK = 8
_ENDED = re.compile(r"(?:[.!?:\u3002\uff01\uff1f][)\"'`*]*\s*|\n\s*)$")


class _Block(NamedTuple):
    """One or more pieces that belong together: no sentence is cut in two."""

    start: int
    end: int
    score: float


def passages(hit: Hit, max_chars: int, worth: Mapping[Role, float] = ASKED) -> tuple[str, ...]:
    """`worth`: how much what stands in each role counts."""
    text = hit.text
    blocks = list(_blocks(hit, worth))
    chosen: dict[int, float] = {}
    room = max_chars
    while True:
        open_ = {
            number: block.score + _BESIDE * (number - 1 in chosen or number + 1 in chosen)
            for number, block in enumerate(blocks)
            if number not in chosen and block.score > 0 and (not chosen or block.end - block.start <= room)
        }
        if not open_:
            break
        best = max(open_, key=lambda number: (open_[number], -number))
        chosen[best] = blocks[best].score
        room -= blocks[best].end - blocks[best].start
    found = [
        (max(chosen[number] for number in run), text[blocks[run[0]].start : blocks[run[-1]].end].strip())
        for run in _runs(sorted(chosen))
    ]
    found.sort(key=lambda one: -one[0])
    return tuple(said if len(said) <= max_chars else shortened(said, max_chars) for _, said in found)


def unasked(hit: Hit) -> tuple[str, ...]:
    """What is put in front of an agent that did not ask. Of a rule or a note that says no more than its title, that."""
    found = tuple(filter(None, passages(hit, UNASKED_CHARS, UNASKED)))
    if found or hit.turn is not None or not hit.text.strip():
        return found
    said = hit.text.strip()
    return (said if len(said) <= UNASKED_CHARS else shortened(said, UNASKED_CHARS),)


def shortened(text: str, max_chars: int) -> str:
    """Cut after a sentence, else after a word."""
    ends = [found.end() for found in _SENTENCE.finditer(text) if len(text[: found.end()].rstrip()) <= max_chars]
    kept = text[: ends[-1]].rstrip() if ends else ""
    if len(kept) >= max_chars // 3:
        return kept
    cut = text[: max_chars - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[max_chars // 2 :] else cut).rstrip() + "\u2026"


def _blocks(hit: Hit, worth: Mapping[Role, float]) -> Iterator[_Block]:
    text, title = hit.text, one_line(hit.memory.title).rstrip("\u2026").casefold()
    roles = tuple(parts(text)) if hit.turn is not None else ()
    waiting: _Block | None = None
    for piece in hit.pieces:
        start, end, role = _within(piece.start, piece.end, roles)
        score = piece.score * _worth(text[start:end], role, title, worth)
        begins = role is not None and role.start == start
        if waiting is not None and (begins or _ENDED.search(text[waiting.end - _LOOK_BACK : waiting.end])):
            yield waiting
            waiting = None
        waiting = _Block(waiting.start if waiting else start, end, max(score, waiting.score if waiting else 0.0))
    if waiting is not None:
        yield waiting


def _within(start: int, end: int, roles: tuple[Part, ...]) -> tuple[int, int, Part | None]:
    """Without the label, and whose words they are."""
    for part in roles:
        if part.start < end and start < part.end:
            return max(start, part.start), min(end, part.end), part
    return start, end, None


def _worth(said: str, part: Part | None, title: str, worth: Mapping[Role, float]) -> float:
    plain = one_line(said)
    if plain.rstrip(".\u2026").casefold() == title:
        return 0.0
    role = part.role if part is not None else None
    if role is Role.ASKED and plain.endswith(("?", "\uff1f")):
        return 0.0
    return 1.0 if role is None else worth[role]


def _runs(numbers: list[int]) -> Iterator[list[int]]:
    run: list[int] = []
    for number in numbers:
        if run and number != run[-1] + 1:
            yield run
            run = []
        run.append(number)
    if run:
        yield run
