"""Makes agents call us, and undoes it: hooks in their settings, the script they call, and the short name `ai`. Which
agents is choosing.py's matter, files that an agent loads are plugging.py's, the server of tools serving.py's.

What was inserted into a settings file, and where, is kept in `<home>/installed.json`, never the file's own text, which
may hold secrets. So `uninstall` gives the file back byte for byte; where it was edited since, only our hooks go.
Order matters: the script is there before anything calls it, and goes after nothing does.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from recollect.agents import DEFAULT_HOST, Ability, Agent, Hook, Level, Places, is_able, splice
from recollect.agents import agent as agent_of
from recollect.agents.forms import Hooked, hooked
from recollect.base import swap
from recollect.base.errors import BadInput, Conflict, NotPlain
from recollect.base.files import read_limited, write_private
from recollect.base.paths import user_home
from recollect.base.settings import environment
from recollect.base.swap import Found, digest
from recollect.base.text import counted
from recollect.model.codec import Json
from recollect.model.result import Told
from recollect.ops.app import App
from recollect.ops.briefs import waits_for_a_model
from recollect.ops.table import Arg
from recollect.wire import client, leave, place, spawn, stub

_TRIES = 5  # others write settings too, but not all the time
_STOP_S = 2.5  # one that ends takes two seconds at most
_MAX_RECEIPT_BYTES = 1_000_000
_SHORT_NAME = "ai"
_SPINNER = "Recalling memories..."
_IMPORT = f"recollect import {DEFAULT_HOST}"

_Agents = Annotated[tuple[str, ...], Arg("Which agents; again for each.", metavar="NAME", many=True)]
_User = Annotated[bool, Arg("In your own settings, for every project (the default).")]
_Project = Annotated[bool, Arg("In this project's settings, which its repository shares.")]
_Local = Annotated[bool, Arg("In this project's settings on this machine alone.")]


def install(
    app: App, *, agent: _Agents = (), user: _User = False, project: _Project = False, local: _Local = False
) -> Told:
    level = _level(user, project, local)
    from recollect.ops import choosing

    chosen = choosing.to_install(agent, level)
    told = [_installed(app, host, level) for host in chosen]
    if app.dry_run:
        return joined(told, ())
    from recollect.ops import addons

    notes = [*_add_short_name(app), *addons.noted(app, chosen), "Sessions that run now are not changed; new ones are."]
    if level is Level.PROJECT:
        notes.append(f"It names {app.home.root}: for others who share these settings it does nothing. See --local.")
    notes += choosing.others(app, agent)
    if any(one.facts["changed"] for one in told):
        notes += _past_sessions(app)
    return joined(told, tuple(notes))


def uninstall(
    app: App, *, agent: _Agents = (), user: _User = False, project: _Project = False, local: _Local = False
) -> Told:
    level = _level(user, project, local)
    from recollect.ops import choosing

    told = [_uninstalled(app, host, level) for host in choosing.to_uninstall(app, agent, level)]
    if app.dry_run:
        return joined(told, ())
    left = Receipts.read(app)
    if left.files or left.servers or left.plugins:
        still = sorted({*left.files, *left.plugins, *(name.partition(":")[2] for name in left.servers)})
        return joined(told, (f"Still called from {', '.join(still)}.",))
    from recollect.ops import addons

    _remove_short_name(left)
    Receipts.path(app).unlink(missing_ok=True)
    if calling := addons.still_calling(app):
        return joined(told, calling)
    withdrawn = _withdraw_mirrors(app)
    stub.remove_hook(str(app.home.root))
    _end_daemon(app)
    return joined(told, (*withdrawn, f"Memories stay in {app.home.root}."))


def _installed(app: App, host: str, level: Level) -> Told:
    """All that makes one agent call us: what it calls first, then what calls it."""
    from recollect.ops import plugging, serving

    told = _install_one(app, host, level) if is_able(host, Ability.HOOKS) else plugging.plug(app, host, level)
    if is_able(host, Ability.SERVER):
        told = serving.joined(told, serving.register(app, host, level))
    if is_able(host, Ability.TEACHING):
        serving.teach(app, host, level)
    to_allow = "" if app.dry_run else agent_of(host).unapproved(level, places(app))
    return replace(told, notes=(*told.notes, to_allow)) if to_allow else told


def _uninstalled(app: App, host: str, level: Level) -> Told:
    """The other way round: of two things in one file the later one goes first, so that each finds what it left."""
    from recollect.ops import plugging, serving

    if is_able(host, Ability.TEACHING):
        serving.unteach(app, host, level)
    served = serving.unregister(app, host, level) if is_able(host, Ability.SERVER) else None
    told = _uninstall_one(app, host, level) if is_able(host, Ability.HOOKS) else plugging.unplug(app, host, level)
    for folder in agent_of(host).answers(places(app)) if is_able(host, Ability.READS) and not app.dry_run else ():
        shutil.rmtree(folder, ignore_errors=True)
    return serving.joined(told, served) if served is not None else told


def _past_sessions(app: App) -> tuple[str, ...]:
    from recollect.ops import past

    everywhere, here = past.left_behind(app)
    if here:
        return (f"{counted(here, 'past session')} of {app.project_here().name} found: `{_IMPORT}` reads them.",)
    return (f"{counted(everywhere, 'past session')} found: `{_IMPORT} --all` reads them.",) if everywhere else ()


class Site(NamedTuple):
    """One settings file of one agent."""

    host: str
    level: Level
    path: Path
    within: Path | None
    """Links may not lead out of here."""

    @property
    def agent(self) -> Agent:
        return agent_of(self.host)

    @property
    def form(self) -> Hooked:
        return hooked(self.agent.SETTINGS_FORM)

    def look(self) -> Found:
        return swap.look(self.path, within=self.within)


def site(app: App, host: str, level: Level) -> Site:
    """NoProject where the level needs one and there is none."""
    at = places(app)
    check_level(host, level)
    return Site(host, level, agent_of(host).settings_path(level, at), None if level is Level.USER else at.project)


def check_level(host: str, level: Level) -> None:
    if level not in agent_of(host).LEVELS:
        raise BadInput(
            f"{agent_of(host).TITLE} has no settings of a project on this machine alone.", hint="See --user, --project."
        )


def places(app: App) -> Places:
    environ = environment()
    return Places(user_home(environ), app.project.root if app.project else None, environ)


def wanted(app: App, host: str) -> tuple[tuple[str, Mapping[str, object]], ...]:
    """Each event that this agent can tell us of, with its hook."""
    speaks = agent_of(host)
    wait_s = app.settings.count("MEMORY_RECALL_SECONDS") if waits_for_a_model(app) else 0
    hooks = []
    for hook in speaks.hooks(places(app)):
        patience_s = wait_s if hook.is_prompt else 0
        if patience_s:
            hook = hook._replace(timeout_s=patience_s + hook.timeout_s, spinner=_SPINNER)
        hooks.append((hook.event, speaks.hook_json(command(app, host, hook, patience_s), hook)))
    return tuple(hooks)


def command(app: App, host: str, hook: Hook, patience_s: int = 0) -> str:
    """A constant text: no part of it is made from what an event holds. Whatever befalls the script, the agent goes
    on, and the shell does not complain of it."""
    words = [_script(app), *([] if host == DEFAULT_HOST else [host]), hook.event]
    words += ["--deadline-ms", str(hook.deadline_ms)] if hook.deadline_ms else []
    words += ["--patience-ms", str(patience_s * 1_000)] if patience_s else []
    return f"{' '.join(words)} 2>/dev/null || :"


def is_ours(app: App) -> splice.Ours:
    script = _script(app) + " "
    return lambda told: told.startswith(script)


def _script(app: App) -> str:
    path = stub.script_path(str(app.home.root))
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise BadInput(
            "The name of the home folder is not UTF-8, which settings files cannot hold.",
            hint="Set RECOLLECT_HOME to another folder.",
        ) from None
    return "'" + path.replace("'", "'\\''") + "'"


# Receipts


class Receipt(NamedTuple):
    before: str
    """Digest of the file as it was; empty where there was none."""
    after: str
    inserted: tuple[splice.Insertion, ...]
    kept: frozenset[str]
    """Lists that stood there before us, and stay even if we leave them empty."""
    made_folder: bool

    @classmethod
    def decoded(cls, one: Mapping[str, Any]) -> Receipt:
        inserted = tuple(splice.Insertion(int(at), str(text)) for at, text in one["inserted"])
        kept = frozenset(str(name) for name in one["kept"])
        return cls(str(one["before"]), str(one["after"]), inserted, kept, bool(one["made_folder"]))


class Receipts(NamedTuple):
    files: dict[str, Receipt]
    short_name: str
    """Where we put the link of that name."""
    servers: dict[str, Receipt]
    """Of files that name our server (serving.py), by level and path."""
    skills: dict[str, str]
    """Digests of the files that teach, by path."""
    plugins: dict[str, dict[str, str]] = {}  # noqa: RUF012 - never changed, only replaced
    """Of files that agents load (plugging.py), by path: the digest, and the folders that were made for it."""

    @staticmethod
    def path(app: App) -> Path:
        return app.home.root / "installed.json"

    @classmethod
    def read(cls, app: App) -> Receipts:
        """None where they cannot be read: then hooks are found by their command."""
        try:
            kept = json.loads(read_limited(cls.path(app), _MAX_RECEIPT_BYTES))
            files, servers = (
                {path: Receipt.decoded(one) for path, one in kept.get(name, {}).items()}
                for name in ("files", "servers")
            )
            skills = {str(path): str(one) for path, one in kept.get("skills", {}).items()}
            plugins = {
                str(path): {str(k): str(v) for k, v in one.items()} for path, one in kept.get("plugins", {}).items()
            }
            return cls(files, str(kept["short_name"]), servers, skills, plugins)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return cls({}, "", {}, {})

    def write(self, app: App) -> None:
        listed = [
            {p: {**r._asdict(), "kept": sorted(r.kept)} for p, r in kept.items()} for kept in (self.files, self.servers)
        ]
        told = {
            "files": listed[0], "short_name": self.short_name, "servers": listed[1], "skills": self.skills,
            "plugins": self.plugins,
        }  # fmt: skip
        write_private(self.path(app), json.dumps(told, indent=1) + "\n")


class _Bare(NamedTuple):
    """A settings file without us."""

    text: str
    existed: bool
    kept: frozenset[str]


def _bare(app: App, at: Site, found: Found, receipt: Receipt | None) -> _Bare:
    if receipt is not None and receipt.after == found.digest:
        text = splice.taken_back(found.text, receipt.inserted)
        existed = receipt.before != ""
        if text is not None and digest(text.encode("utf-8") if existed else None) == receipt.before:
            return _Bare(text, existed, receipt.kept)
    kept = receipt.kept if receipt is not None else frozenset()
    return _Bare(at.form.without(found.text, is_ours(app), keep=kept), found.content is not None, kept)


# One settings file


def _install_one(app: App, host: str, level: Level) -> Told:
    at, hooks = site(app, host, level), wanted(app, host)
    for _ in range(_TRIES):
        found, receipts = at.look(), Receipts.read(app)
        try:
            after, receipt = _planned(app, at, found, hooks, receipts.files.get(str(at.path)))
        except NotPlain as problem:
            raise _left_alone(at, problem, _to_paste(hooks)) from None
        if app.dry_run:
            return _would(at, found, after)
        ready_script(app)
        if receipt is None:
            return _told(at, "already calls Recollect", hooks, changed=False)
        try:
            receipt = receipt._replace(made_folder=make_folder(found, level) or receipt.made_folder)
            receipts._replace(files={**receipts.files, str(at.path): receipt}).write(app)
            swap.replace(found, after.encode("utf-8"), new_mode=0o600 if level is Level.USER else 0o644)
        except Conflict:
            receipts.write(app)
            continue
        except BaseException:
            receipts.write(app)
            raise
        app.log.line("install", host=host, level=level, events=len(hooks))
        return _told(at, "now calls Recollect", hooks, changed=True)
    raise Conflict(f"{at.path} changes all the time.", hint="Nothing was written. Close what writes it, and try again.")


def ready_script(app: App) -> None:
    app.home.prepare()
    if not stub.is_current(str(app.home.root), sys.executable):
        stub.write_hook(str(app.home.root), sys.executable)


def _planned(
    app: App, at: Site, found: Found, hooks: tuple[tuple[str, Mapping[str, object]], ...], receipt: Receipt | None
) -> tuple[str, Receipt | None]:
    """The text with our hooks as they should be, and what was done to it; no receipt where it is so already."""
    standing = at.form.standing(found.text, is_ours(app))
    if all(one.alone for one in standing) and _same(standing, hooks):
        return found.text, None
    bare = _bare(app, at, found, receipt)
    inserted = at.form.insertions(bare.text, hooks)
    after = splice.inserted(bare.text, inserted)
    before = digest(bare.text.encode("utf-8") if bare.existed else None)
    made_folder = receipt.made_folder if receipt is not None else False
    kept = bare.kept | at.form.containers(bare.text)
    return after, Receipt(before, digest(after.encode("utf-8")), inserted, kept, made_folder)


def _same(standing: tuple[splice.Standing, ...], hooks: tuple[tuple[str, Mapping[str, object]], ...]) -> bool:
    there = sorted((one.event, json.dumps(one.hook, sort_keys=True)) for one in standing)
    return there == sorted((event, json.dumps(hook, sort_keys=True)) for event, hook in hooks)


def _uninstall_one(app: App, host: str, level: Level) -> Told:
    at = site(app, host, level)
    for _ in range(_TRIES):
        found, receipts = at.look(), Receipts.read(app)
        receipt = receipts.files.get(str(at.path))
        try:
            bare = _bare(app, at, found, receipt)
        except NotPlain as problem:
            by_hand = f"Take out the hooks whose command begins with {_script(app)}"
            raise _left_alone(at, problem, by_hand) from None
        if app.dry_run:
            return _would(at, found, bare.text)
        changed = bare.text != found.text or not bare.existed
        try:
            if found.content is not None and not bare.existed:
                swap.remove(found)
                if receipt is not None and receipt.made_folder:
                    with suppress(OSError):
                        found.target.parent.rmdir()
            elif changed and found.content is not None:
                swap.replace(found, bare.text.encode("utf-8"))
        except Conflict:
            continue
        if receipt is not None:
            receipts._replace(files={p: r for p, r in receipts.files.items() if p != str(at.path)}).write(app)
        if found.content is None or not changed:
            return _told(at, "does not call Recollect", (), changed=False)
        app.log.line("uninstall", host=host, level=level)
        return _told(at, "no longer calls Recollect", (), changed=True)
    raise Conflict(f"{at.path} changes all the time.", hint="Nothing was written. Close what writes it, and try again.")


def make_folder(found: Found, level: Level) -> bool:
    folder = found.target.parent
    if folder.is_dir():
        return False
    try:
        os.makedirs(folder, 0o700 if level is Level.USER else 0o755)
    except OSError as error:
        raise BadInput(f"{folder} cannot be made: {error.strerror}.") from error
    return True


def _level(user: bool, project: bool, local: bool) -> Level:
    asked = [level for level, on in ((Level.USER, user), (Level.PROJECT, project), (Level.LOCAL, local)) if on]
    if len(asked) > 1:
        raise BadInput(f"--{asked[0]} and --{asked[1]} are two places.", hint="Name one; call it again for the other.")
    return asked[0] if asked else Level.USER


# Words


def _told(at: Site, what: str, hooks: tuple[tuple[str, Mapping[str, object]], ...], *, changed: bool) -> Told:
    counts = f", at {counted(len(hooks), 'event')}" if hooks else ""
    facts: dict[str, Json] = {
        "host": at.host, "level": str(at.level), "path": str(at.path), "changed": changed, "dry_run": False,
        "events": [event for event, _ in hooks],
    }  # fmt: skip
    return Told(f"{at.agent.TITLE} {what}{counts} ({at.path}).", facts)


def _would(at: Site, found: Found, after: str) -> Told:
    """A dry run: the difference, as `diff -u` would show it."""
    before = found.text
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), str(at.path), f"{at.path} (after)", lineterm="", n=2
    )
    diff = "\n".join(lines)
    facts: dict[str, Json] = {
        "host": at.host, "level": str(at.level), "path": str(at.path), "changed": before != after, "dry_run": True,
        "diff": diff,
    }  # fmt: skip
    return Told(diff or f"Nothing to change in {at.path}.", facts)


def joined(told: list[Told], notes: tuple[str, ...]) -> Told:
    """What was told of each agent, as one answer."""
    every = (*(note for one in told for note in one.notes), *notes)
    if len(told) == 1:
        return Told(told[0].summary, told[0].facts, every)
    return Told("\n".join(one.summary for one in told), {"agents": [dict(one.facts) for one in told]}, every)


def _left_alone(at: Site, problem: NotPlain, instead: str) -> BadInput:
    return BadInput(f"{at.path}, line {problem.line}: {problem.problem}. It was left as it is.", hint=instead)


def _to_paste(hooks: tuple[tuple[str, Mapping[str, object]], ...]) -> str:
    snippet = splice.inserted("", splice.insertions("", hooks))
    return f"Mend it, or put this into it yourself:\n{snippet}"


# The short name


def _add_short_name(app: App) -> tuple[str, ...]:
    """`ai` beside `recollect`, unless that name means something to this person already."""
    receipts, path = Receipts.read(app), environment().get("PATH", os.defpath)
    program, taken = shutil.which("recollect", path=path), shutil.which(_SHORT_NAME, path=path)
    if sys.platform == "win32" or receipts.short_name or program is None or taken is not None:
        return ()
    link = Path(os.path.abspath(program)).with_name(_SHORT_NAME)
    try:
        os.symlink("recollect", link)
    except OSError:
        return ()  # a convenience, not worth a failure
    receipts._replace(short_name=str(link)).write(app)
    return (f"`{_SHORT_NAME}` now means `recollect`.",)


def _remove_short_name(receipts: Receipts) -> None:
    with suppress(OSError):
        if receipts.short_name and os.readlink(receipts.short_name) == "recollect":
            os.unlink(receipts.short_name)


def _withdraw_mirrors(app: App) -> tuple[str, ...]:
    """Rules and skills that were written where agents read them, in every project."""
    from recollect.ops import skills, sync  # they use this file

    notes: list[str] = []
    for told in (*sync.withdraw_all(app), *skills.withdraw_all(app)):
        notes += [told.summary, *(note for note in told.notes if note.startswith("Left alone"))]
    return tuple(notes)


def _end_daemon(app: App) -> None:
    """And what it left. One that does not end in time keeps what it needs; nothing calls it any more."""
    at = spawn.follow(place.find_place(str(app.home.root), environment()))
    with suppress(client.Unanswered):
        client.ask(at, {"op": "stop"}, b"", _STOP_S)
    leave.clear(at, time.monotonic() + _STOP_S)
