"""One agent that we serve: a row of data `<host>.json` (its events, the names of its fields and tools, where its files
are, what its client writes into prompts), a subclass of `Agent` for what its client does differently, and one line in
`agents/__init__.py`. Here is what most clients have in common, and how JSON is read: a field that is not what it should
be counts as missing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from recollect.agents import Ability, Form, Hook, Level, Places, ServerPlace, Transcript, prompts
from recollect.agents.transcript import (
    Head,
    Line,
    Utterance,
    Voice,
    find_transcripts,
    moment,
    open_file,
)
from recollect.base.errors import BadInput, NoProject
from recollect.base.moment import Moment
from recollect.base.shipped import load_table
from recollect.base.text import storable
from recollect.model.session import (
    Event,
    EventName,
    Reply,
    SubagentReport,
    ToolAction,
    ToolCall,
    ToolUse,
)
from recollect.wire.pointer import checksum

# Longer output is written to a file by the first client, and the model gets a preview. It counts in UTF-16.
_MAX_CONTEXT_UNITS = 9_999
BY_HOST: dict[str, Agent] = {}

# How the fields of a row are read, where they are not plain.
_READERS: Mapping[str, Callable[[Any], object]] = {
    "abilities": lambda names: frozenset(map(Ability, names)),
    "levels": lambda names: tuple(map(Level, names)),
    "events": lambda rows: {event: EventName(name) for event, name in rows.items()},
    "injects": frozenset,
    "words": lambda rows: {EventName(name): tuple(fields) for name, fields in rows.items()},
    "deeds": lambda rows: {tool: ToolAction(name) for tool, name in rows.items()},
    "speaking": lambda texts: tuple(text.encode() for text in texts),
    "settings_form": Form,
    "forms": prompts.Forms.read,
}


class Agent:
    """The methods below the name of an ability are overridden only where an agent has it."""

    HOST: ClassVar[str]
    TITLE: ClassVar[str]
    PROGRAM: ClassVar[str] = ""  # its command, where that is not the host's name
    ABILITIES: ClassVar[frozenset[Ability]]
    LEVELS: ClassVar[tuple[Level, ...]] = (Level.USER, Level.PROJECT)  # whose settings it has
    FOLDER: ClassVar[str]  # where its files are, in the home folder and in a project
    FOLDER_VARIABLE: ClassVar[str] = (
        ""  # the environment variable that moves the one in the home folder
    )
    PROJECT_VARIABLE: ClassVar[str] = ""  # the environment variable that names the project's folder

    EVENTS: ClassVar[Mapping[str, EventName]] = {}
    ENDED = {EventName.TOOLS_RAN: False, EventName.TOOL_FAILED: True}  # whether the calls failed
    INJECTS: ClassVar[frozenset[str]] = (
        frozenset()
    )  # events at which added context reaches the model, and only that
    FORMS: ClassVar[prompts.Forms] = prompts.Forms()
    PROMPT_IDS: ClassVar[tuple[str, ...]] = (
        "prompt_id",
    )  # fields of an event; the first that is there counts
    WORDS: ClassVar[
        Mapping[EventName, tuple[str, ...]]
    ] = {}  # fields that hold what was said, where that is no prompt

    DEEDS: ClassVar[Mapping[str, ToolAction]]  # what each of its tools does
    SAYS: ClassVar[
        tuple[str, ...]
    ]  # fields of a call that say what was asked for, and those that name files
    FILES: ClassVar[tuple[str, ...]]
    REFUSED: ClassVar[
        tuple[str, ...]
    ] = ()  # how the result of a call begins that the person did not allow

    SESSIONS: ClassVar[tuple[str, ...]] = ()  # folders of its transcripts in its own, as patterns
    ENDINGS: ClassVar[tuple[str, ...]] = (".jsonl",)  # of its transcripts' names
    SPEAKING: ClassVar[
        tuple[bytes, ...]
    ] = ()  # a line of a transcript without any of these says nothing
    SETTINGS_FORM: ClassVar[Form] = Form.JSON
    SETTINGS_FILE: ClassVar[str] = "settings.json"
    OFF_SWITCH: ClassVar[str] = ""  # the key that switches off every hook of a settings file
    TIMEOUT_S: ClassVar[int] = 5  # ten times our own longest deadline, for a machine that is busy
    TIMEOUTS_S: ClassVar[Mapping[str, int]] = {}  # where it allows an event less
    DEADLINES_MS: ClassVar[
        Mapping[str, int]
    ] = {}  # where an event's name says nothing to the hook process

    def __init_subclass__(cls, host: str = "") -> None:
        """Fills in the row of a host."""
        if host:
            cls.HOST = host
            for name, value in load_table(
                "recollect.agents", f"{host.replace('-', '_')}.json"
            ).items():
                plain = tuple(value) if isinstance(value, list) else value
                setattr(cls, name.upper(), _READERS[name](value) if name in _READERS else plain)
            BY_HOST[host] = cls()

    # What it tells us

    def parse(self, event: str, body: bytes, *, at: Moment, environ: Mapping[str, str]) -> Event:
        try:
            payload = json.loads(body.decode("utf-8"))
            # Only an escape can bring what UTF-8 and SQLite cannot hold.
            payload = _storable(payload) if b"\\u" in body else payload
        except (ValueError, RecursionError):
            raise BadInput("The event is not JSON text.") from None
        if not isinstance(payload, dict):
            raise BadInput("The event is not a JSON object.")
        session_id = text(payload, "session_id")
        if not session_id:
            raise BadInput("The event names no session.")
        name = self.event_name(event, payload)
        prompt = text(payload, "prompt") if name is EventName.PROMPT else ""
        said = self.read_prompt(prompt)
        parsed = Event(
            name=name, host=self.HOST, session_id=session_id, at=at, cwd=text(payload, "cwd"),
            project_folder=environ.get(self.PROJECT_VARIABLE, ""),
            transcript=first(payload, "agent_transcript_path", "transcript_path"),
            prompt_id=first(payload, *self.PROMPT_IDS), prompt_mark=checksum(prompt),
            agent_id=text(payload, "agent_id"), agent_type=text(payload, "agent_type"),
            source=first(payload, "source", "reason" if name is EventName.SESSION_ENDED else "trigger"),
            text=said.words or first(payload, *self.WORDS.get(name, ())), plan=said.plan,
            machine_made=name is EventName.PROMPT and said.is_machine_made, tools=tuple(self.tools(name, payload)),
        )  # fmt: skip
        return self.refine(parsed, event, payload)

    def event_name(self, event: str, payload: Line) -> EventName:
        return self.EVENTS.get(event, EventName.OTHER)

    def read_prompt(self, prompt: str) -> prompts.Prompt:
        return prompts.read(prompt, self.FORMS)

    def refine(self, parsed: Event, event: str, payload: Line) -> Event:
        """Adds what only this client says, or says in its own way. `event`: its own name of it."""
        return parsed

    def tools(self, name: EventName, payload: Line) -> Iterator[ToolCall]:
        if name is EventName.TOOL_CALLED:
            yield self.tool(payload)

    def tool(self, call: Line, *, output: str = "", failed: bool | None = None) -> ToolCall:
        id, name = text(call, "tool_use_id"), text(call, "tool_name")
        return ToolCall(
            id=id, name=name, input=inner(call, "tool_input"), output=output, failed=failed
        )

    # What we answer

    def render(self, event: str, reply: Reply) -> bytes:
        specific, notice = (
            self.redirect(event, reply),
            storable(reply.notice) if self.shows_notice(event) else "",
        )
        if event in self.INJECTS and reply.context:
            specific["additionalContext"] = self.limit(storable(reply.context))
        if specific:
            specific = {"hookEventName": event, **specific}
        return encode({"systemMessage": notice, "hookSpecificOutput": specific})

    def shows_notice(self, event: str) -> bool:
        return event in self.INJECTS or self.EVENTS.get(event) is EventName.TURN_ENDED

    def redirect(self, event: str, reply: Reply) -> dict[str, object]:
        """What makes a tool read another file than the one it was asked to."""
        return {}

    def limit(self, context: str) -> str:
        return context.encode("utf-16-le")[: 2 * _MAX_CONTEXT_UNITS].decode("utf-16-le", "ignore")

    # Its tools

    def describe_call(self, call: ToolCall) -> ToolUse:
        """What a call does, in neutral words."""
        files = tuple(found for key in self.FILES if (found := text(call.input, key)))
        return ToolUse(
            self.DEEDS.get(call.name, ToolAction.OTHER),
            call.name,
            first(call.input, *self.SAYS),
            files,
        )

    def is_refused(self, output: str) -> bool:
        """Whether a result says that the person did not allow the call."""
        return output.startswith(self.REFUSED)

    def subagent_report(self, text: str) -> SubagentReport | None:
        """What a message that no person wrote says about a subagent; None where it is about none."""
        return None

    def origin(self, event: Event) -> Path | None:
        """The transcript that a starting session goes on from; None where it is unclear which one that is."""
        return None

    # Where its files are

    def folder(self, places: Places) -> Path:
        """Where it keeps what is its own: there once it was used."""
        named = places.environ.get(self.FOLDER_VARIABLE, "") if self.FOLDER_VARIABLE else ""
        return Path(os.path.abspath(named)) if named else places.user_home / self.FOLDER

    def folder_of(self, level: Level, places: Places) -> Path:
        """The same for a level. NoProject where it needs a project and there is none."""
        return self.folder(places) if level is Level.USER else project_of(places) / self.FOLDER

    def unapproved(self, level: Level, places: Places) -> str:
        """What a person has still to allow before it calls us, in one sentence."""
        return ""

    # READS

    def answer_folders(self, places: Places) -> tuple[Path, ...]:
        """Folders of ours among its own for the answers to virtual reads; none where it reads files anywhere."""
        return ()

    # TRANSCRIPTS

    def utterances(self, line: Line) -> Iterator[Utterance]:
        raise NotImplementedError

    def may_speak(self, line: bytes) -> bool:
        """A quick look at a raw line: False only where `utterances` would surely find nothing in it."""
        return any(kind in line for kind in self.SPEAKING)

    def line_fields(self, line: Line) -> dict[str, Any]:
        """What a line says about its utterances besides their words: fields of Utterance."""
        return {"id": text(line, "id")}

    def utterance(
        self, line: Line, voice: Voice, said: str = "", call: ToolCall | None = None
    ) -> Utterance:
        at = moment(text(line, "timestamp"))
        return Utterance(
            voice=voice, text=storable(said), call=call, at=at, **self.line_fields(line)
        )

    def prompt_utterances(self, line: Line, written: str) -> Iterator[Utterance]:
        for voice, words in self.read_prompt(written).voices():
            yield self.utterance(line, voice, words)

    def call_utterance(self, line: Line, block: Line, id: str, given: str) -> Utterance:
        """`id`, `given`: the fields of the block that hold the call's id and its input."""
        call = ToolCall(id=text(block, id), name=text(block, "name"), input=inner(block, given))
        return self.utterance(line, Voice.TOOL_CALL, call=call)

    def result_utterance(
        self, line: Line, id: str, output: str, failed: bool | None, *, refused: bool = False
    ) -> Utterance:
        call = ToolCall(id=id, name="", input={}, output=output, failed=failed, refused=refused)
        return self.utterance(line, Voice.TOOL_RESULT, output, call)

    # PAST

    def transcripts(self, places: Places, within: Path | None = None) -> Iterator[Transcript]:
        """Every transcript it has left, or all below a folder, or one file. In no order; none where there is none."""
        for place in (
            [within]
            if within
            else chain.from_iterable(map(self.folder(places).glob, self.SESSIONS))
        ):
            for found in find_transcripts(place, self.session_head, self.ENDINGS, self.open):
                yield found._replace(host=self.HOST)

    def open(self, path: Path) -> BinaryIO:
        """A transcript as lines of JSON, whatever its form."""
        return open_file(path)

    def session_head(self, line: Line) -> Head:
        """What one of the first lines says about the session."""
        raise NotImplementedError

    # HOOKS

    def settings_path(self, level: Level, places: Places) -> Path:
        """NoProject where the level needs a project and there is none."""
        return self.folder_of(level, places) / self.SETTINGS_FILE

    def hooks(self, places: Places) -> tuple[Hook, ...]:
        """What this installation of the agent can report to us."""
        return tuple(
            Hook(
                event,
                self.TIMEOUTS_S.get(event, self.TIMEOUT_S),
                deadline_ms=self.DEADLINES_MS.get(event, 0),
            )
            for event in self.EVENTS
        )

    def hook_json(self, command: str, hook: Hook) -> Mapping[str, object]:
        """One hook as its settings spell it."""
        spinner = {"statusMessage": hook.spinner} if hook.spinner else {}
        return {"type": "command", "command": command, "timeout": hook.timeout_s, **spinner}

    # PLUGIN, SERVER, TEACHING. NoProject as above.

    def plugin(self, level: Level, places: Places, home: Path) -> tuple[Path, str]:
        """A file of ours that it loads, and its text. `home`: ours."""
        raise NotImplementedError

    def server_place(self, level: Level, places: Places) -> ServerPlace:
        raise NotImplementedError

    def server_json(self, command: str) -> Mapping[str, object]:
        """A server as its settings spell it, its tools at hand from the first turn on."""
        return {"command": command, "args": []}

    # What a person has to know about its skills, told once when they are added.
    SKILLS_NOTE: ClassVar[str] = ""

    def skills(self, level: Level, places: Places, program: str) -> Mapping[Path, str]:
        """Files that teach it to use its memory when asked to, and their texts; none where there can be none.
        `program`: what runs `recollect`, whatever the PATH of the agent is."""
        raise NotImplementedError


def project_of(places: Places) -> Path:
    if places.project is None:
        raise NoProject(
            "There is no project here.", hint="Go into a project's folder, or leave out --project."
        )
    return places.project


def _storable(value: object) -> object:
    match value:
        case str():
            return storable(value)
        case dict():
            return {storable(key): _storable(one) for key, one in value.items()}
        case list():
            return [_storable(one) for one in value]
        case _:
            return value


def text(payload: Line, key: str) -> str:
    value = payload.get(key)
    return value if isinstance(value, str) else ""


def first(payload: Line, *keys: str) -> str:
    return next((found for key in keys if (found := text(payload, key))), "")


def inner(payload: Line, key: str) -> Line:
    value = payload.get(key)
    return value if isinstance(value, dict) else {}


def encode(answer: Line) -> bytes:
    """What the hook prints: the fields that say something, or nothing at all."""
    said = {key: one for key, one in answer.items() if one}
    return json.dumps(said, ensure_ascii=False).encode("utf-8", "replace") if said else b""


def joined_text(content: object) -> str:
    """The text itself, or the texts in a list of blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(found for block in blocks(content) if (found := text(block, "text")))


def blocks(content: object) -> list[Mapping[str, object]]:
    return (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )


def as_text(value: object) -> str:
    """A text as it is, anything else as JSON; empty for nothing."""
    return (
        value
        if isinstance(value, str)
        else ""
        if value is None
        else json.dumps(value, ensure_ascii=False)
    )
