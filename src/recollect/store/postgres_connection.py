"""One connection to a team's PostgreSQL: every use ends by a deadline, a lost connection is made again, and what is
wrong is reported in our own words, never with a password in it.

A server that hangs or a network that swallows bytes would keep libpq waiting for minutes, so a watchdog shuts the
socket down when the deadline has passed. Works behind PgBouncer in transaction mode: nothing is prepared, and no
setting outlives a transaction. psycopg is imported when a connection is made, never before."""

from __future__ import annotations

import math
import queue
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

from recollect.base import errors
from recollect.base.errors import (
    RecollectError,
    StoreError,
    StoreForeign,
    TeamRefused,
    TeamUnreachable,
)

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")
_HOST = re.compile(r"[\w.:/ %,\[\]-]*")
# Tables of ours.
_TABLES = (
    "tenant|memory|message|bridge|alias|journal|journal_memory|"
    "passage|posting|term|vector|state|counter"
)
_SPELLINGS = tuple(
    (re.compile(pattern), spelling)
    for pattern, spelling in (
        (r"IN \(SELECT value FROM json_each\(\?\)\)", "= ANY(?)"),
        (r"FROM json_each\(\?\) w", "FROM unnest(?::bigint[]) w (value)"),
        (r"FROM json_each\(\?\)", "FROM unnest(?::text[]) w (value)"),
        (r"\binstr\(", "strpos("),
        (r"lower\(\?\)", 'lower(?::text COLLATE "C")'),  # as the columns: ASCII alone
        (r"LIMIT (\?\d*)", r"LIMIT nullif(\1::bigint, -1)"),
        (rf"\b(FROM|JOIN|INTO|UPDATE) ({_TABLES})\b", r"\1 recollect.\2"),
    )
)
_NOTHING = "Nothing was written."
_AGAIN = "What is local goes on; the team's memories follow when the server answers again."


@lru_cache(maxsize=1024)
def translated(sql: str) -> tuple[str, tuple[int, ...]]:
    """SQLite's spelling in PostgreSQL's, and which of the values it takes, in order: one that is not named is not
    allowed there."""
    for pattern, spelling in _SPELLINGS:
        sql = pattern.sub(spelling, sql)
    taken: list[int] = []
    highest = 0

    def place(found: re.Match[str]) -> str:
        nonlocal highest
        number = int(found[1]) if found[1] else highest + 1
        highest = max(highest, number)
        if number - 1 not in taken:
            taken.append(number - 1)
        return f"${taken.index(number - 1) + 1}"

    return re.sub(r"\?(\d*)", place, sql), tuple(taken)


@cache
def driver() -> Any:
    try:
        import psycopg
    except ImportError:
        hint = (
            "In the clone: `uv tool install '.[team]'`, or `pip install '.[team]'`; "
            "elsewhere: `pip install 'recollect[team]'`."
        )
        raise StoreError(
            "Teams need the package psycopg, which is not installed.", hint=hint
        ) from None
    return psycopg


def parse_url(url: str) -> dict[str, str]:
    """BadInput without quoting it: the part that is wrong may be the password."""
    hint = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special characters in it percent-encoded."
    try:
        from psycopg.conninfo import conninfo_to_dict

        found = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except ImportError:
        driver()
        raise
    except driver().Error:
        found = {}
    is_sound = all(_HOST.fullmatch(found.get(name, "")) for name in ("host", "hostaddr")) and (
        re.fullmatch(r"[\d,]*", found.get("port", ""))
    )
    if not found or not is_sound:
        raise errors.BadInput("This is not the address of a PostgreSQL database.", hint=hint)
    return found


def make_url(params: dict[str, str]) -> str:
    rest = {
        name: value for name, value in params.items() if name not in ("user", "password", "dbname")
    }
    place = ""
    if re.fullmatch(r"[A-Za-z0-9.-]+", rest.get("host", "")):
        place = rest.pop("host") + (f":{port}" if (port := rest.pop("port", "")) else "")
    login = quote(params.get("user", ""), safe="")
    if "password" in params:
        login += ":" + quote(params["password"], safe="")
    query = f"?{urlencode(rest, quote_via=quote)}" if rest else ""
    return f"postgresql://{f'{login}@' if login else ''}{place}/{quote(params.get('dbname', ''), safe='')}{query}"


class _Watchdog:
    """Shuts a socket down when its deadline has passed. One thread, which sleeps until the next deadline."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._until = self._wakes = math.inf
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self.has_bitten = self._ends = False

    @contextmanager
    def guard(self, guarded: socket.socket, until: float) -> Iterator[None]:
        with self._changed:
            self._socket, self._until, self.has_bitten = guarded, until, False
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._watch, name="recollect-team", daemon=True
                )
                self._thread.start()
            elif until < self._wakes:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._until = math.inf

    def _watch(self) -> None:
        with self._changed:
            while not self._ends:
                if self._until <= time.monotonic() and self._socket is not None:
                    self.has_bitten, self._until = True, math.inf
                    with suppress(OSError):
                        self._socket.shutdown(socket.SHUT_RDWR)
                self._wakes = self._until
                self._changed.wait(
                    None if self._until == math.inf else max(0.0, self._until - time.monotonic())
                )

    def end(self) -> None:
        with self._changed:
            self._ends = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()


class Connection:
    def __init__(self, params: dict[str, str], timeout_s: float) -> None:
        self.params, self.timeout_s = params, timeout_s
        self.in_transaction = False
        self._deadline = math.inf
        self._db: psycopg.Connection[Any] | None = None
        self._socket: socket.socket | None = None
        self._watchdog = _Watchdog()

    @property
    def _until(self) -> float:
        return self._deadline if self._deadline < math.inf else time.monotonic() + self.timeout_s

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        before = self._deadline
        self._deadline = min(before, time.monotonic() + seconds)
        try:
            yield
        finally:
            self._deadline = before

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """The rows of the last statement. Without values there may be several, each ended by a semicolon."""

        def work(db: psycopg.Connection[Any]) -> list[Any]:
            cursor = db.execute(sql, values or None)
            while cursor.nextset():
                pass
            return cursor.fetchall() if cursor.description else []

        return self.use(work)

    def run_many(self, sql: str, values: Sequence[Sequence[Any]]) -> None:
        self.use(lambda db: db.cursor().executemany(sql, values))

    def begin(self, sql: str) -> list[Any]:
        """`sql` begins a transaction, and may do more."""
        try:
            found = self.run(sql)
        except RecollectError:
            self.roll_back()
            raise
        self.in_transaction = True
        return found

    def commit(self) -> None:
        self.run("COMMIT")
        self.in_transaction = False

    def roll_back(self, sql: str = "ROLLBACK") -> None:
        """A connection on which that fails is given up: the next transaction must not find this one open."""
        try:
            if self._db is not None:
                self.run(sql)
        except RecollectError:
            self.close_connection()
        finally:
            self.in_transaction = self.in_transaction and sql != "ROLLBACK"

    def use(self, work: Callable[[psycopg.Connection[Any]], T], *, may_retry: bool = True) -> T:
        """A connection that was lost is made again, once, unless a transaction was lost with it."""
        until = self._until
        if until <= time.monotonic():
            raise self._unreachable("there was no time left")
        may_retry = may_retry and self._db is not None and not self.in_transaction
        while True:
            if self._db is None:
                self._connect(until)
            db, guarded = self._db, self._socket
            if db is None or guarded is None:
                raise self._unreachable("the connection was closed")
            try:
                with self._watchdog.guard(guarded, until):
                    return work(db)
            except driver().Error as problem:
                if not db.closed:
                    raise self._translated(problem) from None
                self.close_connection()
                if not may_retry or time.monotonic() >= until:
                    raise self._lost(problem) from None
                may_retry = False

    def _connect(self, until: float) -> None:
        if self.in_transaction:
            raise self._unreachable("the connection was lost in the middle of a change")
        self._db = connect(self.params, until - time.monotonic())
        self._socket = socket.fromfd(self._db.fileno(), socket.AF_INET, socket.SOCK_STREAM)

    def close_connection(self) -> None:
        if self._db is not None and self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(
                    socket.SHUT_RDWR
                )  # libpq's farewell would wait for a server that hangs
            self._socket.close()
            self._db.close()
        self._db = self._socket = None

    def close(self) -> None:
        if self._db is not None and not self._db.closed and not self.in_transaction:
            self._db.close()
        self.close_connection()
        self._watchdog.end()

    def _lost(self, problem: Exception) -> RecollectError:
        if self._watchdog.has_bitten:
            return self._unreachable("it did not answer in time")
        return self._unreachable(_reason(problem, self.params))

    def _unreachable(self, why: str) -> TeamUnreachable:
        return TeamUnreachable(
            f"The team's server ({_place(self.params)}) cannot be reached: {why}.", hint=_AGAIN
        )

    def _translated(self, problem: Exception) -> RecollectError:
        return translated_error(problem, self.params)


class Listener:
    """A connection of its own that waits to be told of changes. Behind PgBouncer in transaction mode nobody is told:
    then every wait takes its whole time."""

    def __init__(self, params: dict[str, str], timeout_s: float, channel: str) -> None:
        self._connection = Connection(params, timeout_s)
        self._channel = channel
        self._hears = False

    def wait(self, timeout_s: float) -> bool:
        if not self._hears:
            self._connection.run(f'LISTEN "{self._channel}"')
            self._hears = True
            return True
        try:
            # What was told while nobody waited is told again by the same call.
            with self._connection.within(timeout_s + self._connection.timeout_s):
                return self._connection.use(
                    lambda db: any(True for _ in db.notifies(timeout=timeout_s, stop_after=1)),
                    may_retry=False,
                )
        except TeamUnreachable:
            self._hears = False
            raise

    def close(self) -> None:
        self._connection.close()


def connect(params: dict[str, str], timeout_s: float) -> psycopg.Connection[Any]:
    """In a thread of its own, because the look-up of a name has no time limit; one that comes too late is closed."""
    psycopg = driver()
    seconds = max(2, math.ceil(timeout_s))
    given = {
        "connect_timeout": seconds, "application_name": "recollect", "keepalives": 1, "keepalives_idle": 30,
        "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 30_000, **params,
    }  # fmt: skip
    answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
    turn, has_given_up = threading.Lock(), threading.Event()

    def work() -> None:
        try:
            made: Any = psycopg.connect(
                **given, autocommit=True, prepare_threshold=None, cursor_factory=psycopg.RawCursor
            )
        except (psycopg.Error, OSError, ValueError) as problem:  # those of the look-up, too
            made = problem
        with turn:
            if not has_given_up.is_set():
                answer.put(made)
            elif not isinstance(made, Exception):
                made.close()

    threading.Thread(target=work, name="recollect-connect", daemon=True).start()
    try:
        made = answer.get(timeout=max(0.0, timeout_s))
    except queue.Empty:
        with turn:
            has_given_up.set()
            made = None if answer.empty() else answer.get()
    if made is None:
        problem = (
            f"The team's server ({_place(params)}) cannot be reached: it did not answer in time."
        )
        raise TeamUnreachable(problem, hint=_AGAIN)
    if isinstance(made, Exception):
        raise translated_error(made, params, is_new=True)
    return made  # type: ignore[no-any-return]


def _place(params: dict[str, str]) -> str:
    host = params.get("host") or params.get("hostaddr") or "this machine"
    port = params.get("port", "")
    if not port and re.fullmatch(r"[A-Za-z0-9.-]+", host):
        port = "5432"  # where a server is looked for if no port is named
    return f"{host}:{port}" if port else host


def _reason(problem: Exception, params: dict[str, str]) -> str:
    """The first line of what libpq says, without the password."""
    said = str(problem).strip().splitlines() or ["no reason was given"]
    password = params.get("password", "")
    first = said[0].strip()
    return (first.replace(password, "***") if password else first).rstrip(".")


_HOW_TO_LOG_IN = (
    "At a terminal you are asked for it. Elsewhere hand the whole address over by standard input "
    "(`recollect team join NAME - < FILE`), or name a command that prints it (--password-command)."
)

# By SQLSTATE, the first that fits: our error, the message and what to do next.
_ERRORS: tuple[tuple[str, type[RecollectError], str, str], ...] = (
    ("28", TeamRefused, "The team's server ({0}) does not accept this login.", "Check its password, or ask for a "
     "new login: the team's creator runs `recollect team create` again."),
    ("3D000", StoreForeign, "The server ({0}) has no such database.", "Check the address."),
    ("55P03", errors.StoreBusy, "Another member of the team is writing.", f"{_NOTHING} Try again in a moment."),
    ("40", errors.StoreBusy, "Another member of the team is writing.", f"{_NOTHING} Try again in a moment."),
    ("57014", TeamUnreachable, "The team's server ({0}) took too long.", _AGAIN),
    ("57", TeamUnreachable, "The team's server ({0}) is not available: {1}.", _AGAIN),
    ("08", TeamUnreachable, "The team's server ({0}) cannot be reached: {1}.", _AGAIN),
    ("53100", errors.StoreFull, "The team's server ({0}) has no space left.", f"{_NOTHING} Tell its administrator."),
    ("53", TeamUnreachable, "The team's server ({0}) is overloaded: {1}.", _AGAIN),
    ("25006", errors.StoreReadOnly, "The team's server ({0}) is a copy that cannot be written.", "Name the main one."),
    ("42501", TeamRefused, "This login may not do that: {1}.", "Use the login that the team gave you."),
    ("3F000", StoreForeign, "This database has no team memory.", "Create the team first, as an administrator."),
    ("42P01", StoreForeign, "This database has no team memory.", "Create the team first, as an administrator."),
    ("42883", StoreForeign, "This database has no team memory.", "Create the team first, as an administrator."),
    ("RC001", errors.StoreTooNew, "A newer Recollect made this team's database.", "Upgrade this Recollect."),
    ("23", errors.Conflict, "Other memories depend on this: {1}.", "Undo the later change first (`recollect log`)."),
    ("", StoreError, "The team's server ({0}): {1}.", "`recollect doctor` looks for the cause."),
)  # fmt: skip


def translated_error(
    problem: Exception, params: dict[str, str], *, is_new: bool = False
) -> RecollectError:
    state = getattr(problem, "sqlstate", None) or ("08" if is_new else "")
    reason = _reason(problem, params)
    if (
        is_new
        and not getattr(problem, "sqlstate", None)
        and re.search(r"password|authentication", reason)
    ):
        state = "28"  # libpq gives no state for what happens while it connects
    if state.startswith("28") and is_new and not params.get("password"):
        message = (
            f"The team's server ({_place(params)}) asks for a password, and the address has none."
        )
        return errors.PasswordMissing(message, hint=_HOW_TO_LOG_IN)
    diagnosis = getattr(getattr(problem, "diag", None), "message_primary", None)
    reason = diagnosis or reason
    for begins, error, message, hint in _ERRORS:
        if state.startswith(begins):
            return error(message.format(_place(params), reason), hint=hint)
    raise AssertionError("the last row fits every state")
