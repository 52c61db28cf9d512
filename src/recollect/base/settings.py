"""The settings: the table of them (settings.json) and their current values.

Four layers, each over the one before: the default, the user's `agent.conf`, the project's, the environment. A stranger
may have written what lies in a project's tree and what reaches a hook's environment: these may only narrow (switch off,
lower a budget). `load` never raises; it reports what it could not use, with file and line, and the layer below stands.
The only place beside paths.py that sees the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from recollect.base.files import read_limited
from recollect.base.shipped import load_table
from recollect.base.text import clip, storable

Kind = Literal["switch", "count", "figure", "choice", "text", "schedule", "pair"]
Narrow = Literal[
    "off_only", "lower_only", "never"
]  # what a project's file and a hook's environment may do


class Setting(NamedTuple):
    name: str
    default: str
    kind: Kind
    narrow: Narrow
    reason: str
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()
    stays_here: bool = (
        False  # a value that sends text to another machine is read from the user's own file alone
    )


SETTINGS: tuple[Setting, ...] = tuple(
    Setting(**{**row, "choices": tuple(row.get("choices", ()))})
    for row in load_table("recollect.base", "settings.json")
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}
PREFIX = "MEMORY_"
DEFAULT = "default"
ENVIRONMENT = "environment"
_MAX_VALUE_CHARS = 1_000


class Value(
    NamedTuple
):  # a setting as it stands: `source` is `default`, `environment` or `path:line`
    name: str
    value: str
    source: str
    reason: str


class Settings(NamedTuple):
    values: tuple[Value, ...]
    problems: tuple[
        str, ...
    ] = ()  # values that could not be used: where, which, why, and what is used instead

    def switch(self, name: str) -> bool:
        return self.text(name) == "on"

    def count(self, name: str) -> int:
        return int(self.text(name))

    def figure(self, name: str) -> float:
        return float(self.text(name))

    def schedule(self, name: str) -> tuple[int, int]:
        """Offset and cycle."""
        offset, cycle = self.text(name).split("/")
        return int(offset), int(cycle)

    def text(self, name: str) -> str:
        """Any setting as it is written; for texts and choices the only way."""
        return next(value.value for value in self.values if value.name == name)

    def source(self, name: str) -> str:
        return next(value.source for value in self.values if value.name == name)

    def with_value(self, name: str, value: str) -> Settings:
        changed = (one._replace(value=value) if one.name == name else one for one in self.values)
        return self._replace(values=tuple(changed))


def environment() -> dict[str, str]:
    """A copy of the whole environment, for everyone else: nobody else looks at it."""
    return dict(os.environ)


def load(
    home_conf: Path | None,
    project_conf: Path | None,
    environ: Mapping[str, str],
    *,
    hook: bool = False,
) -> Settings:
    """The settings as they stand. With `hook` the environment came through an agent: it may only narrow."""
    layers = _Layers()
    layers.add_file(home_conf, narrow_only=False)
    layers.add_file(project_conf, narrow_only=True)
    for key in sorted(environ):
        # Other programs have such names too: an unknown one is reported only if it is nearly ours.
        if key.startswith(PREFIX) and environ[key] and (key in _BY_NAME or nearest_name(key)):
            layers.set(key, environ[key], ENVIRONMENT, narrow_only=hook)
    values = (Value(one.name, *layers.current[one.name], one.reason) for one in SETTINGS)
    return Settings(tuple(values), tuple(layers.problems))


class _Layers:
    def __init__(self) -> None:
        self.current = {setting.name: (setting.default, DEFAULT) for setting in SETTINGS}
        self.problems: list[str] = []

    def add_file(self, path: Path | None, *, narrow_only: bool) -> None:
        if path is None:
            return
        try:
            # The user's own file may be a link into a dotfiles folder; a stranger's link may lead anywhere.
            text = read_limited(path, 65_536, follow=not narrow_only).decode("utf-8-sig")
            if "\x00" in text:
                raise ValueError("not a text file")
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, ValueError) as error:
            why = (
                "not UTF-8 text"
                if isinstance(error, UnicodeDecodeError)
                else getattr(error, "strerror", "") or error
            )
            self._report(str(path), f"cannot be read ({why})", used="nothing of it")
            return
        before = len(self.problems)
        lines = tuple(_parse_lines(text))
        last = {key: number for number, key, _, wrong in lines if not wrong}
        for number, key, value, wrong in lines:
            source = f"{path}:{number}"
            if wrong:
                self._report(source, wrong, key)
            elif last[key] != number:
                self._report(
                    source, f"set again on line {last[key]}", key, value, f"line {last[key]}"
                )
            else:
                self.set(key, value, source, narrow_only=narrow_only)
        over = len(self.problems) - before - 20
        if over > 0:
            del self.problems[-over:]
            self._report(str(path), f"{over} more lines could not be used")

    def set(self, key: str, text: str, source: str, *, narrow_only: bool) -> None:
        setting = _BY_NAME.get(key)
        if setting is None:
            near = nearest_name(key)
            self._report(
                source,
                f"unknown setting (did you mean {near}?)" if near else "unknown setting",
                key,
                text,
            )
            return
        current = self.current[key][0]
        value = canonical(setting, text)
        if value is None:
            self._report(source, f"must be {expected(setting)}", key, text, current)
        elif setting.stays_here and source == ENVIRONMENT and leaves_machine(value):
            self._report(
                source, "only your own agent.conf may name another machine", key, text, current
            )
        elif narrow_only and value != current and not _narrows(setting, current, value):
            whose = "a hook's environment" if source == ENVIRONMENT else "a project"
            self._report(source, f"{whose} {_ALLOWED[setting.narrow]}", key, text, current)
        elif not narrow_only or value != current:
            self.current[key] = (value, source)

    def _report(
        self, source: str, wrong: str, key: str = "", value: str = "", used: str = ""
    ) -> None:
        named = "=".join(clip(part, 80) for part in (key, value) if part)
        parts = (
            f"{source}: ",
            f"{named}: " if named else "",
            f"{wrong}.",
            f" Using {used}." if used else "",
        )
        self.problems.append(storable("".join(parts)))


_ALLOWED: dict[Narrow, str] = {
    "off_only": "may switch this off, never on",
    "lower_only": "may lower this, never raise it",
    "never": "may not set this",
}


def _narrows(setting: Setting, current: str, value: str) -> bool:
    is_off = setting.narrow == "off_only" and value == "off"
    return is_off or (setting.narrow == "lower_only" and float(value) <= float(current))


_SWITCHES = {
    **dict.fromkeys(("on", "true", "yes", "1"), "on"),
    **dict.fromkeys(("off", "false", "no", "0"), "off"),
}
# What a value looks like, and the words for it. Patterns stay text until used: compiling them all would double the time
# to load this file. ASCII digits alone, and few: Python's own int and float take much more. A prompt's name becomes a
# file's: no slash, no leading dot.
_NAME = r"[A-Za-z0-9][A-Za-z0-9._:@-]*"
_KINDS: dict[Kind, tuple[str, str]] = {
    "switch": (r"\w+", "on or off"),
    "count": (r"\+?[0-9]{1,15}", "a whole number from {low:.0f} to {high:.0f}"),
    "figure": (
        r"\+?([0-9]{1,15}(\.[0-9]{0,15})?|\.[0-9]{1,15})",
        "a number from {low:g} to {high:.0f}",
    ),
    "choice": (r"(?!)", ""),
    "text": (
        "[^\x00-\x1f\x7f-\x9f\ud800-\udfff]*",
        f"one line of at most {_MAX_VALUE_CHARS} characters",
    ),
    "schedule": (r"[0-9]{1,6}/[0-9]{1,6}", "offset/cycle, the offset below the cycle"),
    "pair": (f"{_NAME}/{_NAME}", "two names, first/second"),
}


def canonical(setting: Setting, text: str) -> str | None:
    """The one way to write this value, or None if the setting cannot have it."""
    text = text.strip()
    if text.lower() in setting.choices:  # for a figure: off, the least there is
        return f"{setting.low:g}" if setting.kind == "figure" else text.lower()
    if not text or len(text) > _MAX_VALUE_CHARS or not re.fullmatch(_KINDS[setting.kind][0], text):
        return None
    match setting.kind:
        case "switch":
            return _SWITCHES.get(text.lower())
        case "count" | "figure":
            number = int(text) if setting.kind == "count" else float(text)
            return (
                repr(number).removesuffix(".0") if setting.low <= number <= setting.high else None
            )
        case "schedule":
            offset, cycle = map(int, text.split("/"))
            return f"{offset}/{cycle}" if offset < cycle else None
        case _:
            return text


def expected(setting: Setting) -> str:
    """The values that the setting can have, in words."""
    words = _KINDS[setting.kind][1].format(low=setting.low, high=setting.high)
    return " or ".join(filter(None, (words, *setting.choices)))


_ASSIGNMENT = r"(?s)(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)"
# A look back instead of `\s+`, which is quadratic in a long run of spaces.
_COMMENT = r"(?:^|(?<=\s))#.*"
_QUOTED = r"""(["'])(.*?)\1\s*(?:#.*)?"""


def _parse_lines(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Number, key, value, and what is wrong with the line; then the key is the line."""
    for number, raw in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        found = re.fullmatch(_ASSIGNMENT, line)
        if found is None:
            yield number, line, "", "not a line of the form KEY=value"
        elif found[2][:1] not in ('"', "'"):
            yield number, found[1], re.sub(_COMMENT, "", found[2]).rstrip(), ""
        elif quoted := re.fullmatch(_QUOTED, found[2]):
            yield number, found[1], quoted[2], ""
        else:
            yield number, found[1], "", "a quotation mark that does not close, or text after it"


_SET_LINE = r"""([\s\ufeff]*(?:export\s+)?\w+\s*=\s*)(?:(["']).*?\2|[^"'].*?|)(\s*(?:\s#.*)?)"""


def change_text(text: str, name: str, value: str | None) -> str:
    """A settings file in which `name` has this value, or stands no longer (None); no other byte is changed."""
    parts = re.split(r"(\r\n|\n|\r)", text)  # lines, each followed by its end
    lines = [
        number - 1 for number, key, _, _ in _parse_lines(text.removeprefix("\ufeff")) if key == name
    ]
    if value is None:
        for line in reversed(lines):
            del parts[2 * line : 2 * line + 2]
        return "".join(parts)
    quote = "" if not re.search(r"""^['"#]|\s#""", value) else "'" if '"' in value else '"'
    if not lines:
        end = parts[1] if len(parts) > 1 else "\n"
        return f"{text}{end if parts[-1] else ''}{name}={quote}{value}{quote}{end}"
    found = re.fullmatch(_SET_LINE, parts[2 * lines[-1]])
    before, after = (found[1], found[3]) if found else (f"{name}=", "")
    parts[2 * lines[-1]] = (
        f"{before}{quote}{value}{quote}{after}"  # the last one is in force; its comment stays
    )
    return "".join(parts)


def find_setting(name: str) -> Setting | None:
    """By its name in any case, with or without the prefix."""
    name = name.strip().upper().replace("-", "_")
    return _BY_NAME.get(name) or _BY_NAME.get(PREFIX + name)


def nearest_name(key: str) -> str:
    """The setting that was probably meant, or nothing."""
    import difflib  # only when somebody mistyped

    # Without the prefix they share, or MEMORY_LIMIT of some other program looks like MEMORY_LLM.
    tails = [name.removeprefix(PREFIX) for name in _BY_NAME]
    found = difflib.get_close_matches(key.upper().removeprefix(PREFIX), tails, n=1, cutoff=0.75)
    return PREFIX + found[0] if found else ""


def is_loopback(host: str) -> bool:
    import ipaddress  # no other command needs it

    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def leaves_machine(value: str) -> bool:
    """Whether it is a URL of another machine, or one that cannot be read."""
    from urllib.parse import urlsplit

    try:
        return "://" in value and not is_loopback(urlsplit(value).hostname or "")
    except ValueError:
        return True
