"""What a turn leaves behind."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture.records import DECIDED_CHARS, ENDED_CHARS, FOUND_CHARS, SAID_CHARS, join_records, make_record
from recollect.capture.titles import make_title
from recollect.capture.turns import (
    MAX_WAITING_ACTS,
    is_quote,
    is_used,
    only_shows,
    own_words,
    says_nothing,
    split_turns,
)
from recollect.model.passage import Record, read_record
from recollect.model.session import Act, Speaker, ToolAction
from tests.capture.acts import call, edited, looked, ran, replied, said, turn
from tests.cases import cases
from tests.values import NOW

FIX = turn(
    said("the nightly build fails, can you look? keep everything in UTC"),
    replied("Let me look at the logs."),
    ran("make nightly 2>&1 | tail -5", "Error: token from the future", failed=True),
    replied("The problem is that the container's clock is an hour behind, so tokens look expired."),
    edited("docker/entrypoint.sh"),
    edited("docker/entrypoint.sh", "tests/clock.py"),
    ran("cd /srv && make nightly", "ok"),
    replied("Done! The entrypoint sets the clock from the host now, and the nightly build passes.\n\nShall I commit?"),
)


def test_a_turn_leaves_what_was_asked_found_decided_changed_and_run_and_how_it_ended():
    found = make_record(FIX)

    assert found.asked == "the nightly build fails, can you look? keep everything in UTC"
    assert found.found.startswith("The problem is that the container's clock is an hour behind")
    assert found.decided == "keep everything in UTC"
    assert found.changed == "docker/entrypoint.sh, tests/clock.py"
    assert found.ran == "make nightly (failed); make nightly"
    assert found.ended == "The entrypoint sets the clock from the host now, and the nightly build passes."
    assert "token from the future" in found.said
    assert "Let me look" not in found.said


@pytest.mark.parametrize(
    ("acts", "ended"),
    [
        (
            [replied("The retry queue keeps its order now."), ran("git commit -m x"), replied("Committed.")],
            "The retry queue keeps its order now.",
        ),
        (
            [ran('git add -A && git commit -m "Keep the order of retries"'), replied("Committed.")],
            "Committed: Keep the order of retries",
        ),
        (
            [edited("a.py"), replied("Done! I've:\n\n1. **Removed** the old cache\n2. Renamed `a` to `b`")],
            "I've: Removed the old cache; Renamed `a` to `b`",
        ),
    ],
    ids=["an empty last word", "a commit that nobody speaks of", "a list belongs to the words before it"],
)
def test_how_a_turn_ended(acts: list[Act], ended: str):
    assert make_record(turn(said("commit"), *acts)).ended == ended


PLAN = "Implement the following plan:\n\n# Plan: Retries with backoff\n\n## Context\nAlways use two spaces."


@pytest.mark.parametrize(
    ("prompt", "asked"),
    [(PLAN, "Plan: Retries with backoff"), ("why does this fail?\n```\nTraceback: boom\n```", "why does this fail?")],
)
def test_a_plan_is_asked_for_by_its_heading_and_pasted_blocks_are_cut_out(prompt: str, asked: str):
    assert make_record(turn(said(prompt), replied("Implemented."))).asked == asked


def test_a_plan_that_is_handed_on_begins_a_turn_and_is_no_word_of_a_person():
    text = "# Plan: Retries with backoff\n\nThe queue drops jobs because nobody waits. Always use two spaces."
    plan = replace(replied(text), plan=True)
    added = replace(said("keep the old queue"), id=plan.id)
    done = [plan, added, edited("f"), replied("Jobs are retried now.")]
    acts = [said("a"), replied("x"), *done, said("b"), replied("z")]

    assert [len(one.acts) for one in split_turns(acts, 0, finished=False)] == [2, 4, 2]
    assert list(split_turns([plan], 0, finished=False)) == [], "the agent has not answered yet"
    found = make_record(turn(*done))
    assert (found.asked, found.decided) == ("Plan: Retries with backoff", "keep the old queue")
    assert found.ended == "Jobs are retried now."
    assert "because nobody waits" in found.said


def test_what_a_person_chose_or_said_in_refusing_is_decided():
    refusal = Act(id="r", at=NOW, speaker=Speaker.PERSON, text="use pnpm here", refuses="c")
    one = turn(
        said("add a linter"),
        call(
            ToolAction.OTHER, "", 'User has answered your questions: "Two fit. Which linter?"="biome". You can go on.'
        ),
        ran("npm i biome", refused=True),
        refusal,
    )

    assert make_record(one).decided == "Which linter? biome use pnpm here"
    assert len(list(split_turns(one.acts, 0, finished=True))) == 1


def test_a_report_of_a_subagent_is_kept_without_its_boilerplate():
    report = call(ToolAction.DELEGATE, "look", "The cache is never emptied.\nagentId: a1 (for resuming)")
    found = make_record(turn(said("why is it slow?"), report, replied("It is the cache, which is never emptied.")))
    assert "The cache is never emptied." in found.said
    assert "agentId" not in found.said


@pytest.mark.parametrize("cause", cases("records", "a_cause_is_found_in_other_languages"))
def test_a_cause_is_found_in_other_languages(cause: str):
    assert make_record(turn(said("?"), edited("a.py"), replied(cause))).found == cause


def test_looks_leave_nothing():
    looks = ran("ls", "a"), ran("git status"), looked("a.py"), replied("Let me check the files.")
    found = make_record(turn(said("hi"), *looks))
    assert (found.ran, found.changed, found.found, found.ended) == ("", "", "", "")


def test_the_rest_of_a_turn_joins_its_record_once():
    old = make_record(FIX)
    rest = make_record(turn(edited("b.py"), ran("make all"), replied("Everything is deployed now.")))

    both = join_records(old, rest)

    assert both.asked == old.asked
    assert both.changed.endswith(", b.py")
    assert both.ended == "Everything is deployed now."
    assert join_records(both, rest) == both


@given(st.text(max_size=500), st.text(max_size=6_000))
def test_any_turn_has_a_record_within_its_limits(prompt: str, reply: str):
    found = make_record(turn(said(prompt), edited("a.py"), replied(reply), replied(reply)))
    assert len(found.found) <= FOUND_CHARS
    assert len(found.decided) <= DECIDED_CHARS
    assert len(found.ended) <= ENDED_CHARS
    assert len(found.said) <= SAID_CHARS
    assert read_record(found.text()) is not None


# Commands, nods, turns


LOOKS, DOES = cases("records", "commands_that_only_look"), cases("records", "commands_that_do_something")


@pytest.mark.parametrize("command", [*LOOKS, *DOES])
def test_commands_that_only_look(command: str):
    assert only_shows(command) is (command in LOOKS)


def test_nods_say_nothing():
    assert [says_nothing(text) for text in ("ok thanks!", "ls", "use pnpm")] == [True, True, False]


def test_the_telling_lines_of_a_failure():
    output = "\n".join(["collected 3 items", *["..."] * 50, "E   assert 1 == 2", "1 failed in 0.1s"])
    found = make_record(turn(said("test it"), ran("make test", output, failed=True)))
    assert found.said == "`make test` failed: E assert 1 == 2 1 failed in 0.1s"


def test_a_turn_waits_for_its_end_but_not_for_ever():
    short = [said("fix it"), *(ran("make") for _ in range(5))]
    long = [said("fix it"), *(ran("make") for _ in range(MAX_WAITING_ACTS))]

    assert not list(split_turns(short, 0, finished=False))
    assert len(list(split_turns(short, 0, finished=True))) == 1
    assert len(list(split_turns(long, 0, finished=False))) == 1


# Titles: three to eight words that name the matter, taken out of untidy records.


TOPICS = ("parse_header", "http parser")


@pytest.mark.parametrize(("prompt", "wanted"), cases("titles", "a_request_is_named_without_what_leads_up_to_it"))
def test_a_request_is_named_without_what_leads_up_to_it(prompt: str, wanted: str):
    assert make_title([Record(asked=prompt, ended="Done.")], ("x", "y")).casefold() == wanted.casefold()


@pytest.mark.parametrize(("ended", "wanted"), cases("titles", "where_the_request_names_nothing_the_outcome_does"))
@pytest.mark.parametrize("asked", cases("titles", "requests_that_name_nothing"))
def test_where_the_request_names_nothing_the_outcome_does(asked: str, ended: str, wanted: str):
    assert make_title([Record(asked=asked, ended=ended)], ()) == wanted


@pytest.mark.parametrize(("made", "title"), cases("titles", "records"))
def test_a_plan_is_named_by_its_heading_and_a_long_sentence_is_cut(made: dict[str, str], title: str):
    assert make_title([Record(**made)]) == title


@pytest.mark.parametrize(("prompt", "wanted"), cases("titles", "a_title_is_in_the_language_of_the_request"))
def test_a_title_is_in_the_language_of_the_request(prompt: str, wanted: str):
    assert make_title([Record(asked=prompt)], TOPICS) == wanted


def test_topics_stand_in_for_what_nobody_named():
    assert make_title([Record(asked="fix it", ended="Done.")], TOPICS) == "parse_header and http parser"


@pytest.mark.parametrize(
    "prompt", ["fix it", "", "日本語のタイトル", "a" * 500, '"""', "src/a/b/c.py", "?? !! ..", "`" * 9]
)
def test_a_title_has_at_most_eight_words_and_is_never_empty(prompt: str):
    found = make_title([Record(asked=prompt)], ())
    assert found
    assert len(found.split()) <= 8
    assert len(found) <= 80


# What a turn does with the memories it was shown: uses them beyond what the prompt said, or only repeats them.


PASSAGE = "The nightly import fails because `parse_row` treats an empty column as zero."


@pytest.mark.parametrize(("prompt", "did", "files", "expected"), cases("records", "used"))
def test_what_the_turn_speaks_of_beyond_the_prompt_was_used(prompt: str, did: str, files: list[str], expected: bool):
    assert is_used(PASSAGE, prompt, did, files) is expected


def test_a_literal_quote_is_an_echo_and_other_words_are_not():
    told = ["webhooks\nThe handler stores the event id and returns early on a duplicate, so the mail goes out once."]
    assert own_words(f"From memory: {told[0]}", told) == ""
    assert own_words("- thread thread_20260101_000000_0000ff [user] " + told[0].splitlines()[1], told) == ""
    assert is_quote("stores the event id and returns early on a duplicate", told)
    paraphrase = "Duplicated Stripe deliveries are dropped because we remember what we have already processed before."
    assert own_words(paraphrase, told) == paraphrase


def test_what_is_said_beside_a_quote_is_kept():
    told = ["The handler stores the event id and returns early on a duplicate."]
    news = "Beyond that the reconciliation job now compares Stripe balances with ledger totals every night at two."
    assert own_words(f"{told[0]} {news}", told) == news
