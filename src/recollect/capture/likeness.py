"""How two commands stand to each other: the same, of one purpose, one a step before the other. Tables and words alone.

And whether a command may be told at all. A lesson is told to an agent, and what a stranger's text made an agent run
must not come back as advice: no address, nothing that fetches and runs, nothing that destroys.
"""

from __future__ import annotations

import re
from itertools import pairwise

from recollect.capture.faults import Fault, Sort
from recollect.model.command import SPEECH, Command, command_of
from recollect.model.lesson import MAX_COMMAND_CHARS

# An end other than 0 is an answer, or the command only looks.
_LOOKS = frozenset(
    """[ ag awk cat cmp curl diff du dig echo egrep fd file find grep head host jq kill less ls lsof nc nslookup pgrep
    ping pkill printf ps pwd rg sed sleep stat tail test time tree type wait wc wget which whereis xxd""".split()
)
_FOR_ONCE = frozenset("chmod chown cp ln mkdir mv rm rmdir touch".split())
_LOOKING_VERBS = frozenset(
    """git:diff git:log git:show git:grep git:status git:show-ref git:rev-parse git:ls-files git:branch git:check-ignore
    git:blame git:cat-file docker:ps docker:images docker:logs docker:inspect kubectl:logs js:ls js:view js:outdated
    js:audit pip:show pip:list brew:list systemctl:status systemctl:is-active go:list go:env go:version""".split()
)
_GIT = frozenset({"push", "pull", "fetch", "clone", "submodule", "lfs"})
_ONE_OFF = frozenset({"-c", "-e", "-p", "--eval", "-"})
_REPORTS = frozenset(
    """cargo ctest dotnet eslint go gradle jest js just make mocha mvn mypy nox phpunit pyright pytest python rake rspec
    ruff rubocop swift tox tsc vitest playwright cypress biome""".split()
)
_LINTS = re.compile(r"lint|check|ruff|clippy|vet|mypy|pyright|rubocop|biome|stan|style|standard", re.IGNORECASE)
_REPORTING = re.compile(r"test|check|lint|build|type|spec|verify|e2e|ci$|vet|clippy|compile|manage\.py", re.IGNORECASE)
_SAYS_MORE = re.compile(
    r"-v+|-q+|-x|-s|-l|--verbose|--quiet|--silent|--tb=\S+|--maxfail(?:=\S+)?|--color(?:=\S+)?|--no-color|--stat|--watch=false"
    r"|--watchAll=false|--runInBand|--nocapture|--reporter(?:=\S+)?|--progress(?:=\S+)?|--no-header|-rA|-ra|--"
)
_PREPARES = frozenset(
    """bootstrap ci config create deps enable generate init install link lock login migrate pull restore setup start
    stop sync tidy tools up upgrade update use venv prune down seed codegen proto prepare dependencies""".split()
)
_ALIKE_VERBS = tuple(
    frozenset(group.split())
    for group in (
        "test tests check spec verify",
        "build compile all dist",
        "dev start serve run",
        "lint format fmt style",
    )
)
_UNTELLABLE = re.compile(
    r"`|\$\(|\$\{|<<|://|\[redacted|\[private|\[/?recollect|[<>\\]|\b(?:curl|wget|nc|ncat|eval|base64|ssh|scp|rsync|dd|mkfs|shred|"
    r"xxd|socat|telnet|powershell|iex|osascript)\b|\brm\s+-\w*[rf]|\bchmod\s+(?:-R\s+)?[0-7]*7[0-7]*7|\|\s*(?:ba|z)?sh\b|"
    r"--no-verify|--force\b|reset\s+--hard|--dangerously\S*|drop\s+(?:table|database)|/etc/|\.ssh|\.aws|\.bashrc|\.zshrc",
    re.IGNORECASE,
)
_PATH = re.compile(r"[\w@.+~-]+(?:/[\w@.+~\[\]()-]+)*")


def looks_up(command: Command) -> bool:
    if command.family in _LOOKS or f"{command.family}:{command.verb}" in _LOOKING_VERBS:
        return True
    if command.text.startswith("command -v"):
        return True
    return command.family in {"python", "node", "ruby", "perl", "bash", "sh"} and bool(
        _ONE_OFF & {*command.words, command.verb}
    )


def is_for_once(command: Command) -> bool:
    """A folder made, a commit, a loop: how it is done teaches nothing for the next time."""
    if command.family in {"for", "while", "until", "if", "done", "fi"}:
        return True
    return command.family in _FOR_ONCE or (command.family == "git" and command.verb not in _GIT)


def reports(command: Command) -> bool:
    """It runs tests, checks or builds: what it prints says how that went."""
    if command.family in {"jest", "pytest", "rspec", "mocha", "vitest", "tsc", "eslint", "mypy", "phpunit", "tox"}:
        return True
    return command.family in _REPORTS and _REPORTING.search(f"{command.verb} {' '.join(command.words)}") is not None


def changes(command: Command) -> bool:
    """Something may be otherwise after it."""
    return not looks_up(command) and command.family not in _FOR_ONCE | {"export", "source"}


def same(one: Command, two: Command) -> bool:
    """But for how much they say, and what runs them in the same way."""
    return (
        one.family == two.family
        and one.program == two.program
        and one.verb == two.verb
        and one.dress == two.dress
        and _telling(one) == _telling(two)
    )


def lints(command: Command) -> bool:
    return _LINTS.search(f"{command.program} {command.verb} {' '.join(command.words[:2])}") is not None


def includes(command: Command, other: Command) -> bool:
    """It ends with the other, or has it among its steps."""
    steps = [command, *(step for part in command.dress if (step := command_of(part)))]
    return any((one.program, one.verb, _telling(one)) == (other.program, other.verb, _telling(other)) for one in steps)


def last_step(command: Command) -> str:
    """A branch says nothing: a hook that lints looks at every push."""
    if command.family == "git":
        return f"git {command.verb}"
    return command.told.rpartition(" && ")[2].strip()


def mends(failed: Command, worked: Command, fault: Fault) -> bool:
    """The same purpose, asked for in another way."""
    if failed.family != worked.family:
        return False
    if failed.verb == worked.verb and _is_cured(failed, worked, fault):
        return True
    if failed.verb != worked.verb:
        # In another folder too: then it was the folder.
        return fault.sort is Sort.NO_TARGET and failed.dress == worked.dress and _alike(failed.verb, worked.verb)
    if fault.sort is Sort.TESTS and set(failed.dress) >= set(worked.dress) and failed.program == worked.program:
        return False  # what it looked at is wrong: no option mends that
    if fault.sort is not Sort.NO_FILE and _other_value(failed, worked):
        return False
    if fault.sort is Sort.NO_FILE and failed.place and worked.place not in ("", failed.place):
        return True
    lost = set(failed.operands) - {*worked.words}
    more = set(worked.operands) - {*failed.words}
    if lost:
        return fault.sort is Sort.NO_FILE and _moved(lost, more)
    return not more or failed.family in {"git", "docker", "kubectl", "terraform"}


def mistyped(failed: Command, worked: Command, fault: Fault) -> bool:
    """The difference is a slip of the finger."""
    ours = (failed.program, failed.verb, *failed.words)
    theirs = (worked.program, worked.verb, *worked.words)
    if len(ours) != len(theirs) or failed.dress != worked.dress:
        return False
    differ = [(one, two) for one, two in zip(ours, theirs, strict=True) if one != two]
    if failed.program != worked.program and failed.program != failed.family:
        return False  # npm and pnpm differ by a letter, and on purpose
    return fault.sort is not Sort.OTHER and len(differ) == 1 and slipped(*differ[0])


def slipped(one: str, two: str) -> bool:
    """Two letters, more or fewer or in another order. Figures are meant, and so is what only goes on."""
    if min(len(one), len(two)) < 3 or one.startswith(two) or two.startswith(one):
        return False
    if re.sub(r"\d", "", one) == re.sub(r"\d", "", two):
        return False
    return sorted(one) == sorted(two) or _distance(one, two) == 1


def prepares(step: Command, failed: Command) -> bool:
    """A step of the kind that others wait for: installing, starting, generating."""
    if step.family == "git":
        return failed.family == "git" and step.verb in {"pull", "fetch", "rebase"}
    if step.family == "cd":
        return False
    words = {*step.verb.split(), *re.split(r"[\W_]+", step.verb), *step.operands[:1]}
    return bool(words & _PREPARES) or step.family in {"corepack", "nvm", "direnv"}


def speaks_of(step: Command, fault: Fault) -> bool:
    """A step that names what the error names: No module named 'yaml', pip install pyyaml."""
    said = step.text.lower()
    if fault.cure is not None and prepares(step, step) and fault.cure.search(step.text):
        return True
    for name in fault.names:
        last = re.split(r"[/.:]", name.lower())[-1]
        if (len(last) >= 3 and last in said) or any(word in said.split() for word in _PORTS.get(name, ())):
            return prepares(step, step) or not reports(step)
    return False


_PORTS = {
    "5432": ("db", "postgres", "database", "pg"), "3306": ("db", "mysql", "mariadb", "database"),
    "6379": ("redis", "cache"), "27017": ("mongo", "mongodb", "db"), "9200": ("elasticsearch", "es"),
    "5672": ("rabbitmq", "mq"), "9092": ("kafka",),
}  # fmt: skip


def tellable(text: str) -> bool:
    """Short, in plain sight, and nothing in it that could do harm if it were followed."""
    return (
        0 < len(text) <= MAX_COMMAND_CHARS
        and text.isprintable()
        and text.isascii()
        and _UNTELLABLE.search(text) is None
    )


def tellable_path(path: str) -> bool:
    return len(path) <= MAX_COMMAND_CHARS and _PATH.fullmatch(path) is not None and tellable(path)


def _telling(command: Command) -> tuple[str, ...]:
    return tuple(word for word in command.words if not _SAYS_MORE.fullmatch(word))


def _is_cured(failed: Command, worked: Command, fault: Fault) -> bool:
    """It has what mends this kind of error, and is about the same things."""
    if fault.cure is None:
        return False
    lost = [word for word in failed.operands if word not in worked.words and word != SPEECH]
    more = [word for word in worked.operands if word not in failed.words and word != SPEECH]
    if len(lost) != len(more) or any(not fault.cure.search(word) or "/" in word for word in more):
        return False
    known = {*failed.dress, *failed.words, failed.program}
    new = [word for word in (*worked.dress, worked.program, *worked.words) if word not in known]
    return fault.cure.search(" ".join(new)) is not None


def _other_value(one: Command, two: Command) -> bool:
    """An option that both have names another thing in each: another target. Numbers are settings."""
    mine, theirs = _values(one), _values(two)
    differ = [(mine[name], theirs[name]) for name in mine.keys() & theirs.keys() if mine[name] != theirs[name]]
    return any(not (ours.isdigit() and others.isdigit()) for ours, others in differ)


def _values(command: Command) -> dict[str, str]:
    found = dict(word.split("=", 1) for word in command.words if word.startswith("-") and "=" in word)
    for option, word in pairwise(command.words):
        if option.startswith("-") and "=" not in option and not word.startswith("-"):
            found[option] = word
    return found


def _alike(one: str, two: str) -> bool:
    first, second = (re.split(r"[:_-]", verb)[0] for verb in (one, two))
    return first == second or slipped(one, two) or any(first in group and second in group for group in _ALIKE_VERBS)


def _moved(lost: set[str], more: set[str]) -> bool:
    return {path.rpartition("/")[2] for path in lost} == {path.rpartition("/")[2] for path in more}


def _distance(one: str, two: str) -> int:
    """Letters that were added, left out or changed; by rows."""
    row = list(range(len(two) + 1))
    for i, left in enumerate(one[:60], 1):
        row, before = [i], row
        for j, right in enumerate(two[:60], 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right)))
    return row[-1]
