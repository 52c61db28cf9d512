"""Which model makes the vectors, and how many passages have theirs."""

from __future__ import annotations

from urllib.parse import urlsplit

from recollect.app.core import App
from recollect.base.errors import BadInput, ModelError
from recollect.base.settings import leaves_machine
from recollect.embed import shipped_id
from recollect.model.result import Embedding

_SETTING = "MEMORY_EMBEDDING_MODEL"


def read_status(app: App) -> Embedding:
    """Another model than the shipped one is loaded for it: there is no other way to tell whether it can be used."""
    setting = app.settings.text(_SETTING)
    try:
        model = shipped_id() if setting == "shipped" else app.embedder.id
    except (ModelError, BadInput) as problem:
        return Embedding(setting, "", problem=problem.message)
    passages = vectors = others = 0
    for _, store in app.scopes():
        counts = store.vector_counts()
        passages += store.counts().passages
        vectors += counts.get(model, 0)
        others += sum(count for name, count in counts.items() if name != model)
    return Embedding(setting, model, passages, vectors, others)


def destination_note(app: App) -> str:
    """Where the text of memories is sent to, if that is another machine; else empty."""
    setting = app.settings.text(_SETTING)
    return f" (the text of every memory is sent to {urlsplit(setting).netloc})" if leaves_machine(setting) else ""
