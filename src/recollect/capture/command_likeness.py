"""What a command does, how two commands are related, and whether a command may be repeated at all.

A lesson is shown to an agent, and what a stranger's text made an agent run must not come back as advice: no address,
nothing that fetches and runs, nothing that destroys.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

from recollect.capture.command_errors import CommandError, ErrorKind
from recollect.capture.tables import Pattern, Patterns, Words, compiled, table
from recollect.model.command import MAX_COMMAND_CHARS, SPEECH, Command, command_of, undressed_end

_REMOTE_GIT = frozenset({"push", "pull", "fetch", "clone", "submodule", "lfs"})
_INLINE_CODE = frozenset({"-c", "-e", "-p", "--eval", "-"})
_SHELL_WORDS = frozenset("for while until if done fi".split())
_INTERPRETERS = frozenset("python node ruby perl bash sh".split())
_PATTERNS = Patterns("command_likeness")
_WORDS = Words("command_likeness")


def only_shows(command: Command) -> bool:
    if command.family in _WORDS.shows or f"{command.family}:{command.verb}" in _WORDS.showing_verbs:
        return True
    is_inline = command.family in _INTERPRETERS and not _INLINE_CODE.isdisjoint((*command.words, command.verb))
    return is_inline or command.text.startswith("command -v")


def is_one_off(command: Command) -> bool:
    """A folder made, a commit, a loop: it teaches nothing for the next time."""
    is_local_git = command.family == "git" and command.verb not in _REMOTE_GIT
    return is_local_git or command.family in _SHELL_WORDS or command.family in _WORDS.for_once


def is_check(command: Command) -> bool:
    """It runs tests, checks or builds: what it prints says how that went."""
    words = f"{command.verb} {' '.join(command.words)}"
    is_reporting = command.family in _WORDS.reporters and _PATTERNS.reporting.search(words) is not None
    return command.family in _WORDS.checkers or is_reporting


def is_linter(command: Command) -> bool:
    return _PATTERNS.lints.search(f"{command.program} {command.verb} {' '.join(command.words[:2])}") is not None


def may_change(command: Command) -> bool:
    return not only_shows(command) and command.family not in _WORDS.for_once | {"export", "source"}


def is_same(one: Command, two: Command) -> bool:
    return one.family == two.family and one.dress == two.dress and _essence(one) == _essence(two)


def includes(command: Command, other: Command) -> bool:
    """It ends with the other, or has it among its steps."""
    steps = [command, *(step for part in command.dress if (step := command_of(part)))]
    return any(_essence(one) == _essence(other) for one in steps)


def last_step(command: Command) -> str:
    """The last command of a chain; of a git command only its verb, since a lint hook checks every push."""
    return f"git {command.verb}" if command.family == "git" else command.general.rpartition(" && ")[2].strip()


def mends(failed: Command, worked: Command, error: CommandError) -> bool:
    """The command that worked has the same purpose, in another way."""
    if failed.family != worked.family:
        return False
    if failed.verb != worked.verb:
        # In another folder too: then it was the folder.
        is_alike = failed.dress == worked.dress and _are_alike(failed.verb, worked.verb)
        return error.kind is ErrorKind.NO_TARGET and is_alike
    if _has_cure(failed, worked, error):
        return True
    if error.kind is ErrorKind.TESTS and set(failed.dress) >= set(worked.dress) and failed.program == worked.program:
        return False  # what it looked at is wrong: no option mends that
    lost = set(failed.operands) - {*worked.words}
    more = set(worked.operands) - {*failed.words}
    if error.kind is ErrorKind.NO_FILE:
        if failed.place and worked.place not in ("", failed.place):
            return True
        if lost:
            return {path.rpartition("/")[2] for path in lost} == {path.rpartition("/")[2] for path in more}
    elif lost or _has_other_value(failed, worked):
        return False
    return not more or failed.family in {"git", "docker", "kubectl", "terraform"}


def is_typo(failed: Command, worked: Command, error: CommandError) -> bool:
    ours = (failed.program, failed.verb, *failed.words)
    theirs = (worked.program, worked.verb, *worked.words)
    if error.kind is ErrorKind.OTHER or len(ours) != len(theirs) or failed.dress != worked.dress:
        return False
    if failed.program != worked.program and failed.program != failed.family:
        return False  # npm and pnpm differ by a letter, and on purpose
    differ = [(one, two) for one, two in zip(ours, theirs, strict=True) if one != two]
    return len(differ) == 1 and is_slip(*differ[0])


def is_slip(one: str, two: str) -> bool:
    """A letter more, fewer or changed, or letters in another order. Numbers are meant, and so is a longer word."""
    if min(len(one), len(two)) < 3 or one.startswith(two) or two.startswith(one):
        return False
    if re.sub(r"\d", "", one) == re.sub(r"\d", "", two):
        return False
    same = next(at for at, (left, right) in enumerate(zip(one, two, strict=False)) if left != right)
    rest, other = one[same:], two[same:]
    return sorted(one) == sorted(two) or rest[1:] in (other, other[1:]) or rest == other[1:]


def is_preparation(step: Command, failed: Command) -> bool:
    """A step of the kind that others wait for: installing, starting, generating."""
    if step.family == "git":
        return failed.family == "git" and step.verb in {"pull", "fetch", "rebase"}
    if step.family == "cd":
        return False
    words = {*step.verb.split(), *re.split(r"[\W_]+", step.verb), *step.operands[:1]}
    return bool(words & _WORDS.prepares) or step.family in {"corepack", "nvm", "direnv"}


def names_error(step: Command, error: CommandError) -> bool:
    """A step that names what the error names: No module named 'yaml', pip install pyyaml."""
    said = step.text.lower()
    if error.cure is not None and is_preparation(step, step) and error.cure.search(step.text):
        return True
    ports = table("command_likeness.toml")["ports"]
    for name in error.names:
        last = re.split(r"[/.:]", name.lower())[-1]
        if (len(last) >= 3 and last in said) or not set(ports.get(name, "").split()).isdisjoint(said.split()):
            return is_preparation(step, step) or not is_check(step)
    return False


def is_tellable(text: str) -> bool:
    """Short, printable, and harmless if somebody followed it."""
    is_plain = 0 < len(text) <= MAX_COMMAND_CHARS and text.isprintable() and text.isascii()
    return is_plain and _PATTERNS.untellable.search(text) is None


def is_tellable_path(path: str) -> bool:
    return len(path) <= MAX_COMMAND_CHARS and _PATTERNS.path.fullmatch(path) is not None and is_tellable(path)


def is_workaround(failed: str, fix: str) -> bool:
    """The fix makes the failure go away without mending it: what "works" then is never a lesson."""
    if any(pattern.search(fix) and not pattern.search(failed) for pattern in _workarounds()):
        return True
    one, two = command_of(failed), command_of(fix)
    if one is None or two is None or (one.family, one.verb) != (two.family, two.verb):
        return False
    if failed != fix and undressed_end(failed) == undressed_end(fix):
        return True  # it only shows less
    steps, fewer = ({part for part in c.dress if " " in part and not _PATTERNS.sets_up.match(part)} for c in (one, two))
    gone = [word for word in one.words if word not in two.words]
    added = [word for word in two.words if word not in one.words]
    runs_fewer_tests = one.family in _WORDS.selectable and any(map(_PATTERNS.selects.fullmatch, added))
    return fewer < steps or runs_fewer_tests or any(map(_PATTERNS.strict.fullmatch, gone))


def hides_result(text: str) -> bool:
    """Whether its result is unknown: errors are discarded, or only some lines are shown."""
    return _PATTERNS.unseen.search(text) is not None


def switched_off(file: str, written: str) -> str:
    """What an edit switches off, as far as what is seen of it says: those lines, or the settings of a check."""
    if _PATTERNS.check_settings.search(file):
        return file
    return "\n".join(line for line in written.splitlines() if _PATTERNS.switches_off.search(line))


def _essence(command: Command) -> tuple[str, ...]:
    """What it runs, without options that only change how much it prints."""
    words = (word for word in command.words if not _PATTERNS.says_more.fullmatch(word))
    return command.program, command.verb, *words


def _has_cure(failed: Command, worked: Command, error: CommandError) -> bool:
    """It has what mends this kind of error, and is about the same things."""
    if error.cure is None:
        return False
    lost = [word for word in failed.operands if word not in worked.words and word != SPEECH]
    more = [word for word in worked.operands if word not in failed.words and word != SPEECH]
    if len(lost) != len(more) or any(not error.cure.search(word) or "/" in word for word in more):
        return False
    known = {*failed.dress, *failed.words, failed.program}
    new = [word for word in (*worked.dress, worked.program, *worked.words) if word not in known]
    return error.cure.search(" ".join(new)) is not None


def _has_other_value(one: Command, two: Command) -> bool:
    """Both have an option with different values, so they have different targets. Numbers are only settings."""
    mine, theirs = _option_values(one), _option_values(two)
    differ = [(mine[name], theirs[name]) for name in mine.keys() & theirs.keys() if mine[name] != theirs[name]]
    return any(not (ours.isdigit() and others.isdigit()) for ours, others in differ)


def _option_values(command: Command) -> dict[str, str]:
    found = dict(word.split("=", 1) for word in command.words if word.startswith("-") and "=" in word)
    for option, word in pairwise(command.words):
        if option.startswith("-") and "=" not in option and not word.startswith("-"):
            found[option] = word
    return found


def _are_alike(one: str, two: str) -> bool:
    first, second = (re.split(r"[:_-]", verb)[0] for verb in (one, two))
    groups = table("command_likeness.toml")["alike_verbs"]
    return first == second or is_slip(one, two) or any({first, second} <= set(group.split()) for group in groups)


@cache
def _workarounds() -> tuple[Pattern, ...]:
    read = table("command_likeness.toml")
    return tuple(compiled(source, read["parts"]) for source in read["workarounds"])
