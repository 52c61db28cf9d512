"""Whether a call failed and with what kind of error, what a command does, and how two commands are related. What a tool
prints may be a stranger's words, and a lesson may become a rule: of an error only harmless names are told, of commands
none that has an address, fetches and runs, or destroys."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from recollect.capture.tables import Pattern, Patterns, Words, compiled, table
from recollect.model.command import MAX_COMMAND_CHARS, SPEECH, Command, command_of, undressed_end
from recollect.model.session import Act, ToolAction

_HEAD_CHARS, _TAIL_CHARS, _LINE_CHARS, _END_LINES = 2_000, 2_000, 300, 12
_NO_STDERR = re.compile(r"(?:(?<!\s)\s*+)?2>&1")
_MAX_RULES, _MAX_NAME_CHARS, _MAX_NAME_PARTS, _MAX_BARE_PARTS = 5, 40, 4, 2
_REMOTE_GIT = frozenset({"push", "pull", "fetch", "clone", "submodule", "lfs"})
_INLINE_CODE = frozenset({"-c", "-e", "-p", "--eval", "-"})
_SHELL_WORDS = frozenset("for while until if done fi".split())
_INTERPRETERS = frozenset("python node ruby perl bash sh".split())
_ERRORS = Patterns("command_errors")
_NAME_WORDS = Words("command_errors")
_PATTERNS = Patterns("command_likeness")
_WORDS = Words("command_likeness")


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


class CommandError(NamedTuple):
    kind: ErrorKind = ErrorKind.OTHER
    shape: str = ""  # `{0}` is where its name stands
    names: tuple[str, ...] = ()  # short names out of the error: what a mending step may speak of
    cure: Pattern | None = (
        None  # what a mending command has that the failed one had not, where that is known
    )

    def describe(self, *commands: str) -> str:
        for name in self.names:
            is_in_command = any(name.lower() in command.lower() for command in commands)
            is_harmless = _ERRORS.known.fullmatch(name) or _ERRORS.variable.fullmatch(name)
            is_short = len(_parts(name)) <= _MAX_BARE_PARTS
            if self.kind is ErrorKind.LINT or is_harmless or is_short or is_in_command:
                return self.shape.format(name)
        return without_name(self.shape)


# This and `_prints_failure` are cached: every look at a session begins some calls back.
@lru_cache(maxsize=512)
def error_in(output: str) -> CommandError:
    text = _shortened(output)
    for kind, shape, patterns, cure in _kinds():
        if kind is ErrorKind.TESTS:
            linted = dict.fromkeys("".join(groups) for groups in _ERRORS.linted.findall(text))
            if rules := tuple(rule for rule in linted if _is_name(rule, _NAME_WORDS.in_rules))[
                :_MAX_RULES
            ]:
                return CommandError(ErrorKind.LINT, "{0}", rules)
        for found in filter(None, (pattern.search(text) for pattern in patterns)):
            name = next((group for group in found.groups() if group), "").rstrip(".:,")
            return CommandError(
                kind, shape, (name,) if "{0}" in shape and _is_name(name) else (), cure
            )
    return CommandError()


@lru_cache(maxsize=512)
def _prints_failure(output: str) -> bool:
    return _ERRORS.printed.search(_shortened(output)) is not None


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
        patterns = tuple(
            compiled(source, parts, re.IGNORECASE | re.MULTILINE) for source in sources
        )
        cure = compiled(row["cure"], parts, re.IGNORECASE) if "cure" in row else None
        found.append((ErrorKind(row.get("kind", "other")), row["says"], patterns, cure))
    return tuple(found)


def _is_name(name: str, harmless: frozenset[str] = frozenset()) -> bool:
    """Short, and without a word that could be read as an order."""
    parts = _parts(name)
    is_short = 0 < len(name) <= _MAX_NAME_CHARS and 0 < len(parts) <= _MAX_NAME_PARTS
    orders = _NAME_WORDS.orders - (
        _NAME_WORDS.in_variables if _ERRORS.variable.fullmatch(name) else harmless
    )
    return is_short and "://" not in name and orders.isdisjoint(parts)


def _parts(name: str) -> list[str]:
    return [part.lower() for part in re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name) if part]


def _shortened(text: str) -> str:
    if len(text) > _HEAD_CHARS + _TAIL_CHARS:
        text = f"{text[:_HEAD_CHARS]}\n{text[-_TAIL_CHARS:]}"
    return "\n".join(line[:_LINE_CHARS].strip() for line in _ERRORS.ansi.sub("", text).splitlines())


def is_noise(act: Act) -> bool:
    """A failure that teaches nothing, and counts as no outcome."""
    if act.use is None or act.use.action is not ToolAction.RUN:
        return False
    command = command_of(act.use.what)
    return (
        command is None
        or only_shows(command)
        or error_in(act.text).kind in (ErrorKind.CUT_OFF, ErrorKind.SHELL)
    )


def has_failed(act: Act) -> bool:
    """By its exit code, or by what it printed where the exit code is hidden or says little."""
    if act.failed or act.use is None or act.use.action is not ToolAction.RUN:
        return bool(act.failed)
    command = command_of(act.use.what)
    if command is None or only_shows(command):
        return False
    is_check = _is_check(command)
    if is_check and _prints_failure(act.text):
        return True
    if not _is_result_hidden(act.use.what):
        return False
    is_linter = _PATTERNS.lints.search(
        f"{command.program} {command.verb} {' '.join(command.words[:2])}"
    )
    if is_linter and error_in(act.text).kind is ErrorKind.LINT:
        return True
    # The first and the last lines tell: the middle may be a log.
    lines = [line for line in act.text.splitlines() if line.strip()]
    error = error_in("\n".join(lines if len(lines) <= _END_LINES else [*lines[:2], *lines[-3:]]))
    return (
        not is_check and error.shape != "" and error.kind not in (ErrorKind.TESTS, ErrorKind.LINT)
    )


def has_worked(act: Act, line: str) -> bool:
    """Where the exit code is hidden, it must have printed something, and no error, and nothing was discarded."""
    if not _is_result_hidden(line):
        return True
    return (
        not _PATTERNS.unseen.search(line)
        and bool(act.text.strip())
        and not error_in(act.text).shape
    )


def _is_result_hidden(line: str) -> bool:
    return (
        _NO_STDERR.sub("", undressed_end(line)) != _NO_STDERR.sub("", line.strip()) or " | " in line
    )


def only_shows(command: Command) -> bool:
    if command.family in _WORDS.shows or f"{command.family}:{command.verb}" in _WORDS.showing_verbs:
        return True
    is_inline = command.family in _INTERPRETERS and not _INLINE_CODE.isdisjoint(
        (*command.words, command.verb)
    )
    return is_inline or command.text.startswith("command -v")


def is_one_off(command: Command) -> bool:
    """A folder made, a commit, a loop: it teaches nothing for the next time."""
    is_local_git = command.family == "git" and command.verb not in _REMOTE_GIT
    return is_local_git or command.family in _SHELL_WORDS or command.family in _WORDS.for_once


def _is_check(command: Command) -> bool:
    """It runs tests, checks or builds: what it prints says how that went."""
    words = f"{command.verb} {' '.join(command.words)}"
    is_reporting = (
        command.family in _WORDS.reporters and _PATTERNS.reporting.search(words) is not None
    )
    return command.family in _WORDS.checkers or is_reporting


def may_change(command: Command) -> bool:
    return not only_shows(command) and command.family not in _WORDS.for_once | {"export", "source"}


def is_preparation(step: Command, failed: Command) -> bool:
    """A step of the kind that others wait for: installing, starting, generating."""
    if step.family == "git":
        return failed.family == "git" and step.verb in {"pull", "fetch", "rebase"}
    words = {*step.verb.split(), *re.split(r"[\W_]+", step.verb), *step.operands[:1]}
    is_known = bool(words & _WORDS.prepares) or step.family in {"corepack", "nvm", "direnv"}
    return is_known and step.family != "cd"


def is_tellable(text: str) -> bool:
    """Short, printable, and harmless if somebody followed it."""
    is_plain = 0 < len(text) <= MAX_COMMAND_CHARS and text.isprintable() and text.isascii()
    return is_plain and _PATTERNS.untellable.search(text) is None


def is_tellable_path(path: str) -> bool:
    return is_tellable(path) and _PATTERNS.path.fullmatch(path) is not None


def switched_off(file: str, written: str) -> str:
    """What an edit switches off, as far as what is seen of it says: those lines, or the settings of a check."""
    if _PATTERNS.check_settings.search(file):
        return file
    return "\n".join(line for line in written.splitlines() if _PATTERNS.switches_off.search(line))


def is_same(one: Command, two: Command) -> bool:
    return one.family == two.family and one.dress == two.dress and _essence(one) == _essence(two)


def includes(command: Command, other: Command) -> bool:
    steps = [command, *(step for part in command.dress if (step := command_of(part)))]
    return any(_essence(one) == _essence(other) for one in steps)


def _essence(command: Command) -> tuple[str, ...]:
    """What it runs, without options that only change how much it prints."""
    words = (word for word in command.words if not _PATTERNS.says_more.fullmatch(word))
    return command.program, command.verb, *words


def mends(failed: Command, worked: Command, error: CommandError) -> bool:
    """The command that worked has the same purpose, in another way."""
    if failed.family != worked.family:
        return False
    if failed.verb != worked.verb:
        # Where the folder differs too, it was the folder.
        first, second = (re.split(r"[:_-]", verb)[0] for verb in (failed.verb, worked.verb))
        groups = table("command_likeness.toml")["alike_verbs"]
        is_alike = first == second or any({first, second} <= set(group.split()) for group in groups)
        is_alike = is_alike or _is_slip(failed.verb, worked.verb)
        return error.kind is ErrorKind.NO_TARGET and failed.dress == worked.dress and is_alike
    if error.cure is not None and _has_cure(failed, worked, error.cure):
        return True
    if (
        error.kind is ErrorKind.TESTS
        and set(failed.dress) >= set(worked.dress)
        and failed.program == worked.program
    ):
        return False  # what it looked at is wrong: no option mends that
    lost = set(failed.operands) - {*worked.words}
    more = set(worked.operands) - {*failed.words}
    if error.kind is ErrorKind.NO_FILE:
        if failed.place and worked.place not in ("", failed.place):
            return True
        if lost:
            return {path.rpartition("/")[2] for path in lost} == {
                path.rpartition("/")[2] for path in more
            }
    else:
        # An option with another value has another target. Numbers are only settings.
        mine, theirs = _option_values(failed), _option_values(worked)
        differ = [
            (mine[name], theirs[name])
            for name in mine.keys() & theirs.keys()
            if mine[name] != theirs[name]
        ]
        if lost or any(not (ours.isdigit() and others.isdigit()) for ours, others in differ):
            return False
    return not more or failed.family in {"git", "docker", "kubectl", "terraform"}


def _has_cure(failed: Command, worked: Command, cure: Pattern) -> bool:
    """It has what mends this kind of error, and is about the same things."""
    lost = [word for word in failed.operands if word not in worked.words and word != SPEECH]
    more = [word for word in worked.operands if word not in failed.words and word != SPEECH]
    if len(lost) != len(more) or any(not cure.search(word) or "/" in word for word in more):
        return False
    known = {*failed.dress, *failed.words, failed.program}
    new = [word for word in (*worked.dress, worked.program, *worked.words) if word not in known]
    return cure.search(" ".join(new)) is not None


def _option_values(command: Command) -> dict[str, str]:
    found = dict(
        word.split("=", 1) for word in command.words if word.startswith("-") and "=" in word
    )
    for option, word in pairwise(command.words):
        if option.startswith("-") and "=" not in option and not word.startswith("-"):
            found[option] = word
    return found


def is_typo(failed: Command, worked: Command, error: CommandError) -> bool:
    ours = (failed.program, failed.verb, *failed.words)
    theirs = (worked.program, worked.verb, *worked.words)
    if error.kind is ErrorKind.OTHER or len(ours) != len(theirs) or failed.dress != worked.dress:
        return False
    if failed.program != worked.program and failed.program != failed.family:
        return False  # npm and pnpm differ by a letter, and on purpose
    differ = [(one, two) for one, two in zip(ours, theirs, strict=True) if one != two]
    return len(differ) == 1 and _is_slip(*differ[0])


def _is_slip(one: str, two: str) -> bool:
    """A letter more, fewer or changed, or letters in another order. Numbers are meant, and so is a longer word."""
    if min(len(one), len(two)) < 3 or one.startswith(two) or two.startswith(one):
        return False
    if re.sub(r"\d", "", one) == re.sub(r"\d", "", two):
        return False
    same = next(at for at, (left, right) in enumerate(zip(one, two, strict=False)) if left != right)
    rest, other = one[same:], two[same:]
    return sorted(one) == sorted(two) or rest[1:] in (other, other[1:]) or rest == other[1:]


def names_error(step: Command, error: CommandError) -> bool:
    """A step that names what the error names: No module named 'yaml', pip install pyyaml."""
    said = step.text.lower()
    if error.cure is not None and is_preparation(step, step) and error.cure.search(step.text):
        return True
    ports = table("command_likeness.toml")["ports"]
    for name in error.names:
        last = re.split(r"[/.:]", name.lower())[-1]
        if (len(last) >= 3 and last in said) or not set(ports.get(name, "").split()).isdisjoint(
            said.split()
        ):
            return is_preparation(step, step) or not _is_check(step)
    return False


def is_workaround(failed: str, fix: str) -> bool:
    """The fix makes the failure go away without mending it: what "works" then is never a lesson."""
    if any(pattern.search(fix) and not pattern.search(failed) for pattern in _workarounds()):
        return True
    one, two = command_of(failed), command_of(fix)
    if one is None or two is None or (one.family, one.verb) != (two.family, two.verb):
        return False
    if failed != fix and undressed_end(failed) == undressed_end(fix):
        return True  # it only shows less
    steps, fewer = (
        {part for part in c.dress if " " in part and not _PATTERNS.sets_up.match(part)}
        for c in (one, two)
    )
    gone = [word for word in one.words if word not in two.words]
    added = [word for word in two.words if word not in one.words]
    runs_fewer_tests = one.family in _WORDS.selectable and any(
        map(_PATTERNS.selects.fullmatch, added)
    )
    return fewer < steps or runs_fewer_tests or any(map(_PATTERNS.strict.fullmatch, gone))


@cache
def _workarounds() -> tuple[Pattern, ...]:
    read = table("command_likeness.toml")
    return tuple(compiled(source, read["parts"]) for source in read["workarounds"])
