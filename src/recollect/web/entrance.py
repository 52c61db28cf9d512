"""The way in: a login page, and the two secrets that it takes once.

Whoever starts `recollect ui` gets in, and nobody else: they have the terminal, where a code is printed, and their own
files, among which stands a page that sends a longer secret by itself. That file is what a browser is started with: its
command line can be read by every user of the machine, the file cannot. Both secrets end when one of them was used, and
after ten minutes; the code also after a few wrong guesses.

Nothing here is private: these are the answers for everyone. guard.py decides who gets past them."""

from __future__ import annotations

import base64
import hmac
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from recollect.base.clock import SystemClock
from recollect.base.errors import HomeRefused
from recollect.base.files import write_private
from recollect.base.ids import fresh_key
from recollect.base.moment import Moment
from recollect.base.paths import home
from recollect.base.settings import environment
from recollect.web.pages import STATIC_ROUTES, notice, templates
from recollect.wire.place import find_place, make_private

COOKIE = "recollect"
VALID_S = 600.0
MAX_WRONG_CODES = 10
_CODE_CHARS = 16  # 80 bits
_ENTER = "/enter"
_AGAIN = (
    "Run `recollect ui` again: it prints an address and a code, which work once, in one browser."
)


class Invitation(NamedTuple):
    """What the person who started the page is told, and nobody else."""

    address: str
    code: str
    file: Path | None  # leads a browser in by itself; None where no private folder can be made


class Keys(NamedTuple):
    """What a browser that was let in has; both are needed, for everything."""

    folder: str  # the first part of every address
    cookie: str

    @classmethod
    def draw(cls) -> Keys:
        return cls(folder=fresh_key(), cookie=fresh_key() + fresh_key())


class Entrance:
    """Lets one browser in, once."""

    def __init__(
        self,
        port: int,
        keys: Keys,
        *,
        clock_s: Callable[[], float] = time.monotonic,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.address = f"http://127.0.0.1:{port}/"
        self._port = port
        self._keys = keys
        self._clock_s = clock_s
        self._warn = warn
        self._until_s = clock_s() + VALID_S
        self._code = _draw_code()
        self._ticket = fresh_key() + fresh_key()
        self._wrong_codes = 0
        self._is_used = False
        self._file: Path | None = None

    def invite(self) -> Invitation:
        """Also writes the private file."""
        with suppress(OSError, HomeRefused):  # without it, the code is the way in
            folder = private_folder()
            remove_stale(folder)
            path = folder / _file_name(self._port)
            page = templates().get_template("ticket.html")
            write_private(path, page.render(target=self.address[:-1] + _ENTER, ticket=self._ticket))
            self._file = path
        grouped = "-".join(self._code[at : at + 4] for at in range(0, _CODE_CHARS, 4))
        return Invitation(self.address, grouped, self._file)

    @property
    def is_open(self) -> bool:
        return not self._is_used and self._clock_s() < self._until_s

    @property
    def takes_code(self) -> bool:
        return self.is_open and self._wrong_codes < MAX_WRONG_CODES

    def admit_code(self, given: str) -> bool:
        """Whether it is the code; each wrong one counts."""
        if not self.takes_code:
            return False
        if hmac.compare_digest(_plain_code(given).encode(), self._code.encode()):
            self._close()
            return True
        self._wrong_codes += 1
        if self._wrong_codes == MAX_WRONG_CODES:
            self._warn(f"A wrong code was entered {MAX_WRONG_CODES} times: it is void now.")
        return False

    def admit_ticket(self, given: str) -> bool:
        """Whether it is what the private file holds. Too long to be guessed, so wrong ones do not count."""
        if not self.is_open or not hmac.compare_digest(given.encode(), self._ticket.encode()):
            return False
        self._close()
        return True

    def tidy(self) -> None:
        """Removes the private file once it leads nowhere."""
        if not self.is_open:
            self.end()

    def end(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # what it leads to is closed all the same
                self._file.unlink()
            self._file = None

    def _close(self) -> None:
        self._is_used = True
        self.end()

    def app(self) -> Starlette:
        """Answers whoever does not have the keys."""

        async def show(_request: Request) -> Response:
            return self.refuse(200)

        async def enter(request: Request) -> Response:
            return await self._enter(request)

        async def otherwise(_request: Request, problem: Exception) -> Response:
            is_too_large = isinstance(problem, HTTPException) and problem.status_code == 413
            return notice(413, "Too large", "That was too long.") if is_too_large else self.refuse()

        routes = [Route("/", show), Route(_ENTER, enter, methods=["POST"]), *STATIC_ROUTES]
        return Starlette(routes=routes, exception_handlers={HTTPException: otherwise})

    async def _enter(self, request: Request) -> Response:
        try:
            body = (await request.body()).decode("utf-8", "replace")
        except ClientDisconnect:
            return Response(status_code=400)
        try:
            form = parse_qs(body, max_num_fields=10)
        except ValueError:
            form = {}
        is_own_page = request.headers.get("origin") == f"http://{request.headers['host']}"
        if "ticket" in form:
            is_admitted = self.admit_ticket(form["ticket"][0])
        elif is_own_page:
            is_admitted = self.admit_code(form.get("code", [""])[0])
        else:  # another site must not use up the guesses
            return notice(403, "Request refused", "Enter the code on this page itself.")
        if not is_admitted:
            return self.refuse(wrong=True)
        # A page of ours leads on: a cookie this strict does not follow a redirect that began elsewhere.
        root = f"/{self._keys.folder}/"
        entered = HTMLResponse(templates().get_template("entered.html").render(to=root))
        entered.set_cookie(COOKIE, self._keys.cookie, path=root, httponly=True, samesite="strict")
        return entered

    def refuse(self, status: int = 401, *, wrong: bool = False) -> HTMLResponse:
        """The same for every address, so that nobody learns which ones there are."""
        why = "Enter the code that `recollect ui` printed."
        if not self.takes_code:
            why = _AGAIN
        elif wrong:
            left = MAX_WRONG_CODES - self._wrong_codes
            why = f"That is not the code that `recollect ui` printed. Tries left: {left}."
        return notice(
            401 if wrong else status,
            "This page is private",
            why,
            enter=_ENTER if self.takes_code else "",
        )


def private_folder() -> Path:
    """Ours alone, beside the daemon's socket."""
    folder = find_place(str(home()), environment()).runtime
    make_private(folder)
    return Path(folder)


def find_file(folder: Path, port: int) -> Path | None:
    """The private file of the page at a port."""
    path = folder / _file_name(port)
    return path if path.exists() else None


def remove_stale(folder: Path) -> None:
    """What a page that was killed left: nobody listens at its port, or its time is over."""
    oldest = SystemClock().now().plus(seconds=-int(VALID_S))
    for path in folder.glob(_file_name("*")):
        port = path.stem.rpartition("-")[2]
        with suppress(OSError):
            is_old = Moment(path.stat().st_mtime_ns // 1_000) < oldest
            if is_old or not (port.isdecimal() and _is_served(int(port))):
                os.unlink(path)


def _file_name(port: int | str) -> str:
    return f"page-{port}.html"


def _is_served(port: int) -> bool:
    with socket.socket() as line:
        line.settimeout(1.0)
        return line.connect_ex(("127.0.0.1", port)) == 0


def _draw_code() -> str:
    return base64.b32encode(bytes.fromhex(fresh_key())).decode("ascii")[:_CODE_CHARS]


def _plain_code(given: str) -> str:
    """As it was drawn, however it was typed. The alphabet has no 0, 1 or 8."""
    letters = "".join(given.split()).replace("-", "").upper()
    return letters.translate(str.maketrans("018", "OIB"))
