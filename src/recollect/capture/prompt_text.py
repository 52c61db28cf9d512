"""A prompt, and what the person says themselves in it, sentence by sentence. `masked` blots out what they did not say
(code, logs, diffs, quotes, chats, lists by others); the result is as long as the text."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import groupby

from recollect.base.structs import Struct, replace
from recollect.capture.tables import Language, Patterns
from recollect.model.memory import RuleType
from recollect.model.result import Scope

NOTHING_LASTING = "nothing lasting is said"
TOO_LONG = "too long for a rule"
BLOT = "\x01"
QUOTE = "\x02"  # a short quote or a piece of code inside a sentence: still a word of it
MAX_SENTENCE_CHARS = 700  # nobody states a rule in a longer sentence
FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_PASTES = re.compile(rf"{BLOT}[{BLOT}\s]*")
_MIN_PASTE_WORDS, _MIN_QUOTED_WORDS, _MIN_QUOTED_CHARS, _MIN_WIDE_QUOTED_CHARS = 9, 4, 41, 9
_MARKS = Patterns("prompt_text")


class Action(StrEnum):
    STORED = "stored"
    INBOX = "inbox"
    DROPPED = "dropped"


class Piece(Struct):  # one sentence or clause, and what speaks for and against it
    text: str
    seen: str  # the same, as long as it, with quotes and code blotted out: only the person's own words are judged
    score: float = 0.0
    signals: tuple[str, ...] = ()
    veto: str = ""
    firm: bool = False  # its form is unmistakable
    start: int = 0  # where it begins in the prompt
    odds: float | None = None  # log odds by the learned judge, where the language has one


class FoundRule(
    Struct
):  # a rule as it will be kept; without a type it stands for a prompt that states none
    rule: str
    rule_type: RuleType | None
    scope: Scope
    action: Action
    reason: str
    score: float
    span: str = ""  # the words of the prompt that it was made from
    is_dictated: bool = False  # it stood behind "remember:"


class Draft(Struct):
    text: str  # redacted, and without what we ourselves put in front of the agent
    language: Language
    seen: str = ""  # as long as `text`, pasted and quoted parts blotted out
    pieces: tuple[Piece, ...] = ()
    whole: str = ""  # why patterns think that the prompt as a whole holds no rule
    found: tuple[FoundRule, ...] = ()  # the rules that are kept: in force, or in the inbox
    refused: tuple[
        FoundRule, ...
    ] = ()  # what looks like a rule by its form and is dropped all the same
    dropped: str = ""  # why nothing is kept of it; empty while something may be
    left_out: int = 0  # rules that were dictated and are too many to keep at once

    def drop(self, reason: str = NOTHING_LASTING) -> Draft:
        return replace(self, dropped=reason, found=())

    @property
    def verdict(self) -> FoundRule:
        """The prompt as a whole: all of its rules as one, or why there is none."""
        if not self.found:
            return FoundRule(
                "", None, Scope.PROJECT, Action.DROPPED, self.dropped or NOTHING_LASTING, 0.0
            )
        best = max(self.found, key=lambda one: one.score)
        return replace(best, rule=" ".join(one.rule for one in self.found))


def masked(text: str) -> str:
    seen = text
    seen = FENCE.sub(lambda found: _blotted(found.group()), seen)
    seen = _blot_spans(seen, _tagged_blocks(seen))
    seen = _blot_spans(seen, _begun_blocks(seen))
    lines: list[str] = []
    intro = ""
    for has_words, group in groupby(
        _MARKS.lines.findall(seen), key=lambda line: bool(line.strip())
    ):
        paragraph = list(group)
        lines += _mask_paragraph(paragraph, intro) if has_words else paragraph
        intro = paragraph[-1] if has_words else intro
    seen = "".join(lines)
    if found := _MARKS.handed_over.search(seen):
        # "can you check this comment: The wrapper ...": somebody else's text, till the person goes on.
        start = found.end()
        end = _end_of_paste(seen, start)
        if len(seen[start:end].split()) >= _MIN_PASTE_WORDS:
            seen = seen[:start] + _blotted(seen[start:end]) + seen[end:]
    seen = _MARKS.in_ticks.sub(lambda found: QUOTE * len(found.group()), seen)
    for quotes in (_MARKS.quoted, _MARKS.single_quoted):
        seen = quotes.sub(_mask_quote, seen)
    return seen


def spoken_text(text: str, seen: str) -> str:
    """Of a text and its masked form: what the person says, with dots in place of pasted parts."""
    said = "".join(char if mark == QUOTE else mark for char, mark in zip(text, seen, strict=True))
    return _PASTES.sub(" ... ", said).strip()


def without_pastes(text: str) -> str:
    return "".join(
        " " if mark == BLOT else char for char, mark in zip(text, masked(text), strict=True)
    )


def is_own_list(text: str) -> bool:
    """Whether its list is announced as the person's own rules."""
    return any(
        _MARKS.own_rules.search(line)
        for line in text.split("\n")
        if _MARKS.colon_at_end.search(line)
    )


def sentences(text: str, seen: str) -> tuple[Piece, ...]:
    spans: list[tuple[int, int]] = []
    start = 0
    for end in [*(found.end() for found in _MARKS.sentence_end.finditer(seen)), len(seen)]:
        for cut, resume in [
            *(found.span() for found in _MARKS.tacked_on.finditer(seen, start, end)),
            (end, end),
        ]:
            if cut > start:
                spans.append((start, cut))
                start = resume
    pieces = []
    for start, end in spans:
        blank = len(seen[start:end]) - len(seen[start:end].lstrip())
        said, shown = text[start + blank : end].rstrip(), seen[start + blank : end].rstrip()
        own = shown.replace(BLOT, "").strip(" \t\n.,:;!?-*>\"'()")
        if own.replace(QUOTE, "").strip():
            veto = TOO_LONG if len(said) > MAX_SENTENCE_CHARS else ""
            pieces.append(Piece(said, shown, veto=veto, start=start + blank))
    return tuple(pieces)


def _blotted(text: str) -> str:
    return "\n".join(BLOT * len(line) for line in text.split("\n"))


def _blot_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += [text[done:start], _blotted(text[start:end])]
        done = end
    return "".join([*parts, text[done:]])


def _tagged_blocks(text: str) -> Iterator[tuple[int, int]]:
    """From each tag to the next that closes it. One look for all closing tags: a text of nothing but opening ones
    would otherwise be read to its end for each."""
    closings: dict[str, list[tuple[int, int]]] = {}
    for closing in _MARKS.closing_tag.finditer(text):
        closings.setdefault(closing[1], []).append(closing.span())
    done = 0
    for opening in _MARKS.opening_tag.finditer(text):
        end = _next_end(closings.get(opening[1], []), opening.end())
        if opening.start() >= done and end:
            done = end
            yield opening.start(), end


def _begun_blocks(text: str) -> Iterator[tuple[int, int]]:
    """From `BEGIN ...` to `END ...`, each at the start of a line."""
    ends = [found.span() for found in _MARKS.block_end.finditer(text)]
    done = 0
    for begin in _MARKS.block_begin.finditer(text) if ends else ():
        end = _next_end(ends, begin.end())
        if begin.start() >= done and end:
            done = end
            yield begin.start(), end


def _next_end(spans: Sequence[tuple[int, int]], after: int) -> int:
    """Where the first of them that begins there or later ends; 0: there is none."""
    number = bisect_left(spans, (after, 0))
    return spans[number][1] if number < len(spans) else 0


def _end_of_paste(seen: str, start: int) -> int:
    """Where the person goes on after somebody else's text: at a line that begins in lower case, or at a new paragraph
    with a word that people go on with."""
    for run in _MARKS.blanks.finditer(seen, start):
        line_break = seen.find("\n", run.start(), run.end())
        if line_break < 0:
            continue
        if "a" <= seen[run.end() : run.end() + 1] <= "z":
            return line_break
        is_paragraph = seen.count("\n", line_break, run.end()) > 1
        if is_paragraph and _MARKS.goes_on.match(seen, run.end()):
            return line_break
    return len(seen)


def _mask_paragraph(lines: list[str], intro: str) -> list[str]:
    """One of which a good part is pasted is all pasted. `intro`: the line before it."""
    pasted = [bool(_MARKS.pasted.search(line)) and BLOT not in line for line in lines]
    is_mostly_pasted = sum(pasted) >= 2 and sum(pasted) * 5 >= len(lines) * 2
    is_diff = any(line.startswith("@@ ") for line in lines)
    is_trace = pasted[0] and len(lines) > 1 and bool(_MARKS.trace.match(lines[0]))
    if is_diff or is_mostly_pasted or is_trace or _announces_others(intro):
        return [_blotted(line) for line in lines]
    chat = [bool(_MARKS.chat.match(line)) for line in lines]
    if sum(chat) >= 2 and sum(chat) * 2 > len(lines):
        return [
            _blotted(line) if is_chat else line for line, is_chat in zip(lines, chat, strict=True)
        ]
    kept: list[str] = []
    others = False
    for line, is_pasted in zip(lines, pasted, strict=True):
        if is_intro := bool(_MARKS.colon_at_end.search(line)):
            others = _announces_others(line)
        elif (
            others
            and not _MARKS.bullet.match(line)
            and kept
            and not _MARKS.bullet.match(lines[len(kept) - 1])
        ):
            others = len(kept) == 1
        kept.append(_blotted(line) if is_pasted or (others and not is_intro) else line)
    return kept


def _announces_others(line: str) -> bool:
    """A line that ends in a colon and announces somebody else's words, or a text to work on."""
    is_others = _MARKS.others_text.search(line) or not _MARKS.own_list.search(line)
    return bool(_MARKS.colon_at_end.search(line) and is_others)


def _mask_quote(found: re.Match[str]) -> str:
    """A quoted sentence is somebody's words; a quoted name is a word of the sentence it stands in."""
    said = found.group()
    least_chars = _MIN_QUOTED_CHARS if said.isascii() else _MIN_WIDE_QUOTED_CHARS
    is_sentence = len(said.split()) >= _MIN_QUOTED_WORDS or len(said) >= least_chars
    return (BLOT if is_sentence else QUOTE) * len(said)
