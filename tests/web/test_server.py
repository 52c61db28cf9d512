"""Who is let in, and what the server does with everything else: asked by hand, as no browser would ask."""

import contextlib
import http.client
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from recollect.web.entrance import MAX_WRONG_CODES, VALID_S, Entrance, Keys
from tests.daemon.real import soon
from tests.ops.ask import files
from tests.web.served import WAIT_S, Ui, World, running, scratch_world

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="ended by a signal")


def _policy(header: str) -> dict[str, list[str]]:
    parts = [part.split() for part in header.split(";") if part.strip()]
    return {name: values for name, *values in parts}


PUBLIC = ("/static/page.css", "/static/page.js", "/static/icon.svg", "/favicon.ico")


def test_the_code_opens_the_page_once_and_the_address_alone_does_not(shop: World):
    with running(shop) as ui:
        assert ui.address == f"{ui.base}/"
        assert urlsplit(ui.address).hostname == "127.0.0.1"
        for path in ("/p/-/now", "/nothing", "/enter", "/?token=1", f"/{'0' * 32}/p/-/now"):
            answer = ui.get(path)
            assert (answer.status, answer.cookies) == (401 if "?" not in path else 200, []), path
            assert "This page is private" in answer.body
        assert 'name="code"' in ui.get("/").body
        entered = ui.enter(code=ui.code.lower().replace("-", " "))
        [cookie] = entered.cookies
        [leads_to] = re.findall(r'content="0; url=(/[0-9a-f]{32}/)"', entered.body)
        parts = set(cookie.lower().split("; "))
        assert {"httponly", "samesite=strict", f"path={leads_to}"} <= parts
        assert not [part for part in parts if part.startswith("domain=")]
        assert ui.enter(code=ui.code).status == 401, "the code works once"
        assert 'name="code"' not in ui.get("/").body, "and the page says what to do instead"
        assert "recollect ui</code> again" in ui.get("/").body
        ui.cookie = cookie.partition(";")[0]
        assert ui._follow(leads_to).endswith("/now")


def test_what_everyone_may_see_holds_nothing_private(ui: Ui):
    """Files of ours, and the login page, with and without the cookie."""
    for path in PUBLIC:
        with_cookie, without = ui.get(path), ui.get(path, Cookie="")
        assert (
            (with_cookie.status, with_cookie.body)
            == (without.status, without.body)
            == (
                200,
                with_cookie.body,
            )
        )
        assert ui.root.strip("/") not in without.body
    assert ui.root.strip("/") not in ui.get("/").body


def test_neither_the_address_nor_the_cookie_opens_anything_without_the_other(
    ui: Ui, pages: list[str]
):
    name, _, value = ui.cookie.partition("=")
    wrong_cookies = (
        "",
        f"{name}=",
        f"{name}={'0' * 64}",
        f"{name}={value[:-1]}",
        f"x{name}={value}",
    )
    wrong_folders = ("", "/p", "/" + "0" * 32, ui.root[:-1], ui.root + "0", ui.root + "x" + ui.root)
    for path in (*pages, f"{ui.project}/live", f"{ui.root}/choose", f"{ui.root}/p/-/now"):
        answers = [ui.get(path, Cookie=cookie) for cookie in wrong_cookies]
        answers += [ui.get(folder + path.removeprefix(ui.root)) for folder in wrong_folders]
        assert {answer.status for answer in answers} == {401}, path
        assert len({answer.body for answer in answers}) == 1, "one answer tells nothing"
    sent = {"Origin": ui.base, "Content-Type": "application/x-www-form-urlencoded"}
    for path in (f"{ui.project}/do/rule-add", f"{ui.project}/undo", f"{ui.root}/theme"):
        assert ui.ask("POST", path, b"text=x", {**sent, "Cookie": ""}).status == 401
        assert ui.ask("POST", path.removeprefix(ui.root), b"text=x", sent).status == 401


def test_cookies_of_other_programs_neither_hide_ours_nor_stand_for_it(ui: Ui):
    """Cookies know no ports: whatever other programs on this machine have set comes along."""
    name, _, value = ui.cookie.partition("=")
    for beside in (
        f'a={{"b": "c"}}; {ui.cookie}',
        f"{ui.cookie}; a=b c,d",
        f"; =; é=ü; {ui.cookie}",
        f"a; {ui.cookie}",
        f"{ui.cookie}; {name}=of-another",
        f"{name}=of-another; {ui.cookie}",
    ):
        assert ui.get(f"{ui.root}/", Cookie=beside).status == 303, beside
    for wrong in (
        f"{name}={value}0",
        f"{name}={value[:-1]}",
        f"{name}=",
        f"{name}x={value}",
        f'{name}="',
        "\xff",
    ):
        assert ui.get(f"{ui.root}/", Cookie=wrong).status == 401, wrong


def test_a_read_that_another_page_begins_is_refused_even_with_both_keys(ui: Ui):
    for site in ("cross-site", "same-site", "x"):
        assert ui.get(ui.home, **{"Sec-Fetch-Site": site}).status == 403, site
    for site in ("same-origin", "none"):
        assert ui.get(ui.home, **{"Sec-Fetch-Site": site}).status == 200, site


def _commands_of(pid: int) -> str:
    """The command lines of a process and all below it, as every user of the machine can read them."""
    own = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    below = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return "\n".join([own, *(_commands_of(int(child)) for child in below)])


@pytest.mark.skipif(
    not Path("/proc/self/cmdline").exists(), reason="reads command lines from /proc"
)
@pytest.mark.parametrize("command", [("ui",), ("demo", "--ui")])
def test_no_command_line_holds_a_secret_and_only_the_owner_can_read_the_file(
    tmp_path: Path, command: tuple[str, ...]
):
    started, browser = tmp_path / "started", tmp_path / "browser"
    # It stays, as many browsers do, so that its command line can be read.
    browser.write_text(
        f'#!/bin/sh\nprintf "%s" "$*" > {started}.new\nmv {started}.new {started}\nexec sleep 300\n'
    )
    browser.chmod(0o700)
    with scratch_world() as world:
        world.project.mkdir()
        world.environ["BROWSER"] = str(browser)
        process = world.popen(*command, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            assert soon(started.exists)
            assert process.stdout is not None
            address, code = process.stdout.readline().strip(), process.stdout.readline()[6:].strip()
            file = Path(unquote(urlsplit(started.read_text(encoding="utf-8")).path))
            [ticket] = re.findall('value="([^"]+)"', file.read_text(encoding="utf-8"))
            seen = _commands_of(process.pid) + started.read_text(encoding="utf-8")
            assert str(file) in seen, "the browser runs"
            for secret in (
                ticket,
                code,
                code.replace("-", ""),
                urlsplit(address).path[1:] or ticket,
            ):
                assert secret not in seen
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
            assert file.stat().st_uid == file.parent.stat().st_uid == os.getuid()
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.communicate(timeout=WAIT_S)


@pytest.mark.parametrize("way", ["code", "ticket"])
def test_one_way_in_closes_the_other_and_removes_the_file(shop: World, way: str):
    with running(shop) as ui:
        file, ticket = ui.file, ui.ticket
        given = {"code": ui.code, "ticket": ticket}
        assert ui.enter(
            {"Origin": "null"} if way == "ticket" else None, **{way: given[way]}
        ).cookies
        assert not file.exists()
        for name, value in given.items():
            answer = ui.enter(**{name: value})
            assert (answer.status, answer.cookies) == (401, []), name


def test_wrong_codes_are_few_wrong_tickets_in_vain_and_no_other_site_uses_them_up(shop: World):
    with running(shop) as ui:
        ticket = ui.ticket
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1", ""):
            for _ in range(2 * MAX_WRONG_CODES):
                assert ui.enter({"Origin": origin}, code="AAAA-AAAA-AAAA-AAAA").status == 403
        code = ui.code.replace("-", "")
        near = [code[:-1], code + "A", code[::-1], "", "*", "é" * 16, "\0" + code, "%", "A" * 39]
        near += ["AAAA"] * (MAX_WRONG_CODES - len(near))
        for number, guess in enumerate(near):
            assert (
                f"Tries left: {MAX_WRONG_CODES - number - 1}"
                in (answer := ui.enter(code=guess)).body
                or number == MAX_WRONG_CODES - 1
            )
            assert (answer.status, answer.cookies) == (401, []), guess
        assert ui.enter(code=ui.code).status == 401, "void"
        assert "void" in ui.errors()
        guesses = [*(f"{number:064x}" for number in range(200)), ticket[:-1], ticket + "0", ""]
        with ThreadPoolExecutor(8) as workers:
            answers = list(workers.map(lambda guess: ui.enter(ticket=guess), guesses))
        assert {answer.status for answer in answers} <= {401, 403}
        assert ui.enter({"Origin": "null"}, ticket=ticket).cookies, "the file still leads in"


def test_the_code_and_the_file_end_after_a_while():
    now_s = 1_000.0
    entrance = Entrance(1, Keys.draw(), clock_s=lambda: now_s)
    invitation = entrance.invite()
    assert invitation.file is not None
    assert entrance.takes_code
    now_s += VALID_S
    assert not entrance.admit_code(invitation.code)
    entrance.tidy()
    assert not invitation.file.exists()


def test_a_private_file_that_cannot_be_removed_keeps_nobody_out(shop: World):
    """A cleaner of temporary folders was there, and then somebody else."""
    with running(shop) as ui:
        folder = ui.file.parent
        aside = folder.rename(folder.with_name("aside"))
        folder.write_text("")
        assert ui.enter(code=ui.code).cookies
        folder.unlink()
        aside.rename(folder)


def test_another_user_who_comes_over_ipv6_gets_the_login_page_alone(ui: Ui):
    """It was let in where `/proc/net/tcp` did not name it. Nobody is told apart by their connection any more."""
    port = int(ui.host.partition(":")[2])
    for path, cookie in ((ui.home, ""), ("/", ""), (ui.home.removeprefix(ui.root), ui.cookie)):
        try:
            line = socket.create_connection(("::ffff:127.0.0.1", port), timeout=WAIT_S)
        except OSError:
            pytest.skip("no IPv6 on this machine")
        with line:
            line.sendall(
                f"GET {path} HTTP/1.1\r\nHost: {ui.host}\r\nCookie: {cookie}\r\n\r\n".encode()
            )
            answer = line.makefile("rb").read().decode()
        assert "This page is private" in answer
        assert "Set-Cookie" not in answer
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("::1", port), timeout=WAIT_S).close()


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
            for back in ("//[", "http://[", "/p/-/now", f"{ui.root}/p/\n", "//evil.example/p/"):
                assert (
                    ui.do("rule add", text="Use tabs", back=back)
                    .headers["Location"]
                    .startswith(f"{ui.project}/now")
                )


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", "",
     "[::1]:{port}", "127.0.0.1:{port}.evil.example", "127.0.0.1:{port}@evil.example", "0.0.0.0:{port}"],
)  # fmt: skip
def test_a_name_that_only_leads_here_is_refused(ui: Ui, host: str):
    port = ui.host.partition(":")[2]
    assert ui.get(f"{ui.root}/", Host=host.format(port=port)).status in (400, 403)
    assert ui.get(f"{ui.root}/", Host=f"localhost:{port}").status == 303


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
    assert ui.ask("POST", f"{ui.root}/theme", b"theme=dark", sent).status in (401, 403)
    assert ui.world.json("log", "--limit", "1") == before


@pytest.mark.parametrize(
    ("name", "other"), [("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site")]
)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_write_that_names_two_origins_is_refused(ui: Ui, name: str, other: str, is_first: bool):
    own = {"Origin": ui.base, "Sec-Fetch-Site": "same-origin"}
    sent = [*own.items()]
    sent.insert(0 if is_first else len(sent), (name, other))
    line = http.client.HTTPConnection(ui.host, timeout=WAIT_S)
    line.putrequest("POST", f"{ui.project}/do/rule-add")
    for header, value in [*sent, ("Cookie", ui.cookie), ("Content-Length", "0")]:
        line.putheader(header, value)
    line.endheaders()

    status = line.getresponse().status
    line.close()

    assert status == 403


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
    answer = ui.get(
        (path if path.startswith("{p}") else "{root}" + path).format(p=ui.project, root=ui.root)
    )
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
        answer = ui.get(f"{ui.root}/choose?project={name}")
        assert answer.status == 303
        assert answer.headers["Location"].startswith(f"{ui.root}/p/")
        assert not answer.cookies
        assert urlsplit(urljoin(ui.base, answer.headers["Location"])).netloc == ui.host


def test_what_is_too_large_is_refused_and_the_server_lives(ui: Ui):
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": ui.base}
    big = b"text=" + b"x" * 3_000_000
    path = f"{ui.project}/do/rule-add"
    cases = {
        "query": lambda: ui.get(f"{ui.project}/now?q=" + "x" * 40_000),
        "path": lambda: ui.get(f"{ui.root}/p/" + "x" * 20_000),
        "header": lambda: ui.get(f"{ui.root}/", **{"X-Large": "x" * 200_000}),
        "cookie": lambda: ui.get(f"{ui.root}/", Cookie="a=" + "x" * 200_000),
        "headers": lambda: ui.get(
            f"{ui.root}/", **{f"X-{number}": "x" * 100 for number in range(3_000)}
        ),
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
        assert ui.get(f"{ui.root}/").status == 303, f"after {name}"
    with pytest.raises((ConnectionError, OSError, AssertionError)):
        assert ui.ask("POST", path, big, form).status != 413
    assert _chunked(ui, path, b"x" * 65_536, 60) == 413
    assert ui.get(f"{ui.root}/").status == 303


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
    assert ui.get(f"{ui.root}/").status == 303
    for line in lines:
        line.close()
    assert ui.get(f"{ui.root}/").status == 303


def test_every_answer_forbids_what_is_not_from_here(ui: Ui, pages: list[str]):
    for path in (
        *pages,
        *PUBLIC,
        *(ui.root + path for path in PUBLIC),
        "/",
        "/nothing",
        f"{ui.root}/nothing",
        f"{ui.project}/memory/none",
    ):
        answer = ui.get(path)
        policy = _policy(answer.headers["Content-Security-Policy"])
        assert policy["default-src"] == ["'none'"], path
        assert policy["base-uri"] == policy["frame-ancestors"] == ["'none'"]
        assert policy["form-action"] == ["'self'"]
        assert {word for values in policy.values() for word in values} <= {"'none'", "'self'"}
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "same-origin", "the address is told to nobody"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert not answer.headers.get("Access-Control-Allow-Origin")
        assert "no-store" in answer.headers["Cache-Control"] or path.endswith(PUBLIC)
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


@pytest.fixture
def stub_browser(tmp_path: Path) -> Callable[[World], Path]:
    """A browser that only writes down what it was started with; returns where."""
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    lines = ("#!/bin/sh", f'printf "%s" "$*" > {opened}.new', f"mv {opened}.new {opened}", "")
    browser.write_text("\n".join(lines), encoding="utf-8")
    browser.chmod(0o700)

    def install(world: World) -> Path:
        world.environ["BROWSER"] = str(browser)
        return opened

    return install


def _page_left(root: Path) -> list[str]:
    """What a page must not leave: private files, scratch folders, and processes."""
    left = [str(path) for path in root.rglob("page-*.html")]
    left += [str(path) for path in (root / "run").glob("recollect-demo-*")]
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            is_here = str(root).encode() in (entry / "environ").read_bytes() if words else False
            left += [f"{entry.name}: {words}"] if is_here and b"recollect" in words else []
    return left


def test_the_demo_opens_the_page_on_its_sample_in_the_browser_and_leaves_nothing(
    stub_browser: Callable[[World], Path],
):
    with scratch_world() as world:
        world.project.mkdir()
        opened = stub_browser(world)
        demo = world.popen("demo", "--ui", stderr=subprocess.PIPE, start_new_session=True)
        assert soon(opened.exists)
        file = Path(unquote(urlsplit(opened.read_text(encoding="utf-8")).path))
        page = file.read_text(encoding="utf-8")
        [target] = re.findall('action="([^"]+)"', page)
        [ticket] = re.findall('name="ticket" value="([^"]+)"', page)
        to = urlsplit(target)
        with contextlib.closing(http.client.HTTPConnection(to.netloc, timeout=WAIT_S)) as line:
            line.request("POST", to.path, f"ticket={ticket}", {"Origin": "null"})
            assert line.getresponse().getheader("Set-Cookie")
        os.killpg(demo.pid, signal.SIGINT)
        out, err = demo.communicate(timeout=WAIT_S)
        assert demo.returncode == 0, err
        assert "Traceback" not in err
        assert "recollect install" in out
        assert soon(lambda: not _page_left(world.root)), _page_left(world.root)
        assert not (world.root / "home").exists()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("command", [("ui",), ("demo", "--ui")], ids=" ".join)
def test_whatever_signal_ends_a_page_it_leaves_no_server_no_file_and_no_folder(
    stub_browser: Callable[[World], Path], command: tuple[str, ...], name: str
):
    """The signal goes to the one process that was started, as from `kill`."""
    with scratch_world() as world:
        world.project.mkdir()
        opened = stub_browser(world)
        process = world.popen(*command, stderr=subprocess.PIPE, start_new_session=True)
        assert soon(opened.exists)
        assert _page_left(world.root)
        process.send_signal(signal.Signals[name])
        _, err = process.communicate(timeout=WAIT_S)
        assert (process.returncode, "Traceback" in err) == (0, False), err
        assert soon(lambda: not _page_left(world.root)), _page_left(world.root)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")
def test_a_demo_that_is_killed_takes_its_server_along_and_the_next_one_removes_the_rest(
    stub_browser: Callable[[World], Path],
):
    with scratch_world() as world:
        world.project.mkdir()
        opened = stub_browser(world)
        for _ in range(2):
            demo = world.popen("demo", "--ui", stderr=subprocess.DEVNULL, start_new_session=True)
            assert soon(opened.exists)
            left = list((world.root / "run").glob("recollect-demo-*"))
            assert len(left) == 1, "what the one before left is gone"
            opened.unlink()
            demo.kill()
            demo.communicate(timeout=WAIT_S)
            assert soon(lambda: "'ui'" not in str(_page_left(world.root)))
        # A folder of the same name that somebody else may have made is left alone.
        (world.root / "run" / "recollect-demo-other").mkdir(mode=0o755)
        last = world.popen("demo", "--ui", stderr=subprocess.DEVNULL, start_new_session=True)
        assert soon(opened.exists)
        last.terminate()
        last.communicate(timeout=WAIT_S)
        (world.root / "run" / "recollect-demo-other").rmdir()
        assert soon(lambda: not _page_left(world.root)), _page_left(world.root)


def test_what_a_killed_page_left_goes_at_the_next_start(shop: World):
    killed = Ui(shop)
    file = killed.file
    with running(shop) as living:
        kept = living.file
        killed.process.kill()
        killed.process.wait()
        assert file.exists()
        with running(shop):
            assert not file.exists()
            assert kept.exists(), "that of a page that is there"
    killed.end()
    assert not kept.exists()
