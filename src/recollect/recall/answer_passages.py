"""Which part of a hit answers the question: the best sentence, grown by its neighbours, and others that match nearly as
well, until the room is used. An earlier question is never an answer, nor is the title."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from recollect.base.shipped import load_table
from recollect.base.structs import replace
from recollect.base.text import one_line
from recollect.model.passage import Role, parts
from recollect.model.query import Hit, Piece

ASKED_CHARS, UNASKED_CHARS, SUMMARY_CHARS = 1_200, 240, 100
_ALL_HITS_CHARS = 8_000  # of many hits less is shown of each
# What the person stated in a prompt always has some room when somebody asked: nobody says it with more authority.
_STATED_CHARS, _MIN_STATED_CHARS = 240, 16
_NEIGHBOUR_BONUS = (
    0.15  # for standing next to a sentence that is shown: an answer is rarely one sentence long
)
_WORTH = {
    Role.ASKED: 0.3, Role.FOUND: 1.1, Role.DECIDED: 1.6, Role.CHANGED: 0.25, Role.RAN: 0.25, Role.ENDED: 1.1,
    Role.SAID: 1.0,
}  # fmt: skip
_NOT_UNASKED = (Role.ASKED, Role.CHANGED, Role.RAN)
_SENTENCE = re.compile(
    r"[^\n]*?(?:(?<!\b\d)(?<![.!?][.!?])[.!?]++[)\"'`*]*+(?=\s|$)|[\u3002\uff01\uff1f]+|\n|$)\s*"
)
_PUNCTUATION = re.compile(r"\W+")
_TABLE = load_table("recollect.recall", "search_words.json")
# That something was committed, that tests passed or failed, or what an agent says while it works.
_EMPTY_REMARK = re.compile(rf"\W*(?:{'|'.join(_TABLE['empty_remarks'])})", re.IGNORECASE)
_ORDER = re.compile(
    rf"\W*(?:(?:{_TABLE['order_leads']})[\s,]+)*(?:{_TABLE['order_asks']})?(?:{_TABLE['order_verbs']})\b",
    re.IGNORECASE,
)
# As a turn record words it: a detail of what happened, and seldom the answer.
_COMMAND_FAILED, _COMMAND_FAILED_WORTH = re.compile(r"\W{0,8}`[^`\n]{1,200}` failed: "), 0.5
_MIN_WORD_BYTES = (
    12  # letters and digits: list numbers, rules and "Done." fill the room and say nothing
)
_MIN_MESSAGE_CHARS = 40  # below, a message that begins like an empty remark is one
_FIGURE = re.compile(r"\d{3}|`")
# A finding is shown where the agent said it, among its neighbours; what the person decided, where it stands alone.
_REPEATED_IN = {Role.FOUND: Role.SAID, Role.ENDED: Role.SAID, Role.ASKED: Role.DECIDED}
_REPEATED_CHARS = (
    40  # a finding is recognised in what was said by this many of its first and last characters
)


class _Sentence(NamedTuple):
    part: int
    start: int
    end: int
    score: float

    @property
    def chars(self) -> int:
        return self.end - self.start


def chars_each(hits: int) -> int:
    return min(ASKED_CHARS, _ALL_HITS_CHARS // max(1, hits))


def with_passages(hit: Hit, max_chars: int, *, unasked: bool = False) -> Hit:
    text = hit.text.strip()
    if hit.turn is None and len(text) <= max_chars:
        best = max(hit.pieces, key=lambda piece: piece.score, default=Piece(0, len(hit.text), 0.0))
        summary = shorten(one_line(hit.text[best.start : best.end]), SUMMARY_CHARS)
        return replace(hit, shown=(text,) if text else (), summary=summary)
    sentences = list(_score_sentences(hit, max_chars, unasked))
    first = max(sentences, key=lambda sentence: sentence.score, default=None)
    line = (
        one_line(hit.text[first.start : first.end]) if first is not None and first.score > 0 else ""
    )
    return replace(
        hit, shown=_grow(hit, sentences, max_chars, unasked), summary=shorten(line, SUMMARY_CHARS)
    )


def unasked_passages(hit: Hit) -> tuple[str, ...]:
    """For an agent that did not ask: no earlier question, no command, nothing where the best match is an empty remark.
    A text that is not a turn record (a rule, a note, a message of another memory's export) says which part of it is an
    answer in no way that we know: where no sentence stands out, it is shown as far as there is room."""
    is_record = hit.turn is not None and any(parts(hit.text))
    best = max(hit.pieces, key=lambda piece: piece.score, default=None)
    if is_record and best is not None and _EMPTY_REMARK.match(hit.text[best.start : best.end]):
        return ()
    text = hit.text.strip()
    if hit.turn is not None and len(text) < _MIN_MESSAGE_CHARS and _EMPTY_REMARK.match(text):
        return ()
    found = tuple(filter(None, with_passages(hit, UNASKED_CHARS, unasked=True).shown))
    if found or is_record or not text:
        return found
    return (shorten(text, UNASKED_CHARS),)


def shorten(text: str, max_chars: int) -> str:
    if len(text) <= max_chars:
        return text
    ends = [
        found.end()
        for found in _SENTENCE.finditer(text[: max_chars + 1])
        if found.end() <= max_chars
    ]
    if ends and ends[-1] > max_chars // 3:
        return text[: ends[-1]].rstrip()
    word = text.rfind(" ", max_chars // 2, max_chars)
    return text[: word if word > 0 else max_chars - 1].rstrip() + "\u2026"


def _grow(
    hit: Hit, sentences: Sequence[_Sentence], max_chars: int, unasked: bool
) -> tuple[str, ...]:
    """Takes the best sentence, again and again; its neighbours then count a little more."""
    asked = (
        {number for number, part in enumerate(parts(hit.text)) if part.role is Role.ASKED}
        if hit.turn
        else set()
    )
    waiting = sorted(
        (-sentence.score, number) for number, sentence in enumerate(sentences) if sentence.score > 0
    )
    chosen: set[int] = set()
    room, stated_room = max_chars, 0 if unasked else _STATED_CHARS
    for number in (number for _, number in waiting if sentences[number].part in asked):
        # What the person's prompt says beside its questions and orders, as far as there is room for it.
        one = sentences[number]
        if _MIN_STATED_CHARS <= one.chars <= stated_room and not _ORDER.match(
            hit.text, one.start, one.end
        ):
            chosen.add(number)
            room, stated_room = room - one.chars, stated_room - one.chars
    while waiting:
        _, number = heapq.heappop(waiting)
        one = sentences[number]
        if number in chosen or (chosen and one.chars > room):
            continue
        chosen.add(number)
        room -= one.chars
        for beside in range(max(0, number - 1), min(number + 2, len(sentences))):
            if sentences[beside].part == one.part and sentences[beside].score > 0:
                heapq.heappush(waiting, (-sentences[beside].score - _NEIGHBOUR_BONUS, beside))
    runs: list[list[_Sentence]] = []
    for one in (sentences[number] for number in sorted(chosen)):
        before = runs[-1][-1] if runs else None
        if (
            before
            and (one.part, one.start) == (before.part, before.end)
            and not _COMMAND_FAILED.match(hit.text, before.start)
        ):
            runs[-1].append(one)
        else:
            runs.append([one])
    runs.sort(key=lambda run: -max(sentence.score for sentence in run))
    texts = (hit.text[run[0].start : run[-1].end].strip() for run in runs)
    return tuple(shorten(text, max_chars) for text in texts if text)


def _score_sentences(hit: Hit, max_chars: int, unasked: bool) -> Iterator[_Sentence]:
    """One that stands in two pieces matches as well as they do, by their shares."""
    text, title = hit.text, _bare(hit.memory.title)
    roles = tuple(parts(text)) if hit.turn is not None else ()
    known = {
        part.role: _bare(text[part.start : part.end])
        for part in roles
        if part.role in _REPEATED_IN.values()
    }
    # Of a very long text only the surroundings of its best pieces are looked at.
    wide = 1 + max_chars // 125  # most pieces have more
    best = heapq.nlargest(6, range(len(hit.pieces)), key=lambda number: hit.pieces[number].score)
    near = sorted({at for number in best for at in range(number - wide, number + wide + 1)})
    # Pieces that follow each other within one part of the text; -1 where it has no parts.
    regions: list[tuple[int, list[Piece]]] = []
    for piece in (hit.pieces[at] for at in near if 0 <= at < len(hit.pieces)):
        part = next((n for n, part in enumerate(roles) if part.start <= piece.start < part.end), -1)
        if regions and (part, piece.start) == (regions[-1][0], regions[-1][1][-1].end):
            regions[-1][1].append(piece)
        else:
            regions.append((part, [piece]))
    for number, pieces in regions:
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
                shares = [
                    (min(end, one.end) - max(start, one.start), one.score) for one in pieces[at:]
                ]
                score = sum(share * score for share, score in shares if share > 0) / (end - start)
            yield _Sentence(
                number, start, end, score * _worth(found[0], role, title, elsewhere, unasked)
            )


def _worth(words: str, role: Role | None, title: str, elsewhere: str, unasked: bool) -> float:
    """`elsewhere`: the part that is shown instead, where it says the same."""
    if unasked and (role in _NOT_UNASKED or (role is not None and _EMPTY_REMARK.match(words))):
        return 0.0
    if role in (None, Role.SAID):
        is_title = len(words) < 2 * len(title) and _bare(words) == title
        letters = "".join(filter(str.isalnum, words[: 4 * _MIN_WORD_BYTES]))
        is_empty = (
            role is Role.SAID
            and len(letters.encode()) < _MIN_WORD_BYTES
            and not _FIGURE.search(words)
        )
        if role is Role.SAID and _COMMAND_FAILED.match(words):
            return _COMMAND_FAILED_WORTH
        return 0.0 if is_title or is_empty else 1.0
    bare = _bare(words)
    is_question = role is Role.ASKED and one_line(words).endswith(("?", "\uff1f"))
    is_repeated = (
        role in _REPEATED_IN
        and bare[:_REPEATED_CHARS] in elsewhere
        and bare[-_REPEATED_CHARS:] in elsewhere
    )
    return 0.0 if is_question or is_repeated or bare == title else _WORTH[role]


def _bare(text: str) -> str:
    return _PUNCTUATION.sub(" ", text).strip().casefold()
