"""Runs a function of bench in a process of its own, and exchanges lines of JSON with it.

A fresh process, not a fork: nothing is shared with the parent (its locks, its threads, its memory), and it
works on every system. Both sides' ends are here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

from recollect.base.errors import RecollectError

_CLONE = str(Path(__file__).resolve().parent.parent)
# -P: the current folder is not a place to import from, the clone is.
_ANSWER = f"import sys; sys.path.append({_CLONE!r}); from bench.child import answer; answer()"
_PROGRAM = (sys.executable, "-P", "-c", _ANSWER)


def failed(function: str, code: int) -> RecollectError:
    return RecollectError(
        f"The benchmark's process {function} ended with {code}.", hint="Its own words stand above."
    )


class Child:
    """Dead when the `with` block ends, whatever happened."""

    def __init__(self, function: Callable[..., None], *arguments: Any) -> None:
        self._name = f"{function.__module__}:{function.__name__}"
        self._process = subprocess.Popen(
            [*_PROGRAM, self._name, json.dumps(arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        # Both are pipes, because we asked for pipes.
        self._to = cast(IO[str], self._process.stdin)
        self._from = cast(IO[str], self._process.stdout)

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _at: TracebackType | None,
    ) -> None:
        self.kill()
        self._to.close()
        self._from.close()

    def tell(self, value: Any) -> None:
        self._to.write(json.dumps(value) + "\n")
        self._to.flush()

    def heard(self) -> Iterator[Any]:
        """What it says, until it ends; a line that a kill cut short was never said."""
        while (line := self._from.readline()).endswith("\n"):
            yield json.loads(line)

    def answer(self) -> Any:
        """The next thing it says; it must say one."""
        for value in self.heard():
            return value
        raise failed(self._name, self._process.wait())

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


# The child's side


def answer() -> None:
    from importlib import import_module

    module, _, function = sys.argv[1].partition(":")
    getattr(import_module(module), function)(*json.loads(sys.argv[2]))


def say(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def told() -> Any:
    """What the parent says next; ends this process if the parent is gone."""
    line = sys.stdin.readline()
    if not line:
        raise SystemExit(1)
    return json.loads(line)
