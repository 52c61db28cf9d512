"""EVENTS: the operation behind each event, and the deadline of the whole hook. Events not listed here are ignored."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple, cast

from recollect.model.session import EventName
from recollect.ops.hook_reply import HookReply, HookRequest


class Row(NamedTuple):
    operation: str
    """`module:function`, loaded when first needed: a first prompt does not wait for what other events need."""
    deadline_ms: int  # of the whole hook; the hook process keeps it by itself (wire)

    def load(self) -> Callable[[HookRequest], HookReply]:
        module, name = self.operation.split(":")
        return cast(Callable[[HookRequest], HookReply], getattr(import_module(f"recollect.ops.{module}"), name))


EVENTS: dict[EventName, Row] = {
    EventName.SESSION_STARTED: Row("session_start:start_session", 500),
    EventName.PROMPT: Row("prompt_recall:answer_prompt", 300),
    EventName.TOOL_CALLED: Row("tool_use:answer_call", 300),
    EventName.SUBAGENT_STARTED: Row("prompt_recall:brief_subagent", 300),
    EventName.TOOLS_RAN: Row("hook_reply:receive_event", 150),
    EventName.TOOL_FAILED: Row("hook_reply:receive_event", 150),
    EventName.TURN_ENDED: Row("hook_reply:receive_event", 150),
    EventName.SUBAGENT_ENDED: Row("hook_reply:receive_event", 150),
    EventName.COMPACTING: Row("hook_reply:receive_event", 150),
    EventName.PERMISSION_DENIED: Row("hook_reply:receive_event", 150),
    EventName.SESSION_ENDED: Row("hook_reply:end_session", 1_000),
}
