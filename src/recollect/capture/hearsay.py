"""Did a command come out of what a tool printed or a file said? Then it is somebody else's words, however well it
worked, and no lesson of ours: a stranger's text must not come back as advice because an agent once did as it was told.

Words that every project uses (install, up, origin, db) are nobody's. A listing that names a script is no order: it
takes two words that stand side by side in both.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

from recollect.model.act import Act, Deed, Speaker
from recollect.model.command import command_of
from recollect.model.lesson import How, Lesson

_ANYONES = frozenset(
    """add alembic all api app apply apt backend bash brew build bundle bun cache cargo cd check ci clean client compile
    compose config corepack create db deps dev docker down enable exec fetch format frontend generate get git go gradle
    head helm init install just kubectl lint local lock login main make master migrate mod node npm npx origin pip pnpm
    poetry postgres prisma pull push py pytest python python3 rebase redis restart run rust rustup server service setup
    src start stop sudo sync systemctl terraform test tests tidy tools unit up update upgrade uv venv web worker yarn
    mysql mongo mongodb rabbitmq kafka plan validate production staging exec lib typecheck type-check fmt e2e coverage
    integration preview""".split()
)
_TAGS = 0xE0000
_TOKEN = re.compile(r"[^\s\"'`,;()\[\]{}<>]+")


def is_hearsay(lesson: Lesson, acts: Sequence[Act]) -> bool:
    """`acts`: up to the call that worked."""
    if lesson.how in (How.READ_AGAIN, How.RULE):
        return False
    if lesson.how is How.AFTER and _was_printed(lesson.fix, acts, strict=True):
        return True
    commands = (lesson.failed, lesson.fix) if lesson.how is How.INSTEAD else (lesson.failed,)
    return any(_was_printed(command, acts) for command in commands)


def _was_printed(command: str, acts: Sequence[Act], *, strict: bool = False) -> bool:
    """`strict`: what was not seen whole may have held it. A step could be any command; what stands in for one that
    failed is like it."""
    told = {pair for pair in _pairs(command) if not all(_is_anyones(word) for word in pair)}
    if not told:
        return False
    for act in acts:
        if _runs(act, command):
            return False  # printed by itself, or of its own accord from here on
        if act.speaker is Speaker.PERSON:
            told -= set(_pairs(act.text))
        elif act.speaker is not Speaker.AGENT and (
            (strict and act.partial and told) or not told.isdisjoint(_pairs(act.text))
        ):
            return True
    return False


def _runs(act: Act, command: str) -> bool:
    if act.doing is None or act.doing.deed is not Deed.RUN:
        return False
    ran = command_of(act.doing.what)
    return ran is not None and ran.told.endswith(command)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    words = [word.rstrip(".:!?").lower() for word in _TOKEN.findall(_meant(text))]
    return pairwise(words)


def _meant(text: str) -> str:
    """As a reader takes it: without what cannot be seen, and tags and wide letters as the letters they stand for."""
    if text.isascii():
        return text
    shown = "".join(chr(ord(char) - _TAGS) if _TAGS < ord(char) < _TAGS + 0x7F else char for char in text)
    return "".join(char for char in unicodedata.normalize("NFKC", shown) if unicodedata.category(char) != "Cf")


def _is_anyones(word: str) -> bool:
    """Options too, as long as they bring no value of their own."""
    return word in _ANYONES or word in {".", "./...", "&&"} or re.fullmatch(r"--?[a-z][a-z-]{0,20}", word) is not None
