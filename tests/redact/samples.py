"""Made-up secrets for tests, one of every template, drawn when the tests run; and tables of texts."""

import json
from pathlib import Path

from bench.secret_samples import TEMPLATES, Sample, draw
from recollect.redact import Redactor

__all__ = ["REDACTOR", "SAMPLES", "TEMPLATES", "Sample", "draw", "read_texts"]

REDACTOR = Redactor(b"a key for tests")
SAMPLES: tuple[Sample, ...] = tuple(draw(kind, template) for kind, template in TEMPLATES)


def read_texts(name: str) -> list[str]:
    """All texts of a table beside this file."""
    table: dict[str, list[str]] = json.loads(
        Path(__file__).with_name(name).read_text(encoding="utf-8")
    )
    return [text for group, texts in table.items() if group != "note" for text in texts]
