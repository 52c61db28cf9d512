"""Attacks, in a real browser: stored words that want to run, other sites that want to write, names that lead here."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Browser, Error, expect

from tests.web import payloads
from tests.web.chromium import REBOUND, Tab
from tests.web.conftest import OpenPage
from tests.web.payloads import MARKUP, PAYLOADS, SCRIPT, STREAMS
from tests.web.served import Ui, list_pages, running, scratch_world


@pytest.fixture(scope="session")
def hostile_ui() -> Iterator[Ui]:
    """Whose every word wants to be more than that."""
    with scratch_world() as world:
        world.project = payloads.fill(world.root)
        with running(world) as ui:
            yield ui.sign_in()


# What a document holds that no page of ours has.
_WRONG = """(document) => {
  const wrong = [];
  const all = [...document.querySelectorAll('*')];
  for (const part of all) {
    for (const {name, value} of part.attributes) {
      if (name.startsWith('on') || name === 'style' || name === 'srcdoc') wrong.push(`${part.tagName} ${name}`);
      if (['href', 'src', 'action', 'formaction', 'data', 'xlink:href'].includes(name)
          && !/^(\\/|#|https?:)/.test(value)) wrong.push(`${part.tagName} ${name}=${value.slice(0, 80)}`);
    }
  }
  const banned = 'iframe, object, embed, base, style, template, video, audio, img, plaintext, xmp, [http-equiv]';
  for (const part of document.querySelectorAll(banned)) wrong.push(`a ${part.tagName}`);
  for (const part of document.forms) if (!/^\\/[^\\/]/.test(part.getAttribute('action'))) wrong.push('a form');
  if (document.querySelectorAll('script').length !== 1) wrong.push('scripts');
  const frame = [...document.body.children].map((part) => part.tagName).join(' ');
  if (!/HEADER MAIN DIV FOOTER$/.test(frame)) wrong.push(frame);
  if (document.querySelectorAll('main, h1').length !== 2) wrong.push('more than one main or h1');
  return wrong;
}"""


@pytest.fixture(scope="session")
def hostile_pages(hostile_ui: Ui) -> list[str]:
    return list_pages(hostile_ui, each=3)


@pytest.mark.parametrize("part", range(4))
def test_stored_words_stay_words(
    hostile_ui: Ui, hostile_pages: list[str], open_page: OpenPage, part: int
):
    """Nothing runs, nothing is asked elsewhere, and every page keeps its frame."""
    tab = open_page(hostile_ui)
    wrong = []
    for path in hostile_pages[part::4]:
        assert tab.go(path).status == 200, path
        wrong += [f"{path}: {one}" for one in tab.page.evaluate(f"({_WRONG})(document)")]
        tab.page.evaluate(
            "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
        )
        wrong += [f"{path}: it ran"] if tab.page.evaluate("window.pwned") else []
    assert not wrong, "\n".join(wrong)


def test_typed_words_stay_words(ui: Ui, open_page: OpenPage):
    """In what is searched for, in what comes back with an error, and in every part of an address."""
    tab = open_page(ui)
    tab.go(ui.home)
    paths = (
        "library?q={0}",
        "try?prompt={0}",
        "now?act={0}",
        "inbox?{0}={0}",
        "sessions/{0}",
        "memory/{0}",
    )
    asked = [
        f"{ui.project}/{paths[number % 6].format(quote(text, safe=''))}"
        for number, text in enumerate(PAYLOADS)
    ]
    sent = [
        dict.fromkeys(("id", "title", "body", "expect", "back", text), text) for text in PAYLOADS
    ]
    found = tab.page.evaluate(
        """async ([asked, sent, target]) => {
          const wrong = WRONG;
          const found = [];
          const look = async (name, answer) => {
            const text = await answer.text();
            const parsed = new DOMParser().parseFromString(text, 'text/html');
            if (parsed.querySelector('nav')) found.push(...wrong(parsed).map((one) => `${name}: ${one}`));
            else if (parsed.querySelector('script, img, iframe') || answer.status >= 500) found.push(name);
          };
          for (const path of asked) await look(path, await fetch(path));
          for (const fields of sent) {
            await look(fields.id, await fetch(target, {method: 'POST', body: new URLSearchParams(fields)}));
          }
          return found;
        }""".replace("WRONG", _WRONG),
        [asked, sent, f"{ui.project}/do/edit"],
    )
    assert not found, "\n".join(found)
    tab.problems = [one for one in tab.problems if "status of 40" not in one]


def test_what_comes_in_live_stays_words_and_a_page_that_was_often_reloaded_still_hears_it(
    own_ui: Ui, open_page: OpenPage
):
    tab = open_page(own_ui)
    tab.go(own_ui.home)
    for _ in range(25):  # more than there are streams
        tab.page.reload()
    said = (SCRIPT[0], SCRIPT[6], MARKUP[0], STREAMS[0])
    for number, text in enumerate(said):
        own_ui.world.run("pin", text, "--title", f"{number} {text}")
    for number in range(len(said)):
        expect(tab.page.locator("#feed li", has_text=f"pinned: {number} ")).to_have_count(1)
    assert tab.page.evaluate(f"({_WRONG})(document)") == []
    assert not tab.page.evaluate("window.pwned")


def _post(tab: Tab, path: str, fields: dict[str, str]) -> None:
    """A form, sent by the page itself."""
    with tab.page.expect_navigation():
        tab.page.evaluate(
            """([path, fields]) => {
              const form = document.createElement('form');
              Object.assign(form, {method: 'post', action: path});
              for (const [name, value] of Object.entries(fields)) {
                form.append(Object.assign(document.createElement('textarea'), {name, value}));
              }
              document.body.append(form);
              form.submit();
            }""",
            [path, fields],
        )


@pytest.mark.parametrize(
    "back",
    ["//elsewhere.invalid", "https://elsewhere.invalid/p/", "/\\elsewhere.invalid", "\\\\elsewhere.invalid/p/",
     "{root}/p/\r\nX: y", "javascript:alert(1)", "{root}/p\t//elsewhere.invalid", " //elsewhere.invalid", "http:/p/x"],
)  # fmt: skip
def test_no_act_leads_away_from_here(ui: Ui, open_page: OpenPage, back: str):
    tab = open_page(ui)
    tab.go(ui.home)
    _post(tab, f"{ui.root}/theme", {"theme": "auto", "back": back.format(root=ui.root)})
    assert urlsplit(tab.page.url).netloc == ui.host


@pytest.fixture
def neighbour() -> Iterator[str]:
    """Another server of this machine's: the same site to a browser, another origin."""

    class Neighbour(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>Neighbour</title>")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Neighbour)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_another_site_can_neither_write_nor_read_nor_frame_the_page(
    own_ui: Ui, open_page: OpenPage, neighbour: str
):
    """It has our cookie sent along, where the browser takes two ports for one site."""
    tab = open_page(own_ui)
    tab.page.goto(neighbour)
    target = f"{own_ui.base}{own_ui.project}/do/rule-add"
    before = own_ui.world.json("log")
    attempts = {
        "post": "fetch(target, {method: 'POST', body: new URLSearchParams({text: 'x'}), ...sent, mode: 'no-cors'})",
        "beacon": "Promise.resolve(navigator.sendBeacon(target, new URLSearchParams({text: 'x'})))",
        "read": "fetch(home, sent).then((answer) => answer.text())",
        "put": "fetch(target, {method: 'PUT', ...sent})",
        "script": "load('script', script)",
        "frame": "load('iframe', home)",
    }
    read = {}
    for name, script in attempts.items():
        try:
            read[name] = tab.page.evaluate(
                """([target, home, script]) => {
                  const sent = {credentials: 'include'};
                  const load = (kind, src) => new Promise((done, failed) => {
                    const part = document.createElement(kind);
                    const loaded = () => done(part.contentDocument?.body.innerText);
                    Object.assign(part, {src, onload: loaded, onerror: failed});
                    document.body.append(part);
                  });
                  return ATTEMPT.then((answer) => `${answer}`);
                }""".replace("ATTEMPT", script),
                [target, own_ui.base + own_ui.home, f"{own_ui.base}{own_ui.root}/static/page.js"],
            )
        except Error:
            read[name] = ""
    assert not any("Recollect" in text for text in read.values()), read
    assert read["script"] == read["read"] == read["put"] == ""
    _post(tab, target, {"text": "Written by a stranger"})
    assert tab.text("h1") == "Request refused"
    assert own_ui.world.json("log") == before
    tab.problems.clear()


def test_a_name_that_was_made_to_lead_here_is_refused(ui: Ui, browser: Browser):
    """The browser believes the name: its own origin would be the attacker's."""
    with browser.new_context() as window:
        page = window.new_page()
        answer = page.goto(f"http://{REBOUND}:{ui.host.partition(':')[2]}/")
        assert answer is not None
        assert answer.status == 403
        assert "only at the address" in page.inner_text("body")
        assert page.evaluate("document.cookie") == ""
