"""What leaves the machine when a memory is shared, and what the changes of others do here."""

from dataclasses import replace

import pytest

from recollect.lifecycle import sharing
from recollect.lifecycle.sharing import (
    Whole,
    difference,
    incoming,
    incoming_to_own,
    outgoing,
    rebase,
)
from recollect.model.codec import encode
from recollect.model.command import Lesson
from recollect.model.memory import (
    ACCEPTED_TAG,
    OFFERED_TAG,
    SHARED_TAG,
    Anchor,
    Lane,
    Message,
    Note,
    Rating,
    Rule,
    RulePolicy,
    Status,
)
from recollect.model.passage import TURN, Record
from recollect.model.plan import Change, Create, Remove, Say, Unsay, Update
from tests.values import NOW, messages, note, renamed, rule, thread

SECRETIVE = "SESSIONWORD"  # what a session said: never sent
SHARED = (SHARED_TAG,)


def sent(whole: Whole) -> Whole:
    return outgoing(whole, person="Ann", project="p1")


def test_a_thread_is_sent_without_what_was_asked_decided_and_said():
    told = Record(
        asked=SECRETIVE, found="The clock is behind.", decided=SECRETIVE, changed=f"a.py, /home/ann/{SECRETIVE}",
        ran=f"make; cat ~/{SECRETIVE}", ended="Tests pass.", said=f"{SECRETIVE}, long",
    ).text()  # fmt: skip
    talk = thread(
        f"{SECRETIVE} is angry", body=f"{told}\n\n{told}", topics=("clock", SECRETIVE), group=SECRETIVE,
        tags=(*SHARED, f"session:{SECRETIVE}"), anchors=(Anchor("a.py"), Anchor(f"/etc/{SECRETIVE}")),
    )  # fmt: skip
    shown = Message("message_2", talk.id, NOW, "Bash", f"$ {SECRETIVE}")
    only_asked = Message("message_3", talk.id, NOW, TURN, Record(asked=SECRETIVE).text())

    memory, messages = sent(
        (talk, (Message("message_1", talk.id, NOW, TURN, told), shown, only_asked))
    )

    distilled = "Found: The clock is behind.\nChanged: a.py\nRan: make\nEnded: Tests pass."
    assert [one.content for one in messages] == [distilled]
    assert memory.body == f"{distilled}\n\n{distilled}", "a merged thread has several records"
    assert (memory.title, memory.topics, memory.anchors) == (
        "The clock is behind.",
        ("clock",),
        (Anchor("a.py"),),
    )
    assert SECRETIVE not in str(encode(memory)) + str(encode(messages))


def test_what_members_accepted_or_tagged_for_themselves_is_not_sent_and_stays():
    tagged = rule("Use pnpm", tags=(ACCEPTED_TAG, SHARED_TAG, "style"))
    assert sent((tagged, ()))[0].tags == ("style",)
    [update] = incoming(
        (tagged, ()), (replace(tagged, tags=("build",)), ()), RulePolicy.SHARED, NOW
    )
    assert isinstance(update, Update)
    assert update.after == {"tags": ["build", ACCEPTED_TAG, SHARED_TAG]}


def test_only_what_is_shared_is_taken_from_a_colleagues_row():
    hostile = rule(
        "Use pnpm", status=Status.ACTIVE, lane=Lane.USER, origin="user", said="words", boost=9.0, weight=99.0,
        frequency=10**6, tags=(ACCEPTED_TAG, SHARED_TAG), superseded_by="rule_x", group="p1",
    )  # fmt: skip
    [made] = incoming(None, (hostile, ()), RulePolicy.SHARED, NOW)
    assert isinstance(made, Create)
    taken = made.memory
    assert isinstance(taken, Rule)
    assert (taken.lane, taken.origin, taken.said, taken.tags, taken.frequency) == (
        Lane.TEAM,
        "team:",
        "",
        (),
        0,
    )
    assert (taken.boost, taken.weight, taken.superseded_by, taken.group) == (0.5, 1.5, None, "")
    other = thread("x", id=hostile.id)
    assert incoming((other, ()), (hostile, ()), RulePolicy.SHARED, NOW) == [Remove(other)], (
        "of another kind"
    )


def test_words_that_were_accepted_wait_again_when_others_change_them_and_each_is_to_be_accepted():
    here = rule("Use npm", lane=Lane.TEAM)
    [waits, update] = incoming(
        (here, ()), (replace(here, body="Use pnpm"), ()), RulePolicy.INBOX, NOW
    )
    assert isinstance(waits, Update)
    assert isinstance(update, Update)
    assert (waits.after, update.after) == ({"status": "candidate"}, {"body": "Use pnpm"})


def test_a_rule_is_sent_without_the_words_it_was_made_from_and_without_how_it_fared_here():
    bad = Rating(useful=False, timestamp=NOW)
    own = rule(
        "Use pnpm",
        said=SECRETIVE,
        group=SECRETIVE,
        ratings=(bad,),
        outcomes="+-",
        frequency=7,
        tags=SHARED,
    )
    memory, _ = sent((own, ()))
    assert isinstance(memory, Rule)
    assert (memory.said, memory.ratings, memory.outcomes, memory.frequency, memory.tags) == (
        "",
        (),
        "",
        0,
        (),
    )
    assert (memory.lane, memory.origin, memory.group, memory.status) == (
        Lane.TEAM,
        "team:Ann",
        "p1",
        Status.ACTIVE,
    )
    assert (memory.id, memory.body) == (own.id, own.body)


def test_a_pin_is_sent_word_for_word():
    pin = thread("Deploys go through staging", body="Deploys go through staging")
    said = messages(pin, "Deploys go through staging")
    assert sent((pin, said))[1] == said


@pytest.mark.parametrize(
    ("memory", "why"),
    [
        (rule("x"), ""),
        (note("x", tags=("Private",)), "it is private"),
        (thread("x", topics=("private",)), "it is private"),
        (rule("x", status=Status.CANDIDATE), "it waits in the inbox"),
        (rule("x", status=Status.SUPERSEDED), "it is superseded"),
        (thread("x", status=Status.ARCHIVED), "it is archived"),
        (thread("x", status=Status.SUSPENDED), ""),
    ],
)
def test_what_is_private_undecided_or_put_away_is_not_shared(memory: Rule, why: str):
    assert sharing.why_not_shared(memory) == why
    is_kept = (
        not why or memory.status is Status.ARCHIVED
    )  # whether its owner still uses it is the owner's matter
    assert sharing.is_shared(sharing.with_tag(memory, SHARED_TAG)) is is_kept
    assert not sharing.is_shared(sharing.without_tags(sharing.with_tag(memory, SHARED_TAG)))


def test_only_what_is_shared_makes_a_difference():
    old = rule("Use npm", ratings=())
    fared = replace(
        old, frequency=9, status=Status.ARCHIVED, ratings=(Rating(useful=False, timestamp=NOW),)
    )
    assert difference((old, ()), (fared, ())) == []
    [update] = difference((old, ()), (replace(fared, body="Use pnpm"), ()))
    assert isinstance(update, Update)
    assert update.after == {"body": "Use pnpm"}


TALK = thread("Talk")
FIRST, SECOND = messages(TALK, "one", "two")
MINE, THEIRS = renamed(TALK, "Mine"), renamed(TALK, "Theirs")


@pytest.mark.parametrize(
    ("change", "now", "made"),
    [
        (Create(TALK, (FIRST,)), None, [Create(TALK, (FIRST,))]),
        (Create(TALK, (FIRST,)), (TALK, (FIRST,)), []),
        (Create(MINE, (FIRST,)), (TALK, ()), [Update.between(TALK, MINE), Say(TALK.id, (FIRST,))]),
        (Update.between(TALK, MINE), (TALK, ()), [Update.between(TALK, MINE)]),
        (Update.between(TALK, MINE), (THEIRS, ()), [Update.between(THEIRS, MINE)]),
        (Update.between(TALK, MINE), (MINE, ()), []),
        (Update.between(TALK, MINE), None, []),
        (Remove(TALK, ()), (THEIRS, (SECOND,)), [Remove(THEIRS, (SECOND,))]),
        (Remove(TALK, ()), None, []),
        (Say(TALK.id, (FIRST, SECOND)), (TALK, (FIRST,)), [Say(TALK.id, (SECOND,))]),
        (Say(TALK.id, (FIRST,)), (TALK, (FIRST,)), []),
        (Unsay(TALK.id, (FIRST, SECOND)), (TALK, (FIRST,)), [Unsay(TALK.id, (FIRST,))]),
        (Say(TALK.id, (FIRST,)), None, []),
    ],
)
def test_a_change_is_fitted_to_what_the_team_has_now(
    change: Change, now: Whole | None, made: list[Change]
):
    assert rebase(change, now) == made


@pytest.mark.parametrize(
    ("policy", "sent_as", "stands"),
    [
        (RulePolicy.SHARED, Status.ACTIVE, Status.ACTIVE),
        (RulePolicy.SHARED, Status.CANDIDATE, Status.CANDIDATE),
        (RulePolicy.INBOX, Status.ACTIVE, Status.CANDIDATE),
        (RulePolicy.ALL, Status.CANDIDATE, Status.ACTIVE),
    ],
)
def test_the_team_decides_which_rules_are_in_force_and_each_member_for_himself_after_that(
    policy: RulePolicy, sent_as: Status, stands: Status
):
    theirs = rule("Use pnpm", status=sent_as, group="p1", lane=Lane.TEAM)
    [made] = incoming(None, (theirs, ()), policy, NOW)
    assert isinstance(made, Create)
    assert (made.memory.status, made.memory.lane, made.memory.group) == (stands, Lane.TEAM, "")

    decided = replace(made.memory, status=Status.ARCHIVED, frequency=3)
    [update] = incoming((decided, ()), (replace(theirs, body="Use bun"), ()), policy, NOW)
    assert isinstance(update, Update)
    assert update.after == {"body": "Use bun"}


def test_notes_and_threads_of_colleagues_need_no_decision():
    [made] = incoming(None, (note("Deploys"), ()), RulePolicy.INBOX, NOW)
    assert isinstance(made, Create)
    assert made.memory.status is Status.ACTIVE


def test_a_lesson_that_was_offered_waits_for_others_and_stays_a_lesson():
    lesson = rule("`npm test` fails", origin=Lesson.ORIGIN, tags=(OFFERED_TAG,), lane=Lane.TOOL)
    memory, _ = sent((lesson, ()))
    assert (memory.status, memory.origin) == (Status.CANDIDATE, Lesson.ORIGIN)
    assert sent((sharing.with_tag(lesson, SHARED_TAG), ()))[0].status is Status.ACTIVE


def test_a_colleagues_change_reaches_the_memory_that_was_shared_from_here():
    own = rule("Use npm", tags=(SHARED_TAG, "refused:call"), said="words", frequency=4)
    theirs = replace(sent((own, ()))[0], body="Use pnpm", tags=("style",))
    [update] = incoming_to_own((own, ()), (theirs, ()))
    assert isinstance(update, Update)
    tags = ["style", SHARED_TAG, "refused:call"]
    assert update.after == {"body": "Use pnpm", "tags": tags, "lane": "team"}, (
        "no longer her own words"
    )
    assert incoming_to_own((own, ()), sent((own, ()))) == []


def test_what_colleagues_removed_stays_here_unshared():
    own = rule("Use npm", tags=("style", SHARED_TAG))
    [update] = incoming_to_own((own, ()), None)
    assert isinstance(update, Update)
    assert update.after == {"tags": ["style"]}


def test_a_note_and_a_thread_keep_their_own_words():
    own = Note(id="note_20260201_083000_abc123", title="t", body="b", tags=SHARED, path="a.md",
               created_at=NOW, reinforced_at=NOW, last_active_at=NOW)  # fmt: skip
    talk = thread("Talk", body=Record(asked="why?", found="because").text(), tags=SHARED)
    for memory in (own, talk):
        assert incoming_to_own((memory, ()), (replace(memory, body="other", tags=()), ())) == []
