"""A past session of each agent, in the files that its client writes: one prompt, one command, one answer."""

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from recollect.base.moment import Moment

Said = tuple[str, str, str]  # a prompt, a command that went well, an answer


def codex(home: Path, cwd: Path, session: str, at: Moment, said: Said) -> Path:
    def item(**payload: Any) -> dict[str, Any]:
        return {"type": "response_item", "payload": payload}

    def by_user(*texts: str) -> dict[str, Any]:
        return item(
            type="message",
            role="user",
            content=[{"type": "input_text", "text": one} for one in texts],
        )

    guide = f"# AGENTS.md instructions for {cwd}\n\n<INSTRUCTIONS>\nAlways use tabs here.\n</INSTRUCTIONS>"
    around = (
        f"<environment_context>\n  <cwd>{cwd}</cwd>\n  <shell>zsh</shell>\n</environment_context>"
    )
    lines = [
        {"type": "session_meta", "payload": {"id": session, "cwd": str(cwd), "source": "cli"}},
        by_user(guide, around),
        {"type": "event_msg", "payload": {"type": "user_message", "message": said[0]}},
        by_user(said[0]),
        item(
            type="function_call",
            name="exec_command",
            call_id="c1",
            arguments=json.dumps({"cmd": said[1]}),
        ),
        item(
            type="function_call_output",
            call_id="c1",
            output="Process exited with code 0\nOutput:\ndone\n",
        ),
        item(type="message", role="assistant", content=[{"type": "output_text", "text": said[2]}]),
    ]
    return _write(home / f".codex/sessions/2026/05/01/rollout-{session}.jsonl", at, lines)


def copilot(home: Path, cwd: Path, session: str, at: Moment, said: Said) -> Path:
    call = {"toolCallId": "c1", "name": "bash", "arguments": {"command": said[1]}}
    lines = [
        {"type": "session.start", "data": {"sessionId": session, "context": {"cwd": str(cwd)}}},
        {
            "type": "user.message",
            "data": {"content": "Always obey the skill.", "source": "skill-deploy"},
        },
        {
            "type": "user.message",
            "data": {"content": said[0], "transformedContent": f"<now/>\n{said[0]}"},
        },
        {"type": "assistant.message", "data": {"content": "", "toolRequests": [call]}},
        {
            "type": "tool.execution_complete",
            "data": {"toolCallId": "c1", "success": True, "result": {"content": "done"}},
        },
        {"type": "assistant.message", "data": {"content": said[2], "toolRequests": []}},
    ]
    return _write(home / f".copilot/session-state/{session}/events.jsonl", at, lines)


def gemini(home: Path, cwd: Path, session: str, at: Moment, said: Said) -> Path:
    """As versions before 0.40 wrote it: one document."""
    checksum = hashlib.sha256(str(cwd).encode()).hexdigest()
    answer = {
        "functionResponse": {
            "id": "c1",
            "name": "run_shell_command",
            "response": {"output": "Output: done"},
        }
    }
    call = {
        "id": "c1",
        "name": "run_shell_command",
        "args": {"command": said[1]},
        "result": [answer],
    }
    messages: list[dict[str, Any]] = [
        {"id": "m1", "type": "user", "content": said[0]},
        {
            "id": "m2",
            "type": "gemini",
            "content": "I run it.",
            "toolCalls": [{**call, "timestamp": at.iso()}],
        },
        {"id": "m3", "type": "user", "content": "System: Please continue."},
        {"id": "m4", "type": "info", "content": "An update is available: always install it."},
        {"id": "m5", "type": "gemini", "content": said[2]},
    ]
    for number, message in enumerate(messages):
        message["timestamp"] = at.plus(seconds=number).iso()
    chat = {
        "sessionId": session,
        "projectHash": checksum,
        "startTime": at.iso(),
        "messages": messages,
    }
    path = home / f".gemini/tmp/{checksum}/chats/session-{session}.json"
    return _put(path, at, json.dumps(chat, indent=2))


def opencode_parts(at: Moment, said: Said) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Messages with their parts, without what only one of its two stores says."""
    ms = at.micros // 1_000
    state = {"status": "completed", "input": {"command": said[1]}, "output": "done", "metadata": {"exit": 0},
             "time": {"start": ms + 1, "end": ms + 2}}  # fmt: skip
    return [
        ({"role": "user", "time": {"created": ms}, "summary": {"diffs": []}}, [
            {"type": "text", "text": said[0]},
            {"type": "text", "text": "Called the Read tool: always read it.", "synthetic": True},
            {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"},
        ]),
        ({"role": "assistant", "time": {"created": ms + 1}}, [
            {"type": "step-start"}, {"type": "reasoning", "text": "Hm.", "time": {"start": ms}},
            {"type": "tool", "callID": "c1", "tool": "bash", "state": state},
            {"type": "tool", "callID": "c2", "tool": "bash", "state": {"status": "running", "input": {}}},
            {"type": "text", "text": said[2], "time": {"start": ms + 3, "end": ms + 4}},
        ]),
        ({"role": "assistant", "time": {"created": ms + 9}, "summary": True}, [{"type": "text", "text": "In short."}]),
    ]  # fmt: skip


def opencode(home: Path, cwd: Path, session: str, at: Moment, said: Said) -> Path:
    path, ms = home / ".local/share/opencode/opencode.db", at.micros // 1_000
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        for table in (
            "session (id, parent_id, directory, time_created, time_updated)",
            "message (id, session_id, time_created, data)", "part (id, message_id, session_id, data)",
        ):  # fmt: skip
            database.execute(f"CREATE TABLE IF NOT EXISTS {table}")
        database.execute(
            "INSERT OR IGNORE INTO session VALUES (?, NULL, ?, ?, ?)", (session, str(cwd), ms, ms)
        )
        for number, (message, parts) in enumerate(opencode_parts(at, said)):
            id = f"msg_{ms}{number}"
            row = (
                id,
                session,
                message["time"]["created"],
                json.dumps(message, separators=(",", ":")),
            )
            database.execute("INSERT OR IGNORE INTO message VALUES (?, ?, ?, ?)", row)
            for place, part in enumerate(parts):
                data = json.dumps(part, separators=(",", ":"), ensure_ascii=False)
                database.execute(
                    "INSERT OR IGNORE INTO part VALUES (?, ?, ?, ?)",
                    (f"prt_{ms}{number}{place}", id, session, data),
                )
    return path / session


def opencode_files(home: Path, cwd: Path, session: str, at: Moment, said: Said) -> Path:
    """As versions before 1.2 wrote it."""
    storage, ms = home / ".local/share/opencode/storage", at.micros // 1_000
    for number, (message, parts) in enumerate(opencode_parts(at, said)):
        id = f"msg_{ms}{number}"
        _put(
            storage / f"message/{session}/{id}.json",
            at,
            json.dumps({"id": id, **message}, indent=2),
        )
        for place, part in enumerate(parts):
            text = json.dumps({"id": f"prt_{place}", **part}, indent=2, ensure_ascii=False)
            _put(storage / f"part/{id}/prt_{ms}{number}{place}.json", at, text)
    info = {"id": session, "directory": str(cwd), "time": {"created": ms, "updated": ms}}
    return _put(storage / f"session/0a1b/{session}.json", at, json.dumps(info, indent=2))


def pi(home: Path, cwd: Path, session: str, at: Moment, said: Said) -> Path:
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": said[1]}}
    spoken: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": said[0]}]},
        {"role": "assistant", "content": [call]},
        {
            "role": "toolResult",
            "toolCallId": "c1",
            "toolName": "bash",
            "content": [{"type": "text", "text": "done"}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": said[2]}]},
    ]
    lines: list[dict[str, Any]] = [
        {"type": "session", "id": session, "cwd": str(cwd)},
        *({"type": "message", "message": one} for one in spoken),
    ]
    return _write(home / f".pi/agent/sessions/--shop--/{session}.jsonl", at, lines)


Writer = Callable[[Path, Path, str, Moment, Said], Path]
WRITERS: dict[str, Writer] = {
    "codex": codex, "gemini": gemini, "opencode": opencode, "opencode files": opencode_files, "pi": pi,
    "copilot": copilot,
}  # fmt: skip


def _write(path: Path, at: Moment, lines: list[dict[str, Any]]) -> Path:
    """Each line a second after the one before; the same session goes on in the same file."""
    old = path.read_text() if path.exists() else ""
    dated = (
        {**line, "timestamp": at.plus(seconds=number).iso()} for number, line in enumerate(lines)
    )
    return _put(
        path, at, old + "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in dated)
    )


def _put(path: Path, at: Moment, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (at.micros // 1_000_000,) * 2)
    return path
