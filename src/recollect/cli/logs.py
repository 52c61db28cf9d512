"""`recollect logs`: what was decided, and with -f as it is decided."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from recollect.base.paths import Home, home
from recollect.base.text import json_visible, visible


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes, until stopped.")
@click.option("--session", default="", metavar="ID", help="Only of this session; the beginning of its id will do.")
@click.option(
    "-n", "--limit", default=50, show_default=True, type=click.IntRange(1, 1_000_000), help="Begin with so many."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, an object a line.")
def logs(follow: bool, session: str, limit: int, as_json: bool) -> None:
    """What was decided, one line a decision, the newest last."""
    from recollect.ops import logs as log

    folder = Home(home()).logs

    def lines() -> Iterator[str]:
        coming = log.Follower(folder, session)  # from here on: what comes while the rest is printed is not lost
        yield from log.last(folder, limit=limit, session=session)
        if follow:
            yield from coming

    for line in lines():
        click.echo(json_visible(json.dumps(log.parsed(line), ensure_ascii=False)) if as_json else visible(line))
