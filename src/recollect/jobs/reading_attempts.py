"""Keeps one line of a transcript that ends the process from ending it for ever.

An attempt to read is written down before it begins, and removed in the transaction that moves the cursor. One that is
found again did not survive. From then on lines are read one by one, and the line that does not survive either is set
aside: its place is kept, never its text. An error that is raised is no death: whoever runs the job deals with it.
"""

from __future__ import annotations

from contextlib import suppress

from recollect.agents.transcript import Cursor, pass_line
from recollect.app.states import READ_ATTEMPTS, SET_ASIDE, ReadAttempt, ReadTranscript, SetAsideLine
from recollect.base.errors import RecollectError
from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.store import LocalStore

_MAX_TRIES = 1  # of a line that is read by itself
_NEW = ReadAttempt()


def begin(store: LocalStore, key: str, offset: int, piece_bytes: int) -> ReadAttempt:
    """Written down at once: the process may end before anything else is written."""
    before = READ_ATTEMPTS.find(store, key) or _NEW
    tries = before.tries + 1 if before.offset == offset else 1
    careful_until = before.careful_until
    if tries > 1 and offset >= careful_until:
        tries, careful_until = 1, offset + piece_bytes
    attempt = ReadAttempt(offset=offset, tries=tries, careful_until=careful_until)
    READ_ATTEMPTS.write(store, attempt, key)
    return attempt


def is_hopeless(attempt: ReadAttempt) -> bool:
    return attempt.is_careful and attempt.tries > _MAX_TRIES


def end(store: LocalStore, key: str, attempt: ReadAttempt, offset: int) -> None:
    """In the transaction that moves the cursor."""
    if offset < attempt.careful_until and offset > attempt.offset:
        READ_ATTEMPTS.write(store, replace(attempt, offset=-1, tries=0), key)
    else:
        READ_ATTEMPTS.remove(store, key)


def survived(store: LocalStore, key: str, attempt: ReadAttempt) -> None:
    """It failed, and the process goes on."""
    with suppress(RecollectError):  # a store that cannot be written is what failed
        READ_ATTEMPTS.write(store, replace(attempt, tries=attempt.tries - 1), key)


def set_aside(store: LocalStore, one: ReadTranscript, now: Moment) -> Cursor:
    """The place after the line, from where reading goes on. To be called in the transaction that moves the cursor."""
    start = end = one.last.cursor.offset
    with suppress(OSError), open(one.path, "rb") as file:
        file.seek(start)
        pass_line(file)
        end = file.tell()
    line = SetAsideLine(path=one.path, offset=start, size=end - start, at=now)
    SET_ASIDE.write(store, [*SET_ASIDE.read(store), line])
    return Cursor(end)


def take_back(store: LocalStore, line: SetAsideLine) -> None:
    """The line is no longer set aside."""
    SET_ASIDE.write(store, [other for other in SET_ASIDE.read(store) if other != line])


def has_line_before(store: LocalStore, one: ReadTranscript, back_bytes: int) -> bool:
    """Whether a line that was set aside stands so little before the cursor: what went before is then not read again."""
    least = one.last.cursor.offset - back_bytes
    return any(line.path == one.path and line.offset >= least for line in SET_ASIDE.read(store))
