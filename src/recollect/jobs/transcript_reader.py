"""Reads a transcript from where we stopped, as acts: calls joined with their results, everything redacted, and what we
injected removed again. An act is known by a checksum of 64 bits, so that none is recorded twice: sessions that were
forked or resumed repeat older lines in new files, under other ids."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Container, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from recollect import agents
from recollect.agents.transcript import Cursor, Tail, Utterance, Voice
from recollect.app.core import App
from recollect.app.states import ReadTranscript
from recollect.base.moment import Moment
from recollect.base.structs import Struct, field, replace
from recollect.base.text import cut_middle, storable
from recollect.model.session import Act, ReadAct, Speaker, ToolCall
from recollect.render import inject
from recollect.store import LocalStore
from recollect.wire.pointer import file_size

MAX_CHARS = 8_000  # kept of one text: its beginning and its end
# Looked through for secrets and our own blocks: so much more than is kept that none of them is kept in part.
_LOOKED_AT_CHARS = 32_000
BACK_BYTES = 2_000_000  # read again, to know what went before, when nothing is remembered any more
_CALLS_HELD = 500
_ANSWERS = frozenset({Voice.REPLY, Voice.TOOL_CALL, Voice.TOOL_RESULT, Voice.SUMMARY})
_SPEAKERS = {Voice.PROMPT: Speaker.PERSON, Voice.TOOL_RESULT: Speaker.TOOL}
_SPEAKERS |= dict.fromkeys((Voice.PLAN, Voice.REPLY), Speaker.AGENT)


class Reading(
    Struct, frozen=False
):  # what is remembered of one transcript between two looks at it; in memory alone
    cursor: Cursor = field(default_factory=Cursor)
    acts: deque[Act] = field(default_factory=lambda: deque(maxlen=200))
    calls: OrderedDict[str, ToolCall] = field(
        default_factory=OrderedDict
    )  # those that have no result yet
    printed: OrderedDict[str, None] = field(
        default_factory=OrderedDict
    )  # fingerprints of lines that hooks put in
    found: Counter[str] = field(default_factory=Counter)  # secrets that were removed, by kind
    damaged: int = 0  # lines that could not be read
    queued: deque[Utterance] = field(
        default_factory=lambda: deque(maxlen=_CALLS_HELD)
    )  # typed, and not sent yet
    sent: str = ""  # the text that was last sent out of the queue. Newer clients write it down again as a prompt.
    last_tool: ToolCall | None = None  # the call whose result was read last


class Piece(NamedTuple):
    new: dict[int, Act]  # acts that were not recorded yet, by their keys
    copies: int  # acts that were
    size: int  # bytes of transcript
    more: bool  # there is more to read


def read_piece(
    app: App, store: LocalStore, one: ReadTranscript, reading: Reading, max_bytes: int, *,
    session: str = "", seen: Container[int] = (),
) -> Piece:  # fmt: skip
    """What comes after the reading's cursor, which moves with it; about `max_bytes` at once. Acts that were recorded or
    `seen`, and those of another session than `session` (copied from its transcript), only tell what went before."""
    tail, start = Tail(Path(one.path), reading.cursor), reading.cursor.offset
    found: list[Act] = []
    for utterances in agents.utterances_by_line(one.host, tail):
        for utterance in utterances:
            act = _act(app, one.host, reading, utterance)
            if act is not None:
                (
                    reading.acts if session and utterance.session not in ("", session) else found
                ).append(act)
        if tail.offset - (0 if tail.restarted else start) > max_bytes:
            break
    size = tail.offset - (0 if tail.restarted else start)
    reading.cursor = tail.cursor
    reading.damaged += tail.skipped
    by_key = {act_key(act): act for act in found}
    recorded = {one.key: one.change for one in store.records(ReadAct, key=list(by_key))}
    undone = {change for change in set(recorded.values()) if is_undone(store, change)}
    is_new = {key: recorded.get(key) is None or recorded[key] in undone for key in by_key}
    new = {key: act for key, act in by_key.items() if is_new[key] and key not in seen}
    copies = {key: act for key, act in by_key.items() if key not in new}
    reading.acts.extend(copies.values())
    return Piece(new, len(copies), size, size > max_bytes)


def read_back(app: App, host: str, path: Path, cursor: Cursor) -> Reading:
    """At a cursor, with the acts just before it."""
    reading = Reading(Cursor(max(0, cursor.offset - BACK_BYTES)))
    tail = Tail(path, reading.cursor)
    for utterance in agents.utterances(host, tail):
        if tail.cursor.offset > cursor.offset:
            break
        act = _act(app, host, reading, utterance)
        if act is not None:
            reading.acts.append(act)
    reading.cursor = cursor
    return reading


def read_end(app: App, host: str, transcript: str) -> list[Act]:
    """The last acts, as the file is now; empty where it cannot be read."""
    size = file_size(transcript)
    return list(read_back(app, host, Path(transcript), Cursor(size)).acts) if size > 0 else []


class TurnStart(
    NamedTuple
):  # where a turn begins in a transcript, and what was typed before and not sent yet
    offset: int
    id: str
    at: Moment
    queued: tuple[Utterance, ...]
    sent: str


def find_turns(app: App, host: str, path: Path) -> tuple[list[TurnStart], Reading]:
    """Reads all of a transcript, but looks only at what a person typed or was put in by hooks. Also returns what
    `read_turns` needs to know."""
    reading, tail, starts, offset = Reading(), Tail(path), list[TurnStart](), 0
    for utterances in agents.utterances_by_line(host, tail):
        for one in utterances:
            if one.voice in _ANSWERS or one.call or one.agent_id:
                continue
            queued, sent = tuple(reading.queued), reading.sent
            act = _act(app, host, reading, one)
            is_new = act is not None and (not starts or starts[-1].offset != offset)
            if act is not None and is_new and (act.plan or act.speaker is Speaker.PERSON):
                starts.append(TurnStart(offset, act.id, act.at, queued, sent))
        offset = tail.offset
    return starts, reading


def read_turns(
    app: App, host: str, path: Path, known: Reading, first: TurnStart, until: int
) -> Iterator[tuple[int, Utterance, Act | None]]:
    """What was said from the start of a turn up to an offset, with the offset of each line. Results of calls that went
    well are left out; nobody looks at them."""
    reading = Reading(queued=deque(first.queued), sent=first.sent, printed=known.printed)
    tail, offset = Tail(path, Cursor(first.offset)), first.offset
    for utterances in agents.utterances_by_line(host, tail):
        if tail.offset > until:
            return
        for one in utterances:
            if not one.agent_id:
                is_dull = one.voice is Voice.TOOL_RESULT and not (one.call and one.call.failed)
                yield (
                    offset,
                    one,
                    _act(app, host, reading, replace(one, text="") if is_dull else one),
                )
        offset = tail.offset


def _act(app: App, host: str, reading: Reading, utterance: Utterance) -> Act | None:
    is_queued = utterance.voice in (Voice.QUEUED, Voice.SENT, Voice.UNQUEUED)
    if is_queued or (reading.sent and utterance.text == reading.sent):
        utterance = _out_of_queue(reading, utterance)
    call, use, refused, id = utterance.call, None, False, utterance.id
    if utterance.voice is Voice.INJECTION:
        reading.printed.update(dict.fromkeys(inject.fingerprints(utterance.text)))
        while len(reading.printed) > 5_000:
            reading.printed.popitem(last=False)
        return None
    if utterance.voice is Voice.TOOL_CALL and call is not None:
        reading.calls[call.id] = call
        if len(reading.calls) > _CALLS_HELD:
            reading.calls.popitem(last=False)
        return None
    speaker = _SPEAKERS.get(utterance.voice)
    if speaker is None:
        return None
    last = reading.last_tool
    is_of_own_tool = call and last and last.id == call.id and "__" not in last.name
    if speaker is Speaker.TOOL and call is not None:
        asked = reading.last_tool = reading.calls.pop(call.id, None)
        use = agents.agent(host).describe_call(asked) if asked else None
        if use is not None:
            what = cut_middle(_redact(app, use.what, reading), MAX_CHARS)
            use = replace(
                use, what=what, files=tuple(_redact(app, file, reading) for file in use.files)
            )
        refused = call.failed is True and (
            call.refused or agents.agent(host).is_refused(call.output)
        )
        id = call.id or id
    elif call and not (call.refused or is_of_own_tool):
        return None  # what a server's tool (`server__tool`) prints may look like a refusal, and is nobody's word
    elif utterance.machine_made:
        speaker = Speaker.MACHINE
    text = clean(app, utterance.text, reading)
    if not text and use is None:
        return None
    return Act(
        id=id, at=utterance.at or Moment(0), speaker=speaker, text=text, use=use,
        failed=call.failed if call and use else None, refused=refused,
        refuses=call.id if call is not None and speaker is Speaker.PERSON else "",
        agent=utterance.agent_id, plan=utterance.voice is Voice.PLAN, prompt_id=utterance.prompt_id,
        partial=len(utterance.text) > MAX_CHARS or inject.without_ours(utterance.text) != utterance.text,
    )  # fmt: skip


def _out_of_queue(reading: Reading, utterance: Utterance) -> Utterance:
    """A prompt if it is sent now; otherwise an empty one, which is left out."""
    reading.sent = ""
    if utterance.voice is Voice.QUEUED:
        reading.queued.append(utterance)
    elif utterance.voice is Voice.UNQUEUED and reading.queued:
        reading.queued.popleft()
    elif utterance.voice is Voice.SENT and reading.queued:
        # Older clients do not say what they send. A person's words go first.
        alike = [one for one in reading.queued if one.machine_made == utterance.machine_made]
        first = next((one for one in alike if utterance.text in ("", one.text)), reading.queued[0])
        reading.queued.remove(first)
        reading.sent = first.text
    return replace(utterance, voice=Voice.PROMPT, text=reading.sent)


def clean(app: App, text: str, reading: Reading | None = None) -> str:
    """The text without secrets and our own injections, shortened."""
    text = cut_middle(inject.without_ours(_redact(app, text, reading)).strip(), MAX_CHARS)
    if reading is not None and reading.printed:
        lines = text.splitlines()
        text = "\n".join(
            line for line in lines if not inject.fingerprints(line) & reading.printed.keys()
        ).strip()
    return text


def _redact(app: App, text: str, reading: Reading | None) -> str:
    """Redacted before it is cut to what is kept: nobody recognises half a secret."""
    if len(text) > _LOOKED_AT_CHARS:
        text = cut_middle(app.redactor.without_private(text), _LOOKED_AT_CHARS)
    cleaned = app.redactor.clean(storable(text))
    if cleaned.found and reading is not None:
        reading.found.update(dict(cleaned.found))
    return cleaned.text


def act_key(act: Act) -> int:
    """The same for a copy in another file."""
    # Without its time, two acts that say the same are told apart by their lines.
    which = act.id if act.use or act.at.micros <= 0 else ""
    spelt = f"{act.at.micros} {act.speaker} {which} {'' if act.use else act.text[:200]}"
    return int.from_bytes(
        blake2b(spelt.encode("utf-8", "replace"), digest_size=8).digest(), "little", signed=True
    )


def is_undone(store: LocalStore, change: str) -> bool:
    found = store.log(limit=1, change=change) if change else []
    return bool(found and found[0].undone_by)
