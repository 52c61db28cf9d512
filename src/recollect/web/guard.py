"""Who may ask. Before anything else looks at a request: it names this very server (a foreign name that leads here is
refused), carries the cookie that the one-time token was exchanged for, and, where it writes, comes from a page of ours.
Every answer forbids the browser all that is not from here."""

from __future__ import annotations

import hmac
import os
import socket
from pathlib import Path
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.base.ids import fresh_key

MAX_BODY_BYTES = 2_000_000
_READS, _WRITES = ("GET", "HEAD"), ("POST",)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with `no-referrer` a form's own Origin would be `null`
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# A page of ours leads on: a cookie of this strictness does not follow a redirect that began at another site.
_ENTER = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={}"><title>\
Recollect</title><p><a href="{}">Open Recollect</a></p></html>'
)
_REFUSED = '<!doctype html><html lang="en"><meta charset="utf-8"><title>{0}</title><h1>{0}</h1><p>{1}</p></html>'


class Guard:
    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app, self._port = app, port
        self.token = fresh_key() + fresh_key()  # once used, it is empty
        self._key = fresh_key() + fresh_key()
        end = "" if port == 80 else f":{port}"  # which browsers leave out
        self._hosts = {f"127.0.0.1{end}", f"localhost{end}"}
        # Cookies know no ports: two pages at a time must not take each other's away.
        self._cookie = f"recollect_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # nothing here speaks over a web socket

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        left = MAX_BODY_BYTES

        async def receive_limited() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise TooLarge
            return message

        headers = Headers(scope=scope)
        answer = self._refusal(scope, headers) or self._exchange(scope, headers)
        if answer is not None:
            await answer(scope, receive, send_guarded)
            return
        await self._app(scope, receive_limited, send_guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> HTMLResponse | None:
        host = headers.get("host", "")
        if host not in self._hosts:
            return refuse(
                403,
                "Wrong address",
                "This page answers only at the address that `recollect ui` printed.",
            )
        if scope["method"] not in _READS + _WRITES:
            return refuse(405, "Method not allowed", "This page only accepts GET and POST.")
        if (
            len(scope["query_string"]) > 30_000
        ):  # a long prompt to try, in letters that take nine bytes each
            return refuse(414, "Too long", "The address is too long.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            return refuse(
                413, "Too large", f"At most {MAX_BODY_BYTES // 1_000_000} MB can be sent at once."
            )
        if scope["method"] in _WRITES:
            is_ours = headers.get("origin") == f"http://{host}"
            if not is_ours or headers.get("sec-fetch-site", "same-origin") != "same-origin":
                return refuse(403, "Request refused", "Only this page itself may change anything.")
        return None

    def _exchange(self, scope: Scope, headers: Headers) -> HTMLResponse | None:
        """The token for a cookie, once; None for who has the cookie."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        # Not the standard library's parser: one odd cookie of another program on this machine would hide ours.
        cookie = cookie_parser(headers.get("cookie", "")).get(self._cookie, "")
        is_known = hmac.compare_digest(cookie.encode(), self._key.encode())
        is_token = bool(self.token) and hmac.compare_digest(given.encode(), self.token.encode())
        # A browser is started with the address in its command line, which every user of this machine can read.
        is_token = is_token and not _is_another_user(scope.get("client"))
        if is_known and not given:
            return None
        if not is_known and not is_token:
            why = "Run `recollect ui` again and open the address that it prints: each works once, in one browser."
            return refuse(401, "This page is private", why)
        entered = HTMLResponse(_ENTER.format("/", "/"))
        if is_token:
            self.token = ""
            entered.set_cookie(self._cookie, self._key, httponly=True, samesite="strict")
        return entered


def refuse(status: int, title: str, why: str) -> HTMLResponse:
    return HTMLResponse(_REFUSED.format(title, why), status, {"Connection": "close"})


def _is_another_user(client: tuple[str, int] | None) -> bool:
    """Whether the other end is another user's, where the system tells (Linux)."""
    try:
        lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:] if client else []
    except OSError:
        return False
    end = f"{socket.inet_aton(client[0])[::-1].hex().upper()}:{client[1]:04X}" if client else ""
    users = {fields[7] for line in lines if (fields := line.split())[1] == end}
    return bool(users) and str(os.getuid()) not in users


class TooLarge(Exception):
    """A body that did not say how long it is, and is too long."""
