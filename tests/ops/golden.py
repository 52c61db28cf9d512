"""A vault of notes as they are met: every way to write front matter, every line end, names and files that are odd."""

from __future__ import annotations

import os
from pathlib import Path

_BODY = b"The zebra approves.\n"
FRONT = {
    "quoted": b"---\ntitle: \"A: \\\"b\\\" \\u00e9\"\nalias: 'it''s'\n---\n",
    "folded": b"---\ndescription: >-\n  one\n  two\nsummary: |\n  three\n\n  four\n---\n",
    "lists": b"---\ntags: [a, \"b, c\", 'd']\naliases:\n  - one\n  -   two # c\n- three\n---\n",
    "nested": b"---\nmeta:\n  deep:\n    deeper: [1, {a: b}]\n  list:\n    - x: 1\n      y: 2\ntags: a\n---\n",
    "comments": b"---\n# a comment\ntitle: x # and one\n\n  # and one\ntags: [] # none\n---\n",
    "duplicate keys": b"---\ntitle: one\ntitle: two\nstatus: active\nstatus: superseded\n---\n",
    "empty": b"---\n---\n",
    "tabs": b"---\ntitle:\tx\n\ttags: [a]\nother:\t\n---\n",
    "spaces": b"---   \ntitle  :   x   \n---\t\n",
    "dots": b"---\ntitle: x\n...\n",
    "anchors": b"---\nbase: &b {a: 1}\nuse: *b\n<<: *b\ntag: !!python/object:os.system x\n---\n",
    "dates": b"---\ncreated: 2026-02-01\nnumber: 007\nnull: ~\nyes: no\n---\n",
    "not a map": b"---\n- one\n- two\n---\n",
    "broken": b'---\n{{{{\ntags: [\ntitle: "\n---\n',
    "wikilinks": b'---\nup: "[[zebra]]"\nsupersedes: "[[nobody]]"\n---\n',
    "crlf": b"---\r\ntitle: x\r\ntags:\r\n  - a\r\n---\r\n",
    "mixed line ends": b"---\r\ntitle: x\ntags: [a]\r\n---\n",
    "bom": b"\xef\xbb\xbf---\ntitle: x\n---\n",
}
FILES: dict[str, bytes] = {
    **{f"front/{name}.md": head + _BODY for name, head in FRONT.items()},
    "fence alone.md": b"---",
    "fence and line.md": b"---\n",
    "no end fence.md": b"---\ntitle: x\n\n" + _BODY,
    "front alone.md": b"---\ntitle: x\n---",
    "empty.md": b"",
    "blank.md": b" \n\t\n\n",
    "no newline.md": b"no newline at the end",
    "crlf.md": b"one\r\ntwo\r\n",
    "lone cr.md": b"---\rtitle: x\r---\rone\rtwo\r",
    "bom.md": b"\xef\xbb\xbfone\n",
    "bom alone.md": b"\xef\xbb\xbf",
    "nul.md": b"a\x00b\n",
    "odd ends.md": "one\u2028two\u0085three\x0bfour\x0cfive\n".encode(),
    "tags.md": b'<memory-metadata>\n{"mine" :  1.10}\n</memory-metadata>\n\n<memory>\nText\n</memory>',
    "tags broken.md": b"<memory-metadata>\n{nothing\n</memory-metadata>\n<memory>\nText\n",
    "tags quoted.md": b"# How\n\n```\n<memory>\nText\n</memory>\n```\n",
    "tags behind front.md": b"---\na: b\n---\n<conditional>\nwhen\n</conditional>\nText\n",
    "large.md": b"A line of some words that is repeated.\n" * 55_000,
    "binary.md": bytes(range(256)) * 40,
    "latin1.md": "caf\u00e9\n".encode("latin-1"),
    "utf16.md": "text\n".encode("utf-16"),
    "\U0001f984 unicorn \U0001f469\u200d\U0001f4bb.md": _BODY,
    "\u4f60\u597d/\u0645\u0631\u062d\u0628\u0627.md": _BODY,
    "caf\u00e9.md": b"composed\n",
    "cafe\u0301.md": b"decomposed\n",
    "UPPER.MD": _BODY,
    "a.markdown": _BODY,
    "dots.in.name.md": _BODY,
    "  spaces  .md": _BODY,
    'quo\'te "s" [[x]] #h ^b |p.md': _BODY,
    "/".join(f"deep{n}" for n in range(30)) + "/down.md": _BODY,
    "picture.png": b"\x89PNG",
    ".obsidian/workspace.md": _BODY,
    "_inbox/waits.md": _BODY,
    "_archive/away.md": _BODY,
    "_always-load/always.md": _BODY,
    "read-only.md": b"---\nstatus: active\n---\nNot to be written.\n",
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
