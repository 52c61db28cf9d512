"""Who is let in, and what the server does with everything else: asked by hand, as no browser would ask."""

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

from tests.daemon.real import soon
from tests.ops.ask import files
from tests.web.served import WAIT_S, Ui, World, running, scratch_world

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="ended by a signal")


def _policy(header: str) -> dict[str, list[str]]:
    parts = [part.split() for part in header.split(";") if part.strip()]
    return {name: values for name, *values in parts}


def test_the_address_opens_the_page_once_and_nothing_else_does(shop: World):
    with running(shop) as ui:
        parts = urlsplit(ui.address)
        assert parts.hostname == "127.0.0.1"
        assert len(parts.query) > 60
        for path in (
            "/",
            "/p/-/now",
            "/static/page.css",
            "/nothing",
            "/?token=",
            "/?token=" + "0" * 64,
        ):
            answer = ui.get(path)
            assert (answer.status, answer.cookies) == (401, []), path
            assert "recollect ui" in answer.body
        entered = ui.get(f"/?{parts.query}")
        [cookie] = entered.cookies
        assert {"httponly", "samesite=strict", "path=/"} <= set(cookie.lower().split("; "))
        assert "domain=" not in cookie.lower()
        assert ui.get(f"/?{parts.query}").status == 401, "the token works once"
        ui.cookie = cookie.partition(";")[0]
        assert ui._follow("/").endswith("/now")
        name, _, value = ui.cookie.partition("=")
        # Cookies know no ports: whatever other programs on this machine have set comes along.
        for beside in (
            f'a={{"b": "c"}}; {ui.cookie}',
            f"{ui.cookie}; a=b c,d",
            f"; =; é=ü; {ui.cookie}",
            f"a; {ui.cookie}",
        ):
            assert ui.get("/", Cookie=beside).status == 303, beside
        for wrong in (
            f"{name}={value}0",
            f"{name}={value[:-1]}",
            f"{name}=",
            f"{name}x={value}",
            f'{name}="',
            "\xff",
        ):
            assert ui.get("/", Cookie=wrong).status == 401, wrong


@pytest.mark.skipif(
    not Path("/proc/net/tcp").exists() or os.getuid() != 0, reason="only root can be another user"
)
def test_another_user_of_the_machine_who_reads_the_address_gets_nothing(shop: World):
    with running(shop) as ui:
        request = f"GET /?%s HTTP/1.0\\r\\nHost: {ui.host}\\r\\n\\r\\n"
        ask = (
            f"exec 3<>/dev/tcp/{ui.host.replace(':', '/')}; printf '{request}' \"$0\" >&3; cat <&3"
        )
        query = urlsplit(ui.address).query
        asked = subprocess.run(
            ["bash", "-c", ask, query], user=65534, capture_output=True, text=True, cwd="/"
        )
        assert "This page is private" in asked.stdout, asked
        assert ui.sign_in().home


@pytest.mark.parametrize("name", ["shop", "my shop", "über/läden"])
def test_the_first_write_in_a_project_leads_back_to_where_it_was_made(name: str):
    with scratch_world() as world:
        world.project = world.root / name
        (world.project / ".git").mkdir(parents=True)
        (world.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        with running(world) as ui:
            ui.sign_in()
            made = ui.do("rule add", text="Use pnpm, never npm", back=f"{ui.project}/now")
            assert "Now in force: Use pnpm" in ui.get(made.headers["Location"]).body
            # Only the page of ours is an address to go back to.
            for back in ("//[", "http://[", "/p/\n", "//evil.example/p/"):
                assert (
                    ui.do("rule add", text="Use tabs", back=back)
                    .headers["Location"]
                    .startswith(f"{ui.project}/now")
                )


def test_no_guess_at_the_token_is_taken_however_many_there_are(shop: World):
    with running(shop) as ui:
        token = urlsplit(ui.address).query.removeprefix("token=")
        near = [
            token[:-1],
            token + "0",
            token[::-1],
            "%00" + token,
            token + "%00",
            "*",
            "%c3%a9" * 32,
            "%ff",
            "",
        ]
        guesses = [*(f"{number:064x}" for number in range(400)), *near]
        with ThreadPoolExecutor(8) as workers:
            answers = list(workers.map(lambda guess: ui.get(f"/?token={guess}"), guesses))
        assert {answer.status for answer in answers} == {401}
        assert len({answer.body for answer in answers}) == 1
        assert ui.sign_in().cookie, "the true one still works"


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", "",
     "[::1]:{port}", "127.0.0.1:{port}.evil.example", "127.0.0.1:{port}@evil.example", "0.0.0.0:{port}"],
)  # fmt: skip
def test_a_name_that_only_leads_here_is_refused(ui: Ui, host: str):
    port = ui.host.partition(":")[2]
    assert ui.get("/", Host=host.format(port=port)).status in (400, 403)
    assert ui.get("/", Host=f"localhost:{port}").status == 303


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": ""}, {"Origin": "http://127.0.0.1:1"},
     {"Origin": "https://{host}"}, {"Origin": "http://{host}.evil.example"}, {"Sec-Fetch-Site": "cross-site"},
     {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"}, {"Cookie": ""}, {"Host": "evil.example"}],
    ids=str,
)  # fmt: skip
def test_a_write_that_comes_from_elsewhere_is_refused(ui: Ui, headers: dict[str, str]):
    before = ui.world.json("log", "--limit", "1")
    sent = {name: value.format(host=ui.host) for name, value in headers.items()}
    for path in ("rule add", "undo"):
        assert ui.do(path, sent, text="Written by a stranger.").status in (401, 403)
    assert ui.ask("POST", "/theme", b"theme=dark", sent).status in (401, 403)
    assert ui.world.json("log", "--limit", "1") == before


def test_a_write_without_any_origin_is_refused(ui: Ui):
    assert ui.ask("POST", f"{ui.project}/do/rule-add", b"text=x").status == 403


def test_only_what_the_page_offers_can_be_done(ui: Ui):
    for op in (
        "install",
        "uninstall",
        "import jsonl",
        "recover",
        "daemon",
        "capture",
        "../undo",
        "rule  add",
        "RULE-ADD",
    ):
        assert ui.do(op, text="x", file="/etc/passwd").status in (404, 405), op
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "X"):
        assert ui.ask(method, f"{ui.project}/now").status in (400, 405), method
    assert ui.get(f"{ui.project}/do/rule-add?text=x").status == 405
    assert ui.get(f"{ui.project}/undo").status == 405


@pytest.mark.parametrize(
    ("op", "fields"),
    [("rule add", {}), ("rule add", {"text": "  "}), ("edit", {"id": "nothing", "body": "x"}), ("forget", {}),
     ("rate", {"thread_id": "x"}), ("rate", {"thread_id": "pnpm", "verdict": "<b>"}), ("undo", {"change": "x"}),
     ("pin", {"text": "x", "boost": "many"}), ("link", {"source": "a"}), ("inbox accept", {"ids": ""}),
     ("rule add", {"text": "x", "type": "\x00"})],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_words(ui: Ui, op: str, fields: dict[str, str]):
    answer = ui.do(op, **fields)
    assert answer.status in (400, 404, 409), answer
    assert 'role="alert"' in answer.body
    assert "Traceback" not in answer.body


def test_looking_never_writes(ui: Ui, pages: list[str]):
    def state() -> tuple[object, ...]:
        rules = [
            (one["id"], one["body"], one["frequency"], one["last_active_at"])
            for one in ui.world.json("rules")
        ]
        return ui.world.json("log", "--limit", "5"), rules, files(ui.world.root / "shop")

    before = state()
    for path in pages:
        assert ui.get(path).status == 200, path
    assert state() == before


@pytest.mark.parametrize(
    "path",
    ["/static/../server.py", "/static/..%2fserver.py", "/static/%2e%2e/server.py", "/static//etc/passwd", "/static/",
     "/static/..\\server.py", "/static/page.css/..", "/static/%00", "/static/page.css%00.js",
     "/p/../now", "/p/%2e%2e/now", "/p/..%2f..%2fhome/now", "/p//etc/now", "/p/shop/now", "/p/%00/now", "/p/%ff%fe/now",
     "/p/<script>/now", "/p/-/nothing", "{p}/memory/..%2f..%2fuser", "{p}/memory/%2e%2e", "{p}/memory/%00",
     "{p}/memory/nothing", "{p}/memory/%ed%a0%80", "{p}/memory/" + "x" * 2_000, "{p}/sessions/nothing",
     "{p}/sessions/..%2f..%2fetc%2fpasswd"],
)  # fmt: skip
def test_there_is_no_way_out_of_the_folders(ui: Ui, path: str):
    answer = ui.get(path.format(p=ui.project))
    assert answer.status in (400, 404), answer
    assert "<h1>" in answer.body, "said in words"
    assert not re.search("root:|def make|<script>|Traceback", answer.body), answer.body


def test_choosing_a_project_leads_to_a_page_of_ours_whatever_it_is_called(ui: Ui):
    for name in (
        "-",
        "nothing",
        "..%2f..%2f%2felsewhere.invalid",
        "%0d%0aSet-Cookie:%20a=b",
        "%5c%5celsewhere.invalid",
        "%ff",
    ):
        answer = ui.get(f"/choose?project={name}")
        assert answer.status == 303
        assert answer.headers["Location"].startswith("/p/")
        assert not answer.cookies
        assert urlsplit(urljoin(ui.base, answer.headers["Location"])).netloc == ui.host


def test_what_is_too_large_is_refused_and_the_server_lives(ui: Ui):
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": ui.base}
    big = b"text=" + b"x" * 3_000_000
    path = f"{ui.project}/do/rule-add"
    cases = {
        "query": lambda: ui.get(f"{ui.project}/now?q=" + "x" * 40_000),
        "path": lambda: ui.get("/p/" + "x" * 20_000),
        "header": lambda: ui.get("/", **{"X-Large": "x" * 200_000}),
        "cookie": lambda: ui.get("/", Cookie="a=" + "x" * 200_000),
        "headers": lambda: ui.get("/", **{f"X-{number}": "x" * 100 for number in range(3_000)}),
        "length": lambda: ui.ask("POST", path, b"x", {**form, "Content-Length": "9" * 30}),
        "negative": lambda: ui.ask("POST", path, b"x", {**form, "Content-Length": "-1"}),
        "fields": lambda: ui.ask("POST", path, b"&".join(b"a=1" for _ in range(20_000)), form),
        "title": lambda: ui.do("rule add", text="x" * 100_000),
    }
    for name, ask in cases.items():
        try:
            status = ask().status
        except (ConnectionError, OSError):  # it hung up before it had read all
            status = 413
        assert status in (400, 404, 413, 414, 431), (name, status)
        assert ui.get("/").status == 303, f"after {name}"
    with pytest.raises((ConnectionError, OSError, AssertionError)):
        assert ui.ask("POST", path, big, form).status != 413
    assert _chunked(ui, path, b"x" * 65_536, 60) == 413
    assert ui.get("/").status == 303


def _chunked(ui: Ui, path: str, piece: bytes, pieces: int) -> int:
    """A body that does not say how long it is."""
    host, _, port = ui.host.partition(":")
    with socket.create_connection((host, int(port)), timeout=WAIT_S) as line:
        head = [
            f"POST {path} HTTP/1.1",
            f"Host: {ui.host}",
            f"Origin: {ui.base}",
            f"Cookie: {ui.cookie}",
        ]
        line.sendall("\r\n".join([*head, "Transfer-Encoding: chunked", "", ""]).encode())
        try:
            for _ in range(pieces):
                line.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            line.sendall(b"0\r\n\r\n")
        except OSError:
            pass
        return int(line.recv(100).split()[1])


def test_half_a_request_and_noise_disturb_nobody(ui: Ui):
    host, _, port = ui.host.partition(":")
    lines = [socket.create_connection((host, int(port)), timeout=WAIT_S) for _ in range(50)]
    for number, line in enumerate(lines):
        line.sendall(
            [
                b"GET / HT",
                b"\x16\x03\x01\x02\x00",
                b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
                b"\x00" * 99,
            ][number % 4]
        )
    assert ui.get("/").status == 303
    for line in lines:
        line.close()
    assert ui.get("/").status == 303


def test_every_answer_forbids_what_is_not_from_here(ui: Ui, pages: list[str]):
    for path in (
        *pages,
        "/static/page.css",
        "/static/page.js",
        "/static/icon.svg",
        "/nothing",
        f"{ui.project}/memory/none",
    ):
        answer = ui.get(path)
        policy = _policy(answer.headers["Content-Security-Policy"])
        assert policy["default-src"] == ["'none'"], path
        assert policy["base-uri"] == policy["frame-ancestors"] == ["'none'"]
        assert policy["form-action"] == ["'self'"]
        assert {word for values in policy.values() for word in values} <= {"'none'", "'self'"}
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] in ("same-origin", "no-referrer")
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert not answer.headers.get("Access-Control-Allow-Origin")
        assert "no-store" in answer.headers["Cache-Control"] or path.startswith("/static/")
        assert not answer.headers.get("Server")


def test_no_page_has_script_or_style_of_its_own_or_loads_from_elsewhere(ui: Ui, pages: list[str]):
    for path in pages:
        html = ui.get(path).body
        assert re.findall(r"<script[^>]*>(.*?)</script>", html, re.DOTALL) == [""], path
        assert not re.search(
            r"<style|\sstyle=|\son\w+=|javascript:|<iframe|<object|<embed|<base", html
        ), path
        for address in re.findall(
            r'(?:src|action|formaction)="([^"]*)"|<link[^>]*href="([^"]*)"', html
        ):
            assert "".join(address).startswith("/"), (path, address)


def test_asking_and_writing_at_once_loses_nothing_and_does_nothing_twice(own_ui: Ui):
    said = [f"Pin number {number}" for number in range(30)]
    with ThreadPoolExecutor(12) as workers:
        wrote = [workers.submit(own_ui.do, "pin", text=text) for text in said]
        read = [
            workers.submit(own_ui.get, f"{own_ui.project}/{view}") for view in ("now", "inbox") * 15
        ]
    assert {done.result().status for done in read} == {200}
    assert {done.result().status for done in wrote} == {303}
    kept = [thread["body"] for thread in own_ui.world.json("threads", "--limit", "200")]
    assert sorted(one for one in kept if one in said) == sorted(said)
    # Each bar names its own change, so that Undo takes back the right one.
    for text, done in zip(said, wrote, strict=True):
        assert f"Pinned: {text}<" in own_ui.get(done.result().headers["Location"]).body


def test_two_pages_and_a_command_that_change_one_memory_lose_nothing(own_ui: Ui):
    world = own_ui.world
    id = world.json("pin", "The smoke test takes four minutes.")["ids"][0]
    seen = world.json("show", id)["version"]
    world.run("edit", id, "--body", "The smoke test takes five minutes.")
    late = own_ui.do(
        "edit", id=id, body="It takes <six> minutes.", expect=seen, back=f"{own_ui.project}/now"
    )
    assert late.status == 409
    for words in (
        "This memory has changed",
        "five minutes",
        "It takes &lt;six&gt; minutes.",
        "Keep what I wrote",
    ):
        assert words in late.body, words
    assert world.json("show", id)["body"] == "The smoke test takes five minutes."
    now = world.json("show", id)["version"]
    with ThreadPoolExecutor(4) as workers:
        texts = [f"It takes {number} minutes." for number in range(4)]
        answers = list(
            workers.map(lambda text: own_ui.do("edit", id=id, body=text, expect=now), texts)
        )
    assert sorted(answer.status for answer in answers) == [303, 409, 409, 409]
    assert world.json("show", id)["body"] in texts
    assert "five minutes" in world.run("log", "--diff", "--limit", "10").stdout


def test_a_page_that_is_left_open_holds_nobody_up_at_the_end(shop: World):
    with running(shop) as ui:
        ui.sign_in()
        host, _, port = ui.host.partition(":")
        line = socket.create_connection((host, int(port)), timeout=WAIT_S)
        stream = next(
            iter(re.findall(r'data-stream="([^"]+)"', ui.get(f"{ui.project}/now").body)),
            f"{ui.project}/now",
        )
        line.sendall(
            f"GET {stream} HTTP/1.1\r\nHost: {ui.host}\r\nCookie: {ui.cookie}\r\n\r\n".encode()
        )
        assert line.recv(15).startswith(b"HTTP/1.1 200")
        assert ui.end() == 0
        line.close()


def test_it_ends_when_interrupted_and_says_what_is_wrong_at_the_start(shop: World):
    with running(shop) as ui:
        port = ui.host.partition(":")[2]
        taken = shop.run("ui", "--no-browser", "--port", port, check=False)
        assert taken.returncode != 0
        assert f"Port {port} cannot be used" in taken.stderr
        assert "Traceback" not in taken.stderr
    for args, words in (
        (["--project", "/nowhere/at/all"], "no folder"),
        (["--port", "99999"], "65535"),
        (["--port", "x"], "x"),
    ):
        wrong = shop.run("ui", "--no-browser", *args, check=False)
        assert wrong.returncode != 0
        assert words in wrong.stderr
        assert not wrong.stdout


def test_another_project_is_served_when_it_is_named(shop: World):
    with running(shop, "--project", str(shop.root / "blog")) as ui:
        assert "blog" in ui.sign_in().home


def test_the_demo_opens_the_page_on_its_sample_in_the_browser_and_leaves_nothing(tmp_path: Path):
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {opened}\n', encoding="utf-8")
    browser.chmod(0o700)
    with scratch_world() as world:
        world.project.mkdir()
        world.environ["BROWSER"] = str(browser)
        demo = world.popen("demo", "--ui", stderr=subprocess.PIPE, start_new_session=True)
        assert soon(lambda: opened.exists() and opened.read_text(encoding="utf-8"))
        address = urlsplit(opened.read_text(encoding="utf-8"))
        with contextlib.closing(http.client.HTTPConnection(address.netloc, timeout=WAIT_S)) as line:
            line.request("GET", f"/?{address.query}")
            assert line.getresponse().getheader("Set-Cookie")
        os.killpg(demo.pid, signal.SIGINT)
        out, err = demo.communicate(timeout=WAIT_S)
        assert demo.returncode == 0, err
        assert "Traceback" not in err
        assert "recollect install" in out
        assert not list((world.root / "run").glob("recollect-demo-*"))
        assert not (world.root / "home").exists()
