"""What a session was about, in a few lines: what was asked, what was changed and run, how it ended.

Taken out of what was said and done, word for word where it is words. Nothing for a session in which nothing came about.
Does not keep anything (ops/endings.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.base.text import clip, one_line
from recollect.model.act import Act, Deed, Speaker

_LEAST_PROMPTS = 3
_LEAST_COMMANDS = 2
_ASKED_CHARS, _THEN_CHARS, _COMMAND_CHARS, _ENDED_CHARS, _TITLE_CHARS = 200, 100, 60, 240, 70
_MOST_ASKED, _MOST_FILES, _MOST_COMMANDS = 5, 8, 6
_LEAST_WORDS = 3
# What only looks says nothing of what was done.
_LOOKS = frozenset(
    "cat cd clear date df du echo env find grep head history less ls printenv ps pwd rg sed stat tail test tree type wc"
    " whereis which whoami".split()
)


@dataclass(frozen=True, slots=True)
class Episode:
    title: str
    body: str


def episode(acts: Sequence[Act], *, root: str = "") -> Episode | None:
    """`root` is left out of the names of files."""
    own = [act for act in acts if not act.agent]
    asked = [act.text for act in own if act.speaker is Speaker.PERSON and act.text.strip()]
    files = _changed(own, root)
    commands = _commands(own)
    if not asked or not (files or len(commands) >= _LEAST_COMMANDS or len(asked) >= _LEAST_PROMPTS):
        return None
    telling = [text for text in asked if len(text.split()) >= _LEAST_WORDS] or asked
    lines = [f"Asked: {clip(one_line(telling[0]), _ASKED_CHARS)}"]
    lines += _listed("Then: ", [clip(one_line(text), _THEN_CHARS) for text in telling[1:]], _MOST_ASKED - 1, "; ")
    lines += _listed("Changed: ", files, _MOST_FILES)
    lines += _listed("Ran: ", commands, _MOST_COMMANDS)
    lines += [f"Ended: {ended}"] if (ended := _ended(own)) else []
    return Episode(f"Session: {clip(one_line(telling[0]), _TITLE_CHARS)}", "\n".join(lines))


def _listed(name: str, said: Sequence[str], most: int, between: str = ", ") -> list[str]:
    if not said:
        return []
    more = f" (+{len(said) - most})" if len(said) > most else ""
    return [f"{name}{between.join(said[:most])}{more}"]


def _changed(acts: Sequence[Act], root: str) -> list[str]:
    """Those that were changed most often first."""
    counts: dict[str, int] = {}
    for act in acts:
        if act.doing is not None and act.doing.deed is Deed.EDIT and not act.failed and not act.refused:
            for file in act.doing.files:
                name = file.removeprefix(root.rstrip("/") + "/") if root else file
                counts[name] = counts.get(name, 0) + 1
    return sorted(counts, key=lambda name: -counts[name])


def _commands(acts: Sequence[Act]) -> list[str]:
    """Each once, the last ones first, with how it went the last time."""
    found: dict[str, bool] = {}
    for act in acts:
        if act.doing is None or act.doing.deed is not Deed.RUN or act.refused:
            continue
        line = clip(one_line(act.doing.what), _COMMAND_CHARS)
        if line and line.split()[0] not in _LOOKS:
            found.pop(line, None)
            found[line] = act.failed is True
    return [f"{line} (failed)" if failed else line for line, failed in reversed(found.items())]


def _ended(acts: Sequence[Act]) -> str:
    """By the agent's last words; by a failure that nobody spoke of any more."""
    for act in reversed(acts):
        if act.speaker is Speaker.AGENT and act.text.strip():
            paragraph = next(part for part in act.text.split("\n\n") if part.strip())
            return clip(one_line(paragraph), _ENDED_CHARS)
        if act.speaker is Speaker.TOOL and act.failed:
            what = clip(one_line(act.doing.what), _COMMAND_CHARS) if act.doing else ""
            return f"with a failure: {what}" if what else ""
    return ""
