"""Past sessions become memory: once, in their own time, and free of what is not theirs."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.base.errors import BadInput, Conflict, NoProject, NotFound
from recollect.base.moment import Moment
from recollect.model.act import Act, Sitting, Speaker
from recollect.model.ledger import Pointer
from recollect.model.memory import Kind, Memory, Rule, Status
from recollect.model.plan import Create
from recollect.model.query import Query
from recollect.model.result import Scope, Told
from recollect.ops import (
    briefs,
    capture,
    cursors,
    digest,
    history,
    memories,
    past,
    past_marks,
    past_read,
    recalls,
    upkeep,
)
from recollect.ops.app import App
from tests.ops.conftest import Opens
from tests.values import NOW, act, plan, thread

PAYLOADS = Path(__file__).parent.parent / "agents" / "payloads"
SPRING = NOW.plus(days=-200)
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


class Past:
    """A session of long ago, as its transcript tells it. Times rise by a minute a line."""

    def __init__(
        self, session: str, at: Moment = SPRING, *, cwd: Path | None = None, folder: Path | None = None
    ) -> None:
        self.session, self.at, self.cwd = session, at, cwd or Path.cwd()
        folder = folder or Path.home() / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(self.cwd))
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{session}.jsonl"
        self.lines: list[dict[str, object]] = []
        self.write()

    def line(self, type: str, content: object, **more: object) -> Past:
        self.at = self.at.plus(seconds=60)
        self.lines.append(
            {
                "parentUuid": None, "isSidechain": False, "type": type, "message": {"content": content},
                "uuid": f"{self.session}-{len(self.lines)}", "timestamp": self.at.iso(), "cwd": str(self.cwd),
                "sessionId": self.session, **more,
            }
        )  # fmt: skip
        return self.write()

    def said(self, text: str) -> Past:
        return self.line("user", text)

    def ran(self, command: str, output: str, *, failed: bool = False) -> Past:
        id = f"toolu_{self.session}_{len(self.lines)}"
        self.line("assistant", [{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}])
        return self.line("user", [{"type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed}])

    def fork(self, session: str) -> Past:
        """Copies what was said so far under its own name, as the client does."""
        copy = Past(session, self.at, cwd=self.cwd)
        copy.lines = [
            {**line, "sessionId": session, "uuid": f"{session}-{number}", "promptId": "p"}
            for number, line in enumerate(self.lines)
        ]
        return copy.write()

    def write(self) -> Past:
        self.path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), encoding="utf-8")
        long_still = (self.at.micros // 1_000_000, self.at.micros // 1_000_000)
        os.utime(self.path, long_still)
        return self


@pytest.fixture
def sittings(monkeypatch: pytest.MonkeyPatch) -> list[Sitting]:
    seen: list[Sitting] = []
    monkeypatch.setattr(digest, "_takers", lambda: [("look", lambda _app, sitting: lambda: seen.append(sitting))])
    return seen


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path.cwd() / "shop"
    (folder / ".ai").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def told(sittings: list[Sitting]) -> list[Act]:
    return [act for sitting in sittings for act in sitting.new]


def texts(sittings: list[Sitting]) -> list[str]:
    return [act.text for act in told(sittings)]


def rules(app: App, scope: Scope = Scope.PROJECT) -> dict[str, Rule]:
    found = app.reading(scope).find(Query(kinds=(Kind.RULE,), limit=1_000))
    return {one.body: one for one in found if isinstance(one, Rule) and one.origin == capture.ORIGIN}


def one_project(told: Told) -> dict[str, Any]:
    found = told.facts["projects"]
    assert isinstance(found, list)
    (only,) = found
    assert isinstance(only, dict)
    return only


# What is read


def test_a_session_is_shown_whole_and_then_as_over(project: Path, app: App, sittings: list[Sitting]):
    Past("s-1").said("please test").ran("pytest", "1 failed", failed=True).said("and again")

    past.import_past(app)

    (sitting,) = sittings
    assert texts(sittings) == ["please test", "1 failed", "and again"]
    assert (sitting.session, sitting.past, sitting.ended, sitting.cwd) == ("s-1", True, True, str(project))


def test_recorded_transcripts_are_read_whatever_lines_they_hold(project: Path, app: App, sittings: list[Sitting]):
    folder = Past("s-0").path.parent
    (folder / "s-0.jsonl").unlink()
    for name in ("transcript-compacted.jsonl", "transcript-subagent.jsonl"):
        text = (PAYLOADS / name).read_text(encoding="utf-8").replace("/home/dev/proj", str(project))
        text = text.replace("{", f'{{"cwd": {json.dumps(str(project))}, ', 1)
        path = folder / name.replace("transcript-subagent", "agent-ad8")
        path.write_text(text, encoding="utf-8")

    answer = past.import_past(app)

    prompts = [act.text for act in told(sittings) if act.speaker == "person" and not act.agent]
    assert prompts == ["first prompt", "second prompt", "third prompt", "after compact"]
    assert [bool(sitting.agent) for sitting in sittings] == [True, False]
    assert not any("being continued" in act.text for act in told(sittings))
    assert one_project(answer)["damaged_lines"] == 0


def test_a_plan_that_was_handed_on_states_no_rule_and_begins_a_turn(project: Path, app: App):
    plan = "# Move to pnpm\n\nwe always use tabs here\nno, we use pnpm here, not npm"
    Past("s-1").said(f"Implement the following plan:\n\n{plan}").ran("make move", "done").said("we use make here")

    past.import_past(app)

    assert list(rules(app)) == ["Use make."]


def test_a_plan_that_was_handed_on_is_the_agents(project: Path, app: App, sittings: list[Sitting]):
    Past("s-1").said("Implement the following plan:\n\n# Move to pnpm").ran("make move", "done")

    past.import_past(app)

    first, *_ = told(sittings)
    assert (first.speaker, first.plan, first.text) == (Speaker.AGENT, True, "# Move to pnpm")


TASK = '{"task_id":"a1","description":"look"}'


@pytest.mark.parametrize(
    ("queue", "typed"),
    [
        ([("enqueue", "docker runs on the host"), ("remove", None)], ["docker runs on the host"]),
        ([("enqueue", TASK), ("enqueue", "one"), ("remove", None), ("remove", None)], ["one"]),
        ([("enqueue", "one"), ("enqueue", TASK), ("remove", TASK), ("remove", "one")], ["one"]),
        ([("enqueue", "one"), ("enqueue", "two"), ("remove", "two"), ("remove", "one")], ["two", "one"]),
        ([("enqueue", "one"), ("remove", None), ("attachment", "one")], ["one"]),
        ([("enqueue", "one"), ("dequeue", None), ("user", "one")], ["one"]),
        ([("enqueue", "one"), ("popAll", "one"), ("remove", None)], []),
        ([("enqueue", "/model opus"), ("remove", None)], []),
        ([("remove", None), ("dequeue", None)], []),
    ],
)
def test_what_was_typed_while_the_agent_worked_is_read_once(
    project: Path, app: App, sittings: list[Sitting], queue: list[tuple[str, str | None]], typed: list[str]
):
    session = Past("s-1").said("look at the logs").ran("make logs", "none")
    for operation, text in queue:
        sent = {"type": "queued_command", "prompt": text, "commandMode": "prompt"}
        match operation:
            case "user":
                session.said(text or "")
            case "attachment":
                session.line("attachment", "", attachment=sent)
            case _:
                session.line("queue-operation", "", operation=operation)
                session.lines[-1]["content"] = text
                session.write()

    past.import_past(app)

    assert texts(sittings) == ["look at the logs", "none", *typed]
    assert all(one.speaker is Speaker.PERSON for one in told(sittings)[2:])


def test_sessions_come_oldest_first(project: Path, app: App, sittings: list[Sitting]):
    for name, days in (("a", 30), ("b", 10), ("c", 20)):
        Past(name, NOW.plus(days=-days)).said(f"in {name}")

    past.import_past(app)

    assert [sitting.session for sitting in sittings] == ["a", "c", "b"]


def test_takers_are_asked_at_the_time_of_the_session(project: Path, app: App, monkeypatch: pytest.MonkeyPatch):
    times: list[tuple[Moment, Moment]] = []

    def look(app: App, _sitting: Sitting) -> None:
        times.append((app.clock.now(), app.act("x", "y").at))

    monkeypatch.setattr(digest, "_takers", lambda: [("look", look)])
    session = Past("s-1").said("one").said("two")

    past.import_past(app)

    assert times == [(session.at, NOW)]
    assert app.clock.now() == NOW


def test_a_long_transcript_is_shown_in_pieces_that_know_what_went_before(
    project: Path, app: App, sittings: list[Sitting], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(past_read, "PIECE_BYTES", 2_000)
    session = Past("s-1")
    for number in range(40):
        session.said(f"prompt {number}")

    past.import_past(app)

    assert len(sittings) > 3
    assert texts(sittings) == [f"prompt {number}" for number in range(40)]
    assert [sitting.ended for sitting in sittings] == [False] * (len(sittings) - 1) + [True]
    assert sittings[1].acts[0].text == "prompt 0"


def test_results_that_share_a_line_are_all_read_where_a_piece_ends(
    project: Path, app: App, sittings: list[Sitting], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(past_read, "PIECE_BYTES", 10)
    blocks = [{"type": "text", "text": f"part {number}"} for number in range(3)]
    Past("s-1").line("assistant", blocks).said("next")

    past.import_past(app)

    assert texts(sittings) == ["part 0", "part 1", "part 2", "next"]


# Once


def test_read_twice_is_read_once(project: Path, app: App, open_app: Opens, sittings: list[Sitting]):
    session = Past("s-1").said("one").said("two")

    past.import_past(app)
    again = past.import_past(open_app())
    with session.path.open("a") as file:
        file.write('{"half')
    past.import_past(open_app())

    assert texts(sittings) == ["one", "two"]
    assert len(sittings) == 1
    assert again.summary.startswith("Nothing new in 1 transcript of shop.")


def test_a_subagents_transcript_that_was_read_is_not_looked_at_again(project: Path, app: App, sittings: list[Sitting]):
    Past("agent-a1").line("user", "do it", agentId="a1", isSidechain=True)

    past.import_past(app)
    again = past.import_past(app)

    assert [(sitting.agent, sitting.ended) for sitting in sittings] == [("a1", False)]
    assert one_project(again)["known"] == 1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are text")
@pytest.mark.parametrize("name", ["s\udcff1", "a b'\"", "x" * 200])
def test_names_of_transcripts_may_be_anything(project: Path, app: App, name: str):
    said = Past(name, cwd=project)
    said.line("user", "no, we use pnpm here, not npm", cwd=str(project))

    past.import_past(app)
    past.import_past(app)

    assert [rule.seen for rule in rules(app).values()] == [1]


def test_a_folder_that_no_file_can_have_is_no_project(project: Path, app: App):
    for number, cwd in enumerate(("\ud800", "a\0b", "relative", 7, "")):
        Past(f"s-{number}").line("user", "hello", cwd=cwd)

    answer = past.import_past(app)

    assert answer.facts["left_out"] == {"of other projects": 5}


def test_what_was_added_since_is_read_on(project: Path, app: App, sittings: list[Sitting]):
    session = Past("s-1").said("one")
    past.import_past(app)
    session.said("two")

    past.import_past(app)

    assert texts(sittings) == ["one", "two"]
    assert [act.text for act in sittings[-1].acts] == ["one", "two"]


def test_a_transcript_that_is_another_file_now_is_read_anew(project: Path, app: App, sittings: list[Sitting]):
    Past("s-1").said("one, which was rather long").said("two")
    past.import_past(app)
    Past("s-1", SPRING.plus(days=3)).said("three")

    past.import_past(app)

    assert texts(sittings) == ["one, which was rather long", "two", "three"]


def test_what_a_fork_copied_is_taken_once_also_by_a_later_import(project: Path, app: App, sittings: list[Sitting]):
    first = Past("s-1").said("one").ran("make", "built")
    past.import_past(app)
    fork = first.fork("s-2").said("two")
    fork.fork("s-3").said("three")

    answer = past.import_past(app)

    assert texts(sittings) == ["one", "built", "two", "three"]
    assert one_project(answer)["copies"] == 5
    assert [act.text for act in sittings[-1].acts] == ["one", "built", "two", "three"]


def test_the_same_words_said_again_are_no_copy(project: Path, app: App, sittings: list[Sitting]):
    Past("s-1").said("go on").said("go on")
    Past("s-2", NOW.plus(days=-3)).said("go on")

    past.import_past(app)

    assert texts(sittings) == ["go on"] * 3


def test_an_import_that_is_stopped_anywhere_goes_on_where_it_was(
    project: Path, app: App, open_app: Opens, sittings: list[Sitting], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(past_read, "PIECE_BYTES", 600)
    for name in "abc":
        session = Past(name, SPRING.plus(days=ord(name)))
        for number in range(10):
            session.said(f"{name} {number}")

    class Killed(BaseException):
        pass

    for after in range(1, 40):
        steps = 0

        def stop(_done: int, _total: int, after: int = after) -> None:
            nonlocal steps
            steps += 1
            if steps > after:
                raise Killed

        now = open_app()
        now.progress = stop
        try:
            past.import_past(now)
            break
        except Killed:
            continue

    assert texts(sittings) == [f"{name} {number}" for name in "abc" for number in range(10)]


def test_nothing_is_marked_as_read_whose_writing_failed(
    project: Path, app: App, sittings: list[Sitting], monkeypatch: pytest.MonkeyPatch
):
    Past("s-1").said("one")
    with monkeypatch.context() as broken:
        broken.setattr(past_marks, "put", _refuse)
        with pytest.raises(Conflict):
            past.import_past(app)
    sittings.clear()

    past.import_past(app)

    assert texts(sittings) == ["one"]


def _refuse(*_: object) -> None:
    raise Conflict("not now")


def test_two_imports_at_once_do_not_take_the_same(project: Path, app: App, open_app: Opens):
    Past("s-1").said("one")
    store = app.writing(Scope.PROJECT)
    path = str(Past("s-1").path)
    before = past_marks.PastMark(path)
    past_marks.put(store, before, before.read_on(past_marks.Part("change_1")))

    with pytest.raises(Conflict, match="Another import"):
        past_marks.put(store, before, before.read_on(past_marks.Part("change_2")))


# Beside what comes in live


def test_transcripts_that_the_digest_follows_are_left_to_it(project: Path, app: App, sittings: list[Sitting]):
    session = Past("s-1").said("before anyone listened").said("live")
    cursors.put(app.writing(Scope.PROJECT), cursors.Followed(path=str(session.path), session="s-1"))

    past.import_past(app)

    assert sittings == []


def hear_of(app: App, session: Past) -> None:
    """A hook tells that a turn ended, long enough ago for the digest to read it."""
    pointer = Pointer(
        name="turn-ended", host="claude-code", session=session.session, at=app.clock.now().plus(days=-1),
        transcript=str(session.path),
    )  # fmt: skip
    app.writing(Scope.PROJECT).sessions.receive(pointer)


def test_a_session_that_was_imported_and_goes_on_is_not_read_twice(project: Path, app: App, sittings: list[Sitting]):
    session = Past("s-1").said("long ago").ran("make", "ok")
    past.import_past(app)
    session.said("today")
    hear_of(app, session)

    digest.digest(app)

    assert [act.text for act in told(sittings)] == ["long ago", "ok", "today"]
    assert [act.text for act in sittings[-1].acts] == ["long ago", "ok", "today"], "it is known what went before"


def test_what_was_read_while_it_was_said_is_not_imported_again_from_a_copy(
    project: Path, app: App, sittings: list[Sitting]
):
    session = Past("s-1").said("one")
    hear_of(app, session)
    digest.digest(app)
    session.fork("s-2").said("two")

    past.import_past(app)

    assert [act.text for act in told(sittings)] == ["one", "two"]


def test_a_session_that_may_still_go_on_is_not_told_to_be_over(project: Path, app: App, sittings: list[Sitting]):
    Past("s-1", NOW.plus(seconds=-200)).said("one")

    past.import_past(app)

    assert [sitting.ended for sitting in sittings] == [False]


# Rules, in their own time


def test_a_rule_of_long_ago_is_as_old_as_it_is(project: Path, app: App):
    session = Past("s-1").said("no, we use pnpm here, not npm")

    past.import_past(app)

    (rule,) = rules(app).values()
    assert rule.created_at == rule.last_active_at == session.at
    assert rule.group == "s-1"


def _tax(session: str, at: Moment = SPRING, added: str = "QST is added on top of GST") -> Past:
    past = Past(session, at).said(f"The cart shows the wrong tax for customers in Quebec: {added}")
    id = f"toolu_{session}"
    past.line("assistant", [{"type": "tool_use", "id": id, "name": "Edit", "input": {"file_path": "cart/tax.py"}}])
    past.line("user", [{"type": "tool_result", "tool_use_id": id, "content": "ok", "is_error": False}])
    return past.line("assistant", [{"type": "text", "text": f"{added} in cart/tax.py now."}])


def _threads(app: App) -> list[Memory]:
    return app.reading(Scope.PROJECT).find(Query(kinds=(Kind.THREAD,), limit=100))


def test_a_thread_of_long_ago_begins_to_fade_when_it_is_imported(project: Path, app: App):
    session = _tax("s-1")

    told = past.import_past(app)

    (thread,) = _threads(app)
    assert (thread.created_at.days_since(SPRING) < 1, thread.last_active_at) == (True, session.at)
    (card,) = [one for one in memories.threads(app).cards if one.memory.id == thread.id]
    assert (card.memory.status, card.strength) == (Status.ACTIVE, 1.0)
    assert "Now remembered here: 1 thread, 0 rules" in told.summary
    assert one_project(told)["remembers"]["threads_by_status"] == {"active": 1}
    recalled = recalls.recall(app, ("wrong tax for customers in Quebec",)).found.found[0]
    assert (recalled.hit.memory.id, recalled.strength) == (thread.id, 1.0)
    assert briefs.open_threads(app) == {}, "nobody has worked on it for months"


def test_a_thread_that_a_later_past_session_went_on_with_fades_from_its_import_too(project: Path, app: App):
    _tax("s-1")
    later = _tax("s-2", SPRING.plus(days=60), "Shipping is taxed as well")

    past.import_past(app)

    assert max(one.last_active_at for one in _threads(app)) == later.at
    assert {one.reinforced_at for one in _threads(app)} == {NOW}
    assert {card.memory.status for card in memories.threads(app, status=Status.ACTIVE).cards} == {Status.ACTIVE}


def test_an_import_says_how_much_of_what_is_there_age_has_put_to_sleep_or_away(project: Path, app: App):
    _tax("s-1")
    old = [thread("asleep", days_old=20), *(thread(f"archived {n}", days_old=90) for n in range(2))]
    app.writing(Scope.PROJECT).apply(plan(*map(Create, old)), act())

    told = past.import_past(app)

    assert "Now remembered here: 4 threads (1 suspended, 2 archived by age), " in told.summary


def test_a_file_that_was_written_since_is_not_what_the_memory_spoke_of(project: Path, app: App):
    (project / "scripts").mkdir()
    for name, days in (("old.sh", 300), ("new.sh", 3)):
        (project / "scripts" / name).write_text("exit 0\n")
        os.utime(project / "scripts" / name, (NOW.plus(days=-days).micros // 1_000_000,) * 2)
    Past("s-1").said("always run scripts/old.sh and scripts/new.sh before you commit in this repo")

    past.import_past(app)

    (rule,) = rules(app).values()
    assert {anchor.path: bool(anchor.hash) for anchor in rule.anchors} == {
        "scripts/old.sh": True, "scripts/new.sh": False,
    }  # fmt: skip


def test_later_words_supersede_earlier_ones_in_whatever_order_they_are_read(project: Path, app: App):
    early, late = "always use tabs for indentation in this repo", "never use tabs for indentation in this repo"
    Past("s-2", NOW.plus(days=-10)).said(late)
    past.import_past(app)
    Past("s-1", NOW.plus(days=-20)).said(early)  # found later, said earlier

    past.import_past(app)

    by_age = sorted(rules(app).values(), key=lambda rule: rule.created_at)
    assert [rule.status for rule in by_age] == [Status.SUPERSEDED, Status.ACTIVE]
    assert by_age[0].superseded_by == by_age[1].id


def test_what_a_person_put_away_since_is_not_brought_back(project: Path, app: App):
    said = "no, we use pnpm here, not npm"
    capture.settled(app, capture.read(app, said), session="live")
    (rule,) = rules(app).values()
    memories.archive(app, (rule.id,))
    Past("s-1").said(said)

    past.import_past(app)

    (after,) = rules(app).values()
    assert (after.id, after.status) == (rule.id, Status.ARCHIVED)


def test_prompts_of_today_are_not_forgotten_over_those_of_the_past(project: Path, app: App):
    from recollect.ops import heard

    assert heard.claim(app, "today", "said today")
    before = app.reading(Scope.PROJECT).sessions.state("heard")
    Past("s-1").said("one").said("two")

    past.import_past(app)

    assert app.reading(Scope.PROJECT).sessions.state("heard") == before


# Undo


def test_an_import_is_one_change_that_can_be_taken_back_and_done_again(project: Path, app: App):
    Past("s-1").said("no, we use pnpm here, not npm")
    Past("s-2", NOW.plus(days=-9)).said("always run `make lint` before you commit in this repo")
    change = one_project(past.import_past(app))["changes"]["project"]
    assert len(rules(app)) == 2

    history.undo(app, str(change))
    assert rules(app) == {}

    past.import_past(app)
    assert len(rules(app)) == 2


def test_undoing_a_second_import_leaves_the_first(project: Path, app: App, sittings: list[Sitting]):
    first = Past("s-1").said("one")
    past.import_past(app)
    first.said("two")
    store = app.writing(Scope.PROJECT)
    (mark,) = past_marks.load(store).values()
    later = mark.read_on(past_marks.Part("change_2"))
    past_marks.put(store, mark, later)

    assert past_marks.load(store)[mark.path] == later
    with pytest.MonkeyPatch.context() as undone:
        undone.setattr(past_marks, "is_undone", lambda _store, change: change == "change_2")
        assert past_marks.load(store) == {mark.path: mark}


# Dry run


def test_a_dry_run_counts_and_writes_nothing(project: Path, open_app: Opens, sittings: list[Sitting]):
    session = Past("s-1").said("no, we use pnpm here, not npm").said("is it done?").ran("env", f"TOKEN={SECRET}")
    session.fork("s-2").said("thanks")
    before = _tree(Path.home())

    answer = past.import_past(open_app(dry_run=True))

    facts = one_project(answer)
    assert _tree(Path.home()) == before
    assert sittings == []
    assert (facts["sessions"], facts["copies"]) == (2, 3)
    assert facts["prompts"]["stored"] == 1
    assert sum(facts["prompts"].values()) == 3
    assert facts["secrets"]
    assert "pnpm" in answer.summary
    assert SECRET not in repr(answer)


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# What never comes in


def test_no_secret_of_the_past_is_anywhere_on_disk_afterwards(project: Path, app: App):
    Past("s-1").said(f"always deploy with token {SECRET} in this repo").ran(
        f"curl -H 'Authorization: Bearer {SECRET}' example.com", f"{SECRET}\n" * 3, failed=True
    ).ran("curl example.com", "ok").line("assistant", [{"type": "text", "text": f"I used {SECRET}"}])

    answer = past.import_past(app)
    app.close()

    kept = [path for path, content in _tree(app.home.root).items() if SECRET.encode() in content]
    kept += [path for path, content in _tree(project).items() if SECRET.encode() in content]
    assert kept == []
    assert one_project(answer)["secrets"]
    assert any("Kept out" in note for note in answer.notes)


def test_damaged_transcripts_cost_their_damage_alone(project: Path, app: App, sittings: list[Sitting]):
    session = Past("s-1").said("before")
    whole = session.path.read_bytes()
    session.said("after")
    after = session.path.read_bytes()[len(whole) :]
    too_long = b'{"type":"user","message":{"content":"' + b"x" * 4_100_000 + b'"}}\n'
    deep = b'{"type":"user","message":' + b"[" * 100_000 + b"\n"
    bad = [b'{"type":"user","message":\n', b"\xff\xfe\x00\n", b"null\n", b"\n", deep, too_long]
    session.path.write_bytes(whole + b"".join(bad) + after + b'{"type":"user","message":{"content":"half')
    (session.path.parent / "empty.jsonl").touch()
    (session.path.parent / "linked.jsonl").symlink_to("/etc/passwd")

    answer = past.import_past(app)

    assert texts(sittings) == ["before", "after"]
    assert one_project(answer)["damaged_lines"] == 5
    assert answer.facts["left_out"] == {"empty": 1, "a link": 1}


def test_a_taker_that_fails_is_named_and_keeps_no_other_from_its_work(
    project: Path, app: App, monkeypatch: pytest.MonkeyPatch
):
    def breaks(_app: App, _sitting: Sitting) -> None:
        raise ZeroDivisionError

    seen: list[Sitting] = []
    takers = [("threads:take", breaks), ("look", lambda _app, sitting: lambda: seen.append(sitting))]
    monkeypatch.setattr(digest, "_takers", lambda: takers)
    Past("s-1").said("one")

    answer = past.import_past(app)

    assert texts(seen) == ["one"]
    assert any("threads failed on 1 piece" in note for note in answer.notes)


# Whose they are


def test_only_sessions_of_this_project_are_read(project: Path, app: App, sittings: list[Sitting]):
    (project / "deep").mkdir()
    other = project.parent / "other"
    (other / ".ai").mkdir(parents=True)
    Past("s-1").said("ours")
    Past("s-2", SPRING.plus(days=1), cwd=project / "deep").said("ours too")
    Past("s-3", cwd=other).said("theirs")
    # A folder's name is no proof: `a/b` and `a-b` are spelt alike.
    Past("s-4", cwd=other, folder=Past("s-1").said("ours").path.parent).said("theirs")

    answer = past.import_past(app)

    assert texts(sittings) == ["ours", "ours too"]
    assert answer.facts["left_out"] == {"of other projects": 2}


def test_every_project_gets_its_own(project: Path, app: App, open_app: Opens):
    other = project.parent / "other"
    (other / ".ai").mkdir(parents=True)
    Past("s-1").said("no, we use pnpm here, not npm")
    Past("s-2", cwd=other).said("no, we use yarn here, not npm")
    Past("s-3", cwd=project.parent / "gone").said("no, we use bun here, not npm")
    Past("s-4", cwd=Path.home()).said("no, we use deno here, not npm")

    answer = past.import_past(app, all=True)

    assert [*rules(app)] != [*rules(open_app(other))]
    assert len(rules(app)) == len(rules(open_app(other))) == 1
    assert answer.facts["left_out"] == {"of folders that are gone": 1, "of no project": 1}


def test_transcripts_from_another_machine_can_be_named(
    project: Path, app: App, tmp_path: Path, sittings: list[Sitting]
):
    other = project.parent / "other"
    (other / ".ai").mkdir(parents=True)
    box = tmp_path / "box"
    Past("s-1", cwd=Path("/elsewhere/shop"), folder=box).said("from far away")
    Past("s-2", cwd=other, folder=box).said("of a project that is here")

    past.import_past(app, str(box))

    assert texts(sittings) == ["from far away"]


def test_sessions_that_ended_before_a_day_are_left_for_another_time(project: Path, app: App, sittings: list[Sitting]):
    Past("s-1", NOW.plus(days=-100)).said("old")
    Past("s-2", NOW.plus(days=-5)).said("young")

    past.import_past(app, since=NOW.plus(days=-30).iso()[:10])
    assert texts(sittings) == ["young"]

    past.import_past(app)
    assert texts(sittings) == ["young", "old"]


def test_where_there_is_nothing_it_says_so_and_makes_nothing(project: Path, app: App):
    answer = past.import_past(app)

    assert answer.summary == "Claude Code left no sessions of this project."
    assert not app.home.root.exists()


def test_bad_wishes_are_answered_with_what_to_do(project: Path, app: App, open_app: Opens):
    with pytest.raises(NotFound, match="There is no nowhere"):
        past.import_past(app, "nowhere")
    with pytest.raises(BadInput, match="no day"):
        past.import_past(app, since="yesterday")
    with pytest.raises(NoProject):
        past.import_past(open_app(Path.home()))


def test_it_says_what_is_remembered_now(project: Path, app: App):
    Past("s-1").said("no, we use pnpm here, not npm").said("I always want answers in English, in all my projects")

    answer = past.import_past(app)

    assert answer.summary.startswith("Read 1 past session of shop (0.0 MB, ")
    assert one_project(answer)["remembers"]["rules"] == 1
    assert "  rule: " in answer.summary
    assert len(rules(app, Scope.USER)) == 1
    assert any("1 rule more for every project" in note for note in answer.notes)
    assert any(note.startswith("`recollect undo change_") for note in answer.notes)


def test_progress_ends_where_it_should(project: Path, app: App, sittings: list[Sitting]):
    for name in "abc":
        Past(name).said("one").said("two")
    seen: list[tuple[int, int]] = []
    app.progress = lambda done, total: seen.append((done, total))

    past.import_past(app)
    past.import_past(app)

    assert seen[-1][0] == seen[-1][1] > 0
    assert all(done <= total for done, total in seen)


def test_the_clock_of_the_past_is_never_ahead(project: Path, app: App, sittings: list[Sitting]):
    Past("s-1", NOW.plus(days=5)).said("from a machine whose clock is wrong")
    wrong = Past("s-2", SPRING)
    wrong.line("user", "no time", timestamp=None).line("user", "long ago", timestamp="0001-01-01T00:00:00+14:00")

    past.import_past(app)

    assert {act.text: act.at for act in told(sittings)} == {
        "no time": wrong.at, "long ago": wrong.at, "from a machine whose clock is wrong": NOW,
    }  # fmt: skip


# Vectors


class Together:
    """The shipped model, which notes the texts that it was given at once."""

    def __init__(self, real: Any) -> None:
        self.id, self.dim, self.at_once = real.id, real.dim, 1
        self.embed_one, self.embed_ends = real.embed_one, real.embed_ends
        self._real = real
        self.given: list[list[str]] = []

    def embed(self, texts: Any, most_tokens: int | None = None) -> Any:
        self.given.append(list(texts))
        return self._real.embed(texts, most_tokens)


class Subjects(Together):
    """Two texts are near each other where both speak of money, or neither does."""

    def embed(self, texts: Any, most_tokens: int | None = None) -> Any:
        vectors = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            row[int("invoice" in text or "Bills" in text)] = 1
        return vectors


def answered(session: Past, text: str) -> Past:
    return session.line("assistant", [{"type": "text", "text": text}])


def worked(session: Past) -> Past:
    answered(session.said("Why does the nightly export of invoices stop?"), "The export stopped at the invoice limit.")
    return answered(session.said("Make the login page remember the user"), "The login page keeps a cookie for a month.")


def test_an_import_leaves_the_vectors_for_later_and_says_so(project: Path, app: App, open_app: Opens):
    worked(Past("s-1"))

    answer = past.import_past(app)

    later = open_app(project)
    store = later.writing(Scope.PROJECT)
    assert store.vector_counts() == {}
    assert one_project(answer)["vectors_missing"] == store.counts().passages > 0
    assert any("`recollect reindex` makes them at once" in note for note in answer.notes)
    assert store.words("nightly export").passages, "its words are found at once"
    upkeep.reindex(later)
    assert sum(store.vector_counts().values()) == store.counts().passages


def test_the_turns_of_a_piece_are_embedded_together(project: Path, app: App):
    worked(Past("s-1"))
    model = Together(app.embedder)
    app._embedder = model

    past.import_past(app)

    assert [len(texts) for texts in model.given] == [2]


def test_a_later_session_goes_on_with_what_means_the_same(project: Path, app: App, open_app: Opens):
    worked(Past("s-1"))
    again = Past("s-2", SPRING.plus(days=1)).said("Bills of customers are not sent out at night any more")
    answered(again, "Sending them breaks off where there are too many.")
    app._embedder = Subjects(app.embedder)

    past.import_past(app)

    found = {one.title: len(said) for one, said in open_app(project).reading(Scope.PROJECT).each() if said}
    assert found == {"Export stopped at the invoice limit": 2, "Make the login page remember the user": 1}
