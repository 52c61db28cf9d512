"""Made-up secrets for tests: one of every template, drawn when the tests run."""

from __future__ import annotations

from recollect.bench.secret_samples import TEMPLATES, Sample, draw

__all__ = ["SAMPLES", "TEMPLATES", "Sample", "draw"]

SAMPLES: tuple[Sample, ...] = tuple(draw(kind, template) for kind, template in TEMPLATES)
