"""A shell command as a value: what it does, told apart from how it is dressed (folder, variables, runner, pager).

Reads one line as people and agents write them; no shell's grammar. Judges nothing: whether one command mends another is
capture/fixes.py's, whether a rule speaks of one recall/call_rules.py's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from recollect.base.shipped import load_table

MAX_CHARS = 4_000
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_PARTS = re.compile(r"\s*(?:&&|\|\||;|\n)\s*")
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'")
_WORD = re.compile(r"(?:\"(?:\\.|[^\"\\])*\"|'[^']*'|[^\s\"']|[\"'])+")
_PLAIN = re.compile(r"[\"'](?:[\w@%+=:,./-]*)[\"']")
SPEECH = "..."  # stands for words that were written for this once: a message, a query, a piece of code
# Only shows less of what a command prints, or hides how it ended.
_VIEWED = re.compile(r"\s*(?:\d?>&\d|&>\s*\S+|\d?>\s*\S+|\|\s*(?:tail|head|cat|tee|less|grep|rg|sed|awk)\b[^|]*)\s*$")
_SHRUGGED = re.compile(r"\s*(?:\|\||;)\s*(?:true|:|echo\b[^;|&]*)\s*$")
_TABLE = load_table("recollect.model", "command.json")
_RUNNERS = tuple(_TABLE["runners"])
_INSIDE = re.compile("|".join(_TABLE["inside"]))
"""Runs the command inside something else: a container, an environment, a time limit."""
_FAMILIES: dict[str, str] = _TABLE["families"]
_VERBED, _TAKES_VALUE = (frozenset(" ".join(_TABLE[name]).split()) for name in ("verbed", "takes_value"))
_TWO_VERBED = frozenset((family, verb) for family, verb in _TABLE["two_verbed"])


@dataclass(frozen=True, slots=True)
class Command:
    text: str  # as it was given, without pagers and without what hides its end
    family: str  # its program; programs that stand in for one another have one name
    verb: str = ""
    words: tuple[str, ...] = ()  # what else it was given: options and operands
    program: str = ""
    dress: tuple[str, ...] = ()  # folder, variables, runner, steps before it

    @property
    def place(self) -> str:
        """Of a program that is a file: its path."""
        found = re.search(rf"(?<!\S)[\w@.+~/-]*/{re.escape(self.program)}(?!\S)", self.text, re.IGNORECASE)
        return found[0] if found else ""

    @property
    def told(self) -> str:
        """Its text without what was written for this once."""
        return _QUOTED.sub(lambda found: found[0] if _PLAIN.fullmatch(found[0]) else SPEECH, self.text)

    @property
    def core(self) -> tuple[str, str, tuple[str, ...]]:
        return self.family, self.verb, self.words

    @property
    def options(self) -> frozenset[str]:
        return frozenset(word for word in self.words if word.startswith("-") and word != "-")

    @property
    def operands(self) -> tuple[str, ...]:
        """Words that are neither options nor, as it seems, the value of one."""
        return tuple(
            word
            for before, word in zip(("", *self.words), self.words, strict=False)
            if not word.startswith(("-", "+")) and not (before.startswith("-") and "=" not in before and before != "--")
        )


@lru_cache(maxsize=1024)
def command_of(text: str) -> Command | None:
    """None: there is no program in it."""
    shown = undressed_end(text[:MAX_CHARS].strip())
    *before, last = _parts(shown)
    dress = [part for part in before if part]
    rest, worn = _worn(last)
    words = [_word(word) for word in _WORD.findall(rest)]
    if not words:
        return None
    program = words[0].strip("\"'").rpartition("/")[2].lower()
    if not re.fullmatch(r"[\w.+-]{1,40}", program):
        return None
    family, tail = _family(program, words[1:])
    folder = words[0].rpartition("/")[0]
    dress += [*worn, *([folder] if folder not in ("", ".") else [])]
    verb, tail = _verb(family, tail)
    return Command(shown, family, verb, tuple(tail), program, tuple(dress))


def undressed_end(text: str) -> str:
    """`npm test 2>&1 | tail -20` and `npm test || true` are `npm test`."""
    while True:
        seen = _veiled(text)
        found = _SHRUGGED.search(seen) or _VIEWED.search(seen)
        if found is None or not found.start():
            return text
        text = text[: found.start()]


def _veiled(text: str) -> str:
    """Of the same length, and nothing in quotes that could be taken for a separator."""
    return _QUOTED.sub(lambda found: "'" + "x" * (len(found[0]) - 2) + "'", text)


def _parts(text: str) -> list[str]:
    ends = [found.span() for found in _PARTS.finditer(_veiled(text))]
    return [text[start:end] for (_, start), (end, _) in zip([(0, 0), *ends], [*ends, (len(text), 0)], strict=True)]


def _word(word: str) -> str:
    """Quotes round a plain word mean nothing; what they hold together else was written for this once."""
    if _PLAIN.fullmatch(word):
        return word[1:-1]
    return _QUOTED.sub(lambda found: found[0] if _PLAIN.fullmatch(found[0]) else SPEECH, word)


def _worn(part: str) -> tuple[str, list[str]]:
    worn: list[str] = []
    while True:
        runner = next((runner for runner in _RUNNERS if part.startswith(f"{runner} ")), "")
        inside = _INSIDE.match(part)
        if _ASSIGNED.match(part) and " " in part:
            first, _, part = part.partition(" ")
            worn.append(first)
        elif inside:
            worn.append(inside.group().strip())
            part = part[inside.end() :]
        elif runner:
            worn.append(runner)
            part = part[len(runner) + 1 :]
        else:
            return part, worn
        part = part.lstrip()


def _family(program: str, words: list[str]) -> tuple[str, list[str]]:
    if program == "docker-compose":
        return "docker", ["compose", *words]
    family = _FAMILIES.get(program, program)
    if family == "uv" and words[:1] == ["pip"]:
        return "pip", words[1:]
    if family == "js" and words[:1] in (["run"], ["run-script"]) and len(words) > 1:
        return family, words[1:]
    return family, words


def _verb(family: str, words: list[str]) -> tuple[str, list[str]]:
    """A toolchain (`cargo +stable`) and options may stand before it."""
    if family not in _VERBED and family != "python":
        return "", words
    skip = False
    for number, word in enumerate(words):
        if skip or word.startswith(("-", "+")):
            # `-C folder`, `--context staging`: the value of an option is no verb.
            skip = not skip and word in _TAKES_VALUE
            continue
        rest = [*words[:number], *words[number + 1 :]]
        following = words[number + 1] if len(words) > number + 1 else ""
        if (family, word) in _TWO_VERBED and following and not following.startswith("-"):
            return f"{word} {following}", [*words[:number], *words[number + 2 :]]
        return word, rest
    return "", words
