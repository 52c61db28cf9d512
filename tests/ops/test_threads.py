"""What sessions do becomes threads: through transcripts, digest and a real store."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from recollect.app.core import App
from recollect.app.states import CAPTURED
from recollect.base.clock import FixedClock
from recollect.base.errors import ModelError
from recollect.model.memory import Anchor, BridgeType, Lane, Memory, Status, Thread
from recollect.model.plan import Create, Plan
from recollect.model.result import Scope
from recollect.model.session import EventName
from recollect.ops import memories, past_sessions
from recollect.ops.session_start import open_threads
from tests.ops.transcript import Transcript
from tests.values import thread


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

    def line(self, type: str, content: object, **more: object) -> None:
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
    talk.turn(prompt, "services/cart/tax.py", said="QST is added on top of GST in services/cart/tax.py now.")
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
def test_what_belongs_together_goes_on_and_what_does_not_is_opened(
    app: App, talk: Talk, monkeypatch: pytest.MonkeyPatch, has_model: bool
):
    if not has_model:
        monkeypatch.setattr(App, "embedder", property(Mock(side_effect=ModelError("none", hint=""))))
    first = tax(talk)
    talk.turn("yes, and round the tax half up", "services/cart/tax.py", said="Amounts are rounded half up per line.")
    talk.turn(
        "unrelated: product search misses t-shirt when people type tshirt", "services/search/analyzer.json",
        said="The analyzer catenates words now, so tshirt finds every t-shirt.",
    )  # fmt: skip

    threads = kept(app)

    assert [one.title for one in threads] == [first.title, "Product search misses t-shirt when people type tshirt"]
    assert threads[0].activations == 2
    assert len(contents(app, first.id)) == 2


def test_another_session_goes_on_with_a_thread_that_slept(app: App, talk: Talk, tmp_path: Path):
    old = tax(talk)
    assert isinstance(app.clock, FixedClock)
    app.clock.at = app.clock.at.plus(days=20)
    assert open_threads(app) == {}

    tax(Talk(app, tmp_path, "s-2"), "The Quebec tax is still wrong: shipping must be taxed with GST and QST too")

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
def test_a_thread_that_a_person_pinned_or_put_away_is_left_alone(app: App, talk: Talk, kept_by_hand: str):
    prompt, file = "The cart shows the wrong tax for customers in Quebec", "services/cart/tax.py"
    if kept_by_hand == "pinned":
        memories.pin(app, f"{prompt}: {file}")
    else:
        memories.archive(app, (tax(talk).id,))
    talk.turn(f"{prompt}, round it half up", file, said="Rounded half up per line, also for shipping.")
    old, new = kept(app)
    assert (old.pinned, old.status is Status.ARCHIVED) == (kept_by_hand == "pinned", kept_by_hand == "archived")
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


def test_what_was_told_from_memory_is_not_taken_in_when_it_is_said_back(app: App, talk: Talk, tmp_path: Path):
    old = tax(talk)
    Talk(app, tmp_path, "s-2").turn("what do you know about Quebec?", said=f"I remember: {old.body}")
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
