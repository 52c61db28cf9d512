"""Which part of what was found answers the question.

Takes a hit whose pieces are scored and returns the passages to show, best first: the best piece, grown by its
neighbours, and others that match nearly as well, until the room is used. Decisions, findings and what the agent said
come before commands and files; an earlier question is never an answer, nor is the title. What the person stated in
the prompt always has a little room, for one who asked: nobody else says it with as much authority.

Does not rank hits (fuse.py, weigh.py), does not word anything (render).
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from recollect.base.text import one_line
from recollect.model.query import Hit, Piece
from recollect.model.record import Part, Role, parts

ASKED_CHARS = 1_200
UNASKED_CHARS = 240
_ANSWER_CHARS = 8_000  # of all that are shown together: many turns come with less of each
SUMMARY_CHARS = 100
_STATED_CHARS = 240  # of what the person stated in the prompt
_LEAST_STATED = 16

_BESIDE = 0.15  # what standing next to something that is shown is worth: an answer is rarely one sentence long
ASKED = {
    Role.ASKED: 0.3,
    Role.FOUND: 1.1,
    Role.DECIDED: 1.6,
    Role.CHANGED: 0.25,
    Role.RAN: 0.25,
    Role.ENDED: 1.1,
    Role.SAID: 1.0,
}
UNASKED = ASKED | {Role.ASKED: 0.0, Role.CHANGED: 0.0, Role.RAN: 0.0}
"""Who did not ask does not want to read an earlier question, or which commands were run."""
_BEST = 6
_PIECE_CHARS = 125  # most have more
_SENTENCE = re.compile(r"[^\n]*?(?:(?<!\b\d)[.!?]+[)\"'`*]*(?=\s|$)|[\u3002\uff01\uff1f]+|\n|$)\s*")
_MARKS = re.compile(r"\W+")
# Nobody who did not ask wants to read that something was committed, that tests passed or failed, or what an agent says
# while it works.
_EMPTY = re.compile(
    r"\W*(?:(?:i(?:'ve| have)? )?(?:committed|pushed|merged)\b|"
    r"commit (?:succe|done|created|was|includes|[`(]|[0-9a-f]{7})|"
    r"the commit includes|pre-commit|pr created|everything's up|done\b|on [`'\"]|"
    r"(?:all|both|\d+)(?: of)?(?: the| \d+)? ?(?:unit |integration |e2e )?"
    r"(?:tests?|checks?|good|green|clean|done|set|hooks)\b|"
    r"(?:tests?|lint|types?|typecheck|build|ci|working tree)(?:,? (?:and )?(?:tests?|lint|types?|build))* "
    r"(?:all )?(?:pass|is|are|now|clean|succe|green)|"
    r"(?:ok(?:ay)?|perfect|great|good|excellent|interesting|got it|right|yes|yep|sure|alright)[\s,.!:\u2014-]|"
    r"(?:now,? )?(?:let me|let's|i'll|i will|i'm going to|i need to|next,? i)\b|"
    r"now (?:i|update|add|let|remove|replace|create|restart|fix|check|run|look|verify)\b|"
    r"(?:would|do) you (?:like|want)|let me know|here(?:'s| is| are)\b.{0,60}:\s*$|"
    r"(?:the )?(?:changelog|readme|[\w-]+\.md)\W+(?:has been |was |is |now )*(?:updated|bumped)|commit: |"
    r"(?:the )?(?:remaining )?(?:modified|changed) files|"
    r"found (?:it|the (?:bug|issue|problem))\W*$|`[^`\n]{2,120}` failed: )",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\W*(?:(?:ok(?:ay)?|yes|yeah|now|so|and|then|please|also|great|perfect|cool|hm+|wait|while [^,]{3,40},)[\s,]+)*"
    r"(?:please |let'?s |can you |could you |i want you to )?(?:add|fix|check|run|write|create|make|update|remove"
    r"|implement|look|review|commit|push|merge|test|try|explain|show|tell|find|do(?! not)|go|change|move|rename|start"
    r"|continue|give|let|proceed|read|open|deploy|ensure)\b",
    re.IGNORECASE,
)
_LEAST_SAID = 12  # letters and digits, as bytes: list numbers, rules and "Done." fill the room and say nothing
_FIGURE = re.compile(r"\d{3}|`")
# What the agent said is shown there, among its neighbours; what the person decided, where that alone stands.
_REPEATED_IN = {Role.FOUND: Role.SAID, Role.ENDED: Role.SAID, Role.ASKED: Role.DECIDED}
_REPEATED_CHARS = 40  # by its first and last so many characters a finding is known again in what was said


class _Sentence(NamedTuple):
    """A sentence."""

    part: int
    start: int
    end: int
    score: float


def chars_each(hits: int) -> int:
    """How much of each hit is shown to one who asked."""
    return min(ASKED_CHARS, _ANSWER_CHARS // max(1, hits))


def answering(hit: Hit, max_chars: int, worth: Mapping[Role, float] = ASKED) -> Hit:
    """With what is shown of it, and the best of that in a line. `worth`: how much each role counts."""
    text = hit.text.strip()
    if hit.turn is None and len(text) <= max_chars:
        best = max(hit.pieces, key=lambda piece: piece.score, default=Piece(0, len(hit.text), 0.0))
        shown = (text,) if text else ()
        return replace(hit, shown=shown, summary=shortened(one_line(hit.text[best.start : best.end]), SUMMARY_CHARS))
    sentences = list(_sentences(hit, max_chars, worth))
    first = max(sentences, key=lambda sentence: sentence.score, default=None)
    line = one_line(hit.text[first.start : first.end]) if first is not None and first.score > 0 else ""
    stated = _stated(hit, sentences) if worth is ASKED else []
    return replace(hit, shown=_grown(hit, sentences, stated, max_chars), summary=shortened(line, SUMMARY_CHARS))


def passages(hit: Hit, max_chars: int, worth: Mapping[Role, float] = ASKED) -> tuple[str, ...]:
    """At most so many characters of its text, cut at sentences."""
    return answering(hit, max_chars, worth).shown


def _stated(hit: Hit, sentences: Sequence[_Sentence]) -> list[int]:
    """What the person's prompt says beside its questions and orders, as far as there is room for it."""
    asked = {number for number, part in enumerate(parts(hit.text)) if part.role is Role.ASKED} if hit.turn else set()
    found: list[int] = []
    room = _STATED_CHARS
    own = [number for number, sentence in enumerate(sentences) if sentence.part in asked and sentence.score > 0]
    for number in sorted(own, key=lambda number: -sentences[number].score):
        start, end = sentences[number].start, sentences[number].end
        if _LEAST_STATED <= end - start <= room and not _ORDER.match(hit.text, start, end):
            found.append(number)
            room -= end - start
    return found


def _grown(hit: Hit, sentences: Sequence[_Sentence], stated: Sequence[int], max_chars: int) -> tuple[str, ...]:
    chosen = set(stated)
    room = max_chars - sum(sentences[number].end - sentences[number].start for number in stated)
    waiting = [(-sentence.score, number) for number, sentence in enumerate(sentences) if sentence.score > 0]
    heapq.heapify(waiting)
    while waiting:
        _, number = heapq.heappop(waiting)
        size = sentences[number].end - sentences[number].start
        if number in chosen or (chosen and size > room):
            continue
        chosen.add(number)
        room -= size
        for beside in range(max(0, number - 1), min(number + 2, len(sentences))):
            if sentences[beside].part == sentences[number].part and sentences[beside].score > 0:
                heapq.heappush(waiting, (-sentences[beside].score - _BESIDE, beside))
    runs = _runs([sentences[number] for number in sorted(chosen)])
    found = sorted(runs, key=lambda run: -max(sentence.score for sentence in run))
    said = (hit.text[run[0].start : run[-1].end].strip() for run in found)
    return tuple(shortened(words, max_chars) for words in said if words)


def unasked_passages(hit: Hit) -> tuple[str, ...]:
    """For an agent that did not ask. Of a rule or a note that says no more than its title, that. Nothing where what
    matches best says nothing."""
    best = max(hit.pieces, key=lambda piece: piece.score, default=None)
    if hit.turn is not None and best is not None and _EMPTY.match(hit.text[best.start : best.end]):
        return ()
    found = tuple(filter(None, passages(hit, UNASKED_CHARS, UNASKED)))
    if found or hit.turn is not None or not hit.text.strip():
        return found
    return (shortened(hit.text.strip(), UNASKED_CHARS),)


def shortened(text: str, max_chars: int) -> str:
    """Cut after a sentence, else after a word."""
    if len(text) <= max_chars:
        return text
    ends = [found.end() for found in _SENTENCE.finditer(text[: max_chars + 1]) if found.end() <= max_chars]
    if ends and ends[-1] > max_chars // 3:
        return text[: ends[-1]].rstrip()
    word = text.rfind(" ", max_chars // 2, max_chars)
    return text[: word if word > 0 else max_chars - 1].rstrip() + "\u2026"


def _runs(sentences: Sequence[_Sentence]) -> Iterator[list[_Sentence]]:
    run: list[_Sentence] = []
    for sentence in sentences:
        if run and (sentence.part, sentence.start) != (run[-1].part, run[-1].end):
            yield run
            run = []
        run.append(sentence)
    if run:
        yield run


def _around_best(pieces: Sequence[Piece], max_chars: int) -> list[Piece]:
    """Of a very long text only what stands about its best pieces is looked at."""
    wide = 1 + max_chars // _PIECE_CHARS
    best = heapq.nlargest(_BEST, range(len(pieces)), key=lambda number: pieces[number].score)
    near = {at for number in best for at in range(number - wide, number + wide + 1)}
    return [pieces[at] for at in sorted(near) if 0 <= at < len(pieces)]


def _sentences(hit: Hit, max_chars: int, worth: Mapping[Role, float]) -> Iterator[_Sentence]:
    """Sentence by sentence. One that stands in two pieces matches as well as they do, by their shares."""
    text, title = hit.text, _bare(hit.memory.title)
    roles = tuple(parts(text)) if hit.turn is not None else ()
    known = {part.role: _bare(text[part.start : part.end]) for part in roles if part.role in _REPEATED_IN.values()}
    for number, pieces in _regions(_around_best(hit.pieces, max_chars), roles):
        role = roles[number].role if number >= 0 else None
        elsewhere = known.get(_REPEATED_IN[role], "") if role in _REPEATED_IN else ""
        at = 0
        for found in _SENTENCE.finditer(text, pieces[0].start, pieces[-1].end):
            start, end = found.span()
            if start == end:
                continue
            while pieces[at].end <= start:
                at += 1
            score = pieces[at].score
            if pieces[at].end < end:
                shares = [(min(end, one.end) - max(start, one.start), one.score) for one in pieces[at:]]
                score = sum(share * score for share, score in shares if share > 0) / (end - start)
            yield _Sentence(number, start, end, score * _worth(found[0], role, title, elsewhere, worth))


def _regions(pieces: Sequence[Piece], roles: Sequence[Part]) -> Iterator[tuple[int, list[Piece]]]:
    """Pieces that follow each other within one part of the text; -1 where it has no parts."""
    region: list[Piece] = []
    number = -1
    for piece in pieces:
        part = next((n for n, part in enumerate(roles) if part.start <= piece.start < part.end), -1)
        if region and (part, piece.start) != (number, region[-1].end):
            yield number, region
            region = []
        region.append(piece)
        number = part
    if region:
        yield number, region


def _worth(words: str, role: Role | None, title: str, elsewhere: str, worth: Mapping[Role, float]) -> float:
    """`elsewhere`: the part that is shown instead, where that says it too."""
    if worth is UNASKED and role is not None and _EMPTY.match(words):
        return 0.0
    if role in (None, Role.SAID):
        is_title = len(words) < 2 * len(title) and _bare(words) == title
        return 0.0 if is_title or (role is Role.SAID and _says_nothing(words)) else 1.0
    if role is Role.ASKED and one_line(words).endswith(("?", "\uff1f")):
        return 0.0
    bare = _bare(words)
    is_said = role in _REPEATED_IN and bare[:_REPEATED_CHARS] in elsewhere and bare[-_REPEATED_CHARS:] in elsewhere
    return 0.0 if is_said or bare == title else worth[role]


def _says_nothing(words: str) -> bool:
    said = "".join(filter(str.isalnum, words[: 4 * _LEAST_SAID]))
    return len(said.encode()) < _LEAST_SAID and not _FIGURE.search(words)


def _bare(text: str) -> str:
    return _MARKS.sub(" ", text).strip().casefold()
