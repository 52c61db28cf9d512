"""How near the rules that stand are to a sentence, by their vectors. Asked only when a rule is about to be kept.

English alone: the shipped model knows no other language, and negations are known in none (capture/contrast.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.base.errors import BadInput, ModelError
from recollect.capture.languages import spoken
from recollect.model.memory import Rule
from recollect.model.result import Scope
from recollect.ops.app import App

_LEAST = 0.4
"""By the vectors that are kept, which are of title and body: a rule further off says something else."""
_MOST = 12
"""So many are looked at again, body by body."""


def nearness(app: App, scope: Scope, sentence: str, rules: Sequence[Rule]) -> dict[str, float]:
    """By id; those that are far off are left out. Empty where there is no model: words decide alone."""
    rules = [rule for rule in rules if spoken(rule.body).code == "en"]
    if not rules or spoken(sentence).code != "en":
        return {}
    try:
        embedder = app.embedder
        (vector,) = embedder.embed([sentence])
        kept = app.reading(scope).closeness(embedder.id, vector.tobytes(), [rule.id for rule in rules])
        # One that has no vector yet is of these minutes: the likeliest to be said again.
        rules = sorted((rule for rule in rules if kept.get(rule.id, 1.0) >= _LEAST), key=lambda r: -kept.get(r.id, 1.0))
        vectors = embedder.embed([rule.body for rule in rules[:_MOST]])
    except (ModelError, BadInput):
        return {}
    return {rule.id: float(own @ vector) for rule, own in zip(rules, vectors, strict=False)}
