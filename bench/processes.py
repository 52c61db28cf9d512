"""What the system knows about processes: which there are, their environment, what they have used. Linux only."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Body:
    """What a process is made of just now."""

    memory_mb: float
    descriptors: int
    threads: int
    children: int


def body(pid: int) -> Body:
    of = Path("/proc", str(pid))
    memory = int((of / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    children = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _parent(entry) == pid
    ]
    return Body(
        round(memory / 1e6, 1),
        len(os.listdir(of / "fd")),
        len(os.listdir(of / "task")),
        children=len(children),
    )


def cpu_ms(pid: int) -> float:
    """That it has used so far, all threads; in steps of the system's clock, mostly 10 ms."""
    user, system = _after_name(Path("/proc", str(pid)))[11:13]
    return (int(user) + int(system)) * 1_000 / os.sysconf("SC_CLK_TCK")


def _parent(entry: Path) -> int:
    try:
        return int(_after_name(entry)[1])
    except (OSError, IndexError):
        return -1


def _after_name(entry: Path) -> list[str]:
    """The name may hold anything, so the rest is counted from its end."""
    return (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()


def having(mark: str) -> list[int]:
    """Those with this line in the environment that they were started with."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes().split(
                b"\0"
            ):
                found.append(int(entry.name))
    return found
