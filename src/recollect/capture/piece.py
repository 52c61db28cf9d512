"""Which parts of a turn are worth keeping as a thread's messages, and in which words.

Prompts, edits, commands that did something or failed, and what the agent said last. Looking around (reading, listing,
searching) leaves nothing. Long output is cut to the lines that say what came of it; text of pages and files is never
kept. Says of each part that is left out why.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from recollect.base.moment import Moment
from recollect.base.text import clip, one_line
from recollect.capture import terms
from recollect.capture.turn import Turn
from recollect.model.act import Act, Deed, Doing, Speaker
from recollect.model.memory import Lane

PROMPT_CHARS = 1_500
REPLY_CHARS = 1_200
COMMAND_CHARS = 200
FAILURE_CHARS = 500
OUTPUT_CHARS = 200
MOST_CALLS = 10
"""Of one turn: a long search for a fault is told by its failures and its end."""

_LOOKS = frozenset(
    "cat cd clear date df dir du echo env file find grep head history hostname htop jq less ls lsof man more printenv "
    "ps pwd rg sed sleep stat tail top tree true type uname wc wait whereis which whoami".split()
)
_GIT_LOOKS = frozenset("status log diff show branch remote blame rev-parse ls-files config fetch".split())
_JOINED = re.compile(r"&&|\|\||;|\n")
_ASSIGNED = re.compile(r"^(?:\w+=\S*\s+)+")
_TELLING = re.compile(
    r"error|exception|fail|fatal|panic|denied|refused|not found|no such|cannot|can't|undefined|unexpected|invalid|"
    r"timed? ?out|traceback|assert|expected|missing|exit code",
    re.IGNORECASE,
)
_NODS = frozenset(
    "a again alright alrighty am an and awesome bye cheers continue cool correct day do done evening exactly excellent "
    "fine for go good goodbye great ha haha hello here hey hi hm hmm how i is it job k lgtm lol lot me moment morning "
    "much next nice night no nope now of ok okay on one perfect please proceed right so sounds stop sure thank thanks "
    "that the there this thx to ty very wait well will with work works wow yeah yep yes yo you your".split()
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A message to be."""

    id: str
    at: Moment
    source: str
    content: str
    lane: Lane
    deed: Deed | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Pieces:
    kept: tuple[Piece, ...]
    dropped: tuple[tuple[str, int], ...]
    """Why, and how many."""


def pieces(turn: Turn) -> Pieces:
    """Of what is new in it."""
    kept: list[Piece] = []
    dropped: Counter[str] = Counter()
    edited = {file for act in turn.acts[: turn.new_from] for file in _edits(act)}
    last_said = next((act.id for act in reversed(turn.new) if act.speaker is Speaker.AGENT and act.text), "")
    calls = 0
    for act in turn.new:
        found = _piece(act, edited, is_last=act.id == last_said)
        if isinstance(found, str):
            dropped[found] += 1
            continue
        calls += act.doing is not None
        if act.doing is not None and calls > MOST_CALLS and not found.failed:
            dropped["too many calls"] += 1
            continue
        kept.append(found)
    return Pieces(tuple(kept), tuple(sorted(dropped.items())))


def message_id(act: Act) -> str:
    """The same whenever the same line is read again."""
    named = act.id or f"{act.at.micros} {act.speaker} {act.text}"
    return f"message_{act.at.stamp()}_{hashlib.blake2b(named.encode(), digest_size=6).hexdigest()}"


def says_nothing(text: str) -> bool:
    """A greeting, thanks, a nod: words that name nothing. Or a command that only looks."""
    said = text.split()
    if len(said) == 1 or (len(said) == 2 and (said[1].startswith("-") or said[0] == "git")):
        return looks_only(text) or all(word in _NODS for word in terms.words(text))
    return all(word in _NODS for word in terms.words(text[:PROMPT_CHARS]))


def looks_only(command: str) -> bool:
    """It shows something and changes nothing."""
    parts = [part for part in _JOINED.split(command) if part.strip()]
    return all(_looks(part) for part in parts)


def _looks(command: str) -> bool:
    if ">" in command:
        return False
    said = _ASSIGNED.sub("", command.strip("() ")).split()
    program = said[0].rsplit("/", 1)[-1] if said else ""
    if program == "git":
        rest = said[3:] if said[1:2] in (["-C"], ["-c"]) else said[1:]
        return next((word for word in rest if not word.startswith("-")), "status") in _GIT_LOOKS
    return not program or (program in _LOOKS and "-i" not in said[1:2] and "-delete" not in said)


def _piece(act: Act, edited: set[str], *, is_last: bool) -> Piece | str:
    match act.speaker:
        case Speaker.MACHINE:
            return "machine made"
        case Speaker.PERSON:
            if says_nothing(act.text):
                return "says nothing"
            return _made(act, "user", _within(act.text, PROMPT_CHARS), Lane.USER)
        case Speaker.AGENT:
            if not is_last and not act.plan:
                return "on the way"
            if says_nothing(act.text):
                return "says nothing"
            return _made(act, "agent", _within(act.text, REPLY_CHARS), Lane.AGENT)
        case Speaker.TOOL:
            return _call(act, act.doing, edited) if act.doing is not None else "a result of nothing"


def _call(act: Act, doing: Doing, edited: set[str]) -> Piece | str:
    if act.refused:
        return _made(act, "user", f"Not allowed: {_asked(doing)}", Lane.USER)
    match doing.deed:
        case Deed.EDIT:
            return _edit(act, edited)
        case Deed.RUN:
            return _run(act, doing)
        case Deed.DELEGATE:
            told = _within(act.text, OUTPUT_CHARS * 2)
            return _made(act, "agent", f"Delegated: {_asked(doing)}\n{told}".strip(), Lane.AGENT)
        case Deed.OTHER if act.failed:
            return _made(act, "tool", f"{_asked(doing)}\n{telling(act.text, FAILURE_CHARS)}".strip(), Lane.TOOL)
        case _:
            return "looks only"


def _edit(act: Act, edited: set[str]) -> Piece | str:
    files = [file for file in _edits(act) if file not in edited]
    if act.failed:
        return "an edit that failed"
    if not files:
        return "edited before"
    edited.update(files)
    return _made(act, "tool", f"Edited {', '.join(files)}", Lane.TOOL)


def _run(act: Act, doing: Doing) -> Piece | str:
    if not act.failed and looks_only(doing.what):
        return "looks only"
    asked = f"$ {clip(one_line(doing.what), COMMAND_CHARS)}"
    if act.failed:
        if looks_only(doing.what):
            return "looks only"
        return _made(act, "tool", f"{asked}\n{telling(act.text, FAILURE_CHARS)}".strip(), Lane.TOOL)
    return _made(act, "tool", f"{asked}\n{_end(act.text)}".strip(), Lane.TOOL)


def _made(act: Act, source: str, content: str, lane: Lane) -> Piece:
    deed = act.doing.deed if act.doing else None
    return Piece(message_id(act), act.at, source, content, lane, deed, failed=bool(act.failed))


def _edits(act: Act) -> tuple[str, ...]:
    return act.doing.files if act.doing and act.doing.deed is Deed.EDIT else ()


def _asked(doing: Doing) -> str:
    return clip(one_line(doing.what or doing.tool), COMMAND_CHARS)


def telling(output: str, most: int) -> str:
    """The lines that say what went wrong; where none does, the last ones."""
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    said = [line for line in lines if _TELLING.search(line)] or lines[-4:]
    kept: list[str] = []
    for line in said:
        if sum(len(one) + 1 for one in kept) + len(line) > most:
            break
        kept.append(line)
    return "\n".join(kept) or clip(one_line(" ".join(said[:1])), most)


def _end(output: str) -> str:
    """A command that did what it should says so at its end."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return clip(" / ".join(lines[-2:]), OUTPUT_CHARS)


def _within(text: str, most: int) -> str:
    """The beginning says what it is about, the end what came of it."""
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3].rstrip()}\n[…]\n{text[-most // 3 :].lstrip()}"


def unheard(found: Iterable[Piece], known: Sequence[tuple[str, str]]) -> Iterator[Piece]:
    """Those that no text of `known` (source and words, the newest last) says already, nor one of themselves."""
    said = [(one, terms.shape(one.content)) for one in found]
    sources = {one.source for one, _ in said}
    heard = [(source, terms.shape(text)) for source, text in known[-_HELD:] if source in sources]
    for one, shape in said:
        if any(source == one.source and terms.alike(shape, other) >= _SAME for source, other in heard):
            continue
        heard.append((one.source, shape))
        yield one


_SAME = 0.85
_HELD = 80
