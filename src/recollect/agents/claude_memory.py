"""What is known of Claude Code's own memory and of its skills: where they stand, how a file of each is spelt, how much
of the index is read. Learnt from the client (2.1.325).

Words from a store come here harmless; what only this client would act on is made inert here.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.agents.seal import sealed
from recollect.agents.section import MARKS
from recollect.base.errors import NoProject
from recollect.base.files import read_limited
from recollect.base.text import clip
from recollect.model.memory import Lane, RuleType

if TYPE_CHECKING:
    from recollect.agents import Keepsake, Places, Shelf, Skill

SKILL_FILE = "SKILL.md"
_INDEX = "MEMORY.md"
_INDEX_LINES = 200
_INDEX_BYTES = 25_000  # it counts in UTF-16, which is never more
# For what the client itself adds before we look again.
_SPARE_LINES, _SPARE_BYTES = 10, 1_000
_LINE_CHARS = 190  # the client asks for "under ~200"
_FILE_BYTES = 4_096  # of a longer file it shows the beginning
_PREFIX = "recollect-"
_SLUG_CHARS = 24
_SUFFIX_CHARS = 6
_NAME = re.compile(rf"{_PREFIX}[a-z0-9-]+-[0-9a-z]{{{_SUFFIX_CHARS}}}\.md")
_PROJECT_NAME_UNITS = 200
_MAX_SETTINGS_BYTES = 5_000_000
_TRUE = frozenset({"1", "true", "yes", "on"})

_KINDS = {
    RuleType.PREFERENCE: "Preference", RuleType.CORRECTION: "Correction", RuleType.FAILURE: "Failure",
    RuleType.DEVOPS: "DevOps",
}  # fmt: skip
_WHY = {
    Lane.USER: "The user said so",
    Lane.TOOL: "Seen in what failed and what then worked",
    Lane.AGENT: "An agent noted it",
    Lane.REPOSITORY: "It stood in a file of the project",
    Lane.WEB: "It stood on a page that was read",
}


# Where


def config_folder(places: Places) -> Path:
    named = places.environ.get("CLAUDE_CONFIG_DIR", "")
    return Path(os.path.abspath(named)) if named else places.user_home / ".claude"


def shelf(places: Places) -> Shelf:
    """Work trees of a repository share one, which is named after the main one."""
    from recollect.agents import Shelf

    if places.project is None:
        raise NoProject("There is no project here.", hint="Go into a project's folder.")
    config = config_folder(places)
    settings = _settings(config)
    named = settings.get("autoMemoryDirectory")
    folder = _elsewhere(named, places.user_home) if isinstance(named, str) else None
    if folder is None:
        folder = config / "projects" / project_name(str(places.project)) / "memory"
    return Shelf(config, Path(unicodedata.normalize("NFC", str(folder))), _INDEX, _unread(places, settings))


def project_name(root: str) -> str:
    """As the client names the folder of a project. It counts, and sums, in UTF-16."""
    units = root.encode("utf-16-le", "surrogatepass")
    codes = [int.from_bytes(units[i : i + 2], "little") for i in range(0, len(units), 2)]
    name = "".join(chr(code) if code < 128 and chr(code).isalnum() else "-" for code in codes)
    if len(name) <= _PROJECT_NAME_UNITS:
        return name
    total = 0
    for code in codes:
        total = (total * 31 + code) & 0xFFFFFFFF
    return f"{name[:_PROJECT_NAME_UNITS]}-{_base36(min(total, 0x100000000 - total))}"


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"


def _settings(config: Path) -> dict[str, object]:
    try:
        found = json.loads(read_limited(config / "settings.json", _MAX_SETTINGS_BYTES, follow=True))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _elsewhere(named: str, user_home: Path) -> Path | None:
    """A folder of the user's choosing. The client takes absolute ones, and those below the home folder."""
    path = user_home / named[2:] if named.startswith("~/") else Path(named)
    return Path(os.path.normpath(path)) if path.is_absolute() and "\x00" not in named else None


def _unread(places: Places, settings: dict[str, object]) -> str:
    if places.environ.get("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "").lower() in _TRUE:
        return "CLAUDE_CODE_DISABLE_AUTO_MEMORY is set"
    return "autoMemoryEnabled is off in its settings" if settings.get("autoMemoryEnabled") is False else ""


def rule_files(places: Places) -> tuple[Path, ...]:
    """Where people write rules for it: the project's, shared and their own."""
    if places.project is None:
        return (config_folder(places) / "CLAUDE.md",)
    names = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
    return tuple(places.project / name for name in names)


def skills_folder(places: Places) -> Path:
    if places.project is None:
        raise NoProject("There is no project here.", hint="Go into a project's folder.")
    return places.project / ".claude" / "skills"


# One rule


def keepsake_name(keepsake: Keepsake) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", keepsake.words.lower())[:_SLUG_CHARS].strip("-")
    suffix = re.sub(r"[^a-z0-9]", "", keepsake.id.lower())[-_SUFFIX_CHARS:]
    return f"{_PREFIX}{slug or 'rule'}-{suffix:0>{_SUFFIX_CHARS}}.md"


def is_keepsake_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def keepsake_text(keepsake: Keepsake) -> str:
    words = inert(keepsake.words)
    while len((text := _keepsake(keepsake, words)).encode("utf-8")) > _FILE_BYTES:
        words = clip(words, len(words) * 9 // 10)
    return text


def _keepsake(keepsake: Keepsake, words: str) -> str:
    where = "In every project." if keepsake.everywhere else "In this project."
    return sealed(
        f"---\nname: {keepsake_name(keepsake).removesuffix('.md')}\n"
        f"description: {json.dumps(clip(words, _LINE_CHARS), ensure_ascii=False)}\n"
        f"metadata:\n  type: {_memory_type(keepsake)}\n---\n\n{words}\n\n"
        f"**Why:** {_WHY[keepsake.lane]}, {keepsake.since.iso()[:10]} ({keepsake.id}).\n"
        f"**How to apply:** {where}\n"
    )


def _memory_type(keepsake: Keepsake) -> str:
    """`user` is who someone is and what he likes, `feedback` how to work, `project` what cannot be read in the code."""
    match keepsake.rule_type:
        case RuleType.PREFERENCE:
            return "user" if keepsake.everywhere else "feedback"
        case RuleType.CORRECTION:
            return "feedback"
        case RuleType.FAILURE | RuleType.DEVOPS:
            return "project"


def keepsake_line(keepsake: Keepsake) -> str:
    head = f"- [{_KINDS[keepsake.rule_type]}]({keepsake_name(keepsake)}) \u2014 "
    return head + clip(inert(keepsake.words), _LINE_CHARS - len(head))


def index_room(own: str) -> tuple[int, int]:
    mine = own.strip()
    lines, size = (mine.count("\n") + 1, len(mine.encode("utf-8"))) if mine else (0, 0)
    return max(0, _INDEX_LINES - _SPARE_LINES - lines - MARKS), max(0, _INDEX_BYTES - _SPARE_BYTES - size)


# Skills


def skill_text(skill: Skill) -> str:
    about = f"{skill.title} that were learnt in this project. Read them before you change or run anything here."
    lines = "\n".join(f"- {inert(rule)}" for rule in skill.rules)
    return sealed(
        f"---\nname: auto-{skill.topic}\ndescription: {json.dumps(about)}\nsource: recollect\n---\n\n"
        f"# {skill.title}\n\nAuto-generated from {len(skill.rules)} memories. "
        f"Last updated: {skill.updated.iso()[:10]}.\n\n"
        f"## Rules\n\n{lines}\n"
    )


# A name after an at sign is read in as a file.
_AT = re.compile(r"(?<!\S)@\S+")


def inert(text: str) -> str:
    """The same words, which make the client neither run nor read in anything, and hide nothing from it."""
    text = text.replace("<!--", "\u2039!--").replace("```", "'''").replace("!`", "! `")
    if text.count("`") % 2:
        text = text.replace("`", "'")
    parts = text.split("`")
    # Every second part stands between backticks, where an at sign means nothing.
    parts[::2] = [_AT.sub(lambda found: f"`{found[0]}`", part) for part in parts[::2]]
    return "`".join(parts)
