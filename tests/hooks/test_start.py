"""A session starts with what holds here, gets it back after compaction, and hears nothing twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.base.clock import FixedClock
from recollect.base.moment import Moment
from recollect.model.memory import RuleType
from recollect.ops import notices, rules
from recollect.ops.app import App
from recollect.render import inject
from tests.hooks.talk import Talk, log_of
from tests.ops.ask import kept, made, pinned
from tests.values import NOW

RULES = {
    RuleType.PREFERENCE: "We use tabs here",
    RuleType.CORRECTION: "Use pnpm, never npm",
    RuleType.FAILURE: "Run migrations before the tests",
    RuleType.DEVOPS: "Deploys need a ticket",
}


def ruled(app: App) -> dict[RuleType, str]:
    return {kind: made(rules.add(app, text, type=kind)) for kind, text in RULES.items()}


def test_the_rules_in_force_are_loaded_in_their_sections(app: App, talk: Talk):
    ids = ruled(app)

    lines = talk.start().context.splitlines()

    sections = [line for line in lines if line.endswith(":") and not line.startswith("[")]
    assert sections == ["Preferences:", "Corrections:", "Failures:", "DevOps Rules:"]
    assert f"- [agent] Use pnpm, never npm ({ids[RuleType.CORRECTION]})" in lines


def test_open_threads_are_named_and_sleeping_ones_are_not(app: App, talk: Talk):
    pinned(app, "The billing rewrite is half done", title="Billing rewrite")

    context = talk.start().context

    assert "Open threads:" in context
    assert "Billing rewrite - The billing rewrite is half done" in context


def test_a_new_place_starts_in_silence(talk: Talk):
    assert talk.start().raw == b""


def test_the_heartbeat_is_told_once_anyone_has_spoken(app: App, talk: Talk, another: Callable[[str], Talk]):
    talk.say("hello there")
    assert isinstance(app.clock, FixedClock)
    app.clock.at = NOW.plus(days=2)

    assert '"since_last": 576} (long absence)' in another("s-2").start().context


def test_nothing_is_said_of_entries_that_are_always_loaded_where_there_are_none(app: App, talk: Talk):
    ruled(app)
    assert "always-load" not in talk.start().context


def test_rules_told_at_the_start_are_not_brought_by_a_prompt(app: App, talk: Talk):
    ids = ruled(app)
    talk.start()

    assert ids[RuleType.CORRECTION] not in talk.say("install it with npm or pnpm").context


def test_rules_that_are_listed_are_counted(app: App, talk: Talk):
    id = ruled(app)[RuleType.DEVOPS]

    talk.start()

    assert kept(app, id).frequency == 1


def test_a_thread_that_was_only_named_is_still_brought_by_a_prompt(app: App, talk: Talk):
    id = pinned(app, "The billing rewrite is half done" + ", and there is more to say of it" * 5)
    before = kept(app, id)

    assert id in talk.start().context
    assert kept(app, id) == before
    assert id in talk.say("how far is the billing rewrite").context


def test_a_thread_whose_headline_says_all_of_it_was_told(app: App, talk: Talk):
    id = pinned(app, "The billing rewrite is half done")

    assert id in talk.start().context
    assert kept(app, id).frequency == 1
    assert id not in talk.say("how far is the billing rewrite").context


def test_after_compaction_the_rules_come_back_and_the_person_is_told(app: App, talk: Talk):
    ids = ruled(app)
    talk.start()

    said = talk.start("compact")

    assert all(id in said.context for id in ids.values())
    assert "Open threads" not in said.context
    assert said.notice == "\U0001f504 Recollect: 4 rules re-loaded after context compaction"


def test_what_waited_to_be_told_is_told_once_even_where_nothing_is_loaded(app: App, talk: Talk):
    talk.start()
    notices.leave(app, "\U0001f4be Recollect: preserved 2 memories")

    assert talk.start("compact").notice == "\U0001f4be Recollect: preserved 2 memories"
    assert talk.start("compact").raw == b""


def test_after_compaction_without_rules_nothing_is_said(app: App, talk: Talk):
    pinned(app, "The billing rewrite is half done")
    talk.start()

    assert talk.start("compact").raw == b""


def test_a_resumed_session_hears_only_what_is_new(app: App, talk: Talk):
    ids = ruled(app)
    talk.start()
    assert talk.start("resume").raw == b""

    new = made(rules.add(app, "Branches are named after tickets"))
    said = talk.start("resume")

    assert new in said.context
    assert not any(id in said.context for id in ids.values())
    assert talk.start("resume").raw == b""


def test_a_resumed_session_that_we_never_saw_is_told_everything(app: App, talk: Talk):
    ids = ruled(app)
    assert ids[RuleType.DEVOPS] in talk.start("resume").context


def test_a_cleared_session_starts_as_a_new_one(app: App, talk: Talk):
    ids = ruled(app)
    talk.start()

    assert ids[RuleType.DEVOPS] in talk.start("clear").context


def forked(transcript: Path, *blocks: str | None) -> None:
    """What the client writes of a session: an injection each, or (None) a compaction."""
    lines = [
        {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": "what was before"}}
        if block is None
        else {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": [block]}}
        for block in blocks
    ]
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_a_fork_knows_from_its_transcript_what_was_shown(
    app: App, talk: Talk, another: Callable[[str], Talk], tmp_path: Path
):
    ruled(app)
    told = talk.start().context
    id = pinned(app, "Deploys go through staging")
    brought = talk.say("deploys through staging?").context
    fork = another("s-fork")
    fork.transcript = str(tmp_path / "fork.jsonl")
    forked(Path(fork.transcript), told, brought)

    assert fork.start("fork").raw == b""
    assert id not in fork.say("deploys through staging?").context


def test_what_a_fork_was_shown_before_a_compaction_is_shown_again(
    app: App, talk: Talk, another: Callable[[str], Talk], tmp_path: Path
):
    told_ids = ruled(app)
    told = talk.start().context
    brought = pinned(app, "Deploys go through staging")
    said = talk.say("deploys through staging?").context
    fork = another("s-fork")
    fork.transcript = str(tmp_path / "fork.jsonl")
    forked(Path(fork.transcript), said, None, told)

    fork.start("fork")

    context = fork.say("deploys through staging?").context
    assert brought in context
    assert told_ids[RuleType.DEVOPS] not in context


def parent(path: Path, told: str, answered: Moment) -> None:
    """The transcript that a fork goes on from: what was put in, then the last answer."""
    forked(path, told)
    answer = {"type": "assistant", "timestamp": answered.iso(), "message": {"role": "assistant", "content": []}}
    after = {"type": "last-prompt", "timestamp": NOW.iso()}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(answer) + "\n" + json.dumps(after) + "\n")


def test_a_fork_whose_transcript_is_not_there_yet_finds_its_parent(
    app: App, talk: Talk, another: Callable[[str], Talk], tmp_path: Path
):
    ids = ruled(app)
    thread = pinned(app, "Deploys go through staging")
    parent(tmp_path / "parent.jsonl", talk.start().context, NOW.plus(seconds=-6.4))
    parent(tmp_path / "stranger.jsonl", "", NOW.plus(seconds=-60))
    fork = another("s-fork")
    fork.transcript = str(tmp_path / "fork.jsonl")
    new = made(rules.add(app, "Branches are named after tickets"))

    context = fork.start("fork", seconds_since_last_response=6).context

    assert new in context
    assert not any(id in context for id in ids.values())
    assert thread not in fork.say("deploys through staging?").context


@pytest.mark.parametrize("others", [[], [-60.0], [-6.4, -5.9]], ids=["none", "another", "two"])
def test_a_fork_whose_parent_is_not_certain_is_told_everything(
    app: App, talk: Talk, another: Callable[[str], Talk], tmp_path: Path, others: list[float]
):
    ids = ruled(app)
    told = talk.start().context
    for number, ago_s in enumerate(others):
        parent(tmp_path / f"{number}.jsonl", told, NOW.plus(seconds=ago_s))
    fork = another("s-fork")
    fork.transcript = str(tmp_path / "fork.jsonl")

    assert ids[RuleType.DEVOPS] in fork.start("fork", seconds_since_last_response=6).context


def test_a_fork_without_a_transcript_is_told_everything(app: App, another: Callable[[str], Talk], tmp_path: Path):
    ids = ruled(app)
    fork = another("s-fork")
    fork.transcript = str(tmp_path / "is not there.jsonl")

    assert ids[RuleType.DEVOPS] in fork.start("fork").context


def test_more_rules_than_fit_are_cut_whole_and_it_is_said(app: App, talk: Talk):
    for number in range(60):
        rules.add(app, f"Rule {number}: " + "\U0001f600 many wide words " * 12)

    context = talk.start().context

    assert len(context.encode("utf-16-le")) // 2 <= inject.START_CHARS
    assert "more: read .ai/recall/<words>" in context
    assert "over the limit of characters" in log_of(app)


def test_past_its_time_rules_are_told_without_threads(app: App, talk: Talk):
    ids = ruled(app)
    pinned(app, "The billing rewrite is half done")

    context = talk.start(left_s=0).context

    assert ids[RuleType.DEVOPS] in context
    assert "Open threads" not in context
    assert "late session=s-1" in log_of(app)
