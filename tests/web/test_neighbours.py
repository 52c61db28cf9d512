"""Other servers on 127.0.0.1, in a real browser: a cookie knows no ports, so whatever they get must be worth nothing.
And the way in: a private file that a browser is started with, and the login page."""

import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, Response, expect

from tests.web.chromium import PATIENCE_MS
from tests.web.served import Ui, World, running


class Heard(NamedTuple):
    path: str
    headers: dict[str, str]


class Neighbour:
    """A server of another user's: notes every request, and answers with whatever page it is given."""

    def __init__(self) -> None:
        heard = self.heard = list[Heard]()
        self.page = "<!doctype html><title>Neighbour</title>"
        self.cookies: list[str] = []
        neighbour = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                names = {name.lower(): value for name, value in self.headers.items()}
                heard.append(Heard(self.path, names))
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                for cookie in neighbour.cookies:
                    self.send_header("Set-Cookie", cookie)
                self.end_headers()
                with suppress(OSError):
                    self.wfile.write(neighbour.page.encode())

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever)
        self._thread.start()

    def end(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()

    @property
    def stolen(self) -> set[str]:
        return {heard.headers["cookie"] for heard in self.heard if "cookie" in heard.headers}


@pytest.fixture
def neighbour() -> Iterator[Neighbour]:
    made = Neighbour()
    yield made
    made.end()


@pytest.fixture
def window(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context() as context:
        context.set_default_timeout(PATIENCE_MS)
        yield context


def _enter(window: BrowserContext, ui: Ui) -> Page:
    """As a person: the code is typed on the login page."""
    page = window.new_page()
    page.goto(ui.address)
    page.get_by_label("Code").fill(ui.code)
    page.get_by_role("button", name="Open the page").click()
    expect(page.get_by_role("heading", name="Now", exact=True)).to_be_visible()
    return page


def _guesses(ui: Ui) -> list[str]:
    """Every path that somebody who knows the program, and not this run of it, can think of."""
    project = ui.world.json("projects")["projects"][0]["folder"]
    views = ("now", "sessions", "inbox", "library", "try", "health", "live", "do/rule-add", "undo")
    paths = [f"/p/{name}/{view}" for name in ("-", project) for view in views]
    paths += ["/", "/choose", "/theme", "/enter", "/static/page.js", "/favicon.ico", "/?token=x"]
    return [*paths, *(f"/{'0' * 32}{path}" for path in paths)]


def test_what_a_neighbour_collects_opens_nothing(
    shop: World, window: BrowserContext, neighbour: Neighbour
):
    """The browser is led to it from a page of ours and by hand, framed, redirected and asked by script."""
    with running(shop) as ui:
        page = _enter(window, ui)
        expect(page.locator("#feed")).to_be_attached()
        expect(page.locator(".switch button").first).to_be_hidden()  # the script has begun
        page.get_by_label("Theme").select_option("dark")
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        secrets = [cookie["value"] for cookie in window.cookies() if cookie["name"] != "theme"]
        secrets.append(page.url.split("/")[3])
        assert all(len(secret) >= 32 for secret in secrets)
        for path in ("/", "/p/-/now", "/static/page.css", "/deep/er/", *_guesses_of_folders(ui)):
            window.new_page().goto(neighbour.base + path)
        # From a page of ours, as a link in somebody's note would lead there.
        page.evaluate(
            "(to) => document.body.append(Object.assign(document.createElement('a'),"
            "{href: to, id: 'away', textContent: 'away'}))",
            f"{neighbour.base}/from-a-link",
        )
        page.click("#away")
        expect(page).to_have_url(re.compile("from-a-link"))
        assert any(heard.path == "/from-a-link" for heard in neighbour.heard)
        told = str([heard.headers for heard in neighbour.heard])
        assert not [secret for secret in secrets if secret in told], "nothing secret was told"
        assert ui.host not in told, "nor where it is"
        # Replayed by hand, with everything that it got, to every address that it can know.
        before = ui.world.json("log")
        refused = 0
        for cookie in {"", *neighbour.stolen}:
            for path in _guesses(ui):
                answer = ui.ask("GET", path, headers={"Cookie": cookie})
                assert not answer.cookies
                assert answer.status == 401 or "Rules in force" not in answer.body
                written = ui.ask("POST", path, b"text=x", {"Cookie": cookie, "Origin": ui.base})
                assert written.status in (401, 405), path
                refused += 1
        assert refused >= len(_guesses(ui))
        assert ui.world.json("log") == before


def _guesses_of_folders(ui: Ui) -> list[str]:
    return [f"/{name}/" for name in ("recollect", "0" * 32, ui.host.partition(":")[2])]


_ASKS = {
    "fetch": "fetch(target, {credentials: 'include'}).then((answer) => answer.text())",
    "blind": "fetch(target, {credentials: 'include', mode: 'no-cors'}).then((answer) => answer.text())",
    "frame": "load('iframe')",
    "image": "load('img')",
    "script": "load('script')",
    "object": "new Promise((done) => { const part = document.createElement('object'); part.data = target;"
    " part.onload = () => done(part.contentDocument?.body.innerText); part.onerror = () => done('');"
    " document.body.append(part); })",
    "events": "new Promise((done) => { const source = new EventSource(target, {withCredentials: true});"
    " source.onmessage = (event) => done(event.data); source.onerror = () => done(''); })",
    "socket": "new Promise((done) => { const line = new WebSocket(target.replace('http', 'ws'));"
    " line.onopen = line.onmessage = () => done('open'); line.onerror = () => done(''); })",
    "beacon": "Promise.resolve(navigator.sendBeacon(target, 'x') ? '' : '')",
}


def _give_cookie(window: BrowserContext, ui: Ui) -> None:
    name, _, value = ui.cookie.partition("=")
    window.add_cookies(
        [{"name": name, "value": value, "domain": "127.0.0.1", "path": f"{ui.root}/", "httpOnly": True,
          "sameSite": "Strict"}]
    )  # fmt: skip


def _watch_answers(window: BrowserContext, ui: Ui) -> list[int]:
    """The statuses of what our server answers, from now on."""
    statuses = list[int]()

    def note(answer: Response) -> None:
        if ui.root in answer.url:
            statuses.append(answer.status)

    window.on("response", note)
    return statuses


@pytest.mark.parametrize("way", _ASKS)
def test_a_neighbour_reads_nothing_even_if_it_knew_the_whole_address(
    ui: Ui, window: BrowserContext, neighbour: Neighbour, way: str
):
    _give_cookie(window, ui)
    page = window.new_page()
    page.goto(neighbour.base)
    statuses = _watch_answers(window, ui)
    for target in (f"{ui.base}{ui.home}", f"{ui.base}{ui.project}/live"):
        try:
            text = page.evaluate(
                """(target) => {
                  const load = (kind) => new Promise((done) => {
                    const part = document.createElement(kind);
                    const loaded = () => done(part.contentDocument?.body?.innerText ?? '');
                    Object.assign(part, {src: target, onload: loaded, onerror: () => done('')});
                    document.body.append(part);
                  });
                  return ATTEMPT.then((answer) => `${answer ?? ''}`);
                }""".replace("ATTEMPT", _ASKS[way]),
                target,
            )
        except Error:
            text = ""
        assert text == "", (way, target)
    assert not [status for status in statuses if status == 200], statuses


def test_a_neighbour_that_opens_the_page_in_a_window_or_leads_there_sees_nothing_of_it(
    ui: Ui, window: BrowserContext, neighbour: Neighbour
):
    _give_cookie(window, ui)
    page = window.new_page()
    page.goto(neighbour.base)
    target = ui.base + ui.home
    with page.expect_popup() as opened:
        page.evaluate("(target) => { window.other = open(target); }", target)
    opened.value.wait_for_load_state()
    seen = "() => { try { return other.document.body.innerText; } catch { return ''; } }"
    assert page.evaluate(seen) == ""
    for script in (
        "(target) => { location.href = target; }",
        "(target) => { const form = document.createElement('form'); form.action = target;"
        " form.method = 'post'; document.body.append(form); form.submit(); }",
    ):
        page.goto(neighbour.base)
        with page.expect_navigation(url=target):
            page.evaluate(script, target)
        expect(page.get_by_role("heading", name="Request refused")).to_be_visible()


def test_a_neighbour_can_set_cookies_of_our_name_and_changes_nothing_by_it(
    shop: World, window: BrowserContext, neighbour: Neighbour
):
    neighbour.cookies = [
        "recollect=theirs; Path=/",
        "recollect=theirs; Path=/p",
        "theme=<b>; Path=/",
    ]
    with running(shop) as ui:
        page = _enter(window, ui)
        window.new_page().goto(f"{neighbour.base}/p/")
        page.reload()
        expect(page.get_by_role("heading", name="Now", exact=True)).to_be_visible()


def test_the_private_file_leads_the_browser_in_and_is_gone(shop: World, window: BrowserContext):
    with running(shop) as ui:
        page = window.new_page()
        file = ui.file
        page.goto(file.as_uri())
        expect(page.get_by_role("heading", name="Now", exact=True)).to_be_visible()
        assert page.url.startswith(ui.base)
        assert not file.exists()
        page.reload()
        expect(page.get_by_role("heading", name="Now", exact=True)).to_be_visible()
        page.get_by_label("A new rule").fill("")
        page.get_by_role("link", name="Library").click()
        expect(page.get_by_role("heading", name="Library")).to_be_visible()
        assert ui.enter(code=ui.code).status == 401


@pytest.mark.parametrize("scripts", [True, False])
def test_the_login_page_says_what_to_do_in_the_look_of_the_page(
    shop: World, browser: Browser, scripts: bool
):
    with (
        running(shop) as ui,
        browser.new_context(java_script_enabled=scripts, color_scheme="dark") as window,
    ):
        page = window.new_page()
        page.goto(f"{ui.base}/p/-/now")
        expect(page.get_by_role("heading", name="This page is private")).to_be_visible()
        expect(page.locator("body")).to_have_css("background-color", re.compile(r"rgb\(\d\d, "))
        page.get_by_label("Code").fill("AAAA")
        page.get_by_role("button", name="Open the page").click()
        expect(page.locator("main")).to_contain_text("That is not the code")
        page.get_by_label("Code").fill(f" {ui.code.lower()} ")
        page.get_by_role("button", name="Open the page").click()
        expect(page.get_by_role("heading", name="Now", exact=True)).to_be_visible()
        other = window.new_page()
        other.goto(ui.address)
        expect(other.locator("main")).to_contain_text("Run recollect ui again")
