"""Where a lesson comes from: out of a stranger's text, or with a person's word for it.

A command that came out of what a tool printed or a file said is no lesson of ours, however well it worked: a stranger's
text must not come back as advice because an agent once did as it was told. Words that every project uses (install, up,
origin, db) are nobody's. A listing that names a script is no order: it takes two words that stand side by side in both.

A person speaks for a fix who named it between the failure and what mended it, or said after it that this is how things
are done here, or that it is to be remembered. His word counts as much as a second session.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

from recollect.capture.call_outcomes import is_re_ask
from recollect.capture.fixes import Fix
from recollect.capture.prompt_text import masked
from recollect.capture.tables import Patterns, Words
from recollect.model.act import Act, Deed, Speaker
from recollect.model.command import SPEECH, command_of
from recollect.model.lesson import How, Lesson

_MAX_CHARS = 600  # a longer text is a plan or a log: it names a lot of things
_LAST_ACTS = 40  # how far behind the fix a word may still speak of it
_TAG_CHARS = 0xE0000
_TOKEN = re.compile(r"[^\s\"'`,;()\[\]{}<>]+")
_OPTION = re.compile(r"--?[a-z][a-z-]{0,20}")
_CUES = Patterns("lesson_sources")
_WORDS = Words("lesson_sources")


def is_from_stranger(lesson: Lesson, acts: Sequence[Act]) -> bool:
    """`acts`: up to the call that worked."""
    if lesson.how in (How.READ_AGAIN, How.RULE):
        return False
    if lesson.how is How.AFTER and _was_printed(lesson.fix, acts, strict=True):
        return True
    commands = (lesson.failed, lesson.fix) if lesson.how is How.INSTEAD else (lesson.failed,)
    return any(_was_printed(command, acts) for command in commands)


def confirmed_at(fix: Fix, acts: Sequence[Act]) -> int | None:
    """Where the person speaks for the fix; None: nowhere."""
    for number in range(fix.first + 1, min(len(acts), fix.at + _LAST_ACTS)):
        act = acts[number]
        is_prompt = act.speaker is Speaker.PERSON and not act.agent
        if not is_prompt or len(act.text) > _MAX_CHARS or act.text.rstrip().endswith("?"):
            continue
        is_after = number > fix.at
        if is_after and is_re_ask(act.text):
            return None
        # Nobody else spoke between the fix and these words.
        is_next = is_after and all(one.speaker is not Speaker.PERSON for one in acts[fix.at + 1 : number])
        if _names_fix(act.text, fix.lesson) or (is_next and _CUES.says_so.search(masked(act.text))):
            return number
    return None


def _was_printed(command: str, acts: Sequence[Act], *, strict: bool = False) -> bool:
    """`strict`: what was not seen whole may have held it. A step could be any command; what stands in for one that
    failed is like it."""
    told = {pair for pair in _word_pairs(command) if not all(map(_is_common, pair))}
    if not told:
        return False
    for act in acts:
        if _runs_command(act, command):
            return False  # printed by itself, or of its own accord from here on
        if act.speaker is Speaker.PERSON:
            told -= set(_word_pairs(act.text))
        elif act.speaker is not Speaker.AGENT:
            may_hold = strict and act.partial and bool(told)
            if may_hold or not told.isdisjoint(_word_pairs(act.text)):
                return True
    return False


def _runs_command(act: Act, command: str) -> bool:
    if act.doing is None or act.doing.deed is not Deed.RUN:
        return False
    ran = command_of(act.doing.what)
    return ran is not None and ran.told.endswith(command)


def _word_pairs(text: str) -> Iterator[tuple[str, str]]:
    return pairwise(word.rstrip(".:!?").lower() for word in _TOKEN.findall(_as_read(text)))


def _as_read(text: str) -> str:
    """As a reader takes it: without what cannot be seen, and tags and wide letters as the letters they stand for."""
    if text.isascii():
        return text
    shown = "".join(chr(ord(char) - _TAG_CHARS) if 0 < ord(char) - _TAG_CHARS < 0x7F else char for char in text)
    return "".join(char for char in unicodedata.normalize("NFKC", shown) if unicodedata.category(char) != "Cf")


def _is_common(word: str) -> bool:
    """Options too, as long as they bring no value of their own."""
    return word in _WORDS.anyones or word in {".", "./...", "&&"} or _OPTION.fullmatch(word) is not None


def _names_fix(text: str, lesson: Lesson) -> bool:
    if lesson.how not in (How.INSTEAD, How.AFTER):
        return False
    said = text.casefold()
    new = [word for word in lesson.fix.split() if lesson.how is How.AFTER or word not in lesson.failed.split()]
    named = [word.strip("\"'=").casefold() for word in new if not word.startswith("-") and word not in (SPEECH, "&&")]
    named = [part for word in named for part in word.split("=") if part not in _WORDS.common]
    if not named:
        return lesson.fix.casefold() in said
    # The runner's own name goes without saying: "use the ml env" is `conda run -n ml`.
    needed = [word for word in named if word not in _WORDS.runners] or named
    return all(_is_said(word, said) for word in needed)


def _is_said(word: str, said: str) -> bool:
    found = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", said)
    return found is not None and _CUES.against.search(said[: found.start()]) is None
