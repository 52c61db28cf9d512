"""The one tree of errors.

    RecollectError                1   something we did not foresee
    +-- BadInput                  2   a value that cannot be taken: which, and why
    |   +-- BadImport             2   a line of an import file
    +-- NotFound                  3   an id, a project or a file that is not there
    |   +-- UnknownId             3   with the nearest ids that exist
    |   +-- AmbiguousName         3   part of an id or a title that fits several memories
    |   +-- NoProject             3   this folder can never be a project
    +-- Conflict                  4   the state has moved on since the plan was made
    |   +-- IdTaken               4   a new id that another process took first
    +-- StoreError                5   the database
    |   +-- StoreDamaged          5   it cannot be read; kept aside
    |   +-- StoreForeign          5   it is not ours
    |   +-- StoreTooNew           6   a newer Recollect wrote it
    |   +-- StoreBusy             7   another process holds it
    |   +-- StoreFull             8   no space left
    |   +-- StoreReadOnly         9   cannot be written
    +-- HomeRefused              10   the home folder is not safely ours
    +-- ModelError               11   the embedding model; words serve without it
    |   +-- ModelLoading         11   it is not loaded yet
    |   +-- ModelMissing         11   its file is not there
    |   +-- ModelBroken          11   its file is not what was shipped
    |   +-- ModelUnfit           11   a model of the user's choice that cannot be used
    |   +-- EndpointFailed       11   the embedding endpoint does not answer, or not as agreed
    +-- Stopped                 130   the caller cancelled it

The number is the exit code. `hint` says what to do next. Expected outcomes are values, not errors.
"""

from __future__ import annotations

from collections.abc import Sequence


class RecollectError(Exception):
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class BadInput(RecollectError):
    exit_code = 2


class BadImport(BadInput):
    def __init__(self, path: str, line: int, problem: str, *, hint: str = "") -> None:
        super().__init__(f"{path}, line {line}: {problem}", hint=hint)
        self.line = line


class NotFound(RecollectError):
    exit_code = 3


class UnknownId(NotFound):
    def __init__(self, id: str, near: tuple[str, ...] = ()) -> None:
        hint = f"Did you mean {' or '.join(near)}?" if near else "`recollect search WORDS` finds what there is."
        super().__init__(f"No memory is called {id!r}.", hint=hint)
        self.id = id
        self.near = near


class AmbiguousName(NotFound):
    def __init__(self, name: str, fitting: Sequence[str]) -> None:
        shown = "\n  ".join([*fitting[:5], *([f"and {len(fitting) - 5} more"] if len(fitting) > 5 else [])])
        super().__init__(f"{name!r} could be any of these:\n  {shown}", hint="Use the six digits at the left.")


class NoProject(NotFound):
    pass


class Conflict(RecollectError):
    exit_code = 4


class IdTaken(Conflict):
    def __init__(self, id: str) -> None:
        super().__init__(f"The id {id!r} belongs to another memory.", hint="Nothing was written. Try again.")
        self.id = id


class StoreError(RecollectError):
    exit_code = 5


class StoreDamaged(StoreError):
    pass


class StoreForeign(StoreError):
    pass


class StoreTooNew(StoreError):
    exit_code = 6


class StoreBusy(StoreError):
    exit_code = 7


class StoreFull(StoreError):
    exit_code = 8


class StoreReadOnly(StoreError):
    exit_code = 9


class HomeRefused(RecollectError):
    exit_code = 10


_REINSTALL = "Recall goes on with words alone. To mend it: `pip install --force-reinstall recollect`."


class ModelError(RecollectError):
    exit_code = 11


class ModelLoading(ModelError):
    def __init__(self) -> None:
        super().__init__("The embedding model is still being loaded.", hint="It takes a moment.")


class ModelMissing(ModelError):
    def __init__(self, file: str) -> None:
        super().__init__(f"The embedding model is not there ({file}).", hint=_REINSTALL)


class ModelBroken(ModelError):
    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"The embedding model {file} is not what was shipped: {problem}.", hint=_REINSTALL)


class ModelUnfit(ModelError):
    """Of a model that the settings name: what stands against it."""


class EndpointFailed(ModelError):
    pass


class Stopped(RecollectError):
    exit_code = 130
