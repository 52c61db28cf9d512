"""Every tool through the SDK's own client, over the pipes, on a real daemon."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import MCPError

from recollect.ops import memories, notes
from recollect.ops.app import App
from tests.daemon.real import FORKS, House, soon
from tests.mcp.talk import VERSIONS, talking

pytestmark = [FORKS, pytest.mark.skipif(sys.platform == "win32", reason="a daemon is not started there")]
STAGING = "Deploys always go through the staging cluster before they reach production."


def seed(count: int = 3, **fields: Any) -> list[str]:
    """Threads of the project that the tests stand in, said by an agent."""
    from recollect.model.plan import Create
    from recollect.model.result import Scope
    from tests.values import act, messages, plan, thread

    app = App.here(Path.cwd())
    now = app.clock.now()
    times = {"created_at": now, "reinforced_at": now, "last_active_at": now}
    made = [
        thread(f"Deploys {n}", body=f"{STAGING} {'!' * n}", topics=("deploy",), **(times | fields))
        for n in range(count)
    ]
    creates = [Create(one, messages(one, "The login form.", "The database schema.")) for one in made]
    app.writing(Scope.PROJECT).apply(plan(*creates), act(at=now))
    app.close()
    return [one.id for one in made]


@pytest.mark.parametrize("version", VERSIONS)
def test_it_speaks_both_protocols_and_says_how_to_use_it(house: House, version: str):
    with talking(version=version) as talk:
        tools = talk.portal.call(talk.client.list_tools).tools
        again = talk.portal.call(talk.client.list_tools).tools

        assert talk.client.protocol_version == version
        assert talk.client.server_info is not None
        assert talk.client.server_info.name == "recollect"
        assert ".ai/recall/" in (talk.client.instructions or "")
        assert [tool.model_dump_json() for tool in tools] == [tool.model_dump_json() for tool in again]
        for tool in tools:
            Draft202012Validator.check_schema(tool.input_schema)
            Draft202012Validator.check_schema(tool.output_schema or {})
            assert tool.annotations is not None
            assert tool.annotations.open_world_hint is False
        assert talk.pin("Said over either.").startswith("thread_")


def test_what_is_pinned_comes_back_word_for_word(house: House):
    content = "Dark mode, vi keys — 日本語 🙂\n\n  indented,\ttabbed,   spaced; \"quoted\" and 'so'."

    with talking() as talk:
        said = talk.text("ai_pin", content=content, title="Preferences", topics=["ui"])
        id = said.split()[2]

        assert said == f"Pinned as {id} (weight=1.30)"
        assert content in talk.text("ai_recall", query=id)
        found = talk.text("ai_recall", query="keys and dark mode")
        assert "### [ACTIVE] Preferences" in found
        assert f"Id: {id}" in found


def test_a_long_memory_is_read_page_by_page(house: House):
    content = "".join(f"Line {n} of a long memory.\n" for n in range(1_500)).strip()
    with talking() as talk:
        id = talk.pin(content)

        read, query = "", id
        for _ in range(20):
            page = talk.text("ai_recall", query=query)
            read += page
            if f"{id}+" not in page:
                break
            query = page.split('ai_recall("')[1].split('"')[0]

        assert re.findall(r"^Line \d+ of a long memory\.$", read, re.MULTILINE) == content.split("\n")


@pytest.mark.parametrize(
    ("tool", "given", "says"),
    [
        ("ai_pin", {"content": ""}, "nothing to pin"),
        ("ai_pin", {"content": " \n"}, "nothing to pin"),
        ("ai_recall", {"query": ""}, "the question is empty"),
        ("ai_focus", {"topic": " "}, "no topic"),
        ("ai_unfocus", {"topic": "nothing"}, "no focus on"),
        ("ai_compact", {"strategy": "agressive"}, "Did you mean aggressive?"),
        ("ai_undo", {}, "recollect"),
        ("ai_undo", {"change": "change_20260101_000000_000000"}, "change_20260101_000000_000000"),
        ("ai_rate_context", {"thread_id": "thread_20260101_000000_000000", "useful": True}, "No memory has the id"),
        ("ai_merge", {"a": "x", "b": "y"}, "No memory has the id"),
        ("ai_split", {"thread_id": "\x00\u202e"}, "No memory has the id"),
    ],
)
def test_bad_input_is_a_tool_error_that_says_what_to_do(house: House, tool: str, given: dict[str, Any], says: str):
    house.start()
    with talking() as talk:
        assert says in talk.error(tool, **given)


def test_a_megabyte_is_kept_and_more_than_that_is_refused(house: House):
    with talking() as talk:
        id = talk.pin("word " * 199_999)
        assert "(cut at character " in talk.text("ai_recall", query=id)

        assert "at most 1,000,000 are kept" in talk.error("ai_pin", content="x" * 1_000_001)


def test_out_of_range_is_taken_as_the_nearest_and_that_is_said(house: House):
    with talking() as talk:
        assert "(weight=1.50)\nThe boost 9 is outside 0 to 0.5" in talk.text("ai_pin", content="x", weight_boost=9)
        assert "(weight=0)" in talk.text("ai_focus", topic="x", weight=-1)
        assert "# Memory Recall" in talk.text("ai_recall", query="x", limit=-7)


def test_an_unknown_id_is_answered_with_the_nearest(house: House):
    with talking() as talk:
        id = talk.pin("The only one.")
        wrong = id[:-1] + ("0" if id[-1] != "0" else "1")

        assert f"Did you mean {id}?" in talk.error("ai_rate_context", thread_id=wrong, useful=True)


def test_focus_rating_merging_splitting_and_undo_take_effect(house: House):
    a, b, c = seed(3)
    with talking() as talk:
        assert 'Focus set on "deploy" (weight=0.8). 3 threads' in talk.text("ai_focus", topic="deploy")
        assert talk.data("ai_status")["focus"][0]["topic"] == "deploy"
        assert "All focus cleared" in talk.text("ai_unfocus")
        rated = talk.text("ai_rate_context", thread_id=a, useful=False, reason="old")
        assert rated == f"Rated {a} as not useful. Relevance score: 1.00 → 0.75"
        assert "Merged" in talk.text("ai_merge", a=a, b=b)
        assert talk.text("ai_recall", query=b).count(a) >= 1
        shown = talk.text("ai_split", thread_id=c, topics=["database"], dry_run=True)
        assert shown.startswith("Dry run: nothing was written.")
        assert "is new" in talk.text("ai_split", thread_id=c, topics=["database"])
        assert "Undid split" in talk.text("ai_undo")


def test_suggestions_and_compaction_are_data_within_the_limit(house: House):
    seed(90)
    with talking() as talk:
        told = talk.data("ai_suggestions", context="deploys")
        assert told["totals"]["merge_candidates"] > len(told["merge_candidates"]) > 0
        assert {"thread_a", "thread_b", "similarity", "reason", "command"} == set(told["merge_candidates"][0])
        assert told["health"]["context_pressure"] == 1.0

        foretold = talk.data("ai_compact", dry_run=True)
        done = talk.data("ai_compact")
        assert foretold["before"] == done["before"]
        assert foretold["after"] == done["after"]
        assert foretold["actions"] == done["actions"]
        assert done["left_out"]["actions"] > 0
        assert done["summary"].startswith("Compaction complete. 90 → ")
        assert "Undid compact" in talk.text("ai_undo")
        assert talk.data("ai_suggestions")["health"]["active_threads"] == 90


def test_data_is_of_the_shape_that_its_schema_says(house: House):
    seed(3)
    with talking() as talk:
        schemas = {tool.name: tool.output_schema for tool in talk.portal.call(talk.client.list_tools).tools}
        for name in ("ai_suggestions", "ai_compact", "ai_status"):
            Draft202012Validator(schemas[name]).validate(talk.data(name))


def test_two_agents_compact_at_once_and_nothing_is_lost(house: House):
    seed(40)
    with talking() as one, talking() as other:
        found: list[dict[str, Any]] = []
        both = [threading.Thread(target=lambda t=t: found.append(t.data("ai_compact"))) for t in (one, other)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join(60)

        assert len(found) == 2
        assert {told["dry_run"] for told in found} == {False}
    app = App.here(Path.cwd())
    spoken = [m.content for _, store in app.scopes() for _, said in store.each() for m in said]
    app.close()
    assert len(spoken) == 80


def test_notes_are_resources(house: House):
    app = App.here(Path.cwd())
    notes.save(app, "Ask Anna first.", title="Deploy")
    app.close()

    with talking() as talk:
        (found,) = talk.portal.call(talk.client.list_resources).resources
        read = talk.portal.call(talk.client.read_resource, str(found.uri))
        named = talk.portal.call(talk.client.read_resource, "recollect://memory/deploy.md")

    assert (found.title, str(found.uri)[:24]) == ("Deploy", "recollect://memory/note_")
    for one in (read, named):
        assert "Ask Anna first." in one.contents[0].text  # type: ignore[union-attr]


def test_memories_are_resources(house: House):
    with talking() as talk:
        id = talk.pin("Kept as a resource.")

        (found,) = talk.portal.call(talk.client.list_resources).resources
        (template,) = talk.portal.call(talk.client.list_resource_templates).resource_templates
        assert found.uri == f"recollect://memory/{id}"
        assert template.uri_template == "recollect://memory/{id}"
        read = talk.portal.call(talk.client.read_resource, str(found.uri))
        assert "Kept as a resource." in read.contents[0].text  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="No memory has the id"):
            talk.portal.call(talk.client.read_resource, "recollect://memory/thread_20260101_000000_000000")
        with pytest.raises(MCPError, match="No such resource"):
            talk.portal.call(talk.client.read_resource, "file:///etc/passwd")


def test_a_store_that_cannot_be_written_still_answers_and_says_why_it_keeps_nothing(house: House):
    """Its head names a way of writing that SQLite does not know: it may then be read only, by root too."""
    (id,) = seed(1)
    app = App.here(Path.cwd())
    (_, store), *_ = app.scopes()
    path = store.path
    app.close()
    assert path is not None
    with open(path, "r+b") as file:
        file.seek(18)
        file.write(b"\x03")
    with talking() as talk:
        assert "staging" in talk.text("ai_recall", query="staging cluster")
        assert "cannot be written" in talk.error("ai_rate_context", thread_id=id, useful=False)
        assert "cannot be written" in talk.error("ai_pin", content="x")
        assert "cannot be written" in talk.error("ai_compact")
        assert talk.data("ai_compact", dry_run=True)["before"]["active_threads"] == 1


def test_where_no_daemon_can_be_started_it_goes_on_by_words_alone_and_says_so(house: House):
    """Another process holds the lifetime lock and never answers."""
    import fcntl

    with open(house.place.lock, "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with talking() as talk:
            said = talk.text("ai_pin", content="Kept without help.")
            assert "without it, by words alone" in said
            assert "Kept without help." in talk.text("ai_recall", query="help")
            talk.pin("Another.")
            assert talk.data("ai_status")["memories"] == {"project": {"thread active": 2}}
    seed(2)
    with open(house.place.lock, "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with talking() as talk:
            assert "could not be started" in talk.error("ai_compact")
    assert house.alive() == []


def test_many_servers_share_one_daemon_and_each_serves_its_own_project(house: House, tmp_path: Path):
    shop, blog = tmp_path / "shop", tmp_path / "blog"
    for folder in (shop, blog):
        (folder / ".git").mkdir(parents=True)
        (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    with talking(shop) as one, talking(shop) as two, talking(blog) as three:
        one.pin("Only the shop knows of turnips.")

        assert "turnips" in two.text("ai_recall", query="turnips").split("Matching")[1]
        assert "(0 found)" in three.text("ai_recall", query="turnips")
        assert len(house.alive()) == 1


def test_what_was_written_at_the_command_line_is_read_by_the_server(house: House):
    with talking() as talk:
        talk.pin("First.")
        app = App.here(Path.cwd())
        memories.pin(app, "Second, by hand.")
        app.close()

        assert "Second, by hand." in talk.text("ai_recall", query="hand")


def raw(*lines: str) -> tuple[list[Any], int]:
    """What the bare server prints for these lines."""
    spoken = "".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape")
    server = [sys.executable, "-m", "recollect.mcp"]
    done = subprocess.run(server, input=spoken, capture_output=True, timeout=60, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


def test_it_ends_with_its_input_and_prints_json_alone(house: House):
    begin = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": VERSIONS[1], "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
    }  # fmt: skip

    printed, code = raw("nonsense", "{", '{"jsonrpc": "2.0"}', "[]" * 1_000, json.dumps(begin), "\udcff\udcfe")

    assert code == 0
    answers = [line for line in printed if line.get("id") == 1]
    assert answers[0]["result"]["serverInfo"]["name"] == "recollect"
    assert raw() == ([], 0)


def test_a_server_whose_client_is_killed_ends_too(house: House):
    server = subprocess.Popen([sys.executable, "-m", "recollect.mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.close()

    assert soon(lambda: server.poll() is not None)
    server.stdout.close()
    assert server.returncode in (0, -signal.SIGPIPE)
