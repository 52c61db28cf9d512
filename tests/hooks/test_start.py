"""A session starts with what holds here, gets it back after compaction, and hears nothing twice."""

import json
from pathlib import Path

import pytest

from recollect.app import notices
from recollect.app.core import App
from recollect.base.errors import NotFound
from recollect.base.moment import Moment
from recollect.model.memory import RuleType
from recollect.model.plan import Create
from recollect.ops import notes, recall, rules, session_start
from recollect.ops.steering import Verdict, rate
from recollect.render import inject
from tests.hooks.talk import Another, Talk, log_of
from tests.ops.ask import kept, made, pinned
from tests.values import NOW, act, plan, rule

RULES = {
    RuleType.PREFERENCE: "We use tabs here",
    RuleType.CORRECTION: "Use pnpm, never npm",
    RuleType.FAILURE: "Run migrations before the tests",
    RuleType.DEVOPS: "Deploys need a ticket",
}


@pytest.fixture
def ids(app: App) -> dict[RuleType, str]:
    return {kind: made(rules.add(app, text, type=kind)) for kind, text in RULES.items()}


def test_the_rules_in_force_are_loaded_in_their_sections_once(
    app: App, talk: Talk, ids: dict[RuleType, str]
):
    context = talk.start().context
    lines = context.splitlines()
    sections = [line for line in lines if line.endswith(":") and not line.startswith("[")]
    assert sections == ["Preferences:", "Corrections:", "Failures:", "DevOps Rules:"]
    assert f"- [agent] Use pnpm, never npm ({ids[RuleType.CORRECTION]})" in lines
    assert "always-load" not in context
    assert kept(app, ids[RuleType.DEVOPS]).frequency == 1
    assert ids[RuleType.CORRECTION] not in talk.say("install it with npm or pnpm").context
    assert "Heartbeat:" not in context
    assert 'Heartbeat: {"beat": 0, "since_last": 0}' in Talk(app, session="s-2").start().context


@pytest.mark.parametrize("more", ["", ", and there is more to say of it" * 5])
def test_an_open_thread_is_named_and_counts_as_told_where_its_headline_says_all(
    app: App, talk: Talk, more: str
):
    id = pinned(app, f"The billing rewrite is half done{more}", title="Billing rewrite")
    assert "Open threads" not in talk.start(left_s=0).context
    assert "late session=s-1" in log_of(app)
    context = talk.start().context
    assert "Open threads:" in context
    assert "Billing rewrite - The billing rewrite is half done" in context
    assert kept(app, id).frequency == (0 if more else 1)
    assert (id in talk.say("how far is the billing rewrite").context) is bool(more)


def test_after_compaction_the_rules_come_back_and_the_person_is_told(
    talk: Talk, ids: dict[RuleType, str]
):
    talk.start()
    said = talk.start("compact")
    assert all(id in said.context for id in ids.values())
    assert "Open threads" not in said.context
    assert said.notice == "\U0001f504 Recollect: 4 rules re-loaded after context compaction"


def test_the_person_is_told_what_a_session_begins_with_and_nothing_where_there_is_nothing(
    app: App, talk: Talk
):
    assert talk.start().notice == ""
    talk.say("hello")
    assert talk.start("clear").notice == "", "a heartbeat is nothing to tell"
    rules.add(app, "Use pnpm, never npm")
    pinned(app, "The billing rewrite is half done", title="Billing rewrite")
    other = Talk(app, session="s-2")
    assert other.start().notice == "Recollect: loaded 1 rule, 1 open thread"
    assert other.start("resume").notice == "", "it has all of it"
    rules.add(app, "Deploys go through staging")
    assert other.start("resume").notice == "Recollect: loaded 1 rule"


def test_a_waiting_notice_is_told_once_and_a_new_place_or_a_compaction_without_rules_says_nothing(
    app: App, talk: Talk
):
    assert talk.start().raw == b""
    pinned(app, "The billing rewrite is half done")
    talk.start()
    notices.add(app, "\U0001f4be Recollect: preserved 2 memories")
    assert talk.start("compact").notice == "\U0001f4be Recollect: preserved 2 memories"
    assert talk.start("compact").raw == b""


def test_a_resumed_session_hears_only_what_is_new(
    app: App, talk: Talk, another: Another, ids: dict[RuleType, str]
):
    talk.start()
    assert talk.start("resume").raw == b""
    new = made(rules.add(app, "Branches are named after tickets"))
    said = talk.start("resume")
    assert [id in said.context for id in (new, *ids.values())] == [True, False, False, False, False]
    assert talk.start("resume").raw == b""
    assert ids[RuleType.DEVOPS] in talk.start("clear").context
    assert ids[RuleType.DEVOPS] in another("s-new").start("resume").context, "one that we never saw"


def forked(transcript: Path, *blocks: str | None) -> None:
    """What the client writes of a session: an injection each, or (None) a compaction."""
    lines = [
        {
            "type": "user",
            "isCompactSummary": True,
            "message": {"role": "user", "content": "what was before"},
        }
        if block is None
        else {
            "type": "attachment",
            "attachment": {"type": "hook_additional_context", "content": [block]},
        }
        for block in blocks
    ]
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.fixture
def fork(app: App, tmp_path: Path) -> Talk:
    talk = Talk(app, session="s-fork")
    talk.transcript = str(tmp_path / "fork.jsonl")
    return talk


@pytest.mark.parametrize("compacted", [False, True])
def test_a_fork_knows_from_its_transcript_what_was_shown_since_it_was_compacted(
    app: App, talk: Talk, fork: Talk, ids: dict[RuleType, str], compacted: bool
):
    started = talk.start().context
    thread = pinned(app, "Deploys go through staging")
    prompted = talk.say("deploys through staging?").context
    forked(Path(fork.transcript), prompted, *([None] if compacted else []), started)
    assert fork.start("fork").raw == b""
    context = fork.say("deploys through staging?").context
    assert (thread in context) is compacted
    assert ids[RuleType.DEVOPS] not in context


def parent(path: Path, told: str, answered: Moment) -> None:
    """The transcript that a fork goes on from: what was put in, then the last answer."""
    forked(path, told)
    answer = {
        "type": "assistant",
        "timestamp": answered.iso(),
        "message": {"role": "assistant", "content": []},
    }
    after = {"type": "last-prompt", "timestamp": NOW.iso()}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(answer) + "\n" + json.dumps(after) + "\n")


@pytest.mark.parametrize(
    ("others", "is_found"),
    [([-6.4, -60.0], True), ([], False), ([-60.0], False), ([-6.4, -5.9], False)],
    ids=["its parent", "none", "another", "two"],
)
def test_a_fork_whose_transcript_is_not_there_yet_finds_its_parent_or_is_told_everything(
    app: App,
    talk: Talk,
    fork: Talk,
    ids: dict[RuleType, str],
    tmp_path: Path,
    others: list[float],
    is_found: bool,
):
    thread = pinned(app, "Deploys go through staging")
    told = talk.start().context
    for number, ago_s in enumerate(others):
        parent(tmp_path / f"{number}.jsonl", told if ago_s > -60 else "", NOW.plus(seconds=ago_s))
    new = made(rules.add(app, "Branches are named after tickets"))
    context = fork.start("fork", seconds_since_last_response=6).context
    assert new in context
    assert {id in context for id in ids.values()} == {not is_found}
    assert thread not in fork.say("deploys through staging?").context


def test_more_rules_than_fit_are_cut_whole_and_it_is_said(app: App, talk: Talk):
    wide = "\U0001f600 many wide words " * 12
    many = [rule(f"Rule {number}: {wide}") for number in range(60)]
    app.writer(app.scope).apply(plan(*map(Create, many)), act())
    context = talk.start().context
    assert len(context.encode("utf-16-le")) // 2 <= inject.START_CHARS
    assert "more: read .ai/recall/<words>" in context
    assert "over the limit of characters" in log_of(app)


# Notes in `_always-load/` are told when a session starts: the user's always, a repository's once allowed.


def put(place: Path, path: str, text: str) -> None:
    target = place / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


@pytest.fixture
def shared() -> Path:
    return Path.cwd() / ".ai" / "memory"


def test_the_users_notes_are_told_whole_and_first_and_again_after_compaction(app: App, talk: Talk):
    put(
        app.home.vault,
        "_always-load/style.md",
        "# Style\n\n" + "Short sentences. " * 50 + "The end.\n",
    )
    put(app.home.vault, "other.md", "The zebra approves.\n")
    context = talk.start().context
    assert "Short sentences" not in talk.say("do we write short sentences?").context
    again = talk.start("compact")
    assert ("The end." in again.context, again.notice) == (True, "")
    lines = context.splitlines()
    assert lines[1] == "Loaded 1 always-load entries"
    assert lines[2].startswith("- [user] Style (note_")
    assert "The end." in lines[2]
    assert "zebra" not in context
    rate(app, "style", Verdict.NEVER)
    assert "The end." not in talk.start("clear").context


def test_a_repositorys_notes_wait_until_they_are_allowed(app: App, talk: Talk, shared: Path):
    with pytest.raises(NotFound):
        session_start.allow(app)
    put(shared, "_always-load/house.md", "The giraffe approves.\n")
    first = talk.start()
    assert "giraffe" not in first.context
    assert "1 note of this repository would be always loaded" in first.notice
    assert "giraffe" not in first.notice
    session_start.allow(app)
    second = talk.start("clear")
    assert "- [repository] house" in second.context
    assert "would be always loaded" not in second.notice
    session_start.allow(app, off=True)
    assert "giraffe" not in talk.start("clear").context


@pytest.mark.parametrize("change", ["edit", "add", "remove", "rename"])
def test_what_was_allowed_is_this_text_and_no_other(
    app: App, talk: Talk, shared: Path, change: str
):
    put(shared, "_always-load/a.md", "The giraffe approves.\n")
    put(shared, "_always-load/b.md", "The zebra approves.\n")
    session_start.allow(app)
    if change in ("edit", "add"):
        put(shared, f"_always-load/{'a' if change == 'edit' else 'c'}.md", "The wolf approves.\n")
    elif change == "remove":
        (shared / "_always-load/a.md").unlink()
    else:
        (shared / "_always-load/a.md").rename(shared / "_always-load/x.md")
    heard = talk.start()
    assert "approves" not in heard.context
    assert "changed since you allowed them" in heard.notice


def test_a_repositorys_note_that_nobody_allowed_comes_with_no_prompt_or_task(
    app: App, talk: Talk, shared: Path
):
    put(shared, "_always-load/house.md", "The giraffe approves every release.\n")
    put(shared, "zebra.md", "The zebra approves every release on Friday.\n")
    talk.start()
    prompt = talk.say("who approves a release, the giraffe or the zebra?").context
    talk.call(
        "Task",
        prompt="find out who approves a release, the giraffe",
        description="x",
        subagent_type="helper",
    )
    task = talk.tell("SubagentStart", agent_id="a", agent_type="helper").context
    assert "zebra" in prompt
    assert "giraffe" not in prompt + task
    assert "waits to be allowed" in str(recall.why(app).recalls)
    session_start.allow(app)
    talk.start("clear", confirm=False)
    assert "giraffe" in talk.say("who approves a release, the giraffe?").context


def test_a_tag_or_a_field_does_not_make_a_note_always_loaded(app: App, talk: Talk, shared: Path):
    put(shared, "_always-load/a.md", "The giraffe approves.\n")
    session_start.allow(app)
    put(shared, "sly.md", "---\nalways_load: true\ntags: [_always-load]\n---\nThe wolf approves.\n")
    put(shared, "_archive/_always-load/b.md", "The wolf approves.\n")
    context = talk.start().context
    assert "giraffe" in context
    assert "wolf" not in context


def test_a_vault_that_cannot_be_read_does_not_keep_a_session_from_starting(app: App, talk: Talk):
    notes.save(app, "The zebra approves.", title="Zebra", always=True)
    (app.home.vault / "broken.md").write_bytes(b"\xff\xfe")
    assert "zebra" in talk.start().context
