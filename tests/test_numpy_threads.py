"""numpy's libraries are held to one thread in every process of ours, whichever part of us loads numpy first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src"
LIMITS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

_LOOK = """
import importlib, os, sys
importlib.import_module(sys.argv[1])
assert "numpy" in sys.modules
print(os.environ["OPENBLAS_NUM_THREADS"], len(os.listdir("/proc/self/task")))
"""


def modules_with_numpy() -> list[str]:
    found = (path for path in SOURCE.rglob("*.py") if "\nimport numpy" in path.read_text("utf-8"))
    names = (".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in found)
    return sorted(names)


def look(module: str, **more: str) -> str:
    environ = {name: value for name, value in os.environ.items() if name not in LIMITS}
    done = subprocess.run(
        [sys.executable, "-c", _LOOK, module], env={**environ, **more}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
@pytest.mark.parametrize("module", modules_with_numpy())
def test_a_process_that_loads_numpy_through_us_has_one_thread(module: str):
    assert look(module) == "1 1"


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
def test_what_a_person_set_for_numpy_holds():
    assert look("recollect.embed.bert", OPENBLAS_NUM_THREADS="2").startswith("2 ")
