"""Which rules are about a tool call that is about to be made: those that name its command, its tool, its file or the
kind of file. Exact where a name is an English word too, because a reminder that does not fit is worse than none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

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


class Call(NamedTuple):
    tool: str
    programs: tuple[
        tuple[str, str], ...
    ] = ()  # each with its first argument that is not an option: `git`, `push`
    commands: tuple[Command, ...] = ()  # every part of a command line, and all of it
    paths: tuple[str, ...] = ()
    writes: bool = False
    text: str = ""  # what it is about, for the search


def read_call(tool: str, given: Mapping[str, object]) -> Call:
    command = given.get("command")
    command = command[:_MAX_COMMAND_CHARS] if isinstance(command, str) else ""
    commands = tuple(filter(None, map(command_of, (*_COMMAND_BREAK.split(command), command))))
    paths = tuple(value for key in _PATH_KEYS if isinstance(value := given.get(key), str) and value)
    programs: list[tuple[str, str]] = []
    for part in _SHELL_BREAK.split(command):
        words = [
            word
            for word in part.split()
            if word not in _COMMAND_PREFIXES and not _ASSIGNMENT.match(word)
        ]
        program = words[0].strip("\"'").rpartition("/")[2].lower() if words else ""
        argument = next(
            (word.strip("\"'").lower() for word in words[1:] if not word.startswith("-")), ""
        )
        if _PROGRAM.fullmatch(program):
            programs.append((program, argument if _ARGUMENT.fullmatch(argument) else ""))
    text = command or " ".join(paths)[:_MAX_COMMAND_CHARS]
    return Call(tool, tuple(programs), commands, paths, bool(_WRITING_KEYS & given.keys()), text)


def rules_about(rules: Iterable[Rule], call: Call) -> list[Rule]:
    weighed = [(weight, rule) for rule in rules if (weight := _weigh(rule, call))]
    return [rule for _, rule in sorted(weighed, key=lambda pair: -pair[0])]


def is_lesson(rule: Rule) -> bool:
    """A lesson is about a call by its commands alone."""
    return _lesson(rule) is not None


def follows_lesson(rule: Rule, call: Call) -> bool:
    learned = _lesson(rule)
    return (
        learned is not None
        and learned.how in (How.INSTEAD, How.AFTER)
        and _runs(call, command_of(learned.fix))
    )


def _lesson(rule: Rule) -> Lesson | None:
    return Lesson.read(rule.body) if rule.origin == Lesson.ORIGIN else None


def _runs(call: Call, command: Command | None) -> bool:
    identity = command and (command.program, command.dress, command.core)
    return identity is not None and any(
        (one.program, one.dress, one.core) == identity for one in call.commands
    )


def _weigh(rule: Rule, call: Call) -> float:
    learned = _lesson(rule)
    if learned is not None and learned.how is How.READ_AGAIN:
        return max(
            (_weigh_path(learned.failed, path, call.writes) for path in call.paths if call.writes),
            default=0.0,
        )
    if learned is not None:
        # It is about the command that fails: before the one that works there is nothing to say.
        failed = command_of(learned.failed)
        works = learned.how is How.INSTEAD and _runs(call, command_of(learned.fix))
        same = [
            one
            for one in call.commands
            if failed and (one.program, one.verb) == (failed.program, failed.verb)
        ]
        return 0.0 if works or not same else 5.0 if _runs(call, failed) else 3.5
    text = f"{rule.title}\n{rule.body}"[:_MAX_RULE_CHARS]
    # `mcp__shop__search` and `WebFetch` are not English; `Read` and `Edit` are, unless they are called tools.
    is_tool = bool(call.tool) and _has_word(text, call.tool)
    if is_tool and call.tool.lower() in _EVERYDAY_WORDS and not _has_quoted(text, call.tool):
        is_tool = re.search(rf"\b{re.escape(call.tool)} tool\b", text) is not None
    lowered = text.lower()
    found = [
        2.0 if is_tool else 0.0,
        *(_weigh_program(lowered, *program) for program in call.programs),
    ]
    return max(found + [_weigh_path(text, path, call.writes) for path in call.paths])


def _weigh_program(text: str, program: str, argument: str) -> float:
    if argument and _has_word(text, f"{program} {argument}"):
        return 4.0
    is_ambiguous = program in _EVERYDAY_WORDS and not _has_quoted(text, program)
    if not _has_word(text, program) or is_ambiguous or len(program) < 2:
        return 0.0
    return 3.0 if argument and _has_word(text, argument) else 2.0


def _weigh_path(text: str, path: str, writes: bool) -> float:
    parts = [part for part in re.split(r"[/\\]", path) if part]
    suffix = parts[-1].rpartition(".")[2].lower() if parts and "." in parts[-1].lstrip(".") else ""
    for named in _PATHLIKE.findall(text):
        folders = (
            [part for part in named.strip(".").split("/") if part and part != "*"]
            if "/" in named
            else [named]
        )
        size = len(folders)
        if folders and any(
            parts[start : start + size] == folders for start in range(len(parts) - size + 1)
        ):
            return 4.0
        if suffix and writes and named.lower() in (f".{suffix}", f"*.{suffix}"):
            return 2.0
    language = _LANGUAGES.get(suffix, "")
    return 1.0 if writes and language and _has_word(text.lower(), language) else 0.0


def _has_word(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _has_quoted(text: str, name: str) -> bool:
    return f"`{name}" in text or f"'{name}'" in text or f'"{name}"' in text
