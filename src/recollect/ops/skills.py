"""This project's rules as skills of an agent: one a kind of rule, in the project's tree, with a manifest beside it.

Off unless MEMORY_SKILLS is on. Only rules of this project's own store, each sentence once, the newest first. A skill
is made again only when its rules changed; one that a person edited is his.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated

from recollect.agents import Ability, Skill, agent, hosts
from recollect.base.files import read_limited
from recollect.base.text import counted, one_line
from recollect.model.codec import Json
from recollect.model.memory import Rule, RuleType
from recollect.model.result import Scope, Told
from recollect.ops import briefs, mirror
from recollect.ops.app import App
from recollect.ops.install import joined, places
from recollect.ops.sync import is_trusted
from recollect.ops.table import Arg
from recollect.render.harmless import plain

SETTING = "MEMORY_SKILLS"
WHAT = "skills"
TOPICS = {
    RuleType.CORRECTION: ("corrections", "Corrections"),
    RuleType.PREFERENCE: ("preferences", "Preferences"),
    RuleType.FAILURE: ("failures", "Failures"),
    RuleType.DEVOPS: ("devops", "DevOps"),
}
MOST = 100
_MAX_CHARS = 500
_MAX_MANIFEST_BYTES = 100_000
_MANIFEST = "manifest.json"
_SHAPE = 1  # counted up when the text of a skill changes, so that all are made again
_TITLE = "Skills"

Off = Annotated[bool, Arg("Take away what was written here, and write nothing more until this is called again.")]


def skills(app: App, *, off: Off = False) -> Told:
    project = app.project_here()
    told = []
    for host in hosts(Ability.SKILLS):
        folder = agent(host).skills_folder(places(app))
        receipt = mirror.receipt(app, WHAT, host, project.root, folder)
        is_on = app.settings.switch(SETTING) and not off
        told.append(_written(app, receipt) if is_on else _withdrawn(app, receipt, off=off))
    return joined(told, ())


def refresh(app: App) -> None:
    """For the daemon."""
    if app.project is None:
        return
    for host in hosts(Ability.SKILLS):
        receipt = mirror.receipt(app, WHAT, host, app.project.root, agent(host).skills_folder(places(app)))
        if receipt.off:
            continue
        if app.settings.switch(SETTING):
            _written(app, receipt)
        elif receipt.at:
            _withdrawn(app, receipt, off=False)


def withdraw_all(app: App) -> list[Told]:
    """In every project; nothing is remembered of it afterwards."""
    return [_withdrawn(app, one, off=False) for one in mirror.receipts(app, WHAT)]


def erase(app: App, receipt: mirror.Receipt, is_bad: mirror.Judges) -> mirror.Work:
    """A skill that holds such words goes; it can be made again without them."""
    work, folder = mirror.Work(app.dry_run), Path(receipt.folder)
    for topic, _ in TOPICS.values():
        place = folder / f"auto-{topic}"
        texts = (mirror.read(place / name) for name in (agent(receipt.host).SKILL_FILE, _MANIFEST))
        if any(text and is_bad(text) for text in texts):
            _emptied(receipt.host, place, (), work)
    return work


def wanted(app: App) -> dict[RuleType, list[Rule]]:
    """The newest first, each sentence once."""
    found: dict[RuleType, dict[str, Rule]] = {kind: {} for kind in TOPICS}
    listed = [rule for scope, rule in briefs.rules(app).values() if scope is Scope.PROJECT and is_trusted(rule)]
    for rule in sorted(listed, key=lambda one: (one.created_at, one.id), reverse=True):
        if words := _words(rule):
            found[rule.rule_type].setdefault(words.casefold(), rule)
    return {kind: list(rules.values())[:MOST] for kind, rules in found.items()}


def _words(rule: Rule) -> str:
    return one_line(plain(rule.body, _MAX_CHARS))


# On


def _written(app: App, receipt: mirror.Receipt) -> Told:
    work, root, folder = mirror.Work(app.dry_run, mode=0o644), Path(receipt.root), Path(receipt.folder)
    made, count = receipt.made, 0
    try:
        for kind, rules in wanted(app).items():
            place = folder / f"auto-{TOPICS[kind][0]}"
            if not rules:
                made = _emptied(receipt.host, place, made, work)
                continue
            count += len(rules)
            source = _source_hash(kind, rules)
            if _stands(receipt.host, place, source) or not work.make_folders(root, place):
                continue
            _put(app, receipt.host, place, kind, rules, source, work)
    finally:
        # Also of what was done before something failed.
        receipt = receipt._replace(made=made)
        if not app.dry_run and (work.changed or work.made or receipt.off):
            mirror.stamped(receipt, work, app.clock.now()).write(app)
            app.log.line("skills", host=receipt.host, rules=count, written=len(work.written), left=len(work.left))
    facts: dict[str, Json] = {"host": receipt.host, "on": True, "rules": count}
    return mirror.told(work, f"{_TITLE}: {counted(count, 'rule')}", folder, facts)


def _put(app: App, host: str, place: Path, kind: RuleType, rules: list[Rule], source: str, work: mirror.Work) -> None:
    topic, title = TOPICS[kind]
    now = app.clock.now()
    skill = Skill(topic, title, tuple(_words(rule) for rule in rules), now)
    if not work.put(place / agent(host).SKILL_FILE, agent(host).skill_text(skill)):
        return
    manifest: dict[str, Json] = {
        "topicId": topic, "sourceHash": source, "memoryCount": len(rules), "generatedAt": now.iso(),
        "memoryKeys": [rule.id for rule in rules],
    }  # fmt: skip
    work.put(place / _MANIFEST, mirror.json_sealed(manifest))


def _source_hash(kind: RuleType, rules: list[Rule]) -> str:
    source = json.dumps([_SHAPE, str(kind), [[rule.id, _words(rule)] for rule in rules]], ensure_ascii=True)
    return hashlib.sha256(source.encode("ascii")).hexdigest()


def _stands(host: str, place: Path, source: str) -> bool:
    """Whether the skill was made of just these rules, and is there. A person's edit is no reason to make it again."""
    try:
        manifest = json.loads(read_limited(place / _MANIFEST, _MAX_MANIFEST_BYTES))
        return bool(manifest["sourceHash"] == source) and (place / agent(host).SKILL_FILE).is_file()
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return False


# Off


def _withdrawn(app: App, receipt: mirror.Receipt, *, off: bool) -> Told:
    work, folder, made = mirror.Work(app.dry_run), Path(receipt.folder), receipt.made
    for topic, _ in TOPICS.values():
        made = _emptied(receipt.host, folder / f"auto-{topic}", made, work)
    stays = work.remove_folders(made)
    if not app.dry_run:
        mirror.forget(app, receipt, stays, off=off)
    if not app.settings.switch(SETTING):
        work.notes.append(f"{SETTING} is off. It is switched on in {app.home.conf}.")
    return mirror.told(work, _TITLE, folder, {"host": receipt.host, "on": False})


def _emptied(host: str, place: Path, made: tuple[str, ...], work: mirror.Work) -> tuple[str, ...]:
    """Our two files of a skill away, and its folder if it was made for them. Answers what else was made."""
    if not place.is_dir() or _has_link(place, 3):
        return made
    if work.take(place / agent(host).SKILL_FILE):
        work.take(place / _MANIFEST)
    if str(place) not in made:
        return made
    stays = work.remove_folders((str(place),))
    return tuple(path for path in made if path != str(place) or stays)


def _has_link(place: Path, levels: int) -> bool:
    """A stranger may have put one into a project's tree."""
    return any(path.is_symlink() for path in (place, *place.parents)[:levels])
