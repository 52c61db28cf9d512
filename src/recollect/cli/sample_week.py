"""A week of work on a small shop (sample.json), played through the real hooks: what the page shows in `demo --ui`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recollect.base.moment import DAY_SECONDS, Moment
from recollect.base.shipped import load_table
from recollect.cli.stage import Stage, operate


def play_week(folder: Path, now: Moment) -> Path:
    """Plays the week of sample.json; returns the project's folder."""
    sample = load_table("recollect.cli", "sample.json")
    with Stage(folder, "shop", begin=now.plus(days=-4.2)) as shop:
        for day, turns in sample["week"].items():
            _play(shop, day, turns)
            shop.wait(DAY_SECONDS)
        app = shop.own
        operate(
            "pin",
            app,
            "Deploys go to staging first; production only on Tuesdays.",
            topics=("deploy", "release"),
        )
        operate("rule add", app, "Write commit messages in English", user=True)
        operate(
            "note save", app, "\n".join((*sample["note"], "")), title="Releases", tags=("release",)
        )
        threads = operate("threads", app, limit=2).cards
        if len(threads) == 2:
            operate("link", app, threads[0].memory.id, threads[1].memory.id)
        return shop.folder


def _play(shop: Stage, session: str, turns: Sequence[Mapping[str, Any]]) -> None:
    """A turn: the prompt, the calls (command, output, and whether it failed), the reply."""
    _tell(shop, session, "SessionStart", source="startup")
    for place, turn in enumerate(turns):
        shop.wait(300)
        shop.write(session, "user", {"type": "text", "text": turn["prompt"]})
        _tell(shop, session, "UserPromptSubmit", prompt=turn["prompt"])
        for number, (command, output, *failed) in enumerate(turn.get("calls", ())):
            id, given = f"toolu_{session}_{place}_{number}", {"command": command}
            shop.write(
                session, "assistant", {"type": "tool_use", "id": id, "name": "Bash", "input": given}
            )
            _tell(shop, session, "PreToolUse", tool_name="Bash", tool_use_id=id, tool_input=given)
            result = {
                "type": "tool_result",
                "tool_use_id": id,
                "content": output,
                "is_error": bool(failed),
            }
            shop.write(session, "user", result)
        shop.write(session, "assistant", {"type": "text", "text": turn["reply"]})
        shop.read(session)


def _tell(shop: Stage, session: str, event: str, **fields: Any) -> None:
    """What a hook adds, as the client writes it down."""
    text = (
        shop.hook(event, session, **fields)
        .get("hookSpecificOutput", {})
        .get("additionalContext", "")
    )
    if text:
        shop.write(session, "attachment", {"type": "hook_additional_context", "content": [text]})
