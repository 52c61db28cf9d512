"""What an undo says: what is true now, never what had been done."""

from typing import Any

import pytest

from recollect.base.structs import replace
from recollect.model.memory import SHARED_TAG, Memory, Rating, Status
from recollect.model.plan import (
    Alias,
    Change,
    Create,
    Link,
    Move,
    Plan,
    Remove,
    Say,
    Unalias,
    Unlink,
    Unsay,
    Update,
    UpdateAll,
)
from recollect.render.undo_words import undone_words
from tests.values import NOW, bridge, messages, note, plan, rule, thread

PNPM = rule("Use pnpm, not npm.")
NPM = rule("Use npm")
WAITS = replace(rule("Deploy on Tuesdays"), status=Status.CANDIDATE)
LOGIN, TOKENS = thread("Login"), thread("Tokens")
ANNA = note("Ask Anna")
KNOWN = {one.id: one for one in (PNPM, NPM, WAITS, LOGIN, TOKENS, ANNA)}
RATED = replace(LOGIN, ratings=(Rating(useful=False, timestamp=NOW),))


def now(memory: Memory, **fields: Any) -> Update:
    """The memory changes to what it is in KNOWN."""
    return Update.between(replace(memory, **fields), memory)


@pytest.mark.parametrize(
    ("undone", "changes", "words"),
    [
        ("capture", (Remove(PNPM),), "the rule “Use pnpm, not npm” is no longer in force"),
        (
            "capture that replaced another",
            (now(NPM, status=Status.SUPERSEDED, superseded_by=PNPM.id), Remove(PNPM)),
            "the rule “Use npm” is in force again; the rule “Use pnpm, not npm” is no longer in force",
        ),
        (
            "capture into the inbox",
            (Remove(WAITS),),
            "the rule “Deploy on Tuesdays” is no longer in the inbox",
        ),
        (
            "capture counted again",
            (now(PNPM, seen=2),),
            "the rule “Use pnpm, not npm” is counted as before",
        ),
        (
            "inbox accept",
            (now(WAITS, status=Status.ACTIVE),),
            "the rule “Deploy on Tuesdays” is waiting in the inbox again",
        ),
        (
            "inbox reject",
            (now(WAITS, status=Status.ARCHIVED),),
            "the rule “Deploy on Tuesdays” is waiting in the inbox again",
        ),
        (
            "inbox edit",
            (
                now(
                    WAITS, status=Status.ACTIVE, title="Deploy on Mondays", body="Deploy on Mondays"
                ),
            ),
            "the rule “Deploy on Tuesdays” is waiting in the inbox again",
        ),
        (
            "pin",
            (Remove(LOGIN, messages(LOGIN, "a")),),
            "the thread “Login” is no longer remembered",
        ),
        (
            "forget a rule",
            (now(PNPM, status=Status.ARCHIVED),),
            "the rule “Use pnpm, not npm” is in force again",
        ),
        (
            "forget a thread",
            (now(LOGIN, status=Status.ARCHIVED),),
            "the thread “Login” is active again",
        ),
        (
            "restore",
            (Update.between(PNPM, replace(PNPM, status=Status.ARCHIVED)),),
            "the rule “Use pnpm, not npm” is archived again",
        ),
        ("delete", (Create(LOGIN),), "the thread “Login” is remembered again"),
        ("delete a rule", (Create(PNPM),), "the rule “Use pnpm, not npm” is in force again"),
        (
            "edit",
            (now(LOGIN, title="Sign-in"),),
            "the thread “Login” is worded as before",
        ),
        ("rate", (Update.between(RATED, LOGIN),), "the thread “Login” is rated as before"),
        (
            "appreciate",
            (now(PNPM, appreciation=2.0),),
            "the rule “Use pnpm, not npm” is protected as much as before",
        ),
        (
            "share",
            (now(PNPM, tags=(SHARED_TAG,)),),
            "the rule “Use pnpm, not npm” is no longer shared with the team",
        ),
        (
            "unshare",
            (Update.between(PNPM, replace(PNPM, tags=(SHARED_TAG,))),),
            "the rule “Use pnpm, not npm” is shared with the team again",
        ),
        (
            "link",
            (Unlink(bridge(LOGIN, TOKENS)),),
            "the thread “Login” is no longer linked to “Tokens”",
        ),
        (
            "unlink",
            (Link(bridge(LOGIN, TOKENS)),),
            "the thread “Login” is linked to “Tokens” again",
        ),
        (
            "merge",
            (
                Unalias(TOKENS.id, LOGIN.id),
                Move(("message_1",), LOGIN.id, TOKENS.id),
                now(TOKENS, status=Status.SUPERSEDED, superseded_by=LOGIN.id),
                now(LOGIN, body="Login\n\nTokens"),
            ),
            "the thread “Tokens” is a thread of its own again",
        ),
        (
            "an undone merge",
            (Alias(TOKENS.id, LOGIN.id), now(LOGIN, body="Login\n\nTokens")),
            "the thread “Tokens” is part of “Login” again",
        ),
        (
            "split",
            (
                Unlink(bridge(TOKENS, LOGIN)),
                now(LOGIN, topics=("database",)),
                Move(("message_1",), TOKENS.id, LOGIN.id),
                Remove(TOKENS),
            ),
            "the thread “Login” is complete again; the thread “Tokens” is no longer remembered",
        ),
        (
            "compact",
            (
                UpdateAll((LOGIN.id, TOKENS.id), {"status": "archived"}, {"status": "active"}),
                now(WAITS, weight=0.5),
            ),
            "the threads “Login” and “Tokens” are active again; the rule “Deploy on Tuesdays” is as strong as before",
        ),
        (
            "a large compaction",
            (UpdateAll(tuple([LOGIN.id] * 1_000), {"status": "archived"}, {"status": "active"}),),
            "1,000 threads are active again",
        ),
        (
            "import",
            (*(Remove(thread(f"Session {number}")) for number in range(5)), Remove(PNPM)),
            "5 threads are no longer remembered; the rule “Use pnpm, not npm” is no longer in force",
        ),
        ("note save", (Remove(ANNA),), "the note “Ask Anna” is gone, and so is its file"),
        (
            "note evolve",
            (Remove(note("Ask Ben")), now(ANNA, status=Status.SUPERSEDED, superseded_by="note_1")),
            "the note “Ask Ben” is gone, and so is its file; the note “Ask Anna” is active again",
        ),
        (
            "note archive",
            (now(ANNA, status=Status.ARCHIVED, path="_archive/a.md"),),
            "the note “Ask Anna” is active again",
        ),
        (
            "thread",
            (Unsay(LOGIN.id, messages(LOGIN, "a", "b")),),
            "the thread “Login” is without the 2 messages it got",
        ),
        (
            "an undone thread",
            (Say(LOGIN.id, messages(LOGIN, "a")),),
            "the thread “Login” is complete again",
        ),
        ("nothing", (), "everything is as before"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_an_undo_says_what_is_true_now(undone: str, changes: tuple[Change, ...], words: str):
    assert undone_words(plan(*changes), KNOWN.get) == words


def test_a_memory_that_nobody_knows_any_more_is_still_counted():
    changes = plan(
        *(Update(f"thread_{n}", {"status": "archived"}, {"status": "active"}) for n in range(4))
    )
    assert undone_words(changes, lambda id: None) == "4 memories are active again"


def test_many_different_ends_are_summed_up():
    changes = Plan((Remove(PNPM), Remove(LOGIN), Create(TOKENS), Create(NPM), Remove(ANNA)))
    words = undone_words(changes, KNOWN.get)
    assert words.count(";") == 3
    assert words.endswith("other memories are as before")
