"""What kind of error a command ended with, in our own words (data/command_errors.toml).

What a tool prints may have been written by a stranger, and a lesson may become a rule. So nothing of it is quoted but a
name that is a number, well known, short, or part of the lesson's commands, and never one that reads like an order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache

from recollect.capture.tables import Pattern, Patterns, Words, compiled, table

_HEAD_CHARS, _TAIL_CHARS, _LINE_CHARS = 2_000, 2_000, 300
_END_LINES = 12
_MAX_RULES = 5
_MAX_NAME_CHARS, _MAX_NAME_PARTS, _MAX_BARE_PARTS = 40, 4, 2
_PATTERNS = Patterns("command_errors")
_WORDS = Words("command_errors")


class ErrorKind(StrEnum):
    OTHER = "other"
    TESTS = "tests"  # it ran, and what it looked at is not as it should be
    LINT = "lint"  # it names the rules that the code breaks
    HICCUP = "hiccup"  # the network, or time: the same may work a moment later
    NO_PROGRAM = "no program"
    NO_TARGET = "no target"  # no such script, target, command
    NO_FILE = "no file"
    SHELL = "shell"  # the line itself was wrong
    CUT_OFF = "cut off"  # a person or a limit ended it


@dataclass(frozen=True, slots=True)
class CommandError:
    kind: ErrorKind = ErrorKind.OTHER
    shape: str = ""  # `{0}` is where its name stands
    names: tuple[str, ...] = ()  # short names out of the error: what a mending step may speak of
    cure: Pattern | None = None  # what a mending command has that the failed one had not, where that is known

    def describe(self, *commands: str) -> str:
        for name in self.names:
            is_in_command = any(name.lower() in command.lower() for command in commands)
            is_harmless = _PATTERNS.known.fullmatch(name) or _PATTERNS.variable.fullmatch(name)
            is_short = len(_parts(name)) <= _MAX_BARE_PARTS
            if self.kind is ErrorKind.LINT or is_harmless or is_short or is_in_command:
                return self.shape.format(name)
        return without_name(self.shape)


# Both remembered: every look at a session begins some calls back.
@lru_cache(maxsize=512)
def error_in(output: str) -> CommandError:
    text = _shortened(output)
    for kind, shape, patterns, cure in _kinds():
        if kind is ErrorKind.TESTS and (rules := _lint_rules(text)):
            return CommandError(ErrorKind.LINT, "{0}", rules)
        for pattern in patterns:
            if found := pattern.search(text):
                name = next((group for group in found.groups() if group), "").rstrip(".:,")
                return CommandError(kind, shape, (name,) if "{0}" in shape and _is_name(name) else (), cure)
    return CommandError()


@lru_cache(maxsize=512)
def prints_failure(output: str) -> bool:
    """It ended well and says that something failed."""
    return _PATTERNS.printed.search(_shortened(output)) is not None


def error_at_ends(output: str) -> CommandError:
    """Judges by the first and the last lines: the middle may be a log."""
    lines = [line for line in output.splitlines() if line.strip()]
    return error_in("\n".join(lines if len(lines) <= _END_LINES else [*lines[:2], *lines[-3:]]))


def shape_of(description: str) -> str:
    for _, shape, *_ in _kinds():
        form = re.escape(shape).replace(r"\{0\}", r"\S+")
        if shape != "{0}" and "{0}" in shape and re.fullmatch(form, description):
            return shape
    return description


def without_name(shape: str) -> str:
    nameless: dict[str, str] = table("command_errors.toml")["nameless"]
    return nameless.get(shape) or re.sub(r"\s*\(\w+ \{0\}\)|:? ?\{0\}:? ?", " ", shape).strip()


@cache
def _kinds() -> tuple[tuple[ErrorKind, str, tuple[Pattern, ...], Pattern | None], ...]:
    read = table("command_errors.toml")
    parts, found = read["parts"], []
    for row in read["kinds"]:
        sources = [row["pattern"]] if isinstance(row["pattern"], str) else row["pattern"]
        patterns = tuple(compiled(source, parts, re.IGNORECASE | re.MULTILINE) for source in sources)
        cure = compiled(row["cure"], parts, re.IGNORECASE) if "cure" in row else None
        found.append((ErrorKind(row.get("kind", "other")), row["says"], patterns, cure))
    return tuple(found)


def _lint_rules(text: str) -> tuple[str, ...]:
    found = ("".join(groups) for groups in _PATTERNS.linted.findall(text))
    return tuple(dict.fromkeys(rule for rule in found if _is_name(rule, _WORDS.in_rules)))[:_MAX_RULES]


def _is_name(name: str, harmless: frozenset[str] = frozenset()) -> bool:
    """Short, and without a word that could be read as an order."""
    parts = _parts(name)
    is_short = 0 < len(name) <= _MAX_NAME_CHARS and 0 < len(parts) <= _MAX_NAME_PARTS
    orders = _WORDS.orders - (_WORDS.in_variables if _PATTERNS.variable.fullmatch(name) else harmless)
    return is_short and "://" not in name and orders.isdisjoint(parts)


def _parts(name: str) -> list[str]:
    return [part.lower() for part in re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name) if part]


def _shortened(text: str) -> str:
    if len(text) > _HEAD_CHARS + _TAIL_CHARS:
        text = f"{text[:_HEAD_CHARS]}\n{text[-_TAIL_CHARS:]}"
    return "\n".join(line[:_LINE_CHARS].strip() for line in _PATTERNS.ansi.sub("", text).splitlines())
