"""Every small state that we keep in a store, in one table: JSON under a name, made of its type (model/codec.py). What
cannot be read counts as not there, and work goes on. Inside a transaction ask the writer's store: others do not see yet
what it wrote. States hold no words that anyone said, except where the row says so."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from recollect.agents import DEFAULT_HOST, Cursor
from recollect.base.errors import HomeRefused
from recollect.base.files import write_view
from recollect.base.local_time import local_day
from recollect.base.moment import Moment
from recollect.base.structs import Struct, field, replace
from recollect.model.ask import Use
from recollect.model.codec import Json, decode, encode
from recollect.model.memory import RulePolicy
from recollect.model.plan import Change, change_of, ids_of
from recollect.model.session import Act, EventName, Heartbeat, SessionPart, Speaker, StateRecord
from recollect.recall.selection import Focus

if TYPE_CHECKING:
    from recollect.app.core import App
    from recollect.store import Store

T = TypeVar("T")
_TIMES_KEPT = 200  # of each event
Memo = dict[type, Any]  # what a job keeps in memory between two runs in one project, by its type


def read_text(store: Store, name: str) -> str | None:
    return next((one.value for one in store.records(StateRecord, name=name)), None)


class State(Struct, Generic[T]):
    name: str  # where it ends with a colon there is one for each key
    type: type[T]
    what: str
    limit: int = 0  # how many entries of a list, tuple or dict are kept: the newest

    def find(self, store: Store, key: str = "") -> T | None:
        return self._decoded(read_text(store, self.name + key))

    def read(self, store: Store, key: str = "") -> T:
        """An empty one where there is none."""
        found = self.find(store, key)
        return self.type() if found is None else found

    def find_all(self, store: Store, under: str = "") -> dict[str, T]:
        """All values by key. `under`: only keys that begin with this."""
        found = store.records(StateRecord, under=self.name + under)
        read = {one.name: self._decoded(one.value) for one in found}
        return {
            name.removeprefix(self.name): value for name, value in read.items() if value is not None
        }

    def write(self, store: Store, value: T, key: str = "") -> None:
        if self.limit and isinstance(value, dict):
            value = cast(T, dict(list(value.items())[-self.limit :]))
        elif self.limit:
            value = cast(Any, value)[-self.limit :]
        store.put(StateRecord(self.name + key, json.dumps(encode(value))))

    def remove(self, store: Store, key: str = "") -> None:
        store.put(StateRecord(self.name + key, None))

    def _decoded(self, text: str | None) -> T | None:
        try:
            return None if text is None else decode(self.type, json.loads(text))
        except (ValueError, RecursionError):
            return None


class ReadPart(Struct):
    """How far a transcript was read: live, or by one import. A part whose import was undone counts as not read."""

    change: str = ""  # the import; empty: it is read live, while it is written
    cursor: Cursor = field(default_factory=Cursor)
    ended: bool = False  # its session is over
    prompts: int = 0  # that a person sent in it
    began: Moment | None = None  # the times of its first and its last act
    last_at: Moment | None = None


class ReadAttempt(Struct, kw_only=True):
    offset: int = -1
    tries: int = 0
    careful_until: int = 0  # up to this offset lines are read one by one

    @property
    def is_careful(self) -> bool:
        return self.offset < self.careful_until


class SetAsideLine(Struct, kw_only=True):
    path: str
    offset: int
    size: int
    at: Moment


class ReadTranscript(Struct, kw_only=True):
    path: str
    session: str = ""
    host: str = DEFAULT_HOST
    agent: str = ""  # the subagent whose transcript it is: its end ends no session
    cwd: str = ""
    parts: tuple[ReadPart, ...] = ()
    read_at: Moment = field(default_factory=lambda: Moment(0))

    @property
    def last(self) -> ReadPart:
        return self.parts[-1] if self.parts else ReadPart()

    @property
    def is_live(self) -> bool:
        return bool(self.parts) and not self.last.change

    def session_part(self, before: Sequence[Act], new: Iterable[Act], **flags: bool) -> SessionPart:
        """What is new in it, after the acts `before`."""
        return SessionPart(
            host=self.host, session=self.session, agent=self.agent, cwd=self.cwd, transcript=self.path,
            acts=(*before, *new), new_from=len(before), **flags,
        )  # fmt: skip

    def with_part(
        self, change: str, cursor: Cursor, ended: bool, acts: Sequence[Act] = ()
    ) -> ReadTranscript:
        """With these acts read live or by the same import, or by the next import."""
        is_same = bool(self.parts) and self.last.change == change
        part = self.last if is_same else ReadPart(change)
        prompts = sum(
            act.speaker is Speaker.PERSON and not (act.agent or act.refuses) for act in acts
        )
        times = [
            one for one in (part.began, part.last_at, *(act.at for act in acts)) if one is not None
        ]
        began, last_at = (min(times), max(times)) if times else (None, None)
        part = ReadPart(change, cursor, ended, part.prompts + prompts, began, last_at)
        return replace(self, parts=(*(self.parts[:-1] if is_same else self.parts), part))


class ThreadMark(Struct):  # what is known of a session between two looks at its transcript
    waiting: str = ""  # the first act that was not recorded yet
    turn: str = ""  # the message of the turn that was written last
    threads: tuple[str, ...] = ()  # the latest first


class TurnVectors(Struct):  # of the turns that one look of an import brought
    model: str = ""
    turns: tuple[tuple[str, str], ...] = ()  # the turn's message, and its vector in base 64


class Question(
    Struct
):  # where the words are that a language model is to be asked about; never the words themselves
    use: Use
    host: str
    session: str
    transcript: str
    mark: str = ""  # a checksum of the prompt, or the id of the last act
    at: int = 0  # when it was noted (microseconds)

    @property
    def key(self) -> str:
        return f"{self.use}:{self.session}:{self.mark}"


class Questions(Struct):
    waiting: tuple[Question, ...] = ()
    asked: tuple[str, ...] = ()  # keys, so that nothing is paid for twice


class JobRecord(Struct):  # what a store knows of a job that is due by the count of sessions
    last: int | None = None  # the session of the last run, or of the baseline
    at: int = 0  # when that was (microseconds)
    tries: int = 0  # since then

    @property
    def ran_at(self) -> Moment | None:
        return Moment(self.at) if self.last is not None else None


class SeenPrompt(Struct):
    mark: str  # a checksum of its words
    host: str
    at: int


class DayCounts(Struct):
    prompts: int = 0
    answered: int = 0  # prompts with which something was told
    told: int = 0  # memories, at any event
    chars: int = 0  # of what was told


class TeamLink(Struct):  # that a person has confirmed: this project is that project of the team
    tenant: str = ""
    project: str = ""


class Mirror(Struct):  # how far the copy of the team's memories is
    tenant: str = ""
    project: str = ""
    seq: int = 0  # of the last change of the team's journal that it has
    change: str = ""  # its id: a server that was restored from a backup has another one there
    at: int = 0  # when the team's server last answered (microseconds)
    is_partial: bool = False  # the team shares more than is copied
    failed_at: int = 0  # when the server was last asked in vain; 0 once it has answered

    @property
    def last(self) -> tuple[int, str]:
        return self.seq, self.change


PURGE = "purge"  # the operation of a change that erases instead of writing


class OutgoingChange(Struct):  # for the team; its words are those that are shared
    tenant: str
    change: str
    op: str
    summary: str
    at: Moment
    undoes: str | None
    plan: str  # its changes as JSON, as the journal has them; or the ids that are to be erased

    @property
    def changes(self) -> list[Change]:
        return [change_of(data) for data in json.loads(self.plan)] if self.op != PURGE else []

    @property
    def ids(self) -> list[str]:
        """Of the memories that it speaks of."""
        if self.op == PURGE:
            return [str(id) for id in json.loads(self.plan)]
        return [id for change in self.changes for id in ids_of(change)]


# In the team's own store.
class Member(Struct):
    name: str
    joined_at: Moment
    left_at: Moment | None = None


class SharedProject(Struct):
    name: str
    first_commit: str
    remote: str


HEARTBEAT = State("heartbeat", Heartbeat, "How long nobody spoke, in beats.")
FOCUS = State(
    "focus", tuple[Focus, ...], "Topics that a person put in focus, in their words.", limit=50
)
SESSIONS = State("sessions", int, "How many sessions were used so far.")
NOTICES = State("notices", list[str], "Lines that wait to be shown to a person.", limit=5)
CAPTURED = State(
    "captured", dict[str, int], "How many prompts were kept, queued or dropped, by reason."
)
CLAIMED_PROMPTS = State(
    "heard", dict[str, int], "Prompts that a hook or a transcript has captured.", limit=500
)
RECENT_PROMPTS = State(
    "prompts-lately", list[SeenPrompt], "Prompts of the last seconds, by host.", limit=20
)
CURSORS = State(
    "cursor:", ReadTranscript, "How far each transcript was read, live or by which imports."
)
READ_ATTEMPTS = State(
    "reading:", ReadAttempt, "Where in a transcript reading began, until the cursor has moved."
)
SET_ASIDE = State(
    "set-aside", list[SetAsideLine], "Lines of transcripts that ended the daemon.", limit=50
)
EVENTS_READ = State("digested", int, "The last received event that was looked at.")
THREAD_MARKS = State(
    "threads", dict[str, ThreadMark], "Where the threads of each session stand.", limit=50
)
TURN_VECTORS = State(
    "turn-vectors:",
    TurnVectors,
    "What an import that was cut off knew of its turns, so that it goes on as if it had not been.",
)
SESSION_ENDS = State(
    "ends", dict[str, int], "When each session last ended (microseconds).", limit=100
)
QUESTIONS = State("questions", Questions, "What a language model is to be asked, and was.")
SPENT = State(
    "llm-spent", dict[str, dict[str, tuple[int, int]]], "Calls and tokens by day and use.", limit=31
)
DAYS = State(
    "days", dict[str, DayCounts], "How many prompts there were and what was told, by day.", limit=31
)
HOOK_TIMES = State(
    "hook-times", dict[str, list[int]], "What the latest answers took, in milliseconds, by event."
)
JOB_RECORDS = State("job:", JobRecord, "When jobs that count sessions last ran.")
OUTDATED = State(
    "flagged", dict[str, str], "Memories that a review found out of date, with their content hash."
)
LAST_FILE_CHANGES = State(
    "file-changes", str, "The last changes of notes' files that were committed with their notes."
)
TEAM_LINK = State("team-link", TeamLink, "Which project of the team this is.")
SHARED = State(
    "shared", dict[str, str], "Memories that were shared from here, and with which team."
)
OUTBOX = State(
    "outbox:",
    OutgoingChange,
    "Changes that the team does not have yet, with the words that are shared.",
)
MIRROR = State("mirror", Mirror, "How far the copy of the team's memories is.")
TEAM_PROBLEM = State("team-problem", str, "Why the team could not be reached, once that was said.")
MEMBERS = State("member:", Member, "Who joined the team, by machine.")
TEAM_PROJECTS = State("project:", SharedProject, "The projects of the team.")
RULE_POLICY = State(
    "rule-policy", RulePolicy, "Which shared rules are in force for members who have not decided."
)
ALLOWED_NOTES = State(
    "vault-allowed", str, "A hash of the repository's always-load notes that a person allowed."
)


def count_captured(app: App, reason: str) -> None:
    """Counters for `status`: prompts and turns that were kept, put into the inbox or dropped, by reason."""
    if not app.dry_run:
        store = app.writer(app.scope)
        counts = CAPTURED.read(store)
        CAPTURED.write(store, counts | {reason: counts.get(reason, 0) + 1})


def count_answer(app: App, event: str, told: int, chars: int, took_ms: float) -> None:
    """For `figures`: an event was answered."""
    store, day = app.writer(app.scope), local_day(app.clock.now())
    days, times, is_prompt = DAYS.read(store), HOOK_TIMES.read(store), event == EventName.PROMPT
    before = days.pop(day, DayCounts())
    answered = before.answered + (is_prompt and told > 0)
    now = DayCounts(before.prompts + is_prompt, answered, before.told + told, before.chars + chars)
    DAYS.write(store, {**days, day: now})
    HOOK_TIMES.write(
        store, {**times, event: [*times.get(event, ()), round(took_ms)][-_TIMES_KEPT:]}
    )


def write_project_view(app: App, name: str, shown: Mapping[str, Json]) -> None:
    """Writes a copy beside the project's files, if there is a project and a place for it."""
    if app.project is None or app.dry_run:
        return
    with suppress(OSError, HomeRefused):
        write_view(
            app.project.root / ".ai" / name, json.dumps(shown, ensure_ascii=False, indent=2) + "\n"
        )
