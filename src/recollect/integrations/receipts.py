"""What we know of our pieces in files of others only because we put them there: `<home>/installed.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from recollect.app.core import App
from recollect.base.files import read_limited, write_private
from recollect.integrations.settings_text import Insertion, Way

_MAX_RECEIPT_BYTES = 2_000_000


class Receipt(NamedTuple):
    """What is known of one piece only because we put it there."""

    kind: str
    host: str = ""
    level: str = ""
    path: str = ""
    root: str = ""  # of the project that it was written for
    before: str = ""  # digest of the file as it was; empty where there was none
    after: str = ""
    inserted: tuple[Insertion, ...] = ()
    kept: tuple[Way, ...] = ()  # objects and lists that stood there before us, and stay even if we leave them empty
    at: str = ""  # when something was last written
    off: bool = False  # a person had it taken away

    @property
    def key(self) -> str:
        return f"{self.kind} {self.host} {self.level} {self.path}"

    @classmethod
    def decode(cls, fields: Mapping[str, Any]) -> Receipt:
        inserted = tuple(Insertion(int(at), str(text)) for at, text in fields["inserted"])
        return cls(**{**fields, "inserted": inserted, "kept": tuple(tuple(way) for way in fields["kept"])})


class Receipts:
    def __init__(self, app: App) -> None:
        """Empty where they cannot be read: then our entries are found by what they hold."""
        self.path = app.home.root / "installed.json"
        self.pieces: dict[str, Receipt] = {}
        self.made: list[str] = []  # folders, and texts that hold our section, which were not there before
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            kept = json.loads(read_limited(self.path, _MAX_RECEIPT_BYTES))
            pieces = [Receipt.decode(one) for one in kept["pieces"]]
            self.made = [str(path) for path in kept["made"]]
            self.pieces = {one.key: one for one in pieces}
        self._saved = self._encoded()

    def of(self, *kinds: str, root: Path | None = None) -> list[Receipt]:
        return [one for one in self.pieces.values() if one.kind in kinds and (root is None or one.root == str(root))]

    def save(self) -> None:
        if (text := self._encoded()) == self._saved:
            return
        if self.pieces or self.made:
            write_private(self.path, text)
        else:
            self.path.unlink(missing_ok=True)
        self._saved = text

    def _encoded(self) -> str:
        kept = {"pieces": [one._asdict() for one in self.pieces.values()], "made": self.made}
        return json.dumps(kept, indent=1) + "\n"
