"""Being asked to end: signals that would otherwise kill a process before it can clean up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def ended_by_signals(
    end: Callable[[], None], names: Sequence[str] = ("SIGTERM", "SIGHUP")
) -> Iterator[None]:
    """Calls `end` at the first of them. Later ones do nothing, so that they do not disturb cleaning up. Only the main
    thread is asked."""
    was_asked = False

    def ask(_number: int, _frame: object) -> None:
        nonlocal was_asked
        if not was_asked:
            was_asked = True
            end()

    before = {}
    is_main = threading.current_thread() is threading.main_thread()
    for name in names if is_main else ():
        number = getattr(signal, name, None)
        if number is None or signal.getsignal(number) is signal.SIG_IGN:  # as `nohup` asks
            continue
        before[number] = signal.signal(number, ask)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def interrupt() -> None:
    """As Ctrl-C does."""
    raise KeyboardInterrupt
