"""Which agents `install` and `uninstall` are about: those that were named, else the usual one, or all that call us.

An agent is here where its program is on the PATH, or where it left a folder in the home. Asks nobody: on a terminal
the command line does (cli/choice.py).
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress

from recollect.agents import DEFAULT_HOST, Ability, Level, agent, hosts, is_able
from recollect.base.errors import BadInput, NoProject, RecollectError
from recollect.ops import install, plugging, serving
from recollect.ops.app import App

_NOT_OURS = (plugging.State.ABSENT, plugging.State.FOREIGN)


def to_install(named: tuple[str, ...], level: Level) -> tuple[str, ...]:
    chosen = _known(named) or (DEFAULT_HOST,)
    for host in chosen:  # before anything is written
        install.check_level(host, level)
    return chosen


def to_uninstall(app: App, named: tuple[str, ...], level: Level) -> tuple[str, ...]:
    """All that call us, or did when we last looked, where none is named; the usual one, where none does: it says so."""
    if named:
        return to_install(named, level)
    found = (host for host in hosts() if calls_us(app, host, level) or _has_receipt(app, host, level))
    return tuple(found) or (DEFAULT_HOST,)


def here(app: App) -> tuple[str, ...]:
    """The agents that this machine seems to have."""
    at = install.places(app)
    path = at.environ.get("PATH", os.defpath)
    return tuple(
        host for host in hosts() if shutil.which(agent(host).PROGRAM, path=path) or agent(host).folder(at).is_dir()
    )


def others(app: App, named: tuple[str, ...]) -> tuple[str, ...]:
    """Agents that are here and do not call us, where nobody said which ones should."""
    if named:
        return ()
    found = [host for host in here(app) if host != DEFAULT_HOST and not _calls_us_anywhere(app, host)]
    names = " ".join(f"--agent {host}" for host in found)
    titles = ", ".join(agent(host).TITLE for host in found)
    return (f"Also here: {titles}. `recollect install {names}` makes them call it, too.",) if found else ()


def calls_us(app: App, host: str, level: Level) -> bool:
    """Whether anything of ours is in its settings of this level. A file that cannot be read may hold something."""
    if level not in agent(host).LEVELS:
        return False
    try:
        if is_able(host, Ability.PLUGIN) and plugging.state(app, host, level) not in _NOT_OURS:
            return True
        if is_able(host, Ability.HOOKS):
            at = install.site(app, host, level)
            if at.form.standing(at.look().text, install.is_ours(app)):
                return True
        if is_able(host, Ability.SERVER):
            spot = serving.spot(app, host, level)
            return serving.is_registered(app, spot.look().text, spot)
    except NoProject:
        return False
    except RecollectError:
        return True
    return False


def _has_receipt(app: App, host: str, level: Level) -> bool:
    if level not in agent(host).LEVELS:
        return False
    kept = install.Receipts.read(app)
    with suppress(NoProject):
        return (
            (is_able(host, Ability.HOOKS) and str(install.site(app, host, level).path) in kept.files)
            or (is_able(host, Ability.PLUGIN) and str(plugging.plugin(app, host, level).path) in kept.plugins)
            or (is_able(host, Ability.SERVER) and serving.spot(app, host, level).receipt in kept.servers)
        )
    return False


def _calls_us_anywhere(app: App, host: str) -> bool:
    return any(calls_us(app, host, level) for level in agent(host).LEVELS)


def _known(named: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [name for name in named if name not in hosts()]
    if unknown:
        raise BadInput(f"No agent is known as {unknown[0]!r}.", hint=f"Known: {', '.join(hosts())}.")
    return tuple(dict.fromkeys(named))
