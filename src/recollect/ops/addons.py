"""Agents that call us through a plugin: what `doctor`, `install` and `uninstall` say of it, and whether a server that a
plugin started is the second of two.

A plugin is its agent's to add and to remove; nothing here changes one.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from recollect import __version__
from recollect.agents import Addon, Level, addon_hosts, addons, agent
from recollect.base.errors import NoProject, RecollectError
from recollect.model.result import Check, Mark
from recollect.ops import serving
from recollect.ops.app import App
from recollect.ops.install import places


def found(app: App) -> tuple[Addon, ...]:
    """Those that are switched on here."""
    return addons(places(app))


def check(one: Addon, *, is_beside: bool) -> Check:
    """`is_beside`: settings call us too."""
    if one.version != __version__:
        return Check("plugin", Mark.WARN, f"{one.name} is {one.version}, Recollect {__version__}", one.update)
    beside = "; its settings call too, and an event is answered once" if is_beside else ""
    return Check("plugin", Mark.GOOD, f"{agent(one.host).TITLE} calls through {one.name} {one.version}{beside}")


def noted(app: App, hosts: tuple[str, ...]) -> tuple[str, ...]:
    """For who installs these: both at once."""
    beside = [one for one in found(app) if one.host in hosts]
    return tuple(f"The plugin {one.name} calls too; an event is answered once." for one in beside)


def still_calling(app: App) -> tuple[str, ...]:
    """For who uninstalls."""
    return tuple(f"The plugin {one.name} still calls Recollect: `{one.remove}` removes it." for one in found(app))


def is_second(folder: Path) -> bool:
    """For a server that a plugin started: whether its agent is told of one by its own settings as well, in a project's
    folder or everywhere."""
    app = App.here(folder, actor="agent")
    try:
        return any(_is_offered(app, host) for host in addon_hosts())
    finally:
        app.close()


def _is_offered(app: App, host: str) -> bool:
    for level in Level:
        with suppress(NoProject, RecollectError):
            at = serving.spot(app, host, level)
            if serving.is_registered(app, at.look().text, at):
                return True
    return False
