"""One agent that we serve, as a row: its events, the names of its fields, its tools, where its files stand.

A new agent is a subclass of `Agent` that fills in the row and overrides what its client does differently, and one line
in `agents/__init__.py`. Here stands what most clients have in common: events as JSON with the same field names, hooks
as entries of a settings file, a reply with `additionalContext`. Reads no state of ours and decides nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from recollect.agents import prompts
from recollect.agents.payload import first, inner, moment, parse_object, text
from recollect.agents.shapes import (
    Ability,
    Addon,
    Form,
    Hook,
    Level,
    OwnMemory,
    Places,
    Plugin,
    RuleCopy,
    ServerPlace,
    Skill,
    Transcript,
)
from recollect.agents.transcript import Utterance, Voice
from recollect.base.errors import BadInput, NoProject
from recollect.base.moment import Moment
from recollect.base.text import storable
from recollect.model.act import Deed, Doing
from recollect.model.session import Event, EventName, Reply, SubagentReport, ToolCall
from recollect.wire.pointer import checksum

_MAX_CONTEXT_CHARS = 10_000


class Agent:
    """What stands below the name of an ability is overridden only where an agent has it."""

    HOST: ClassVar[str]
    TITLE: ClassVar[str]
    PROGRAM: ClassVar[str]  # what it is called on the command line
    ABILITIES: ClassVar[frozenset[Ability]]
    LEVELS: ClassVar[tuple[Level, ...]] = (Level.USER, Level.PROJECT)  # whose settings it has
    FOLDER: ClassVar[str]  # where its files stand, in the home folder and in a project
    FOLDER_VARIABLE: ClassVar[str] = ""  # the environment variable that moves the one in the home folder

    PROJECT_VARIABLE: ClassVar[str] = ""  # the environment variable that names the project's folder

    EVENTS: ClassVar[Mapping[str, EventName]]
    INJECTS: ClassVar[frozenset[str]]  # events at which added context reaches the model and does nothing else
    FORMS: ClassVar[prompts.Forms] = prompts.Forms()
    PROMPT_IDS: ClassVar[tuple[str, ...]] = ("prompt_id",)  # fields of an event, the first that is there counts
    WORDS: ClassVar[Mapping[EventName, tuple[str, ...]]] = {}  # fields that hold what was said, where that is no prompt

    DEEDS: ClassVar[Mapping[str, Deed]]  # what each of its tools does
    SAYS: ClassVar[tuple[str, ...]]  # fields of a call that say what was asked for, and those that name files
    FILES: ClassVar[tuple[str, ...]]
    REFUSED: ClassVar[tuple[str, ...]] = ()  # how the result of a call begins that the person did not allow

    # What it tells us

    def parse(self, event: str, body: bytes, *, at: Moment, environ: Mapping[str, str]) -> Event:
        payload = parse_object(body)
        session_id = text(payload, "session_id")
        if not session_id:
            raise BadInput("The event names no session.")
        name = self.event_name(event, payload)
        prompt = text(payload, "prompt") if name is EventName.PROMPT else ""
        said = self.read_prompt(prompt)
        return Event(
            name=name,
            host=self.HOST,
            session_id=session_id,
            at=self.happened_at(payload, at),
            cwd=text(payload, "cwd"),
            project_folder=environ.get(self.PROJECT_VARIABLE, ""),
            transcript=first(payload, "agent_transcript_path", "transcript_path"),
            prompt_id=first(payload, *self.PROMPT_IDS),
            prompt_mark=checksum(prompt),
            agent_id=text(payload, "agent_id"),
            agent_type=text(payload, "agent_type"),
            source=self.source(event, name, payload),
            text=said.words or self.words(name, payload),
            plan=said.plan,
            machine_made=name is EventName.PROMPT and (said.is_machine_made or self.is_machine_made(payload)),
            tools=tuple(self.tools(name, payload)),
            silent_s=self.silent_s(payload),
            reads_below=self.reads_below(payload),
        )

    def event_name(self, event: str, payload: Mapping[str, object]) -> EventName:
        return self.EVENTS.get(event, EventName.OTHER)

    def read_prompt(self, prompt: str) -> prompts.Prompt:
        return prompts.read(prompt, self.FORMS)

    def happened_at(self, payload: Mapping[str, object], heard: Moment) -> Moment:
        return heard

    def source(self, event: str, name: EventName, payload: Mapping[str, object]) -> str:
        return first(payload, "source", "reason" if name is EventName.SESSION_ENDED else "trigger")

    def words(self, name: EventName, payload: Mapping[str, object]) -> str:
        return first(payload, *self.WORDS.get(name, ()))

    def is_machine_made(self, payload: Mapping[str, object]) -> bool:
        """Whether the event itself says that no person wrote the prompt."""
        return False

    def tools(self, name: EventName, payload: Mapping[str, object]) -> Iterator[ToolCall]:
        if name is EventName.TOOL_CALLED:
            yield self.tool(payload)

    def tool(self, call: Mapping[str, object], *, output: str = "", failed: bool | None = None) -> ToolCall:
        return ToolCall(
            id=text(call, "tool_use_id"), name=text(call, "tool_name"), input=inner(call, "tool_input"),
            output=output, failed=failed,
        )  # fmt: skip

    def silent_s(self, payload: Mapping[str, object]) -> float | None:
        """How long ago it was last answered, where it says so."""
        return None

    def reads_below(self, payload: Mapping[str, object]) -> str:
        """The folder in which an answer to a virtual read must stand; empty where it may stand anywhere."""
        return ""

    # What we answer

    def render(self, event: str, reply: Reply) -> bytes:
        answer: dict[str, object] = {}
        specific = self.redirect(event, reply)
        if event in self.INJECTS:
            if reply.notice:
                answer["systemMessage"] = storable(reply.notice)
            if reply.context:
                specific["additionalContext"] = self.limit(storable(reply.context))
        if specific:
            answer["hookSpecificOutput"] = {"hookEventName": event, **specific}
        return encode(answer)

    def redirect(self, event: str, reply: Reply) -> dict[str, object]:
        """What makes a tool read another file than the one it was asked to."""
        return {}

    def limit(self, context: str) -> str:
        return context[:_MAX_CONTEXT_CHARS]

    # Its tools

    def doing(self, call: ToolCall) -> Doing:
        """What a call does, in neutral words."""
        files = tuple(found for key in self.FILES if (found := text(call.input, key)))
        return Doing(self.DEEDS.get(call.name, Deed.OTHER), call.name, first(call.input, *self.SAYS), files)

    def is_refused(self, output: str) -> bool:
        """Whether a result says that the person did not allow the call."""
        return bool(self.REFUSED) and output.startswith(self.REFUSED)

    def subagent_report(self, text: str) -> SubagentReport | None:
        """What a message that no person wrote tells of a subagent; None where it tells of none."""
        return None

    def origin(self, event: Event) -> Path | None:
        """The transcript that a starting session goes on from; None where it cannot be told which one that is."""
        return None

    # Where its files stand

    def folder(self, places: Places) -> Path:
        """Where it keeps what is its own: there once it was used."""
        named = places.environ.get(self.FOLDER_VARIABLE, "") if self.FOLDER_VARIABLE else ""
        return Path(os.path.abspath(named)) if named else places.user_home / self.FOLDER

    def folder_of(self, level: Level, places: Places) -> Path:
        """The same for a level. NoProject where it needs a project and there is none."""
        return self.folder(places) if level is Level.USER else project_of(places) / self.FOLDER

    def unapproved(self, level: Level, places: Places) -> str:
        """What a person has still to allow before it calls us, in one sentence; empty where nothing is to be."""
        return ""

    # READS

    def answer_folders(self, places: Places) -> tuple[Path, ...]:
        """Folders of ours among its own, in which such answers stand; none where it reads them anywhere."""
        return ()

    # TRANSCRIPTS

    def utterances(self, line: Mapping[str, object]) -> Iterator[Utterance]:
        raise NotImplementedError

    def may_speak(self, line: bytes) -> bool:
        """By a look at a raw line: False only where `utterances` would surely find nothing in it."""
        return True

    def utterance(
        self, line: Mapping[str, object], voice: Voice, said: str = "", call: ToolCall | None = None
    ) -> Utterance:
        at = moment(text(line, "timestamp"))
        return Utterance(voice=voice, text=storable(said), id=text(line, "id"), call=call, at=at)

    def prompt_utterances(self, line: Mapping[str, object], written: str) -> Iterator[Utterance]:
        for voice, words in self.read_prompt(written).voices():
            yield self.utterance(line, voice, words)

    # PAST

    def transcripts(self, places: Places, within: Path | None = None) -> Iterator[Transcript]:
        """Every transcript it has left, or all below a folder, or one file. In no order; none where there is none."""
        raise NotImplementedError

    # HOOKS

    SETTINGS_FORM: ClassVar[Form] = Form.JSON
    SETTINGS_FILE: ClassVar[str] = "settings.json"
    OFF_SWITCH: ClassVar[str] = ""  # the key that switches off every hook of a settings file; empty where it has none
    TIMEOUT_S: ClassVar[int] = 5  # ten times our own longest deadline, for a machine that is busy

    def settings_path(self, level: Level, places: Places) -> Path:
        """NoProject where the level needs a project and there is none."""
        return self.folder_of(level, places) / self.SETTINGS_FILE

    def hooks(self, places: Places) -> tuple[Hook, ...]:
        """What this installation of the agent can report to us."""
        return tuple(Hook(event, self.TIMEOUT_S) for event in self.EVENTS)

    def hook_json(self, command: str, hook: Hook) -> Mapping[str, object]:
        """One hook as its settings spell it."""
        spinner = {"statusMessage": hook.spinner} if hook.spinner else {}
        return {"type": "command", "command": command, "timeout": hook.timeout_s, **spinner}

    # PLUGIN

    def plugin(self, level: Level, places: Places, home: Path) -> Plugin:
        """`home`: ours. NoProject as above."""
        raise NotImplementedError

    def addon(self, places: Places) -> Addon | None:
        """Our plugin in its own list of plugins, where it is installed and switched on here."""
        return None

    # SERVER

    def server_place(self, level: Level, places: Places) -> ServerPlace:
        """NoProject as above."""
        raise NotImplementedError

    def server_json(self, command: str) -> Mapping[str, object]:
        """A server as its settings spell it, its tools at hand from the first turn on."""
        return {"command": command, "args": []}

    # TEACHING

    def skill(self, level: Level, places: Places) -> tuple[Path, str] | None:
        """A file that teaches it to use its memory when asked to, and its text; None where none can be."""
        raise NotImplementedError

    # OWN_MEMORY

    def own_memory(self, places: Places) -> OwnMemory:
        """NoProject where there is none."""
        raise NotImplementedError

    def rule_files(self, places: Places) -> tuple[Path, ...]:
        """Where people write rules for it, whether or not they are there."""
        raise NotImplementedError

    def rule_file_name(self, copy: RuleCopy) -> str:
        raise NotImplementedError

    def is_rule_file_name(self, name: str) -> bool:
        raise NotImplementedError

    def rule_file_text(self, copy: RuleCopy) -> str:
        raise NotImplementedError

    def rule_index_line(self, copy: RuleCopy) -> str:
        raise NotImplementedError

    def index_room(self, own: str) -> tuple[int, int]:
        """How many lines and bytes of ours the agent still reads beside what others wrote into its index."""
        raise NotImplementedError

    # SKILLS

    SKILL_FILE: ClassVar[str] = "SKILL.md"

    def skills_folder(self, places: Places) -> Path:
        """NoProject where there is none."""
        raise NotImplementedError

    def skill_text(self, skill: Skill) -> str:
        raise NotImplementedError


def project_of(places: Places) -> Path:
    if places.project is None:
        raise NoProject("There is no project here.", hint="Go into a project's folder, or leave out --project.")
    return places.project


def encode(answer: Mapping[str, object]) -> bytes:
    """What the hook prints; nothing where there is nothing to say."""
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") if answer else b""


def joined_text(content: object) -> str:
    """Of a text, or of a list of blocks that hold some."""
    if isinstance(content, str):
        return content
    return "\n".join(found for block in blocks(content) if (found := text(block, "text")))


def blocks(content: object) -> list[Mapping[str, object]]:
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
