"""How values read on the page: times, counts, and Markdown, which is cleaned of everything that could run or load."""

from __future__ import annotations

import re
from functools import cache

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from recollect.base.local_time import local, local_day, local_minute, zone_name
from recollect.base.moment import Moment
from recollect.base.shipped import load_table
from recollect.base.text import counted, visible
from recollect.model.memory import Lane, Memory, Note, Rule, Status
from recollect.model.result import Scope
from recollect.render.blocks import WHO
from recollect.render.recall_text import ago
from recollect.render.terminal import short_ids

# A longer text is shown as it was written: to lay out 100,000 characters of odd marks takes up to a second.
MAX_MARKDOWN_CHARS = 20_000
_TICKS = re.compile("`([^`\n]+)`")
_TAGS = set(
    "a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i li ol p pre s strong table tbody td th thead tr ul".split()
)
SCOPES = {Scope.PROJECT: "this project", Scope.USER: "all projects", Scope.TEAM: "the team"}
SOURCES = {
    Lane.USER: "you said it", Lane.TEAM: "a colleague shared it", Lane.TOOL: "a tool showed it",
    Lane.AGENT: "the agent inferred it", Lane.REPOSITORY: "from the repository", Lane.WEB: "from the web",
}  # fmt: skip
STATUSES = {
    Status.ACTIVE: "", Status.SUSPENDED: "asleep by age", Status.ARCHIVED: "archived",
    Status.SUPERSEDED: "replaced", Status.CANDIDATE: "waits in the inbox",
}  # fmt: skip

_DID = load_table("recollect.web", "words.json")[
    "did"
]  # what an operation did to a memory, for its history


def markdown(text: str) -> Markup:
    """Its headings stand below those of the page."""
    if len(text) > MAX_MARKDOWN_CHARS:
        return Markup("<pre>{}</pre>").format(visible(text))
    made = _markdown()
    tokens = made.parse(visible(text.replace("\r\n", "\n")))
    for token in tokens:
        token.tag = (
            f"h{min(6, int(token.tag[1]) + 2)}" if token.type.startswith("heading_") else token.tag
        )
    html = made.renderer.render(tokens, made.options, {})
    clean = nh3.clean(
        html,
        tags=_TAGS,
        attributes={"a": {"href"}},
        url_schemes={"http", "https"},
        link_rel="noopener",
    )
    return Markup(clean)  # noqa: S704 - this is where it is made safe


def ticks(text: str) -> Markup:
    """Words between backticks as code, and nothing else."""
    return Markup(_TICKS.sub(r"<code>\1</code>", str(escape(visible(text)))))  # noqa: S704 - escaped first


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def moment(value: Moment | str) -> Moment:
    return value if isinstance(value, Moment) else Moment.parse(value)


def clock(value: Moment | str) -> str:
    when = local(moment(value))
    return f"{when:%H:%M} {zone_name(when)}"


def day(value: Moment | str) -> str:
    return local_day(moment(value))


def when(value: Moment | str) -> str:
    return local_minute(moment(value))


def told(memory: Memory) -> str:
    """`told 5 times, helped 4`, as far as anything is known."""
    if not memory.frequency:
        return "never told yet"
    helped, hurt = memory.outcomes.count("+"), memory.outcomes.count("-")
    parts = [f"told {counted(memory.frequency, 'time')}"]
    parts += [f"helped {helped}"] if helped or hurt else []
    parts += [f"did not help {hurt}"] if hurt else []
    return ", ".join(parts)


def tokens(count: int) -> str:
    return f"about {counted(count, 'token')}"


def kind(memory: Memory) -> str:
    if isinstance(memory, Rule):
        return "lesson" if memory.rule_type == "failure" else "rule"
    return "note" if isinstance(memory, Note) else "thread"


FILTERS = {
    "ago": ago, "brief": short_ids, "clock": clock, "counted": counted, "day": day, "kind": kind, "markdown": markdown,
    "ticks": ticks, "told": told, "tokens": tokens, "visible": visible, "when": when,
    "did": lambda op: _DID.get(op, op.capitalize()), "who": lambda name: WHO.get(name, name),
    "iso": lambda value: moment(value).iso(), "short": lambda id: str(id)[-6:],
    "source": lambda lane: SOURCES.get(lane, str(lane)), "status": lambda status: STATUSES.get(status, str(status)),
    "where": lambda scope: SCOPES.get(scope, str(scope)),
}  # fmt: skip
