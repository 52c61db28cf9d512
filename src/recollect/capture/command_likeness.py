"""What a command does, and how two commands are related: the same, of one purpose, one a step before the other.

And whether a command may be told at all. A lesson is told to an agent, and what a stranger's text made an agent run
must not come back as advice: no address, nothing that fetches and runs, nothing that destroys.
"""

from __future__ import annotations

import re
from itertools import pairwise

from recollect.capture.command_errors import CommandError, ErrorKind
from recollect.capture.tables import Patterns, Words, table
from recollect.model.command import SPEECH, Command, command_of
from recollect.model.lesson import MAX_COMMAND_CHARS

_REMOTE_GIT = frozenset({"push", "pull", "fetch", "clone", "submodule", "lfs"})
_INLINE_CODE = frozenset({"-c", "-e", "-p", "--eval", "-"})
_PATH = re.compile(r"[\w@.+~-]+(?:/[\w@.+~\[\]()-]+)*")
_SHELL_WORDS = frozenset("for while until if done fi".split())
_INTERPRETERS = frozenset("python node ruby perl bash sh".split())
_PATTERNS = Patterns("command_likeness")
_WORDS = Words("command_likeness")


def only_shows(command: Command) -> bool:
    if command.family in _WORDS.shows or f"{command.family}:{command.verb}" in _WORDS.showing_verbs:
        return True
    if command.text.startswith("command -v"):
        return True
    return command.family in _INTERPRETERS and bool(_INLINE_CODE & {*command.words, command.verb})


def is_one_off(command: Command) -> bool:
    """A folder made, a commit, a loop: it teaches nothing for the next time."""
    if command.family in _SHELL_WORDS:
        return True
    return command.family in _WORDS.for_once or (command.family == "git" and command.verb not in _REMOTE_GIT)


def is_check(command: Command) -> bool:
    """It runs tests, checks or builds: what it prints says how that went."""
    words = f"{command.verb} {' '.join(command.words)}"
    is_reporting = command.family in _WORDS.reporters and _PATTERNS.reporting.search(words) is not None
    return command.family in _WORDS.checkers or is_reporting


def may_change(command: Command) -> bool:
    """Something may be different after it."""
    return not only_shows(command) and command.family not in _WORDS.for_once | {"export", "source"}


def is_same(one: Command, two: Command) -> bool:
    """Apart from how much they print."""
    return one.family == two.family and one.dress == two.dress and _essence(one) == _essence(two)


def is_linter(command: Command) -> bool:
    return _PATTERNS.lints.search(f"{command.program} {command.verb} {' '.join(command.words[:2])}") is not None


def includes(command: Command, other: Command) -> bool:
    """It ends with the other, or has it among its steps."""
    steps = [command, *(step for part in command.dress if (step := command_of(part)))]
    return any(_essence(one) == _essence(other) for one in steps)


def last_step(command: Command) -> str:
    """Without the branch of a git command: a hook that lints looks at every push."""
    if command.family == "git":
        return f"git {command.verb}"
    return command.told.rpartition(" && ")[2].strip()


def mends(failed: Command, worked: Command, error: CommandError) -> bool:
    """The command that worked has the same purpose, in another way."""
    if failed.family != worked.family:
        return False
    if failed.verb == worked.verb and _has_cure(failed, worked, error):
        return True
    if failed.verb != worked.verb:
        # In another folder too: then it was the folder.
        return (
            error.kind is ErrorKind.NO_TARGET and failed.dress == worked.dress and _are_alike(failed.verb, worked.verb)
        )
    if error.kind is ErrorKind.TESTS and set(failed.dress) >= set(worked.dress) and failed.program == worked.program:
        return False  # what it looked at is wrong: no option mends that
    if error.kind is not ErrorKind.NO_FILE and _has_other_value(failed, worked):
        return False
    if error.kind is ErrorKind.NO_FILE and failed.place and worked.place not in ("", failed.place):
        return True
    lost = set(failed.operands) - {*worked.words}
    more = set(worked.operands) - {*failed.words}
    if lost:
        return error.kind is ErrorKind.NO_FILE and _are_moved(lost, more)
    return not more or failed.family in {"git", "docker", "kubectl", "terraform"}


def is_typo(failed: Command, worked: Command, error: CommandError) -> bool:
    """The difference is a slip of the finger."""
    ours = (failed.program, failed.verb, *failed.words)
    theirs = (worked.program, worked.verb, *worked.words)
    if len(ours) != len(theirs) or failed.dress != worked.dress:
        return False
    differ = [(one, two) for one, two in zip(ours, theirs, strict=True) if one != two]
    if failed.program != worked.program and failed.program != failed.family:
        return False  # npm and pnpm differ by a letter, and on purpose
    return error.kind is not ErrorKind.OTHER and len(differ) == 1 and is_slip(*differ[0])


def is_slip(one: str, two: str) -> bool:
    """A letter more, fewer or changed, or letters in another order. Numbers are meant, and so is a longer word."""
    if min(len(one), len(two)) < 3 or one.startswith(two) or two.startswith(one):
        return False
    if re.sub(r"\d", "", one) == re.sub(r"\d", "", two):
        return False
    return sorted(one) == sorted(two) or _edit_distance(one, two) == 1


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
    for name in error.names:
        last = re.split(r"[/.:]", name.lower())[-1]
        if (len(last) >= 3 and last in said) or not _behind_port(name).isdisjoint(said.split()):
            return is_preparation(step, step) or not is_check(step)
    return False


def is_tellable(text: str) -> bool:
    """Short, printable, and harmless if somebody followed it."""
    return (
        0 < len(text) <= MAX_COMMAND_CHARS
        and text.isprintable()
        and text.isascii()
        and _PATTERNS.untellable.search(text) is None
    )


def is_tellable_path(path: str) -> bool:
    return len(path) <= MAX_COMMAND_CHARS and _PATH.fullmatch(path) is not None and is_tellable(path)


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
    mine, theirs = _values(one), _values(two)
    differ = [(mine[name], theirs[name]) for name in mine.keys() & theirs.keys() if mine[name] != theirs[name]]
    return any(not (ours.isdigit() and others.isdigit()) for ours, others in differ)


def _values(command: Command) -> dict[str, str]:
    found = dict(word.split("=", 1) for word in command.words if word.startswith("-") and "=" in word)
    for option, word in pairwise(command.words):
        if option.startswith("-") and "=" not in option and not word.startswith("-"):
            found[option] = word
    return found


def _are_alike(one: str, two: str) -> bool:
    first, second = (re.split(r"[:_-]", verb)[0] for verb in (one, two))
    return first == second or is_slip(one, two) or _have_one_purpose(first, second)


def _have_one_purpose(*verbs: str) -> bool:
    return any(set(verbs) <= set(group.split()) for group in table("command_likeness.toml")["alike_verbs"])


def _behind_port(port: str) -> set[str]:
    return set(table("command_likeness.toml")["ports"].get(port, "").split())


def _are_moved(lost: set[str], more: set[str]) -> bool:
    return {path.rpartition("/")[2] for path in lost} == {path.rpartition("/")[2] for path in more}


def _edit_distance(one: str, two: str) -> int:
    """How many letters were added, left out or changed."""
    row = list(range(len(two) + 1))
    for i, left in enumerate(one[:60], 1):
        row, before = [i], row
        for j, right in enumerate(two[:60], 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right)))
    return row[-1]
