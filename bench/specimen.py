"""A small database that has some of everything, the same in every run, for the bit flips."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import apsw

from bench.corpus import Corpus
from recollect.base.moment import Moment
from recollect.base.text import first_line_title
from recollect.lifecycle import edits
from recollect.lifecycle.strength import AgeRules
from recollect.model.memory import (
    Anchor,
    Bridge,
    BridgeType,
    Memory,
    Message,
    Note,
    Rating,
    Rule,
    RuleType,
    Status,
    Thread,
)
from recollect.model.plan import Create, Link, Plan, Update
from recollect.model.session import (
    Ending,
    Outcome,
    Pointer,
    ReadAct,
    RecallRecord,
    Session,
    ShownMemory,
    StateRecord,
    Way,
)
from recollect.ops.memories import load_whole
from recollect.store import ChangeHeader, LocalStore, SqliteStore, Tuning

_NOW = Moment.parse("2026-02-01T08:30:00Z")
_THREADS, _RULES, _NOTES = 40, 16, 6
_MODEL = "bench"
_DIMENSIONS = 64


@dataclass(frozen=True, slots=True)
class Specimen:
    content: bytes
    page_bytes: int
    owners: dict[int, str]
    """Page number -> the table or index it belongs to."""

    def owner(self, offset: int) -> str:
        return self.owners.get(offset // self.page_bytes + 1, "free or shared")


def make(path: Path) -> Specimen:
    """Closed, with nothing left in its log."""
    store = SqliteStore(path, Tuning(synchronous="OFF"))
    try:
        _Filler(store).fill()
    finally:
        store.close()
    content = path.read_bytes()
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        owners = {
            int(page): str(name) for page, name in db.execute("SELECT pageno, name FROM dbstat")
        }
        return Specimen(content, int(db.pragma("page_size")), owners)
    finally:
        db.close()


class _Clock:
    """A second later at every look."""

    def __init__(self) -> None:
        self._seconds = 0

    def now(self) -> Moment:
        self._seconds += 1
        return _NOW.plus(seconds=self._seconds)


class _Ids:
    """In the shape of real ones, without their chance: a flip can then be made again."""

    def __init__(self, clock: _Clock) -> None:
        self._clock = clock
        self._number = count(1)

    def draw(self, kind: str) -> str:
        return f"{kind}_{self._clock.now().stamp()}_{next(self._number):06x}"


class _Filler:
    def __init__(self, store: LocalStore) -> None:
        self._store = store
        self._clock = _Clock()
        self._ids = _Ids(self._clock)
        self._corpus = Corpus(0, vocabulary=1_000)

    def fill(self) -> None:
        threads = [self._thread(number) for number in range(_THREADS)]
        rules = [self._rule(number) for number in range(_RULES)]
        self._apply(Plan.of([Create(self._note(number)) for number in range(_NOTES)]))
        for number, rule in enumerate(rules):
            kind = list(BridgeType)[number % len(BridgeType)]
            self._apply(
                Plan.of([Link(Bridge(threads[number].id, rule.id, kind, 0.65, self._clock.now()))])
            )
        for keep, lose in zip(threads[:5], threads[5:10], strict=True):
            self._merge(keep, lose)
        for thread in threads[20:24]:
            self._apply(edits.archive(thread))
        last = self._apply(
            Plan.of([Update.between(threads[30], replace(threads[30], title="Retitled"))])
        )
        self._store.undo(last, self._act("undo", undoes=last))
        recalled = tuple(thread.id for thread in threads[:3])
        self._store.put(RecallRecord(self._ids.draw("recall"), self._clock.now(), "{}", recalled))
        self._sessions([thread.id for thread in threads])
        self._vectors()

    def _sessions(self, ids: list[str]) -> None:
        sessions = self._store
        sessions.put(StateRecord("heartbeat", '{"beat": 847}'))
        for number in range(8):
            id, now = f"session-{number}", self._clock.now()
            sessions.put(Session(id=id, host="bench", started_at=now, last_at=now, number=number))
            sessions.put(
                *(ShownMemory(one, Way.TOLD, now, f"call-{number}", id) for one in ids[number::8])
            )
            sessions.put(Pointer(name="turn-ended", host="bench", session=id, at=now, size=number))
            sessions.put(ReadAct(1_000 + number, "" if number % 2 else f"change-{number}"))
            failed = Outcome(
                kind=Ending.FAILURE,
                at=now,
                session=id,
                act=f"call-{number}",
                action="make",
                shown=(ids[0],),
            )
            self._store.put(failed)

    def _thread(self, number: int) -> Memory:
        # Every twentieth is long enough for several passages.
        body = self._corpus.text(300 if number % 20 == 0 else 20)
        id = self._ids.draw("thread")
        now = self._clock.now()
        thread = Thread(
            id=id,
            title=first_line_title(body),
            body=body,
            topics=self._corpus.topics(),
            status=Status.SUSPENDED if number % 7 == 0 else Status.ACTIVE,
            ratings=(Rating(True, now, "helped"),) if number % 5 == 0 else (),
            anchors=(Anchor(f"src/file{number}.py", "0badc0de"),),
            group=f"session-{number % 4}",
            drift=self._corpus.topics(),
            created_at=now,
            reinforced_at=now,
            last_active_at=now,
        )
        said = [
            Message(self._ids.draw("message"), id, self._clock.now(), "user", self._corpus.text(12))
            for _ in range(2)
        ]
        self._apply(Plan.of([Create(thread, tuple(said))]))
        return thread

    def _rule(self, number: int) -> Memory:
        now = self._clock.now()
        body = self._corpus.text(12)
        rule = Rule(
            id=self._ids.draw("rule"),
            title=first_line_title(body),
            body=body,
            rule_type=list(RuleType)[number % len(RuleType)],
            created_at=now,
            reinforced_at=now,
            last_active_at=now,
        )
        self._apply(Plan.of([Create(rule)]))
        return rule

    def _note(self, number: int) -> Memory:
        now = self._clock.now()
        body = self._corpus.text(25)
        return Note(
            id=self._ids.draw("note"),
            title=f"Note {number}",
            body=body,
            path=f"notes/{number}.md",
            created_at=now,
            reinforced_at=now,
            last_active_at=now,
        )

    def _merge(self, keep: Memory, lose: Memory) -> None:
        self._apply(
            edits.merge(
                load_whole(self._store, keep),
                load_whole(self._store, lose),
                now=self._clock.now(),
                rules=AgeRules(),
            )
        )

    def _vectors(self) -> None:
        bare = self._store.vectorless(_MODEL, 10_000)
        made = [
            array("f", ((seq * 31 + place * 7) % 256 - 128 for place in range(_DIMENSIONS)))
            for seq, _ in bare
        ]
        self._store.put_vectors(
            _MODEL, [(seq, floats.tobytes()) for (seq, _), floats in zip(bare, made, strict=True)]
        )

    def _apply(self, plan: Plan) -> str:
        act = self._act("bench")
        self._store.apply(plan, act)
        return act.change

    def _act(self, op: str, undoes: str | None = None) -> ChangeHeader:
        return ChangeHeader(self._ids.draw("change"), op, "bench", "", self._clock.now(), undoes)
