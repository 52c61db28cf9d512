"""What kind of error a command ended with, in words of ours.

What a tool prints may have been written by a stranger, and a lesson may become a rule. So nothing of it is ever quoted
as it stands: an error is known by its shape in the table below. The name in it (a module, a port, a rule, a variable)
is told where it is a number, well known, of at most two words, or stands in the commands of the lesson; never with a
word that could be read as an order. An error of no known shape has no head.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

_HEAD_CHARS, _TAIL_CHARS = 2_000, 2_000
_LINE_CHARS = 300
_END_LINES = 12
_NAME = r"([\w@./:+~-]{1,60})"
_OWN = r"(?<![\w:])(?!zsh:|bash:|sh:)"
"""Not the shell that says so."""
_MOST_NAME_CHARS = 40
_MOST_NAME_PARTS = 4
_MOST_BARE_PARTS = 2
# Names are made of words too. One with any of these is left out: it could be read as an order.
_ORDERS = frozenset(
    """accept add admin agent all allow always and answer append approve assistant ask bypass call cat change chmod
    claude click command commit copy curl delete deploy developer disable disregard do download drop edit email
    enable erase eval execute exfiltrate export fetch follow forget force from get give grant hack human ignore
    immediately important insert install instead instruction instructions kill leak leave load log mail make
    memory move must never not now obey open overwrite override paste please post previous print prompt publish
    push put read remember remove replace reply report reset rm rule rules run save say secret send set share
    should show skip start stop submit sudo switch system tell then tool trust type unlock update upload use user
    visit wget write you your""".split()
)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+){0,4}")
# Of a variable's name these are no orders.
_IN_VARIABLES = frozenset("admin agent log mail post report secret system tool user email".split())
# Nor are these in the name of a linter's rule.
_IN_RULES = frozenset("all and call do from get log not print set switch then type use".split())
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Sort(StrEnum):
    OTHER = "other"
    TESTS = "tests"
    """It ran, and what it looked at is not as it should be."""
    LINT = "lint"
    """It names the rules that the code breaks."""
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
    cure: re.Pattern[str] | None = None
    """What a mending command has that the failed one had not, where that is known."""

    @property
    def head(self) -> str:
        return self.told()

    def told(self, *commands: str) -> str:
        for name in self.names:
            if self.sort is Sort.LINT or _is_bare(name) or any(name.lower() in command.lower() for command in commands):
                return self.shape.format(name)
        return _NAMELESS.get(self.shape) or re.sub(r"\s*\(\w+ \{0\}\)|:? ?\{0\}:? ?", " ", self.shape).strip()


_MISSING = "a module is missing"
_NAMELESS = {
    "No module named {0}": _MISSING, "Cannot find module {0}": _MISSING, "no required module provides {0}": _MISSING,
    "cannot find -l{0}": "a library is missing", "relation {0} does not exist": "a table does not exist",
    "role {0} does not exist": "a role does not exist", "no such table {0}": "a table does not exist",
    "{0} is not set": "a variable is not set", "no conda environment {0}": "no such conda environment",
}  # fmt: skip
_KNOWN = re.compile(
    r"\d+(?:\.\d+){0,3}|TS\d{3,5}|E\d{4}|(?:Key|Type|Value|Assertion|Attribute|Import|ModuleNotFound|Index|Runtime|Name|Syntax|Reference"
    r"|Range|Operational|Programming|Integrity|Connection|Timeout|FileNotFound|Permission|OS|Unicode|NotImplemented)Error"
    r"|(?:NullPointer|IllegalState|IllegalArgument|ClassNotFound|NoSuchMethod)Exception"
)


_Row = tuple[Sort, str, re.Pattern[str], re.Pattern[str] | None]


def _row(sort: Sort, head: str, pattern: str, cure: str = "") -> _Row:
    how = re.IGNORECASE | re.MULTILINE
    return sort, head, re.compile(pattern, how), re.compile(cure, re.IGNORECASE) if cure else None


_ANY = Sort.OTHER
_VAR = r"((?-i:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+))\b"
_NO_MANIFEST = (
    r"(?:no|not find|not locate|find|open|unable to locate)(?: an?| the| any)? [`'\"./]*(?:/\S{1,80}/)?"
    r"(package\.json|Cargo\.toml|go\.mod|Gemfile|pyproject\.toml|manage\.py|Dockerfile|build\.gradle|docker-compose\.ya?ml)\b"
)
# What a mending command has that the failed one had not.
_ENV = r"conda|mamba|activate|venv|poetry|uv\b|pipenv|pixi"
_PLACE = (
    r"\bup\b|\bstart\b|\brun\b|\d{3,5}|(?:^|\s)(?:-[hpU]|--(?:host|port|user(?:name)?))\b"
    r"|HOST|PORT|URL|PASSWORD|docker|kubectl"
)
_SETS = r"[A-Z]\w*=|\.env\b|dotenv|--env|source |direnv|doppler|\bop run|export "
_VERSION = (
    r"nvm|fnm|volta|mise|asdf|pyenv|rbenv|sdk\b|uv\b|python3?\.\d|\+\w+|TOOLCHAIN|JAVA_HOME|--python|corepack|conda"
)
# The first that fits counts. `{0}` is the name that was found.
_TABLE = (
    _row(Sort.CUT_OFF, "", r"\[Request interrupted by user|Command was aborted|^Interrupted\b|^\^C|KeyboardInterrupt"),
    _row(Sort.CUT_OFF, "", r"Command timed out after|\btimed out after \d+"),
    _row(Sort.SHELL, "", r"^(?:\(eval\)|zsh):\d+: (?:parse error|bad|unmatched|no matches)"),
    _row(Sort.SHELL, "", r"(?:bash|sh|zsh): .*?(?:syntax error|unexpected EOF|unmatched|parse error)|^zsh: no matches"),
    _row(Sort.SHELL, "", r"\bcd: .*(?:No such file|not found)|\bcd: \S+: "),
    _row(Sort.HICCUP, "", r"\b(?:ETIMEDOUT|ECONNRESET|EAI_AGAIN|ENOTFOUND)\b"),
    _row(Sort.HICCUP, "", r"Could not resolve host|Temporary failure in name"),
    _row(Sort.HICCUP, "", r"\b(?:502|503|504) (?:Bad Gateway|Service Unavailable|Gateway Time)|TLS handshake timeout"),
    _row(Sort.HICCUP, "", r"network (?:timeout|is unreachable)|Connection reset by peer|i/o timeout|Read timed out"),
    _row(Sort.NO_TARGET, 'Missing script: {0}', rf"Missing script:? [\"'`]?{_NAME}"),
    _row(Sort.NO_TARGET, 'Missing script: {0}', rf"Command [\"']{_NAME}[\"'] not found"),
    _row(Sort.NO_TARGET, 'Missing script: {0}', rf"Script not found [\"']{_NAME}|find a script named [\"']{_NAME}"),
    _row(Sort.NO_TARGET, "no such service", r"no such service: |No such container: "),
    _row(Sort.NO_TARGET, "No rule to make target {0}", rf"No rule to make target [`'\"]{_NAME}"),
    _row(Sort.NO_TARGET, "no such command", r"unknown (?:sub)?command|no such (?:sub)?command|is not a git command"),
    _row(Sort.NO_TARGET, "no such task", r"Task '?[\w:-]+'? not found|No such task"),
    _row(Sort.NO_FILE, "no {0} here", _NO_MANIFEST),
    _row(Sort.NO_FILE, "no go.mod here", r"cannot find main module|go\.mod file not found"),
    _row(Sort.NO_FILE, "no package.json here", r"NO_IMPORTER_MANIFEST_FOUND"),
    _row(Sort.NO_FILE, "no compose file here", r"no configuration file provided"),
    _row(Sort.NO_FILE, "no Makefile here", r"no makefile found"),
    _row(Sort.NO_FILE, "not a git repository", r"not a git repository"),
    _row(_ANY, "no conda environment {0}", rf"find conda environment: {_NAME}", _ENV),
    _row(_ANY, "no virtual environment", r"No virtual environment found|not in a virtual environment", _ENV),
    _row(Sort.NO_PROGRAM, "{0}: command not found", rf"command not found: {_NAME}|{_OWN}{_NAME}: command not found"),
    _row(Sort.NO_PROGRAM, "{0}: not found", rf"^(?:/bin/)?sh: (?:line )?\d+: {_NAME}: not found"),
    _row(Sort.NO_PROGRAM, "No module named {0}", r"python\d?(?:\.\d+)?: No module named ([\w.]{1,40})"),
    _row(_ANY, "No module named {0}", r"No module named '?([\w.-]{1,60})"),
    _row(_ANY, "Cannot find module {0}", rf"Cannot find (?:module|package) '{_NAME}'"),
    _row(_ANY, "no required module provides {0}", rf"no required module provides package {_NAME}"),
    _row(_ANY, "address already in use", r"EADDRINUSE|address already in use|port is already allocated"),
    _row(_ANY, "Cannot connect to the Docker daemon", r"connect to the Docker daemon"),
    _row(_ANY, "connection refused (port {0})", r"ECONNREFUSED \S{1,40}?:(\d{2,5})\b", _PLACE),
    _row(_ANY, "connection refused (port {0})",
         r":(\d{2,5})\.? {0,2}(?:Connection refused|Is the server running)", _PLACE),
    _row(_ANY, "connection refused (port {0})", r"port (\d{2,5}) failed: Connection refused", _PLACE),
    _row(_ANY, "connection refused (port {0})", r"connections on port (\d{2,5})", _PLACE),
    _row(_ANY, "connection refused (port {0})", r"connect(?:ing)? to (?:Redis at )?[\w.]{1,40}:(\d{2,5})\b", _PLACE),
    _row(_ANY, "connection refused (port {0})", r"dial tcp \S{1,40}:(\d{2,5}): connect", _PLACE),
    _row(_ANY, "connection refused", r"Connection refused|ECONNREFUSED|could not connect to server", _PLACE),
    _row(_ANY, "password authentication failed", r"password authentication failed|Access denied for user", _PLACE),
    _row(_ANY, "multiple head revisions",
         r"Multiple head revisions|multiple heads are present", r"\bheads\b|merge|@head"),
    _row(_ANY, "the database is not up to date",
         r"database is not up to date|unapplied migration", r"upgrade|migrate|stamp"),
    _row(_ANY, "an unknown migration",
         r"Can't locate revision|find(?: the)? migration", r"stamp|upgrade|migrate|heads"),
    _row(_ANY, "{0} is not set", rf"(?:environment|env) variables?:? [\"'`$]?{_VAR}", _SETS),
    _row(_ANY, "{0} is not set",
         rf"[\"'`$]?{_VAR}[\"'`]? (?:environment variable|env var|is not (?:set|defined)|must be set)", _SETS),
    _row(_ANY, "{0} is not set",
         rf"{_VAR}: unbound variable|KeyError: '{_VAR}'|[Mm]issing required \S{{0,20}} ?{_VAR}\b", _SETS),
    _row(_ANY, "requires Python {0}", r"requires a different Python: \S+ not in '[><=~^ ]*(\d\.\d{1,2})", _VERSION),
    _row(_ANY, "requires Python {0}", r"requires python ?'?(?:>=|~=|==|\^)? ?(\d\.\d{1,2})", _VERSION),
    _row(_ANY, "requires Python {0}", r"requires-python.{0,20}(?:>=|==|~=) ?(\d\.\d{1,2})", _VERSION),
    _row(_ANY, "requires go {0}", r"requires go >= (\d\.\d{1,2}(?:\.\d+)?)", _VERSION),
    _row(_ANY, "requires node {0}",
         r"requires (?:a )?node(?:\.js)?(?: version)? ?(?:>=|v|\^)? ?v?(\d{1,2}(?:\.\d+){0,2})", _VERSION),
    _row(_ANY, "requires Ruby {0}", r"Gemfile specified (?:>= ?)?(\d\.\d(?:\.\d)?)", _VERSION),
    _row(_ANY, "requires another Java",
         r"Unsupported class file major version|invalid (?:source|target) release|JAVA_HOME is", _VERSION),
    _row(_ANY, "a stale build",
         r"not found in module '\S{0,200}/(?:dist|build|lib|out)/", r"\bbuild|compile|\btsc\b|prepare"),
    _row(_ANY, "unknown option {0}", r"unknown (?:flag|option|argument):? [`'\"]?(--?\w[\w-]{0,30})"),
    _row(_ANY, "unknown option {0}",
         r"(?:unexpected argument|unrecogni[sz]ed (?:option|arguments?):?) [`'\"]?(--?\w[\w-]{0,30})"),
    _row(_ANY, "no production build", r"Could not find a production build", r"build"),
    _row(_ANY, "no Android SDK location", r"SDK location not found", r"SDK|sdk"),
    _row(_ANY, "no display", r"Missing X server|cannot open display|no display", r"xvfb|DISPLAY|headless"),
    _row(_ANY, "gems are missing", r"in any of the sources|Could not find gem|Bundler::GemNotFound", r"bundle"),
    _row(_ANY, "the login has expired",
         r"ExpiredToken|token (?:has|is) expired|SSO session .{0,40}expired", r"login|refresh"),
    _row(_ANY, "dubious ownership", r"detected dubious ownership", r"safe\.directory"),
    _row(_ANY, "another package manager is set", r"This project is configured to use|defines \"packageManager\""),
    _row(_ANY, "relation {0} does not exist", r"(?:relation|table) [\"']?([\w.]{1,40})[\"']? does not exist"),
    _row(_ANY, "no such table {0}", r"no such table: ([\w.]{1,40})"),
    _row(_ANY, "role {0} does not exist", r"(?:role|database) [\"']?(\w{1,40})[\"']? does not exist"),
    _row(_ANY, "ERESOLVE", r"\bERESOLVE\b"),
    _row(_ANY, "lock file out of date", r"OUTDATED_LOCKFILE|frozen-lockfile|lock ?file .{0,40}out of date"),
    _row(_ANY, "lock file out of date", r"are in sync\b|changed significantly since \S{0,40}lock"),
    _row(_ANY, "workspace: is not supported", r"Unsupported URL Type"),
    _row(_ANY, "unsupported engine", r"Unsupported engine|EBADENGINE|engine \"node\" is incompatible", _VERSION),
    _row(_ANY, "externally managed environment", r"externally-managed-environment"),
    _row(_ANY, "exec format error", r"exec format error"),
    _row(_ANY, "out of memory", r"heap out of memory|Out of memory|Killed: 9|OOMKilled|signal: killed"),
    _row(_ANY, "no space left on device", r"No space left on device|ENOSPC"),
    _row(_ANY, "initialization required", r"initialization required|did not initialize yet|Run .terraform init"),
    _row(_ANY, "no value for a required variable", r"No value for required variable"),
    _row(_ANY, "state is locked",
         r"acquiring the state lock|Could not (?:get|acquire) lock|is locked by another process"),
    _row(_ANY, "database is locked", r"database is locked"),
    _row(_ANY, "no upstream branch", r"has no upstream branch"),
    _row(_ANY, "rejected: fetch first", r"\(fetch first\)|non-fast-forward|Updates were rejected"),
    _row(_ANY, "local changes would be overwritten", r"local changes .{0,60}would be overwritten"),
    _row(_ANY, "not logged in", r"must be logged in|not logged in|ENEEDAUTH|Unauthorized|authentication required"),
    _row(_ANY, "permission denied (publickey)", r"Permission denied \(publickey"),
    _row(_ANY, "permission denied", r"\bEACCES\b|\bEPERM\b|Permission denied|Operation not permitted"),
    _row(_ANY, "requires a newer toolchain", r"requires (?:rustc|go|node|python) ?>?=? ?[\d.]+ or newer", _VERSION),
    _row(_ANY, "build constraints exclude all Go files", r"build constraints exclude all Go files"),
    _row(_ANY, "cannot find -l{0}", r"cannot find -l(\w{1,30})"),
    _row(_ANY, "a build script failed", r"failed to run custom build command for"),
    _row(_ANY, "unresolved import", r"error\[E0432\]|error\[E0433\]"),
    _row(_ANY, "error {0}", r"error (TS\d{3,5})\b"),
    _row(_ANY, "error {0}", r"error\[(E\d{4})\]"),
    _row(_ANY, "a browser is not installed", r"Executable doesn't exist at"),
    _row(_ANY, "image not found", r"failed to solve: .{1,80}: not found|manifest (?:unknown|for .{1,80} not found)"),
    _row(Sort.NO_FILE, "{0}: no such file", rf"no such file or directory: '?{_NAME}|{_OWN}{_NAME}: No such file or"),
    _row(Sort.NO_FILE, "no such file", r"No such file or dir|\bENOENT\b|file or directory not found|FileNotFoundError"),
    _row(Sort.TESTS, "a compile error",
         r"^\S+\.go:\d+:\d+: (?:undefined:|declared and not used|cannot use|missing return|syntax)"),
    _row(Sort.TESTS, "a compile error", r"\(typecheck\)$"),
    _row(_ANY, "String to replace not found", r"String to replace not found"),
    _row(Sort.TESTS, "{0}", r"^E?\s*(?:[\w.]{1,60}\.)?([A-Z]\w{1,40}(?:Error|Exception))\b"),
    _row(Sort.TESTS, "failing tests",
         r"\b[1-9]\d* (?:fail(?:ed|ing|ures?)?)\b|^--- FAIL|^FAILED?\b|^\(fail\)|^not ok \d"),
    _row(_ANY, "{0}", r"\b([A-Z]\w{1,40}(?:Error|Exception)):"),
)  # fmt: skip
_PRINTED = re.compile(
    r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^--- FAIL|^FAIL(?:ED)?\b|^npm ERR!|BUILD FAILED"
    r"|^make(?:\[\d\])?: \*\*\* |\berror TS\d+|^error(?:\[E\d+\])?: |^Traceback \(most recent|ModuleNotFoundError: ",
    re.MULTILINE,
)


# A line of a linter ends, or begins, with the name of the rule.
_LINTED = re.compile(
    r"^\S+\.go:\d+:\d+: .*\((?!typecheck)([a-z][a-z0-9]{2,20})\)$"
    r"|^\d+:\d+\s+error\s.*\s(?:@?[\w-]+/)?([a-z][a-z0-9]*(?:-[a-z0-9]+)+)$"
    r"|^\S+:\d+:\d+:? (?:[\w /]+ )?([A-Z]{1,4}\d{3,4})\b"
    r"|^([A-Z]{1,4}\d{3,4}) (?:\[\*\] )?\S.*\n\s*-->"
    r"|^\S+:\d+: error: .*\[([a-z]+(?:-[a-z]+)*)\]$"
    r"|^\S+:\d+:\d+: [CWEF]: (?:\[\w+\] )?([A-Z]\w{2,20}/[A-Z]\w{2,40}):"
    r"|\b(clippy::[a-z_]{3,40})\b"
    r"|^In \S+ line \d+:\n(?:.*\n){1,2}.*\b(SC\d{4})\b"
    r"|\blint/[a-z]+/([a-zA-Z]{4,40})\b"
    r"|\s(organizeImports|format) \u2501{3}",
    re.MULTILINE,
)
_MOST_RULES = 5


# Both remembered: every look at a session begins some calls back.
@lru_cache(maxsize=512)
def fault_of(output: str) -> Fault:
    text = _lines(output)
    for sort, head, pattern, cure in _TABLE:
        if sort is Sort.TESTS and (rules := _rules(text)):
            return Fault(Sort.LINT, "{0}", rules)
        found = pattern.search(text)
        if found:
            name = next((group for group in found.groups() if group), "")
            return _fault(sort, head, name.rstrip(".:,"), cure)
    return Fault()


def fault_at_the_ends(output: str) -> Fault:
    """By its first lines or its last ones: what stands between may be a log."""
    lines = [line for line in output.splitlines() if line.strip()]
    return fault_of("\n".join(lines if len(lines) <= _END_LINES else [*lines[:2], *lines[-3:]]))


def kind(told: str) -> str:
    """An error as it was told, without its name."""
    for _, head, *_ in _TABLE:
        shape = re.escape(head).replace(r"\{0\}", r"\S+")
        if head != "{0}" and "{0}" in head and re.fullmatch(shape, told):
            return head
    return told


def nameless(told: str) -> str:
    return Fault(shape=kind(told)).told()


def _rules(text: str) -> tuple[str, ...]:
    found = ("".join(groups) for groups in _LINTED.findall(text))
    return tuple(dict.fromkeys(rule for rule in found if _is_name(rule, _IN_RULES)))[:_MOST_RULES]


@lru_cache(maxsize=512)
def printed_failure(output: str) -> bool:
    """It ended well and says that something failed."""
    return _PRINTED.search(_lines(output)) is not None


def _fault(sort: Sort, shape: str, name: str, cure: re.Pattern[str] | None) -> Fault:
    return Fault(sort, shape, (name,) if "{0}" in shape and _is_name(name) else (), cure)


def _is_name(name: str, harmless: frozenset[str] = frozenset()) -> bool:
    parts = _parts(name)
    short = 0 < len(name) <= _MOST_NAME_CHARS and 0 < len(parts) <= _MOST_NAME_PARTS
    orders = _ORDERS - (_IN_VARIABLES if _VARIABLE.fullmatch(name) else harmless)
    return short and "://" not in name and not orders & set(parts)


def _is_bare(name: str) -> bool:
    """Told though no command holds it."""
    if _KNOWN.fullmatch(name) or _VARIABLE.fullmatch(name):
        return True
    return len(_parts(name)) <= _MOST_BARE_PARTS


def _parts(name: str) -> list[str]:
    return [part.lower() for part in re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name) if part]


def _lines(text: str) -> str:
    """Its first and last lines, none of them long."""
    if len(text) > _HEAD_CHARS + _TAIL_CHARS:
        text = f"{text[:_HEAD_CHARS]}\n{text[-_TAIL_CHARS:]}"
    return "\n".join(line[:_LINE_CHARS].strip() for line in _ANSI.sub("", text).splitlines())
