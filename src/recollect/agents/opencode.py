"""OpenCode (1.18.33), which loads a file of ours that calls us. Its sessions stand in a database; those of older
versions in a folder of JSON files, one for each part of a message. Both are read as lines, one for each part."""

from __future__ import annotations

import errno
import io
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from recollect.agents import Form, Level, Places, ServerPlace, Transcript, prompts
from recollect.agents.base_agent import Agent, encode, inner, project_of, text
from recollect.agents.transcript import Line, Utterance, Voice, moment_of_ms
from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.base.text import storable
from recollect.model.session import Event, Reply, ToolCall
from recollect.wire import stub

if TYPE_CHECKING:
    import sqlite3

_OURS = "recollect"
_QUOTED = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*', re.DOTALL)
_OUTPUTS = "tool-output"
# A line is as long whatever it says in front of its part: so a session's size is known without reading it.
_LINE = b'{"role":"%-9.9s","at":%013d,"id":"%s","part":%s}\n'
_LINE_BYTES = len(_LINE % (b"", 0, b"", b""))
_SESSIONS = "SELECT id, parent_id, directory, time_created, time_updated FROM session"
_SIZES = "SELECT session_id, sum(length(id) + length(cast(data AS blob)) + ?) FROM part GROUP BY session_id"
_PARTS = """
SELECT cast(message.data AS blob), part.id, cast(part.data AS blob)
FROM part JOIN message ON message.id = part.message_id
WHERE part.session_id = ? AND part.data IS NOT NULL ORDER BY message.time_created, message.id, part.id"""


class OpenCode(Agent, host="opencode"):
    """A plugin of ours (opencode.js) runs the hook, so events and answers are in words of our own. What a person says
    is captured as it is said; what the agent did is read by an import alone. Nothing can be said before a tool runs."""

    def read_prompt(self, prompt: str) -> prompts.Prompt:
        """`opencode run` puts an argument with spaces between quotes; quoted text would count as nobody's word."""
        quoted = _QUOTED.fullmatch(prompt)
        return super().read_prompt(quoted[1].replace('\\"', '"') if quoted else prompt)

    def render(self, event: str, reply: Reply) -> bytes:
        context = "" if event == "PreToolUse" else self.limit(storable(reply.context))
        return encode({"context": context, "read": reply.read_instead})

    def refine(self, parsed: Event, event: str, payload: Line) -> Event:
        """Outside the project it asks before it reads, except in the folder of long outputs that the plugin names."""
        own = Path(text(payload, "outputs"))
        is_own = own.is_absolute() and (own.parent.name, own.name) == ("opencode", _OUTPUTS)
        return replace(parsed, reads_below=str(own / _OURS / "recalls") if is_own else "")

    def answer_folders(self, places: Places) -> tuple[Path, ...]:
        return (_xdg(places, "XDG_DATA_HOME", ".local/share") / _OUTPUTS / _OURS,)

    def folder(self, places: Places) -> Path:
        return _xdg(places, "XDG_CONFIG_HOME", ".config")

    def plugin(self, level: Level, places: Places, home: Path) -> tuple[Path, str]:
        script = json.dumps(stub.script_path(str(home)), ensure_ascii=False)
        written = Path(__file__).with_name("opencode.js").read_text(encoding="utf-8")
        return self.folder_of(level, places) / "plugin" / "recollect.js", written.replace(
            '"@HOOK@"', script
        )

    def server_place(self, level: Level, places: Places) -> ServerPlace:
        own = self.folder(places) if level is Level.USER else project_of(places)
        commented = own / "opencode.jsonc"
        path = commented if commented.is_file() else own / "opencode.json"
        return ServerPlace(path, ("mcp",), Form.COMMENTED)

    def server_json(self, command: str) -> Mapping[str, object]:
        return {"type": "local", "command": [command], "enabled": True}

    # Its sessions

    def transcripts(self, places: Places, within: Path | None = None) -> Iterator[Transcript]:
        """A session in a database stands at its id below the database. What was taken over into one is left behind as
        files, too: those are passed over."""
        root, seen = within or _xdg(places, "XDG_DATA_HOME", ".local/share"), set[str]()
        for file in [root] if root.suffix == ".db" else sorted(root.glob("opencode*.db")):
            try:
                for found in _of_database(file):
                    seen.add(found.path.name)
                    yield found._replace(host=self.HOST)
            except OSError as problem:
                yield Transcript(file, problem=problem.strerror or "cannot be read", host=self.HOST)
        for pattern in ("session/*/*.json", "storage/session/*/*.json"):
            for file in root.glob(pattern) if root.is_dir() else ():
                if file.stem not in seen:
                    yield _of_file(file)._replace(host=self.HOST)

    def open(self, path: Path) -> BinaryIO:
        database = path.parent if path.parent.suffix == ".db" else None
        files = [database, Path(f"{database}-wal")] if database else [path, *_part_files(path)]
        state = tuple(one.stat().st_mtime_ns if one.exists() else 0 for one in files)
        try:
            return io.BytesIO(_as_lines(path, state))
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise OSError(errno.EINVAL, "not a session") from None

    def utterances(self, line: Line) -> Iterator[Utterance]:
        part, role = inner(line, "part"), text(line, "role").strip()
        state, said = inner(part, "state"), text(part, "text")
        at_ms = inner(state, "time").get("end") or inner(part, "time").get("end") or line.get("at")
        at = moment_of_ms(at_ms)
        line = {"id": line.get("id"), "timestamp": at.iso() if at else ""}
        match part.get("type"), role, state.get("status"):
            case "text", "user", _ if part.get("synthetic") is True or part.get("ignored") is True:
                yield self.utterance(line, Voice.INJECTION, said)
            case "text", "user", _:
                yield from self.prompt_utterances(line, said)
            case "text", "summary", _:
                yield self.utterance(line, Voice.SUMMARY, said)
            case "text", _, _ if said:
                yield self.utterance(line, Voice.REPLY, said)
            case "tool", _, "completed" | "error" as status:
                call = ToolCall(
                    id=text(part, "callID"), name=text(part, "tool"), input=inner(state, "input")
                )
                yield self.utterance(line, Voice.TOOL_CALL, call=call)
                output = text(state, "error" if status == "error" else "output")
                failed = status == "error" or inner(state, "metadata").get("exit") not in (None, 0)
                yield self.result_utterance(line, call.id, output, failed)
            case _:
                pass


def _of_database(file: Path) -> Iterator[Transcript]:
    with _opened(file) as database:
        sizes = dict(database.execute(_SIZES, (_LINE_BYTES,)))
        rows = database.execute(_SESSIONS).fetchall()
    for id, parent, cwd, began_ms, changed_ms in rows:
        began, changed = moment_of_ms(began_ms), moment_of_ms(changed_ms) or Moment(0)
        why = "" if sizes.get(id) else "empty"
        yield Transcript(
            file / id,
            parent or id,
            id if parent else "",
            cwd,
            began,
            sizes.get(id, 0),
            changed,
            why,
        )


def _of_file(file: Path) -> Transcript:
    try:
        session, size = json.loads(file.read_bytes()), 0
        time = {key: moment_of_ms(at_ms) for key, at_ms in inner(session, "time").items()}
        for part in _part_files(file):
            size += len(part.stem.encode()) + part.stat().st_size + _LINE_BYTES
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as problem:
        return Transcript(file, problem=getattr(problem, "strerror", "") or "not a session")
    parent, changed = text(session, "parentID"), time.get("updated") or Moment(0)
    return Transcript(
        file, parent or file.stem, file.stem if parent else "", text(session, "directory"), time.get("created"), size,
        changed, "" if size else "empty",
    )  # fmt: skip


def _part_files(session: Path) -> Iterator[Path]:
    """In the order in which they were written: the names rise."""
    storage = session.parent.parent.parent
    for message in sorted((storage / "message" / session.stem).glob("*.json")):
        yield from sorted((storage / "part" / message.stem).glob("*.json"))


@lru_cache(maxsize=1)
def _as_lines(path: Path, state: tuple[int, ...]) -> bytes:
    """`state`: when its files were written; it is read piece by piece."""
    lines = io.BytesIO()
    for message, id, part in (
        _parts_in_database(path) if path.parent.suffix == ".db" else _parts_in_files(path)
    ):
        whole = part.replace(b"\n", b" ").replace(b"\r", b" ")
        lines.write(_LINE % (*_who_and_when(message), id.encode(), whole))
    return lines.getvalue()


def _parts_in_database(path: Path) -> Iterator[tuple[bytes, str, bytes]]:
    with _opened(path.parent) as database:
        for message, id, part in database.execute(_PARTS, (path.name,)):
            yield message or b"", id, part


def _parts_in_files(path: Path) -> Iterator[tuple[bytes, str, bytes]]:
    messages = path.parent.parent.parent / "message" / path.stem
    for file in _part_files(path):
        yield (messages / f"{file.parent.name}.json").read_bytes(), file.stem, file.read_bytes()


@lru_cache(maxsize=1)
def _who_and_when(message: bytes) -> tuple[bytes, int]:
    """Nobody, and never, where that cannot be read: its parts may be sound."""
    try:
        return _read_who_and_when(json.loads(message))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return b"", 0


def _read_who_and_when(said: Line) -> tuple[bytes, int]:
    role, at_ms = text(said, "role"), inner(said, "time").get("created")
    # Of a message of the agent: whether it sums up the session; of a person's: what it changed.
    role = "summary" if said.get("summary") is True else role
    at = moment_of_ms(at_ms) or Moment(0)
    return role.encode(), at.micros // 1_000


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    """To read alone, and without leaving a file beside it while nobody else has it open."""
    import sqlite3  # every command knows this agent, and few read its sessions

    how = "mode=ro" if os.path.exists(f"{file}-wal") else "mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?{how}", uri=True)) as database:
            yield database
    except sqlite3.Error as problem:
        raise OSError(errno.EINVAL, str(problem)) from None


def _xdg(places: Places, variable: str, usual: str) -> Path:
    named = places.environ.get(variable, "")
    return (Path(named) if os.path.isabs(named) else places.user_home / usual) / "opencode"
