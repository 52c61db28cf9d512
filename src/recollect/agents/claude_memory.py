"""Claude Code's own memory, its skills and its list of plugins: where they are, what a file of each looks like, how
much of the index is read. Learnt from the client (2.1.325), which adds and removes plugins itself: nothing here changes
one. Words from a store come here harmless; what only this client would act on is made inert here."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from recollect.agents import Addon, Places, RuleCopy
from recollect.agents.base_agent import Agent, blocks, inner, project_of
from recollect.base.files import read_limited
from recollect.base.moment import Moment
from recollect.base.text import clip, composed
from recollect.model.memory import Lane, RuleType

_INDEX_LINES = 200
_INDEX_BYTES = 25_000  # it counts in UTF-16, which is never more
# For our two marks and the heading, and for what the client itself adds before we look again.
_SPARE_LINES, _SPARE_BYTES = 13, 1_000
_LINE_CHARS = 190  # the client asks for "under ~200"
_FILE_BYTES = (
    4_000  # of a file longer than 4,096 it shows the beginning; a mark of ours comes after
)
_PREFIX = "recollect-"
_SUFFIX_CHARS = 6
_NAME = re.compile(rf"{_PREFIX}[a-z0-9-]+-[0-9a-z]{{{_SUFFIX_CHARS}}}\.md")
_PROJECT_NAME_UNITS = 200

_KINDS = {
    RuleType.PREFERENCE: "Preference", RuleType.CORRECTION: "Correction", RuleType.FAILURE: "Failure",
    RuleType.DEVOPS: "DevOps",
}  # fmt: skip
_WHY = {
    Lane.USER: "The user said so",
    Lane.TEAM: "A colleague shared it",
    Lane.TOOL: "Seen in what failed and what then worked",
    Lane.AGENT: "An agent noted it",
    Lane.REPOSITORY: "It stood in a file of the project",
    Lane.WEB: "It stood on a page that was read",
}
_AT = re.compile(r"(?<!\S)@\S+")  # a name after an at sign is read in as a file


class ClaudeMemory(Agent):
    SKILL_FILE = "SKILL.md"
    INDEX_FILE = "MEMORY.md"  # in its memory of a project; it always reads it

    def own_memory(self, places: Places) -> tuple[Path, Path]:
        """Its own folder, below which folders may be made (if it is missing, the agent was never used), and the folder
        of its memory of the project. Work trees of a repository share one, which is named after the main one."""
        project, config = project_of(places), self.folder(places)
        folder = config / "projects" / project_name(str(project)) / "memory"
        named = _json(config / "settings.json").get("autoMemoryDirectory")
        if isinstance(named, str) and "\x00" not in named:
            chosen = places.user_home / named[2:] if named.startswith("~/") else Path(named)
            folder = Path(os.path.normpath(chosen)) if chosen.is_absolute() else folder
        return config, Path(composed(str(folder)))

    def rule_files(self, places: Places) -> tuple[Path, ...]:
        """The project's, shared and the person's own."""
        if places.project is None:
            return (self.folder(places) / "CLAUDE.md",)
        names = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
        return tuple(places.project / name for name in names)

    def rule_file_name(self, copy: RuleCopy) -> str:
        slug = re.sub(r"[^a-z0-9]+", "-", copy.words.lower())[:24].strip("-")
        suffix = re.sub(r"[^a-z0-9]", "", copy.rule.id.lower())[-_SUFFIX_CHARS:]
        return f"{_PREFIX}{slug or 'rule'}-{suffix:0>{_SUFFIX_CHARS}}.md"

    def is_rule_file_name(self, name: str) -> bool:
        return _NAME.fullmatch(name) is not None

    def rule_file_text(self, copy: RuleCopy) -> str:
        rule, words = copy.rule, inert(copy.words)
        # `user` is who somebody is and what they like, `feedback` how to work, `project` what the code does not say.
        is_project = rule.rule_type in (RuleType.FAILURE, RuleType.DEVOPS)
        is_user = rule.rule_type is RuleType.PREFERENCE and copy.everywhere
        kind = "project" if is_project else "user" if is_user else "feedback"
        while True:
            text = (
                f"---\nname: {self.rule_file_name(copy).removesuffix('.md')}\n"
                f"description: {json.dumps(clip(words, _LINE_CHARS), ensure_ascii=False)}\n"
                f"metadata:\n  type: {kind}\n---\n\n{words}\n\n"
                f"**Why:** {_WHY[rule.lane]}, {rule.created_at.iso()[:10]} ({rule.id}).\n"
                f"**How to apply:** In {'every' if copy.everywhere else 'this'} project.\n"
            )
            if len(text.encode("utf-8")) <= _FILE_BYTES:
                return text
            words = clip(words, len(words) * 9 // 10)

    def index_lines(self, own: str, copies: Sequence[RuleCopy]) -> list[str]:
        """As many lines as the agent still reads, beside what others wrote into its index."""
        mine = own.strip()
        lines = _INDEX_LINES - _SPARE_LINES - (mine.count("\n") + 1 if mine else 0)
        room = _INDEX_BYTES - _SPARE_BYTES - len(mine.encode("utf-8"))
        found = []
        for copy in copies[: max(0, lines)]:
            head = f"- [{_KINDS[copy.rule.rule_type]}]({self.rule_file_name(copy)}) \u2014 "
            line = head + clip(inert(copy.words), _LINE_CHARS - len(head))
            room -= len(line.encode("utf-8")) + 2
            if room < 0:
                break
            found.append(line)
        return found

    def skill_text(self, topic: str, title: str, rules: Sequence[str], updated: Moment) -> str:
        about = f"{title} that were learnt in this project. Read them before you change or run anything here."
        lines = "\n".join(f"- {inert(rule)}" for rule in rules)
        return (
            f"---\nname: auto-{topic}\ndescription: {json.dumps(about)}\nsource: recollect\n---\n\n# {title}\n\n"
            f"Auto-generated from {len(rules)} memories. Last updated: {updated.iso()[:10]}.\n\n## Rules\n\n{lines}\n"
        )

    def addon(self, places: Places) -> Addon | None:
        folder = self.folder(places)
        near = _settings_within(places.project) if places.project else []
        switches = [
            inner(_json(file), "enabledPlugins") for file in (*near, folder / "settings.json")
        ]
        for name, installs in inner(
            _json(folder / "plugins" / "installed_plugins.json"), "plugins"
        ).items():
            # The nearest settings that mention it decide.
            is_on = next((one[name] for one in switches if one.get(name) is not None), False)
            if name.partition("@")[0] == "recollect" and is_on:
                last = blocks(installs)[-1] if blocks(installs) else {}
                return Addon(
                    name=name,
                    version=str(last.get("version", "")),
                    call=Path(str(last.get("installPath", ""))) / "scripts" / "call",
                    update=f"claude plugin update {name}",
                    remove=f"claude plugin uninstall {name}",
                )
        return None


def project_name(root: str) -> str:
    """The client's name for a project's folder. It counts, and sums, in UTF-16."""
    units = root.encode("utf-16-le", "surrogatepass")
    codes = [int.from_bytes(units[i : i + 2], "little") for i in range(0, len(units), 2)]
    name = "".join(chr(code) if code < 128 and chr(code).isalnum() else "-" for code in codes)
    if len(name) <= _PROJECT_NAME_UNITS:
        return name
    total = 0
    for code in codes:
        total = (total * 31 + code) & 0xFFFFFFFF
    number, digits = min(total, 0x100000000 - total), ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return f"{name[:_PROJECT_NAME_UNITS]}-{digits or '0'}"


def _settings_within(project: Path) -> list[Path]:
    """The project's own settings, the nearest first; without those to which a link leads out of it."""
    files = [project / ".claude" / name for name in ("settings.local.json", "settings.json")]
    root = os.path.realpath(project)
    return [file for file in files if Path(os.path.realpath(file)).is_relative_to(root)]


def _json(path: Path) -> Mapping[str, object]:
    try:
        found = json.loads(read_limited(path, 5_000_000, follow=True))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def inert(text: str) -> str:
    """The same words, which make the client neither run nor read in anything, and hide nothing from it."""
    text = text.replace("<!--", "\u2039!--").replace("```", "'''").replace("!`", "! `")
    if text.count("`") % 2:
        text = text.replace("`", "'")
    parts = text.split("`")
    # Every second part stands between backticks, where an at sign means nothing.
    parts[::2] = [_AT.sub(lambda found: f"`{found[0]}`", part) for part in parts[::2]]
    return "`".join(parts)
