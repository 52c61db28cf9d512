"""A clock that jumps a year ahead or a day back, between sessions or in one, takes nothing away and stops nothing."""

import pytest

from recollect.app.core import App
from recollect.app.session_ledger import tick
from recollect.app.states import Memo
from recollect.base.clock import FixedClock, SystemClock
from recollect.base.moment import Moment
from recollect.jobs import transcripts
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.model.session import EventName
from recollect.ops import notes, purge, rules
from recollect.ops.past_sessions import catch_up
from recollect.web.entrance import VALID_S, Entrance, Keys
from tests.cli.run import run
from tests.hooks.talk import Talk
from tests.ops.ask import add, pinned
from tests.ops.transcript import Transcript
from tests.values import NOW

JUMPS = {
    "a year ahead": 365.0,
    "a day back": -1.0,
    "to 1970": -NOW.micros / 86_400e6,
    "to 2200": 63_500.0,
}
_MOST_STEPS = 100


@pytest.fixture
def kept(app: App) -> App:
    pinned(app, "Deploys go through staging.")
    add(app, "Totals of the cart", "The totals are rounded once, at the end.")
    rules.add(app, "Always use Decimal for money, never float.")
    notes.save(app, "Release on Tuesday")
    return app


def set_clock(app: App, at: Moment) -> None:
    assert isinstance(app.clock, FixedClock)
    app.clock.at = at


def standing(app: App) -> set[tuple[str, str]]:
    """What is stored, not what age makes of it."""
    return {
        (memory.id, memory.status)
        for scope in (Scope.USER, Scope.PROJECT)
        for memory in app.reader(scope).find(Query(limit=1_000))
    }


def run_jobs(app: App) -> None:
    """Each until it has nothing more to do."""
    for job in (transcripts.work, tick, purge.work):
        memo = Memo()
        steps = 0
        while job(app, memo):
            steps += 1
            assert steps < _MOST_STEPS, f"{job} never ends"


@pytest.mark.parametrize("days", JUMPS.values(), ids=JUMPS)
def test_a_session_under_a_wrong_clock_takes_nothing_away(
    days: float, kept: App, transcript: Transcript
):
    before = standing(kept)
    talk = Talk(kept)
    talk.transcript = str(transcript.path)
    talk.start()
    talk.say("How are totals rounded?")
    transcript.line("user", "From now on, put tests in tests/unit.")

    set_clock(kept, NOW.plus(days=days))
    talk.say("Never push to main directly.")
    transcript.line("user", "Never push to main directly.")
    transcript.event(EventName.TURN_ENDED)
    talk.tell("Stop")
    run_jobs(kept)
    Talk(kept, session="s-2").start()
    set_clock(kept, NOW.plus(days=0.01))
    catch_up(kept)
    run_jobs(kept)

    assert before <= standing(kept)
    assert "Decimal" in Talk(kept, session="s-3").start().context
    held = [one.body for one in kept.reader(Scope.PROJECT).find(Query(limit=1_000))]
    for rule in ("Put tests in tests/unit.", "Never push to main directly."):
        assert held.count(rule) == 1


LOOKS = (
    "status",
    "rules",
    "list",
    "log",
    "inbox",
    "doctor",
    "recall totals",
    "verify",
    "sessions",
    "projects",
)


@pytest.mark.parametrize("days", JUMPS.values(), ids=JUMPS)
def test_commands_work_under_a_wrong_clock(days: float, monkeypatch: pytest.MonkeyPatch):
    assert run("rule", "add", "Always use Decimal for money.").code == 0
    assert run("pin", "The totals are rounded once, at the end.").code == 0
    with monkeypatch.context() as patch:
        patch.setattr(SystemClock, "now", lambda _: NOW.plus(days=days))
        for look in LOOKS:
            ran = run(*look.split())
            assert ran.code in ((0, 1) if look == "doctor" else (0,)), (look, ran)
            assert "Traceback" not in ran.err, look
        assert run("compact").code == 0
        assert run("pin", "Written under a wrong clock.").code == 0
        assert run("undo").code == 0
    assert run("verify").code == 0
    assert "Decimal" in run("rules").out
    assert "rounded" in run("list", "--status", "active").out


@pytest.mark.parametrize("days", JUMPS.values(), ids=JUMPS)
def test_a_wrong_clock_neither_ends_nor_prolongs_the_way_into_the_page(
    days: float, monkeypatch: pytest.MonkeyPatch
):
    passed_s = 0.0
    entrances = [Entrance(port, Keys.draw(), clock_s=lambda: passed_s) for port in (1, 2, 3)]
    by_code, by_file, late = ((one, one.invite()) for one in entrances)
    monkeypatch.setattr(SystemClock, "now", lambda _: NOW.plus(days=days))

    assert by_code[0].admit_code(by_code[1].code)
    assert by_file[0].admit_ticket(by_file[0]._ticket)
    passed_s += VALID_S
    assert not late[0].admit_code(late[1].code)
    late[0].tidy()
    assert late[1].file is None or not late[1].file.exists()
