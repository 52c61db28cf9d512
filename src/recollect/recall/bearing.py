"""Which rules bear on a tool call that is about to be made: those that name its command, its tool, its file or the
kind of file. Exact where a name is a word of English too, because a reminder that does not fit is worse than none.

Nearness in meaning is the engine's matter; `ops` adds what that finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from recollect.model import lesson
from recollect.model.command import Command, command_of
from recollect.model.lesson import How, Lesson
from recollect.model.memory import Rule

_MAX_COMMAND_CHARS = 4_000
_MAX_RULE_CHARS = 2_500  # an imported one may be of any length
_SPLIT = re.compile(r"&&|\|\||[;|&\n()`]|\$\(")
_PARTS = re.compile(r"&&|\|\||;|\n")
_ASSIGNED = re.compile(r"\w+=")
_BEFORE = frozenset("sudo env time nohup exec xargs npx command then do else".split())
# Programs, and tools, whose names are said every day without meaning them.
_ENGLISH = frozenset(
    """a agent at cat command cut date diff do echo edit env expect export file find fold glob go grep head help history
    in info install join kill last less let link look mail make man more move mount nice node open paste patch pip plan
    print read replace run screen script search select set shell skill sleep sort source split stat strip task tee test
    time todo top touch tool tree true type uniq view wait watch wc web which who write yes""".split()
)
_PATH_KEYS = ("file_path", "path", "notebook_path", "absolute_path")
_WRITES = frozenset("content new_string new_source edits old_string".split())
_LANGUAGES = {
    "c": "c", "cpp": "c++", "cs": "c#", "css": "css", "go": "golang", "html": "html", "java": "java",
    "js": "javascript", "jsx": "react", "json": "json", "kt": "kotlin", "lua": "lua", "md": "markdown", "php": "php",
    "py": "python", "rb": "ruby", "rs": "rust", "scss": "css", "sh": "shell", "sql": "sql", "svelte": "svelte",
    "swift": "swift", "tf": "terraform", "toml": "toml", "ts": "typescript", "tsx": "typescript", "vue": "vue",
    "yaml": "yaml", "yml": "yaml",
}  # fmt: skip
_PATHLIKE = re.compile(r"[\w@.*-]*(?:/[\w@.*-]+)+/?|[\w@*-]*\.[A-Za-z]\w{0,9}\b|\b\w[\w-]*/")


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    programs: tuple[tuple[str, str], ...] = ()
    """Each with its first argument that is no option: `git`, `push`."""
    paths: tuple[str, ...] = ()
    writes: bool = False
    text: str = ""
    """What it is about, for the engine."""


def call_of(tool: str, given: Mapping[str, object]) -> Call:
    command = given.get("command")
    paths = tuple(value for key in _PATH_KEYS if isinstance(value := given.get(key), str) and value)
    programs = tuple(_programs(command[:_MAX_COMMAND_CHARS])) if isinstance(command, str) else ()
    text = command if isinstance(command, str) else " ".join(paths)
    return Call(tool, programs, paths, bool(_WRITES & given.keys()), text[:_MAX_COMMAND_CHARS])


def bearing(rules: Iterable[Rule], call: Call) -> list[Rule]:
    """Those that name something of the call, the closest first."""
    weighed = [(weight, rule) for rule in rules if (weight := _weight_of(rule, call))]
    return [rule for _, rule in sorted(weighed, key=lambda pair: -pair[0])]


def is_lesson(rule: Rule) -> bool:
    """Known to bear or not by its commands alone."""
    return rule.origin == lesson.ORIGIN and lesson.read(rule.body) is not None


def follows(rule: Rule, call: Call) -> bool:
    """The call runs what a lesson says works."""
    learnt = lesson.read(rule.body) if rule.origin == lesson.ORIGIN else None
    fix = command_of(learnt.fix) if learnt is not None and learnt.how in (How.INSTEAD, How.AFTER) else None
    return fix is not None and any(_dressed(one) == _dressed(fix) for one in _commands(call))


def _weight_of(rule: Rule, call: Call) -> float:
    learnt = lesson.read(rule.body) if rule.origin == lesson.ORIGIN else None
    return _weight(_said(rule), call) if learnt is None else _of_lesson(learnt, call)


def _of_lesson(learnt: Lesson, call: Call) -> float:
    """It speaks of the command that fails: before the one that works there is nothing to say."""
    if learnt.how is How.READ_AGAIN:
        return max((_of_path(learnt.failed, path, call.writes) for path in call.paths if call.writes), default=0.0)
    failed = command_of(learnt.failed)
    fix = command_of(learnt.fix) if learnt.how is How.INSTEAD else None
    if failed is None or not call.programs:
        return 0.0
    run = _commands(call)
    if fix is not None and any(_dressed(one) == _dressed(fix) for one in run):
        return 0.0
    near = [one for one in run if (one.program, one.verb) == (failed.program, failed.verb)]
    if not near:
        return 0.0
    return 5.0 if any(_dressed(one) == _dressed(failed) for one in near) else 3.5


def _commands(call: Call) -> list[Command]:
    return [command for part in (*_PARTS.split(call.text), call.text) if (command := command_of(part))]


def _dressed(command: Command) -> tuple[object, ...]:
    return (command.program, command.dress, *command.core)


def _said(rule: Rule) -> str:
    return f"{rule.title}\n{rule.body}"[:_MAX_RULE_CHARS]


def _weight(said: str, call: Call) -> float:
    found = [_of_program(said, *program) for program in call.programs]
    found.append(_of_tool(said, call.tool))
    found += [_of_path(said, path, call.writes) for path in call.paths]
    return max(found, default=0.0)


def _programs(command: str) -> Iterable[tuple[str, str]]:
    for part in _SPLIT.split(command):
        words = [word for word in part.split() if word not in _BEFORE and not _ASSIGNED.match(word)]
        if not words:
            continue
        program = words[0].strip("\"'").rpartition("/")[2].lower()
        argument = next((word.strip("\"'").lower() for word in words[1:] if not word.startswith("-")), "")
        if re.fullmatch(r"[\w.+-]{1,40}", program):
            yield program, argument if re.fullmatch(r"[\w.:@/+-]{2,60}", argument) else ""


def _of_program(said: str, program: str, argument: str) -> float:
    low = said.lower()
    if argument and _named(low, f"{program} {argument}"):
        return 4.0
    if not _named(low, program) or (program in _ENGLISH and not _quoted(low, program)) or len(program) < 2:
        return 0.0
    return 3.0 if argument and _named(low, argument) else 2.0


def _of_tool(said: str, tool: str) -> float:
    """`mcp__shop__search` and `WebFetch` are nobody's words; `Read` and `Edit` are, unless they are called tools."""
    if not tool or not _named(said, tool):
        return 0.0
    if tool.lower() not in _ENGLISH or _quoted(said, tool) or re.search(rf"\b{re.escape(tool)} tool\b", said):
        return 2.0
    return 0.0


def _of_path(said: str, path: str, writes: bool) -> float:
    parts = [part for part in re.split(r"[/\\]", path) if part]
    suffix = parts[-1].rpartition(".")[2].lower() if parts and "." in parts[-1].lstrip(".") else ""
    for named in _PATHLIKE.findall(said):
        wanted = [part for part in named.strip(".").split("/") if part and part != "*"] if "/" in named else [named]
        if wanted and _runs_in(wanted, parts):
            return 4.0
        if suffix and writes and named.lower() in (f".{suffix}", f"*.{suffix}"):
            return 2.0
    language = _LANGUAGES.get(suffix, "")
    return 1.0 if writes and language and _named(said.lower(), language) else 0.0


def _runs_in(wanted: list[str], parts: list[str]) -> bool:
    """The named piece stands in the path, whole parts after one another."""
    size = len(wanted)
    return any(parts[start : start + size] == wanted for start in range(len(parts) - size + 1))


def _named(said: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said) is not None


def _quoted(said: str, name: str) -> bool:
    return f"`{name}" in said or f"'{name}'" in said or f'"{name}"' in said
