"""What kind of error a command ended with, in words of ours.

What a tool prints may have been written by a stranger, and a lesson may become a rule. So nothing of it is ever quoted
as it stands: an error is known by its shape in the table below. The name in it (a module, a script) is told only where
the commands of the lesson hold it too; a number (a port) always. An error of no known shape has no head.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

_HEAD_CHARS, _TAIL_CHARS = 2_000, 2_000
_LINE_CHARS = 300
_NAME = r"([\w@./:+~-]{1,60})"
_MOST_NAME_CHARS = 40
_MOST_NAME_PARTS = 4
# Names are made of words too. One with any of these is left out: it could be read as an order.
_ORDERS = frozenset(
    """admin agent all always and approve assistant bypass claude command curl delete deploy developer disable
    disregard do execute exfiltrate follow forget from grant human ignore immediately important instruction
    instructions memory must never now obey override please previous prompt remember rule rules run secret send should
    sudo system then tool trust user wget you your""".split()
)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Sort(StrEnum):
    OTHER = "other"
    TESTS = "tests"
    """It ran, and what it looked at is not as it should be."""
    HICCUP = "hiccup"
    """The network, or time: the same may work a moment later."""
    NO_PROGRAM = "no program"
    NO_TARGET = "no target"
    """No such script, target, command."""
    NO_FILE = "no file"
    SHELL = "shell"
    """The line itself was wrong."""
    CUT_OFF = "cut off"
    """A person or a limit ended it."""


@dataclass(frozen=True, slots=True)
class Fault:
    sort: Sort = Sort.OTHER
    shape: str = ""
    """`{0}` is where its name stands."""
    names: tuple[str, ...] = ()
    """Short names out of the error: what a mending step may speak of."""

    @property
    def head(self) -> str:
        return self.told()

    def told(self, *commands: str) -> str:
        """With its name where that is a number, a known error, or stands in one of the commands."""
        for name in self.names:
            if _KNOWN.fullmatch(name) or any(name.lower() in command.lower() for command in commands):
                return self.shape.format(name)
        return _NAMELESS.get(self.shape) or re.sub(r"\s*\(\w+ \{0\}\)|:? ?\{0\}:? ?", " ", self.shape).strip()


_MISSING = "a module is missing"
_NAMELESS = {
    "No module named {0}": _MISSING, "Cannot find module {0}": _MISSING, "no required module provides {0}": _MISSING,
    "cannot find -l{0}": "a library is missing", "relation {0} does not exist": "a table does not exist",
    "role {0} does not exist": "a role does not exist", "no such table {0}": "a table does not exist",
}  # fmt: skip
_KNOWN = re.compile(
    r"\d+|TS\d{3,5}|E\d{4}|(?:Key|Type|Value|Assertion|Attribute|Import|ModuleNotFound|Index|Runtime|Name|Syntax|Reference"
    r"|Range|Operational|Programming|Integrity|Connection|Timeout|FileNotFound|Permission|OS|Unicode|NotImplemented)Error"
    r"|(?:NullPointer|IllegalState|IllegalArgument|ClassNotFound|NoSuchMethod)Exception"
)


def _row(sort: Sort, head: str, pattern: str) -> tuple[Sort, str, re.Pattern[str]]:
    return sort, head, re.compile(pattern, re.IGNORECASE | re.MULTILINE)


_ANY = Sort.OTHER
# The first that fits counts. `{0}` is the name that was found.
_TABLE = (
    _row(Sort.CUT_OFF, "", r"\[Request interrupted by user|Command was aborted|^Interrupted\b|^\^C|KeyboardInterrupt"),
    _row(Sort.CUT_OFF, "", r"Command timed out after|\btimed out after \d+"),
    _row(Sort.SHELL, "", r"(?:bash|sh|zsh): .*?(?:syntax error|unexpected EOF|unmatched|parse error)|^zsh: no matches"),
    _row(Sort.SHELL, "", r"\bcd: .*(?:No such file|not found)|\bcd: \S+: "),
    _row(Sort.HICCUP, "", r"\b(?:ETIMEDOUT|ECONNRESET|EAI_AGAIN|ENOTFOUND)\b"),
    _row(Sort.HICCUP, "", r"Could not resolve host|Temporary failure in name"),
    _row(Sort.HICCUP, "", r"\b(?:502|503|504) (?:Bad Gateway|Service Unavailable|Gateway Time)|TLS handshake timeout"),
    _row(Sort.HICCUP, "", r"network (?:timeout|is unreachable)|Connection reset by peer|i/o timeout|Read timed out"),
    _row(Sort.NO_TARGET, 'Missing script: {0}', rf"Missing script:? [\"'`]?{_NAME}"),
    _row(Sort.NO_TARGET, 'Missing script: {0}', rf"Command [\"']{_NAME}[\"'] not found"),
    _row(Sort.NO_TARGET, "No rule to make target {0}", rf"No rule to make target [`'\"]{_NAME}"),
    _row(Sort.NO_TARGET, "no such command", r"unknown (?:sub)?command|no such (?:sub)?command|is not a git command"),
    _row(Sort.NO_TARGET, "no such task", r"Task '?[\w:-]+'? not found|No such task"),
    _row(Sort.NO_PROGRAM, "{0}: command not found", rf"{_NAME}: command not found|command not found: {_NAME}"),
    _row(Sort.NO_PROGRAM, "{0}: not found", rf"^(?:/bin/)?sh: (?:line )?\d+: {_NAME}: not found"),
    _row(Sort.NO_PROGRAM, "No module named {0}", r"python\d?(?:\.\d+)?: No module named ([\w.]{1,40})"),
    _row(_ANY, "No module named {0}", r"No module named '?([\w.-]{1,60})"),
    _row(_ANY, "Cannot find module {0}", rf"Cannot find (?:module|package) '{_NAME}'"),
    _row(_ANY, "no required module provides {0}", rf"no required module provides package {_NAME}"),
    _row(_ANY, "address already in use", r"EADDRINUSE|address already in use|port is already allocated"),
    _row(_ANY, "Cannot connect to the Docker daemon", r"connect to the Docker daemon"),
    _row(_ANY, "connection refused (port {0})", r"ECONNREFUSED \S{1,40}?:(\d{2,5})\b"),
    _row(_ANY, "connection refused (port {0})", r":(\d{2,5})\. Connection refused"),
    _row(_ANY, "connection refused (port {0})", r"port (\d{2,5}) failed: Connection refused"),
    _row(_ANY, "connection refused", r"Connection refused|ECONNREFUSED"),
    _row(_ANY, "relation {0} does not exist", r"(?:relation|table) [\"']?([\w.]{1,40})[\"']? does not exist"),
    _row(_ANY, "no such table {0}", r"no such table: ([\w.]{1,40})"),
    _row(_ANY, "role {0} does not exist", r"(?:role|database) [\"']?(\w{1,40})[\"']? does not exist"),
    _row(_ANY, "ERESOLVE", r"\bERESOLVE\b"),
    _row(_ANY, "lock file out of date", r"OUTDATED_LOCKFILE|frozen-lockfile|lock ?file .{0,40}out of date"),
    _row(_ANY, "lock file out of date", r"are in sync\b|changed significantly since \S{0,40}lock"),
    _row(_ANY, "workspace: is not supported", r"Unsupported URL Type"),
    _row(_ANY, "unsupported engine", r"Unsupported engine|EBADENGINE|The engine \"node\" is incompatible"),
    _row(_ANY, "externally managed environment", r"externally-managed-environment"),
    _row(_ANY, "exec format error", r"exec format error"),
    _row(_ANY, "out of memory", r"heap out of memory|Out of memory|Killed: 9|OOMKilled|signal: killed"),
    _row(_ANY, "no space left on device", r"No space left on device|ENOSPC"),
    _row(_ANY, "initialization required", r"initialization required|did not initialize yet|Run .terraform init"),
    _row(_ANY, "no value for a required variable", r"No value for required variable"),
    _row(_ANY, "state is locked", r"Error acquiring the state lock|Could not get lock|is locked by another process"),
    _row(_ANY, "no upstream branch", r"has no upstream branch"),
    _row(_ANY, "rejected: fetch first", r"\(fetch first\)|non-fast-forward|Updates were rejected"),
    _row(_ANY, "local changes would be overwritten", r"local changes .{0,60}would be overwritten"),
    _row(_ANY, "not logged in", r"must be logged in|not logged in|ENEEDAUTH|Unauthorized|authentication required"),
    _row(_ANY, "permission denied (publickey)", r"Permission denied \(publickey"),
    _row(_ANY, "permission denied", r"\bEACCES\b|Permission denied|permission denied"),
    _row(_ANY, "requires a newer toolchain", r"requires (?:rustc|go|node|python) ?>?=? ?[\d.]+ or newer"),
    _row(_ANY, "build constraints exclude all Go files", r"build constraints exclude all Go files"),
    _row(_ANY, "cannot find -l{0}", r"cannot find -l(\w{1,30})"),
    _row(_ANY, "a build script failed", r"failed to run custom build command for"),
    _row(_ANY, "unresolved import", r"error\[E0432\]|error\[E0433\]"),
    _row(_ANY, "error {0}", r"error (TS\d{3,5})\b"),
    _row(_ANY, "error {0}", r"error\[(E\d{4})\]"),
    _row(_ANY, "a browser is not installed", r"Executable doesn't exist at"),
    _row(_ANY, "image not found", r"failed to solve: .{1,80}: not found|manifest (?:unknown|for .{1,80} not found)"),
    _row(Sort.NO_FILE, "{0}: no such file", rf"{_NAME}: No such file or|no such file or directory:? '?{_NAME}"),
    _row(Sort.NO_FILE, "no such file", r"No such file or dir|\bENOENT\b|file or directory not found|FileNotFoundError"),
    _row(_ANY, "String to replace not found", r"String to replace not found"),
    _row(Sort.TESTS, "{0}", r"^E?\s*(?:[\w.]{1,60}\.)?([A-Z]\w{1,40}(?:Error|Exception))\b"),
    _row(Sort.TESTS, "failing tests", r"\b[1-9]\d* (?:failed|failing|failures?)\b|^--- FAIL|^FAILED?\b|^not ok \d"),
    _row(_ANY, "{0}", r"\b([A-Z]\w{1,40}(?:Error|Exception)):"),
)  # fmt: skip
_PRINTED = re.compile(
    r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^--- FAIL|^FAIL(?:ED)?\b|^npm ERR!|BUILD FAILED"
    r"|^make(?:\[\d\])?: \*\*\* |\berror TS\d+|^error(?:\[E\d+\])?: |^Traceback \(most recent|ModuleNotFoundError: ",
    re.MULTILINE,
)


# Both remembered: every look at a session begins some calls back.
@lru_cache(maxsize=512)
def fault_of(output: str) -> Fault:
    text = _lines(output)
    for sort, head, pattern in _TABLE:
        found = pattern.search(text)
        if found:
            name = next((group for group in found.groups() if group), "")
            return _fault(sort, head, name.rstrip(".:,"))
    return Fault()


@lru_cache(maxsize=512)
def printed_failure(output: str) -> bool:
    """It ended well and says that something failed."""
    return _PRINTED.search(_lines(output)) is not None


def _fault(sort: Sort, shape: str, name: str) -> Fault:
    return Fault(sort, shape, (name,) if "{0}" in shape and _is_name(name) else ())


def _is_name(name: str) -> bool:
    parts = [part.lower() for part in re.split(r"[\W_]+", name) if part]
    short = 0 < len(name) <= _MOST_NAME_CHARS and 0 < len(parts) <= _MOST_NAME_PARTS
    return short and "://" not in name and not _ORDERS & set(parts)


def _lines(text: str) -> str:
    """Its first and last lines, none of them long."""
    if len(text) > _HEAD_CHARS + _TAIL_CHARS:
        text = f"{text[:_HEAD_CHARS]}\n{text[-_TAIL_CHARS:]}"
    return "\n".join(line[:_LINE_CHARS].strip() for line in _ANSI.sub("", text).splitlines())
