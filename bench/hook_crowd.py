"""Many sessions at once, and very many events: is anything lost, and what becomes of the daemon.

Lost is what is neither in the store nor in the spool. The store keeps only the latest events, so it is read while
they come; each event has a prompt id of its own and is known by it.

The crowd is of real hook processes, each session in a process of its own that starts one after the other. The long
run sends its events from one process: it is the daemon that is looked at, and a hundred thousand interpreters would
show nothing more of it.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass

import apsw

from bench import child, house, processes
from bench.child import Child
from bench.hook_pace import Spread, Step
from bench.house import House, payload, soon
from bench.processes import Body
from recollect.wire.frame import OK, BadFrame

# What a turn brings that has to be kept. Other events are asked and answered, and leave nothing to count.
TURN = ("UserPromptSubmit", "PostToolBatch", "Stop")
_SAID_EVERY = 10
_SETTLE_S = 3.0
_EVENTS_A_SESSION = 300
_NEW_ROWS = "SELECT seq, prompt FROM event WHERE seq > ? ORDER BY seq"


@dataclass(frozen=True, slots=True)
class Crowd:
    sessions: int
    events: int
    """Of each session."""
    lost: int
    in_store: int
    in_spool: int
    """Still waiting there at the end."""
    received_late: int
    """That had waited in the spool and were taken in."""
    wall: Spread
    per_s: float
    non_zero_exits: int
    malformed: int
    past_deadline: int


@dataclass(frozen=True, slots=True)
class Soak:
    events: int
    not_taken: int
    per_s: float
    early: Body
    """Once a hundredth of the events had come."""
    late: Body
    idle_cpu_percent: float
    """Of one core, afterwards, with nobody asking."""
    idle_s: float
    home_mb: float
    """Databases and logs."""


def run_crowd(place: House, sessions: int, events: int, step: Step) -> Crowd:
    place.start()
    place.warm()
    before = int((place.status() or {})["unanswered"])
    sent = {f"crowd-{n}-{number}" for n in range(sessions) for number in range(events)}
    with ExitStack() as stack:
        kept = stack.enter_context(Kept(place))
        talks = [
            stack.enter_context(Child(talk, asdict(place), f"crowd-{n}", events))
            for n in range(sessions)
        ]
        for one in talks:
            one.answer()
        began_s = time.perf_counter()
        for one in talks:
            one.tell("go")
        # They share one daemon and so keep step: hearing each in turn is as good as hearing all at once.
        for done in range(0, events, _SAID_EVERY):
            for one in talks:
                one.answer()
                kept.look()
                step(min(_SAID_EVERY, events - done))
        took_s = time.perf_counter() - began_s
        ends = [one.answer() for one in talks]
        # The daemon may still be at an event whose hook is gone.
        soon(lambda: not kept.missing(sent), _SETTLE_S)
        lost = kept.missing(sent)
    walls = [ms for end in ends for ms in end["walls"]]
    return Crowd(
        sessions,
        events,
        lost=len(lost),
        in_store=len(sent & kept.received),
        in_spool=len(sent & kept.waiting - kept.received),
        received_late=int((place.status() or {}).get("unanswered", 0)) - before,
        wall=Spread.of(walls),
        per_s=round(len(walls) / took_s, 1),
        **{
            name: sum(end[name] for end in ends)
            for name in ("non_zero_exits", "malformed", "past_deadline")
        },
    )


def run_soak(place: House, events: int, idle_s: float, step: Step) -> Soak:
    pid = place.start()
    place.warm()
    first = max(1, events // 100)
    early = processes.body(pid)
    not_taken = 0
    began_s = time.perf_counter()
    for number in range(events):
        session, place_in_it = f"soak-{number // _EVENTS_A_SESSION}", number % _EVENTS_A_SESSION
        event = event_of(place_in_it, _EVENTS_A_SESSION)
        try:
            kind, _ = place.ask(event, payload(place, event, session, place_in_it))
        except (OSError, BadFrame):
            kind = ""
        not_taken += kind != OK
        if number + 1 == first:
            early = processes.body(pid)
        step(1)
    took_s = time.perf_counter() - began_s
    late = processes.body(pid)
    time.sleep(min(_SETTLE_S, idle_s))
    before_ms, idle_from_s = processes.cpu_ms(pid), time.perf_counter()
    time.sleep(idle_s)
    idle_for_s = time.perf_counter() - idle_from_s
    used_ms = processes.cpu_ms(pid) - before_ms
    return Soak(
        events,
        not_taken,
        per_s=round(events / took_s, 1),
        early=early,
        late=late,
        idle_cpu_percent=round(used_ms / idle_for_s / 10, 2),
        idle_s=round(idle_for_s, 1),
        home_mb=round(
            sum(path.stat().st_size for path in place.home.root.rglob("*") if path.is_file()) / 1e6,
            1,
        ),
    )


def event_of(number: int, events: int) -> str:
    """A session from its start to its end."""
    if number == 0:
        return "SessionStart"
    return "SessionEnd" if number == events - 1 else TURN[number % len(TURN)]


class Kept:
    """What the store received, read while it comes, and what waits in the spool."""

    def __init__(self, place: House) -> None:
        self._place = place
        self._db = apsw.Connection(str(place.store), flags=apsw.SQLITE_OPEN_READONLY)
        self._db.set_busy_timeout(5_000)
        self._seq = 0
        self.received: set[str] = set()
        self.waiting: set[str] = set()

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def look(self) -> None:
        for seq, prompt in self._db.execute(_NEW_ROWS, (self._seq,)):
            self._seq = seq
            self.received.add(prompt)

    def missing(self, sent: set[str]) -> set[str]:
        # The spool first: what leaves it meanwhile is in the store when that is looked at.
        self.waiting = {str(pointer.get("prompt", "")) for pointer in self._place.spooled()}
        self.look()
        return sent - self.received - self.waiting


# In a process of its own


def talk(where: dict[str, str], session: str, events: int) -> None:
    place = House(**where)
    walls: list[float] = []
    non_zero_exits = malformed = past_deadline = 0
    child.say("ready")
    child.told()
    for number in range(events):
        event = event_of(number, events)
        ran = place.run(event, payload(place, event, session, number))
        walls.append(round(ran.wall_ms, 2))
        non_zero_exits += ran.code != 0
        malformed += not ran.is_whole
        past_deadline += ran.wall_ms > house.deadline_ms(event)
        if (number + 1) % _SAID_EVERY == 0 or number + 1 == events:
            child.say(number + 1)
    child.say(
        {
            "walls": walls,
            "non_zero_exits": non_zero_exits,
            "malformed": malformed,
            "past_deadline": past_deadline,
        }
    )
