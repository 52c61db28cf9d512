"""The settings as they stand. The table of them is setting.py's.

Four layers, each over the one before: the default, the user's `agent.conf`, the project's, the
environment. What lies in a project's tree, and what reaches a hook's environment, may be a
stranger's: they may only narrow (switch off, lower a budget). `load` never raises; what it could
not take it reports, with file and line, and the layer below stands.

The only place beside paths.py that sees the environment. Does not act on any setting.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, assert_never

from recollect.base.files import read_limited
from recollect.base.setting import SETTINGS, Kind, Narrow, Setting, leaves_here
from recollect.base.text import clip, storable

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
    """What could not be taken. `line` is 0 where there is none; `used` is what stands instead."""

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


_BY_NAME = {setting.name: setting for setting in SETTINGS}


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
    """A copy of the whole environment: what everyone else is handed instead of looking for themselves."""
    return dict(os.environ)


def load(
    home_conf: Path | None,
    project_conf: Path | None,
    environ: Mapping[str, str],
    *,
    hook: bool = False,
) -> Settings:
    """The settings as they stand. With `hook` the environment came through an agent: it may only narrow."""
    sheet = _Sheet()
    if home_conf is not None:
        sheet.take_file(home_conf, narrow_only=False)
    if project_conf is not None:
        sheet.take_file(project_conf, narrow_only=True)
    sheet.take_environment(environ, narrow_only=hook)
    return sheet.settings()


class _Line(NamedTuple):
    number: int
    key: str
    # None where the line could not be read; `key` then holds the line.
    value: str | None
    wrong: str = ""


class _Sheet:
    """The layers being laid over each other."""

    def __init__(self) -> None:
        self._standing = {setting.name: (setting.default, DEFAULT) for setting in SETTINGS}
        self._problems: list[Problem] = []

    def settings(self) -> Settings:
        values = (Value(s.name, *self._standing[s.name], s.reason) for s in SETTINGS)
        return Settings(tuple(values), tuple(self._problems))

    def take_file(self, path: Path, *, narrow_only: bool) -> None:
        try:
            # The user's own file may be a link into a dotfiles folder; a stranger's link may lead anywhere.
            content = read_limited(path, _MAX_CONF_BYTES, follow=not narrow_only)
            lines = tuple(_lines(_decoded(content)))
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
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
                self._take(line.key, line.value, str(path), line.number, narrow_only=narrow_only)
        self._shorten(before, str(path))

    def take_environment(self, environ: Mapping[str, str], *, narrow_only: bool) -> None:
        for key in sorted(environ):
            if not key.startswith(PREFIX) or not environ[key]:
                continue
            # Other programs have such names too: an unknown one is reported only if it is nearly ours.
            if key in _BY_NAME or _near(key):
                self._take(key, environ[key], ENVIRONMENT, 0, narrow_only=narrow_only)

    def _take(self, key: str, text: str, source: str, line: int, *, narrow_only: bool) -> None:
        setting = _BY_NAME.get(key)
        if setting is None:
            near = _near(key)
            wrong = f"unknown setting (did you mean {near}?)" if near else "unknown setting"
            self._report(source, line, key, text, wrong, "")
            return
        standing = self._standing[key][0]
        value = canonical(setting, text)
        if value is None:
            self._report(source, line, key, text, f"must be {expected(setting)}", standing)
        elif setting.stays_here and source == ENVIRONMENT and leaves_here(value):
            self._report(source, line, key, text, "only your own agent.conf may name another machine", standing)
        elif narrow_only and value != standing and not _narrows(setting, standing, value):
            self._report(source, line, key, text, f"{_whose(source)} {_ALLOWED[setting.narrow]}", standing)
        elif not narrow_only or value != standing:
            self._standing[key] = (value, f"{source}:{line}" if line else source)

    def _report(self, source: str, line: int, key: str, value: str, wrong: str, used: str) -> None:
        self._problems.append(Problem(storable(source), line, _shown(key), _shown(value), wrong, used))

    def _shorten(self, before: int, source: str) -> None:
        over = len(self._problems) - before - _MAX_PROBLEMS_PER_FILE
        if over > 0:
            del self._problems[-over:]
            self._report(source, 0, "", "", f"{over} more lines could not be taken", "")


def _shown(text: str) -> str:
    return storable(clip(text, _MAX_SHOWN_CHARS))


_ALLOWED: dict[Narrow, str] = {
    "off_only": "may switch this off, never on",
    "lower_only": "may lower this, never raise it",
    "never": "may not set this",
}


def _whose(source: str) -> str:
    return "a hook's environment" if source == ENVIRONMENT else "a project"


def _narrows(setting: Setting, standing: str, value: str) -> bool:
    match setting.narrow:
        case "off_only":
            return value == "off"
        case "lower_only":
            return float(value) <= float(standing)
        case "never":
            return False
        case _:
            assert_never(setting.narrow)


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
            if not re.fullmatch(_WHOLE, text) or not setting.low <= int(text) <= setting.high:
                return None
            return str(int(text))
        case "figure":
            if text.lower() in setting.choices:  # off: the least there is
                return f"{setting.low:g}"
            if not re.fullmatch(_DECIMAL, text) or not setting.low <= float(text) <= setting.high:
                return None
            return repr(float(text)).removesuffix(".0")
        case "choice":
            return text.lower() if text.lower() in setting.choices else None
        case "text":
            return None if re.search(_UNPRINTABLE, text) else text
        case "schedule":
            found = re.fullmatch(_SCHEDULE, text)
            if found is None or int(found[1]) >= int(found[2]):
                return None
            return f"{int(found[1])}/{int(found[2])}"
        case "pair":
            return text if re.fullmatch(_PAIR, text) else None
        case _:
            assert_never(setting.kind)


def expected(setting: Setting) -> str:
    """In words, what the setting takes."""
    match setting.kind:
        case "switch":
            return "on or off"
        case "count":
            return f"a whole number from {setting.low:.0f} to {setting.high:.0f}"
        case "figure":
            return " or ".join([f"a number from {setting.low:g} to {setting.high:.0f}", *setting.choices])
        case "choice":
            return " or ".join(setting.choices)
        case "text":
            return f"one line of at most {_MAX_VALUE_CHARS} characters"
        case "schedule":
            return "offset/cycle, the offset below the cycle"
        case "pair":
            return "two names, first/second"
        case _:
            assert_never(setting.kind)


def _decoded(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("not UTF-8 text") from None
    if "\x00" in text:
        raise ValueError("not a text file")
    return text


_ASSIGNMENT = r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)"
# A look back instead of `\s+`, which is quadratic in a long run of spaces.
_COMMENT = r"(?:^|(?<=\s))#.*"
_QUOTED = r"""(["'])(.*?)\1\s*(?:#.*)?"""


def _lines(text: str) -> Iterator[_Line]:
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


def _near(key: str) -> str:
    """The setting that was probably meant, or nothing."""
    # Loaded only when somebody mistyped.
    import difflib

    # Without the prefix they share, or MEMORY_LIMIT of some other program looks like MEMORY_LLM.
    tails = [name.removeprefix(PREFIX) for name in _BY_NAME]
    found = difflib.get_close_matches(key.upper().removeprefix(PREFIX), tails, n=1, cutoff=0.75)
    return PREFIX + found[0] if found else ""
