"""A shell command as a value: what it does, apart from its dressing (folder, variables, runner, pager); and a lesson,
which is a failure and its fix: two commands and the kind of error. Reads one line as people and agents write them, not
a shell's grammar. A lesson's sentence parses back to it, so it is stored as the wording of a rule."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import ClassVar

from recollect.base.shipped import load_table
from recollect.base.structs import Struct

MAX_CHARS = 4_000
MAX_COMMAND_CHARS = 120  # of a command in a lesson
SPEECH = "..."  # replaces words written for one occasion: a message, a query, a piece of code
# Blanks are read once, from where they begin: a thousand of them would otherwise be read a thousand times.
_BLANKS = r"(?:(?<!\s)\s*)?"
_PARTS = re.compile(rf"{_BLANKS}(?:&&|\|\||;|\n)\s*")
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'")
_WORD = re.compile(rf"(?:{_QUOTED.pattern}|[^\s\"']|[\"'])++")
_PLAIN = re.compile(r"[\"'](?:[\w@%+=:,./-]*)[\"']")
# Shows less of what a command prints, or hides how it ended.
_HIDING_END = re.compile(
    rf"{_BLANKS}(?:(?:\|\||;)\s*(?:true|:|echo\b[^;|&]*+)\s*$"
    r"|(?:\d?>&\d|&>\s*\S+|\d?>\s*\S+|\|\s*(?:tail|head|cat|tee|less|grep|rg|sed|awk)\b[^|]*+)\s*$)"
)
# Each is looked for from the beginning: thousands of them would cost the square of their number.
_MAX_ENDS = 20
_TABLE = load_table("recollect.model", "command.json")
# What comes before a command: variables, something it runs inside (a container, a time limit), a runner.
_DRESS = re.compile(
    "|".join(
        [
            r"[A-Za-z_]\w*=\S* ",
            *_TABLE["inside"],
            *(re.escape(f"{one} ") for one in _TABLE["runners"]),
        ]
    )
)
FAMILIES: dict[str, str] = _TABLE["families"]
_HAS_VERB, _TAKES_VALUE = (
    frozenset(" ".join(_TABLE[name]).split()) for name in ("verbed", "takes_value")
)
_HAS_TWO_VERBS = frozenset((family, verb) for family, verb in _TABLE["two_verbed"])


class Command(Struct):
    text: str  # as given, without pagers and without what hides how it ended
    family: str  # its program; programs that can replace one another share a name
    verb: str = ""
    words: tuple[str, ...] = ()  # its other options and operands
    program: str = ""
    dress: tuple[str, ...] = ()  # folder, variables, runner, steps before it

    @property
    def place(self) -> str:
        """The program's path, where it is a file."""
        found = re.search(
            rf"(?<!\S)[\w@.+~/-]*/{re.escape(self.program)}(?!\S)", self.text, re.IGNORECASE
        )
        return found[0] if found else ""

    @property
    def general(self) -> str:
        """Its text without words that were written for one occasion."""
        return _without_speech(self.text)

    @property
    def core(self) -> tuple[str, str, tuple[str, ...]]:
        return self.family, self.verb, self.words

    @property
    def operands(self) -> tuple[str, ...]:
        """Words that are neither options nor, apparently, the value of one."""
        return tuple(
            word
            for before, word in zip(("", *self.words), self.words, strict=False)
            if not word.startswith(("-", "+"))
            and not (before.startswith("-") and "=" not in before and before != "--")
        )


@lru_cache(maxsize=1024)
def command_of(text: str) -> Command | None:
    """None if there is no program in it."""
    shown = undressed_end(text[:MAX_CHARS].strip())
    ends = [found.span() for found in _PARTS.finditer(_veiled(shown))]
    parts = [
        shown[a:z] for (_, a), (z, _) in zip([(0, 0), *ends], [*ends, (len(shown), 0)], strict=True)
    ]
    dress, rest = [part for part in parts[:-1] if part], parts[-1]
    while found := _DRESS.match(rest):
        dress.append(found[0].strip())
        rest = rest[found.end() :].lstrip()
    words = [
        word[1:-1] if _PLAIN.fullmatch(word) else _without_speech(word)
        for word in _WORD.findall(rest)
    ]
    program = words[0].strip("\"'").rpartition("/")[2].lower() if words else ""
    if not re.fullmatch(r"[\w.+-]{1,40}", program):
        return None
    family, tail = FAMILIES.get(program, program), words[1:]
    if program == "docker-compose":
        family, tail = "docker", ["compose", *tail]
    elif family == "uv" and tail[:1] == ["pip"]:
        family, tail = "pip", tail[1:]
    elif family == "js" and tail[:1] in (["run"], ["run-script"]) and len(tail) > 1:
        tail = tail[1:]
    verb, tail = _verb(family, tail)
    folder = words[0].rpartition("/")[0]
    dress += [folder] if folder not in ("", ".") else []
    return Command(shown, family, verb, tuple(tail), program, tuple(dress))


def undressed_end(text: str) -> str:
    """`npm test 2>&1 | tail -20` and `npm test || true` are `npm test`."""
    veiled = _veiled(text)
    for _ in range(_MAX_ENDS):
        found = _HIDING_END.search(veiled)
        if not found or not found.start():
            break
        veiled = veiled[: found.start()]
    return text[: len(veiled)]


def _veiled(text: str) -> str:
    """Of the same length, with nothing in quotes that could be taken for a separator."""
    return _QUOTED.sub(lambda found: "'" + "x" * (len(found[0]) - 2) + "'", text)


def _without_speech(text: str) -> str:
    """Quotes around a plain word mean nothing; anything else in quotes was written for one occasion."""
    return _QUOTED.sub(lambda found: found[0] if _PLAIN.fullmatch(found[0]) else SPEECH, text)


def _verb(family: str, words: list[str]) -> tuple[str, list[str]]:
    """A toolchain (`cargo +stable`) and options may come before it."""
    if family not in _HAS_VERB and family != "python":
        return "", words
    skip = False
    for number, word in enumerate(words):
        if skip or word.startswith(("-", "+")):
            # `-C folder`, `--context staging`: the value of an option is not a verb.
            skip = not skip and word in _TAKES_VALUE
            continue
        following = words[number + 1] if len(words) > number + 1 else ""
        if (family, word) in _HAS_TWO_VERBS and following and not following.startswith("-"):
            return f"{word} {following}", [*words[:number], *words[number + 2 :]]
        return word, [*words[:number], *words[number + 1 :]]
    return "", words


class How(StrEnum):
    INSTEAD = "instead"  # another command works
    AFTER = "after"  # the same command works once another has run
    CHANGED = "changed"  # the same command works once a file has been changed
    READ_AGAIN = "read again"  # an edit works once the file has been read again
    RULE = "rule"  # a check works once the code keeps to its rules


class Lesson(Struct):
    ORIGIN: ClassVar = "outcome"  # of a rule that is one
    SESSION_TAG: ClassVar = "session:"  # begins a tag that names a session it was seen in

    failed: str  # the command; for an edit the file
    fix: str  # a command, a file, or names of rules
    how: How
    error: str = ""

    def sentence(self) -> str:
        error = f' with "{self.error}"' if self.error else ""
        return _SENTENCES[self.how].format(failed=self.failed, fix=self.fix, error=error)

    @staticmethod
    def read(text: str) -> Lesson | None:
        for how, shape in _SHAPES.items():
            if found := shape.fullmatch(text):
                return Lesson(
                    found["failed"],
                    found.groupdict().get("fix", found["failed"]),
                    how,
                    found["error"] or "",
                )
        return None


_SENTENCES = {  # parsed in this order: of two that begin alike, the longer first
    How.RULE: "`{failed}` fails here{error} where code breaks `{fix}`.",
    How.CHANGED: "`{failed}` fails here{error}; it works after a change in `{fix}`.",
    How.AFTER: "`{failed}` fails here{error}; it works after `{fix}`.",
    How.INSTEAD: "`{failed}` fails here{error}; `{fix}` works.",
    How.READ_AGAIN: "Edits of `{failed}` fail here{error}; they work once it is read again.",
}
_LESSON_PARTS = {
    "failed": "(?P<failed>[^`]+)",
    "fix": "(?P<fix>[^`]+)",
    "error": '(?: with "(?P<error>[^"]*)")?',
}
_SHAPES = {
    how: re.compile(said.replace(".", r"\.").format(**_LESSON_PARTS))
    for how, said in _SENTENCES.items()
}


def rule_list(names: Iterable[str]) -> str:
    return ", ".join(list(dict.fromkeys(names))[:8])
