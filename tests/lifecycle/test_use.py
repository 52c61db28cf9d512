"""What is shown is counted; what was asked for grows a little stronger."""

from __future__ import annotations

from recollect.lifecycle.use import asked_for, shown
from recollect.model.codec import content_hash
from tests.values import AGE, NOW, rule, thread


def test_what_was_asked_for_is_counted_and_stronger():
    old = thread("Billing", days_old=3)

    used = asked_for(old, session=7, now=NOW, rules=AGE)

    assert (used.frequency, used.last_session, used.reinforced_at) == (1, 7, NOW)
    assert round(used.weight, 6) == 0.6


def test_what_everyone_gets_is_counted_and_no_stronger():
    old = thread("Billing", days_old=3)

    used = shown(old, session=7)

    assert (used.frequency, used.last_session) == (1, 7)
    assert (used.weight, used.reinforced_at, used.last_active_at) == (old.weight, old.reinforced_at, old.last_active_at)


def test_an_older_session_that_ends_late_does_not_set_the_count_back():
    assert shown(rule("Tabs", last_session=9), session=7).last_session == 9


def test_use_never_changes_what_a_memory_says():
    memory = thread("Billing", days_old=30, boost=0.3, pinned=True)
    assert content_hash(asked_for(memory, session=1, now=NOW, rules=AGE)) == content_hash(memory)
