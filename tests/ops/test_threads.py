"""What sessions do becomes threads, through transcripts and a real store; and the laws of it, however it is cut."""

import tempfile
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.app.core import App
from recollect.app.states import CAPTURED
from recollect.base import project as projects
from recollect.base.clock import FixedClock
from recollect.base.errors import ModelError
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.capture.turns import message_id, split_turns
from recollect.jobs import turn_threads
from recollect.model.memory import Anchor, BridgeType, Lane, Memory, Message, Status, Thread
from recollect.model.plan import Create, Plan
from recollect.model.result import Scope
from recollect.model.session import Act, EventName, SessionPart, Speaker, ToolAction, ToolUse
from recollect.ops import memories, past_sessions
from recollect.ops.session_start import open_threads
from tests.ops.transcript import Transcript
from tests.values import MINT, NOW, thread


class Talk(Transcript):
    """A session that is digested after each turn, as the daemon does it."""

    def turn(self, prompt: str, *edits: str, said: str = "") -> None:
        self.line("user", prompt)
        for file in edits:
            self.edited(file)
        if said:
            self.replied(said)
        self.told()

    def edited(self, file: str) -> None:
        self.called("Edit", {"file_path": file})

    def line(self, type: str, content: object, /, **more: object) -> None:
        super().line(type, content, **{"uuid": f"{self.session}-{self.number + 1}", **more})
        assert isinstance(self.app.clock, FixedClock)
        self.app.clock.at = self.app.clock.at.plus(seconds=30)

    def told(self, name: EventName = EventName.TURN_ENDED) -> None:
        self.event(name)
        past_sessions.catch_up(self.app)


@pytest.fixture
def talk(app: App, tmp_path: Path) -> Talk:
    return Talk(app, tmp_path)


def kept(app: App) -> list[Memory]:
    return [memory for memory, _ in app.reader(app.scope).each()]


def contents(app: App, id: str) -> list[str]:
    return [message.content for message in app.reader(app.scope).messages(id)]


def tax(talk: Talk, prompt: str = "The cart shows the wrong tax for customers in Quebec") -> Thread:
    talk.turn(
        prompt,
        "services/cart/tax.py",
        said="QST is added on top of GST in services/cart/tax.py now.",
    )
    (found,) = [one for one in kept(talk.app) if isinstance(one, Thread)]
    return found


def test_a_turn_becomes_a_thread_that_names_its_subject(app: App, talk: Talk):
    found = tax(talk)
    assert list(open_threads(app)) == [found.id]
    assert found.title == "Cart shows wrong tax for customers in Quebec"
    assert (found.origin, found.group, found.lane) == ("session", "s-1", Lane.AGENT)
    assert "tax" in found.topics
    assert [anchor.path for anchor in found.anchors] == ["services/cart/tax.py"]
    (said,) = contents(app, found.id)
    assert said.startswith("Asked: The cart shows the wrong tax")
    assert "\nChanged: services/cart/tax.py\n" in said


@pytest.mark.parametrize("has_model", [True, False])
def test_a_turn_goes_on_with_its_thread_or_opens_one(
    app: App, talk: Talk, monkeypatch: pytest.MonkeyPatch, has_model: bool
):
    if not has_model:
        monkeypatch.setattr(
            App, "embedder", property(Mock(side_effect=ModelError("none", hint="")))
        )
    first = tax(talk)
    talk.turn(
        "yes, and round the tax half up",
        "services/cart/tax.py",
        said="Amounts are rounded half up per line.",
    )
    talk.turn(
        "unrelated: product search misses t-shirt when people type tshirt", "services/search/analyzer.json",
        said="The analyzer catenates words now, so tshirt finds every t-shirt.",
    )  # fmt: skip
    threads = kept(app)
    assert [one.title for one in threads] == [
        first.title,
        "Product search misses t-shirt when people type tshirt",
    ]
    assert threads[0].activations == 2
    assert len(contents(app, first.id)) == 2


def test_another_session_goes_on_with_a_thread_that_slept(app: App, talk: Talk, tmp_path: Path):
    old = tax(talk)
    assert isinstance(app.clock, FixedClock)
    app.clock.at = app.clock.at.plus(days=20)
    assert open_threads(app) == {}
    tax(
        Talk(app, tmp_path, "s-2"),
        "The Quebec tax is still wrong: shipping must be taxed with GST and QST too",
    )
    (woken,) = kept(app)
    assert (woken.id, woken.status, list(open_threads(app))) == (old.id, Status.ACTIVE, [old.id])
    assert woken.reinforced_at.days_since(old.reinforced_at) > 19


def test_small_talk_leaves_nothing_and_is_counted(app: App, talk: Talk):
    talk.turn("hi", said="Hello! What shall we do?")
    talk.ran("ls", "README.md")
    talk.told(EventName.SESSION_ENDED)
    assert kept(app) == []
    assert any(reason.startswith("threads: ") for reason in CAPTURED.read(app.reader(app.scope)))


@pytest.mark.parametrize("kept_by_hand", ["pinned", "archived"])
def test_a_thread_that_a_person_pinned_or_put_away_is_left_alone(
    app: App, talk: Talk, kept_by_hand: str
):
    prompt, file = "The cart shows the wrong tax for customers in Quebec", "services/cart/tax.py"
    if kept_by_hand == "pinned":
        memories.pin(app, f"{prompt}: {file}")
    else:
        memories.archive(app, (tax(talk).id,))
    talk.turn(
        f"{prompt}, round it half up", file, said="Rounded half up per line, also for shipping."
    )
    old, new = kept(app)
    assert (old.pinned, old.status is Status.ARCHIVED) == (
        kept_by_hand == "pinned",
        kept_by_hand == "archived",
    )
    assert (new.pinned, new.status) == (False, Status.ACTIVE)


def test_a_turn_that_is_read_in_two_looks_is_one_turn(app: App, talk: Talk):
    talk.line("user", "The cart shows the wrong tax for customers in Quebec")
    talk.told()
    assert kept(app) == []  # the agent is at it
    talk.edited("services/cart/tax.py")
    talk.replied("I changed the table of rates, and look at shipping next.")
    talk.told()
    talk.edited("services/cart/shipping.py")
    talk.replied("Shipping is taxed too.")
    talk.told()

    (found,) = kept(app)
    assert found.activations == 1
    (said,) = contents(app, found.id)
    assert "Changed: services/cart/tax.py, services/cart/shipping.py" in said
    assert "Ended: Shipping is taxed too." in said


def test_what_was_told_from_memory_is_not_taken_in_when_it_is_said_back(
    app: App, talk: Talk, tmp_path: Path
):
    old = tax(talk)
    Talk(app, tmp_path, "s-2").turn(
        "what do you know about Quebec?", said=f"I remember: {old.body}"
    )
    assert kept(app) == [old]
    assert CAPTURED.read(app.reader(app.scope))["threads: an echo"] > 0


def test_threads_that_share_files_are_bridged(app: App, talk: Talk, tmp_path: Path):
    old = thread(
        "Invoices as PDF", body="Invoices are printed by the billing service.", origin="session", group="old",
        anchors=(Anchor("billing/invoice.py"),),
    )  # fmt: skip
    app.commit(Scope.PROJECT, "test", lambda _: Plan((Create(old),)), lambda _: "")
    talk.turn(
        "Emails bounce when a customer has an umlaut in the address", "billing/invoice.py",
        said="Addresses are encoded as the mail standard wants it.",
    )  # fmt: skip
    new = next(one for one in kept(app) if one.id != old.id)
    (bridge,) = app.reader(app.scope).bridges(new.id)
    assert (bridge.source, bridge.target, bridge.type) == (new.id, old.id, BridgeType.EXTENDS)


TEXTS = (
    "fix the tax of Quebec", "yes do that", "thanks", "unrelated: the search index misses umlauts", "and shipping?",
    "The tax table has two rates now.", "Search finds umlauts without marks now.", "", "hi", "日本語の検索を直して",
)  # fmt: skip
FILES = ("services/tax.py", "search/index.ts", "README.md")
COMMANDS = ("pytest -q", "ls", "git push", "make reindex")

spoken = st.builds(
    lambda text, who: (who, text),
    st.sampled_from(TEXTS),
    st.sampled_from([Speaker.PERSON, Speaker.AGENT]),
)
calls = st.builds(
    lambda action, file, command, failed: ToolUse(action, "tool", command if action is ToolAction.RUN else "", (file,)),
    st.sampled_from(ToolAction), st.sampled_from(FILES), st.sampled_from(COMMANDS), st.booleans(),
)  # fmt: skip
done = st.lists(
    st.one_of(spoken, st.tuples(st.just(Speaker.TOOL), calls, st.booleans())), max_size=14
)


def acts(session: str, what: list[tuple[object, ...]]) -> list[Act]:
    found = []
    for number, one in enumerate(what):
        at, id = NOW.plus(seconds=number * 40), f"{session}-{number}"
        match one:
            case (Speaker.TOOL, ToolUse() as use, bool() as failed):
                found.append(
                    Act(
                        id=id, at=at, speaker=Speaker.TOOL, text="error: no", use=use, failed=failed
                    )
                )
            case (Speaker() as who, str() as text):
                found.append(Act(id=id, at=at, speaker=who, text=text))
            case _:
                raise AssertionError(one)
    return found


class House:
    """A store of its own, without a model: what is decided does not matter here, only that nothing is lost."""

    def __init__(self, folder: str) -> None:
        work = Path(folder) / "work"
        (work / ".git").mkdir(parents=True)
        settings_here = load(None, None, {"MEMORY_EMBEDDING_MODEL": "/nowhere"})
        self.app = App(
            home=Home(Path(folder) / "home"), project=projects.find(work, Path(folder)), settings=settings_here,
            clock=FixedClock(NOW.plus(days=1)),
        )  # fmt: skip
        self.app.mint = MINT

    def live(self, session: str, done: list[Act], cuts: list[int]) -> None:
        """In several looks; at the end the session is over."""
        ends = sorted({min(cut, len(done)) for cut in cuts} | {len(done)})
        begin = 0
        for end in ends:
            self.look(session, done[:end], begin, ended=end == len(done))
            begin = end

    def look(self, session: str, done: list[Act], new_from: int, *, ended: bool) -> None:
        sitting = SessionPart(
            host="x", session=session, acts=tuple(done), new_from=new_from, ended=ended
        )
        write = turn_threads.record_turns(self.app, sitting)
        with self.app.writer(self.app.scope).transaction():
            if write is not None:
                write()

    def everything(self) -> list[tuple[Memory, tuple[Message, ...]]]:
        return list(self.app.reader(self.app.scope).each())


looks = st.lists(st.integers(1, 14), max_size=4)


@settings(max_examples=40)
@given(first=done, second=done, cuts=looks)
def test_every_turn_is_in_exactly_one_thread_or_counted(
    first: list[tuple[object, ...]], second: list[tuple[object, ...]], cuts: list[int]
):
    with tempfile.TemporaryDirectory() as folder:
        house = House(folder)
        told = {name: acts(name, what) for name, what in (("s-1", first), ("s-2", second))}
        for name, what in told.items():
            house.live(name, what, cuts)

        kept = [message for _, said in house.everything() for message in said]
        assert len({message.id for message in kept}) == len(kept)
        assert {message.id for message in kept} <= {
            message_id(act) for what in told.values() for act in what
        }
        counts = CAPTURED.read(house.app.reader(house.app.scope))
        counted = sum(n for reason, n in counts.items() if reason.startswith("threads: "))
        assert len(kept) + counted >= sum(
            len(list(split_turns(what, 0, finished=True))) for what in told.values()
        )
        assert all(said for _, said in house.everything()), "a thread of nothing"
        assert house.app.reader(house.app.scope).verify() == []
        house.app.close()


@settings(max_examples=25)
@given(what=done, cuts=looks)
@example(  # the first was too little to open a thread, and leans on the one that came after it
    what=[
        (Speaker.PERSON, "and shipping?"),
        (Speaker.PERSON, "fix the tax of Quebec"),
        (Speaker.AGENT, "and shipping?"),
    ],
    cuts=[],
)
@example(  # the last names what the thread of the same look is about: its words are found in it already
    what=[
        (Speaker.AGENT, "unrelated: the search index misses umlauts"),
        (Speaker.TOOL, ToolUse(ToolAction.RUN, "tool", "pytest -q", ()), True),
        (Speaker.PERSON, "unrelated: the search index misses umlauts"),
    ],
    cuts=[],
)
def test_taken_twice_is_taken_once_and_undoing_all_leaves_nothing(
    what: list[tuple[object, ...]], cuts: list[int]
):
    with tempfile.TemporaryDirectory() as folder:
        house = House(folder)
        told = acts("s-1", what)
        house.live("s-1", told, cuts)
        once = house.everything()
        house.look("s-1", told, 0, ended=True)
        assert house.everything() == once
        for entry in house.app.reader(house.app.scope).log(limit=1_000):
            memories.undo(house.app, entry.change)
        assert house.everything() == []
        assert house.app.reader(house.app.scope).verify() == []
        house.app.close()
