"""Where the files of this person and of this project stand, for the agents that look for them."""

from __future__ import annotations

from recollect.agents import Places
from recollect.app.core import App
from recollect.base.paths import user_home
from recollect.base.settings import environment


def places(app: App) -> Places:
    environ = environment()
    return Places(user_home(environ), app.project.root if app.project else None, environ)
