"""What operations return. Values only: `render` words them, doors print them. As JSON (`codec.encode`) they are what
`--json` prints and MCP returns; a result whose JSON is not its fields has an `as_json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum

from recollect.base.moment import Moment
from recollect.base.structs import Struct, field
from recollect.model.codec import Json, encode, version_of
from recollect.model.memory import Bridge, Condition, Kind, Memory, Message, Status
from recollect.model.plan import Plan, change_json
from recollect.model.query import Drop, Hit
from recollect.model.report import Activity, Figures, Outcomes, Trial
from recollect.model.timeline import Quote, Sessions, Timeline

MAX_JSON_CHARS = 8_000  # of a recall, as its text has; in full, and by id, there is no limit


class Scope(
    StrEnum
):  # whose store: this project's, the one for all projects, or what colleagues shared
    PROJECT = "project"
    USER = "user"
    TEAM = "team"


class Difference(Struct):  # one thing that a change did to a memory
    memory: str
    what: str  # `title`, `text`, `status`, or all of it: `created`, `2 messages added`
    before: str = ""
    after: str = ""
    lines: tuple[str, ...] = ()  # of a long text: lines that begin with a space, `-` or `+`


class Entry(Struct):  # one change in the journal
    change: str
    at: Moment
    op: str
    actor: str
    summary: str
    memories: tuple[str, ...]
    undoes: str | None = None
    undone_by: str | None = None
    purged: bool = False
    differences: tuple[Difference, ...] = ()  # only where they were asked for
    unlisted: int = 0  # memories that it touched beyond those listed
    text: str = ""  # what it did, in words; empty where nobody asked
    can_undo: bool = True

    @property
    def memory_count(self) -> int:
        return len(self.memories) + self.unlisted


class Finding(Struct):  # damage that `verify` found
    table: str
    key: str
    problem: str


class Counts(Struct):
    by_kind_and_status: tuple[tuple[str, str, int], ...]
    vectors_by_model: dict[str, int]
    messages: int
    bridges: int
    passages: int
    vectors: int
    changes: int
    bytes: int

    def as_json(self) -> dict[str, Json]:
        kinds: dict[str, dict[str, Json]] = {}
        for kind, status, count in self.by_kind_and_status:
            kinds.setdefault(kind, {})[status] = count
        return {
            "memories": {**kinds},
            **_fields(self, "messages bridges passages vectors changes bytes"),
        }


class OtherRule(Struct):  # a rule in force that another one may contradict
    id: str
    body: str
    is_newer: bool = False


class Card(Struct):  # a memory and its current state
    memory: Memory
    strength: float
    scope: Scope
    importance: int = (
        100  # shown to people, 0 to 100: how strong it still is, times how useful it has proved
    )
    replaces: tuple[str, ...] = ()  # of a rule that waits: the rules in force that it may replace
    contradicts: tuple[OtherRule, ...] = ()  # of a rule: others in force that it may contradict
    condition: Condition = Condition.ACTIVE
    context: Quote | None = (
        None  # of a rule: what it was made from, where its transcript is still there
    )

    relevance: float = 1.0  # how useful it has proved, by ratings and outcomes

    @property
    def version(self) -> str:
        """Of what it says: `edit --expect` refuses to change another one."""
        return version_of(self.memory)

    def as_json(self) -> dict[str, Json]:
        data = {
            **encode(self.memory),
            "strength": round(self.strength, 4),
            "relevance_score": round(self.relevance, 4),
            **_fields(self, "scope condition version"),
        }
        return _with(
            data,
            replaces=list(self.replaces),
            contradicts=[{"id": one.id, "body": one.body} for one in self.contradicts],
            context=encode(self.context),
        )


class Cards(Struct):
    cards: tuple[Card, ...]
    what: str  # what was listed, for the sentence when there is nothing: `threads`
    total: int = 0  # how many there are, on all pages
    offset: int | None = None  # of this page; None: a list without pages
    is_cut: bool = False  # there are more than `total`
    kind: Kind | None = None  # where memories of one kind were asked for
    others: int = 0  # where none is listed: how many of the kind the filters leave out

    @property
    def of(self) -> str:
        return f"more than {self.total - 1:,}" if self.is_cut else f"{self.total:,}"

    def as_json(self) -> Json:
        return [card.as_json() for card in self.cards]


class Shown(Struct):
    card: Card
    asked: str  # the id that was asked for: another one when the memory was merged
    messages: tuple[Message, ...]
    bridges: tuple[tuple[Bridge, str], ...]  # each with the title at its other end
    merged: tuple[str, ...]
    content: bool = False  # only what it says was asked for
    files: tuple[
        tuple[str, bool], ...
    ] = ()  # those that it is about, and whether each has changed since
    file: str = ""  # of a note: where it is

    @property
    def later(self) -> tuple[Message, ...]:
        """The messages that the body does not repeat."""
        return tuple(
            message for message in self.messages if message.content not in self.card.memory.body
        )

    @property
    def said(self) -> str:
        return "\n\n".join(
            filter(None, (self.card.memory.body, *(message.content for message in self.later)))
        )

    def as_json(self) -> dict[str, Json]:
        if self.content:
            return {"id": self.card.memory.id, "content": self.said}
        joined: list[Json] = [
            {**encode(bridge), "other_title": title} for bridge, title in self.bridges
        ]
        data = self.card.as_json() | _fields(self, "asked messages merged") | {"bridges": joined}
        files: list[Json] = [
            {"path": path, "changed": is_changed} for path, is_changed in self.files
        ]
        return _with(data, files=files, file=self.file)


class Recollection(Struct):  # one hit of a recall and its current state
    scope: Scope
    hit: Hit
    strength: float
    reactivated: bool = False
    condition: Condition = Condition.ACTIVE

    def as_json(self) -> dict[str, Json]:
        data = self.as_brief_json()
        data["components"] = dict(self.hit.components)
        data |= _fields(self, "condition")
        return data

    def as_brief_json(self) -> dict[str, Json]:
        """Without what only explains its score."""
        hit = self.hit
        data = _fields(hit.memory, "id kind title")
        data |= _fields(self, "scope")
        data |= _fields(hit.memory, "lane status")
        data |= {
            "weight": round(self.strength, 4),
            "relevance_score": round(hit.part("relevance"), 4),
            "_reactivated": self.reactivated,
            "score": round(hit.score, 4),
            "turn": hit.turn.id if hit.turn else "",
            "passages": [*hit.shown],
        }
        data |= _fields(hit.memory, "topics last_active_at")
        more = {name: encode(getattr(hit.memory, name, None)) for name in ("rule_type", "path")}
        return _with(data, stale=list(hit.stale), **more)


class Found(Struct):  # what a question found, what was left out and why, and how it was searched
    id: str
    query: str  # its beginning, where it is very long; without secrets
    at: Moment
    found: tuple[Recollection, ...]
    drops: tuple[Drop, ...]
    how: str  # `words and vectors`, or `words alone` and why
    ms: float = 0.0
    explained: bool = False  # asked to say why each was found, and what was left out
    numbers: bool = False  # asked to show every component of the scores, too
    left_out: tuple[
        tuple[Status, int], ...
    ] = ()  # how many more would have been found with another status filter
    judged: tuple[Hit, ...] = ()  # for a prompt: the best candidates, shown or not
    nearest: tuple[Recollection, ...] = ()  # where nothing matches: what came nearest
    beyond: int = 0  # how many more match, beyond the limit
    is_full: bool = (
        False  # there was no room for more of what was left out, so it was not all counted
    )
    are_more: bool = False  # not all candidates were looked at

    @property
    def is_cut(self) -> bool:
        """More match than were counted."""
        return self.are_more and self.beyond > 0

    def as_json(self) -> dict[str, Json]:
        data: dict[str, Json] = {
            "recall": self.id,
            "query": self.query,
            "how": self.how,
            "ms": round(self.ms, 2),
        }
        left: dict[str, Json] = {str(status): count for status, count in self.left_out}
        data["matches"] = len({one.hit.memory.id for one in self.found})
        data |= {"shown": len(self.found), "total": len(self.found) + self.beyond}
        data |= {"is_cut": True} if self.is_cut else {}
        data |= {"hits": encode(self.found), "left_out": left, "dropped": encode(self.drops)}
        return _with(data, nearest=[*map(_named, self.nearest)])


class Recalled(Struct):  # for an agent: what was found, with its bridges
    found: Found
    bridges: tuple[tuple[Bridge, str, str], ...]  # each with the titles at its ends
    all_bridges: int
    whole: Shown | None = None  # the one memory that was asked for by its id
    offset: int = 0  # where to go on in its text, which did not fit into one answer
    full: bool = False  # as JSON: with every component, and with what was left out

    def as_json(self) -> dict[str, Json]:
        joined: list[Json] = [
            {
                "source": link.source,
                "target": link.target,
                "type": str(link.type),
                "weight": round(link.weight, 4),
                "source_title": a,
                "target_title": z,
            }
            for link, a, z in self.bridges
        ]
        data = {**self.found.as_json(), "bridges": joined, "all_bridges": self.all_bridges}
        data = _with(data, memory=self.whole.as_json() if self.whole else None)
        if self.full or self.whole:
            return data
        data.pop("dropped")
        hits = [one.as_brief_json() for one in self.found.found]
        room = MAX_JSON_CHARS - _json_chars(
            data | {"hits": [hit | {"passages": []} for hit in hits]}
        )
        for hit, one in zip(hits, self.found.found, strict=True):
            hit["passages"] = [*_fitting(one.hit.shown, room)]
            room -= _json_chars(hit["passages"])
        return data | {"hits": [*hits]}


class Reasons(Struct):  # why things were shown: recalls, newest first, as they were logged
    recalls: tuple[Mapping[str, Json], ...]
    memory: str = ""
    now: Mapping[str, float] = field(
        default_factory=dict
    )  # how useful that memory has proved, by component
    quiet: bool = False  # it is muted: shown only when asked for
    numbers: bool = False  # asked to show every component of the scores, too
    unwanted: bool = False  # muted by a person's word

    def as_json(self) -> dict[str, Json]:
        return _fields(self, "memory now quiet unwanted recalls")


def foretold(summary: str) -> str:
    """The summary of a dry run, which sounds as if it were done unless it says `would` itself."""
    if summary.startswith(("Would ", "Nothing ", "No ")):
        return summary
    return f"Dry run: nothing was written. It would report: {summary}"


class Done(
    Struct
):  # a write, done or (dry run) only shown; several of them, if they are one change
    summary: str
    plan: Plan
    scope: Scope
    change: str | None
    dry_run: bool
    notes: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        return foretold(self.summary) if self.dry_run else self.summary

    def as_json(self) -> dict[str, Json]:
        changes: list[Json] = [change_json(change) for change in self.plan.changes]
        data = {"summary": self.said} | _fields(self, "change dry_run scope")
        data |= {
            "ids": list(self.plan.touched()),
            "changes": changes,
        }
        return data | _fields(self, "notes")


class History(Struct):
    entries: tuple[tuple[Scope, Entry], ...]
    is_cut: bool = False  # there are more

    def as_json(self) -> Json:
        listed: list[Json] = []
        for scope, entry in self.entries:
            data = {**encode(entry), "scope": str(scope)}
            differences, text = data.pop("differences"), data.pop("text")
            listed.append(_with(data, text=text, differences=differences))
        return listed


class Embedding(Struct):  # how many passages have vectors
    setting: str
    model: str  # its id; empty where it cannot be used, for which see `problem`
    passages: int = 0
    vectors: int = 0  # by this model
    others: int = 0  # by earlier models; removed once every passage has its own
    problem: str = ""

    @property
    def waiting(self) -> int:
        return max(0, self.passages - self.vectors)

    def as_json(self) -> dict[str, Json]:
        data = _fields(self, "setting model passages vectors waiting")
        return data | {"of_other_models": self.others, "problem": self.problem}


class Overview(Struct):
    version: str
    home: str
    project: str | None
    root: str | None
    stores: tuple[tuple[Scope, str, Counts], ...]
    backups: int
    set_aside: tuple[str, ...]
    settings_problems: int
    captured: Mapping[str, int] = field(
        default_factory=dict
    )  # how many prompts were stored or dropped, and why
    quiet: int = 0  # memories that are muted
    mirrors: Mapping[str, str] = field(
        default_factory=dict
    )  # copies for agents: on or off, and when written
    focus: tuple[Mapping[str, Json], ...] = ()
    llm: Mapping[str, Json] = field(
        default_factory=dict
    )  # whether models may be asked, their cost and its limit
    embedding: Embedding | None = None
    offers: tuple[str, ...] = ()  # memories of other folders that may be this project's
    agents: tuple[str, ...] = ()  # that call us, by name

    def as_json(self) -> dict[str, Json]:
        stores = [
            {"scope": str(where), "path": path, **encode(has)} for where, path, has in self.stores
        ]
        return _fields(self, " ".join(self.__dataclass_fields__)) | {"stores": [*stores]}


class Verified(Struct):
    stores: tuple[tuple[Scope, str, tuple[Finding, ...]], ...]

    @property
    def clean(self) -> bool:
        return not any(findings for _, _, findings in self.stores)

    def as_json(self) -> dict[str, Json]:
        stores = [
            {"scope": str(scope), "path": path, "findings": encode(found)}
            for scope, path, found in self.stores
        ]
        return {"clean": self.clean, "stores": [*stores]}


class Mark(StrEnum):
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"


class Check(Struct):
    name: str
    mark: Mark
    detail: str
    repair: str = ""  # the command that repairs it


class Checkup(Struct):
    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        return all(check.mark is not Mark.BAD for check in self.checks)

    def as_json(self) -> dict[str, Json]:
        return _fields(self, "healthy checks")


class Configured(Struct):
    settings: tuple[Mapping[str, str], ...]  # each with name, value, source and reason
    problems: tuple[str, ...]
    is_change: bool = False
    before: str | None = None  # what the user's own file had said; None: nothing
    dry_run: bool = False


class Suggested(Struct):  # what might be tidied up: the first of each, and how many there are
    merge_candidates: tuple[Mapping[str, Json], ...]
    split_candidates: tuple[Mapping[str, Json], ...]
    recall_hints: tuple[Mapping[str, Json], ...]
    health: Mapping[str, Json]
    totals: Mapping[str, int]
    dry_run: bool
    applied: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Json]:
        data = _fields(self, "merge_candidates split_candidates recall_hints health totals")
        data |= {"dry_run": True} if self.dry_run else {}
        data |= _fields(self, "dry_run applied") if self.applied else {}
        return _with(data, notes=list(self.notes))


class Compacted(Struct):
    strategy: str
    dry_run: bool
    actions: tuple[Mapping[str, Json], ...]
    before: Mapping[str, Json]
    after: Mapping[str, Json]  # in a dry run: what would be
    scope: Scope
    change: str | None
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        said = "Dry run: nothing was written." if self.dry_run else "Compaction complete."
        return f"{said} {self.before['active_threads']} \u2192 {self.after['active_threads']} active threads."

    def as_json(self) -> dict[str, Json]:
        return _with(
            _fields(self, "strategy dry_run actions before after change"), notes=list(self.notes)
        )


class Summary(
    Struct
):  # a small answer without a shape of its own: a sentence for people, the facts for programs
    summary: str
    facts: Mapping[str, Json]
    notes: tuple[str, ...] = ()
    is_verbatim: bool = (
        False  # lines that must stay as they are: for programs, or differences between files
    )

    @property
    def said(self) -> str:
        is_dry_run = self.facts.get("dry_run") is True and not self.is_verbatim
        return foretold(self.summary) if is_dry_run else self.summary

    def as_json(self) -> dict[str, Json]:
        return {"summary": self.said, **self.facts, "notes": list(self.notes)}


class Step(Struct):  # one step of the demo: why, the command a person would type, and its answer
    why: str
    command: str
    result: Result
    box: str = ""  # the title of a frame around the answer, if any


class Tour(Struct):
    steps: tuple[Step, ...]
    ending: tuple[str, ...] = ()

    def as_json(self) -> Json:
        return [
            {"why": s.why, "command": s.command, "result": encode(s.result)} for s in self.steps
        ]


Result = (
    Cards | Shown | Found | Recalled | Reasons | Done | History | Overview
    | Suggested | Compacted | Verified | Checkup | Configured | Summary | Tour | Activity | Trial | Figures
    | Sessions | Timeline | Outcomes
)  # fmt: skip


def _json_chars(value: Json) -> int:
    return len(json.dumps(value, ensure_ascii=False, indent=2))


def _fitting(passages: tuple[str, ...], room: int) -> list[str]:
    """The first of them, as far as there is room."""
    kept: list[str] = []
    for passage in passages:
        room -= _json_chars(passage)
        if room < 0:
            break
        kept.append(passage)
    return kept


def _named(one: Recollection) -> Json:
    return {
        "id": one.hit.memory.id,
        "title": one.hit.memory.title,
        "kind": str(one.hit.memory.kind),
    }


def _fields(value: object, names: str) -> dict[str, Json]:
    return {name: encode(getattr(value, name)) for name in names.split()}


def _with(data: dict[str, Json], **more: Json) -> dict[str, Json]:
    """What is empty is left out."""
    return data | {name: value for name, value in more.items() if value}
