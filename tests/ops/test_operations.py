"""Every operation: what a dry run leaves alone, every naughty string, no secret in any file."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from recollect.app.core import App
from recollect.base.errors import BadInput, NotFound, RecollectError, StoreReadOnly
from recollect.base.text import storable
from recollect.model.memory import Status
from recollect.model.plan import Create
from recollect.model.result import Done, Scope, Summary
from recollect.ops import memories, notes, recall, rules, steering, transfer, upkeep
from recollect.ops.steering import Verdict
from recollect.ops.table import OPS, Effect, Group, Op, Parameter
from tests.naughty import NAUGHTY
from tests.ops.ask import files, holding, kept, made, pinned
from tests.ops.conftest import Opens
from tests.ops.test_transfer import FILE, lines_of, write
from tests.redact.samples import SAMPLES, Sample
from tests.values import NOW, act, messages, plan, thread
from tests.values import rule as unsure


class World(NamedTuple):
    a: str
    b: str
    rule: str
    talk: str
    waiting: str
    quiet: str
    beside: str


def given(*args: Any, **options: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, options


WITHOUT_ARGUMENTS = (
    "install", "uninstall", "compact", "catch-up", "undo", "allow", "note sync", "sync", "skills",
    "import sessions", "reindex", "backup", "recover",
)  # fmt: skip
WRITES: dict[str, Callable[[World], tuple[tuple[Any, ...], dict[str, Any]]]] = {
    **dict.fromkeys(WITHOUT_ARGUMENTS, lambda w: given()),
    "pin": lambda w: given("new words", topics=("x",)),
    "focus": lambda w: given("deploy"),
    "unfocus": lambda w: given("billing"),
    "rate": lambda w: given(w.a, Verdict.USEFUL),
    "suggestions": lambda w: given("words", apply=True),
    "rule add": lambda w: given("Use tabs"),
    "capture": lambda w: given("we use spaces here"),
    "review": lambda w: given(run=True),
    "inbox accept": lambda w: given((w.waiting,)),
    "inbox edit": lambda w: given(w.waiting, "Use tabs in Makefiles"),
    "inbox reject": lambda w: given((w.waiting,)),
    "inbox settle": lambda w: given(w.rule, w.beside, keep=rules.Keep.OLDER),
    "link": lambda w: given(w.b, w.a),
    "unlink": lambda w: given(w.a, w.b),
    "merge": lambda w: given(w.a, w.b),
    "split": lambda w: given(w.talk, topics=("database",)),
    "restore": lambda w: given((w.quiet,)),
    "edit": lambda w: given(w.a, body="other words"),
    "note save": lambda w: given("new words"),
    "note evolve": lambda w: given("ask-anna", "Ask Ben."),
    "note archive": lambda w: given(("ask-anna",)),
    "forget": lambda w: given((w.rule, w.a)),
    "forget for good": lambda w: given((w.a,), delete=True),
    "forget every trace": lambda w: given((w.a,), purge=True),
    "appreciate": lambda w: given("ask-anna", "+2"),
    "validate": lambda w: given(run=True),
    "export": lambda w: given("out.jsonl"),
    "import jsonl": lambda w: given("in.jsonl", user=True),
    "import memory-folder": lambda w: given("theirs"),
    "import rules": lambda w: given("theirs/rules.md"),
    "import notes": lambda w: given("theirs"),
    "import claude-mem": lambda w: given("theirs/mem.db"),
    "import claude-recall": lambda w: given("theirs/recall.db"),
    "import mcp-memory": lambda w: given("theirs/memory.jsonl"),
    "config": lambda w: given("MEMORY_RECALL_FLOOR", "0.6"),
    "attach": lambda w: given("shop-0123456789ab"),
}


def run(app: App, name: str, world: World) -> Any:
    args, options = WRITES[name](world)
    return next(op for op in OPS if f"{name} ".startswith(f"{op.name} ")).function(
        app, *args, **options
    )


@pytest.fixture
def world(open_app: Opens, monkeypatch: pytest.MonkeyPatch) -> World:
    (Path.home() / ".claude").mkdir()
    for name in ("MEMORY_RULES_SYNC", "MEMORY_SKILLS"):
        monkeypatch.setenv(name, "on")
    app = open_app()
    talk, quiet = thread("talk"), thread("quiet", outcomes="-" * 50)
    waiting = unsure("Use conventional commits.", status=Status.CANDIDATE)
    app.writer(Scope.PROJECT).apply(
        plan(
            Create(talk, messages(talk, "The login form.", "The database.")),
            Create(quiet),
            Create(waiting),
        ),
        act(summary="talk"),
    )
    a, b, rule = pinned(app, "a"), pinned(app, "b"), made(rules.add(app, "Use pnpm"))
    beside = made(rules.add(app, "Use npm, too"))
    notes.save(app, "Ask Anna.", title="Ask Anna")
    notes.save(app, "Always.", always=True, project=True)
    notes.save(app, "Perhaps.", title="Later", inbox=True)
    memories.link(app, a, b)
    steering.focus(app, "billing")
    upkeep.backup(app)
    transfer.export(app, "in.jsonl")
    theirs(Path("theirs"))
    app.close()
    return World(a, b, rule, talk.id, waiting.id, quiet.id, beside)


def theirs(folder: Path) -> None:
    """What other programs remembered."""
    folder.mkdir()
    (folder / "rules.md").write_text("- Use tabs, never spaces\n", encoding="utf-8")
    entity = {
        "type": "entity",
        "name": "Ledger",
        "entityType": "x",
        "observations": ["Keeps every payment for ever"],
    }
    (folder / "memory.jsonl").write_text(json.dumps(entity), encoding="utf-8")
    tables = {
        "mem": (
            "observations (id INTEGER, title TEXT)",
            "observations VALUES (1, 'The cookie is set late')",
        ),
        "recall": (
            "memories (key TEXT, value TEXT)",
            "memories VALUES ('k', '\"The cookie is set late\"')",
        ),
    }
    for name, (columns, row) in tables.items():
        with closing(sqlite3.connect(folder / f"{name}.db", isolation_level=None)) as db:
            db.execute(f"CREATE TABLE {columns}")
            db.execute(f"INSERT INTO {row}")


def test_every_operation_that_changes_anything_is_tried_here():
    """Those of teams need a server: tests/team."""
    assert set(WRITES) >= {
        op.name for op in OPS if op.effect is not Effect.READ and op.group is not Group.TEAMS
    }


@pytest.mark.parametrize("name", WRITES)
def test_a_dry_run_shows_what_the_real_one_does(
    name: str, world: World, open_app: Opens, tmp_path: Path
):
    before = files(tmp_path)
    app = open_app(dry_run=True)
    shown = run(app, name, world)
    app.close()
    assert files(tmp_path) == before
    assert shown.facts["dry_run"] if isinstance(shown, Summary) else shown.dry_run
    if isinstance(shown, Done):  # else there is no plan to compare
        done = run(open_app(), name, world)
        assert isinstance(done, Done)
        assert [type(change) for change in shown.plan.changes] == [
            type(change) for change in done.plan.changes
        ]
        assert shown.plan


@pytest.mark.parametrize(
    "name",
    [
        "pin",
        "rule add",
        "note save",
        "export",
        "import jsonl",
        "import sessions",
        "backup",
        "reindex",
        "recover",
    ],
)
def test_a_dry_run_makes_no_home(name: str, world: World, open_app: Opens, tmp_path: Path):
    app = open_app(home=tmp_path / "elsewhere", dry_run=True)
    run(app, name, world)
    assert not (tmp_path / "elsewhere").exists()


def test_a_dry_run_leaves_a_damaged_store_where_it_is(
    world: World, open_app: Opens, tmp_path: Path
):
    store = open_app().store_path(Scope.PROJECT)
    assert store is not None
    store.write_bytes(b"\x00" * 4096 + store.read_bytes()[4096:])
    before = files(tmp_path)
    told = upkeep.recover(open_app(dry_run=True))
    assert files(tmp_path) == before
    assert "Would bring back" in told.summary


TEXTS = [
    (op, taken)
    for op in OPS
    for taken in (
        op.parameters if op.name in ("import jsonl", "attach", "forget") or not op.cli_only else ()
    )
    if taken.type in (str, tuple[str, ...]) and taken.name != "tag"
]


@pytest.mark.parametrize(("op", "taken"), TEXTS, ids=lambda value: value.name)
def test_no_text_breaks_an_operation(app: App, op: Op, taken: Parameter):
    """Whatever else it needs is in order."""
    id = pinned(app, "An anchor.")
    enough: dict[type, Any] = {
        str: id,
        tuple[str, ...]: (id,),
        Verdict: Verdict.USEFUL,
        rules.Keep: rules.Keep.BOTH,
    }
    needs = {
        other.name: enough[other.type]
        for other in op.parameters
        if other.required and other != taken
    }
    app.dry_run = op.name == "edit"  # each would be on top of the one before
    is_main = taken == next(other for one, other in TEXTS if one == op)
    for text in NAUGHTY if is_main else NAUGHTY[::4]:
        with suppress(BadInput, NotFound, StoreReadOnly):
            op.function(app, **needs, **{taken.name: text or "-" if taken.type is str else (text,)})
    app.dry_run = False
    assert kept(app, id).body == "An anchor."
    assert upkeep.verify(app).clean


def test_what_was_pinned_is_what_was_given_and_can_be_found_again(app: App):
    given = {}
    for text in NAUGHTY:
        with suppress(RecollectError):
            given[pinned(app, text)] = text
    assert len(given) > len(NAUGHTY) * 0.9
    for id, text in given.items():
        clean = app.redactor.clean(storable(text)).text
        assert kept(app, id).body == clean
    assert len(list(app.reader(Scope.PROJECT).each())) == len(given)


@pytest.mark.parametrize(
    "text", ["getUserName", "日本語テキスト", "русский", "O'Reilly", "C++", "NEAR(a b, 2)", 'a"b']
)
def test_a_rule_of_odd_words_said_twice_is_still_one(app: App, text: str):
    rules.add(app, text)
    rules.add(app, text)
    assert [card.memory.seen for card in rules.listing(app).cards] == [2]


# One of each of a few kinds: every kind through one operation, not every operation.
FEW = tuple(
    {
        s.kind: s for s in SAMPLES if len(s.text) < 80 and "\n" not in s.text and "," not in s.text
    }.values()
)[:12]


def test_every_kind_of_secret_is_kept_out_of_every_file(app: App, tmp_path: Path):
    for sample in SAMPLES:
        done = memories.pin(app, f"Note: {sample.text} (end)", title="a title")
        assert done.notes, sample.kind
    transfer.export(app, "out.jsonl")
    upkeep.backup(app)
    app.close()
    found = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert [s.kind for s in SAMPLES if any(s.secret.encode() in content for content in found)] == []


@pytest.mark.parametrize("sample", FEW, ids=lambda sample: sample.kind)
def test_a_secret_is_kept_out_of_every_argument(app: App, tmp_path: Path, sample: Sample):
    text = f"see {sample.text}"
    id = pinned(app, "x", title=text, topics=(text,))
    memories.edit(app, id, title=f"again {text}", body=text, topics=text)
    rules.add(app, text, topics=(text,))
    recall.search(app, (text,))
    app.close()
    assert holding(tmp_path, sample.secret) == []


def test_private_blocks_are_not_kept(app: App, tmp_path: Path):
    done = memories.pin(
        app,
        "before <private>my own business</private> after",
        title="<private>mine</private> title",
    )
    app.close()
    assert holding(tmp_path, "my own business") == []
    assert kept(app, made(done)).body == "before [private] after"
    assert done.notes


def test_an_import_cannot_bring_secrets_in(app: App, open_app: Opens, tmp_path: Path):
    sample = FEW[0]
    pinned(app, "Plain words.")
    transfer.export(app, "clean.jsonl")
    lines = lines_of("clean.jsonl")
    lines[1]["memory"] |= {
        "body": sample.text,
        "title": sample.text,
        "topics": [sample.text],
        "group": sample.text,
    }
    lines[1]["memory"]["ratings"] = [
        {"useful": True, "timestamp": NOW.iso(), "reason": sample.text}
    ]
    lines[1]["memory"]["anchors"] = [{"path": sample.text, "hash": ""}]
    lines[1]["messages"][0] |= {"content": sample.text, "source": sample.text}
    write(lines)
    other = open_app(home=tmp_path / "other")
    transfer.import_jsonl(other, FILE)
    other.close()
    assert holding(tmp_path / "other", sample.secret) == []


def test_equal_secrets_get_equal_marks_in_one_home_and_others_elsewhere(
    open_app: Opens, tmp_path: Path
):
    sample = FEW[0]

    def mark(home: Path) -> str:
        app = open_app(home=home)
        return kept(app, pinned(app, sample.text)).body

    assert mark(tmp_path / "one") == mark(tmp_path / "one") != mark(tmp_path / "two")


def test_the_journal_and_the_log_hold_no_words(app: App):
    a, b = pinned(app, "Xylographer one"), pinned(app, "Xylographer two")
    memories.link(app, a, b)
    app.close()
    logs = (app.home.logs / "recollect.log").read_text()
    assert "Xylographer" not in logs
    assert a in logs
