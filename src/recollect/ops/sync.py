"""Rules in an agent's own memory: the thirty that rank first here, a file each, and a section in its index.

Off unless MEMORY_RULES_SYNC is on. The section takes only what the agent's limits leave beside the lines of others; a
rule without a line still has its file. Taking it away again is the exact inverse.

Writes through mirror.py; how such a file looks is the agent's matter (agents).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from recollect.agents import Ability, Agent, Keepsake, Places, Shelf, agent, hosts, section
from recollect.base.errors import BadInput
from recollect.base.text import counted, one_line
from recollect.model.codec import Json
from recollect.model.lesson import SESSION_TAG
from recollect.model.memory import ACCEPTED_TAG, Lane, Rule
from recollect.model.result import Scope, Told
from recollect.ops import briefs, mirror
from recollect.ops.app import App
from recollect.ops.install import joined, places
from recollect.ops.table import Arg
from recollect.render.harmless import plain

SETTING = "MEMORY_RULES_SYNC"
WHAT = "rules"
MOST = 30
_MAX_CHARS = 2_000
_TITLE = "Rules sync"
_SESSIONS = 2

Off = Annotated[bool, Arg("Take away what was written here, and write nothing more until this is called again.")]


def sync(app: App, *, off: Off = False) -> Told:
    project = app.project_here()
    told = []
    for host in hosts(Ability.SHELF):
        shelf = agent(host).shelf(places(app))
        if off or not app.settings.switch(SETTING):
            told.append(_withdrawn(app, mirror.receipt(app, WHAT, host, project.root, shelf.folder), off=off))
        else:
            told.append(_written(app, host, shelf))
    return joined(told, ())


def refresh(app: App) -> None:
    """For the daemon: every folder of this project that a person had us write to, or the usual one."""
    if app.project is None:
        return
    known = list(mirror.receipts(app, WHAT, app.project.root))
    if not app.settings.switch(SETTING):
        for one in known:
            if not one.off:
                _withdrawn(app, one, off=False)
        return
    for one in known:
        if not one.off:
            _written(app, one.host, _shelf_of(app, one))
    for host in hosts(Ability.SHELF) if not known else ():
        shelf = agent(host).shelf(_usual(app))
        if shelf.base.is_dir():
            _written(app, host, shelf)


def withdraw_all(app: App) -> list[Told]:
    """In every project; nothing is remembered of it afterwards."""
    return [_withdrawn(app, one, off=False) for one in mirror.receipts(app, WHAT)]


def wanted(app: App) -> tuple[Keepsake, ...]:
    """In the order of session start, each sentence once."""
    found: dict[str, Keepsake] = {}
    for scope, rule in briefs.rules(app).values():
        words = plain(rule.body, _MAX_CHARS)
        if words and is_trusted(rule):
            one = Keepsake(rule.id, words, rule.rule_type, rule.lane, scope is Scope.USER, rule.created_at)
            found.setdefault(one_line(words).casefold(), one)
    return tuple(found.values())[:MOST]


def is_trusted(rule: Rule) -> bool:
    """Words that came from tools, files or pages are told to an agent with their lane beside them. Where they would
    stand without it they need a person's word, or two sessions that bear them out."""
    if rule.lane in (Lane.USER, Lane.AGENT) or ACCEPTED_TAG in rule.tags:
        return True
    return len({tag for tag in rule.tags if tag.startswith(SESSION_TAG)}) >= _SESSIONS


def _usual(app: App) -> Places:
    """The daemon has nobody's environment, and a hook's may have been written by a stranger."""
    return places(app)


def _shelf_of(app: App, receipt: mirror.Receipt) -> Shelf:
    shelf = agent(receipt.host).shelf(_usual(app))
    folder = Path(receipt.folder)
    return shelf if folder == shelf.folder else shelf._replace(base=folder.parent, folder=folder, unread="")


def erase(app: App, receipt: mirror.Receipt, is_bad: mirror.Judges) -> mirror.Work:
    """What holds such words goes, with its line; it can be made again without them."""
    speaks, work, folder = agent(receipt.host), mirror.Work(app.dry_run), Path(receipt.folder)
    shelf = _shelf_at(app, receipt)
    names = [path.name for path in folder.glob("*.md") if speaks.is_keepsake_name(path.name)]
    gone = {name for name in names if is_bad(mirror.read(folder / name)) and work.take(folder / name)}

    def edit(text: str) -> str:
        parts = section.parted(text, lambda line: _is_entry(speaks, line))
        kept = [line for line in parts.entries if not is_bad(line) and not any(f"]({name})" in line for name in gone)]
        return section.joined(parts, kept) if len(kept) < len(parts.entries) else text

    path = folder / shelf.index_file
    _change_index(path, edit, work, made=str(path) in receipt.made)
    return work


# On


def _written(app: App, host: str, shelf: Shelf) -> Told:
    speaks, project = agent(host), app.project_here()
    if not shelf.base.is_dir():
        raise BadInput(
            f"{speaks.TITLE} was never used here: {shelf.base} is not there.", hint="Start it once, then try again."
        )
    keepsakes, work = wanted(app), mirror.Work(app.dry_run)
    receipt = mirror.receipt(app, WHAT, host, project.root, shelf.folder)
    entries: list[str] = []
    try:
        if (keepsakes or shelf.folder.is_dir()) and work.make_folders(shelf.base, shelf.folder):
            names = _put_files(speaks, shelf, keepsakes, work)
            _take_stale(speaks, shelf, names, work)
            is_made = str(shelf.folder / shelf.index_file) in receipt.made
            entries = _put_index(speaks, shelf, keepsakes, work, made=is_made)
    finally:
        # Also of what was done before something failed.
        if not app.dry_run and (work.changed or work.made or receipt.off or (keepsakes and not receipt.at)):
            mirror.stamped(receipt, work, app.clock.now()).write(app)
            app.log.line("sync", host=host, rules=len(keepsakes), listed=len(entries), left=len(work.left))
    if len(entries) < len(keepsakes):
        work.notes.append(
            f"{shelf.index_file} has room for {len(entries)} of {len(keepsakes)}; the others have their files."
        )
    if shelf.unread:
        work.notes.append(f"{speaks.TITLE} does not read them now: {shelf.unread}.")
    facts: dict[str, Json] = {"host": host, "on": True, "rules": len(keepsakes), "listed": len(entries)}
    return mirror.told(work, f"{_TITLE}: {counted(len(keepsakes), 'rule')}", shelf.folder, facts)


def _put_files(speaks: Agent, shelf: Shelf, keepsakes: tuple[Keepsake, ...], work: mirror.Work) -> set[str]:
    """Where a person edited one, his words stay, and the line in the index still leads to them."""
    names = set()
    for one in keepsakes:
        name = speaks.keepsake_name(one)
        if name not in names:
            work.put(shelf.folder / name, speaks.keepsake_text(one))
            names.add(name)
    return names


def _take_stale(speaks: Agent, shelf: Shelf, wanted_names: set[str], work: mirror.Work) -> None:
    try:
        present = sorted(path.name for path in shelf.folder.iterdir())
    except FileNotFoundError:
        return
    for name in present:
        if speaks.is_keepsake_name(name) and name not in wanted_names:
            work.take(shelf.folder / name)


def _put_index(
    speaks: Agent, shelf: Shelf, keepsakes: tuple[Keepsake, ...], work: mirror.Work, *, made: bool
) -> list[str]:
    entries: list[str] = []

    def edit(text: str) -> str:
        parts = section.parted(text, lambda line: _is_entry(speaks, line))
        entries[:] = _fitting(speaks, parts.own, [speaks.keepsake_line(one) for one in keepsakes])
        return section.joined(parts, entries)

    _change_index(shelf.folder / shelf.index_file, edit, work, made=made)
    return entries


def _change_index(path: Path, edit: mirror.Edit, work: mirror.Work, *, made: bool) -> None:
    try:
        work.change(path, edit, made=made)
    except section.Broken:
        work.left.append(f"{path} has half of our marks")


def _fitting(speaks: Agent, own: str, lines: list[str]) -> list[str]:
    most, room = speaks.index_room(own)
    kept: list[str] = []
    for line in lines[:most]:
        room -= len(line.encode("utf-8")) + 2
        if room < 0:
            break
        kept.append(line)
    return kept


def _is_entry(speaks: Agent, line: str) -> bool:
    """`- [Kind](name) …` that names a file of ours."""
    _, _, rest = line.partition("](")
    return line.startswith("- [") and speaks.is_keepsake_name(rest.partition(")")[0])


# Off


def _withdrawn(app: App, receipt: mirror.Receipt, *, off: bool) -> Told:
    speaks, work = agent(receipt.host), mirror.Work(app.dry_run)
    folder = Path(receipt.folder)
    shelf = _shelf_at(app, receipt)
    if folder.is_symlink():
        work.left.append(f"{folder} is a link")
    elif folder.is_dir():
        _take_stale(speaks, shelf, set(), work)
        path = folder / shelf.index_file
        # Where our notes were lost, an index that holds nothing but our section was made for it.
        made = str(path) in receipt.made or not receipt.at
        _change_index(path, lambda text: _without_us(speaks, text), work, made=made)
    stays = work.remove_folders(tuple(path for path in receipt.made if not path.endswith(shelf.index_file)))
    if not app.dry_run:
        mirror.forget(app, receipt, stays, off=off)
    if not app.settings.switch(SETTING):
        work.notes.append(f"{SETTING} is off. It is switched on in {app.home.conf}.")
    return mirror.told(work, _TITLE, folder, {"host": receipt.host, "on": False})


def _shelf_at(app: App, receipt: mirror.Receipt) -> Shelf:
    """Of any project."""
    usual = agent(receipt.host).shelf(_usual(app)._replace(project=Path(receipt.root)))
    return usual._replace(base=Path(receipt.folder).parent, folder=Path(receipt.folder))


def _without_us(speaks: Agent, text: str) -> str:
    return section.parted(text, lambda line: _is_entry(speaks, line)).own
