from __future__ import annotations

import math

import pytest

from recollect.app.core import MAX_TITLE_CHARS, MAX_TOPICS, App
from recollect.base.errors import BadInput
from recollect.base.text import NUL_SYMBOL, REPLACEMENT
from recollect.model.memory import Lane, Status, Thread
from recollect.ops import memories
from tests.ops.ask import kept, made, pinned, said
from tests.ops.conftest import Opens
from tests.values import NOW


def test_a_pin_is_kept_as_the_spec_says(app: App):
    done = memories.pin(app, "Deploys go through staging first.", topics=("deploy", "ops"))

    thread = kept(app, made(done))
    assert done.summary == f"Pinned as {thread.id} (weight=1.30)"
    assert isinstance(thread, Thread)
    assert (thread.weight, thread.boost, thread.pinned) == (1.3, 0.3, True)
    assert (thread.tags, thread.origin, thread.topics) == (("pinned",), "agent_pin", ("deploy", "ops"))
    assert (thread.status, thread.lane, thread.group) == (Status.ACTIVE, Lane.USER, "")
    assert thread.created_at == thread.reinforced_at == thread.last_active_at == NOW
    assert [m.content for m in said(app, thread.id)] == ["Deploys go through staging first."]


@pytest.mark.parametrize(
    ("boost", "weight"), [(-1, 1.0), (0, 1.0), (0.2, 1.2), (0.5, 1.5), (9, 1.5), (math.inf, 1.5), (-math.inf, 1.0)]
)
def test_the_boost_is_clamped(app: App, boost: float, weight: float):
    done = memories.pin(app, "x", boost=boost)
    assert kept(app, made(done)).weight == weight
    assert f"(weight={weight:.2f})" in done.summary


def test_a_boost_that_is_no_number_is_refused(app: App):
    with pytest.raises(BadInput, match="not a number"):
        memories.pin(app, "x", boost=math.nan)


@pytest.mark.parametrize(
    "text",
    [
        "  leading and trailing  \n\n",
        "tabs\tand\r\nwindows lines\r\n",
        "日本語と English と 🎉 and e\u0301",
        "\u202eright to left\u202c \x1b[31mred\x1b[0m",
        "# Heading\n\n```\ncode  with   spaces\n```\n",
    ],
)
def test_a_pin_is_word_for_word(app: App, text: str):
    assert kept(app, pinned(app, text)).body == text


def test_what_no_database_can_hold_is_marked(app: App):
    assert kept(app, pinned(app, "a\x00b\ud800c")).body == f"a{NUL_SYMBOL}b{REPLACEMENT}c"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("## Release checklist\n\nFirst tag.", "Release checklist"),
        ("\n\n  - first   point\n- second", "first point"),
        ("word " * 40, "word word word word word word word word word word word word…"),
    ],
)
def test_a_title_is_made_from_the_content(app: App, text: str, title: str):
    assert kept(app, pinned(app, text)).title == title


def test_a_given_title_is_one_line(app: App):
    assert kept(app, pinned(app, "x", title=" Release\n checklist ")).title == "Release checklist"


def test_topics_are_trimmed_and_each_stands_once(app: App):
    assert kept(app, pinned(app, "x", topics=(" a ", "b", "a", "", " "))).topics == ("a", "b")


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u3000"])
def test_nothing_cannot_be_pinned(app: App, text: str):
    with pytest.raises(BadInput, match="nothing to pin"):
        memories.pin(app, text)


def test_what_is_too_long_is_refused(app: App):
    with pytest.raises(BadInput, match="at most 200"):
        memories.pin(app, "x", title="t" * (MAX_TITLE_CHARS + 1))
    with pytest.raises(BadInput, match="at most 80"):
        memories.pin(app, "x", topics=("t" * 81,))
    with pytest.raises(BadInput, match="at most 50"):
        memories.pin(app, "x", topics=tuple(map(str, range(MAX_TOPICS + 1))))


def test_the_same_text_pinned_twice_is_two_pins(app: App):
    assert pinned(app, "Same words.") != pinned(app, "Same words.")


def test_an_agents_pin_stands_in_the_agents_lane(open_app: Opens):
    agent = open_app(actor="agent")
    assert kept(agent, pinned(agent, "x")).lane is Lane.AGENT
