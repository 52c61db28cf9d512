"""Past sessions become memory, and are replayed with what was known before them."""

import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, cast
from unittest.mock import Mock

import numpy as np
import pytest

from recollect.agents import Cursor
from recollect.app import rule_keeping
from recollect.app.core import App
from recollect.app.embedding import fill_vectors
from recollect.app.states import CURSORS, TURN_VECTORS, ReadPart, ReadTranscript, read_text
from recollect.base.errors import BadInput, Conflict, NoProject, NotFound
from recollect.base.moment import Moment
from recollect.embed.embedder import Embedder
from recollect.jobs import session_import, transcripts
from recollect.model.memory import Kind, Memory, Rule, Status
from recollect.model.query import Query
from recollect.model.result import Scope, Summary
from recollect.model.session import Pointer, SessionPart, Speaker
from recollect.ops import daemon_calls, memories, recall
from recollect.ops.past_sessions import catch_up, import_past, replay
from recollect.ops.session_start import open_threads
from tests.ops.ask import holding, keep
from tests.ops.conftest import Opens
from tests.ops.transcript import Parts, texts, told
from tests.values import NOW, thread

pytestmark = pytest.mark.usefixtures("project")
PNPM = "no, we use pnpm here, not npm"
SPRING = NOW.plus(days=-200)
BENCH_DATA = Path(__file__).resolve().parents[2] / "bench" / "data"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


class Past:
    """A session of long ago, as its transcript tells it. Times rise by a minute a line."""

    def __init__(
        self,
        session: str,
        at: Moment = SPRING,
        *,
        cwd: Path | None = None,
        folder: Path | None = None,
    ) -> None:
        self.session, self.at, self.cwd = session, at, cwd or Path.cwd()
        folder = folder or Path.home() / ".claude" / "projects" / re.sub(
            r"[^A-Za-z0-9]", "-", str(self.cwd)
        )
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{session}.jsonl"
        self.lines: list[dict[str, object]] = []
        self.write()

    def line(self, type: str, content: object, /, **more: object) -> Self:
        self.at = self.at.plus(seconds=60)
        self.lines.append(
            {
                "parentUuid": None, "isSidechain": False, "type": type, "message": {"content": content},
                "uuid": f"{self.session}-{len(self.lines)}", "timestamp": self.at.iso(), "cwd": str(self.cwd),
                "sessionId": self.session, **more,
            }
        )  # fmt: skip
        return self.write()

    def said(self, *prompts: str) -> Self:
        for text in prompts:
            self.line("user", text)
        return self

    def answered(self, text: str) -> Self:
        return self.line("assistant", [{"type": "text", "text": text}])

    def called(
        self, tool: str, given: dict[str, str], output: str, *, failed: bool = False
    ) -> Self:
        id = f"toolu_{self.session}_{len(self.lines)}"
        self.line("assistant", [{"type": "tool_use", "id": id, "name": tool, "input": given}])
        return self.line(
            "user",
            [{"type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed}],
        )

    def ran(self, command: str, output: str, *, failed: bool = False) -> Self:
        return self.called("Bash", {"command": command}, output, failed=failed)

    def fork(self, session: str) -> "Past":
        """Copies what was said so far under its own name, as the client does."""
        copy = Past(session, self.at, cwd=self.cwd)
        copy.lines = [
            {**line, "sessionId": session, "uuid": f"{session}-{number}", "promptId": "p"}
            for number, line in enumerate(self.lines)
        ]
        return copy.write()

    def write(self) -> Self:
        self.path.write_text(
            "".join(json.dumps(line) + "\n" for line in self.lines), encoding="utf-8"
        )
        os.utime(self.path, (self.at.micros // 1_000_000,) * 2)  # nobody has touched it since
        return self


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    seen: Parts = []
    look = ("look", lambda _app, part: lambda: seen.append(part))
    monkeypatch.setattr(transcripts, "_turn_jobs", lambda: [look])
    return seen


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path.cwd() / "shop"
    (folder / ".ai").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def other(project: Path) -> Path:
    """Another project beside it."""
    folder = project.parent / "other"
    (folder / ".ai").mkdir(parents=True)
    return folder


def import_texts(app: App, parts: Parts) -> list[str]:
    import_past(app)
    return texts(parts)


def rules(app: App, scope: Scope = Scope.PROJECT) -> dict[str, Rule]:
    found = app.reader(scope).find(Query(kinds=(Kind.RULE,), limit=1_000))
    return {
        one.body: one
        for one in found
        if isinstance(one, Rule) and one.origin == rule_keeping.ORIGIN
    }


def one_project(told: Summary) -> dict[str, Any]:
    (only,) = cast(list[dict[str, Any]], told.facts["projects"])
    return only


def test_a_session_is_shown_whole_and_over_at_its_own_time(
    project: Path, app: App, monkeypatch: pytest.MonkeyPatch
):
    seen: list[tuple[SessionPart, Moment, Moment]] = []

    def look(app: App, part: SessionPart) -> None:
        seen.append((part, app.clock.now(), app.change_header("x", "y").at))

    monkeypatch.setattr(transcripts, "_turn_jobs", lambda: [("look", look)])
    session = (
        Past("s-1").said("please test").ran("pytest", "1 failed", failed=True).said("and again")
    )
    import_past(app)
    ((part, *times),) = seen
    assert texts([part]) == ["please test", "1 failed", "and again"]
    assert (part.session, part.past, part.ended, part.cwd) == ("s-1", True, True, str(project))
    assert (times, app.clock.now()) == ([session.at, NOW], NOW)


TASK = '{"task_id":"a1","description":"look"}'


@pytest.mark.parametrize(
    ("queue", "typed"),
    [
        ([("enqueue", "docker runs on the host"), ("remove", None)], ["docker runs on the host"]),
        ([("enqueue", TASK), ("enqueue", "one"), ("remove", None), ("remove", None)], ["one"]),
        ([("enqueue", "one"), ("enqueue", TASK), ("remove", TASK), ("remove", "one")], ["one"]),
        (
            [("enqueue", "one"), ("enqueue", "two"), ("remove", "two"), ("remove", "one")],
            ["two", "one"],
        ),
        ([("enqueue", "one"), ("remove", None), ("attachment", "one")], ["one"]),
        ([("enqueue", "one"), ("dequeue", None), ("user", "one")], ["one"]),
        ([("enqueue", "one"), ("popAll", "one"), ("remove", None)], []),
        ([("enqueue", "/model opus"), ("remove", None)], []),
        ([("remove", None), ("dequeue", None)], []),
    ],
)
def test_what_was_typed_while_the_agent_worked_is_read_once(
    app: App, parts: Parts, queue: list[tuple[str, str | None]], typed: list[str]
):
    session = Past("s-1").said("look at the logs").ran("make logs", "none")
    for operation, text in queue:
        if operation == "user":
            session.said(text or "")
        elif operation == "attachment":
            sent = {"type": "queued_command", "prompt": text, "commandMode": "prompt"}
            session.line("attachment", "", attachment=sent)
        else:
            session.line("queue-operation", "", operation=operation, content=text)
    assert import_texts(app, parts) == ["look at the logs", "none", *typed]
    assert all(one.speaker is Speaker.PERSON for one in told(parts)[2:])


def test_sessions_come_oldest_first_and_the_same_words_said_again_are_no_copy(
    app: App, parts: Parts
):
    for name, days in (("a", 30), ("b", 10), ("c", 20)):
        Past(name, NOW.plus(days=-days)).said("go on", "go on", f"in {name}")
    assert import_texts(app, parts) == [
        text for name in "acb" for text in ("go on", "go on", f"in {name}")
    ]


def test_a_long_transcript_comes_in_pieces_that_know_the_ones_before(
    app: App, parts: Parts, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(session_import, "PIECE_BYTES", 2_000)
    prompts = [f"prompt {number}" for number in range(40)]
    Past("s-1").said(*prompts)
    assert import_texts(app, parts) == prompts
    assert len(parts) > 3
    assert [part.ended for part in parts] == [False] * (len(parts) - 1) + [True]
    assert parts[1].acts[0].text == "prompt 0"


def test_read_twice_is_read_once_and_what_was_added_since_is_read_on(
    app: App, open_app: Opens, parts: Parts
):
    session = Past("s-1").said("one", "two")
    Past("agent-a1").line("user", "do it", agentId="a1", isSidechain=True)
    import_past(app)
    again = import_past(open_app())
    with session.path.open("a") as file:
        file.write('{"half')
    import_past(open_app())
    assert texts(parts) == ["one", "two", "do it"]
    assert [(part.agent, part.ended) for part in parts] == [("", True), ("a1", False)]
    assert again.summary.startswith("Nothing new in 2 transcripts of shop.")
    session.said("three")
    assert import_texts(app, parts)[3:] == ["three"]
    assert [act.text for act in parts[-1].acts] == ["one", "two", "three"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are text")
@pytest.mark.parametrize("name", ["s\udcff1", "a b'\"", "x" * 200])
def test_names_of_transcripts_may_be_anything(project: Path, app: App, name: str):
    Past(name, cwd=project).line("user", PNPM, cwd=str(project))
    import_past(app)
    import_past(app)
    assert [rule.seen for rule in rules(app).values()] == [1]


def test_what_a_fork_copied_is_taken_once_also_by_a_later_import(app: App, parts: Parts):
    first = Past("s-1").said("one").ran("make", "built")
    import_past(app)
    fork = first.fork("s-2").said("two")
    fork.fork("s-3").said("three")
    answer = import_past(app)
    assert texts(parts) == ["one", "built", "two", "three"]
    assert one_project(answer)["copies"] == 5
    assert [act.text for act in parts[-1].acts] == ["one", "built", "two", "three"]


def test_an_import_that_is_stopped_anywhere_goes_on_where_it_was_and_tells_how_far_it_is(
    open_app: Opens, parts: Parts, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(session_import, "PIECE_BYTES", 600)
    prompts = {name: [f"{name} {number}" for number in range(10)] for name in "abc"}
    for name in prompts:
        Past(name, SPRING.plus(days=ord(name))).said(*prompts[name])
    steps: list[tuple[float, float]] = []

    def stop(done: float, total: float, what: str = "") -> None:
        steps.append((done, total))
        if not next(steps_left):
            raise KeyboardInterrupt

    for after in range(1, 40):
        steps_left = iter(range(after, -1, -1))
        app = open_app()
        app.progress = stop
        with suppress(KeyboardInterrupt):
            import_past(app)
            break

    assert texts(parts) == [text for name in "abc" for text in prompts[name]]
    assert steps[-1][0] == steps[-1][1] > 0
    assert all(done <= total for done, total in steps)


def test_nothing_is_marked_as_read_whose_writing_failed(
    app: App, parts: Parts, monkeypatch: pytest.MonkeyPatch
):
    Past("s-1").said("one")
    with monkeypatch.context() as broken:
        broken.setattr(session_import, "ReadAct", Mock(side_effect=Conflict("not now")))
        with pytest.raises(Conflict):
            import_past(app)
    parts.clear()
    assert import_texts(app, parts) == ["one"]


def test_two_imports_at_once_do_not_record_the_same(app: App, monkeypatch: pytest.MonkeyPatch):
    path = str(Past("s-1").said("one").path)

    def read_by_another(_app: App, _part: SessionPart) -> None:
        read = ReadTranscript(path=path, parts=(ReadPart("change_1", Cursor(5, "m")),))
        CURSORS.write(app.writer(Scope.PROJECT), read, transcripts.cursor_key(path))

    monkeypatch.setattr(transcripts, "_turn_jobs", lambda: [("other", read_by_another)])
    with pytest.raises(Conflict, match="Another import"):
        import_past(app)


def hear_of(app: App, session: Past) -> None:
    """A hook tells that a turn ended, long enough ago for the digest to read it."""
    at = app.clock.now().plus(days=-1)
    path = str(session.path)
    app.writer(Scope.PROJECT).put(
        Pointer(
            name="turn-ended", host="claude-code", session=session.session, at=at, transcript=path
        )
    )
    catch_up(app)


def test_what_was_imported_and_goes_on_live_is_read_once_and_live_transcripts_are_left_alone(
    app: App, parts: Parts
):
    session = Past("s-1").said("long ago").ran("make", "ok")
    import_past(app)
    session.said("today")
    hear_of(app, session)
    assert [act.text for act in parts[-1].acts] == ["long ago", "ok", "today"], (
        "it is known what went before"
    )
    session.fork("s-2").said("in a copy")
    session.said("tomorrow")
    assert import_texts(app, parts) == ["long ago", "ok", "today", "in a copy"], (
        "the digest will read the rest"
    )


def test_a_session_that_may_still_go_on_is_not_told_to_be_over(app: App, parts: Parts):
    Past("s-1", NOW.plus(seconds=-200)).said("one")
    import_past(app)
    assert [part.ended for part in parts] == [False]


def _tax(session: str, at: Moment = SPRING, added: str = "QST is added on top of GST") -> Past:
    past = Past(session, at).said(f"The cart shows the wrong tax for customers in Quebec: {added}")
    return past.called("Edit", {"file_path": "cart/tax.py"}, "ok").answered(
        f"{added} in cart/tax.py now."
    )


def _threads(app: App) -> list[Memory]:
    return app.reader(Scope.PROJECT).find(Query(kinds=(Kind.THREAD,), limit=100))


def test_a_thread_of_long_ago_begins_to_fade_when_it_is_imported(app: App):
    session = _tax("s-1").said(PNPM)

    told = import_past(app)

    (thread,), (rule,) = _threads(app), rules(app).values()
    assert (rule.created_at, rule.last_active_at, rule.group) == (session.at, session.at, "s-1")
    assert (thread.created_at.days_since(SPRING) < 1, thread.last_active_at < session.at) == (
        True,
        True,
    )
    (card,) = memories.threads(app).cards
    assert (card.memory.status, card.strength) == (Status.ACTIVE, 1.0)
    assert "Now remembered here: 1 thread, 1 rule" in told.summary
    assert one_project(told)["remembers"]["threads_by_status"] == {"active": 1}
    recalled = recall.recall(app, ("wrong tax for customers in Quebec",)).found.found[0]
    assert (recalled.hit.memory.id, recalled.strength) == (thread.id, 1.0)
    assert open_threads(app) == {}, "nobody has worked on it for months"
    _tax("s-2", SPRING.plus(days=60), "Shipping is taxed as well")
    import_past(app)
    assert max(one.last_active_at for one in _threads(app)) > SPRING.plus(days=60)
    assert {one.reinforced_at for one in _threads(app)} == {NOW}


def test_an_import_says_how_much_of_what_is_there_age_has_put_to_sleep_or_away(app: App):
    _tax("s-1")
    old = [thread("asleep", days_old=20), *(thread(f"archived {n}", days_old=90) for n in range(2))]
    keep(app, *old)
    assert (
        "Now remembered here: 4 threads (1 suspended, 2 archived by age), "
        in import_past(app).summary
    )


def test_a_file_that_was_written_since_is_not_what_the_memory_spoke_of(project: Path, app: App):
    (project / "scripts").mkdir()
    for name, days in (("old.sh", 300), ("new.sh", 3)):
        (project / "scripts" / name).write_text("exit 0\n")
        os.utime(project / "scripts" / name, (NOW.plus(days=-days).micros // 1_000_000,) * 2)
    Past("s-1").said("always run scripts/old.sh and scripts/new.sh before you commit in this repo")
    import_past(app)
    (rule,) = rules(app).values()
    assert {one.path: bool(one.hash) for one in rule.anchors} == {
        "scripts/old.sh": True,
        "scripts/new.sh": False,
    }


def test_later_words_supersede_earlier_ones_in_whatever_order_they_are_read(app: App):
    Past("s-2", NOW.plus(days=-10)).said("never use tabs for indentation in this repo")
    import_past(app)
    Past("s-1", NOW.plus(days=-20)).said(
        "always use tabs for indentation in this repo"
    )  # found later, said earlier
    import_past(app)
    by_age = sorted(rules(app).values(), key=lambda rule: rule.created_at)
    assert [rule.status for rule in by_age] == [Status.SUPERSEDED, Status.ACTIVE]
    assert by_age[0].superseded_by == by_age[1].id


def test_prompts_of_today_are_not_forgotten_over_those_of_the_past(app: App):
    assert transcripts.claim_prompt(app, "today", "said today")
    before = read_text(app.reader(Scope.PROJECT), "heard")
    Past("s-1").said("one", "two")
    import_past(app)
    assert read_text(app.reader(Scope.PROJECT), "heard") == before


def test_each_import_is_one_change_that_can_be_taken_back_and_done_again(app: App):
    first = Past("s-1").said(PNPM)
    import_past(app)
    first.said("always run `make lint` before you commit in this repo")
    change = one_project(import_past(app))["changes"]["project"]
    assert len(rules(app)) == 2
    memories.undo(app, str(change))
    assert [*rules(app)] == ["Use pnpm, not npm."], "the first import stands"
    import_past(app)
    assert len(rules(app)) == 2


def test_a_dry_run_counts_and_writes_nothing(open_app: Opens, parts: Parts):
    session = Past("s-1").said(PNPM, "is it done?").ran("env", f"TOKEN={SECRET}")
    session.fork("s-2").said("thanks")
    before = _tree(Path.home())
    answer = import_past(open_app(dry_run=True))
    facts = one_project(answer)
    assert (_tree(Path.home()), parts) == (before, [])
    assert (facts["sessions"], facts["copies"]) == (2, 3)
    assert (facts["prompts"]["stored"], sum(facts["prompts"].values())) == (1, 3)
    assert facts["secrets"]
    assert "pnpm" in answer.summary
    assert "1 rule that would be in force" in answer.summary
    assert "1 prompt dropped: " in answer.summary
    assert SECRET not in repr(answer)


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_no_secret_of_the_past_is_anywhere_on_disk_afterwards(project: Path, app: App):
    Past("s-1").said(f"always deploy with token {SECRET} in this repo").ran(
        f"curl -H 'Authorization: Bearer {SECRET}' example.com", f"{SECRET}\n" * 3, failed=True
    ).ran("curl example.com", "ok").answered(f"I used {SECRET}")
    answer = import_past(app)
    app.close()
    assert holding(app.home.root, SECRET) + holding(project, SECRET) == []
    assert one_project(answer)["secrets"]
    assert any("Kept out" in note for note in answer.notes)


def test_damaged_transcripts_cost_their_damage_alone(app: App, parts: Parts):
    session = Past("s-1").said("before", "after")
    before, after = session.path.read_bytes().splitlines(keepends=True)
    bad = [b'{"type":"user","message":\n', b"\xff\xfe\x00\n", b"null\n", b"\n"]
    session.path.write_bytes(
        before + b"".join(bad) + after + b'{"type":"user","message":{"content":"half'
    )
    assert one_project(import_past(app))["damaged_lines"] == 3
    assert texts(parts) == ["before", "after"]


def test_a_job_that_fails_is_named_and_the_others_do_their_work(
    app: App, parts: Parts, monkeypatch: pytest.MonkeyPatch
):
    def breaks(_app: App, _part: SessionPart) -> None:
        raise ZeroDivisionError

    (look,) = transcripts._turn_jobs()
    monkeypatch.setattr(transcripts, "_turn_jobs", lambda: [("threads", breaks), look])
    Past("s-1").said("one")
    assert any("threads failed on 1 piece" in note for note in import_past(app).notes)
    assert texts(parts) == ["one"]


def test_only_sessions_of_this_project_are_read(other: Path, project: Path, app: App, parts: Parts):
    (project / "deep").mkdir()
    ours = Past("s-1").said("ours")
    Past("s-2", SPRING.plus(days=1), cwd=project / "deep").said("ours too")
    Past("s-3", cwd=other).said("theirs")
    # A folder's name is no proof: `a/b` and `a-b` are spelt alike.
    Past("s-4", cwd=other, folder=ours.path.parent).said("theirs")
    for number, cwd in enumerate(("\ud800", "a\0b", "relative", 7, "")):
        Past(f"s-1{number}").line("user", "of no folder", cwd=cwd)
    answer = import_past(app)
    assert texts(parts) == ["ours", "ours too"]
    assert answer.facts["left_out"] == {"of other projects": 7}


def test_every_project_gets_its_own(other: Path, project: Path, app: App, open_app: Opens):
    Past("s-1").said(PNPM)
    Past("s-2", cwd=other).said("no, we use yarn here, not npm")
    Past("s-3", cwd=project.parent / "gone").said("no, we use bun here, not npm")
    Past("s-4", cwd=Path.home()).said("no, we use deno here, not npm")
    answer = import_past(app, all=True)
    assert [*rules(app)] != [*rules(open_app(other))]
    assert len(rules(app)) == len(rules(open_app(other))) == 1
    assert answer.facts["left_out"] == {"of folders that are gone": 1, "of no project": 1}


def test_transcripts_of_another_machine_can_be_named_and_old_ones_left(
    other: Path, app: App, tmp_path: Path, parts: Parts
):
    box = tmp_path / "box"
    Past("s-1", NOW.plus(days=-100), cwd=Path("/elsewhere/shop"), folder=box).said("from far away")
    Past("s-2", cwd=other, folder=box).said("of a project that is here")
    Past("s-3", NOW.plus(days=-5), cwd=Path("/elsewhere/shop"), folder=box).said("young")
    for since, read in (
        (NOW.plus(days=-30).iso()[:10], ["young"]),
        (None, ["young", "from far away"]),
    ):
        import_past(app, str(box), since=since)
        assert texts(parts) == read


def test_what_cannot_be_done_is_said_with_what_to_do(app: App, open_app: Opens):
    assert import_past(app).summary == "No agent left any sessions of this project."
    with pytest.raises(NotFound, match="There is no nowhere"):
        import_past(app, "nowhere")
    with pytest.raises(BadInput, match="not a date"):
        import_past(app, since="yesterday")
    with pytest.raises(NoProject):
        import_past(open_app(Path.home()))
    assert not app.home.root.exists()


def test_it_says_what_is_remembered_now(app: App):
    Past("s-1").said(PNPM, "I always want answers in English, in all my projects")
    answer = import_past(app)
    assert answer.summary.startswith("Read 1 past session of shop (0.0 MB, ")
    assert one_project(answer)["remembers"]["rules"] == 1
    assert "  rule: " in answer.summary
    assert len(rules(app, Scope.USER)) == 1
    assert any(note.endswith("takes the rules for every project back.") for note in answer.notes)
    assert any(note.startswith("`recollect undo change_") for note in answer.notes)


def test_the_clock_of_the_past_is_never_ahead(app: App, parts: Parts):
    Past("s-1", NOW.plus(days=5)).said("from a machine whose clock is wrong")
    wrong = Past("s-2", SPRING)
    wrong.line("user", "no time", timestamp=None).line(
        "user", "long ago", timestamp="0001-01-01T00:00:00+14:00"
    )
    import_past(app)
    assert {act.text: act.at for act in told(parts)} == {
        "no time": wrong.at, "long ago": wrong.at, "from a machine whose clock is wrong": NOW,
    }  # fmt: skip


class Subjects(Embedder):
    """Two texts are near each other where both speak of money, or neither does."""

    def __init__(self, real: Any) -> None:
        self.id, self.dim, self.at_once = real.id, real.dim, 1
        self.embed_one = real.embed_one  # type: ignore[method-assign]

    def embed(self, texts: Any, most_tokens: int | None = None) -> Any:
        vectors = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            row[int("invoice" in text or "Bills" in text)] = 1
        return vectors


def worked(session: Past) -> Past:
    session.said("Why does the nightly export of invoices stop?").answered(
        "The export stopped at the invoice limit."
    )
    session.said("Make the login page remember the user")
    return session.answered("The login page keeps a cookie for a month.")


def test_sessions_can_be_counted_without_reading_them(other: Path, app: App):
    assert import_past(app, count=True).facts["sessions"] == 0
    for session, folder in (("s-1", None), ("s-2", None), ("s-3", other)):
        Past(session, cwd=folder).said(PNPM)

    def count() -> tuple[Any, ...]:
        told = import_past(app, count=True)
        return told.facts["sessions"], told.facts["here"], told.facts["imported"]

    assert (count(), rules(app)) == ((3, 2, False), {})
    import_past(app)
    assert count() == (3, 2, True)
    assert memories.log(app).entries[0][1].summary == "Read 2 past sessions of Claude Code"
    memories.undo(app)
    assert count() == (3, 2, False)


@pytest.mark.parametrize("has_daemon", [False, True])
def test_the_vectors_of_an_import_come_without_being_asked_for(
    project: Path, app: App, open_app: Opens, monkeypatch: pytest.MonkeyPatch, has_daemon: bool
):
    monkeypatch.setattr(daemon_calls, "is_running", lambda _root: has_daemon)
    worked(Past("s-1"))
    worked(Past("s-2", SPRING.plus(days=1)))
    answer = import_past(app)
    store = open_app(project).reader(Scope.PROJECT)
    counts = store.counts()
    assert counts.vectors == (0 if has_daemon else counts.passages)
    assert one_project(answer)["vectors_missing"] == counts.passages - counts.vectors
    assert any("the daemon makes the vectors" in note for note in answer.notes) is has_daemon
    assert store.words("nightly export").passages, "its words are found at once"


def test_a_later_session_goes_on_with_what_means_the_same(project: Path, app: App, open_app: Opens):
    worked(Past("s-1"))
    again = Past("s-2", SPRING.plus(days=1)).said(
        "Bills of customers are not sent out at night any more"
    )
    again.answered("Sending them breaks off where there are too many.")
    app._embedder = Subjects(app.embedder)
    import_past(app)
    found = {
        one.title: len(said) for one, said in open_app(project).reader(Scope.PROJECT).each() if said
    }
    assert found == {
        "Why does the nightly export of invoices stop": 2,
        "Make the login page remember the user": 1,
    }


def test_vectors_that_a_daemon_makes_meanwhile_do_not_change_the_threads_of_an_import(
    project: Path, app: App, open_app: Opens
):
    edit = {"file_path": "nightly/invoice.py"}
    first = Past("s-1").said("Make the nightly run skip what was sent").called("Edit", edit, "ok")
    first.answered("The nightly run now skips what was sent.")
    again = Past("s-2", SPRING.plus(days=1)).said("Bills of customers stay away since yesterday")
    again.answered("Nothing goes out where a queue is full.")
    subjects = Subjects(app.embedder)
    app._embedder = subjects
    import_past(app)
    alone = turns_by_thread(app)
    memories.undo(app)

    def fill_as_a_daemon_does(_done: float, _total: float, _what: str = "") -> None:
        fill_vectors(open_app(project).writer(Scope.PROJECT), subjects, 100)

    app.progress = fill_as_a_daemon_does
    import_past(app)

    assert len(alone) == 2
    assert turns_by_thread(app) == alone


def turns_by_thread(app: App) -> set[frozenset[str]]:
    held = (said for _, said in app.reader(Scope.PROJECT).each() if said)
    return {frozenset(message.id for message in said) for said in held}


def labelled_sessions(project: str) -> None:
    """Those of the threads benchmark, as transcripts."""
    lines = (BENCH_DATA / "threads.jsonl").read_text(encoding="utf-8").splitlines()
    told = [session for session in map(json.loads, lines) if session["project"] == project]
    for day, session in enumerate(told):
        past = Past(session["session"], SPRING.plus(days=day))
        for turn in session["turns"]:
            past.said(turn["prompt"])
            for act in turn["acts"]:
                if "say" in act:
                    past.answered(act["say"])
                elif "run" in act:
                    past.ran(act["run"], act["output"], failed=bool(act["failed"]))


def test_an_import_that_was_cut_off_makes_the_threads_of_one_that_was_not(
    project: Path, open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(session_import, "PIECE_BYTES", 4_000)
    labelled_sessions("shop")
    app = open_app(project)
    import_past(app)
    whole = turns_by_thread(app)
    memories.undo(app)
    assert turns_by_thread(app) == set()

    def cut_off(_done: float, _total: float, _what: str = "") -> None:
        if not next(steps_left):
            raise KeyboardInterrupt

    cuts = 0
    for after in (2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 40, 60, 90, 10_000):
        steps_left = iter(range(after, -1, -1))
        again = open_app(project)
        again.progress = cut_off
        with suppress(KeyboardInterrupt):
            import_past(again)
            break
        cuts += 1

    assert cuts > 3
    assert turns_by_thread(open_app(project)) == whole
    assert not TURN_VECTORS.find_all(open_app(project).reader(Scope.PROJECT))


def learned(app: App) -> list[tuple[str, ...]]:
    """All that sessions left here, without the ids and the keys that each home draws."""
    return sorted(
        (
            memory.kind,
            memory.group,
            memory.title,
            memory.body,
            *(f"{message.id} {message.content}" for message in said),
        )
        for memory, said in app.reader(Scope.PROJECT).each()
    )


def test_what_sessions_leave_does_not_depend_on_when_their_files_were_written(
    project: Path, app: App, open_app: Opens
):
    edit = {"file_path": "cart/tax.py"}
    broken_off = Past("z-parent").said("The cart shows the wrong tax for customers in Quebec", PNPM)
    broken_off.called("Edit", edit, "ok")
    fork = broken_off.fork("a-fork").said("Add QST on top of GST in cart/tax.py")
    fork.called("Edit", edit, "ok")
    other = worked(Past("s-3", SPRING.plus(days=1))).said("Rename the login button")
    other.ran("make login", "no rule", failed=True)
    import_past(app)
    expected = learned(app)

    memories.undo(app)
    for place, past in enumerate((fork, broken_off, other)):  # copied just now, in another order
        os.utime(past.path, (NOW.micros // 1_000_000 - 60 + place,) * 2)
    elsewhere = open_app(project, home=project.parent / "another home")
    import_past(elsewhere)

    assert {row[1] for row in expected} == {"z-parent", "s-3"}, "a fork goes on with its parent"
    assert learned(elsewhere) == expected


@pytest.fixture
def sessions() -> None:
    first = Past("one", SPRING).said("The nightly import fails in parse_row, please find out why")
    first.answered(
        "parse_row treats an empty column as zero. I changed it to skip empty columns in the importer."
    )
    second = Past("two", SPRING.plus(days=3)).said(
        "parse_row in the nightly import fails on an empty column again"
    )
    second.answered(
        "The importer should skip empty columns since the change in spring; the config turned it off."
    )
    second.said("hello")
    second.answered("Hello!")


def test_only_what_earlier_sessions_left_is_told_and_nothing_is_written(app: App, sessions: None):
    def files() -> list[str]:
        return sorted(
            str(path)
            for folder in (Path.home(), Path.cwd(), app.home.root)
            for path in folder.rglob("*")
        )

    before = files()
    facts = replay(app, show=5).facts

    assert (facts["sessions"], facts["prompts"], facts["told"]) == (2, 3, 1)
    assert '"session": "two"' in json.dumps(facts["sample"])
    assert '"session": "one"' not in json.dumps(facts["sample"])
    assert facts["used"] == facts["memories"] == 1
    assert files() == before


def test_since_counts_later_prompts_alone(app: App, sessions: None):
    facts = replay(app, since=SPRING.plus(days=1).iso()[:10]).facts
    assert (facts["prompts"], facts["told"]) == (2, 1)


def test_bad_input_is_named_and_a_project_without_sessions_says_so(app: App):
    with pytest.raises(BadInput, match="-1"):
        replay(app, show=-1)
    with pytest.raises(BadInput, match="yesterday"):
        replay(app, since="yesterday")
    with pytest.raises(NotFound, match="not a project folder"):
        replay(app, project=os.sep)
    assert replay(app).summary.startswith("No agent left any sessions")
