"""What the person says himself in a prompt, sentence by sentence.

`masked` blots out what he did not say: code, logs, diffs, tables, quotes, chats, tickets, lists by others. Blocks come
first, then lines, then quotes within lines. The result is as long as the text, so that a place in one is the same
place in the other. `sentences` cuts both, also where a rule is tacked on to a task ("fix it, and btw we use zod").
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.capture.draft import Piece
from recollect.capture.tables import Patterns

BLOT = "\x01"
QUOTE = "\x02"  # a short quote or a piece of code inside a sentence: still a word of it
MAX_SENTENCE_CHARS = 700  # nobody states a rule in a longer sentence
FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_BLOCKS = (
    FENCE,
    re.compile(r"<([a-zA-Z][\w-]{2,40})(?: [^<>\n]{0,200})?>.*?</\1>", re.DOTALL),
    re.compile(r"^(?:-{3,} ?)?BEGIN\b.*?^(?:-{3,} ?)?END\b[^\n]*$", re.MULTILINE | re.DOTALL),
)
_LINES = re.compile(r"[^\n]*\n?")
_COLON_AT_END = re.compile(r":\s*$")
_BULLET = re.compile(r"^\s*(?:[-*\u2022+]|\d{1,2}[.)]|\(\w\))\s+\S")
_TRACE = re.compile(r"\s*(?:Traceback|commit [0-9a-f]{6,}|>|\$|error|fatal|npm|\d{4}-|\w*(?:Error|Exception))")
_IN_TICKS = re.compile(r"`[^`\n]{1,300}`")
_IN_QUOTES = (
    re.compile(
        r'"[^"\n]{1,600}"|\u201c[^\u201d]{1,600}\u201d|\u300c[^\u300d]{1,300}\u300d|\u00ab[^\u00bb]{1,300}\u00bb'
    ),
    re.compile(r"(?<![\w'])'[^'\n]{1,300}'(?!\w)|\u2018[^\u2019\n]{1,300}\u2019(?!\w)"),
)
_PASTES = re.compile(rf"{BLOT}[{BLOT}\s]*")
_MIN_PASTE_WORDS = 9
_MIN_QUOTED_WORDS, _MIN_QUOTED_CHARS, _MIN_WIDE_QUOTED_CHARS = 4, 41, 9
_MARKS = Patterns("prompt_text")


def masked(text: str) -> str:
    seen = text
    for block in _BLOCKS:
        seen = block.sub(lambda found: _blotted(found.group()), seen)
    seen = _IN_TICKS.sub(lambda found: QUOTE * len(found.group()), _mask_handed_over(_mask_paragraphs(seen)))
    for quotes in _IN_QUOTES:
        seen = quotes.sub(_mask_quote, seen)
    return seen


def spoken_text(text: str, seen: str) -> str:
    """Of a text and its masked form: what the person says himself, with dots in place of pasted parts."""
    said = "".join(char if mark == QUOTE else mark for char, mark in zip(text, seen, strict=True))
    return _PASTES.sub(" ... ", said).strip()


def without_pastes(text: str) -> str:
    """The text with spaces in place of pasted parts."""
    return "".join(" " if mark == BLOT else char for char, mark in zip(text, masked(text), strict=True))


def is_own_list(text: str) -> bool:
    """Whether its list is announced as the person's own rules."""
    return any(_MARKS.own_rules.search(line) for line in text.split("\n") if _COLON_AT_END.search(line))


def sentences(text: str, seen: str) -> tuple[Piece, ...]:
    found = []
    for start, end in _spans(seen):
        said, shown = text[start:end], seen[start:end]
        blank = len(shown) - len(shown.lstrip())
        said, shown = said[blank:].rstrip(), shown[blank:].rstrip()
        own = shown.replace(BLOT, "").strip(" \t\n.,:;!?-*>\"'()")
        if own.replace(QUOTE, "").strip():
            veto = "too long for a rule" if len(said) > MAX_SENTENCE_CHARS else ""
            found.append(Piece(said, shown, veto=veto, start=start + blank))
    return tuple(found)


def _spans(seen: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in [*(found.end() for found in _MARKS.sentence_end.finditer(seen)), len(seen)]:
        if seen[start:end].strip():
            for found in _MARKS.tacked_on.finditer(seen, start, end):
                if found.start() > start:
                    yield start, found.start()
                    start = found.end()
            yield start, end
        start = end


def _blotted(text: str) -> str:
    return re.sub(r"[^\n]", BLOT, text)


def _mask_paragraphs(text: str) -> str:
    """A paragraph of which a good part is pasted is all pasted."""
    done: list[str] = []
    paragraph: list[str] = []
    intro = ""
    for line in [*_LINES.findall(text), "\n"]:
        if line.strip():
            paragraph.append(line)
            continue
        if paragraph:
            done += _mask_paragraph(paragraph, intro)
            intro = paragraph[-1] if _COLON_AT_END.search(paragraph[-1]) else ""
            paragraph = []
        done.append(line)
    return "".join(done)[: len(text)]


def _mask_paragraph(lines: list[str], intro: str) -> list[str]:
    pasted = [bool(_MARKS.pasted.search(line)) and BLOT not in line for line in lines]
    is_mostly_pasted = sum(pasted) >= 2 and sum(pasted) * 5 >= len(lines) * 2
    is_diff = any(line.startswith("@@ ") for line in lines)
    is_trace = pasted[0] and len(lines) > 1 and bool(_TRACE.match(lines[0]))
    if is_diff or is_mostly_pasted or is_trace or _announces_others(intro):
        return [_blotted(line) for line in lines]
    chat = [bool(_MARKS.chat.match(line)) for line in lines]
    if sum(chat) >= 2 and sum(chat) * 2 > len(lines):
        return [_blotted(line) if is_chat else line for line, is_chat in zip(lines, chat, strict=True)]
    kept: list[str] = []
    others = False
    for line, is_pasted in zip(lines, pasted, strict=True):
        is_intro = bool(_COLON_AT_END.search(line))
        if is_intro:
            others = _announces_others(line)
        elif others and not _BULLET.match(line) and kept and not _BULLET.match(lines[len(kept) - 1]):
            others = len(kept) == 1
        kept.append(_blotted(line) if is_pasted or (others and not is_intro) else line)
    return kept


def _announces_others(line: str) -> bool:
    """A line that ends in a colon and announces somebody else's words, or a text to work on."""
    if not _COLON_AT_END.search(line):
        return False
    return bool(_MARKS.others_text.search(line)) or not _MARKS.own_list.search(line)


def _mask_handed_over(text: str) -> str:
    """ "can you check this comment: The wrapper ...": what follows is somebody else's text, till the person goes on."""
    found = _MARKS.handed_over.search(text)
    if not found:
        return text
    goes_on = _MARKS.goes_on.search(text, found.end())
    end = goes_on.start() if goes_on else len(text)
    if len(text[found.end() : end].split()) < _MIN_PASTE_WORDS:
        return text
    return text[: found.end()] + _blotted(text[found.end() : end]) + text[end:]


def _mask_quote(found: re.Match[str]) -> str:
    """A quoted sentence is somebody's words; a quoted name is a word of the sentence it stands in."""
    said = found.group()
    least_chars = _MIN_QUOTED_CHARS if said.isascii() else _MIN_WIDE_QUOTED_CHARS
    is_sentence = len(said.split()) >= _MIN_QUOTED_WORDS or len(said) >= least_chars
    return (BLOT if is_sentence else QUOTE) * len(said)
