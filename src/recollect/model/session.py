"""Values of a session: who is talking to us, what they said and what we answer (hosts' own shapes are converted in
`agents`), how long they paused, what they were shown, and how things ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from enum import StrEnum
from typing import NamedTuple, Self

from recollect.base.moment import Moment
from recollect.base.structs import Struct, field, replace
from recollect.base.text import blake2b, clip, one_line


class EventName(StrEnum):
    SESSION_STARTED = "session-started"
    PROMPT = "prompt"
    TOOL_CALLED = "tool-called"  # it has not run yet
    TOOLS_RAN = "tools-ran"
    TOOL_FAILED = "tool-failed"
    TURN_ENDED = "turn-ended"
    SUBAGENT_STARTED = "subagent-started"
    SUBAGENT_ENDED = "subagent-ended"
    COMPACTING = "compacting"
    PERMISSION_DENIED = "permission-denied"
    SESSION_ENDED = "session-ended"
    OTHER = "other"  # unknown to this version


class Session(Struct, kw_only=True):
    id: str
    host: str
    started_at: Moment
    last_at: Moment  # when it was last heard of
    agent: str = ""  # a subagent has a record of its own
    number: int = 0  # counts used sessions: 0 until the first message
    epoch: int = 0  # rises when the agent forgets what it was shown (compaction, clear)


class SessionCounts(NamedTuple):
    prompts: int = 0
    told: int = 0  # memories that it was told
    chars: int = 0  # that they took
    kept: int = 0  # memories that came from it
    transcript: str = ""  # as its events name it

    def plus(self, other: Self) -> Self:
        return self._replace(
            prompts=self.prompts + other.prompts, told=self.told + other.told, chars=self.chars + other.chars,
            kept=self.kept + other.kept, transcript=self.transcript or other.transcript,
        )  # fmt: skip


class ToolCall(Struct, kw_only=True):
    id: str
    name: str  # the agent's own name for the tool
    input: Mapping[str, object]
    output: str = ""  # what the model sees of the result; empty before it ran
    failed: bool | None = None  # None: the host does not say
    refused: bool = False  # the host says it was not allowed


class Event(Struct, kw_only=True):
    name: EventName
    host: str
    session_id: str
    at: Moment
    cwd: str = ""
    project_folder: str = ""  # the project according to the agent; does not follow `cd`
    transcript: str = ""
    prompt_id: str = ""
    prompt_mark: str = ""  # checksum of the whole prompt, as the host sent it
    agent_id: str = ""  # inside a subagent
    agent_type: str = ""
    source: str = ""  # why a session started, ended or was compacted: startup, resume, clear, auto…
    text: str = ""  # what the person typed; the last words of the agent; the error
    plan: str = (
        ""  # the agent's own plan, where the client begins a turn with it; not a person's words
    )
    machine_made: bool = False  # a prompt no person wrote: a task notification, a scheduled wake-up
    tools: tuple[ToolCall, ...] = ()
    reads_below: str = (
        ""  # the folder in which this agent can read files, where that is not everywhere
    )
    silent_s: float | None = (
        None  # how long ago the session this one continues was last answered, if known
    )

    @property
    def asked(self) -> str:
        """What a prompt is about; for a plan, its beginning."""
        return self.text or self.plan[:1_000]


class Reply(Struct, kw_only=True):  # the answer to an event; empty: nothing is printed at all
    context: str = ""  # for the model
    notice: str = ""  # one line for the person's eyes
    read_instead: str = ""  # a file that we just wrote for the virtual one; the only reply that decides a permission
    read_input: Mapping[str, object] = field(
        default_factory=dict
    )  # of that read: hosts replace its input whole

    def __bool__(self) -> bool:
        return bool(self.context or self.notice or self.read_instead)


BEAT_MINUTES = 5  # so that `since_last <= 2` reads as "still talking"
_BEAT_MICROS = BEAT_MINUTES * 60_000_000
ACTIVE = "active conversation"
_MEANINGS = ((2, ACTIVE), (12, "short pause"), (72, "session interrupted"), (288, "new day"))


class Heartbeat(Struct):
    """How long nobody spoke, in beats of five minutes, counted by the clock, whoever looks and however often. A clock
    that was set back takes no beat away."""

    beat: int
    started_at: Moment
    last_beat_at: Moment
    last_interaction_at: Moment
    last_interaction_beat: int

    @property
    def since_last(self) -> int:
        return max(0, self.beat - self.last_interaction_beat)

    @property
    def meaning(self) -> str:
        return next(
            (meaning for most, meaning in _MEANINGS if self.since_last <= most), "long absence"
        )

    @classmethod
    def begin(cls, now: Moment) -> Self:
        return cls(0, now, now, now, 0)

    def tick(self, now: Moment) -> Self:
        """With the beats that have passed since."""
        if now < self.last_beat_at:
            heard = min(self.last_interaction_at, now)
            return replace(
                self,
                last_beat_at=now,
                last_interaction_at=heard,
                started_at=min(self.started_at, now),
            )
        missed = (now.micros - self.last_beat_at.micros) // _BEAT_MICROS
        last = Moment(self.last_beat_at.micros + missed * _BEAT_MICROS)
        return replace(self, beat=self.beat + missed, last_beat_at=last) if missed else self

    def speak(self, now: Moment) -> Self:
        """Someone spoke. Read `since_last` before calling this."""
        heart = self.tick(now)
        return replace(heart, last_interaction_at=now, last_interaction_beat=heart.beat)


class Way(StrEnum):
    """How an agent came to know a memory. Each way shows it once: a rule that was told at the start is still worth a
    reminder before the very call that it is about."""

    TOLD = "told"
    REMINDED = "reminded"
    OWN = "own"  # a turn of its own session, which it need not be told about


class LedgerKey(
    NamedTuple
):  # whose ledger it is: an agent of a session, since it last lost what it was shown
    session: str
    agent: str = ""
    epoch: int = 0


class ShownMemory(NamedTuple):  # an entry of a ledger
    mark: str  # of a passage, a turn or a whole memory
    way: Way
    at: Moment
    call: str = ""  # the tool call before which it was shown, if any
    session: str = ""
    agent: str = ""
    epoch: int = 0

    @property
    def memory(self) -> str:
        return memory_of(self.mark)


def ledger_mark(memory: str, turn: str = "", start: int = 0) -> str:
    """The ledger's entry for a passage: the memory, the turn ("": the body) and where the passage begins in it."""
    return f"{turn_mark(memory, turn)}.{start}"


def turn_mark(memory: str, turn: str = "") -> str:
    """The entry for all passages of a turn. A memory's id alone is the entry for all of the memory."""
    return f"{memory}#{turn[-6:] or 'body'}"


def memory_of(mark: str) -> str:
    return mark.partition("#")[0]


def is_entered(marks: Set[str], mark: str) -> bool:
    """The ledger holds this passage, its whole turn, or its whole memory."""
    return mark in marks or mark.rpartition(".")[0] in marks or memory_of(mark) in marks


class Pointer(
    Struct, kw_only=True
):  # an event that was received: where to read what happened, never what was said
    name: str
    host: str
    session: str
    at: Moment
    agent: str = ""
    prompt: str = ""
    calls: tuple[str, ...] = ()
    source: str = ""
    transcript: str = ""
    size: int = 0  # of the transcript, when the event came
    cwd: str = ""
    mark: str = ""  # only part of the key: a queued prompt has the id of the one before

    @property
    def key(self) -> str:
        """The same however often the event is delivered. Time and size are left out: they differ between the hook that
        gave up and the daemon that did not."""
        parts = (
            self.host,
            self.session,
            self.name,
            self.agent,
            self.prompt,
            self.source,
            self.mark,
            *self.calls,
        )
        return _digest(parts)


class ReadAct(NamedTuple):  # an act of a transcript that was read in
    key: int
    change: str = ""  # the import that read it; empty: it was read live


class StateRecord(NamedTuple):  # a small state, as JSON (app/states.py is the table of states)
    name: str
    value: str | None  # None removes it


class RecallRecord(NamedTuple):  # what was recalled and why, as JSON
    id: str
    at: Moment
    answer: str
    memories: tuple[str, ...] = ()  # to be found by; not read back


class Ending(StrEnum):  # how a call, a turn or a subagent ended
    SUCCESS = "success"
    FAILURE = "failure"
    RE_ASK = "re-ask"  # a person said that the result was not what they wanted
    AGENT_FAILURE = "agent_failure"  # a subagent failed, or was killed
    REFUSAL = "refusal"  # a person did not allow the call


class Outcome(
    Struct, kw_only=True
):  # how something ended, and the memories that were relevant to it; kept for a while
    kind: Ending
    at: Moment
    session: str
    act: str  # the id of the act: the same act read twice is one outcome
    agent: str = ""  # inside a subagent
    actor: str = ""  # the tool that ran, the subagent, the person
    action: str = ""  # what was done, in a line
    next_state: str = ""  # what came of it, in a line: the head of an error, what the person said
    tags: tuple[str, ...] = ()
    shown: tuple[
        str, ...
    ] = ()  # memories the agent was shown just before; those that did not matter are not stored

    @property
    def key(self) -> str:
        return _digest((self.session, self.agent, str(self.kind), self.act))


def shorten(text: str) -> str:
    """One line, short enough to be stored with an outcome."""
    return clip(one_line(text), 300)


class SubagentState(StrEnum):
    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"
    UNKNOWN = "unknown"


class SubagentReport(NamedTuple):  # what a host reports about a subagent that ended
    agent: str
    state: SubagentState
    summary: str = ""
    text: str = ""


def _digest(parts: Iterable[str]) -> str:
    """Each part is spelt with its length before it, so that no two lists are spelt alike."""
    spelt = b"".join(b"%d:%b" % (len(part.encode()), part.encode()) for part in parts)
    return blake2b(spelt, digest_size=16).hexdigest()


class Speaker(StrEnum):
    PERSON = "person"
    AGENT = "agent"
    TOOL = "tool"
    MACHINE = "machine"  # a message no person wrote: a task notification, the words of an IDE or a command


class ToolAction(StrEnum):  # the kind of a tool call, whatever the agent calls its tool
    RUN = "run"
    EDIT = "edit"
    READ = "read"
    SEARCH = "search"
    FETCH = "fetch"  # text from the web: never a rule's wording
    DELEGATE = "delegate"
    OTHER = "other"


class ToolUse(Struct):  # one tool call, in neutral words
    action: ToolAction
    tool: str = ""  # the agent's own name for it
    what: str = ""  # what was asked for: the command, the pattern, the address, the task
    files: tuple[str, ...] = ()


class Act(
    Struct, kw_only=True
):  # what was said, or a tool call with its result, without secrets and our own words
    id: str  # the same whenever the same line is read again
    at: Moment
    speaker: Speaker
    text: str = ""  # what was said; for a call, the result as the agent saw it, without the middle where it is long
    use: ToolUse | None = None
    failed: bool | None = None  # None: the host does not say
    refused: bool = False  # the person did not allow the call
    refuses: str = ""  # the id of the call that the person refused with these words
    agent: str = ""  # inside a subagent
    plan: bool = (
        False  # the agent's own plan, handed on by the client: it begins a turn, as a prompt does
    )
    prompt_id: str = ""
    partial: bool = False  # parts of its text are missing: it was long, or had something fenced like our own text


class SessionPart(
    Struct, kw_only=True
):  # the latest part of a session: new acts, after some that were processed
    host: str
    session: str
    agent: str = ""
    cwd: str = ""
    transcript: str = ""
    acts: tuple[Act, ...] = ()
    new_from: int = (
        0  # acts before this one were processed already: they are context for the new ones
    )
    compacting: bool = False  # the agent is about to lose all but a summary
    ended: bool = False
    turned: bool = False  # the agent has answered a prompt
    past: bool = (
        False  # read long after it happened: no notices, and `now` is the time of the last act
    )

    @property
    def new(self) -> tuple[Act, ...]:
        return self.acts[self.new_from :]
