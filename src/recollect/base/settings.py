"""The settings: the table of them (settings.json) and how they stand now.

A row of the table is a `Setting`: name, default, range, the reason for the default, and what others may do to it. Four
layers, each over the one before: the default, the user's `agent.conf`, the project's, the environment. A stranger may
have written what lies in a project's tree and what reaches a hook's environment: these may only narrow (switch off,
lower a budget). `load` never raises; it reports what it could not take, with file and line, and the layer below stands.

The only place beside paths.py that sees the environment. Does not act on any setting.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, assert_never

from recollect.base.files import read_limited
from recollect.base.shipped import load_table
from recollect.base.text import clip, storable

Kind = Literal["switch", "count", "figure", "choice", "text", "schedule", "pair"]
Narrow = Literal["off_only", "lower_only", "never"]  # what a project's file and a hook's environment may do


class Setting(NamedTuple):
    name: str
    default: str
    kind: Kind
    narrow: Narrow
    reason: str
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()
    stays_here: bool = False  # a value that sends text to another machine is taken from the user's own file alone


SETTINGS: tuple[Setting, ...] = tuple(
    Setting(**{**row, "choices": tuple(row.get("choices", ()))})
    for row in load_table("recollect.base", "settings.json")
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}
PREFIX = "MEMORY_"
DEFAULT = "default"
ENVIRONMENT = "environment"
_MAX_CONF_BYTES = 65_536
_MAX_VALUE_CHARS = 1_000
_MAX_PROBLEMS_PER_FILE = 20
_MAX_SHOWN_CHARS = 80


class Value(NamedTuple):
    """A setting as it stands: `source` is `default`, `environment` or `path:line`."""

    name: str
    value: str
    source: str
    reason: str


class Problem(NamedTuple):
    """A value that could not be taken. `line` is 0 where there is none; `used` is what stands instead."""

    source: str
    line: int
    key: str
    value: str
    wrong: str
    used: str

    def __str__(self) -> str:
        where = f"{self.source}:{self.line}" if self.line else self.source
        what = f"{self.key}={self.value}: " if self.value else f"{self.key}: " if self.key else ""
        used = f" Using {self.used}." if self.used else ""
        return f"{where}: {what}{self.wrong}.{used}"


class Settings(NamedTuple):
    values: tuple[Value, ...]
    problems: tuple[Problem, ...] = ()

    def switch(self, name: str) -> bool:
        return self._canonical(name, "switch") == "on"

    def count(self, name: str) -> int:
        return int(self._canonical(name, "count"))

    def figure(self, name: str) -> float:
        return float(self._canonical(name, "figure"))

    def text(self, name: str) -> str:
        """Any setting as it is written; for texts and choices the only way."""
        return self._canonical(name, None)

    def schedule(self, name: str) -> tuple[int, int]:
        """Offset and cycle."""
        offset, cycle = self._canonical(name, "schedule").split("/")
        return int(offset), int(cycle)

    def pair(self, name: str) -> tuple[str, str]:
        first, second = self._canonical(name, "pair").split("/")
        return first, second

    def _canonical(self, name: str, kind: Kind | None) -> str:
        if kind is not None and _BY_NAME[name].kind != kind:
            raise TypeError(f"{name} is a {_BY_NAME[name].kind}, not a {kind}")
        return next(value.value for value in self.values if value.name == name)


def environment() -> dict[str, str]:
    """A copy of the whole environment, for everyone else: nobody else looks at it."""
    return dict(os.environ)


def load(
    home_conf: Path | None, project_conf: Path | None, environ: Mapping[str, str], *, hook: bool = False
) -> Settings:
    """The settings as they stand. With `hook` the environment came through an agent: it may only narrow."""
    layers = _Layers()
    for conf, narrow_only in ((home_conf, False), (project_conf, True)):
        if conf is not None:
            layers.add_file(conf, narrow_only=narrow_only)
    layers.add_environment(environ, narrow_only=hook)
    return layers.settings()


class _Line(NamedTuple):
    number: int
    key: str
    # None where the line could not be read; `key` then holds the line.
    value: str | None
    wrong: str = ""


class _Layers:
    def __init__(self) -> None:
        self._current = {setting.name: (setting.default, DEFAULT) for setting in SETTINGS}
        self._problems: list[Problem] = []

    def settings(self) -> Settings:
        values = (Value(s.name, *self._current[s.name], s.reason) for s in SETTINGS)
        return Settings(tuple(values), tuple(self._problems))

    def add_file(self, path: Path, *, narrow_only: bool) -> None:
        try:
            # The user's own file may be a link into a dotfiles folder; a stranger's link may lead anywhere.
            content = read_limited(path, _MAX_CONF_BYTES, follow=not narrow_only)
            text = content.decode("utf-8-sig")
            if "\x00" in text:
                raise ValueError("not a text file")
            lines = tuple(_parse_lines(text))
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            why = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else why
            self._report(str(path), 0, "", "", f"cannot be read ({why or error})", "nothing of it")
            return
        before = len(self._problems)
        last = {line.key: line.number for line in lines if line.value is not None}
        for line in lines:
            if line.value is None:
                self._report(str(path), line.number, line.key, "", line.wrong, "")
            elif last[line.key] != line.number:
                again = f"line {last[line.key]}"
                self._report(str(path), line.number, line.key, line.value, f"set again on {again}", again)
            else:
                self._set(line.key, line.value, str(path), line.number, narrow_only=narrow_only)
        over = len(self._problems) - before - _MAX_PROBLEMS_PER_FILE
        if over > 0:
            del self._problems[-over:]
            self._report(str(path), 0, "", "", f"{over} more lines could not be taken", "")

    def add_environment(self, environ: Mapping[str, str], *, narrow_only: bool) -> None:
        for key in sorted(environ):
            if not key.startswith(PREFIX) or not environ[key]:
                continue
            # Other programs have such names too: an unknown one is reported only if it is nearly ours.
            if key in _BY_NAME or _nearest_name(key):
                self._set(key, environ[key], ENVIRONMENT, 0, narrow_only=narrow_only)

    def _set(self, key: str, text: str, source: str, line: int, *, narrow_only: bool) -> None:
        setting = _BY_NAME.get(key)
        if setting is None:
            near = _nearest_name(key)
            wrong = f"unknown setting (did you mean {near}?)" if near else "unknown setting"
            self._report(source, line, key, text, wrong, "")
            return
        current = self._current[key][0]
        value = canonical(setting, text)
        if value is None:
            self._report(source, line, key, text, f"must be {expected(setting)}", current)
        elif setting.stays_here and source == ENVIRONMENT and leaves_machine(value):
            self._report(source, line, key, text, "only your own agent.conf may name another machine", current)
        elif narrow_only and value != current and not _narrows(setting, current, value):
            whose = "a hook's environment" if source == ENVIRONMENT else "a project"
            self._report(source, line, key, text, f"{whose} {_ALLOWED[setting.narrow]}", current)
        elif not narrow_only or value != current:
            self._current[key] = (value, f"{source}:{line}" if line else source)

    def _report(self, source: str, line: int, key: str, value: str, wrong: str, used: str) -> None:
        key, value = (storable(clip(text, _MAX_SHOWN_CHARS)) for text in (key, value))
        self._problems.append(Problem(storable(source), line, key, value, wrong, used))


_ALLOWED: dict[Narrow, str] = {
    "off_only": "may switch this off, never on",
    "lower_only": "may lower this, never raise it",
    "never": "may not set this",
}


def _narrows(setting: Setting, current: str, value: str) -> bool:
    is_off = setting.narrow == "off_only" and value == "off"
    return is_off or (setting.narrow == "lower_only" and float(value) <= float(current))


_ON = frozenset({"on", "true", "yes", "1"})
_OFF = frozenset({"off", "false", "no", "0"})
# Patterns stay text until used: compiling them all would double the time to load this file.
# ASCII digits alone, and few: Python's own int and float take much more.
_WHOLE = r"\+?[0-9]{1,15}"
_DECIMAL = r"\+?([0-9]{1,15}(\.[0-9]{0,15})?|\.[0-9]{1,15})"
_SCHEDULE = r"([0-9]{1,6})/([0-9]{1,6})"
# A prompt's name becomes a file's: no slash, no leading dot.
_PAIR = r"[A-Za-z0-9][A-Za-z0-9._:@-]*/[A-Za-z0-9][A-Za-z0-9._:@-]*"
_UNPRINTABLE = "[\x00-\x1f\x7f-\x9f\ud800-\udfff]"


def canonical(setting: Setting, text: str) -> str | None:
    """The one way to write this value, or None if the setting cannot take it."""
    text = text.strip()
    if not text or len(text) > _MAX_VALUE_CHARS:
        return None
    match setting.kind:
        case "switch":
            lowered = text.lower()
            return "on" if lowered in _ON else "off" if lowered in _OFF else None
        case "count":
            is_fit = re.fullmatch(_WHOLE, text) and setting.low <= int(text) <= setting.high
            return str(int(text)) if is_fit else None
        case "figure":
            if text.lower() in setting.choices:  # off: the least there is
                return f"{setting.low:g}"
            is_fit = re.fullmatch(_DECIMAL, text) and setting.low <= float(text) <= setting.high
            return repr(float(text)).removesuffix(".0") if is_fit else None
        case "choice":
            return text.lower() if text.lower() in setting.choices else None
        case "text":
            return None if re.search(_UNPRINTABLE, text) else text
        case "schedule":
            found = re.fullmatch(_SCHEDULE, text)
            return f"{int(found[1])}/{int(found[2])}" if found and int(found[1]) < int(found[2]) else None
        case "pair":
            return text if re.fullmatch(_PAIR, text) else None
        case _:
            assert_never(setting.kind)


_EXPECTED: dict[Kind, str] = {
    "switch": "on or off",
    "count": "a whole number from {low:.0f} to {high:.0f}",
    "figure": "a number from {low:g} to {high:.0f}",
    "choice": "",
    "text": f"one line of at most {_MAX_VALUE_CHARS} characters",
    "schedule": "offset/cycle, the offset below the cycle",
    "pair": "two names, first/second",
}


def expected(setting: Setting) -> str:
    """In words, what the setting takes."""
    words = _EXPECTED[setting.kind].format(low=setting.low, high=setting.high)
    return " or ".join(filter(None, (words, *setting.choices)))


_ASSIGNMENT = r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)"
# A look back instead of `\s+`, which is quadratic in a long run of spaces.
_COMMENT = r"(?:^|(?<=\s))#.*"
_QUOTED = r"""(["'])(.*?)\1\s*(?:#.*)?"""


def _parse_lines(text: str) -> Iterator[_Line]:
    for number, raw in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        found = re.fullmatch(_ASSIGNMENT, line)
        if found is None:
            yield _Line(number, line, None, "not a line of the form KEY=value")
            continue
        key, value = found[1], found[2]
        if value[:1] in {'"', "'"}:
            quoted = re.fullmatch(_QUOTED, value)
            if quoted is None:
                yield _Line(number, key, None, "a quotation mark that does not close, or text after it")
                continue
            yield _Line(number, key, quoted[2])
        else:
            yield _Line(number, key, re.sub(_COMMENT, "", value).rstrip())


def _nearest_name(key: str) -> str:
    """The setting that was probably meant, or nothing."""
    # Loaded only when somebody mistyped.
    import difflib

    # Without the prefix they share, or MEMORY_LIMIT of some other program looks like MEMORY_LLM.
    tails = [name.removeprefix(PREFIX) for name in _BY_NAME]
    found = difflib.get_close_matches(key.upper().removeprefix(PREFIX), tails, n=1, cutoff=0.75)
    return PREFIX + found[0] if found else ""


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    import ipaddress  # no other command needs it

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def leaves_machine(value: str) -> bool:
    """Whether it is a URL of another machine, or one that cannot be read."""
    if "://" not in value:
        return False
    from urllib.parse import urlsplit

    try:
        return not is_loopback(urlsplit(value).hostname or "")
    except ValueError:
        return True
