"""Rules written where an agent reads by itself: in its own memory (rules sync), and as skills of a project.

Both are managed pieces with one receipt per folder, and off unless their setting is on. Rules sync: a file for each
rule, and a section in the agent's index that takes only the room its limits leave. Skills: one per kind of rule of this
project, with a manifest beside it. What such a file looks like is up to the agent (agents/claude_memory.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from recollect.agents import RuleCopy, default_agent
from recollect.app.core import App
from recollect.app.memory_search import rules_in_force
from recollect.base import files
from recollect.base.errors import BadInput
from recollect.base.files import read_limited
from recollect.base.moment import Moment
from recollect.base.text import counted, one_line
from recollect.capture.rule_facts import rule_key
from recollect.integrations.pieces import Change, OwnFile, Receipt, Receipts, Section, Work, changes
from recollect.model.codec import Json
from recollect.model.command import Lesson
from recollect.model.memory import ACCEPTED_TAG, Lane, Rule, RuleType
from recollect.model.result import Scope, Summary
from recollect.render.inject import plain

MAX_SYNCED = 30
_MAX_PER_SKILL = 100
_MAX_RULE_CHARS = 2_000
_MAX_SKILL_RULE_CHARS = 500
_LEAST_SESSIONS = 2
_MANIFEST = "manifest.json"
_LEFT = "Left alone: "
_SKILL_VERSION = 1  # raised when the text of a skill changes, so that all are made again
_TOPICS = {
    RuleType.CORRECTION: "Corrections", RuleType.PREFERENCE: "Preferences", RuleType.FAILURE: "Failures",
    RuleType.DEVOPS: "DevOps",
}  # fmt: skip


class Copies(NamedTuple):
    kind: str
    title: str
    setting: str


RULES_SYNC = Copies("rules", "Rules sync", "MEMORY_RULES_SYNC")
SKILLS = Copies("skills", "Skills", "MEMORY_SKILLS")
KINDS = {one.kind: one for one in (RULES_SYNC, SKILLS)}


def is_trusted(rule: Rule) -> bool:
    """Words from tools, files or pages are normally shown with their source. Here they stand without it, so they need
    a person's approval, or two sessions that confirm them."""
    if rule.lane in (Lane.USER, Lane.AGENT) or ACCEPTED_TAG in rule.tags:
        return True
    return len({tag for tag in rule.tags if tag.startswith(Lesson.SESSION_TAG)}) >= _LEAST_SESSIONS


def _synced_rules(app: App) -> list[RuleCopy]:
    """The most useful first, each sentence once."""
    found: dict[str, RuleCopy] = {}
    for scope, rule in rules_in_force(app).values():
        words = plain(rule.body, _MAX_RULE_CHARS)
        if words and is_trusted(rule):
            found.setdefault(rule_key(words), RuleCopy(rule, words, scope is Scope.USER))
    return list(found.values())[:MAX_SYNCED]


def _skill_rules(app: App) -> dict[RuleType, list[tuple[str, str]]]:
    """Id and words of this project's own rules; the newest first, each sentence once."""
    found: dict[RuleType, dict[str, tuple[str, str]]] = {kind: {} for kind in _TOPICS}
    listed = [
        rule
        for scope, rule in rules_in_force(app).values()
        if scope is Scope.PROJECT and is_trusted(rule)
    ]
    for rule in sorted(listed, key=lambda one: (one.created_at, one.id), reverse=True):
        if words := one_line(plain(rule.body, _MAX_SKILL_RULE_CHARS)):
            found[rule.rule_type].setdefault(rule_key(words), (rule.id, words))
    return {kind: list(ours.values())[:_MAX_PER_SKILL] for kind, ours in found.items() if ours}


def receipt_for(app: App, copies: Copies) -> Receipt:
    """Of the usual folder. NoProject where there is no project."""
    keeper, root = default_agent(), app.require_project().root
    folder = (
        keeper.own_memory(app.places)[1]
        if copies is RULES_SYNC
        else root / keeper.FOLDER / "skills"
    )
    return Receipt(copies.kind, keeper.HOST, path=str(folder), root=str(root))


def memory_base(app: App, receipt: Receipt) -> Path:
    """The agent's folder in which the memory of any project stands that a receipt is about; missing if never used."""
    base, usual = default_agent().own_memory(app.places._replace(project=Path(receipt.root)))
    return base if Path(receipt.path) == usual else Path(receipt.path).parent


def _skill_files(
    app: App, folder: Path, rules: dict[RuleType, list[tuple[str, str]]]
) -> Iterator[tuple[Path, str]]:
    for kind, ours in rules.items():
        title, topic = _TOPICS[kind], _TOPICS[kind].lower()
        place, made = folder / f"auto-{topic}", app.clock.now()
        source = hashlib.sha256(
            json.dumps([_SKILL_VERSION, str(kind), ours]).encode("ascii")
        ).hexdigest()
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            old = json.loads(_read(place / _MANIFEST))
            made = Moment.parse(old["generatedAt"]) if old["sourceHash"] == source else made
        text = default_agent().skill_text(topic, title, [words for _, words in ours], made)
        yield place / default_agent().SKILL_FILE, text
        manifest = {
            "topicId": topic, "sourceHash": source, "memoryCount": len(ours), "generatedAt": made.iso(),
            "memoryKeys": [id for id, _ in ours],
        }  # fmt: skip
        yield place / _MANIFEST, json.dumps(manifest)


def _present_files(receipt: Receipt) -> list[Path]:
    keeper, folder = default_agent(), Path(receipt.path)
    if receipt.kind == SKILLS.kind:
        places = (folder / f"auto-{title.lower()}" for title in _TOPICS.values())
        return [
            place / name
            for place in places
            if place.is_dir()
            for name in (keeper.SKILL_FILE, _MANIFEST)
        ]
    return sorted(path for path in folder.glob("*.md") if keeper.is_rule_file_name(path.name))


def _is_entry(line: str) -> bool:
    """`- [Kind](name) …` that names a file of ours."""
    return line.startswith("- [") and default_agent().is_rule_file_name(
        line.partition("](")[2].partition(")")[0]
    )


def _read(path: Path) -> str:
    """Empty where there is no such file, or it cannot be read."""
    try:
        return read_limited(path, files.MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def update(app: App, receipt: Receipt, *, is_on: bool, off: bool = False) -> Summary:
    """Writes what should be in a folder, or takes it all away. `off`: a person wants nothing more written there."""
    keeper, is_memory, folder = default_agent(), receipt.kind == RULES_SYNC.kind, Path(receipt.path)
    base = memory_base(app, receipt) if is_memory else Path(receipt.root)
    if is_on and is_memory and not base.is_dir():
        raise BadInput(
            f"{keeper.TITLE} has not been used here: {base} does not exist.", hint="Start it once."
        )
    if (is_on or off) and not app.dry_run:
        app.home.prepare()
    listed = list[str]()

    def own_file(path: Path, text: str = "") -> OwnFile:
        mode = 0o600 if is_memory else 0o644
        return OwnFile(kind="copy", path=path, root=base, mode=mode, text=text, is_recorded=False)

    def entries(own: str) -> list[str]:
        listed[:] = keeper.index_lines(own, rules)
        return listed

    with changes(app) as work:
        kept = work.receipts.pieces
        old = kept.get(receipt.key, receipt)
        rules = _synced_rules(app) if is_on and is_memory else []
        skills = _skill_rules(app) if is_on and not is_memory else {}
        count = len(rules) + sum(map(len, skills.values()))
        wanted = dict(_skill_files(app, folder, skills))
        wanted |= {folder / keeper.rule_file_name(one): keeper.rule_file_text(one) for one in rules}
        if is_on and (
            wanted or old.off
        ):  # kept first, so that `uninstall` finds the folder even if writing fails
            kept[old.key] = old = old._replace(at=old.at or app.clock.now().iso(), off=False)
        for path, text in wanted.items():
            work.change(own_file(path, text), wanted=True)
        for path in _present_files(old):
            if path not in wanted:
                work.change(own_file(path), wanted=False)
        if is_memory and (wanted or folder.is_dir()):
            index = folder / keeper.INDEX_FILE
            section = Section(
                kind="index", path=index, root=base, entries=entries, is_entry=_is_entry
            )
            work.change(section, wanted=True)
        if not is_on:
            kept.pop(old.key, None)
            kept |= {old.key: old._replace(at="", off=True)} if off else {}
        elif work.changed and not app.dry_run:
            kept[old.key] = old._replace(at=app.clock.now().iso())
            app.log.line(old.kind, host=old.host, rules=count)
    notes, setting = list[str](), KINDS[receipt.kind].setting
    if is_memory and len(listed) < count:
        notes.append(
            f"{keeper.INDEX_FILE} has room for {len(listed)} of {count}; the others have their files."
        )
    if not app.settings.switch(setting):
        notes.append(f"{setting} is off: `recollect config {setting} on` switches it on.")
    facts: dict[str, int] = {"on": is_on} | ({"rules": count} if is_on else {})
    facts |= {"listed": len(listed)} if is_on and is_memory else {}
    return _summary(work, receipt, facts, notes)


def withdraw_all(app: App) -> Iterator[str]:
    """In every project; nothing is remembered of it afterwards."""
    for receipt in Receipts(app).of(*KINDS):
        done = update(app, receipt, is_on=False)
        yield done.summary
        yield from (note for note in done.notes if note.startswith(_LEFT))


def erase(app: App, is_bad: Callable[[str], bool]) -> Iterator[str]:
    """Empties each folder that holds such words, in every project; the next sync writes it again without them. Yields
    what was left alone."""
    for receipt in Receipts(app).of(*KINDS):
        if any(is_bad(_read(path)) for path in _present_files(receipt)):
            notes = update(app, receipt, is_on=False).notes
            yield from (
                note.removeprefix(_LEFT).rstrip(".") for note in notes if note.startswith(_LEFT)
            )


def _summary(work: Work, receipt: Receipt, facts: dict[str, int], notes: list[str]) -> Summary:
    written = [
        str(one.piece.path) for one in work.outcomes if one.change in (Change.ADDED, Change.RENEWED)
    ]
    removed = [str(one.piece.path) for one in work.outcomes if one.change is Change.REMOVED]
    left = [one.reason for one in work.outcomes if one.change is Change.LEFT]
    would = "would be " if work.app.dry_run else ""
    parts = [counted(facts["rules"], "rule")] if "rules" in facts else []
    parts += [f"{counted(len(written), 'file')} {would}written"] if written else []
    parts += [f"{counted(len(removed), 'file')} {would}removed"] if removed else []
    parts += [] if written or removed else ["nothing to change"]
    listed = [f"+ {path}" for path in written] + [f"- {path}" for path in removed]
    every = (*(listed if work.app.dry_run else ()), *(f"{_LEFT}{one}." for one in left), *notes)
    every_fact: dict[str, Json] = {
        "folder": receipt.path, "host": receipt.host, **facts, "dry_run": work.app.dry_run, "written": [*written],
        "removed": [*removed], "left_alone": [*left],
    }  # fmt: skip
    return Summary(
        f"{KINDS[receipt.kind].title}: {', '.join(parts)} ({receipt.path}).", every_fact, every
    )
