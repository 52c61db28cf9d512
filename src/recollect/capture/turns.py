"""A turn: what a person asked for, and everything that was done and said until they asked for the next thing. Its
commands that mattered, and what it does with the memories it was shown."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from recollect.base.structs import Struct
from recollect.base.text import clip, one_line
from recollect.capture import terms
from recollect.capture.tables import Patterns, Words
from recollect.model.session import Act, Speaker, ToolAction
from recollect.model.small_talk import is_small_talk

MAX_WAITING_ACTS = 150  # a turn with so many new acts is recorded before it ends: only part of a transcript is held
_MAX_COMMANDS, _MAX_CHARS, _MAX_FAILURE_CHARS = 6, 100, 220
_QUOTED_SHARE = 0.6  # a sentence of which so many runs of three words were shown is a quote
_MIN_RUNS, _MIN_USED_WORDS, _MIN_USED_SHARE = 3, 3, 0.25
_MIN_NEW_WORDS = 8  # words beside the quotes that may name a subject: fewer are only what one says around a quote
# What stands around a memory's words where it is shown: its kind and id, its source, its age, a list's mark.
_AROUND = re.compile(
    r"(?:\b(?:thread|rule|note) )?\b[a-z]{2,12}_\d{8}_\d{6}_[0-9a-f]{6}\b|\[(?:user|tool|agent|repository|web)\]|"
    r"\(\d+ \w+ ago\)|\(just now\)|^[^\S\n]*+(?:[-*•>]|\d+[.)]|#+)\s+",
    re.MULTILINE,
)
_PATTERNS = Patterns("turns")
_WORDS = Words("turns")


class Turn(Struct):
    acts: tuple[Act, ...]
    new_from: int = 0  # acts before this one were recorded already
    before: str = ""  # what the agent said last before it: a short "yes" answers that

    @property
    def new(self) -> tuple[Act, ...]:
        return self.acts[self.new_from :]

    @property
    def is_whole(self) -> bool:
        return bool(self.acts) and _begins(self.acts, 0)

    @property
    def conclusion(self) -> str:
        return next((act.text for act in reversed(self.acts) if _is_reply(act) and act.text), "")

    def files(self, action: ToolAction) -> tuple[str, ...]:
        uses = [act.use for act in self.acts if act.use and act.use.action is action]
        return tuple(dict.fromkeys(file for use in uses for file in use.files))


def split_turns(acts: Sequence[Act], start: int, *, finished: bool) -> Iterator[Turn]:
    """The turns that have acts from `start` on. The last one is left for later while the agent is at work on it: what
    it is about is best seen when it is done."""
    begin = (
        next((at for at in range(min(start, len(acts) - 1), -1, -1) if _begins(acts, at)), 0)
        if acts
        else 0
    )
    while begin < len(acts):
        end = next((at for at in range(begin + 1, len(acts)) if _begins(acts, at)), len(acts))
        over = finished or end < len(acts) or _is_reply(acts[end - 1])
        if end > start and (over or end - max(start, begin) >= MAX_WAITING_ACTS):
            before = next(
                (
                    act.text
                    for act in reversed(acts[:begin])
                    if act.speaker is Speaker.AGENT and act.text
                ),
                "",
            )
            yield Turn(tuple(acts[begin:end]), max(0, start - begin), before)
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


def ran_commands(acts: Iterable[Act]) -> list[tuple[Act, str]]:
    return [
        (act, act.use.what)
        for act in acts
        if act.use and act.use.action is ToolAction.RUN and not act.refused
    ]


def list_commands(acts: Iterable[Act]) -> str:
    """Each once per result, in order; where there are too many, the last ones."""
    lines = [
        f"{shortened(command)} (failed)" if act.failed else shortened(command)
        for act, command in ran_commands(acts)
        if matters(command) or (act.failed and not only_shows(command))
    ]
    latest = list(dict.fromkeys(filter(None, reversed(lines))))[:_MAX_COMMANDS]
    return "; ".join(reversed(latest))


def matters(command: str) -> bool:
    return bool(_PATTERNS.matters.search(command[:400])) and not only_shows(command)


def shortened(command: str) -> str:
    if subject := commit_subject(command):
        pushed = " && git push" if re.search(r"\bgit push\b", command) else ""
        return clip(f'git commit -m "{clip(subject, 72)}"{pushed}', _MAX_CHARS)
    parts = [
        _PATTERNS.piped.sub("", part).strip()
        for part in _PATTERNS.joints.split(command.split("<<", 1)[0])
    ]
    parts = [_PATTERNS.assignments.sub("", part) for part in parts]
    kept = [part for part in parts if part and not _shows(part)] or parts[:1]
    return clip(one_line(" && ".join(dict.fromkeys(kept))).replace("; ", ", "), _MAX_CHARS)


def commit_subject(command: str) -> str:
    message = _PATTERNS.message.search(command) if _PATTERNS.commit.search(command) else None
    text = (message["here"] or message["two"] or message["one"] or "") if message else ""
    return next((one_line(line) for line in text.splitlines() if line.strip()), "")


def failures(acts: Iterable[Act]) -> Iterator[str]:
    """What the failed commands that mattered printed: the lines that say what went wrong, otherwise the last ones."""
    for act, command in ran_commands(acts):
        if not act.failed or not matters(command):
            continue
        lines = [line.rstrip() for line in act.text.splitlines() if line.strip()]
        said = [line for line in lines if _PATTERNS.telling.search(line)] or lines[-4:]
        sizes = accumulate(len(line) + 1 for line in said)
        kept = [
            line for line, size in zip(said, sizes, strict=True) if size <= _MAX_FAILURE_CHARS + 1
        ]
        if error := one_line(" ".join(kept)) or clip(
            one_line(" ".join(said[:1])), _MAX_FAILURE_CHARS
        ):
            yield f"`{shortened(command)}` failed: {error}"


def only_shows(command: str) -> bool:
    return all(_shows(part) for part in _PATTERNS.joints.split(command) if part.strip())


def _shows(command: str) -> bool:
    if ">" in re.sub(r"\d?>(?:&\d|/dev/null)", "", command):
        return False
    said = _PATTERNS.assignments.sub("", command.strip("() ")).split()
    program = said[0].rsplit("/", 1)[-1] if said else ""
    if program == "git":
        rest = said[3:] if said[1:2] in (["-C"], ["-c"]) else said[1:]
        return (
            next((word for word in rest if not word.startswith("-")), "status") in _WORDS.git_shows
        )
    return not program or (
        program in _WORDS.shows and "-i" not in said[1:2] and "-delete" not in said
    )


def says_nothing(text: str) -> bool:
    """A greeting, thanks, a nod: words that name nothing. Or a command that only shows something."""
    said = text.split()
    is_command = len(said) == 1 or (
        len(said) == 2 and (said[1].startswith("-") or said[0] == "git")
    )
    return is_small_talk(text) or (is_command and only_shows(text))


def own_words(text: str, shown: Sequence[str]) -> str:
    """The text without the sentences that quote what was shown; empty where the rest only leads up to them."""
    known = runs_of(shown)
    said = list(terms.sentences(text)) if known else []
    own = [line for line in said if not is_quote(line, known)]
    if len(own) == len(said):
        return text
    words = sum(len(terms.content(line)) for line in own)
    is_enough = words >= _MIN_NEW_WORDS and 3 * words >= len(terms.content(text))
    return "\n".join(own) if is_enough else ""


def is_used(passage: str, prompt: str, did: str, files: Iterable[str] = ()) -> bool:
    """`did`: what the agent said and ran after the prompt; `files`: what it read or changed."""
    asked, after = prompt.casefold(), did.casefold()
    names = [name for name in map(str.casefold, terms.names(passage)) if name not in asked]
    stems = {terms.stem_of(file).casefold() for file in files}
    if any(name in after or terms.stem_of(name) in stems for name in names):
        return True
    own = set(terms.content(passage)) - set(terms.words(asked))
    return len(own & set(terms.words(after))) >= max(_MIN_USED_WORDS, _MIN_USED_SHARE * len(own))


def runs_of(shown: Sequence[str]) -> frozenset[tuple[str, ...]]:
    return frozenset().union(*(terms.word_runs(one) for one in shown))


def is_whole_quote(rule: str, shown: Sequence[str]) -> bool:
    """All its words and numbers stand in one of the texts, in this order. One that differs in a single word may be
    another rule."""
    quoted = _plain_words(rule)
    return bool(quoted.strip()) and any(quoted in _plain_words(text) for text in shown)


def _plain_words(text: str) -> str:
    words = re.findall(r"[^\W_]+", text.casefold())
    return f" {' '.join(words)} "


def is_quote(sentence: str, known: frozenset[tuple[str, ...]]) -> bool:
    """A short sentence says too little to tell, unless all of it was shown."""
    runs = terms.word_runs(_AROUND.sub(" ", sentence))
    if len(runs) < _MIN_RUNS:
        return bool(runs) and runs <= known
    return len(runs & known) >= _QUOTED_SHARE * len(runs)
