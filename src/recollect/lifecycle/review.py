"""Which memories a language model is asked to review, and what its answers mean: for forgetting, the rules and notes
that are hardly used; for validation, what no longer holds, better titles, and what a memory claims to exist. Asks
nobody, reads no file, runs nothing (ops/forget.py, ops/validate.py).

`score = log2(1 + frequency) * e^(-0.003466 * sessions since the last access) + appreciation`: each use counts less than
the one before, and half as much for every 200 sessions without any."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from recollect.base.moment import Moment
from recollect.base.text import clip, one_line, storable
from recollect.lifecycle.edits import RULE_CHARS
from recollect.model.ask import read_by_id
from recollect.model.command import command_of
from recollect.model.memory import Kind, Lane, Memory, Status

# Forgetting

DECAY = 0.003466  # ln 2 / 200
MAX_CANDIDATES = 3
KEPT_FOR = 1.0  # what a review that keeps a memory adds to its appreciation
MAX_APPRECIATION = 1_000.0
_UNUSED_CHARS = 2_000
Verdict = Literal["keep", "cold"]


class Candidate(NamedTuple):
    memory: Memory
    score: float
    idle: int  # sessions since it was last used; never negative, even if the count fell back

    @classmethod
    def of(cls, memory: Memory, session: int) -> Candidate:
        """`session`: the session count of the memory's store."""
        idle = max(0, session - memory.last_session)
        return cls(
            memory,
            math.log2(1 + memory.frequency) * math.exp(-DECAY * idle) + memory.appreciation,
            idle,
        )


def is_eligible(memory: Memory) -> bool:
    return (
        memory.kind in (Kind.RULE, Kind.NOTE)
        and memory.status is Status.ACTIVE
        and not memory.pinned
    )


def candidates(
    memories: Iterable[Memory], *, session: int, born_before: Moment | None = None
) -> tuple[Candidate, ...]:
    """The lowest scores, the oldest of equals first. `born_before`: younger memories had no chance yet."""
    old = (one for one in memories if born_before is None or one.created_at < born_before)
    found = [Candidate.of(one, session) for one in old if is_eligible(one)]
    return tuple(
        sorted(found, key=lambda one: (one.score, one.memory.created_at, one.memory.id))[
            :MAX_CANDIDATES
        ]
    )


def raise_appreciation(memory: Memory, by: float) -> float:
    return max(0.0, min(MAX_APPRECIATION, memory.appreciation + by))


def format_unused(found: Sequence[Candidate]) -> str:
    return "\n\n".join(
        f"id: {memory.id}\nkind: {memory.kind}\nused: {memory.frequency} times, not in the last {idle} sessions\n"
        f"title: {memory.title}\n{clip(memory.body, _UNUSED_CHARS)}"
        for memory, _, idle in found
    )


def read_verdicts(text: str, found: Sequence[Candidate]) -> dict[str, Verdict]:
    """By id. Whatever is not a clear answer about one of these memories, or contradicts itself, is left out: nothing is
    put away in doubt."""
    said: dict[str, set[str]] = {}
    for id, entry in read_by_id(text, {one.memory.id for one in found}):
        said.setdefault(id, set()).add(str(entry.get("verdict")).strip().lower())
    return {
        id: verdict
        for id, words in said.items()
        for verdict in get_args(Verdict)
        if words == {verdict}
    }


# Validation

MAX_DESCRIPTION_CHARS = 160
_WHY_CHARS = 200
_SHOWN_CHARS = 3_000
_CONTENT_WORD = re.compile(r"\w{4,}")  # shorter ones only join others


class Check(NamedTuple):
    state: Literal["holds", "stale", "fix"]
    why: str = ""
    body: str = ""  # how it should read


def format_entries(memories: Iterable[Memory]) -> str:
    return "\n\n".join(
        f"id: {memory.id}\nkind: {memory.kind}\ntitle: {memory.title}\n{clip(memory.body, _SHOWN_CHARS)}"
        for memory in memories
    )


def read_checks(text: str, memories: Sequence[Memory]) -> dict[str, Check]:
    """By id. Whatever is not a clear answer about one of these memories is left out."""
    by_id = {memory.id: memory for memory in memories}
    found: dict[str, Check] = {}
    for id, entry in read_by_id(text, by_id):
        why, body = clip(_line(entry, "why"), _WHY_CHARS), _line(entry, "body")
        state = entry.get("state")
        if state == "fix" and 0 < len(body) <= RULE_CHARS and body != one_line(by_id[id].body):
            found.setdefault(id, Check("fix", why, body))
        elif state in ("fix", "stale", "holds"):
            found.setdefault(id, Check("holds" if state == "holds" else "stale", why))
    return found


def read_descriptions(text: str, memories: Sequence[Memory]) -> dict[str, str]:
    """Good titles by id. What a person said is shown as theirs, so its title may use only that person's words."""
    by_id = {memory.id: memory for memory in memories}
    found: dict[str, str] = {}
    for id, entry in read_by_id(text, by_id):
        line, memory = _line(entry, "description"), by_id[id]
        if len(line) > MAX_DESCRIPTION_CHARS or re.search(r"[<>]", line) or line == memory.title:
            continue
        said = " ".join((memory.title, memory.body, *memory.topics))
        own, words = (set(_CONTENT_WORD.findall(text.casefold())) for text in (said, line))
        is_agents = memory.lane is Lane.lowest(memory.lane, Lane.AGENT)
        if words and (is_agents or words <= own):
            found.setdefault(id, line)
    return found


def _line(entry: Mapping[str, object], name: str) -> str:
    value = entry.get(name)
    return one_line(storable(value)) if isinstance(value, str) else ""


def questions(memory: Memory) -> tuple[str, ...]:
    """What it should be found by: its title (for a note with a condition, the condition), and its topics."""
    texts = (one_line(memory.title), one_line(" ".join(memory.topics)))
    return tuple(dict.fromkeys(text for text in texts if any(char.isalnum() for char in text)))


# What a memory names

MAX_CLAIMS = 40
_MAX_CLAIM_CHARS = 20_000
_FENCED = re.compile(
    r"^[ \t]*(?:```|~~~)[^\n]*\n(.*?)(?:^[ \t]*(?:```|~~~)|\Z)", re.MULTILINE | re.DOTALL
)
_SPAN = re.compile(r"(?<!`)`([^`\n]{2,300})`(?!`)")
_PATH = re.compile(r"(?:\./|/|~/)?(?:[\w@.+-]+/)+[\w@.+-]*")
# In prose only with a folder and an ending, and not within an address.
_BARE = re.compile(
    r"(?<![\w./:~@-])(?:\./)?(?:[\w@+-][\w@.+-]*/)+[\w@+-][\w@.+-]*\.[A-Za-z]\w{0,7}(?![\w/])"
)
_PROMPT = re.compile(r"^[ \t]*[$>#][ \t]+(?=[\w./~-])")
_NAME = re.compile(r"[A-Za-z][\w.:@/-]*")
_PROGRAM = re.compile(r"[a-z][a-z0-9_.+-]*")
_PLACEHOLDERS = frozenset("<>{}*…")
_SCRIPTED = frozenset({"npm", "pnpm", "yarn", "bun"})
Claim = tuple[
    Literal["path", "program", "script", "target"], str
]  # a script of package.json, a target of a Makefile


# Folders that projects of all kinds have.
_USUAL_FOLDERS = frozenset(
    """src lib libs app apps packages pkg cmd internal test tests spec specs e2e docs doc scripts script tools tool bin
    config configs conf etc server client web www api backend frontend core common shared services service modules
    components pages models views controllers routes middleware db database migrations migrate schema sql public static
    assets styles templates infra deploy deployment ops ci docker k8s helm terraform ansible examples example bench
    benchmarks data fixtures crates plugins extensions hooks utils helpers types include resources .github .vscode
    .circleci .devcontainer""".split()
)
# What is built or fetched comes and goes, and what stands for a name is none.
_NO_FOLDERS = frozenset(
    """node_modules dist build out target coverage vendor tmp temp .venv venv __pycache__ .git path your my some foo bar
    application text image audio video font multipart http https ftp file origin upstream feature bugfix hotfix
    release""".split()
)
_FILE_NAME = re.compile(
    r"[\w@+-][\w@.+-]*\.(?!git$|com$|org$|net$|io$|dev$|ai$|app$)[A-Za-z][A-Za-z0-9]{0,7}"
    r"|(?:Docker|Make|Proc|Gem|Rake|Vagrant|Brew|Just)file|LICENSE|README|CODEOWNERS"
)
_FOLDER_NAME = re.compile(r"\.?[A-Za-z_][\w-]*")
_FAR_PARTS = 3  # `other/gone.py` may be another project's; `billing/api/pay.py` is hardly anything but a path


def may_be_of_project(path: str) -> bool:
    """Whether a relative path whose first folder does not exist is still meant as a file of this project. Not what may
    be an address, a package, a branch, a repository, a media type, or two words with a slash between them."""
    *folders, name = path.removeprefix("./").split("/")
    if not folders or not _FILE_NAME.fullmatch(name):
        return False
    if any(folder in _NO_FOLDERS or not _FOLDER_NAME.fullmatch(folder) for folder in folders):
        return False
    return folders[0] in _USUAL_FOLDERS or len(folders) + 1 >= _FAR_PARTS


def find_claims(text: str) -> tuple[Claim, ...]:
    """Each once: first those of fenced code, then those of other code, then those of prose."""
    text = text[:_MAX_CLAIM_CHARS]
    prose = _FENCED.sub("\n", text)
    typed = [
        line
        for block in _FENCED.finditer(text)
        for line in block[1].splitlines()
        if _PROMPT.match(line)
    ]
    found = [
        claim for code in (*typed, *_SPAN.findall(prose)) for claim in _claims_of_code(code.strip())
    ]
    found += [("path", path) for path in _BARE.findall(_SPAN.sub(" ", prose))]
    return tuple(dict.fromkeys(found))[:MAX_CLAIMS]


def _claims_of_code(code: str) -> Iterator[Claim]:
    prompt = _PROMPT.match(code)  # without one it may be words that are only written as code
    command = code[prompt.end() :] if prompt else code
    words = command.split()
    if _PATH.fullmatch(code):
        yield "path", code
    elif not words or not _PLACEHOLDERS.isdisjoint(command) or command_of(command) is None:
        return
    elif "/" in words[0] and _PATH.fullmatch(words[0]):
        yield "path", words[0]
    elif words[0] in ("make", "gmake"):
        yield from (("target", name) for name in words[1:2] if _NAME.fullmatch(name))
    elif words[0] in _SCRIPTED and words[1:2] == ["run"]:
        yield from (("script", name) for name in words[2:3] if _NAME.fullmatch(name))
    elif _PROGRAM.fullmatch(words[0]) and (
        prompt or any(word.startswith("-") for word in words[1:])
    ):
        yield "program", words[0]
