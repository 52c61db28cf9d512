"""Rules written where agents read by themselves: in an agent's own memory (rules sync), and as skills of a project.

Both are managed pieces with one receipt per folder, and off unless their setting is on. Rules sync: the thirty rules
that rank first, a file each, and a section in the agent's index that takes only the room its limits leave beside the
lines of others; a rule without a line still has its file. Skills: one per kind of rule of this project, with a manifest
beside it. How such a file looks is the agent's matter (agents).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from recollect.agents import Ability, OwnMemory, RuleCopy, Skill, agent
from recollect.app.active_rules import load_rules
from recollect.app.agent_places import places
from recollect.app.core import App
from recollect.base import swap
from recollect.base.errors import BadInput
from recollect.base.files import read_limited
from recollect.base.moment import Moment
from recollect.base.text import counted, one_line
from recollect.integrations import managed, text_section
from recollect.integrations.managed import Change, Work
from recollect.integrations.pieces import OwnFile, Section
from recollect.integrations.receipts import Receipt, Receipts
from recollect.model.codec import Json
from recollect.model.lesson import SESSION_TAG
from recollect.model.memory import ACCEPTED_TAG, Lane, Rule, RuleType
from recollect.model.result import Scope, Summary
from recollect.render.harmless import plain

MAX_SYNCED = 30
_MAX_PER_SKILL = 100
_MAX_RULE_CHARS = 2_000
_MAX_SKILL_RULE_CHARS = 500
_LEAST_SESSIONS = 2
_MANIFEST = "manifest.json"
_SKILL_VERSION = 1  # raised when the text of a skill changes, so that all are made again
_TOPICS = {
    RuleType.CORRECTION: ("corrections", "Corrections"),
    RuleType.PREFERENCE: ("preferences", "Preferences"),
    RuleType.FAILURE: ("failures", "Failures"),
    RuleType.DEVOPS: ("devops", "DevOps"),
}


class Copies(NamedTuple):
    """One kind of copies."""

    kind: str
    title: str
    setting: str
    ability: Ability


RULES_SYNC = Copies("rules", "Rules sync", "MEMORY_RULES_SYNC", Ability.OWN_MEMORY)
SKILLS = Copies("skills", "Skills", "MEMORY_SKILLS", Ability.SKILLS)
KINDS = {one.kind: one for one in (RULES_SYNC, SKILLS)}


# Which rules


def is_trusted(rule: Rule) -> bool:
    """Words that came from tools, files or pages are shown to an agent with their source beside them. Where they would
    stand without it they need a person's word, or two sessions that confirm them."""
    if rule.lane in (Lane.USER, Lane.AGENT) or ACCEPTED_TAG in rule.tags:
        return True
    return len({tag for tag in rule.tags if tag.startswith(SESSION_TAG)}) >= _LEAST_SESSIONS


def synced_rules(app: App) -> list[RuleCopy]:
    """The most useful first, each sentence once."""
    found: dict[str, RuleCopy] = {}
    for scope, rule in load_rules(app).values():
        words = plain(rule.body, _MAX_RULE_CHARS)
        if words and is_trusted(rule):
            one = RuleCopy(rule.id, words, rule.rule_type, rule.lane, scope is Scope.USER, rule.created_at)
            found.setdefault(one_line(words).casefold(), one)
    return list(found.values())[:MAX_SYNCED]


def skill_rules(app: App) -> dict[RuleType, list[tuple[str, str]]]:
    """Id and words of those of this project's own store; the newest first, each sentence once."""
    found: dict[RuleType, dict[str, tuple[str, str]]] = {kind: {} for kind in _TOPICS}
    listed = [rule for scope, rule in load_rules(app).values() if scope is Scope.PROJECT and is_trusted(rule)]
    for rule in sorted(listed, key=lambda one: (one.created_at, one.id), reverse=True):
        if words := one_line(plain(rule.body, _MAX_SKILL_RULE_CHARS)):
            found[rule.rule_type].setdefault(words.casefold(), (rule.id, words))
    return {kind: list(ours.values())[:_MAX_PER_SKILL] for kind, ours in found.items()}


# Which files


def receipt_for(app: App, copies: Copies, host: str) -> Receipt:
    """Of the usual folder. NoProject where there is no project."""
    at = places(app)
    folder = agent(host).own_memory(at).folder if copies is RULES_SYNC else agent(host).skills_folder(at)
    return Receipt(copies.kind, host, path=str(folder), root=str(app.require_project().root))


def own_memory_of(app: App, receipt: Receipt) -> OwnMemory:
    """The memory that a receipt is about, of any project."""
    usual = agent(receipt.host).own_memory(places(app)._replace(project=Path(receipt.root)))
    folder = Path(receipt.path)
    return usual if folder == usual.folder else usual._replace(base=folder.parent, folder=folder, unread="")


def _wanted_files(app: App, receipt: Receipt) -> tuple[dict[Path, str], int]:
    """By path, and how many rules they hold."""
    speaks, folder = agent(receipt.host), Path(receipt.path)
    files: dict[Path, str] = {}
    if receipt.kind == RULES_SYNC.kind:
        copies = synced_rules(app)
        for one in copies:
            files.setdefault(folder / speaks.rule_file_name(one), speaks.rule_file_text(one))
        return files, len(copies)
    every = skill_rules(app)
    for kind, rules in every.items():
        (topic, title), place = _TOPICS[kind], folder / f"auto-{_TOPICS[kind][0]}"
        source = hashlib.sha256(json.dumps([_SKILL_VERSION, str(kind), rules]).encode("ascii")).hexdigest()
        made = _made_at(place / _MANIFEST, source) or app.clock.now()
        manifest = {
            "topicId": topic, "sourceHash": source, "memoryCount": len(rules), "generatedAt": made.iso(),
            "memoryKeys": [id for id, _ in rules],
        }  # fmt: skip
        if rules:
            skill = Skill(topic, title, tuple(words for _, words in rules), made)
            files[place / speaks.SKILL_FILE] = speaks.skill_text(skill)
            files[place / _MANIFEST] = json.dumps(manifest)
    return files, sum(map(len, every.values()))


def _made_at(manifest: Path, source: str) -> Moment | None:
    """When the skill was made, if it was made of just these rules."""
    try:
        found = json.loads(_read(manifest))
        return Moment.parse(found["generatedAt"]) if found["sourceHash"] == source else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _present_files(receipt: Receipt) -> list[Path]:
    speaks, folder = agent(receipt.host), Path(receipt.path)
    if receipt.kind != RULES_SYNC.kind:
        places = (folder / f"auto-{topic}" for topic, _ in _TOPICS.values())
        return [place / name for place in places if place.is_dir() for name in (speaks.SKILL_FILE, _MANIFEST)]
    try:
        return sorted(folder / name for name in os.listdir(folder) if speaks.is_rule_file_name(name))
    except OSError:
        return []


def _own_file(app: App, receipt: Receipt, path: Path, text: str = "") -> OwnFile:
    is_memory = receipt.kind == RULES_SYNC.kind
    root = own_memory_of(app, receipt).base if is_memory else Path(receipt.root)
    mode = 0o600 if is_memory else 0o644
    return OwnFile(kind="copy", path=path, root=root, mode=mode, text=text, is_recorded=False)


def _index(app: App, receipt: Receipt, entries: Callable[[str], Sequence[str]]) -> Section:
    memory = own_memory_of(app, receipt)

    def is_entry(line: str) -> bool:
        """`- [Kind](name) …` that names a file of ours."""
        name = line.partition("](")[2].partition(")")[0]
        return line.startswith("- [") and agent(receipt.host).is_rule_file_name(name)

    path = memory.folder / memory.index_file
    return Section(kind="index", path=path, root=memory.base, entries=entries, is_entry=is_entry)


def _fitting(receipt: Receipt, own: str, copies: list[RuleCopy]) -> list[str]:
    """The lines that the index has room for."""
    most, room = agent(receipt.host).index_room(own)
    kept: list[str] = []
    for line in (agent(receipt.host).rule_index_line(one) for one in copies[: max(0, most - text_section.MARKS)]):
        room -= len(line.encode("utf-8")) + 2
        if room < 0:
            break
        kept.append(line)
    return kept


def _read(path: Path) -> str:
    """Empty where there is no such file, or none that can be read."""
    try:
        return read_limited(path, swap.MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


# Writing and taking away


def write(app: App, receipt: Receipt) -> Summary:
    copies, listed, count = KINDS[receipt.kind], list[str](), 0
    memory = own_memory_of(app, receipt) if copies is RULES_SYNC else None
    if memory and not memory.base.is_dir():
        title = agent(receipt.host).TITLE
        raise BadInput(
            f"{title} has not been used in this project: {memory.base} does not exist.",
            hint="Start it once, then retry.",
        )
    if not app.dry_run:
        app.home.prepare()
    with managed.changes(app) as work:
        old = work.receipts.pieces.get(receipt.key, receipt)
        try:
            wanted, count = _wanted_files(app, old)
            for path, text in wanted.items():
                work.put(_own_file(app, old, path, text))
            for path in _present_files(old):
                if path not in wanted:
                    work.take(_own_file(app, old, path))
            if memory and (wanted or memory.folder.is_dir()):

                def entries(own: str) -> list[str]:
                    listed[:] = _fitting(old, own, synced_rules(app))
                    return listed

                work.put(_index(app, old, entries))
        finally:  # also of what was done before something failed
            if work.changed or old.off or (count and not old.at):
                at = app.clock.now().iso() if work.changed or not old.at else old.at
                work.receipts.pieces[old.key] = old._replace(at=at, off=False)
                if not app.dry_run:
                    app.log.line(copies.kind, host=old.host, rules=count, changed=work.changed)
    notes = []
    if memory and len(listed) < count:
        notes.append(f"{memory.index_file} has room for {len(listed)} of {count}; the others have their files.")
    if memory and memory.unread:
        notes.append(f"{agent(receipt.host).TITLE} does not read them now: {memory.unread}.")
    return _told(work, receipt, {"on": True, "rules": count, **({"listed": len(listed)} if memory else {})}, notes)


def withdraw(app: App, receipt: Receipt, *, off: bool) -> Summary:
    """`off`: a person wants nothing more written there."""
    copies = KINDS[receipt.kind]
    if off and not app.dry_run:
        app.home.prepare()
    with managed.changes(app) as work:
        for path in _present_files(receipt):
            work.take(_own_file(app, receipt, path))
        if copies is RULES_SYNC and Path(receipt.path).is_dir():
            work.take(_index(app, receipt, lambda _: ()))
        work.receipts.pieces.pop(receipt.key, None)
        if off:
            work.receipts.pieces[receipt.key] = receipt._replace(at="", off=True)
    is_on = app.settings.switch(copies.setting)
    notes = [] if is_on else [f"{copies.setting} is off. It is switched on in {app.home.conf}."]
    return _told(work, receipt, {"on": False}, notes)


def withdraw_all(app: App) -> Iterator[str]:
    """In every project; nothing is remembered of it afterwards."""
    for receipt in Receipts(app).of(*KINDS):
        told = withdraw(app, receipt, off=False)
        yield told.summary
        yield from (note for note in told.notes if note.startswith("Left alone"))


def erase(app: App, is_bad: Callable[[str], bool]) -> list[str]:
    """What holds such words goes, in every project; it can be made again without them. Returns what was left alone."""
    with managed.changes(app) as work:
        for receipt in work.receipts.of(*KINDS):
            bad = [path for path in _present_files(receipt) if is_bad(_read(path))]
            together = {path.parent for path in bad} if receipt.kind == SKILLS.kind else set()
            for path in _present_files(receipt):
                if path in bad or path.parent in together:
                    work.take(_own_file(app, receipt, path))
            if receipt.kind == RULES_SYNC.kind:
                _erase_lines(work, receipt, is_bad, [path.name for path in bad])
    return [one.reason for one in work.outcomes if one.change is Change.LEFT]


def _erase_lines(work: Work, receipt: Receipt, is_bad: Callable[[str], bool], names: list[str]) -> None:
    index = _index(work.app, receipt, lambda _: ())
    try:
        entries = text_section.parted(_read(index.path), index.is_entry).entries
    except text_section.Broken:
        return
    kept = [line for line in entries if not is_bad(line) and not any(f"]({name})" in line for name in names)]
    if len(kept) < len(entries):
        work.put(_index(work.app, receipt, lambda _: kept))


def _told(work: Work, receipt: Receipt, facts: dict[str, int], notes: list[str]) -> Summary:
    written = [str(one.piece.path) for one in work.outcomes if one.change in (Change.ADDED, Change.RENEWED)]
    removed = [str(one.piece.path) for one in work.outcomes if one.change is Change.REMOVED]
    left = [one.reason for one in work.outcomes if one.change is Change.LEFT]
    would = "would be " if work.app.dry_run else ""
    parts = [counted(facts["rules"], "rule")] if "rules" in facts else []
    parts += [f"{counted(len(written), 'file')} {would}written"] if written else []
    parts += [f"{counted(len(removed), 'file')} {would}removed"] if removed else []
    parts += [] if written or removed else ["nothing to change"]
    listed = [f"+ {path}" for path in written] + [f"- {path}" for path in removed]
    every = (*(listed if work.app.dry_run else ()), *(f"Left alone: {one}." for one in left), *notes)
    every_fact: dict[str, Json] = {
        "folder": receipt.path, "host": receipt.host, **facts, "dry_run": work.app.dry_run, "written": [*written],
        "removed": [*removed], "left_alone": [*left],
    }  # fmt: skip
    return Summary(f"{KINDS[receipt.kind].title}: {', '.join(parts)} ({receipt.path}).", every_fact, every)
