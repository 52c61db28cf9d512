"""The one tree of errors: each with an exit code, and a `hint` that says what to do next.

What a class says of itself is its line in docs/operations.md. Expected outcomes are values, not errors."""

from __future__ import annotations

import errno
from collections.abc import Sequence


class RecollectError(Exception):
    """Something we did not foresee."""

    exit_code = 1

    def __init_subclass__(cls, exit_code: int = 0) -> None:
        cls.exit_code = exit_code or cls.exit_code

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class BadInput(RecollectError, exit_code=2):
    """A value that cannot be used: which, and why."""


class BadImport(BadInput):
    """A line of an import file."""

    def __init__(self, path: str, line: int, problem: str, *, hint: str = "") -> None:
        super().__init__(f"{path}, line {line}: {problem}", hint=hint)
        self.line = line


class Stopped(RecollectError, exit_code=130):
    """The caller cancelled it."""


class NotFound(RecollectError, exit_code=3):
    """An id, a project or a file that does not exist."""


class UnknownId(NotFound):
    """No memory has this id; the nearest ids are named."""

    def __init__(self, id: str, near: tuple[str, ...] = ()) -> None:
        hint = "`recollect search WORDS` finds what there is."
        if near:
            hint = f"Did you mean {' or '.join(near)}?"
        elif id == "last":
            hint = (
                "`last` is the memory that was made, changed or shown last, and there is none yet."
            )
        elif id.isdigit() and len(id) < 4:
            hint = "A number is a row of the list that was printed last here: `recollect list`."
        super().__init__(f"No memory is called {id!r}.", hint=hint)
        self.near = near


class AmbiguousName(NotFound):
    """Part of an id or a title that fits several memories."""

    def __init__(self, name: str, fitting: Sequence[str]) -> None:
        shown = "\n  ".join(
            [*fitting[:5], *([f"and {len(fitting) - 5} more"] if len(fitting) > 5 else [])]
        )
        super().__init__(
            f"{name!r} could be any of these:\n  {shown}", hint="Use the six digits at the left."
        )


class NoProject(NotFound):
    """This folder can never be a project."""


class Conflict(RecollectError, exit_code=4):
    """The state has changed since the plan was made."""


class IdTaken(Conflict):
    """A new id that another process took first."""

    def __init__(self, id: str) -> None:
        super().__init__(
            f"The id {id!r} belongs to another memory.", hint="Nothing was written. Try again."
        )


class StoreError(RecollectError, exit_code=5):
    """The database."""


class StoreDamaged(StoreError):
    """The database cannot be read; it is kept aside."""


class StoreForeign(StoreError):
    """The database is not ours."""


class StoreTooNew(StoreError, exit_code=6):
    """A newer Recollect wrote the database."""


class StoreBusy(StoreError, exit_code=7):
    """Another process holds the database."""


class StoreFull(StoreError, exit_code=8):
    """No space is left for the database."""


class StoreReadOnly(StoreError, exit_code=9):
    """The database cannot be written."""


class HomeRefused(RecollectError, exit_code=10):
    """The home folder is not safely ours."""


class ModelError(RecollectError, exit_code=11):
    """The embedding model; recall goes on with words alone."""


class ModelLoading(ModelError):
    """The embedding model is not loaded yet."""

    def __init__(self) -> None:
        super().__init__("The embedding model is still being loaded.", hint="It takes a moment.")


class ModelMissing(ModelError):
    """The embedding model's file does not exist."""


class ModelBroken(ModelError):
    """The embedding model's file is not what was shipped."""


class ModelUnfit(ModelError):
    """A model that the settings name and that cannot be used."""


class EndpointFailed(ModelError):
    """The embedding endpoint does not answer, or not as agreed."""


class TeamUnreachable(StoreError, exit_code=12):
    """The team's server does not answer; the local memory goes on."""


class TeamRefused(StoreError, exit_code=13):
    """The team's server does not accept the login, or the login may not do this."""


class PasswordMissing(TeamRefused):
    """The team's server asks for a password, and the address has none."""


def refused_write(path: object, problem: OSError, hint: str) -> StoreError:
    """What to raise where the disk did not take a file beside the stores."""
    kind = StoreFull if problem.errno == errno.ENOSPC else StoreReadOnly
    return kind(f"{path} cannot be written: {problem.strerror}.", hint=hint)
