"""Every tool through the SDK's own client, on a real daemon; and the server as agents start it, over pipes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
from jsonschema import Draft202012Validator
from mcp import MCPError

from recollect.app.core import App
from recollect.mcp import server
from recollect.model.result import Scope
from recollect.ops import daemon_calls, install, notes, steering
from recollect.wire import lockfile
from recollect.wire.place import find_place
from tests.daemon.real import FORKS, LINUX, PATIENCE_S, House, alive_in, soon
from tests.mcp import talk as talk_module
from tests.mcp.talk import VERSIONS, Talk, talking, talking_over_pipes

pytestmark = [
    FORKS,
    pytest.mark.skipif(sys.platform == "win32", reason="a daemon is not started there"),
]
STAGING = "Deploys always go through the staging cluster before they reach production."


def seed(count: int = 3, **fields: Any) -> list[str]:
    """Threads of the project that the tests stand in, said by an agent."""
    from recollect.model.plan import Create
    from tests.values import act, messages, plan, thread

    app = App.open(Path.cwd())
    now = app.clock.now()
    times = {"created_at": now, "reinforced_at": now, "last_active_at": now}
    made = [
        thread(f"Deploys {n}", body=f"{STAGING} {'!' * n}", topics=("deploy",), **(times | fields))
        for n in range(count)
    ]
    creates = [
        Create(one, messages(one, "The login form.", "The database schema.")) for one in made
    ]
    app.writer(Scope.PROJECT).apply(plan(*creates), act(at=now))
    app.close()
    return [one.id for one in made]


def test_what_is_pinned_comes_back_word_for_word(shared: House):
    content = (
        "Dark mode, vi keys — 日本語 🙂\n\n  indented,\ttabbed,   spaced; \"quoted\" and 'so'."
    )
    with talking() as talk:
        said = talk.text("ai_pin", content=content, title="Preferences", topics=["ui"])
        id = said.split()[2]
        assert said == f"Pinned as {id} (weight=1.30)"
        assert content in talk.text("ai_recall", query=id)
        found = talk.text("ai_recall", query="keys and dark mode")
        assert "### [ACTIVE] Preferences" in found
        assert f"Id: {id}" in found


BAD_INPUT: list[tuple[str, dict[str, Any], str]] = [
    ("ai_pin", {"content": ""}, "nothing to pin"),
    ("ai_pin", {"content": " \n"}, "nothing to pin"),
    ("ai_pin", {"content": "x" * 1_000_001}, "at most 150,000 are kept"),
    ("ai_recall", {"query": ""}, "the question is empty"),
    ("ai_focus", {"topic": " "}, "no topic"),
    ("ai_unfocus", {"topic": "nothing"}, "no focus on"),
    ("ai_compact", {"strategy": "agressive"}, "Did you mean aggressive?"),
    ("ai_undo", {}, "recollect"),
    ("ai_undo", {"change": "change_20260101_000000_000000"}, "change_20260101_000000_000000"),
    (
        "ai_rate_context",
        {"thread_id": "thread_20260101_000000_000000", "useful": True},
        "No memory is called",
    ),
    ("ai_merge", {"a": "x", "b": "y"}, "No memory is called"),
    ("ai_split", {"thread_id": "\x00\u202e"}, "No memory is called"),
    ("ai_forget", {}, "There is no tool 'ai_forget'"),
]


def test_bad_input_is_a_tool_error_that_says_what_to_do(shared: House):
    with talking() as talk:
        for tool, given, says in BAD_INPUT:
            assert says in talk.error(tool, **given), tool


def test_the_commands_that_an_answer_names_run_in_an_agents_shell(
    shared: House, monkeypatch: pytest.MonkeyPatch
):
    program = "/home/ann/.recollect/bin/recollect"
    monkeypatch.setattr(server, "agent_program", lambda _home: program)
    with talking() as talk:
        assert f"`{program} search WORDS`" in talk.error("ai_split", thread_id="nothing")
        talk.pin("Deploys wait for the nightly run.")
        assert f"Redo: `{program} undo " in talk.text("ai_undo")


def test_focus_rating_merging_splitting_and_undo_take_effect(shared: House):
    a, b, c = seed(3)
    with talking() as talk:
        assert 'Focus set on "deploy" (weight=0.8). 3 threads' in talk.text(
            "ai_focus", topic="deploy"
        )
        assert talk.data("ai_status")["focus"][0]["topic"] == "deploy"
        assert "All focus cleared" in talk.text("ai_unfocus")
        rated = talk.text("ai_rate_context", thread_id=a, useful=False, reason="old")
        assert rated == f"Rated {a} as not useful. Relevance score: 1.00 → 0.75"
        assert "Merged" in talk.text("ai_merge", a=a, b=b)
        assert talk.text("ai_recall", query=b).count(a) >= 1
        shown = talk.text("ai_split", thread_id=c, topics=["database"], dry_run=True)
        assert shown.startswith("Dry run: nothing was written.")
        assert "is new" in talk.text("ai_split", thread_id=c, topics=["database"])
        assert "is complete again" in talk.text("ai_undo")


def has_all_vectors(talk: Talk) -> bool:
    time.sleep(0.6)  # the daemon puts such work off while it is asked, and a moment longer
    return bool(talk.data("ai_status")["passages_without_vector"] == 0)


def test_suggestions_and_compaction_are_data_within_the_limit(shared: House):
    seed(90)
    with talking() as talk:
        schemas = {
            tool.name: tool.output_schema for tool in talk.portal.call(talk.client.list_tools).tools
        }
        for name in ("ai_suggestions", "ai_status"):
            Draft202012Validator(schemas[name]).validate(talk.data(name))
        told = talk.data("ai_suggestions", context="deploys")
        assert told["totals"]["merge_candidates"] > len(told["merge_candidates"]) > 0
        assert {"thread_a", "thread_b", "similarity", "reason", "command"} == set(
            told["merge_candidates"][0]
        )
        assert told["health"]["context_pressure"] == 1.0

        # Vectors that came between the two would tell other threads alike.
        assert soon(lambda: has_all_vectors(talk))
        foretold = talk.data("ai_compact", dry_run=True)
        done = talk.data("ai_compact")
        Draft202012Validator(schemas["ai_compact"]).validate(done)
        assert foretold["before"] == done["before"]
        assert foretold["after"] == done["after"]
        assert foretold["actions"] == done["actions"]
        assert done["left_out"]["actions"] > 0
        assert done["summary"].startswith("Compaction complete. 90 → ")
        assert "threads of their own again" in talk.text("ai_undo")
        assert talk.data("ai_suggestions")["health"]["active_threads"] == 90


def test_two_agents_compact_at_once_and_nothing_is_lost(shared: House):
    seed(40)
    with talking() as one, talking() as other, ThreadPoolExecutor() as threads:
        for told in threads.map(lambda talk: talk.data("ai_compact"), (one, other)):
            assert told["dry_run"] is False
    app = App.open(Path.cwd())
    said = [
        message for _, store in app.scopes() for _, messages in store.each() for message in messages
    ]
    app.close()
    assert len(said) == 80


def test_memories_and_notes_are_resources(shared: House):
    app = App.open(Path.cwd())
    notes.save(app, "Ask Anna first.", title="Deploy")
    app.close()
    with talking() as talk:
        id = talk.pin("Kept as a resource.")

        note, thread = talk.portal.call(talk.client.list_resources).resources
        (template,) = talk.portal.call(talk.client.list_resource_templates).resource_templates
        assert (note.title, str(note.uri)[:24], thread.uri) == (
            "Deploy", "recollect://memory/note_", f"recollect://memory/{id}",
        )  # fmt: skip
        assert template.uri_template == "recollect://memory/{id}"
        for uri, body in (
            (note.uri, "Ask Anna"),
            ("recollect://memory/deploy.md", "Ask Anna"),
            (thread.uri, "Kept as"),
        ):
            read = talk.portal.call(talk.client.read_resource, str(uri))
            assert body in read.contents[0].text  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="No memory is called"):
            talk.portal.call(
                talk.client.read_resource, "recollect://memory/thread_20260101_000000_000000"
            )
        with pytest.raises(MCPError, match="No such resource"):
            talk.portal.call(talk.client.read_resource, "file:///etc/passwd")


def test_a_store_that_cannot_be_written_still_answers_and_says_why_it_keeps_nothing(house: House):
    """Its head names a way of writing that SQLite does not know: it may then be read only, by root too."""
    (id,) = seed(1)
    app = App.open(Path.cwd())
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


@pytest.fixture
def no_daemon(house: House, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another process holds the lifetime lock and never answers."""
    monkeypatch.setattr(daemon_calls, "_START_S", 0.2)
    held = lockfile.acquire(house.place.lock)
    assert held
    yield
    lockfile.release(held)
    assert house.alive() == []


@pytest.mark.usefixtures("no_daemon")
def test_where_no_daemon_can_be_started_it_goes_on_by_words_alone_and_says_so():
    seed(2)
    with talking() as talk:
        said = talk.text("ai_pin", content="Kept without help.")
        assert said.endswith(
            "\nThe daemon could not be started: this was done without it, by words alone."
        )
        found = talk.text("ai_recall", query="help")
        assert "Kept without help." in found
        assert found.endswith(server.ALONE)
        assert talk.data("ai_status")["memories"] == {"project": {"thread active": 3}}
        problem, hint = talk.error("ai_compact").split("\n")
        assert problem.endswith("could not be started.")
        assert "recollect doctor" in hint


@pytest.mark.usefixtures("no_daemon")
def test_what_is_done_without_the_daemon_loads_no_numpy():
    seed(2)
    script = """if True:
        import sys
        from recollect.mcp import server
        server.daemon_calls._START_S = 0.2
        values = {"pin": {"text": "x"}, "recall": {"query": ["staging cluster"]}, "status": {}, "suggestions": {}}
        for op in values:
            reply = server.Link().ask({"op": op, "values": values[op]}, "this call", 30)
            assert not reply.failed, reply
        assert "numpy" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", script], check=True)


@contextmanager
def calling(talk: Talk, tool: str) -> Iterator[list[tuple[float, float | None]]]:
    """A call under way, and what is heard of its progress; the client cancels it in the end."""
    heard: list[tuple[float, float | None]] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total))

    async def call() -> None:
        await talk.client.call_tool(tool, {}, progress_callback=listen)

    future = talk.portal.start_task_soon(call)
    yield heard
    future.cancel()


def changes() -> int:
    app = App.open(Path.cwd())
    try:
        return len(app.reader(Scope.PROJECT).log(limit=100))
    finally:
        app.close()


def test_long_work_of_the_daemon_reports_progress_and_can_be_cancelled(
    shared: House, monkeypatch: pytest.MonkeyPatch
):
    """It waits for another writer."""
    monkeypatch.setattr(server, "fresh_key", lambda: "this call")
    shared.home.conf.write_text("MEMORY_BUSY_TIMEOUT_MS=100\n")
    seed(40)
    app = App.open(Path.cwd())
    other = apsw.Connection(str(app.store_path(Scope.PROJECT)))
    app.close()
    before = changes()
    other.execute("BEGIN IMMEDIATE")
    with talking() as talk:
        with calling(talk, "ai_compact") as heard:
            assert soon(lambda: heard)
            assert heard[0][1] == 3
        assert soon(lambda: shared.ask("progress", name="this call") == ("ok", b"[0, 0]"))
    other.close()
    assert changes() == before


@pytest.mark.usefixtures("no_daemon")
@pytest.mark.parametrize("tool", ["ai_compact", "ai_suggestions"])
def test_so_does_long_work_without_the_daemon(monkeypatch: pytest.MonkeyPatch, tool: str):
    seed(1)
    before = changes()
    go_on, cancelled, ended = threading.Event(), threading.Event(), threading.Event()

    class WatchedLink(server.Link):
        def ask(self, *call: Any) -> server.Reply:
            reply = super().ask(*call)
            assert "cancelled" in reply.text
            ended.set()
            return reply

        def cancel(self, name: str) -> None:
            super().cancel(name)
            cancelled.set()

    def find_close(*values: Any) -> Any:
        found = find_at_once(*values)
        go_on.wait(PATIENCE_S)
        return found

    find_at_once = steering._find_close
    monkeypatch.setattr(steering, "_find_close", find_close)
    monkeypatch.setattr(talk_module, "Link", WatchedLink)
    with talking() as talk:
        with calling(talk, tool) as heard:
            assert soon(lambda: heard)
        assert cancelled.wait(PATIENCE_S)
        go_on.set()
        assert ended.wait(PATIENCE_S)
    assert changes() == before


def test_many_servers_share_one_daemon_and_each_serves_its_own_project(
    shared: House, tmp_path: Path
):
    shop, blog = tmp_path / "shop", tmp_path / "blog"
    for folder in (shop, blog):
        (folder / ".git").mkdir(parents=True)
        (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    with talking(shop) as one, talking(shop) as two, talking(blog) as three:
        one.pin("Only the shop knows of turnips.")
        assert "turnips" in two.text("ai_recall", query="turnips").split("Matching")[1]
        assert "(0 found)" in three.text("ai_recall", query="turnips")
        assert len(shared.alive()) == 1


linux = pytest.mark.skipif(not LINUX, reason="looks at processes in /proc")


@pytest.fixture
def fresh(runtime: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the home will be."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    home = Path(os.environ["RECOLLECT_HOME"])
    yield home
    for pid in alive_in(home):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    assert soon(lambda: not alive_in(home))


@linux
@pytest.mark.parametrize("version", VERSIONS)
def test_it_speaks_both_protocols_and_says_how_to_use_it(fresh: Path, version: str):
    """With no home, no daemon and nothing installed: the first call starts the daemon and is answered by it."""
    with talking_over_pipes(version) as talk:
        tools = talk.portal.call(talk.client.list_tools).tools
        again = talk.portal.call(talk.client.list_tools).tools

        assert talk.client.protocol_version == version
        assert talk.client.server_info is not None
        assert talk.client.server_info.name == "recollect"
        assert ".ai/recall/" in (talk.client.instructions or "")
        assert "{program}" not in (talk.client.instructions or "")
        assert [tool.model_dump_json() for tool in tools] == [
            tool.model_dump_json() for tool in again
        ]
        for tool in tools:
            Draft202012Validator.check_schema(tool.input_schema)
            Draft202012Validator.check_schema(tool.output_schema or {})
            assert tool.annotations is not None
            assert tool.annotations.open_world_hint is False
        talk.pin("Said before anything was there.")
        assert len(alive_in(fresh)) == 1
        assert "before anything" in talk.text("ai_recall", query="before anything was there")


@linux
def test_a_runtime_folder_that_becomes_another_s_meanwhile_is_no_obstacle(fresh: Path):
    """A server lives for days."""
    fresh.mkdir(mode=0o700)
    with talking() as talk:
        talk.pin("Said to the first daemon.")
        (first,) = alive_in(fresh)
        os.chmod(find_place(str(fresh), os.environ).runtime, 0o777)
        assert soon(lambda: first not in alive_in(fresh))
        talk.pin("Said to the second.")
        assert len(alive_in(fresh)) == 1
        assert talk.data("ai_status")["memories"] == {"project": {"thread active": 2}}


def offered(**environ: str) -> tuple[int, str]:
    with talking_over_pipes(**environ) as talk:
        has_tools = talk.client.server_capabilities.tools is not None
        tools = talk.portal.call(talk.client.list_tools).tools if has_tools else []
        return len(tools), talk.client.instructions or ""


@linux
def test_a_plugins_server_offers_nothing_beside_one_of_the_settings(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    home = str(tmp_path / "home")
    alone = offered(HOME=home, RECOLLECT_VIA="plugin")
    app = App.open(Path.cwd())
    install.install(app)
    app.close()
    assert alone[0] == 11
    assert offered(HOME=home, RECOLLECT_VIA="plugin") == (0, "")
    assert offered(HOME=home)[0] == 11


def raw(*lines: str) -> tuple[list[Any], int]:
    """What the bare server prints for these lines."""
    spoken = "".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape")
    server = [sys.executable, "-m", "recollect.mcp"]
    done = subprocess.run(server, input=spoken, capture_output=True, timeout=60, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


@linux
def test_it_ends_with_its_input_and_prints_json_alone(house: House):
    begin = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": VERSIONS[1], "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
    }  # fmt: skip
    printed, code = raw(
        "nonsense", "{", '{"jsonrpc": "2.0"}', "[]" * 1_000, json.dumps(begin), "\udcff\udcfe"
    )
    assert code == 0
    answers = [line for line in printed if line.get("id") == 1]
    assert answers[0]["result"]["serverInfo"]["name"] == "recollect"
    assert raw() == ([], 0)
