"""A server that a plugin started stands back where the settings start one as well."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from recollect.ops import install
from recollect.ops.app import App
from tests.daemon.real import FORKS, House
from tests.mcp.talk import talking

pytestmark = [FORKS, pytest.mark.skipif(sys.platform == "win32", reason="a daemon is not started there")]


def offered(**environ: str) -> tuple[int, str]:
    with talking(None, **environ) as talk:
        has_tools = talk.client.server_capabilities.tools is not None
        tools = talk.portal.call(talk.client.list_tools).tools if has_tools else []
        return len(tools), talk.client.instructions or ""


def test_it_offers_nothing_where_the_settings_name_one(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    home = str(tmp_path / "home")
    alone = offered(HOME=home, RECOLLECT_VIA="plugin")
    app = App.here(Path.cwd())
    install.install(app)
    app.close()

    assert alone[0] == 11
    assert offered(HOME=home, RECOLLECT_VIA="plugin") == (0, "")
    assert offered(HOME=home)[0] == 11
