"""claude-mem: observations and summaries of sessions, in a database of its own."""

from __future__ import annotations

from recollect.capture.others.fields import Row, listed, moment, text
from recollect.model.brought import Brought

FILE = ".claude-mem/claude-mem.db"
"""In the user's home folder."""
OBSERVATIONS, SUMMARIES = "observations", "session_summaries"
_PARTS = (
    ("request", "Asked for"), ("investigated", "Looked at"), ("learned", "Learned"), ("completed", "Done"),
    ("next_steps", "Next"), ("notes", "Notes"),
)  # fmt: skip


def observation(row: Row) -> Brought:
    facts = [f"- {fact}" for fact in listed(row, "facts")]
    parts = (text(row, "subtitle"), text(row, "narrative", "text", "content"), "\n".join(facts))
    body = "\n\n".join(part for part in parts if part)
    return Brought(
        f"observation {row.get('id')}", text(row, "title", "subtitle"), body, topics=listed(row, "concepts"),
        tags=(kind,) if (kind := text(row, "type", "kind")) else (), at=moment(row, "created_at_epoch", "created_at"),
        project=text(row, "project"),
    )  # fmt: skip


def summary(row: Row) -> Brought:
    body = "\n".join(f"{name}: {said}" for column, name in _PARTS if (said := text(row, column)))
    return Brought(
        f"summary {row.get('id')}", text(row, "request", "completed"), body, tags=("summary",),
        at=moment(row, "created_at_epoch", "created_at"), project=text(row, "project"),
    )  # fmt: skip
