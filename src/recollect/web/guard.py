"""Who may ask. Before anything else looks at a request: it names this very server (a foreign name that leads here is
refused), its address begins with a secret, it carries a cookie that is bound to that address, and, where it writes, it
comes from a page of ours. Everyone else gets the login page (entrance.py).

Cookies know no ports: the browser also sends them to servers of other users on 127.0.0.1. Ours has a path that only our
own pages name, so none of those gets it; and the address without the cookie opens nothing.

Every answer forbids the browser all that is not from here."""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.web.connections import trust
from recollect.web.entrance import COOKIE, Keys
from recollect.web.pages import notice

MAX_BODY_BYTES = 2_000_000
MAX_LOGIN_BYTES = 4_000
MAX_QUERY_BYTES = 30_000  # a long prompt to try, in letters that take nine bytes each
_READS, _WRITES = ("GET", "HEAD"), ("POST",)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Nobody else learns an address of ours. With `no-referrer` a form's own Origin would be `null`.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """`private`: the page itself; `public`: what everyone else is answered."""

    def __init__(self, private: ASGIApp, public: ASGIApp, *, port: int, keys: Keys) -> None:
        self._private = private
        self._public = public
        self._keys = keys
        end = "" if port == 80 else f":{port}"  # which browsers leave out
        self._hosts = {f"127.0.0.1{end}", f"localhost{end}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # nothing here speaks over a web socket
        headers = Headers(scope=scope)
        is_known = self._has_keys(scope["path"], headers)
        limit = MAX_BODY_BYTES if is_known else MAX_LOGIN_BYTES
        guarded = _add_headers(send, keep_alive=is_known)
        refusal = self._check_form(scope, headers, limit)
        if refusal is None and is_known:
            refusal = self._check_origin(scope["method"], headers)
        if refusal is not None:
            await refusal(scope, receive, guarded)
        elif is_known:
            trust(scope)
            inside = {**scope, "root_path": f"/{self._keys.folder}"}
            await self._private(inside, _limit_body(receive, limit), guarded)
        else:
            await self._public(scope, _limit_body(receive, limit), guarded)

    def _has_keys(self, path: str, headers: Headers) -> bool:
        folder = path[1:].partition("/")[0]
        is_our_folder = hmac.compare_digest(folder.encode(), self._keys.folder.encode())
        # Another server may have set a cookie of the same name, which then comes along.
        values = _cookie_values(headers, COOKIE)
        has_cookie = any(hmac.compare_digest(one, self._keys.cookie.encode()) for one in values)
        return is_our_folder and has_cookie

    def _check_form(self, scope: Scope, headers: Headers, limit: int) -> HTMLResponse | None:
        """What is wrong with a request, whoever it comes from."""
        if headers.get("host", "") not in self._hosts:
            why = "This page answers only at the address that `recollect ui` printed."
            return notice(403, "Wrong address", why)
        if scope["method"] not in _READS + _WRITES:
            return notice(405, "Method not allowed", "This page only accepts GET and POST.")
        if len(scope["query_string"]) > MAX_QUERY_BYTES:
            return notice(414, "Too long", "The address is too long.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > limit:
            return notice(413, "Too large", "That was more than can be sent at once.")
        return None

    def _check_origin(self, method: str, headers: Headers) -> HTMLResponse | None:
        """A page of another origin may neither write nor read, even if it knew the address. Nobody may say two things:
        no browser does."""
        sites = headers.getlist("sec-fetch-site") or ["same-origin"]
        if method in _WRITES:
            own = [f"http://{headers['host']}"]
            is_ours = headers.getlist("origin") == own and sites == ["same-origin"]
        else:
            is_ours = sites in (["same-origin"], ["none"])
        if is_ours:
            return None
        return notice(403, "Request refused", "Only this page itself may ask for this.")


def _cookie_values(headers: Headers, name: str) -> list[bytes]:
    """Not the standard library's parser: one odd cookie of another program would hide ours."""
    parts = [part for line in headers.getlist("cookie") for part in line.split(";")]
    pairs = [part.strip().partition("=") for part in parts]
    return [value.encode() for key, _, value in pairs if key == name]


def _add_headers(send: Send, *, keep_alive: bool) -> Send:
    async def send_guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(_HEADERS)
            headers.setdefault("Cache-Control", "no-store")
            if not keep_alive:
                headers["Connection"] = "close"
        await send(message)

    return send_guarded


def _limit_body(receive: Receive, limit: int) -> Receive:
    """For a body that does not say how long it is."""
    left = limit

    async def receive_limited() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise HTTPException(413)
        return message

    return receive_limited
