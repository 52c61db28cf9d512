"""What is wrong is said in the look of the page, with what to do next."""

import asyncio
from pathlib import Path

import pytest
from playwright.sync_api import expect

from recollect.web import site as sites
from recollect.web.pages import VIEWS, Page, View
from tests.web.conftest import OpenPage
from tests.web.served import Answer, Ui, World, running, scratch_world


def check_styled(answer: Answer, status: int, *words: str) -> None:
    assert answer.status == status, answer
    assert '<link rel="stylesheet"' in answer.body
    assert "<header>" in answer.body
    assert "Traceback" not in answer.body
    for word in words:
        assert word in answer.body, (word, answer.body)


def test_every_refusal_has_the_look_and_says_what_to_do(ui: Ui):
    back = f'href="{ui.project.rpartition("/")[0]}'
    check_styled(ui.get(f"{ui.root}/nothing"), 404, "Not found", "Back to Now", back)
    check_styled(ui.get(f"{ui.root}/p/gone/now"), 404, "no such project", "Back to Now")
    check_styled(ui.get(f"{ui.project}/memory/none"), 404, "That did not work")
    check_styled(ui.get(f"{ui.project}/do/rule-add"), 405, "Method not allowed", "Back to Now")
    check_styled(ui.get(ui.home, Cookie=""), 401, "This page is private", "recollect ui")
    check_styled(ui.get(ui.home, Host="evil.example"), 403, "Wrong address", "recollect ui")
    check_styled(ui.get(ui.home, **{"Sec-Fetch-Site": "cross-site"}), 403, "Request refused")
    check_styled(ui.get(f"{ui.home}?q={'x' * 40_000}"), 414, "Too long")


def test_a_refusal_is_readable_in_the_browser(ui: Ui, open_page: OpenPage):
    tab = open_page(ui)
    for path, title in (
        (f"{ui.root}/nothing", "Not found"),
        ("/p/-/now", "This page is private"),
        (f"{ui.root}/p/gone/now", "That did not work"),
    ):
        tab.go(path)
        expect(tab.page.get_by_role("heading", level=1)).to_have_text(title)
        assert not tab.serious()
    tab.page.get_by_role("link", name="Back to Now").click()
    expect(tab.page.get_by_role("heading", name="Now", exact=True)).to_be_visible()
    tab.problems = [one for one in tab.problems if "status of 40" not in one]


def test_a_home_that_cannot_be_used_any_more_is_named():
    with scratch_world() as world:
        world.project.mkdir()
        world.run("rule", "add", "Use tabs", "--user")
        world.run("daemon", "stop", check=False)
        with running(world) as ui:
            ui.sign_in()
            _replace_home(world)
            check_styled(ui.get(ui.home), 500, "is not a folder", "Move it away")
            (world.root / "home").unlink()
            (world.root / "away").rename(world.root / "home")
            assert ui.get(ui.home).status == 200


def _replace_home(world: World) -> None:
    (world.root / "home").rename(world.root / "away")
    (world.root / "home").write_text("", encoding="utf-8")


def test_a_fault_ends_no_server_and_says_where_more_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def fail(_page: Page) -> None:
        raise ZeroDivisionError("a secret of the store")

    monkeypatch.setattr(sites, "VIEWS", [*VIEWS, View("/broken", fail)])  # type: ignore[arg-type]
    sent: list[dict[str, object]] = []
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/key/p/-/broken",
        "root_path": "/key",
        "query_string": b"",
        "headers": [],
        "server": ("127.0.0.1", 1),
        "scheme": "http",
    }

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    app = sites.make(sites.Site(tmp_path))
    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 500
    body = b"".join(bytes(message.get("body", b"")) for message in sent[1:]).decode()  # type: ignore[call-overload]
    for words in ("A fault in Recollect", "recollect doctor", 'href="/key/"', 'rel="stylesheet"'):
        assert words in body
    assert "secret" not in body
    assert "ZeroDivisionError" in capsys.readouterr().err
