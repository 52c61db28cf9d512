"""Where Claude Code keeps what it knows of plugins, and whether ours is among them. Reads; changes nothing.

A plugin is the client's own to add and to remove (`claude plugin …`). Learnt from 2.1.325.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.agents import claude_memory

if TYPE_CHECKING:
    from recollect.agents import Addon, Places

_NAME = "recollect"
_MAX_BYTES = 4_000_000


def addon(places: Places) -> Addon | None:
    """Ours, where it is installed and switched on here."""
    from recollect.agents import Addon

    folder = claude_memory.config_folder(places)
    for name, installs in _object(folder / "plugins" / "installed_plugins.json", "plugins").items():
        if name.partition("@")[0] != _NAME or not _is_on(name, folder, places):
            continue
        last = installs[-1] if isinstance(installs, list) and installs and isinstance(installs[-1], dict) else {}
        return Addon(
            host="claude-code",
            name=name,
            version=str(last.get("version", "")),
            call=Path(str(last.get("installPath", ""))) / "scripts" / "call",
            update=f"claude plugin update {name}",
            remove=f"claude plugin uninstall {name}",
        )
    return None


def _is_on(name: str, folder: Path, places: Places) -> bool:
    """The nearest settings that speak of it decide."""
    files = [folder / "settings.json"]
    if places.project is not None:
        own = places.project / ".claude"
        files += [own / "settings.json", own / "settings.local.json"]
    said = [_object(file, "enabledPlugins").get(name) for file in files]
    return next((bool(one) for one in reversed(said) if one is not None), False)


def _object(path: Path, key: str) -> Mapping[str, object]:
    try:
        with path.open("rb") as file:
            value = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}
