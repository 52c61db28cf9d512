"""The server as agents start it: a process of its own, over pipes, on a machine where nothing may be there yet."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from recollect.app.core import App
from recollect.ops import install
from recollect.wire.place import find_place
from tests.daemon.real import FORKS, LINUX, House, alive_in, soon
from tests.mcp.talk import VERSIONS, talking, talking_over_pipes

pytestmark = [FORKS, pytest.mark.skipif(not LINUX, reason="looks at processes in /proc")]


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
        assert [tool.model_dump_json() for tool in tools] == [tool.model_dump_json() for tool in again]
        for tool in tools:
            Draft202012Validator.check_schema(tool.input_schema)
            Draft202012Validator.check_schema(tool.output_schema or {})
            assert tool.annotations is not None
            assert tool.annotations.open_world_hint is False
        talk.pin("Said before anything was there.")
        assert len(alive_in(fresh)) == 1
        assert "before anything" in talk.text("ai_recall", query="before anything was there")


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


def test_one_that_a_plugin_started_offers_nothing_where_the_settings_name_one(
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
