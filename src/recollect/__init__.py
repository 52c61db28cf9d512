"""Recollect: memory for coding agents."""

import os

__version__ = "0.3.0"

# One thread for numpy's libraries, in every process of ours: they look here when numpy is loaded, and nothing of ours
# loads it before this. More threads share out products of a millisecond and spend their time waiting for each other.
for _name in (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
):
    os.environ.setdefault(_name, "1")

# No program is ever looked for in the folder that we stand in, which may be a stranger's: not by us, not by a browser's
# or an editor's starter, not by what we start. `/proc/self/cwd` is another name of it.


def _is_fixed(place: str) -> bool:
    plain = os.path.normpath("//" + place)  # which leaves one slash of three
    return os.path.isabs(place) and not plain.startswith(("/proc/", "/dev/fd/"))


_places = os.environ.get("PATH", os.defpath).split(os.pathsep)
os.environ["PATH"] = os.pathsep.join(filter(_is_fixed, _places)) or os.defpath
