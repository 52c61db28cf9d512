"""Which rules are about a tool call that is about to be made: those that name its command, its tool, its file or the
kind of file. Exact where a name is an English word too, because a reminder that does not fit is worse than none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from recollect.base.shipped import load_table
from recollect.model.command import FAMILIES, Command, How, Lesson, command_of
from recollect.model.memory import Rule

_MAX_COMMAND_CHARS = 4_000
# Each is looked for in each rule. A path that is longer than any system takes names no file.
_MAX_PARTS, _MAX_PATH_CHARS = 100, 4_096
_MAX_RULE_CHARS = 2_500  # an imported one may be of any length
_SHELL_BREAK = re.compile(r"&&|\|\||[;|&\n()`]|\$\(")
_COMMAND_BREAK = re.compile(r"&&|\|\||;|\n")
_DOCUMENT = re.compile(r"(?<!<)<<-?[ \t]*[\"']?(?P<end>[A-Za-z_]\w*)")
_SHELL = re.compile(r"\b(?:(?:ba|da|k|z|fi)?sh|ssh|su|sudo)\b")
_ASSIGNMENT = re.compile(r"\w+=")
_PROGRAM, _ARGUMENT = re.compile(r"[\w.+-]{1,40}"), re.compile(r"[\w.:@/+-]{2,60}")
_PATHLIKE = re.compile(
    r"(?<![\w@.*-])[\w@.*-]*+(?:/[\w@.*-]++)+/?"
    r"|(?:(?<![\w@*-])[\w@*-]*+)?\.[A-Za-z]\w{0,9}\b|\b\w[\w-]*+/"
)
_NAMED_PATH = 4.0  # how much a rule is about a file that it names
_PATH_KEYS = ("file_path", "path", "notebook_path", "absolute_path")
_WRITING_KEYS = frozenset("content new_string new_source edits old_string".split())
_TABLE = load_table("recollect.recall", "search_words.json")
_COMMAND_PREFIXES = frozenset(_TABLE["command_prefixes"].split())
# Programs and tools whose names people use every day without meaning them.
_EVERYDAY_WORDS = frozenset(" ".join(_TABLE["everyday_words"]).split())
_LANGUAGES: Mapping[str, str] = _TABLE["languages"]
_SUBCOMMANDS = {name: frozenset(words.split()) for name, words in _TABLE["subcommands"].items()}
_NESTED = frozenset(_TABLE["nested_subcommands"].split())  # these have subcommands of their own
_NO_SUBCOMMANDS = frozenset(_TABLE["after_a_command"].split())
_FOLLOWING = re.compile(r"[ \t]+([^\s`]{1,60})(?:[ \t]+([^\s`]{1,60}))?")
_SUBCOMMAND = re.compile(r"[a-z][\w:.-]*")
JAVASCRIPT = "js"


class Program(NamedTuple):
    name: str
    words: tuple[str, ...] = ()  # its first arguments that are no options: `compose`, `down`


class Call(NamedTuple):
    tool: str
    programs: tuple[Program, ...] = ()
    commands: tuple[Command, ...] = ()  # every part of a command line, and all of it
    paths: tuple[str, ...] = ()
    writes: bool = False
    text: str = ""  # what it is about, for the search


def read_call(tool: str, given: Mapping[str, object]) -> Call:
    command = given.get("command")
    command = command[:_MAX_COMMAND_CHARS] if isinstance(command, str) else ""
    text = command
    command = _without_documents(command)
    lines = _first_different(_COMMAND_BREAK.split(command))
    commands = tuple(filter(None, map(command_of, (*lines, command))))
    paths = tuple(
        value
        for key in _PATH_KEYS
        if isinstance(value := given.get(key), str) and 0 < len(value) <= _MAX_PATH_CHARS
    )
    parts = _first_different(_SHELL_BREAK.split(command))
    programs = tuple(dict.fromkeys(filter(None, map(_read_program, parts))))
    text = text or " ".join(paths)[:_MAX_COMMAND_CHARS]
    return Call(tool, programs, commands, paths, bool(_WRITING_KEYS & given.keys()), text)


def _first_different(parts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(part.strip() for part in parts))[:_MAX_PARTS]


def _without_documents(command: str) -> str:
    """Without the lines of here-documents: they are written or read, not run, unless a shell reads them."""
    kept: list[str] = []
    end = ""
    for line in command.splitlines():
        if end:
            end = "" if line.strip() == end else end
            continue
        kept.append(line)
        found = _DOCUMENT.search(line)
        if found and not _SHELL.search(line, 0, found.start()):
            end = found["end"]
    return "\n".join(kept)


def _read_program(part: str) -> Program | None:
    words = [
        word.strip("\"'").lower()
        for word in part.split()
        if word not in _COMMAND_PREFIXES and not _ASSIGNMENT.match(word)
    ]
    name = words[0].rpartition("/")[2] if words else ""
    if not _PROGRAM.fullmatch(name):
        return None
    arguments = [word for word in words[1:] if not word.startswith("-")]
    command = command_of(part)
    if command is not None and command.program == name and command.verb:
        # The value of an option is no argument: `git -C folder push`.
        arguments = [*command.verb.lower().split(), *(word.lower() for word in command.operands)]
    if name == "docker-compose":
        name, arguments = (
            "docker",
            arguments if arguments[:1] == ["compose"] else ["compose", *arguments],
        )
    family = command.family if command is not None else name
    return Program(name, _without_run(family, arguments))


def _without_run(family: str, words: list[str]) -> tuple[str, ...]:
    """`npm run build` is `npm build`; only words that could be subcommands."""
    if family == JAVASCRIPT and words[:1] in (["run"], ["run-script"]) and len(words) > 1:
        words = words[1:]
    return tuple(word for word in words[:2] if _ARGUMENT.fullmatch(word))


def rules_about(rules: Iterable[Rule], call: Call) -> list[Rule]:
    weighed = [(weight, rule) for rule in rules if (weight := _weigh(rule, call))]
    return [rule for _, rule in sorted(weighed, key=lambda pair: -pair[0])]


def names_another_subcommand(rule: Rule, call: Call) -> bool:
    """Whether it is about the call's program and not about this call: `terraform apply` before `terraform plan`."""
    text = f"{rule.title}\n{rule.body}"[:_MAX_RULE_CHARS].lower()
    mentions = {words for program in call.programs for words in _mentions(text, program)}
    return bool(mentions) and () not in mentions and not _weigh(rule, call)


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
        *(_weigh_program(lowered, program) for program in call.programs),
    ]
    return max(found + [_weigh_path(text, path, call.writes) for path in call.paths])


def _weigh_program(text: str, program: Program) -> float:
    """A rule that names a command with its subcommand is about that subcommand alone; one that names only the program
    is about all of them."""
    mentions = set(_mentions(text, program))
    if any(words and program.words[: len(words)] == words for words in mentions):
        return 4.0
    is_ambiguous = program.name in _EVERYDAY_WORDS and not _has_quoted(text, program.name)
    if () not in mentions or is_ambiguous or len(program.name) < 2:
        return 0.0
    return 3.0 if program.words and _has_word(text, program.words[0]) else 2.0


def _mentions(text: str, program: Program) -> Iterator[tuple[str, ...]]:
    """The subcommands with which a text names a program, one after the other; none where it names only the program."""
    text = text.replace("docker-compose", "docker compose")
    if program.name not in text:  # so for nearly all, and much cheaper than a pattern of its own
        return
    family = FAMILIES.get(program.name, program.name)
    for mention in re.finditer(rf"(?<![\w-]){re.escape(program.name)}(?![\w-])", text):
        following = _FOLLOWING.match(text, mention.end())
        first, second = following.groups() if following else ("", "")
        is_code = text.count("`", 0, mention.start()) % 2 == 1
        known = _SUBCOMMANDS.get(family, frozenset()) | set(program.words[:1])
        words = [_bare(first), _bare(second or "")]
        if not is_code and words[0] not in known:
            yield ()
            continue
        is_nested = words[0] in _NESTED and _bare(first) == first
        words = words if is_code or is_nested else words[:1]
        plain = [
            word for word in words if _SUBCOMMAND.fullmatch(word) and word not in _NO_SUBCOMMANDS
        ]
        named = _without_run(family, plain)
        yield named[:2] if is_nested else named[:1]


def _bare(word: str) -> str:
    return word.strip("`\"'.,;:!?()")


def names_path(text: str, path: str) -> bool:
    """Whether a text names this file, or a folder that it lies in."""
    return _weigh_path(text, path, writes=False) >= _NAMED_PATH


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
            return _NAMED_PATH
        if suffix and writes and named.lower() in (f".{suffix}", f"*.{suffix}"):
            return 2.0
    language = _LANGUAGES.get(suffix, "")
    return 1.0 if writes and language and _has_word(text.lower(), language) else 0.0


def _has_word(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _has_quoted(text: str, name: str) -> bool:
    return f"`{name}" in text or f"'{name}'" in text or f'"{name}"' in text
