"""Copilot CLI, 1.0.64: the sessions that it left, which can be imported. It does not call us yet.

A session is a file of events, one per line. What a person typed is its own field; what the client added to it is not
read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from recollect.agents import Ability, Places, Transcript, past_transcripts
from recollect.agents.base_agent import Agent, Line, blocks
from recollect.agents.payload import first, inner, text
from recollect.agents.transcript import Utterance, Voice
from recollect.model.act import Deed

_SPEAKING = (b'"user.message"', b'"assistant.message"', b'"tool.execution_complete"')


class Copilot(Agent):
    HOST = "copilot"
    TITLE = "Copilot CLI"
    ABILITIES = frozenset({Ability.TRANSCRIPTS, Ability.PAST})
    FOLDER = ".copilot"
    DEEDS = {
        "bash": Deed.RUN, "str_replace_editor": Deed.EDIT, "edit": Deed.EDIT, "create": Deed.EDIT, "view": Deed.READ,
        "grep": Deed.SEARCH, "glob": Deed.SEARCH, "web_fetch": Deed.FETCH, "task": Deed.DELEGATE,
    }  # fmt: skip
    SAYS = ("command", "pattern", "query", "url", "prompt", "description")
    FILES = ("path", "file_path")

    def may_speak(self, line: bytes) -> bool:
        return any(kind in line for kind in _SPEAKING)

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

    def transcripts(self, places: Places, within: Path | None = None) -> Iterator[Transcript]:
        return past_transcripts.find(within or self.folder(places) / "session-state", _head)


def _head(line: Line) -> past_transcripts.Head:
    data = inner(line, "data") if line.get("type") == "session.start" else {}
    return past_transcripts.Head(text(inner(data, "context"), "cwd"), text(data, "sessionId"), text(line, "timestamp"))


AGENT = Copilot()
