"""A turn: what a person asked for, and everything that was done and said until they asked for the next thing. And the
commands of a turn that mattered: tests, builds, deploys, commits, failures and what then worked.

Work is grouped by turns: a prompt alone is often too short to say what it is about, and a call alone always is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from recollect.base.text import clip, one_line
from recollect.capture.tables import Patterns, Words
from recollect.model.act import Act, Deed, Speaker
from recollect.model.small_talk import is_small_talk

MAX_WAITING_ACTS = 150
"""A turn with this many new acts is recorded before it ends: only part of a transcript is held in memory."""
MAX_COMMANDS = 6
_MAX_CHARS, _MAX_FAILURE_CHARS = 100, 220
_JOINTS = re.compile(r"&&|\|\||;|\n")
_ASSIGNMENTS = re.compile(r"^(?:\w+=\S*\s+)+")
_COMMIT = re.compile(r"\bgit\b[^\n]*?\bcommit\b")
_MESSAGE = re.compile(
    r"""-a?m\s*(?:"\$\(cat\s*<<-?\s*'?"?(\w+)'?"?\s*\n(?P<here>.*?)\n\s*\1|"(?P<two>[^"]*)|'(?P<one>[^']*))""",
    re.DOTALL,
)
_PATTERNS = Patterns("turns")
_WORDS = Words("turns")


@dataclass(frozen=True, slots=True)
class Turn:
    acts: tuple[Act, ...]
    new_from: int = 0  # acts before this one were recorded already
    over: bool = True
    before: str = ""  # what the agent said last before it: a short "yes" answers that

    @property
    def new(self) -> tuple[Act, ...]:
        return self.acts[self.new_from :]

    @property
    def is_whole(self) -> bool:
        """Its beginning is known."""
        return bool(self.acts) and _begins(self.acts, 0)

    @property
    def conclusion(self) -> str:
        """What the agent said last."""
        return next((act.text for act in reversed(self.acts) if _is_reply(act) and act.text), "")

    def files(self, *deeds: Deed) -> tuple[str, ...]:
        found = (file for act in self.acts if act.doing and act.doing.deed in deeds for file in act.doing.files)
        return tuple(dict.fromkeys(found))


def split_turns(acts: Sequence[Act], start: int, *, finished: bool) -> Iterator[Turn]:
    """The turns that have acts from `start` on. The last one is left for later while the agent is at work on it: what
    it is about is best seen when it is done."""
    begin = next((at for at in range(min(start, len(acts) - 1), -1, -1) if _begins(acts, at)), 0) if acts else 0
    while begin < len(acts):
        end = next((at for at in range(begin + 1, len(acts)) if _begins(acts, at)), len(acts))
        over = finished or end < len(acts) or _is_reply(acts[end - 1])
        if end > start and (over or end - max(start, begin) >= MAX_WAITING_ACTS):
            before = next((act.text for act in reversed(acts[:begin]) if act.speaker is Speaker.AGENT and act.text), "")
            yield Turn(tuple(acts[begin:end]), max(0, start - begin), over, before)
        begin = end


def message_id(act: Act) -> str:
    """The id of the message that records the turn which this act begins: the same whenever it is read again."""
    named = act.id or f"{act.at.micros} {act.speaker} {act.text}"
    return f"message_{act.at.stamp()}_{hashlib.blake2b(named.encode(), digest_size=6).hexdigest()}"


def _begins(acts: Sequence[Act], at: int) -> bool:
    """What a person says when refusing a call belongs to that call's turn, what they add to a plan to the plan's."""
    act, before = acts[at], acts[at - 1] if at else None
    is_added = before is not None and before.plan and before.id == act.id
    return act.plan or (act.speaker is Speaker.PERSON and not act.refuses and not is_added)


def _is_reply(act: Act) -> bool:
    return act.speaker is Speaker.AGENT and not act.plan


# Commands


def ran_commands(acts: Iterable[Act]) -> list[tuple[Act, str]]:
    """The calls that ran a command."""
    return [(act, act.doing.what) for act in acts if act.doing and act.doing.deed is Deed.RUN and not act.refused]


def list_commands(acts: Iterable[Act]) -> str:
    """Each once per result, in order; where there are too many, the last ones."""
    found: dict[str, None] = {}
    for act, command in ran_commands(acts):
        if matters(command) or (act.failed and not only_shows(command)):
            line = f"{shortened(command)} (failed)" if act.failed else shortened(command)
            found.pop(line, None)
            found[line] = None
    return "; ".join([line for line in found if line][-MAX_COMMANDS:])


def matters(command: str) -> bool:
    return bool(_PATTERNS.matters.search(command[:400])) and not only_shows(command)


def shortened(command: str) -> str:
    """Without the folder it ran in and what its output was piped through."""
    subject = commit_subject(command)
    if subject:
        pushed = " && git push" if re.search(r"\bgit push\b", command) else ""
        return clip(f'git commit -m "{clip(subject, 72)}"{pushed}', _MAX_CHARS)
    head = command.split("<<", 1)[0]
    parts = [_ASSIGNMENTS.sub("", _PATTERNS.piped.sub("", part).strip()) for part in _JOINTS.split(head)]
    kept = [part for part in parts if part and not _shows(part)] or parts[:1]
    return clip(one_line(" && ".join(dict.fromkeys(kept))).replace("; ", ", "), _MAX_CHARS)


def commit_subject(command: str) -> str:
    """The first line of a commit's message."""
    message = _MESSAGE.search(command) if _COMMIT.search(command) else None
    text = (message["here"] or message["two"] or message["one"] or "") if message else ""
    return next((one_line(line) for line in text.splitlines() if line.strip()), "")


def failures(acts: Iterable[Act]) -> Iterator[str]:
    """What the failed commands that mattered printed."""
    for act, command in ran_commands(acts):
        told = one_line(telling_lines(act.text, _MAX_FAILURE_CHARS)) if act.failed and matters(command) else ""
        if told:
            yield f"`{shortened(command)}` failed: {told}"


def only_shows(command: str) -> bool:
    """It shows something and changes nothing."""
    return all(_shows(part) for part in _JOINTS.split(command) if part.strip())


def _shows(command: str) -> bool:
    if ">" in re.sub(r"\d?>(?:&\d|/dev/null)", "", command):
        return False
    said = _ASSIGNMENTS.sub("", command.strip("() ")).split()
    program = said[0].rsplit("/", 1)[-1] if said else ""
    if program == "git":
        rest = said[3:] if said[1:2] in (["-C"], ["-c"]) else said[1:]
        return next((word for word in rest if not word.startswith("-")), "status") in _WORDS.git_shows
    return not program or (program in _WORDS.shows and "-i" not in said[1:2] and "-delete" not in said)


def telling_lines(output: str, most: int) -> str:
    """The lines that say what went wrong; otherwise the last lines."""
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    said = [line for line in lines if _PATTERNS.telling.search(line)] or lines[-4:]
    kept: list[str] = []
    for line in said:
        if sum(len(one) + 1 for one in kept) + len(line) > most:
            break
        kept.append(line)
    return "\n".join(kept) or clip(one_line(" ".join(said[:1])), most)


def says_nothing(text: str) -> bool:
    """A greeting, thanks, a nod: words that name nothing. Or a command that only shows something."""
    said = text.split()
    is_command = len(said) == 1 or (len(said) == 2 and (said[1].startswith("-") or said[0] == "git"))
    return is_small_talk(text) or (is_command and only_shows(text))
