"""What memory did lately, what a prompt would be told, and figures, after real hook events."""

from typing import Any

import pytest

from recollect.app.core import App, backups_of
from recollect.base.errors import BadInput
from recollect.base.ids import Mint
from recollect.model.memory import Status
from recollect.model.result import Scope
from recollect.ops import forget, health, memories, recall, rules, steering, upkeep
from recollect.ops.activity import activity
from recollect.ops.health import figures
from recollect.ops.recall import why
from recollect.ops.steering import Verdict
from recollect.ops.trial import try_prompt
from recollect.render.terminal import blocks
from tests.hooks.talk import Talk, log_of
from tests.ops.ask import add, keep, pinned, set_to, states
from tests.values import NOW, note, rule

DEPLOY = "Deploys go through staging first, then to production"


def texts(app: App) -> list[str]:
    return [one.text for one in activity(app, limit=50).items]


def move(app: App, seconds: float) -> None:
    app.clock.at = app.clock.at.plus(seconds=seconds)  # type: ignore[attr-defined]


def test_activity_says_what_was_noted_and_told_in_sentences_newest_first(app: App, talk: Talk):
    pinned(app, DEPLOY)
    for said in (
        "always use pnpm, never npm",
        "maybe we should prefer tabs over spaces here",
        "how do we deploy?",
    ):
        move(app, 60)
        talk.say(said)
    told, *others = activity(app).items
    assert told.text == f"told Claude Code 1 memory: {DEPLOY}"
    assert (told.kind, told.session, told.change, len(told.memories)) == ("told", "s-1", "", 1)
    assert 20 < told.tokens < 200
    assert [one.text for one in others if one.kind in ("kept", "waits")][-2:] == [
        "noted: Always use pnpm, never npm", f"pinned: {DEPLOY}",
    ]  # fmt: skip
    assert all(one.change and one.id == one.change for one in others)
    assert activity(app, since=others[0].at.iso()).items == (told,)
    assert activity(app, limit=1).items == (told,)


CHANGES = [
    (lambda app, id: rules.add(app, "Use tabs"), "noted: Use tabs"),
    (lambda app, id: memories.edit(app, id, title="New"), "changed \u201cNew\u201d"),
    (lambda app, id: memories.archive(app, (id,)), "archived \u201cAsk Anna\u201d"),
    (lambda app, id: forget.forget(app, (id,), delete=True), "deleted \u201cAsk Anna\u201d"),
    (lambda app, id: steering.rate(app, id, Verdict.NOT_USEFUL), "rated not useful: Ask Anna"),
    (lambda app, id: memories.undo(app), "undid \u201cpinned: Ask Anna\u201d"),
    (
        lambda app, id: rules.accept(app, (made_waiting(app),)),
        "put in force: Use conventional commits",
    ),
    (lambda app, id: recall.search(app, ("anna",)), "pinned: Ask Anna"),
]


def made_waiting(app: App) -> str:
    waiting = rule("Use conventional commits", status=Status.CANDIDATE)
    keep(app, waiting)
    return waiting.id


@pytest.mark.parametrize(("change", "sentence"), CHANGES)
def test_each_change_is_a_sentence_without_an_id(app: App, change, sentence: str):
    app.actor = "user"
    id = pinned(app, "Ask Anna")
    move(app, 60)
    change(app, id)
    newest = activity(app).items[0]
    assert newest.text == sentence
    assert "_2026" not in " ".join(texts(app))


def test_what_was_undone_says_so_and_cannot_be_undone_again(app: App):
    pinned(app, "Ask Anna")
    memories.undo(app)
    by_text = {one.text: one.change for one in activity(app).items}
    assert by_text.pop("pinned: Ask Anna (undone since)") == ""
    assert all(by_text.values())


# try


def test_try_shows_what_the_hook_would_inject_and_leaves_no_trace(app: App, talk: Talk):
    pinned(app, DEPLOY)
    pinned(app, "The invoices are sent on Mondays")
    before, log = states(app), log_of(app)
    trial = try_prompt(app, ("how do we deploy to production?",))
    assert (states(app), log_of(app)) == (before, log)
    told = talk.say("how do we deploy to production?").context
    assert trial.text.splitlines()[1:-1] == told.splitlines()[1:-1]
    first, *rest = trial.candidates
    assert (first.title, first.told, first.left_out, first.max_floor) == (
        DEPLOY,
        True,
        "",
        first.certainty,
    )
    assert "`production`" in first.why
    assert not any(one.told for one in rest)
    assert trial.tokens == -(-len(trial.text) // 4)


def test_another_floor_moves_the_line_as_the_certainties_say(app: App):
    pinned(app, DEPLOY)
    first = try_prompt(app, ("how do we deploy to production?",)).candidates[0]
    for floor, told in (
        (0.0, True),
        (first.max_floor, True),
        (min(1.0, first.max_floor + 0.01), False),
    ):
        trial = try_prompt(app, ("how do we deploy to production?",), floor=floor)
        assert (bool(trial.text), trial.candidates[0].told) == (told, told)
        assert trial.candidates[0].left_out == (
            "" if told else "it is probably not about the prompt"
        )
    assert app.settings.text("MEMORY_RECALL_FLOOR") == "0.5"


def test_try_names_what_was_left_out_for_other_reasons_and_what_is_in_focus_whatever_the_floor(
    app: App,
):
    keep(
        app,
        rule("Deploy from main to production only", status=Status.CANDIDATE),
        note("Deploy to production"),
    )
    trial = try_prompt(app, ("how do we deploy to production?",), floor=1.0)
    assert [one["why"] for one in trial.left_out] == ["it waits in the inbox for your decision"]
    assert not trial.text
    steering.focus(app, "production")
    assert try_prompt(app, ("how do we deploy to production?",), floor=1.0).text


@pytest.mark.parametrize(
    ("prompt", "setting", "note"),
    [
        ("ok, thanks!", "", "Memory was not searched: the prompt names nothing to look for."),
        ("how do we deploy?", "MEMORY_RECALL=off", "Recall is off"),
    ],
)
def test_try_says_why_nothing_would_be_told(app: App, prompt: str, setting: str, note: str):
    pinned(app, DEPLOY)
    if setting:
        app.settings = app.settings.with_value(*setting.split("="))
    trial = try_prompt(app, (prompt,))
    assert (trial.text, note in " ".join(trial.notes)) == ("", True)


@pytest.mark.parametrize("content", ["on", "off"])
def test_try_tells_of_each_turn_that_would_be_told(app: App, content: str):
    add(
        app,
        "Deploys",
        "We deploy the shop to production by hand.",
        "To deploy the shop to production, ask Anna.",
    )
    app.settings = app.settings.with_value("MEMORY_PROMPT_CONTENT", content)
    trial = try_prompt(app, ("how do we deploy the shop to production?",), floor=0.0)
    assert [one.told for one in trial.candidates] == [True, True]
    assert trial.text.count("- thread ") == (2 if content == "on" else 1)


# figures


def test_figures_count_prompts_and_what_was_told_by_day(app: App, talk: Talk):
    app.clock.at = NOW.plus(days=-1)  # type: ignore[attr-defined]
    app.mint = Mint(app.clock)  # ids hold the day
    pinned(app, DEPLOY)
    talk.say("how do we deploy to production?")
    move(app, 86_400)
    talk.say("what is the colour of the invoice header?")
    rules.add(app, "Use tabs", user=True)
    upkeep.backup(app)
    found = figures(app, days=7)
    yesterday, today = found.days[-2:]
    assert [(day.prompts, day.answered, day.told, day.kept) for day in found.days] == [(0, 0, 0, 0)] * 5 + [
        (1, 1, 1, 1), (1, 0, 0, 1),
    ]  # fmt: skip
    assert (yesterday.tokens > 20, today.tokens, today.day) == (True, 0, "2026-02-01")
    assert (found.kinds, found.sources, found.answered) == (
        {"thread": 1, "rule": 1},
        {"agent": 2},
        0.5,
    )
    assert found.hook_ms["prompt"]["times"] == 2
    assert [(one.scope, one.bytes > 0, one.backup_at is not None) for one in found.stores] == [
        ("project", True, True), ("user", True, True),
    ]  # fmt: skip
    assert backups_of(app.store_path(Scope.PROJECT))
    assert " took=" in log_of(app)
    assert len(figures(app, days=1_000).days) == 30


def test_figures_of_nothing_are_nothing(app: App):
    found = figures(app)
    assert (found.total("prompts"), found.answered, found.kinds, found.stores) == (0, 0.0, {}, ())
    assert not app.home.root.exists()


# config


def test_config_sets_one_setting_and_says_what_it_was(app: App):
    app.home.prepare()
    app.home.conf.write_text("# mine\nMEMORY_RECALL_FLOOR=0.7 # sure\n")
    changed = health.config(app, "recall_floor", "0.60")
    assert (changed.before, changed.settings[0]["value"], app.settings.text("MEMORY_RECALL_FLOOR")) == (
        "0.7", "0.6", "0.6",
    )  # fmt: skip
    assert app.home.conf.read_text() == "# mine\nMEMORY_RECALL_FLOOR=0.6 # sure\n"
    assert health.config(app, "recall_floor", unset=True).settings[0]["source"] == "default"
    assert app.home.conf.read_text() == "# mine\n"


def test_config_says_where_another_layer_has_the_last_word(
    app: App, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MEMORY_RECALL_FLOOR", "0.9")
    assert health.config(app, "MEMORY_RECALL_FLOOR", "0.6").problems == (
        "Written, but not in force here: environment says otherwise.",
    )


@pytest.mark.parametrize(
    "given", [("MEMORY_RECALL_FLOOR", "7"), ("MEMORY_RECALL_FLOOR", "high"), ("MEMORY_LLM", "")]
)
def test_config_refuses_what_a_setting_cannot_be(app: App, given: tuple[str, str]):
    with pytest.raises(BadInput, match="must be"):
        health.config(app, *given)
    assert not app.home.conf.exists()


# why


DEPLOYS = "Deploys to production go through the staging cluster first."
ABOUT_DEPLOYS = "how do deploys to production go through staging?"


def why_text(app: App) -> str:
    return "\n".join(getattr(block, "text", "") for block in blocks(why(app), now=NOW))


@pytest.mark.parametrize(
    ("prompt", "given", "setting", "outcome", "says"),
    [
        (ABOUT_DEPLOYS, {}, "on", "shown", "Shown with the prompt"),
        (ABOUT_DEPLOYS, {"confirm": False}, "on", "not confirmed", "the hook had given up waiting"),
        (
            "who painted the cluster of lamps in the lobby?",
            {},
            "on",
            "not shown",
            "Nothing was shown.",
        ),
        ("yes, go on", {}, "on", "not searched", "the prompt names nothing to look for"),
        (ABOUT_DEPLOYS, {}, "off", "not searched", "recall is switched off"),
        (
            ABOUT_DEPLOYS,
            {"left_s": 0},
            "on",
            "not searched",
            "time ran out before memory could be searched",
        ),
    ],
)
def test_why_tells_apart_what_became_of_a_prompt(
    app: App, talk: Talk, prompt: str, given: dict[str, Any], setting: str, outcome: str, says: str
):
    keep(app, rule("Deploys", body=DEPLOYS))
    set_to(app, "MEMORY_RECALL", setting)

    talk.say(prompt, **given)

    (last,) = why(app).recalls
    assert (last["query"], last["outcome"]) == (prompt, outcome)
    text = why_text(app)
    assert says in text
    assert ("given up" in text) is (outcome == "not confirmed")
    assert ("Shown with" in text) is (outcome == "shown")


def test_why_says_that_nothing_was_found_where_there_is_nothing(app: App, talk: Talk):
    talk.say("how do we deploy to production?")
    assert why(app).recalls[0]["outcome"] == "nothing found"
    assert "Nothing was found." in why_text(app)
    assert "given up" not in why_text(app)


def test_try_names_turns_as_told_only_where_they_are(app: App):
    turns = "Asked: what of deploys?\nFound: The staging cluster is rebuilt on Mondays."
    add(app, "Deploys to production", turns, body="Deploys to production go through staging.")
    trial = try_prompt(app, ("deploys to production through staging",), floor=1.0)
    told = "\n".join(getattr(block, "text", "") for block in blocks(trial, now=NOW))
    assert "told nothing" in told
    assert "shown instead" not in told
    assert "it is probably not about the prompt" in told


@pytest.mark.parametrize(
    "message",
    [
        "The staging cluster is in Frankfurt, and deploys to it need a token from Anna.",
        "Done. The staging cluster is in Frankfurt, and deploys to it need a token from Anna.",
        "assistant: The staging cluster is in Frankfurt; deploys to it need a token from Anna.",
        "Committed: the staging cluster is in Frankfurt, and deploys need a token from Anna.",
    ],
)
@pytest.mark.parametrize("title", ["Staging", "", None])
def test_a_message_that_is_no_turn_record_is_told_like_any_text(
    app: App, talk: Talk, message: str, title: str | None
):
    add(app, message if title is None else title or "Imported", message, body="")
    asked = "where is the staging cluster in Frankfurt, and who has the deploy token?"
    assert "token from Anna" in talk.say(asked).context
    assert try_prompt(app, (asked,)).candidates[0].told


def test_a_message_that_says_only_that_it_is_done_is_not_told(app: App, talk: Talk):
    add(app, "Deploys", "Done, all tests pass.", body="")
    assert talk.say("do all tests pass, is it done?").context == ""
