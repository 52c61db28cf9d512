"""Secrets: is any of them found on disk, what is wrongly taken for one, and what looking for them costs.

    stored      made-up secrets of every kind, inside tool output, through the real App: which are in a sink in clear
    spelt       the same, escaped, URL-encoded, in base64, cut in two: which survive cleaning
    forms       keys of every provider in the forms people write them in (secret_forms.py): which survive cleaning
    ordinary    lines of the installed standard library that are changed
    cost        what looking for them costs (secret_cost.py)

Secrets are drawn from a seed when it runs (secret_samples.py); none is anyone's. What a secret is, `redact` says.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import apsw

from bench.report import Report, share
from bench.secret_cost import Cost, run_cost, sources
from bench.secret_forms import draw_forms
from bench.secret_rules import Rule, load_rules, sees
from bench.secret_samples import TEMPLATES, Sample, draw
from recollect.app.core import MAX_TITLE_CHARS, MAX_TOPIC_CHARS, App
from recollect.base import project as projects
from recollect.base.clock import SystemClock
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.model.memory import Message, Thread
from recollect.model.plan import Create, Plan
from recollect.model.result import Done, Scope
from recollect.ops import memories, recall, rules, transfer, upkeep
from recollect.redact import Redactor
from recollect.store import Progress
from recollect.wire import pointer
from recollect.wire.place import Place

MOST_FALSE = 0.005
MOST_MISSED = (
    0.01  # of the forms the patterns were tuned on, and of what other rules see in any form
)
_TOGETHER = 5  # secrets in one output
_KEY = b"a key for benchmarks"

# What tools print. `{}` is where the secret's line stands; `json` marks output that arrives as JSON.
_OUTPUTS = (
    "$ env | sort\nHOME=/home/dev\nLANG=C.UTF-8\n{}\nSHELL=/bin/bash\n",
    "$ cat config/local.settings\n# do not commit\ndebug = true\n{}\nworkers = 4\n",
    "$ curl -v https://api.example.test/v1\n> GET /v1 HTTP/1.1\n> Host: api.example.test\n> {}\n< HTTP/1.1 200\n",
    "diff --git a/.env b/.env\n@@ -1,3 +1,3 @@\n PORT=8080\n+{}\n-REGION=eu-1\n",
    'Traceback (most recent call last):\n  File "app.py", line 41, in connect\n    raise Refused\nRefused: {}\n',
    "2026-11-15T09:00:00Z ERROR worker-3 request failed: {} (attempt 2 of 5)\n",
    "Name:         app\nNamespace:    default\nEnvironment:\n      LOG_LEVEL:  info\n      {}\nMounts:       <none>\n",
    'json:{{"type": "tool_result", "content": [{{"type": "text", "text": {}}}], "is_error": false}}',
    "::group::Run ./deploy\n##[debug]evaluating inputs\n{}\n::endgroup::\nError: Process completed with exit code 1.\n",
    "| name | value |\n|---|---|\n| setting | {} |\n",
)
_WORDS = "the build of this service failed again after we changed how the worker reads its settings from disk".split()


@dataclass(frozen=True, slots=True)
class Stored:
    secrets: int
    kinds: int
    memories: int
    database: int
    full_text: int
    vector_texts: int
    journal: int
    logs: int
    spool: int
    exports: int

    @property
    def in_clear(self) -> int:
        return sum(
            (
                self.database,
                self.full_text,
                self.vector_texts,
                self.journal,
                self.logs,
                self.spool,
                self.exports,
            )
        )


@dataclass(frozen=True, slots=True)
class Spelling:
    name: str
    secrets: int
    in_clear: int


@dataclass(frozen=True, slots=True)
class Forms:
    secrets: int
    in_clear: int
    share: float
    # What the rules of another scanner see, and how much of that is in clear; 0 without such rules.
    seen: int
    seen_in_clear: int
    seen_share: float


@dataclass(frozen=True, slots=True)
class Ordinary:
    files: int
    lines: int
    changed: int
    share: float


@dataclass(frozen=True, slots=True)
class SecretsReport(Report):
    stored: Stored
    spelt: tuple[Spelling, ...]
    tuned_forms: Forms
    held_forms: Forms
    ordinary: Ordinary
    cost: Cost
    in_time: bool
    """Whether the cost is within its limits here; no part of the verdict, for it is the machine's too."""

    @property
    def passed(self) -> bool:
        must = all(one.in_clear == 0 for one in self.spelt if one.name not in _REPORTED)
        few = all(
            share <= MOST_MISSED for share in (self.tuned_forms.share, self.held_forms.seen_share)
        )
        return self.stored.in_clear == 0 and must and few and self.ordinary.share <= MOST_FALSE


def run_secrets(
    folder: Path, *, secrets: int = 4_000, keys: int = 1_000, rules: Path | None = None, lines: int = 100_000,
    hostile: int = 60, seed: int = 1, progress: Progress,
) -> SecretsReport:  # fmt: skip
    samples = [_drawn(number, seed) for number in range(secrets)]
    total, done = secrets * 2 + lines + hostile, 0
    judges = load_rules(rules) if rules else ()

    def step(more: int) -> None:
        nonlocal done
        done += more
        progress(min(done, total), total)

    stored = _store(folder, samples, seed, step)
    spelt = tuple(_spelt(name, samples, step) for name in _SPELT)
    tuned, held = (_forms(keys, judges, held=held, seed=seed) for held in (False, True))
    ordinary = _ordinary(lines, step)
    cost = run_cost(hostile, seed, step)
    return SecretsReport(stored, spelt, tuned, held, ordinary, cost, cost.in_time)


def _drawn(number: int, seed: int) -> Sample:
    """Every template in turn, so that each kind has its share."""
    kind, template = TEMPLATES[number % len(TEMPLATES)]
    return draw(kind, template, seed * 1_000_003 + number)


# Through the real App


def _store(folder: Path, samples: list[Sample], seed: int, step: Callable[[int], None]) -> Stored:
    work = folder / "work"
    (work / ".git").mkdir(parents=True)
    app = App(
        home=Home(folder / "home"), project=projects.find(work, folder), settings=load(None, None, {}),
        clock=SystemClock(), actor="bench",
    )  # fmt: skip
    app.fills_vectors = False  # vectors are made of texts that are looked at below
    place = Place(str(folder / "home"), str(folder / "runtime"))
    chance = random.Random(f"{seed} outputs")
    try:
        for at in range(0, len(samples), _TOGETHER):
            some = samples[at : at + _TOGETHER]
            outputs = [_output(sample, chance) for sample in some]
            _use(app, place, outputs, [s.text for s in some if "\n" not in s.text], at // _TOGETHER)
            step(len(some))
        vector_texts = "\0".join(
            text for scope in Scope for _, text in app.reader(scope).vectorless("none", 10**9)
        )
        transfer.export(app, str(folder / "out.jsonl"))
        upkeep.backup(app)
        counted = sum(
            count for scope in Scope for *_, count in app.reader(scope).counts().by_kind_and_status
        )
        # While it is open: what is in the log of the database counts too.
        sinks = {
            "database": b"".join(_bytes(folder / "home", "memory.db*")),
            "vector_texts": vector_texts.encode(),
            "journal": b"".join(
                _asked(folder, "SELECT summary || coalesce(plan, '') FROM journal")
            ),
            "logs": b"".join(_bytes(folder / "home" / "logs", "*")),
            "spool": b"".join(_bytes(folder / "runtime", "*")),
            "exports": (folder / "out.jsonl").read_bytes(),
        }
        terms = b"\n".join(_asked(folder, "SELECT term FROM term"))
    finally:
        app.close()
    clear = {
        name: sum(_stands_in(sample, content) for sample in samples)
        for name, content in sinks.items()
    }
    return Stored(
        secrets=len(samples), kinds=len({sample.kind for sample in samples}), memories=counted,
        full_text=sum(_is_indexed(sample, terms) for sample in samples), **clear,
    )  # fmt: skip


def _use(app: App, place: Place, outputs: list[str], lines: list[str], number: int) -> None:
    """Every way in for text, in turn. Short fields get what fits whole: to cut a text before it is clean is to cut
    secrets in two."""
    text = "\n".join(outputs)
    title = next((line for line in lines if len(line) <= MAX_TITLE_CHARS), "output")
    topic = next((line for line in lines if len(line) <= MAX_TOPIC_CHARS), "output")
    match number % 4:
        case 0:
            id = _made(memories.pin(app, text, title=title, topics=(topic,)))
            memories.edit(app, id, body=f"{outputs[0]}\nrevised", title=topic)
        case 1:
            memories.delete(app, (_made(memories.pin(app, text, user=True)),))
        case 2:
            memories.pin(app, text)
            for line in lines:
                rules.add(app, f"Call the service with {line}")  # a secret alone is refused
            recall.search(app, (title,))
        case _:
            _say(app, outputs, title)
    event = {"hook_event_name": "UserPromptSubmit", "session_id": f"s{number}", "prompt": text}
    pointer.leave(
        place,
        pointer.make({"event": "UserPromptSubmit", "host": "bench"}, json.dumps(event).encode()),
    )
    app.log.line("bench", said=title, why=topic)


def _say(app: App, outputs: list[str], title: str) -> None:
    now = app.clock.now()
    thread = Thread(
        id=app.mint.draw("thread"), title=title, body=outputs[0], created_at=now, reinforced_at=now,
        last_active_at=now,
    )  # fmt: skip
    said = tuple(
        Message(app.mint.draw("message"), thread.id, now, "tool", output) for output in outputs
    )
    app.commit(
        Scope.PROJECT, "bench", lambda _: Plan((Create(thread, said),)), lambda _: "Kept a thread."
    )


def _made(done: Done) -> str:
    return next(change.memory.id for change in done.plan.changes if isinstance(change, Create))


def _output(sample: Sample, chance: random.Random) -> str:
    frame = chance.choice(_OUTPUTS)
    before, after = (" ".join(chance.choices(_WORDS, k=chance.randint(3, 20))) for _ in range(2))
    if frame.startswith("json:"):
        return frame[5:].format(json.dumps(f"{before}\n{sample.text}\n{after}"))
    return f"{before}\n{frame.format(sample.text)}\n{after}"


def _bytes(folder: Path, pattern: str) -> Iterator[bytes]:
    return (path.read_bytes() for path in sorted(folder.rglob(pattern)) if path.is_file())


def _asked(folder: Path, question: str) -> Iterator[bytes]:
    for path in sorted((folder / "home").rglob("memory.db")):
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as db:
            for (text,) in db.execute(question):
                yield str(text).encode()


def _stands_in(sample: Sample, content: bytes) -> bool:
    """Its longest line, as it is or as JSON spells it: of a key that is many lines one is too much."""
    line = max(sample.secret.split("\n"), key=len)
    return any(spelt.encode() in content for spelt in {line, json.dumps(line)[1:-1]})


def _is_indexed(sample: Sample, terms: bytes) -> bool:
    """Terms are small letters, cut at signs, and may have lost an ending."""
    piece = max("".join(c if c.isalnum() else " " for c in sample.secret.lower()).split(), key=len)
    return len(piece) >= 12 and piece[:-3].encode() in terms


# Otherwise spelt


def _escaped(text: str) -> str:
    return "".join(
        f"\\u{ord(c):04x}" if at % 4 == 1 and c.isascii() else c for at, c in enumerate(text)
    )


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


_SPELT: dict[str, Callable[[Redactor, Sample], bool]] = {
    "json": lambda redactor, s: _survives(
        redactor, json.dumps({"out": s.text}), json.dumps(s.secret)[1:-1]
    ),
    "json_letters": lambda redactor, s: _survives(redactor, _escaped(s.text), _escaped(s.text)),
    "json_slashes": lambda redactor, s: _survives(
        redactor, s.text.replace("/", "\\/"), s.secret.replace("/", "\\/")
    ),
    "url_encoded": lambda redactor, s: _survives(
        redactor, f"q={quote(s.text, safe='')}", quote(s.secret, safe="")
    ),
    "base64": lambda redactor, s: _survives(redactor, f"data: {_base64(s.text)}", _base64(s.text)),
    "base64_of_the_secret_alone": lambda redactor, s: _survives(
        redactor, _base64(s.secret), _base64(s.secret)
    ),
    "two_chunks": lambda redactor, s: _survives_in_two(redactor, s),
    "a_password_of_letters_alone": lambda redactor, s: _survives_as_letters(redactor, s),
}
# No promise: without what stood around it, much of this cannot be known; who cuts a text must clean it first; and
# letters alone may be the name of a variable.
_REPORTED = frozenset({"base64_of_the_secret_alone", "two_chunks", "a_password_of_letters_alone"})


def _spelt(name: str, samples: list[Sample], step: Callable[[int], None]) -> Spelling:
    redactor = Redactor(_KEY)
    survivors = sum(_SPELT[name](redactor, sample) for sample in samples)
    step(len(samples) // len(_SPELT))
    return Spelling(name, len(samples), survivors)


def _survives(redactor: Redactor, text: str, needle: str) -> bool:
    return needle in redactor.clean(text).text


def _survives_in_two(redactor: Redactor, sample: Sample) -> bool:
    at = sample.text.index(sample.secret) + len(sample.secret) // 2
    halves = (sample.text[:at], sample.text[at:])
    kept = [redactor.clean(half).text for half in halves]
    middle = len(sample.secret) // 2
    return sample.secret[:middle] in kept[0] and sample.secret[middle:] in kept[1]


def _survives_as_letters(redactor: Redactor, sample: Sample) -> bool:
    letters = draw("password", "db_password: «{L12}»", seed=sum(sample.text.encode()))
    return _survives(redactor, letters.text, letters.secret)


# In the forms people write


def _forms(keys: int, rules: tuple[Rule, ...], *, held: bool, seed: int) -> Forms:
    redactor = Redactor(_KEY)
    count = in_clear = seen = seen_in_clear = 0
    for sample in draw_forms(keys, held=held, seed=seed):
        survives = _survives(redactor, sample.text, sample.secret)
        is_seen = sees(rules, sample.text, sample.secret)
        count, in_clear = count + 1, in_clear + survives
        seen, seen_in_clear = seen + is_seen, seen_in_clear + (is_seen and survives)
    return Forms(
        count, in_clear, share(in_clear, count), seen, seen_in_clear, share(seen_in_clear, seen)
    )


# What is no secret


def _ordinary(lines: int, step: Callable[[int], None]) -> Ordinary:
    redactor = Redactor(_KEY)
    files = seen = changed = 0
    for path in sources():
        if seen >= lines:
            break
        text = "\n".join(
            path.read_text(encoding="utf-8", errors="replace").split("\n")[: lines - seen]
        )
        files += 1
        own = text.count("\n") + 1
        seen += own
        step(own)
        if redactor.clean(text).found:
            changed += max(1, sum(redactor.clean(line).text != line for line in text.split("\n")))
    return Ordinary(files, seen, changed, share(changed, seen))
