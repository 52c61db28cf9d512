"""Pi can load the extension from a clone: one file, whichever way it comes."""

from __future__ import annotations

import json
import re
from pathlib import Path

from recollect import __version__
from recollect.agents import pi

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "plugins" / "pi"


def test_the_package_has_the_programs_version_and_names_its_entry():
    said = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    assert said["version"] == __version__
    assert [(PACKAGE / one).resolve() for one in said["pi"]["extensions"]] == [PACKAGE / "index.ts"]


def test_its_entry_is_the_extension_that_is_installed():
    (named,) = re.findall(r'from "(.+)"', (PACKAGE / "index.ts").read_text(encoding="utf-8"))
    assert (PACKAGE / named).resolve() == Path(pi.__file__).with_suffix(".ts").resolve()
