"""A store as its user would have it, out of a suite's documents: dated ones of one group are the turns of one thread of
those dates, each a turn record; one without a date is a note. Secrets are kept out, as on every way into a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bench.embeddings import Embeddings
from bench.suites import Document
from recollect.app.core import App
from recollect.base.moment import Moment
from recollect.base.text import first_line_title
from recollect.capture.titles import make_title
from recollect.model.memory import Memory, Message, Note, Thread
from recollect.model.passage import TURN, Record, text_spans
from recollect.model.plan import Create, Plan
from recollect.store import ChangeHeader, LocalStore

_A_PLAN = 300
_A_PAGE = 2_000

Places = dict[tuple[str, str], int]
"""By memory and turn, the place of the document that it is: a suite's own ids need not look like ours."""


def load(app: App, store: LocalStore, documents: Sequence[Document]) -> Places:
    places: Places = {}
    creates = list(_creates(app, documents, places))
    for start in range(0, len(creates), _A_PLAN):
        header = ChangeHeader(app.mint.draw("change"), "import", app.actor, "", app.clock.now())
        store.apply(app.redact_plan(Plan.of(creates[start : start + _A_PLAN])), header)
    return places


def _creates(app: App, documents: Sequence[Document], places: Places) -> Iterator[Create]:
    threads: dict[str, list[tuple[int, Moment, Record]]] = {}
    for place, document in enumerate(documents):
        text = app.redact_text("body", document.text)
        if document.at is not None:
            asks = text.rstrip().endswith("?") and "\n" not in text.strip()
            said = Record(asked=text) if asks else Record(said=text)
            threads.setdefault(document.group or document.id, []).append((place, document.at, said))
            continue
        note = _memory(app, Note, first_line_title(text), text, document.group, [app.clock.now()])
        places[note.id, ""] = place
        yield Create(note)
    for group, turns in threads.items():
        records = [record for *_, record in turns]
        title = make_title(records)
        body = Record(asked=title).text()
        thread = _memory(app, Thread, title, body, group, [at for _, at, _ in turns])
        messages = [
            Message(f"{thread.id}-{number:05}", thread.id, at, TURN, record.text())
            for number, (_, at, record) in enumerate(turns)
        ]
        places |= {
            (thread.id, message.id): place
            for message, (place, *_) in zip(messages, turns, strict=True)
        }
        # A turn that the body repeats is not indexed beside it.
        repeated = [
            places[thread.id, message.id] for message in messages if message.content in body
        ]
        places[thread.id, ""] = [*repeated, turns[0][0]][0]
        yield Create(thread, tuple(messages))


def _memory(
    app: App, kind: type[Memory], title: str, body: str, group: str, dates: Sequence[Moment]
) -> Memory:
    first, last = min(dates), max(dates)
    return kind(
        id=app.mint.draw(str(kind.kind)), title=title, body=body, group=group, origin="import",
        created_at=first, reinforced_at=last, last_active_at=last,
    )  # fmt: skip


def embed_store(store: LocalStore, embeddings: Embeddings) -> None:
    while page := store.vectorless(embeddings.model, _A_PAGE):
        vectors = embeddings.of([text for _, text in page])
        rows = [(seq, row.tobytes()) for (seq, _), row in zip(page, vectors, strict=True)]
        store.put_vectors(embeddings.model, rows)
    for _ in store.build_index(embeddings.model) if store.lacks_index(embeddings.model) else ():
        pass  # as the daemon does in the background


def embed_documents(
    embeddings: Embeddings, documents: Sequence[Document]
) -> tuple[list[str], NDArray[np.float32], list[int]]:
    """The plain documents for other systems: their texts, the vectors of their passages, and whose each is."""
    own = [
        [span.of(document.text) for span in text_spans("", document.text)] for document in documents
    ]
    owners = [place for place, passages in enumerate(own) for _ in passages]
    return (
        [d.text for d in documents],
        embeddings.of([text for passages in own for text in passages]),
        owners,
    )
