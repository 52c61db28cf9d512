"""Copilot CLI, 1.0.64: the sessions that it left, which can be imported. It does not call us yet.

A session is a file of events, one per line. What a person typed is its own field; what the client added to it is not
read.
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.agents.base_agent import Agent, Line, blocks
from recollect.agents.payload import first, inner, text
from recollect.agents.transcript import Utterance, Voice
from recollect.agents.transcript_finder import Head


class Copilot(Agent, host="copilot"):
    def utterances(self, line: Line) -> Iterator[Utterance]:
        data = inner(line, "data")
        match line.get("type"):
            case "user.message":
                yield from self.prompt_utterances(line, text(data, "content"))
            case "assistant.message":
                if said := text(data, "content"):
                    yield self.utterance(line, Voice.REPLY, said)
                for asked in blocks(data.get("toolRequests")):
                    yield self.call_utterance(
                        line, text(asked, "toolCallId"), text(asked, "name"), inner(asked, "arguments")
                    )
            case "tool.execution_complete":
                output = text(inner(data, "result"), "content") or first(inner(data, "error"), "message", "code")
                yield self.result_utterance(line, text(data, "toolCallId"), output, data.get("success") is False)
            case _:
                pass

    def session_head(self, line: Line) -> Head:
        data = inner(line, "data") if line.get("type") == "session.start" else {}
        return Head(text(inner(data, "context"), "cwd"), text(data, "sessionId"), text(line, "timestamp"))
