"""Two teams in one database: with the login of one, nothing of the other is seen, counted or changed, through the
store or by SQL of one's own. Where one login is in both, a setting picks."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

import psycopg
import pytest
from psycopg import sql

from recollect.base.errors import BadInput, Conflict, NotFound, TeamRefused
from recollect.model.memory import BridgeType, Lane
from recollect.model.plan import Alias, Create, Link, Remove, Say, Update, UpdateAll
from recollect.model.query import Query
from recollect.model.session import StateRecord
from recollect.store.postgres_admin import TeamLogin
from recollect.store.postgres_store import PostgresStore
from tests.store.helpers import AUTH, DEPLOY, HOUSE, OLD, SAID, TABS, do, state, vector
from tests.store.postgres import administrator, new_team
from tests.values import NOW, act, bridge, messages, note, plan, renamed, thread

CANARY = "xylocarp"
SECRET = thread(CANARY, body=f"{CANARY} at night", topics=(CANARY,), tags=(CANARY,), group=CANARY)


class Teams(NamedTuple):
    ours: PostgresStore
    theirs: PostgresStore
    login: TeamLogin  # ours
    other: TeamLogin


@pytest.fixture
def teams() -> Iterator[Teams]:
    """Theirs has one of everything; ours is empty."""
    mine, other = new_team(), new_team()
    with closing(PostgresStore(mine.url)) as ours, closing(PostgresStore(other.url)) as theirs:
        do(theirs, *HOUSE, Create(SECRET, messages(SECRET, CANARY)))
        theirs.put_vectors(
            "small", [(seq, vector(1, 0)) for seq, _ in theirs.vectorless("small", 100)]
        )
        theirs.put(StateRecord(CANARY, f'"{CANARY}"'))
        yield Teams(ours, theirs, mine, other)
        assert ours.verify() == theirs.verify() == []


@contextmanager
def raw(url: str) -> Iterator[psycopg.Connection[Any]]:
    with closing(psycopg.connect(url, autocommit=True)) as db:
        yield db


def tables() -> list[str]:
    ours = "relnamespace = 'recollect'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')"
    with raw(administrator()) as db:
        return [
            name for (name,) in db.execute(f"SELECT relname FROM pg_class WHERE {ours}".encode())
        ]


def everything() -> dict[str, list[Any]]:
    """All rows of all tables, as the administrator sees them."""
    with raw(administrator()) as db:
        return {
            name: sorted(
                db.execute(
                    sql.SQL("SELECT {}::text FROM recollect.{}").format(*[sql.Identifier(name)] * 2)
                )
            )
            for name in tables()
        }


# The schema


def test_every_table_has_forced_row_level_security_and_a_policy():
    new_team()
    with raw(administrator()) as db:
        found = db.execute(
            """SELECT relname, relrowsecurity, relforcerowsecurity,
               (SELECT count(*) FROM pg_policy WHERE polrelid = c.oid AND polcmd = '*'),
               ARRAY(SELECT attname::text FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid
                     AND a.attnum = i.indkey[0] WHERE i.indrelid = c.oid)
               FROM pg_class c WHERE relnamespace = 'recollect'::regnamespace AND relkind IN ('r', 'p')"""
        ).fetchall()
        kinds = db.execute(
            "SELECT DISTINCT relkind::text FROM pg_class WHERE relnamespace = 'recollect'::regnamespace"
        )
        assert {kind for (kind,) in kinds} == {"r", "i"}, (
            "no view, no sequence, nothing else that policies do not hold"
        )
    assert len(found) == 13
    for name, is_on, is_forced, policies, leading in found:
        assert (is_on, is_forced, policies) == (True, True, 1), name
        # The key and every index begin with the tenant; that of nearness cannot.
        assert name == "tenant" or set(leading) <= {
            "tenant",
            *(["data"] if name == "vector" else []),
        }, name


def test_a_login_has_no_rights_but_to_rows():
    login = new_team()
    with raw(administrator()) as db:
        [rights] = db.execute(
            """SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication, rolcanlogin
               FROM pg_roles WHERE rolname = %s""",
            [login.role],
        )
        assert rights == (False, False, False, False, False, True)
        [member] = db.execute(
            "SELECT rolcanlogin, rolsuper FROM pg_roles WHERE rolname = 'recollect_member'"
        )
        assert member == (False, False)
        granted = db.execute(
            """SELECT table_name, string_agg(privilege_type, ' ' ORDER BY privilege_type)
               FROM information_schema.table_privileges
               WHERE grantee = 'recollect_member' GROUP BY table_name"""
        )
        for name, privileges in granted:
            assert privileges == ("SELECT" if name == "tenant" else "DELETE INSERT SELECT UPDATE")


# The store

STRANGERS = (AUTH.id, DEPLOY.id, TABS.id, OLD, SECRET.id)
READS: dict[str, Callable[[PostgresStore], object]] = {
    "get": lambda s: [one for id in STRANGERS if (one := s.get(id))],
    "find": lambda s: [
        *s.find(Query(limit=-1)),
        *s.find(Query(like=CANARY)),
        *s.find(Query(topic=CANARY)),
    ],
    "order": lambda s: s.order(Query(limit=100)),
    "messages": lambda s: [*s.messages(AUTH.id), *s.messages(ids=[m.id for m in SAID])],
    "bridges": lambda s: s.bridges() + s.bridges(*STRANGERS),
    "each": lambda s: list(s.each()),
    "sketches": lambda s: s.sketches(),
    "words": lambda s: [*s.words(CANARY).terms[0].rows, *[0] * s.words(CANARY).passages],
    "about": lambda s: s.about(CANARY, 10) + s.about(SECRET.id, 10),
    "nearest": lambda s: s.nearest("small", vector(1, 0), 10, range(-50, 50)).near,
    "background": lambda s: any(s.nearest("small", vector(1, 0), 10, ()).background),
    "similarity": lambda s: s.similarity("small", vector(1, 0), STRANGERS),
    "vectorless": lambda s: s.vectorless("other", 100),
    "owners": lambda s: s.owners(range(100)),
    "pieces": lambda s: s.pieces(range(-50, 50)) + s.pieces(range(-50, 50), "small", vector(1, 0)),
    "places": lambda s: s.places(range(-50, 50), neighbours=100),
    "read_units": lambda s: s.read_units(range(-50, 50)),
    "records": lambda s: [
        *s.records(Alias),
        *s.records(StateRecord),
        *s.records(StateRecord, under=CANARY[:2]),
    ],
    "counts": lambda s: [
        *s.counts().by_kind_and_status,
        *[0] * sum((s.counts().messages, s.counts().bytes)),
    ],
    "tally": lambda s: [*s.tally(NOW.plus(days=-999))[0]],
    "log": lambda s: s.log(limit=100) + s.log(limit=9, memory=AUTH.id),
    "changes": lambda s: s.changes_after(0) + [0] * s.last_change(),
    "read_memories": lambda s: s.read_memories(STRANGERS),
    "version": lambda s: s.version(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_nothing_of_another_team_is_read(teams: Teams, read: Callable[[PostgresStore], object]):
    assert not read(teams.ours)
    assert read(teams.theirs), "or this proves nothing"


REFUSED: dict[str, Callable[[PostgresStore, str], object]] = {
    "update": lambda s, _: s.apply(plan(Update.between(TABS, renamed(TABS, "Mine"))), act()),
    "update of many": lambda s, _: s.apply(
        plan(UpdateAll((TABS.id, AUTH.id), {"status": "active"}, {"status": "archived"})), act()
    ),
    "say": lambda s, _: s.apply(plan(Say(AUTH.id, messages(AUTH, "mine"))), act()),
    "link": lambda s, _: s.apply(plan(Link(bridge(AUTH, TABS, BridgeType.SIBLING))), act()),
    "alias": lambda s, _: s.apply(plan(Alias("thread_x", AUTH.id)), act()),
    "undo": lambda s, change: s.undo(change, act()),
}
IDLE: dict[str, Callable[[PostgresStore], object]] = {
    "remove": lambda s: s.apply(plan(Remove(TABS)), act()),
    "use": lambda s: s.use(STRANGERS, lambda one: renamed(one, "Mine")),
    "purge": lambda s: s.purge(STRANGERS),
    "vectors": lambda s: s.put_vectors(
        "small", [(n, vector(0, 1)) for n in range(20)], drop_others=100
    ),
    "state": lambda s: s.put(StateRecord(CANARY, None)),
    "reindex": lambda s: s.reindex(),
}


@pytest.mark.parametrize("write", REFUSED.values(), ids=REFUSED)
def test_a_change_to_another_team_is_refused(
    teams: Teams, write: Callable[[PostgresStore, str], object]
):
    before, [entry] = state(teams.theirs), teams.theirs.log(limit=1)
    with pytest.raises((Conflict, NotFound)):
        write(teams.ours, entry.change)
    assert state(teams.theirs) == before


@pytest.mark.parametrize("write", IDLE.values(), ids=IDLE)
def test_what_finds_nothing_changes_nothing_of_another_team(
    teams: Teams, write: Callable[[PostgresStore], object]
):
    before = state(teams.theirs)
    write(teams.ours)
    assert state(teams.theirs) == before
    assert teams.theirs.counts().vectors == teams.theirs.counts().passages


def test_both_may_have_the_same_ids_and_neither_can_tell(teams: Teams):
    do(teams.ours, *HOUSE)
    do(teams.ours, Update.between(TABS, renamed(TABS, "Ours")))
    assert (teams.theirs.get(TABS.id), teams.ours.get(OLD)) == (TABS, DEPLOY)
    assert [row.seq for row in teams.ours.changes_after(0)] == [1, 2], (
        "numbers do not tell how much others write"
    )


# SQL of one's own

ATTACKS = (
    "SET recollect.tenant = '{tenant}'", "SET ROLE {role}", "SET ROLE postgres", "SET SESSION AUTHORIZATION {role}",
    "RESET ROLE", "RESET SESSION AUTHORIZATION", "SET row_security = off", "SET search_path = pg_temp, recollect",
    "SET ROLE recollect_member", "SET session_replication_role = replica",
    "ALTER TABLE recollect.memory DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE recollect.memory NO FORCE ROW LEVEL SECURITY",
    "CREATE POLICY p ON recollect.memory USING (true)", "DROP POLICY own_tenant ON recollect.memory",
    "ALTER POLICY own_tenant ON recollect.memory USING (true)", "GRANT {role} TO CURRENT_USER",
    "GRANT pg_read_all_data TO CURRENT_USER", "ALTER ROLE CURRENT_USER BYPASSRLS", "ALTER ROLE CURRENT_USER SUPERUSER",
    "INSERT INTO recollect.tenant VALUES ('{tenant}x', 'x', CURRENT_USER)",
    "UPDATE recollect.tenant SET role = CURRENT_USER", "DELETE FROM recollect.tenant",
    "CREATE OR REPLACE FUNCTION recollect.current_tenant() RETURNS text LANGUAGE sql STABLE RETURN '{tenant}'",
    "CREATE FUNCTION recollect.leak() RETURNS int LANGUAGE sql RETURN 1",
    "CREATE FUNCTION public.current_tenant() RETURNS text LANGUAGE sql RETURN '{tenant}'",
    "CREATE FUNCTION pg_temp.current_tenant() RETURNS text LANGUAGE sql RETURN '{tenant}'",
    "CREATE VIEW recollect.v AS SELECT * FROM recollect.memory", "CREATE TEMP VIEW v AS SELECT * FROM recollect.memory",
    "CREATE TABLE recollect.t (a int)", "CREATE TRIGGER t AFTER INSERT ON recollect.memory EXECUTE FUNCTION f()",
    "COPY recollect.memory TO PROGRAM 'cat'", "COPY recollect.memory TO '/tmp/stolen'",
    "TRUNCATE recollect.memory CASCADE", "LOCK TABLE recollect.memory IN ACCESS EXCLUSIVE MODE NOWAIT",
    "DROP SCHEMA recollect CASCADE", "DROP TABLE recollect.memory", "ALTER TABLE recollect.memory ADD COLUMN x int",
    "CREATE EXTENSION plpython3u", "VACUUM recollect.memory", "ANALYZE recollect.memory",
)  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_after_any_statement_the_other_team_is_neither_seen_nor_changed(teams: Teams, attack: str):
    before = everything()
    with raw(teams.login.url) as db:
        _tried(db, attack.format(tenant=teams.other.tenant, role=teams.other.role))
        check_walls(db, teams)
    assert everything() == before


def check_walls(db: psycopg.Connection[Any], teams: Teams) -> None:
    """Every table, by every kind of statement. What must not be is refused, or reaches no row."""
    for name in tables():
        table = f"recollect.{name}"
        rows = _tried(db, f"SELECT * FROM {table}")
        owned = [row for row in rows if row[0] != teams.login.tenant]
        assert owned == [], name
        assert _tried(
            db, f"SELECT count(*) FROM {table} WHERE tenant = '{teams.other.tenant}'"
        ) in ([], [(0,)])
        assert not [
            row
            for row in _tried(db, f"COPY (SELECT * FROM {table}) TO STDOUT")
            if CANARY in str(row)
        ]
        for change in (
            f"UPDATE {table} SET tenant = tenant WHERE tenant = '{teams.other.tenant}' RETURNING 1",
            f"UPDATE {table} SET tenant = '{teams.other.tenant}' RETURNING 1",
            f"DELETE FROM {table} WHERE tenant = '{teams.other.tenant}' RETURNING 1",
        ):
            assert _tried(db, change) == [], change
    assert (
        _tried(
            db,
            f"SELECT 1 FROM recollect.memory m JOIN recollect.posting p USING (tenant) WHERE p.term = '{CANARY}'",
        )
        == []
    )


def _tried(db: psycopg.Connection[Any], statement: str) -> list[Any]:
    """Its rows; none where it is refused, without a word of what it would have found."""
    refused = ""
    try:
        if statement.startswith("COPY"):
            with db.cursor() as cursor, cursor.copy(statement.encode()) as copy:
                return [bytes(part) for part in copy]
        cursor = db.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []
    except psycopg.Error as problem:
        refused = str(problem)
    assert CANARY not in refused
    return []


def test_a_row_for_another_team_is_refused_before_its_keys_are_looked_at(teams: Teams):
    """Else a duplicate or a missing reference would tell what the other team has."""
    known, unknown = AUTH.id, "thread_x"
    with raw(teams.login.url) as db:
        for statement in (
            "INSERT INTO recollect.alias (tenant, old, new, hash) VALUES ('{tenant}', '{id}', '{id}', '')",
            "INSERT INTO recollect.state (tenant, name, value, hash) VALUES ('{tenant}', '{id}', '1', '')",
            "INSERT INTO recollect.term VALUES ('{tenant}', '{id}', 1) ON CONFLICT DO NOTHING",
            "INSERT INTO recollect.term (tenant, term, passages) VALUES ('{tenant}', '{id}', 1)",
            "INSERT INTO recollect.counter (tenant) VALUES ('{tenant}') ON CONFLICT DO NOTHING",
        ):
            said = []
            for id in (known, unknown):
                with pytest.raises(psycopg.errors.InsufficientPrivilege) as refused:
                    db.execute(statement.format(tenant=teams.other.tenant, id=id).encode())
                said.append(str(refused.value))
            assert said[0] == said[1]
        # Under one's own tenant, what the other has is not there.
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            db.execute("INSERT INTO recollect.alias (old, new, hash) VALUES ('a', %s, '')", [known])


def test_a_function_that_tells_what_it_sees_sees_nothing(teams: Teams):
    told: list[str] = []
    with raw(teams.login.url) as db:
        db.add_notice_handler(lambda notice: told.append(str(notice.message_primary)))
        db.execute(
            """CREATE FUNCTION pg_temp.tell(said text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS
               $$ BEGIN RAISE NOTICE 'saw %', said; RETURN true; END $$"""
        )
        for table, column in (
            ("memory", "body"),
            ("message", "content"),
            ("posting", "term"),
            ("state", "value"),
        ):
            assert (
                db.execute(
                    f"SELECT * FROM recollect.{table} WHERE pg_temp.tell({column})".encode()
                ).fetchall()
                == []
            )
    assert told == []


def test_who_listens_to_another_team_hears_numbers(teams: Teams):
    with raw(teams.login.url) as db:
        db.execute(f'LISTEN "recollect_{teams.other.tenant}"'.encode())
        do(teams.theirs, Create(note(CANARY, body=CANARY)))
        [heard] = db.notifies(timeout=30, stop_after=1)
    assert heard.payload == str(teams.theirs.last_change())


# Several teams


def test_a_login_of_two_teams_names_one_and_writes_to_no_other(teams: Teams):
    with raw(administrator()) as db:
        db.execute(
            sql.SQL("GRANT {} TO {}").format(
                sql.Identifier(teams.other.role), sql.Identifier(teams.login.role)
            )
        )
    with pytest.raises(BadInput, match="several teams"):
        PostgresStore(teams.login.url)
    for team, title in ((teams.ours.team, "Ours"), (teams.theirs.team, "Theirs")):
        with closing(PostgresStore(teams.login.url, team=team)) as store:
            do(store, Create(note(title)))
            assert {m.title for m in store.find(Query(limit=50))} >= {title}
            assert (store.get(AUTH.id) is None) == (title == "Ours")
            assert store.verify() == []
    with raw(teams.login.url) as db:
        assert db.execute("SELECT count(*) FROM recollect.memory").fetchall() == [(0,)], (
            "none is picked"
        )
        db.execute("SET recollect.tenant = 'nobody'")
        assert db.execute("SELECT count(*) FROM recollect.memory").fetchall() == [(0,)]
    assert [m.title for m in teams.theirs.find(Query(like="Theirs", limit=1))] == ["Theirs"]
    with raw(administrator()) as db:
        db.execute(
            sql.SQL("REVOKE {} FROM {}").format(
                sql.Identifier(teams.other.role), sql.Identifier(teams.login.role)
            )
        )


def test_a_login_of_no_team_and_an_administrator_are_refused(teams: Teams):
    with pytest.raises(TeamRefused, match="does not belong"):
        PostgresStore(teams.login.url, team=teams.theirs.team)
    with pytest.raises(TeamRefused, match="administrator"):
        PostgresStore(administrator())
    with raw(administrator()) as db:
        db.execute("DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN")
    with pytest.raises(TeamRefused):
        PostgresStore(administrator().replace("postgres:@", "stranger@"))


def test_a_colleague_s_lane_is_kept(teams: Teams):
    lanes = [note(f"from {lane}", lane=lane) for lane in Lane]
    do(teams.ours, *map(Create, lanes))
    assert {m.lane for m in teams.ours.find(Query(limit=50))} == set(Lane)
    with pytest.raises(NotFound):
        teams.ours.undo(teams.theirs.log(limit=1)[0].change, act())
