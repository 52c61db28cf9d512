"""Which model makes the vectors, and how far it is with them."""

from __future__ import annotations

from urllib.parse import urlsplit

from recollect.base.errors import BadInput, ModelError
from recollect.base.setting import leaves_here
from recollect.model.result import Embedding
from recollect.ops.app import App

_SETTING = "MEMORY_EMBEDDING_MODEL"


def standing(app: App) -> Embedding:
    """A model that is not the shipped one is loaded for it: no other way tells whether it can be used."""
    setting = app.settings.text(_SETTING)
    try:
        model = _id(app, setting)
    except (ModelError, BadInput) as problem:
        return Embedding(setting, "", problem=problem.message)
    passages = vectors = others = 0
    for _, store in app.scopes():
        counted = store.vector_counts()
        passages += store.counts().passages
        vectors += counted.get(model, 0)
        others += sum(count for name, count in counted.items() if name != model)
    return Embedding(setting, model, passages, vectors, others)


def sent_to(app: App) -> str:
    """Said where the text of memories goes to another machine; nothing where it stays."""
    setting = app.settings.text(_SETTING)
    return f" (the text of every memory is sent to {urlsplit(setting).netloc})" if leaves_here(setting) else ""


def _id(app: App, setting: str) -> str:
    if setting in ("shipped", "shipped-fast"):
        from recollect.embed.shipment import SHIPPED

        return SHIPPED.id
    return app.embedder.id
