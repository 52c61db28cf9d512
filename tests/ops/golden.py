"""A vault of notes as they are met: every way to write front matter, every line end, names and files that are odd."""

from __future__ import annotations

import json
import os
from pathlib import Path

_DATA = Path(__file__).with_name("golden_vault.json")
FILES: dict[str, bytes] = {
    **{path: text.encode("latin-1") for path, text in json.loads(_DATA.read_text()).items()},  # one character per byte
    "large.md": b"A line of some words that is repeated.\n" * 55_000,
    "binary.md": bytes(range(256)) * 40,
}
REFUSED = {"binary.md", "latin1.md", "utf16.md", "large.md", "link in.md", "link out.md", "loop.md", "round"}
"""Told, not taken in: what is not UTF-8, longer than a memory may be, or a link."""
LINKS = {"link in.md", "link out.md", "loop.md", "round"}
NOT_NOTES = {"picture.png", ".obsidian/workspace.md"}


def build(vault: Path, outside: Path) -> None:
    for name, content in FILES.items():
        place = vault / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    (vault / "read-only.md").chmod(0o400)
    outside.mkdir()
    (outside / "secret.md").write_text("not of this vault")
    (vault / "link in.md").symlink_to(vault / "crlf.md")
    (vault / "link out.md").symlink_to(outside / "secret.md")
    (vault / "loop.md").symlink_to(vault / "loop.md")
    (vault / "round").symlink_to(vault)


def standing(vault: Path) -> dict[str, bytes]:
    """Every file and link, by what it holds or where it leads."""
    found: dict[str, bytes] = {}
    for folder, folders, names in os.walk(vault):
        for name in [*names, *(one for one in folders if os.path.islink(os.path.join(folder, one)))]:
            place = Path(folder, name)
            held = os.fsencode(os.readlink(place)) if place.is_symlink() else place.read_bytes()
            found[place.relative_to(vault).as_posix()] = held
    return found
