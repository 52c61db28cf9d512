"""Which rules are about a tool call that is about to be made: those that name its command, its tool, its file or the
kind of file. Exact where a name is an English word too, because a reminder that does not fit is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from recollect.base.shipped import load_table
from recollect.model.command import Command, How, Lesson, command_of
from recollect.model.memory import Rule

_MAX_COMMAND_CHARS = 4_000
_MAX_RULE_CHARS = 2_500  # an imported one may be of any length
_SHELL_BREAK = re.compile(r"&&|\|\||[;|&\n()`]|\$\(")
_COMMAND_BREAK = re.compile(r"&&|\|\||;|\n")
_ASSIGNMENT = re.compile(r"\w+=")
_PROGRAM, _ARGUMENT = re.compile(r"[\w.+-]{1,40}"), re.compile(r"[\w.:@/+-]{2,60}")
_PATHLIKE = re.compile(r"[\w@.*-]*(?:/[\w@.*-]+)+/?|[\w@*-]*\.[A-Za-z]\w{0,9}\b|\b\w[\w-]*/")
_PATH_KEYS = ("file_path", "path", "notebook_path", "absolute_path")
_WRITING_KEYS = frozenset("content new_string new_source edits old_string".split())
_TABLE = load_table("recollect.recall", "search_words.json")
_COMMAND_PREFIXES = frozenset(_TABLE["command_prefixes"].split())
# Programs and tools whose names people use every day without meaning them.
_EVERYDAY_WORDS = frozenset(" ".join(_TABLE["everyday_words"]).split())
_LANGUAGES: Mapping[str, str] = _TABLE["languages"]


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    programs: tuple[tuple[str, str], ...] = ()  # each with its first argument that is not an option: `git`, `push`
    commands: tuple[Command, ...] = ()  # every part of a command line, and all of it
    paths: tuple[str, ...] = ()
    writes: bool = False
    text: str = ""  # what it is about, for the search


def read_call(tool: str, given: Mapping[str, object]) -> Call:
    command = given.get("command")
    command = command[:_MAX_COMMAND_CHARS] if isinstance(command, str) else ""
    commands = tuple(filter(None, map(command_of, (*_COMMAND_BREAK.split(command), command))))
    paths = tuple(value for key in _PATH_KEYS if isinstance(value := given.get(key), str) and value)
    text = command or " ".join(paths)[:_MAX_COMMAND_CHARS]
    return Call(tool, tuple(_programs(command)), commands, paths, bool(_WRITING_KEYS & given.keys()), text)


def rules_about(rules: Iterable[Rule], call: Call) -> list[Rule]:
    weighed = [(weight, rule) for rule in rules if (weight := _weigh(rule, call))]
    return [rule for _, rule in sorted(weighed, key=lambda pair: -pair[0])]


def is_lesson(rule: Rule) -> bool:
    """A lesson is about a call by its commands alone."""
    return _lesson(rule) is not None


def follows_lesson(rule: Rule, call: Call) -> bool:
    """The call runs what a lesson says works."""
    learned = _lesson(rule)
    return learned is not None and learned.how in (How.INSTEAD, How.AFTER) and _runs(call, command_of(learned.fix))


def _lesson(rule: Rule) -> Lesson | None:
    return Lesson.read(rule.body) if rule.origin == Lesson.ORIGIN else None


def _runs(call: Call, command: Command | None) -> bool:
    identity = command and (command.program, command.dress, command.core)
    return identity is not None and any((one.program, one.dress, one.core) == identity for one in call.commands)


def _weigh(rule: Rule, call: Call) -> float:
    learned = _lesson(rule)
    if learned is not None:
        return _weigh_lesson(learned, call)
    text = f"{rule.title}\n{rule.body}"[:_MAX_RULE_CHARS]
    lowered = text.lower()
    found = [_weigh_program(lowered, *program) for program in call.programs]
    found.append(_weigh_tool(text, call.tool))
    found += [_weigh_path(text, path, call.writes) for path in call.paths]
    return max(found)


def _weigh_lesson(learned: Lesson, call: Call) -> float:
    """It is about the command that fails: before the one that works there is nothing to say."""
    if learned.how is How.READ_AGAIN:
        return max((_weigh_path(learned.failed, path, call.writes) for path in call.paths if call.writes), default=0.0)
    failed = command_of(learned.failed)
    if failed is None or (learned.how is How.INSTEAD and _runs(call, command_of(learned.fix))):
        return 0.0
    if not any((one.program, one.verb) == (failed.program, failed.verb) for one in call.commands):
        return 0.0
    return 5.0 if _runs(call, failed) else 3.5


def _programs(command: str) -> Iterator[tuple[str, str]]:
    for part in _SHELL_BREAK.split(command):
        words = [word for word in part.split() if word not in _COMMAND_PREFIXES and not _ASSIGNMENT.match(word)]
        program = words[0].strip("\"'").rpartition("/")[2].lower() if words else ""
        argument = next((word.strip("\"'").lower() for word in words[1:] if not word.startswith("-")), "")
        if _PROGRAM.fullmatch(program):
            yield program, argument if _ARGUMENT.fullmatch(argument) else ""


def _weigh_program(text: str, program: str, argument: str) -> float:
    if argument and _has_word(text, f"{program} {argument}"):
        return 4.0
    is_ambiguous = program in _EVERYDAY_WORDS and not _has_quoted(text, program)
    if not _has_word(text, program) or is_ambiguous or len(program) < 2:
        return 0.0
    return 3.0 if argument and _has_word(text, argument) else 2.0


def _weigh_tool(text: str, tool: str) -> float:
    """`mcp__shop__search` and `WebFetch` are not English; `Read` and `Edit` are, unless they are called tools."""
    if not tool or not _has_word(text, tool):
        return 0.0
    is_called_tool = _has_quoted(text, tool) or re.search(rf"\b{re.escape(tool)} tool\b", text)
    return 2.0 if is_called_tool or tool.lower() not in _EVERYDAY_WORDS else 0.0


def _weigh_path(text: str, path: str, writes: bool) -> float:
    parts = [part for part in re.split(r"[/\\]", path) if part]
    suffix = parts[-1].rpartition(".")[2].lower() if parts and "." in parts[-1].lstrip(".") else ""
    for named in _PATHLIKE.findall(text):
        folders = [part for part in named.strip(".").split("/") if part and part != "*"] if "/" in named else [named]
        size = len(folders)
        if folders and any(parts[start : start + size] == folders for start in range(len(parts) - size + 1)):
            return 4.0
        if suffix and writes and named.lower() in (f".{suffix}", f"*.{suffix}"):
            return 2.0
    language = _LANGUAGES.get(suffix, "")
    return 1.0 if writes and language and _has_word(text.lower(), language) else 0.0


def _has_word(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _has_quoted(text: str, name: str) -> bool:
    return f"`{name}" in text or f"'{name}'" in text or f'"{name}"' in text
