"""TOOLS: every tool, with its name, its arguments and the operation behind it.

Written out, not made from the operations' signatures: a tool list leads every prompt, has to be the same byte for byte,
and making it would load every room at each start. tests/mcp/test_tools.py holds it against OPS.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Schema = Mapping[str, Any]


class Tool(NamedTuple):
    name: str
    op: str
    description: str
    arguments: Schema
    required: tuple[str, ...] = ()
    renamed: Mapping[str, str] = {}
    """Where the operation calls it otherwise."""
    output: Schema | None = None
    """Of what is answered as data; the others answer text."""
    reads: bool = False
    destroys: bool = False
    repeatable: bool = False
    """Doing it twice is doing it once."""
    long: bool = False
    """Goes through all memories: it tells how far it is, and can be called off."""

    @property
    def title(self) -> str:
        return self.name.removeprefix("ai_").replace("_", " ").capitalize()

    def input_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": dict(self.arguments),
            "required": list(self.required),
            "additionalProperties": False,
        }


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def _maybe_text(description: str) -> Schema:
    return {"type": ["string", "null"], "default": None, "description": description}


def _number(description: str, default: float, low: float, high: float) -> Schema:
    # No minimum and maximum: what is out of range is taken as the nearest end, and that is said.
    return {"type": "number", "default": default, "description": f"{description} ({low:g} to {high:g})"}


def _flag(description: str, default: bool) -> Schema:
    return {"type": "boolean", "default": default, "description": description}


def _topics(description: str) -> Schema:
    return {
        "type": ["array", "null"],
        "items": {"type": "string"},
        "default": None,
        "description": description,
    }


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _list(**properties: Schema) -> Schema:
    return {"type": "array", "items": _object(**properties)}


_STRING: Schema = {"type": "string"}
_FIGURE: Schema = {"type": "number"}
_DRY_RUN = _flag("Only show what would be done.", False)
_TALLY = _object(active_threads=_FIGURE, total_weight=_FIGURE)

TOOLS: tuple[Tool, ...] = (
    Tool(
        "ai_recall",
        "recall",
        "Search this project's memory. Use it before redoing work, when the user refers to something earlier, or when "
        "a convention is unknown. A memory id as the query gives that memory whole; ID+OFFSET goes on in a long one.",
        {
            "query": _text("Question, topic, or a memory id"),
            "limit": {"type": "integer", "default": 8, "description": "Maximum number of results (1 to 20)"},
            "include_suspended": _flag("Also threads suspended or archived by age; a near match wakes one", True),
            "archived": _flag("Also what was archived on purpose", False),
        },
        ("query",),
        reads=True,
        repeatable=True,
    ),
    Tool(
        "ai_focus",
        "focus",
        "Say what the work is about. Memories of the topic then come with every prompt, whatever it says, until "
        "ai_unfocus. Use it when a stretch of work on one subject begins.",
        {
            "topic": _text("A topic, words of a title, or a memory id"),
            "weight": _number("How much it counts", 0.8, 0, 1),
        },
        ("topic",),
        repeatable=True,
    ),
    Tool(
        "ai_unfocus",
        "unfocus",
        "Take a focus away, or all of them. Use it when the work turns to something else.",
        {"topic": _maybe_text("The topic; without it all")},
        repeatable=True,
    ),
    Tool(
        "ai_pin",
        "pin",
        "Keep something word for word; it never fades. Use it for decisions, facts and preferences that later sessions "
        "must know. Not for secrets, nor for what stands in the code.",
        {
            "content": _text("What to keep, as it should be read later"),
            "title": _maybe_text("A short title; made from the content if none is given"),
            "topics": _topics("Topics to find it by"),
            "weight_boost": _number("How far above normal", 0.3, 0, 0.5),
        },
        ("content",),
        {"content": "text", "weight_boost": "boost"},
    ),
    Tool(
        "ai_suggestions",
        "suggestions",
        "What could be merged, split or recalled, and how full memory is. Changes nothing. Use it now and then, or "
        "when what is put in front of you repeats itself.",
        {"context": _maybe_text("What you work on, for hints of what was never recalled")},
        output=_object(
            merge_candidates=_list(
                thread_a=_STRING, thread_b=_STRING, similarity=_FIGURE, reason=_STRING, command=_STRING
            ),
            split_candidates=_list(
                thread_id=_STRING, reason=_STRING, topics_to_split={"type": "array", "items": _STRING}, command=_STRING
            ),
            recall_hints=_list(topic=_STRING, last_mentioned=_STRING, thread_count=_FIGURE, command=_STRING),
            health=_object(active_threads=_FIGURE, context_pressure=_FIGURE, recommendation=_STRING),
        ),
        reads=True,
        repeatable=True,
        long=True,
    ),
    Tool(
        "ai_rate_context",
        "rate",
        "Say whether a memory that you were shown was of use. Bad ones come less often, good ones come back. Use it "
        "when one misled you or saved you work.",
        {
            "thread_id": _text("The memory's id, as it was shown"),
            "useful": {"type": "boolean", "description": "false for noise or what is outdated"},
            "reason": _maybe_text("Why, in a few words"),
        },
        ("thread_id", "useful"),
        {"useful": "verdict"},
    ),
    Tool(
        "ai_compact",
        "compact",
        "Merge threads that say the same, archive old ones, let the rest fade a little. Nothing is lost; one ai_undo "
        "takes all of it back. Use it when ai_suggestions reports pressure; look with dry_run first.",
        {
            "strategy": {
                "type": "string",
                "enum": ["gentle", "normal", "aggressive"],
                "default": "normal",
                "description": "How much: merges above 0.95, 0.85 or 0.75; keeps 50, 30 or 15 active",
            },
            "dry_run": _DRY_RUN,
        },
        output=_object(
            strategy=_STRING,
            dry_run={"type": "boolean"},
            actions=_list(
                action=_STRING,
                threads={"type": "array", "items": _STRING},
                thread=_STRING,
                similarity=_FIGURE,
                reason=_STRING,
            ),
            before=_TALLY,
            after=_TALLY,
            change={"type": ["string", "null"]},
            summary=_STRING,
        ),
        destroys=True,
        long=True,
    ),
    Tool(
        "ai_merge",
        "merge",
        "Make one memory of two that are about the same; both ids lead to it. Can be undone.",
        {"a": _text("Id of the one that stays"), "b": _text("Id of the one that becomes part of it")},
        ("a", "b"),
        destroys=True,
    ),
    Tool(
        "ai_split",
        "split",
        "Move a thread's messages on some topics to a thread of their own. Use it for a thread that drifted. Can be "
        "undone.",
        {
            "thread_id": _text("The thread's id"),
            "topics": _topics("Topics to move; without them the thread's own drift decides"),
            "dry_run": _DRY_RUN,
        },
        ("thread_id",),
        destroys=True,
    ),
    Tool(
        "ai_status",
        "status",
        "How much is remembered here, what is in focus, and whether anything is wrong.",
        {},
        output=_object(
            version=_STRING,
            project={"type": ["string", "null"]},
            memories={"type": "object"},
            focus=_list(topic=_STRING, weight=_FIGURE, set_at=_STRING),
            passages_without_vector=_FIGURE,
            set_aside_as_damaged=_FIGURE,
            settings_problems=_FIGURE,
        ),
        reads=True,
        repeatable=True,
    ),
    Tool(
        "ai_undo",
        "undo",
        "Take back the last change of memory, or a given one.",
        {"change": _maybe_text("The change's id; without it the last")},
        destroys=True,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
