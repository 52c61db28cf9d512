"""Where a turn belongs, and what a thread becomes by it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture import thread_choice
from recollect.capture.records import make_record, summarize_records
from recollect.capture.thread_choice import MAX_TURNS, Candidate, Continue, Leave, Open, Subject, dependence, turns_away
from recollect.capture.titles import find_topics
from recollect.capture.turns import Turn, message_id, own_words
from recollect.model.memory import Anchor, BridgeType, Lane, Status, Thread
from recollect.model.passage import TURN, Record
from tests.capture.acts import edited, looked, ran, replied, said, turn
from tests.cases import cases
from tests.values import messages, thread

TAX = thread("Wrong tax for Quebec", topics=("tax", "quebec"), anchors=(Anchor("services/tax.py"),), drift=("tax",))
WORK = turn(said("Shipping in Quebec needs the same tax"), edited("services/tax.py"), replied("Shipping is taxed now."))


def about(one: Turn) -> Subject:
    return thread_choice.subject_of(one, make_record(one))


def entry(one: Turn) -> thread_choice.Entry:
    return thread_choice.Entry(message_id(one.acts[0]), one.acts[0].at, one.acts[-1].at, about(one), make_record(one))


def decided(one: Turn, *candidates: Candidate) -> Continue | Open | Leave:
    return thread_choice.choose_thread(about(one), make_record(one), candidates)


# Deciding


@pytest.mark.parametrize(
    ("candidate", "goes_on"),
    [
        (Candidate(TAX, cover=0.3), True),  # the same files and words
        (Candidate(thread("Dark mode"), near=0.1, place=0), False),  # nothing in common
        (Candidate(thread("GST and QST"), near=0.8), True),  # near in meaning, without a shared word
        (Candidate(thread("GST and QST"), near=0.4), False),
    ],
)
def test_what_a_turn_has_in_common_with_a_thread_decides(candidate: Candidate, goes_on: bool):
    found = decided(WORK, candidate)
    assert found.thread is candidate.thread if isinstance(found, Continue) else isinstance(found, Open)
    assert isinstance(found, Continue) is goes_on


def test_the_nearest_of_several_is_taken():
    near = thread("near")
    found = decided(WORK, Candidate(thread("far"), near=0.65), Candidate(near, near=0.8))
    assert isinstance(found, Continue)
    assert found.thread is near


def test_a_prompt_that_names_nothing_means_what_is_at_hand():
    yes = turn(said("yes do that"), edited("other/place.py"))
    assert decided(yes, Candidate(TAX, place=0)) == Continue(TAX)
    assert isinstance(decided(yes, Candidate(TAX, place=1)), Open)
    assert isinstance(decided(yes, Candidate(TAX, place=0, idle_minutes=10_000)), Open)


def test_a_topic_switch_is_never_dropped():
    asked = said("unrelated: why is the login page so slow?")
    switch = turn(asked, looked("web/login.ts"), replied("It loads all users."))
    assert isinstance(decided(switch, Candidate(TAX, place=0, near=0.2)), Open)


@pytest.mark.parametrize(
    ("candidate", "is_fork"),
    [
        (Candidate(thread("Taxes"), place=0, near=0.35, cover=0.1), True),  # it nearly belongs to the current thread
        (Candidate(thread("Full", anchors=TAX.anchors, activations=MAX_TURNS), cover=0.3, near=0.9), False),
    ],
)
def test_a_new_thread_is_a_fork_or_goes_on_with_one_that_is_full(candidate: Candidate, is_fork: bool):
    found = decided(WORK, candidate)
    assert isinstance(found, Open)
    assert (found.parent, found.is_fork) == (candidate.thread, is_fork)


@pytest.mark.parametrize(
    "junk",
    [
        turn(said("hi"), replied("Hello! How can I help?")),
        turn(said("thanks!"), replied("You're welcome.")),
        turn(said("ls"), ran("ls", "a b"), replied("Two files.")),
        turn(said("what time is it")),
        turn(said("")),
    ],
)
def test_small_talk_and_trifles_make_no_thread(junk: Turn):
    assert isinstance(decided(junk), Leave)
    assert isinstance(decided(junk, Candidate(TAX, place=0, near=0.2)), Leave)


def test_files_that_everyone_touches_say_little():
    touched = Subject("", "", edited=("README.md", "src/a.py"))
    assert thread_choice.shared_files(touched, thread("a", anchors=(Anchor("src/a.py"),))) == 0.5
    assert thread_choice.shared_files(touched, thread("a", anchors=(Anchor("README.md"),))) < 0.2


def test_cues():
    assert dependence("fix it") == dependence("yes") == dependence("do that please") == 1.0
    assert dependence("The Stripe webhook in handlers.py loses events on restart") == 0
    assert 0 < dependence("and what about the timeout?") < 1
    assert turns_away("btw the deploy failed")
    assert turns_away("ok, next thing: the deploy")
    assert not turns_away("the deploy failed")


# Topics, summary


def test_topics_are_names_files_and_phrases():
    found = find_topics(
        [("The retry queue drops events in `drain_once`. The retry queue is too short.", 1.0)], ["src/outbox.py"]
    )
    assert {"drain_once", "outbox", "retry queue"} <= set(found)
    assert not {"the", "is", "too"} & set(found)
    assert find_topics([]) == ()


def test_a_summary_says_what_was_asked_found_and_decided_and_how_it_stands():
    found = summarize_records(
        [
            Record(asked="hm"),
            Record(asked="Stripe webhooks come twice. Mails, too.", found="No id is stored.", ended="Ids are unique."),
            Record(asked="commit", decided="never mail twice", ended="An outbox table sends each mail once."),
        ]
    )  # fmt: skip

    assert found.splitlines() == [
        "Asked: Stripe webhooks come twice.",
        "Found: No id is stored.",
        "Decided: never mail twice",
        "Ended: An outbox table sends each mail once.",
    ]


@given(st.text(max_size=400), st.text(max_size=200))
def test_any_text_has_a_title_topics_and_a_summary_within_their_limits(prompt: str, reply: str):
    one = turn(said(prompt), edited("a.py"), replied(reply))
    new, _ = thread_choice.open_thread("t", "s", entry(one))

    assert new.title.strip()
    assert len(new.title) <= 80
    assert len(new.title.split()) <= 8
    assert len(new.body) <= 800
    assert len(new.topics) <= 8
    assert all(len(topic) <= 40 for topic in new.topics)
    grown, _ = thread_choice.continue_thread(new, (), entry(one))
    assert grown.topics == new.topics
    thread_choice.thread_links(about(one), [TAX], Open(), session="s")


@pytest.mark.parametrize("part", cases("threads", "text_that_is_made_to_be_slow_is_looked_at_in_part"))
def test_text_that_is_made_to_be_slow_is_looked_at_in_part(part: str):
    text = part * (8_000 // len(part))
    one = turn(said(text), edited("a.py"), replied(text))
    new, _ = thread_choice.open_thread("t", "s", entry(one))
    assert isinstance(thread_choice.choose_thread(about(one), make_record(one), [Candidate(new, place=0)]), Continue)
    assert own_words(text, [text[:4_000]]) in ("", text)


# What a thread becomes


def test_a_thread_is_opened_with_all_it_needs():
    new, message = thread_choice.open_thread("thread_1", "s-1", entry(WORK))

    assert (new.title, new.lane, new.group) == ("Shipping in Quebec needs the same tax", Lane.AGENT, "s-1")
    assert new.anchors == (Anchor("services/tax.py"),)
    assert new.drift == new.topics[:1] != ()
    assert (message.thread_id, message.source) == ("thread_1", TURN)
    assert message.content.startswith("Asked: Shipping in Quebec needs the same tax\nChanged: services/tax.py\n")


def test_without_the_agents_words_the_lane_is_the_tools():
    one = turn(said("Run the tests of tax"), ran("pytest tax", "failed", failed=True))
    assert thread_choice.open_thread("t", "s", entry(one))[0].lane is Lane.TOOL


def test_going_on_wakes_and_counts():
    asleep = thread("Tax", status=Status.SUSPENDED, topics=("tax",), activations=1, lane=Lane.TOOL)
    before = messages(asleep, "Asked: The tax of Quebec is wrong")

    grown, _ = thread_choice.continue_thread(asleep, before, entry(WORK))

    assert (grown.status, grown.activations, grown.lane) == (Status.ACTIVE, 2, Lane.AGENT)
    assert grown.body.startswith("Asked: The tax of Quebec is wrong\n")


def test_a_turn_that_goes_on_takes_its_own_place():
    begun = thread_choice.open_thread("t", "s", entry(WORK))
    more = Turn((*WORK.acts, edited("services/shipping.py"), replied("Shipping by air is taxed too.")))
    grown, message = thread_choice.continue_thread(begun[0], (begun[1],), entry(more))
    assert message.id == begun[1].id
    assert grown.activations == 1
    assert "air" in grown.body


def test_drift_grows_only_when_the_topic_moves():
    one = turn(said("quebec tax again"), edited("services/tax.py"))
    other = turn(said("the billing webhook drops events"), edited("billing/webhook.py"))
    assert thread_choice.continue_thread(TAX, (), entry(one))[0].drift == ("tax",)
    moved = thread_choice.continue_thread(TAX, (), entry(other))[0]
    assert len(moved.drift) == 2
    assert moved.drift[1] in moved.topics


# Links


FILES = Subject("more tax", "", edited=("services/tax.py",))
MAIL = thread("Outbox for mails", topics=("outbox table", "mail worker"))


@pytest.mark.parametrize(
    ("about", "others", "decision", "links"),
    [
        (FILES, [TAX], Open(), [BridgeType.EXTENDS]),
        (FILES, [thread("x", anchors=TAX.anchors, group="s-1")], Open(), [BridgeType.SIBLING]),
        (Subject("refunds", ""), [], Open(TAX), [BridgeType.CHILD_OF]),
        (Subject("this depends on the outbox table being there", ""), [MAIL], Open(), [BridgeType.DEPENDS]),
        (Subject("replace the mail worker by a cron job", ""), [MAIL], Open(), [BridgeType.REPLACES]),
        (Subject("the outbox table and the mail worker are slow", ""), [MAIL], Open(), []),
        (Subject("replace the old thing", ""), [MAIL], Open(), []),
    ],
)
def test_links_come_from_evidence_and_never_from_likeness(
    about: Subject, others: list[Thread], decision: Open, links: list[BridgeType]
):
    assert [link.type for link in thread_choice.thread_links(about, others, decision, session="s-1")] == links
