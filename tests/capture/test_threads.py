"""What a turn leaves behind, where it belongs, and what a thread becomes by it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture import records, thread_choice, turns
from recollect.capture.records import join_records, make_record
from recollect.capture.thread_choice import (
    MAX_TURNS,
    Candidate,
    Continue,
    Leave,
    Open,
    Subject,
    dependence,
    turns_away,
)
from recollect.capture.titles import find_topics, make_title
from recollect.capture.turns import Turn, message_id, own_words, split_turns
from recollect.model.memory import Anchor, BridgeType, Lane, Status, Thread
from recollect.model.passage import TURN, Record, read_record
from recollect.model.session import Act, Speaker, ToolAction
from tests.capture.acts import call, edited, looked, ran, replied, said, turn
from tests.cases import cases
from tests.values import NOW, messages, thread

FIX = turn(
    said("the nightly build fails, can you look? keep everything in UTC"),
    replied("Let me look at the logs."),
    ran("make nightly 2>&1 | tail -5", "Error: token from the future", failed=True),
    replied("The problem is that the container's clock is an hour behind, so tokens look expired."),
    edited("docker/entrypoint.sh"),
    edited("docker/entrypoint.sh", "tests/clock.py"),
    ran("cd /srv && make nightly", "ok"),
    replied(
        "Done! The entrypoint sets the clock from the host now, and the nightly build passes.\n\nShall I commit?"
    ),
)


def test_a_turn_leaves_what_was_asked_found_decided_changed_and_run_and_how_it_ended():
    found = make_record(FIX)
    assert found.asked == "the nightly build fails, can you look? keep everything in UTC"
    assert found.found.startswith("The problem is that the container's clock is an hour behind")
    assert found.decided == "keep everything in UTC"
    assert found.changed == "docker/entrypoint.sh, tests/clock.py"
    assert found.ran == "make nightly (failed); make nightly"
    assert (
        found.ended
        == "The entrypoint sets the clock from the host now, and the nightly build passes."
    )
    assert "token from the future" in found.said
    assert "Let me look" not in found.said


KEPT = "The retry queue keeps its order now."


@pytest.mark.parametrize(
    ("acts", "ended"),
    [
        (
            [replied(KEPT), ran("git commit -m x"), replied("Committed.")],
            KEPT,
        ),  # an empty last word
        (
            [ran('git add -A && git commit -m "Keep order"'), replied("Committed.")],
            "Committed: Keep order",
        ),
        (
            [edited("a.py"), replied("Done! I've:\n\n1. **Removed** it\n2. Renamed `a`")],
            "I've: Removed it; Renamed `a`",
        ),
    ],
)
def test_how_a_turn_ended(acts: list[Act], ended: str):
    assert make_record(turn(said("commit"), *acts)).ended == ended


PLAN = "Implement the following plan:\n\n# Plan: Retries with backoff\n\n## Context\nAlways use two spaces."


@pytest.mark.parametrize(
    ("prompt", "asked"),
    [
        (PLAN, "Plan: Retries with backoff"),
        ("why does this fail?\n```\nTraceback: boom\n```", "why does this fail?"),
    ],
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
            ToolAction.OTHER,
            "",
            'User has answered your questions: "Two fit. Which linter?"="biome". You can go on.',
        ),
        ran("npm i biome", refused=True),
        refusal,
    )

    assert make_record(one).decided == "Which linter? biome use pnpm here"
    assert len(list(split_turns(one.acts, 0, finished=True))) == 1


def test_a_report_of_a_subagent_is_kept_without_its_boilerplate():
    report = call(
        ToolAction.DELEGATE, "look", "The cache is never emptied.\nagentId: a1 (for resuming)"
    )
    found = make_record(
        turn(said("why is it slow?"), report, replied("It is the cache, which is never emptied."))
    )
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
    rest = make_record(
        turn(edited("b.py"), ran("make all"), replied("Everything is deployed now."))
    )
    both = join_records(old, rest)
    assert both.asked == old.asked
    assert both.changed.endswith(", b.py")
    assert both.ended == "Everything is deployed now."
    assert join_records(both, rest) == both


@given(st.text(max_size=500), st.text(max_size=6_000))
def test_any_turn_has_a_record_within_its_limits(prompt: str, reply: str):
    found = make_record(turn(said(prompt), edited("a.py"), replied(reply), replied(reply)))
    assert len(found.found) <= records.FOUND_CHARS
    assert len(found.decided) <= records.DECIDED_CHARS
    assert len(found.ended) <= records.ENDED_CHARS
    assert len(found.said) <= records.SAID_CHARS
    assert read_record(found.text()) is not None


LOOKS, DOES = (
    cases("records", "commands_that_only_look"),
    cases("records", "commands_that_do_something"),
)


@pytest.mark.parametrize("command", [*LOOKS, *DOES])
def test_commands_that_only_look(command: str):
    assert turns.only_shows(command) is (command in LOOKS)


def test_nods_say_nothing():
    assert [turns.says_nothing(text) for text in ("ok thanks!", "ls", "use pnpm")] == [
        True,
        True,
        False,
    ]


def test_the_telling_lines_of_a_failure():
    output = "\n".join(
        ["collected 3 items", *["..."] * 50, "E   assert 1 == 2", "1 failed in 0.1s"]
    )
    found = make_record(turn(said("test it"), ran("make test", output, failed=True)))
    assert found.said == "`make test` failed: E assert 1 == 2 1 failed in 0.1s"


def test_a_turn_waits_for_its_end_but_not_for_ever():
    short = [said("fix it"), *(ran("make") for _ in range(5))]
    long = [said("fix it"), *(ran("make") for _ in range(turns.MAX_WAITING_ACTS))]
    assert not list(split_turns(short, 0, finished=False))
    assert len(list(split_turns(short, 0, finished=True))) == 1
    assert len(list(split_turns(long, 0, finished=False))) == 1


TOPICS = ("parse_header", "http parser")


@pytest.mark.parametrize(
    ("prompt", "wanted"), cases("titles", "a_request_is_named_without_what_leads_up_to_it")
)
def test_a_request_is_named_without_what_leads_up_to_it(prompt: str, wanted: str):
    assert (
        make_title([Record(asked=prompt, ended="Done.")], ("x", "y")).casefold()
        == wanted.casefold()
    )


@pytest.mark.parametrize(
    ("ended", "wanted"), cases("titles", "where_the_request_names_nothing_the_outcome_does")
)
@pytest.mark.parametrize("asked", cases("titles", "requests_that_name_nothing"))
def test_where_the_request_names_nothing_the_outcome_does(asked: str, ended: str, wanted: str):
    assert make_title([Record(asked=asked, ended=ended)], ()) == wanted


@pytest.mark.parametrize(("made", "title"), cases("titles", "records"))
def test_a_plan_is_named_by_its_heading_and_a_long_sentence_is_cut(
    made: dict[str, str], title: str
):
    assert make_title([Record(**made)]) == title


@pytest.mark.parametrize(
    ("prompt", "wanted"), cases("titles", "a_title_is_in_the_language_of_the_request")
)
def test_a_title_is_in_the_language_of_the_request_and_topics_stand_in_for_what_nobody_named(
    prompt: str, wanted: str
):
    assert make_title([Record(asked=prompt)], TOPICS) == wanted
    assert (
        make_title([Record(asked="fix it", ended="Done.")], TOPICS)
        == "parse_header and http parser"
    )


@pytest.mark.parametrize(
    "prompt", ["", "日本語のタイトル", "a" * 500, '"""', "src/a/b/c.py", "?? !! ..", "`" * 9]
)
def test_a_title_has_at_most_eight_words_and_is_never_empty(prompt: str):
    found = make_title([Record(asked=prompt)], ())
    assert found
    assert len(found.split()) <= 8
    assert len(found) <= 80


PASSAGE = "The nightly import fails because `parse_row` treats an empty column as zero."


@pytest.mark.parametrize(("prompt", "did", "files", "expected"), cases("records", "used"))
def test_what_the_turn_speaks_of_beyond_the_prompt_was_used(
    prompt: str, did: str, files: list[str], expected: bool
):
    assert turns.is_used(PASSAGE, prompt, did, files) is expected


def test_a_literal_quote_is_an_echo_and_other_words_are_not():
    told = [
        "webhooks\nThe handler stores the event id and returns early on a duplicate, so the mail goes out once."
    ]
    assert own_words(f"From memory: {told[0]}", told) == ""
    assert (
        own_words("- thread thread_20260101_000000_0000ff [user] " + told[0].splitlines()[1], told)
        == ""
    )
    assert turns.is_quote(
        "stores the event id and returns early on a duplicate", turns.runs_of(told)
    )
    paraphrase = "Duplicated Stripe deliveries are dropped because we remember what we have already processed before."
    assert own_words(paraphrase, told) == paraphrase


def test_what_is_said_beside_a_quote_is_kept():
    told = ["The handler stores the event id and returns early on a duplicate."]
    news = "Beyond that the reconciliation job now compares Stripe balances with ledger totals every night at two."
    assert own_words(f"{told[0]} {news}", told) == news


# Where a turn belongs


TAX = thread(
    "Wrong tax for Quebec",
    topics=("tax", "quebec"),
    anchors=(Anchor("services/tax.py"),),
    drift=("tax",),
)
WORK = turn(
    said("Shipping in Quebec needs the same tax"),
    edited("services/tax.py"),
    replied("Shipping is taxed now."),
)


def about(one: Turn) -> Subject:
    return thread_choice.subject_of(one, make_record(one))


def entry(one: Turn) -> thread_choice.Entry:
    return thread_choice.Entry(
        message_id(one.acts[0]), one.acts[0].at, one.acts[-1].at, about(one), make_record(one)
    )


def decided(one: Turn, *candidates: Candidate) -> Continue | Open | Leave:
    return thread_choice.choose_thread(about(one), make_record(one), candidates)


@pytest.mark.parametrize(
    ("candidate", "goes_on"),
    [
        (Candidate(TAX, cover=0.3), True),  # the same files and words
        (Candidate(thread("Dark mode"), near=0.1, place=0), False),  # nothing in common
        (
            Candidate(thread("GST and QST"), near=0.8),
            True,
        ),  # near in meaning, without a shared word
        (Candidate(thread("GST and QST"), near=0.4), False),
    ],
)
def test_what_a_turn_has_in_common_with_a_thread_decides(candidate: Candidate, goes_on: bool):
    found = decided(WORK, candidate)
    assert (
        found.thread is candidate.thread if isinstance(found, Continue) else isinstance(found, Open)
    )
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
        (
            Candidate(thread("Taxes"), place=0, near=0.35, cover=0.1),
            True,
        ),  # it nearly belongs to the current thread
        (
            Candidate(
                thread("Full", anchors=TAX.anchors, activations=MAX_TURNS), cover=0.3, near=0.9
            ),
            False,
        ),
    ],
)
def test_a_new_thread_is_a_fork_or_goes_on_with_one_that_is_full(
    candidate: Candidate, is_fork: bool
):
    found = decided(WORK, candidate)
    assert isinstance(found, Open)
    assert (found.parent, found.is_fork) == (candidate.thread, is_fork)


@pytest.mark.parametrize(
    "junk",
    [
        turn(said("hi"), replied("Hello! How can I help?")), turn(said("thanks!"), replied("You're welcome.")),
        turn(said("ls"), ran("ls", "a b"), replied("Two files.")), turn(said("what time is it")), turn(said("")),
    ],
)  # fmt: skip
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


def test_topics_are_names_files_and_phrases():
    text = "The retry queue drops events in `drain_once`. The retry queue is too short."
    found = find_topics([(text, 1.0)], ["src/outbox.py"])
    assert {"drain_once", "outbox", "retry queue"} <= set(found)
    assert not {"the", "is", "too"} & set(found)
    assert find_topics([]) == ()


def test_a_summary_says_what_was_asked_found_and_decided_and_how_it_stands():
    twice = Record(
        asked="Stripe webhooks come twice. Mails, too.",
        found="No id is stored.",
        ended="Ids are unique.",
    )
    last = Record(
        asked="commit", decided="never mail twice", ended="An outbox table sends each mail once."
    )
    assert records.summarize_records([Record(asked="hm"), twice, last]).splitlines() == [
        "Asked: Stripe webhooks come twice.", "Found: No id is stored.", "Decided: never mail twice",
        "Ended: An outbox table sends each mail once.",
    ]  # fmt: skip


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


@pytest.mark.parametrize(
    "part", cases("threads", "text_that_is_made_to_be_slow_is_looked_at_in_part")
)
def test_text_that_is_made_to_be_slow_is_looked_at_in_part(part: str):
    text = part * (8_000 // len(part))
    one = turn(said(text), edited("a.py"), replied(text))
    new, _ = thread_choice.open_thread("t", "s", entry(one))
    assert isinstance(
        thread_choice.choose_thread(about(one), make_record(one), [Candidate(new, place=0)]),
        Continue,
    )
    assert own_words(text, [text[:4_000]]) in ("", text)


def test_a_thread_is_opened_with_all_it_needs():
    new, message = thread_choice.open_thread("thread_1", "s-1", entry(WORK))
    assert (new.title, new.lane, new.group) == (
        "Shipping in Quebec needs the same tax",
        Lane.AGENT,
        "s-1",
    )
    assert new.anchors == (Anchor("services/tax.py"),)
    assert new.drift == new.topics[:1] != ()
    assert (message.thread_id, message.source) == ("thread_1", TURN)
    assert message.content.startswith(
        "Asked: Shipping in Quebec needs the same tax\nChanged: services/tax.py\n"
    )


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
    more = Turn(
        (*WORK.acts, edited("services/shipping.py"), replied("Shipping by air is taxed too."))
    )
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


FILES = Subject("more tax", "", edited=("services/tax.py",))
MAIL = thread("Outbox for mails", topics=("outbox table", "mail worker"))


@pytest.mark.parametrize(
    ("about", "others", "decision", "links"),
    [
        (FILES, [TAX], Open(), [BridgeType.EXTENDS]),
        (FILES, [thread("x", anchors=TAX.anchors, group="s-1")], Open(), [BridgeType.SIBLING]),
        (Subject("refunds", ""), [], Open(TAX), [BridgeType.CHILD_OF]),
        (
            Subject("this depends on the outbox table being there", ""),
            [MAIL],
            Open(),
            [BridgeType.DEPENDS],
        ),
        (
            Subject("replace the mail worker by a cron job", ""),
            [MAIL],
            Open(),
            [BridgeType.REPLACES],
        ),
        (Subject("the outbox table and the mail worker are slow", ""), [MAIL], Open(), []),
        (Subject("replace the old thing", ""), [MAIL], Open(), []),
    ],
)
def test_links_come_from_evidence_and_never_from_likeness(
    about: Subject, others: list[Thread], decision: Open, links: list[BridgeType]
):
    assert [
        link.type for link in thread_choice.thread_links(about, others, decision, session="s-1")
    ] == links


@pytest.mark.parametrize(("made", "title"), cases("titles", "named_after_the_matter"))
def test_a_thread_is_named_after_the_matter(made: dict[str, str], title: str):
    assert make_title([Record(**made)]) == title


def test_that_a_command_failed_is_no_summary_and_a_pasted_error_no_request():
    failed = turn(said("run the tests"), ran("pnpm test", "Error: ECONNREFUSED", failed=True))
    assert records.summarize_records([make_record(failed)]) == "Asked: run the tests"
    pasted = turn(
        said("TypeError: x is undefined\n    at Cart.render (Cart.tsx:1:2)\nplease mend the cart"),
        edited("Cart.tsx"),
        replied("The cart waits for its totals now."),
    )
    found = make_record(pasted)
    assert found.asked.startswith("please mend the cart \u2026 ")
    assert records.summarize_records([found]).startswith("Asked: please mend the cart\n")


@pytest.mark.parametrize(
    "prompt",
    ["npm run build", "run the tests", "try again", "Error: Can't resolve './theme' in '/app'"],
)
def test_a_command_that_failed_joins_the_work_at_hand(prompt: str):
    one = turn(said(prompt), ran("npm run build", "Error: Can't resolve './theme'", failed=True))
    assert decided(one, Candidate(TAX, place=0, near=0.2)) == Continue(TAX)


def test_a_question_that_says_what_it_is_about_does_not_lean():
    assert dependence("why does the checkout total differ from the cart?") < 0.4
    assert dependence("why?") == 1.0
