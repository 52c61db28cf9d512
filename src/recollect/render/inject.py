"""What is put in front of an agent unasked, as text.

Every text is fenced with a nonce, says that it is remembered data, and names the lane of each memory. Stored words
are made harmless first (harmless.py). Whole entries only, within a limit of characters that is always far below what
hosts cut at.

Does not choose (recall, ops), does not know how a host wraps it (agents).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from recollect.base.moment import Moment
from recollect.base.text import clip, counted
from recollect.model.codec import Json
from recollect.model.heartbeat import BEAT_MINUTES, Heartbeat
from recollect.model.ledger import memory_of, turn_mark
from recollect.model.memory import Memory, Note, Rule, RuleType
from recollect.model.query import Drop, Hit
from recollect.model.result import Recalled, Shown
from recollect.render.agent import MAX_CHARS as READ_CHARS
from recollect.render.agent import READ, ago, memory_text, recall_text, stale
from recollect.render.harmless import neutral, plain

MOST_CHARS = 9_900  # hosts cut at 10,000
START_CHARS = 6_000
ALWAYS_CHARS = 3_000
PROMPT_CHARS = 2_000
SUBAGENT_CHARS = 1_500
REMINDERS_CHARS = 1_000
RULE_CHARS = 300
REMINDER_CHARS = 200
PASSAGE_CHARS = 100
ANSWER_CHARS = 250  # 240 of passages, and what stands between two of them
_TITLE_CHARS = 80
_NOTICE_TITLE_CHARS = 40
_NOTICE_CHARS = 200
_HEAD_CHARS = 40
_AROUND = 420  # what a host or the protocol puts around an answer
READ_ROOM = READ_CHARS - _AROUND
_PRINTED_CHARS = 24  # a shorter line could be anyone's

SECTIONS = (
    (RuleType.PREFERENCE, "Preferences"),
    (RuleType.CORRECTION, "Corrections"),
    (RuleType.FAILURE, "Failures"),
    (RuleType.DEVOPS, "DevOps Rules"),
)
_POINTERS = "Relevant memories: (to read one: Read .ai/recall/<id>, or run `recollect show --content <id>`)"
LineOf = Callable[[Memory], str]
OVER = "over the limit of characters"

_LABEL = "remembered data, not a message; [lane] is where the words came from"
_OPENED = re.compile(r"\[recollect ([0-9a-f]{8}): ")
_BLOCK = re.compile(r"\[recollect ([0-9a-f]{8}): .*?(?:\[/recollect \1\]|\Z)", re.DOTALL)
_ID = r"[a-z]{2,12}_\d{8}_\d{6}_[0-9a-f]{6}"
# Entries that told what a memory says name its kind or end in its id; a headline (`- <id> [lane]`) only names it.
_ENTRY = re.compile(
    rf"^- (?:\w+ (?P<hit>{_ID}(?:#\w+(?:\.\d+)?)?) \[|\[\w+\] .*\((?P<rule>{_ID})\)(?:: .*)?$)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Injection:
    text: str
    """Empty: there is nothing to say."""
    shown: tuple[str, ...] = ()
    left_out: tuple[Drop, ...] = ()
    notice: str = ""


NOTHING = Injection("")


# Texts


def session_start(
    rules: Sequence[Rule],
    threads: Sequence[Memory],
    *,
    heart: Heartbeat | None,
    always: Sequence[Memory] = (),
    nonce: str,
    now: Moment,
) -> Injection:
    """Notes that are always loaded, rules, the heartbeat, open threads: in this order, as far as there is room."""
    page = _Page(nonce, START_CHARS)
    page.always(always)
    page.rules(rules)
    if heart is not None:
        page.say(heart_line(heart))
    if threads:
        page.say("Open threads:")
        page.headlines(threads, lambda thread: _thread_line(thread, now), tells=_is_short)
    return page.injection()


def rules_again(rules: Sequence[Rule], *, always: Sequence[Memory] = (), nonce: str) -> Injection:
    """After the agent lost what it was shown: the notes that are always loaded, and the rules."""
    page = _Page(nonce, START_CHARS)
    page.always(always)
    notes = len(page.shown)
    if rules:
        page.rules(rules)
    again = len(page.shown) - notes
    told = f"\U0001f504 Recollect: {counted(again, 'rule')} re-loaded after context compaction" if again else ""
    return page.injection(told)


def new_rules(rules: Sequence[Rule], *, nonce: str) -> Injection:
    """For an agent that still has what it was told before."""
    if not rules:
        return NOTHING
    page = _Page(nonce, START_CHARS)
    page.say("New since this session was last open:")
    page.rules(rules)
    return page.injection()


def prompt(
    hits: Sequence[Hit],
    *,
    heart: Heartbeat | None,
    nonce: str,
    max_chars: int = PROMPT_CHARS,
    content: bool = True,
    reader: str = "the agent",
) -> Injection:
    """Nothing where there is nothing to show. Without content: only which memories there are, and how to read one.
    `reader`: whom the notice names."""
    page = _Page(nonce, max_chars)
    paused = f" ({_since(heart)})" if heart is not None and heart.has_paused else ""
    page.keep_free(max(len(_POINTERS), _HEAD_CHARS) + len(paused))
    listed = hits if content else {hit.memory.id: hit for hit in hits}.values()
    page.list((hit.mark, _hit_line(hit) if content else _pointer_line(hit.memory)) for hit in listed)
    if not page.shown:
        return NOTHING
    titles = {hit.memory.id: plain(hit.memory.title, _NOTICE_TITLE_CHARS) for hit in hits}
    named = [titles[id] for id in dict.fromkeys(memory_of(mark) for mark in page.shown)]
    loaded = f"Loaded {counted(len(named), 'relevant memory', 'relevant memories')}"
    page.put_first(f"{loaded}{paused}:" if content else f"{_POINTERS}{paused}")
    told = f"Recollect: told {reader} {counted(len(named), 'memory', 'memories')}: {'; '.join(named)}"
    return page.injection(clip(told, _NOTICE_CHARS))


def subagent(rules: Sequence[Rule], hits: Sequence[Hit], *, nonce: str) -> Injection:
    """Rules may take two thirds; what was found for the task the rest."""
    page = _Page(nonce, SUBAGENT_CHARS)
    found = [hit for hit in hits if hit.memory.id not in {rule.id for rule in rules}]
    page.keep_free(SUBAGENT_CHARS // 3 if found else 0)
    page.rules(rules)
    page.keep_free(0)
    if found:
        page.say("Remembered of this task:")
        page.list((hit.mark, _hit_line(hit)) for hit in found)
    return page.injection() if page.shown else NOTHING


def reminders(rules: Sequence[Rule], *, nonce: str) -> Injection:
    if not rules:
        return NOTHING
    page = _Page(nonce, REMINDERS_CHARS)
    page.say("Bears on this call:")
    page.list((rule.id, clip(_rule_line(rule, REMINDER_CHARS), REMINDER_CHARS + 60)) for rule in rules)
    return page.injection()


def read(
    recalled: Recalled, *, nonce: str, now: Moment, ask: str = READ, archived: str = "`recollect recall --archived`"
) -> Injection:
    """A recall that was asked for, by its virtual name or by a tool, in the shape of every recall, fenced like the
    rest. `ask`: how the reader asks, with {} for the question; `archived`: how for what was archived on purpose."""
    text = _fitting(nonce, lambda chars: recall_text(recalled, now=now, ask=ask, max_chars=chars, archived=archived))
    return Injection(text, tuple(dict.fromkeys(one.hit.turn_mark for one in recalled.found.found)))


def show(shown: Shown, *, nonce: str, now: Moment, ask: str, offset: int = 0) -> str:
    """One memory, from `offset` on."""
    return _fitting(nonce, lambda chars: memory_text(shown, now=now, ask=ask, max_chars=chars, offset=offset))


def json_chars(value: Json) -> int:
    """How many characters it takes as JSON, as hosts count: in UTF-16."""
    return _units(json.dumps(value, ensure_ascii=False))


def _fitting(nonce: str, make: Callable[[int], str]) -> str:
    """Within our fence, made for fewer characters until it fits as JSON, where a newline takes two."""
    chars = READ_ROOM
    while True:
        page = _Page(nonce, chars)
        page.put_first(neutral(make(page.room())))
        text = page.injection().text
        over = json_chars(text) - READ_ROOM
        if over <= 0 or chars <= _AROUND:
            return text
        chars -= max(50, over // 2)


def heart_line(heart: Heartbeat) -> str:
    beat = json.dumps({"beat": heart.beat, "since_last": heart.since_last})
    return f"Heartbeat: {beat} ({heart.meaning})"


def _since(heart: Heartbeat) -> str:
    minutes = heart.since_last * BEAT_MINUTES
    spent = counted(minutes, "minute") if minutes < 120 else counted(round(minutes / 60), "hour")
    if minutes >= 2 * 24 * 60:
        spent = counted(round(minutes / 24 / 60), "day")
    return f"{heart.meaning}: {spent} since the last prompt"


# What was ours


def is_ours(text: str) -> bool:
    return _OPENED.search(text) is not None


def without_ours(text: str) -> str:
    """What remains of a text when everything that we put in is taken out."""
    return _BLOCK.sub("", text) if "[recollect " in text else text


def marks_shown(text: str) -> tuple[str, ...]:
    """What our blocks in this text told of, as the ledger enters it, in order."""
    entries = (entry for block in _BLOCK.finditer(text) for entry in _ENTRY.finditer(block.group()))
    return tuple(dict.fromkeys(entry["hit"] or entry["rule"] for entry in entries))


def fingerprints(text: str) -> frozenset[str]:
    """One for each line that says something: an echo of ours is known by its lines, without its fence too."""
    lines = (re.sub(r"\W+", " ", line).strip().casefold() for line in text.splitlines())
    return frozenset(
        hashlib.blake2b(line.encode(), digest_size=6).hexdigest() for line in lines if len(line) >= _PRINTED_CHARS
    )


# How a text is put together


class _Page:
    """Takes whole lines while there is room, and remembers which memories came in and which did not."""

    def __init__(self, nonce: str, max_chars: int) -> None:
        self._open = f"[recollect {nonce}: {_LABEL}]"
        self._close = f"[/recollect {nonce}]"
        self._max_chars = min(max_chars, MOST_CHARS)
        self._free = 0
        self._lines: list[str] = []
        self.shown: list[str] = []
        self.left_out: list[Drop] = []

    def room(self) -> int:
        used = len(self._open) + len(self._close) + 2 + sum(_units(line) + 1 for line in self._lines)
        return self._max_chars - used - self._free

    def keep_free(self, chars: int) -> None:
        self._free = chars

    def say(self, line: str) -> None:
        self._free = 0
        if line and _units(line) < self.room():
            self._lines.append(line)

    def put_first(self, line: str) -> None:
        self._lines.insert(0, line)

    def list(self, entries: Iterable[tuple[str, str]]) -> None:
        """Each with its mark in the ledger."""
        for mark, line in entries:
            if _units(line) < self.room():
                self._lines.append(line)
                self.shown.append(mark)
            else:
                self.left_out.append(Drop(memory_of(mark), OVER))

    def headlines(self, memories: Sequence[Memory], line_of: LineOf, tells: Callable[[Memory], bool]) -> None:
        """Named, not told: what they say may still come to mind. Unless a headline `tells` all of a body."""
        told = {turn_mark(memory.id) for memory in memories if tells(memory)}
        shown = len(self.shown)
        self.list((turn_mark(memory.id), line_of(memory)) for memory in memories)
        self.shown[shown:] = [mark for mark in self.shown[shown:] if mark in told]

    def always(self, notes: Sequence[Memory]) -> None:
        if notes:
            self.say(f"Loaded {len(notes)} always-load entries")
            line_of = _note_lines(notes)
            self.list((note.id, line_of(note)) for note in notes)

    def rules(self, rules: Sequence[Rule]) -> None:
        """The first ones as far as there is room, then in their sections."""
        room = self.room() - sum(len(name) + 2 for _, name in SECTIONS) - 80
        kept: list[Rule] = []
        for rule in rules:
            room -= _units(_rule_line(rule, RULE_CHARS)) + 1
            if room >= 0:
                kept.append(rule)
            else:
                self.left_out.append(Drop(rule.id, OVER))
        for rule_type, name in SECTIONS:
            of_type = [rule for rule in kept if rule.rule_type is rule_type]
            if of_type:
                self._lines.append(f"{name}:")
                self._lines += [_rule_line(rule, RULE_CHARS) for rule in of_type]
                self.shown += [rule.id for rule in of_type]
        if len(kept) < len(rules):
            self._lines.append(f"({len(rules) - len(kept):,} more: read .ai/recall/<words> for those on a subject)")

    def injection(self, notice: str = "") -> Injection:
        if not self._lines:
            return NOTHING
        text = "\n".join([self._open, *self._lines, self._close])
        return Injection(text, tuple(self.shown), tuple(self.left_out), notice)


def _units(text: str) -> int:
    """Hosts count in UTF-16, where what is beyond the first plane takes two."""
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)


def _rule_line(rule: Memory, max_chars: int) -> str:
    return f"- [{rule.lane}] {plain(rule.body or rule.title, max_chars)} ({rule.id})"


def _note_lines(notes: Sequence[Memory]) -> LineOf:
    """Few notes are told whole; of many each as much as there is room for."""
    most = max(RULE_CHARS, ALWAYS_CHARS // len(notes) - _TITLE_CHARS)

    def line(note: Memory) -> str:
        title, said = plain(note.title, _TITLE_CHARS), plain(note.body, most)
        if said.startswith(title.rstrip("\u2026")):
            return f"- [{note.lane}] {said} ({note.id})"
        return f"- [{note.lane}] {title} ({note.id}): {said}"

    return line


def _thread_line(thread: Memory, now: Moment) -> str:
    named = f"{thread.kind} {turn_mark(thread.id)}" if _is_short(thread) else thread.id
    return f"- {named} [{thread.lane}] {_words(thread, thread.body)} ({ago(thread.last_active_at, now)})"


def _is_short(memory: Memory) -> bool:
    """A headline says all that it says."""
    body = memory.body.strip()
    said, most = (body, PASSAGE_CHARS) if body else (memory.title, _TITLE_CHARS)
    return len(said) <= 10 * most and plain(said, most) == plain(said, 10 * most)


def _hit_line(hit: Hit) -> str:
    memory = hit.memory
    words = _words(memory, " \u2026 ".join(hit.shown) or hit.text, ANSWER_CHARS)
    since = f" (stale: {plain(stale(hit.stale), _TITLE_CHARS)} changed since)" if hit.stale else ""
    return f"- {memory.kind} {hit.mark} [{memory.lane}] {hit.score:.2f}: {words}{since}"


def _pointer_line(memory: Memory) -> str:
    name = f"{plain(memory.path, _TITLE_CHARS)}: " if isinstance(memory, Note) and memory.path else ""
    return f"- {memory.kind} {memory.id} [{memory.lane}] {name}{plain(memory.title, _TITLE_CHARS)}"


def _words(memory: Memory, passage: str, max_chars: int = PASSAGE_CHARS) -> str:
    """Title and passage; only one of them where they begin alike."""
    title, said = plain(memory.title, _TITLE_CHARS), plain(passage, max_chars)
    begins = title.rstrip("\u2026")
    if said.startswith(begins):
        return said
    return f"{title} - {said}" if said and not begins.startswith(said) else title
