"""The commands of a turn that mattered: tests, builds, deploys, commits, failures and what then worked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from recollect.base.text import clip, one_line
from recollect.capture.tables import Patterns, Words
from recollect.model.act import Act, Deed

MAX_COMMANDS = 6
_MAX_CHARS = 100
_MAX_FAILURE_CHARS = 220

_JOINTS = re.compile(r"&&|\|\||;|\n")
_ASSIGNMENTS = re.compile(r"^(?:\w+=\S*\s+)+")
_COMMIT = re.compile(r"\bgit\b[^\n]*?\bcommit\b")
_MESSAGE = re.compile(
    r"""-a?m\s*(?:"\$\(cat\s*<<-?\s*'?"?(\w+)'?"?\s*\n(?P<here>.*?)\n\s*\1|"(?P<two>[^"]*)|'(?P<one>[^']*))""",
    re.DOTALL,
)
_PATTERNS = Patterns("turn_commands")
_WORDS = Words("turn_commands")


def commands_run(acts: Sequence[Act]) -> str:
    """Each once per result, in order; where there are too many, the last ones."""
    found: dict[str, None] = {}
    for act in acts:
        if act.doing is None or act.doing.deed is not Deed.RUN or act.refused or only_shows(act.doing.what):
            continue
        if not (act.failed or matters(act.doing.what)):
            continue
        line = f"{shortened(act.doing.what)} (failed)" if act.failed else shortened(act.doing.what)
        found.pop(line, None)
        found[line] = None
    return "; ".join([line for line in found if line][-MAX_COMMANDS:])


def matters(command: str) -> bool:
    return bool(_PATTERNS.matters.search(command[:400])) and not only_shows(command)


def shortened(command: str) -> str:
    """Without the folder it ran in and what its output was piped through."""
    subject = _subject_of(command)
    if subject:
        pushed = " && git push" if re.search(r"\bgit push\b", command) else ""
        return clip(f'git commit -m "{clip(subject, 72)}"{pushed}', _MAX_CHARS)
    head = re.split(r"<<", command, maxsplit=1)[0]
    parts = [_ASSIGNMENTS.sub("", _PATTERNS.piped.sub("", part).strip()) for part in _JOINTS.split(head)]
    kept = [part for part in parts if part and not _shows(part)] or parts[:1]
    return clip(one_line(" && ".join(dict.fromkeys(kept))).replace("; ", ", "), _MAX_CHARS)


def last_commit_subject(acts: Iterable[Act]) -> str:
    """The first line of the last commit's message."""
    found = [_subject_of(act.doing.what) for act in acts if act.doing and act.doing.deed is Deed.RUN and not act.failed]
    return next((subject for subject in reversed(found) if subject), "")


def _subject_of(command: str) -> str:
    message = _MESSAGE.search(command) if _COMMIT.search(command) else None
    if message is None:
        return ""
    text = message["here"] or message["two"] or message["one"] or ""
    return next((one_line(line) for line in text.splitlines() if line.strip()), "")


def failures(acts: Iterable[Act]) -> Iterator[str]:
    """What the failed commands that mattered printed."""
    for act in acts:
        if act.failed and not act.refused and act.doing and act.doing.deed is Deed.RUN and matters(act.doing.what):
            told = one_line(telling_lines(act.text, _MAX_FAILURE_CHARS))
            if told:
                yield f"`{shortened(act.doing.what)}` failed: {told}"


def only_shows(command: str) -> bool:
    """It shows something and changes nothing."""
    parts = [part for part in _JOINTS.split(command) if part.strip()]
    return all(_shows(part) for part in parts)


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
