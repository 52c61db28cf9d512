"""For tests of the store: changes applied, questions asked as the product asks them, all of a store as one value,
vectors small enough to read, and programs that run at the same time."""

import os
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from recollect.app.memory_search import search_stores
from recollect.base.moment import Moment
from recollect.lifecycle import edits
from recollect.model.memory import Bridge, BridgeType, Memory, Message
from recollect.model.plan import Alias, Change, Create, Link, Plan
from recollect.model.query import Hit, Query
from recollect.model.session import LedgerKey, Pointer, Session, ShownMemory, Way
from recollect.ops.memories import load_whole
from recollect.store import LocalStore, Store
from tests.values import AGE, NOW, act, bridge, messages, plan, rule, thread

ROOT = Path(__file__).parents[2]
ME = LedgerKey("s-1")
# One of everything: what the fixture `house` holds.
AUTH = thread("Auth", body="getUserName and user_name", topics=("auth", "billing"))
SAID = messages(AUTH, "auth fails at night", "billing page is slow", "日本語 billing")
DEPLOY = thread("Deploy", body="Solana validators run at night", days_old=2)
DEPLOYED = messages(DEPLOY, "restart the validators")
TABS = rule("Tabs", body="We use tabs here", topics=("style",), days_old=5)
LINK = bridge(AUTH, DEPLOY, BridgeType.DEPENDS)
OLD = "thread_20250101_000000_000001"
HOUSE = (
    Create(AUTH, SAID),
    Create(DEPLOY, DEPLOYED),
    Create(TABS),
    Link(LINK),
    Alias(OLD, DEPLOY.id),
)
QUESTIONS = ("dark", "solana validators", "billing", "日本", "getUserName", "tabs", "about")


def do(store: Store, *changes: Change) -> str:
    """The id of the change."""
    done = act()
    assert store.apply(plan(*changes), done), "nothing was written"
    return done.change


def search(store: Store, query: Query) -> list[Hit]:
    return list(search_stores([store], query, now=NOW, rules=AGE).selected.hits)


def vector(*numbers: float) -> bytes:
    """As `put_vectors` and `nearest` take it: 32-bit floats."""
    return struct.pack(f"<{len(numbers)}f", *numbers)


def merge_plan(store: Store, keep: Memory, lose: Memory) -> Plan:
    return edits.merge(load_whole(store, keep), load_whole(store, lose), now=NOW, rules=AGE)


def delete_plan(store: Store, memory: Memory) -> Plan:
    return edits.delete(load_whole(store, memory))


def session(id: str = "s-1", *, last_at: Moment = NOW, number: int = 0, epoch: int = 0) -> Session:
    return Session(
        id=id, host="claude-code", started_at=NOW, last_at=last_at, number=number, epoch=epoch
    )


def show(store: LocalStore, key: LedgerKey, marks: Sequence[str], at: Moment = NOW) -> None:
    store.put(*(ShownMemory(mark, Way.TOLD, at, "", *key) for mark in marks))


def pointer(**given: object) -> Pointer:
    return replace(Pointer(name="turn-ended", host="claude-code", session="s-1", at=NOW), **given)  # type: ignore[arg-type]


@dataclass(frozen=True)
class State:
    memories: dict[str, Memory]
    messages: dict[str, tuple[Message, ...]]
    bridges: frozenset[Bridge]
    aliases: dict[str, str]
    found: dict[str, dict[str, tuple[float, str]]]


def state(store: Store) -> State:
    """All that can be seen of a store, which must be sound: two stores in the same state are equal."""
    assert store.verify() == []
    everything = list(store.each())
    return State(
        memories={memory.id: memory for memory, _ in everything},
        messages={memory.id: said for memory, said in everything},
        bridges=frozenset(store.bridges()),
        aliases={alias.old: alias.new for alias in store.records(Alias)},
        found={
            asked: {
                hit.memory.id: (round(hit.score, 12), hit.passage)
                for hit in search(store, Query(text=asked))
            }
            for asked in QUESTIONS
        },
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Every file and its bytes, except the empty helpers that SQLite leaves beside a log."""
    found = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    return {
        name: data
        for name, data in found.items()
        if not name.endswith("-shm") and (data or name[-4:] != "-wal")
    }


def traces(folder: Path, word: str) -> list[str]:
    """The files that hold this word, in any part."""
    return [str(p) for p in folder.rglob("*") if p.is_file() and word.encode() in p.read_bytes()]


def start(code: str, *args: str) -> subprocess.Popen[str]:
    """Python that can import the product and the tests."""
    env = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env=env,
    )


def finished(program: subprocess.Popen[str], timeout: float = 60) -> str:
    out, err = program.communicate(timeout=timeout)
    assert program.returncode == 0, err
    return out
