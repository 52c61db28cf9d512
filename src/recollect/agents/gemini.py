"""All that is known of Gemini CLI: its events and their shapes, what it does with an answer, its settings, its
transcripts. Learnt from the client itself, 0.61.0.

What a hook adds it puts between `<hook_context>` tags, its angle brackets escaped, into the person's own message: so
prompts come back with it, and it is taken out again here. Before a tool runs nothing can be said, only the tool's input
changed; and that it compresses its history is announced at every turn, whether or not it does, so it is not asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from recollect.agents import Ability, Form, Hook, Level, Places, ServerPlace, prompts
from recollect.agents.payload import first, inner, moment, object_of, text
from recollect.agents.transcript import Utterance, Voice
from recollect.base.errors import BadInput, NoProject
from recollect.base.moment import Moment
from recollect.base.text import storable
from recollect.model.act import Deed, Doing
from recollect.model.outcome import Report
from recollect.model.session import Event, EventName, Reply, ToolCall
from recollect.wire.pointer import checksum

HOST = "gemini"
TITLE = "Gemini CLI"
PROGRAM = "gemini"
ABILITIES = frozenset({
    Ability.HOOKS, Ability.START, Ability.PROMPT, Ability.READS, Ability.END, Ability.NOTICES, Ability.OUTCOMES,
    Ability.TRANSCRIPTS, Ability.SERVER,
})  # fmt: skip
LEVELS = (Level.USER, Level.PROJECT)
SETTINGS_FORM = Form.COMMENTED
OFF_SWITCH = ""

_EVENTS = {
    "SessionStart": EventName.SESSION_STARTED,
    "BeforeAgent": EventName.PROMPT,
    "BeforeTool": EventName.TOOL_CALLED,
    "AfterTool": EventName.TOOLS_RAN,
    "AfterAgent": EventName.TURN_ENDED,
    "SessionEnd": EventName.SESSION_ENDED,
}
_INJECTS = frozenset({"SessionStart", "BeforeAgent"})
_READER = "read_file"
_VIRTUAL = ".ai/recall/"
_RUNNER = "run_shell_command"
_TIMEOUT_S = 5
_MS = 1_000
# As the hook process gives them to the same events of others.
_DEADLINES_MS = {"BeforeAgent": 300, "BeforeTool": 300}
_MAX_CHARS = 10_000
_FOLDER, _OURS = ".gemini", "recollect"
_ADDED = re.compile(r"\s*<hook_context>(.*?)</hook_context>\s*", re.DOTALL)
_FORMS = prompts.Forms(
    machine=(
        "<session_context>", "This is the Gemini CLI. We are setting up the context for our chat.",
        "System: Please continue.", "Here is the user's editor context",
    ),
    # The files that a person named with `@`.
    placeholders=re.compile(r"--- Content from referenced files ---.*?(?:--- End of content ---|\Z)", re.DOTALL),
)  # fmt: skip


# What it tells us


def parse(event: str, body: bytes, *, at: Moment, environ: Mapping[str, str]) -> Event:
    payload = object_of(body)
    session_id = text(payload, "session_id")
    if not session_id:
        raise BadInput("The event names no session.")
    name = _EVENTS.get(event, EventName.OTHER)
    if name is EventName.TOOL_CALLED and not _may_be_virtual(payload):
        name = EventName.OTHER  # nothing can be said there
    if name is EventName.TOOLS_RAN and inner(payload, "tool_response").get("error"):
        name = EventName.TOOL_FAILED
    prompt = text(payload, "prompt") if name is EventName.PROMPT else ""
    said = _said(prompt)
    return Event(
        name=name,
        host=HOST,
        session_id=session_id,
        at=at,
        cwd=text(payload, "cwd"),
        transcript=text(payload, "transcript_path"),
        prompt_id=text(payload, "prompt_id"),
        prompt_mark=checksum(prompt),
        source=first(payload, "source", "reason" if name is EventName.SESSION_ENDED else "trigger"),
        text=said.words or _words(name, payload),
        plan=said.plan,
        machine_made=name is EventName.PROMPT and said.is_machine_made,
        tools=_tools(name, payload),
        reads_below=_reads_below(Path(text(payload, "transcript_path"))),
    )


def _may_be_virtual(payload: Mapping[str, object]) -> bool:
    return text(payload, "tool_name") == _READER and _VIRTUAL in text(inner(payload, "tool_input"), "file_path")


def _words(name: EventName, payload: Mapping[str, object]) -> str:
    match name:
        case EventName.TURN_ENDED:
            return text(payload, "prompt_response")
        case EventName.TOOL_FAILED:
            error = inner(payload, "tool_response").get("error")
            return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
        case _:
            return ""


def _said(prompt: str) -> prompts.Prompt:
    return prompts.read(_without_added(prompt), _FORMS)


def _without_added(text: str) -> str:
    """Without what hooks put there. What a person wrote cannot be told from it if he writes the same tags."""
    return _ADDED.sub("", text)


def _tools(name: EventName, payload: Mapping[str, object]) -> tuple[ToolCall, ...]:
    if name not in (EventName.TOOL_CALLED, EventName.TOOLS_RAN, EventName.TOOL_FAILED):
        return ()
    response = inner(payload, "tool_response").get("llmContent")
    output = response if isinstance(response, str) else "" if response is None else json.dumps(response)
    failed = None if name is EventName.TOOL_CALLED else name is EventName.TOOL_FAILED
    given = inner(payload, "tool_input")
    return (
        ToolCall(id="", name=text(payload, "tool_name"), input=given, output=_without_added(output), failed=failed),
    )


# What we answer


def render(event: str, reply: Reply) -> bytes:
    answer: dict[str, object] = {}
    if event in _INJECTS and reply.notice:
        answer["systemMessage"] = storable(reply.notice)
    if event in _INJECTS and reply.context:
        said = storable(reply.context)[:_MAX_CHARS]
        answer["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": said}
    if event == "BeforeTool" and reply.read_instead:
        # Merged into the input that was given.
        answer["hookSpecificOutput"] = {"hookEventName": event, "tool_input": {"file_path": reply.read_instead}}
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") if answer else b""


def _reads_below(transcript: Path) -> str:
    """It reads within its project and its own temporary folder of that project, beside whose chats an answer stands."""
    chats, own = transcript.parent, transcript.parent.parent
    is_own = chats.name == "chats" and own.parent.name == "tmp" and own.parent.parent.name == _FOLDER
    return str(own / _OURS / "recalls") if is_own else ""


def answers(places: Places) -> tuple[Path, ...]:
    return tuple(folder(places).glob(f"tmp/*/{_OURS}"))


# Its transcripts

# What a command printed stands in a frame; how it ended is said only where it ended badly.
_FRAME = re.compile(r"^<untrusted_context>\n(?:Output: )?|\n(?:Process Group PGID: \d+\n)?</untrusted_context>\s*$")
_ENDED = re.compile(r"^Exit Code: -?[1-9]", re.MULTILINE)
_SPEAKING = (b'"type":"user"', b'"type":"gemini"')


def may_speak(line: bytes) -> bool:
    # A line that sets fields anew holds messages that were there before.
    return not line.startswith(b'{"$set"') and any(kind in line for kind in _SPEAKING)


def utterances(line: Mapping[str, object]) -> Iterator[Utterance]:
    match line.get("type"):
        case "user":
            yield from _by_user(line)
        case "gemini" if line.get("toolCalls"):  # the same message again, now that it has calls
            calls = line["toolCalls"]
            for call in calls if isinstance(calls, list) else ():
                if isinstance(call, dict):
                    asked = ToolCall(id=text(call, "id"), name=text(call, "name"), input=inner(call, "args"))
                    yield _utterance(line, Voice.TOOL_CALL, call=asked)
        case "gemini":
            said = _text_of(line.get("content"))
            if said:
                yield _utterance(line, Voice.REPLY, said)
        case _:
            pass


def _by_user(line: Mapping[str, object]) -> Iterator[Utterance]:
    """Results of tools stand in the user's role, too."""
    content = line.get("content")
    for part in content if isinstance(content, list) else [{"text": content}]:
        if not isinstance(part, dict):
            continue
        answered = inner(part, "functionResponse")
        if answered:
            yield _result(line, answered)
            continue
        written = text(part, "text")
        for added in _ADDED.findall(written):
            yield _utterance(line, Voice.INJECTION, _unescaped(added))
        for voice, words in _said(written).voices():
            yield _utterance(line, voice, words)


def _result(line: Mapping[str, object], answered: Mapping[str, object]) -> Utterance:
    response = inner(answered, "response")
    output = _without_added(first(response, "error", "output")) or (json.dumps(response) if response else "")
    ended = _ENDED.search(output)
    failed = "error" in response or (ended is not None and text(answered, "name") == _RUNNER)
    output = _FRAME.sub("", output)
    call = ToolCall(id=text(answered, "id"), name="", input={}, output=output, failed=failed)
    return _utterance(line, Voice.TOOL_RESULT, output, call)


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = [text(part, "text") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return "\n".join(part for part in parts if part)


def _unescaped(added: str) -> str:
    return added.replace("&lt;", "<").replace("&gt;", ">")


def _utterance(line: Mapping[str, object], voice: Voice, said: str = "", call: ToolCall | None = None) -> Utterance:
    return Utterance(
        voice=voice, text=storable(said), id=text(line, "id"), call=call, at=moment(text(line, "timestamp"))
    )


def origin(event: Event) -> Path | None:
    return None


# Its tools

_DEEDS = {
    _RUNNER: Deed.RUN, "replace": Deed.EDIT, "write_file": Deed.EDIT, _READER: Deed.READ,
    "read_many_files": Deed.READ, "list_directory": Deed.SEARCH, "glob": Deed.SEARCH, "grep_search": Deed.SEARCH,
    "search_file_content": Deed.SEARCH, "web_fetch": Deed.FETCH, "google_web_search": Deed.FETCH,
    "invoke_agent": Deed.DELEGATE,
}  # fmt: skip
_SAYS = ("command", "pattern", "query", "prompt", "description")
_NAMES_FILES = ("file_path", "path", "dir_path", "absolute_path")
_REFUSED = ("[Operation Cancelled]", "Tool execution denied by policy")


def doing(call: ToolCall) -> Doing:
    files = tuple(found for key in _NAMES_FILES if (found := text(call.input, key)))
    return Doing(_DEEDS.get(call.name, Deed.OTHER), call.name, first(call.input, *_SAYS), files)


def is_refused(output: str) -> bool:
    return output.startswith(_REFUSED)


def reported(text: str) -> Report | None:
    return None


# Its settings


def folder(places: Places) -> Path:
    return places.user_home / _FOLDER


def settings_path(level: Level, places: Places) -> Path:
    if level is Level.USER:
        return folder(places) / "settings.json"
    if places.project is None:
        raise NoProject("There is no project here.", hint="Go into a project's folder, or leave --user.")
    return places.project / _FOLDER / "settings.json"


def hooks(places: Places) -> tuple[Hook, ...]:
    return tuple(Hook(event, _TIMEOUT_S, deadline_ms=_DEADLINES_MS.get(event, 0)) for event in _EVENTS)


def hook_json(command: str, hook: Hook) -> Mapping[str, object]:
    return {"type": "command", "name": "recollect", "command": command, "timeout": hook.timeout_s * _MS}


def server_place(level: Level, places: Places) -> ServerPlace:
    return ServerPlace(settings_path(level, places), ("mcpServers",), SETTINGS_FORM)


def server_json(command: str) -> Mapping[str, object]:
    return {"command": command, "args": []}


def unapproved(level: Level, places: Places) -> str:
    return ""
