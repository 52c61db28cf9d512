"""What an administrator of a PostgreSQL server does for teams: makes the schema or brings it up to date, creates a
team, and makes logins. `team_sql` gives the same statements to one who would rather run them with psql.

team_schema.sql is the first version, every later one a migration. Everything is one transaction under a lock, so it can
be run again, and by two at once. A login is a role of its own, a member of its team's role and of nothing else: it
cannot get past row-level security, whatever the administrator's own role may do. Its password is hashed here, so that
the server's log never sees it."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from recollect.base.errors import BadInput, NotFound, StoreForeign, TeamRefused
from recollect.base.ids import fresh_key
from recollect.store.postgres_connection import Connection, make_url, parse_url
from recollect.store.postgres_database import SCHEMA_VERSION, check_version

# MIGRATIONS[n] brings version n + 1 to n + 2, and replaces recollect.schema_version() by one that says so.
MIGRATIONS: tuple[str, ...] = ()
_LOCK = 0x5243_4C54  # "RCLT"
_ASK_ADMINISTRATOR = "It needs a role that may create schemas, extensions and roles. `--print-sql` shows what is run."

_PREPARE = f"""\
DO $check$ BEGIN
    PERFORM pg_advisory_xact_lock({_LOCK});
    IF current_setting('server_version_num')::integer < 150000 THEN
        RAISE EXCEPTION 'PostgreSQL 15 or newer is needed';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'recollect_member') THEN
        BEGIN
            CREATE ROLE recollect_member NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;  -- roles belong to the whole server: another database has just made it
        END;
    END IF;
END $check$;
CREATE SCHEMA IF NOT EXISTS recollect;
CREATE EXTENSION IF NOT EXISTS vector;
"""
_MIGRATE = """\
DO $migrate$ BEGIN
    IF (SELECT string_to_array(extversion, '.')::integer[] < '{{0,8}}' FROM pg_extension WHERE extname = 'vector') THEN
        RAISE EXCEPTION 'pgvector 0.8 or newer is needed: ALTER EXTENSION vector UPDATE';
    END IF;
    PERFORM set_config('search_path', (SELECT quote_ident(nspname) FROM pg_extension
        JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'vector'), true);
    IF to_regprocedure('recollect.schema_version()') IS NULL THEN
        EXECUTE $schema$
{schema}
$schema$;
    END IF;
    IF recollect.schema_version() > {version} THEN
        RAISE EXCEPTION 'a newer Recollect made this schema' USING ERRCODE = 'RC001';
    END IF;
{migrations}END $migrate$;
"""
_LOG_IN = """\
DO $team$
DECLARE
    team name;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN
        CREATE ROLE "{role}" LOGIN;
        ALTER ROLE "{role}" SET statement_timeout = '60s';
        ALTER ROLE "{role}" SET idle_in_transaction_session_timeout = '60s';
    END IF;
    INSERT INTO recollect.tenant (id, name, role) VALUES ('{tenant}', '{name}', '{role}') ON CONFLICT (name) DO NOTHING;
    SELECT role INTO STRICT team FROM recollect.tenant WHERE tenant.name = '{name}';
    IF team = '{role}' THEN
        GRANT recollect_member TO "{role}";
    ELSE
        EXECUTE format('GRANT %I TO "{role}"', team);
    END IF;
END $team$;
"""


class TeamLogin(NamedTuple):
    url: str  # with the login's own name and password
    tenant: str
    role: str
    is_new: bool


def create_team(url: str, name: str, *, timeout_s: float = 10.0) -> TeamLogin:
    """Creates the team, or brings its database up to date; either way with a new login."""
    _check_name(name)
    with closing(Connection(parse_url(url), timeout_s)) as db:
        return _log_in(db, name, _prepare_sql())


def join_team(url: str, name: str, *, timeout_s: float = 10.0) -> TeamLogin:
    """A login of the team is checked and stays what it is; an administrator's is exchanged for a new one."""
    _check_name(name)
    with closing(Connection(parse_url(url), timeout_s)) as db:
        sql = """SELECT recollect.schema_version(), rolname, rolsuper OR rolbypassrls OR pg_has_role(
                     current_user, (SELECT nspowner FROM pg_namespace WHERE nspname = 'recollect'), 'USAGE')
                 FROM pg_roles WHERE rolname = current_user"""
        [(version, role, is_administrator)] = db.run(sql)
        check_version(version)
        found = db.run("SELECT id FROM recollect.tenant WHERE name = $1", [name])
        if is_administrator and not found:
            raise NotFound(
                f"There is no team {name!r} in this database.", hint="Check the name, or create it."
            )
        if is_administrator:
            return _log_in(db, name, "")
        if not found:
            problem = f"This login ({role}) does not belong to the team {name!r}."
            raise TeamRefused(problem, hint="Use the login that the team gave you.")
        return TeamLogin(url, found[0][0], role, is_new=False)


def team_sql(name: str) -> str:
    """For psql. The new role has no password yet: a comment says how it gets one."""
    _check_name(name)
    role = _draw_role(name)
    return f"""\
-- Creates the team {name} for Recollect, or brings its schema up to date, and makes a login. For psql, as a role that
-- may create schemas, extensions and roles. It can be run again. Then give the login a password; psql hashes it itself:
--     \\password {role}
BEGIN;
{_prepare_sql()}{_login_sql(name, role)}COMMIT;
"""


def without_password(url: str) -> str:
    return make_url(
        {
            name: value
            for name, value in parse_url(url).items()
            if name not in ("password", "sslpassword")
        }
    )


def with_password(url: str, password: str) -> str:
    return make_url(parse_url(url) | {"password": password})


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z0-9-]{1,40}", name):
        problem = f"{name[:60]!r} cannot be a team's name."
        raise BadInput(problem, hint="1 to 40 small letters, digits and hyphens.")


def _draw_role(name: str) -> str:
    return f"recollect_{name}_{fresh_key()[:6]}"


def _prepare_sql() -> str:
    schema = Path(__file__).with_name("team_schema.sql").read_text(encoding="utf-8")
    later = [
        f"IF recollect.schema_version() = {number} THEN EXECUTE $migration${text}$migration$; END IF;\n"
        for number, text in enumerate(MIGRATIONS, start=1)
    ]
    return _PREPARE + _MIGRATE.format(
        schema=schema, version=SCHEMA_VERSION, migrations="".join(later)
    )


def _login_sql(name: str, role: str) -> str:
    return _LOG_IN.format(name=name, role=role, tenant=fresh_key()[:12])


def _log_in(db: Connection, name: str, before: str) -> TeamLogin:
    role, password = _draw_role(name), fresh_key()
    names = (password.encode(), role.encode(), b"scram-sha-256")
    hashed = db.use(lambda one: one.pgconn.encrypt_password(*names)).decode()
    script = (
        f"BEGIN; {before}{_login_sql(name, role)}ALTER ROLE \"{role}\" PASSWORD '{hashed}'; COMMIT"
    )
    try:
        db.run(script)
    except TeamRefused as problem:
        raise TeamRefused(problem.message, hint=_ASK_ADMINISTRATOR) from None
    except StoreForeign as problem:
        if before:  # it has just been made: something else is missing
            raise TeamRefused(problem.message, hint=_ASK_ADMINISTRATOR) from None
        raise
    [(tenant,)] = db.run("SELECT id FROM recollect.tenant WHERE name = $1", [name])
    params = db.params | {
        "user": role,
        "password": password,
        "dbname": db.use(lambda one: one.info.dbname),
    }
    return TeamLogin(make_url(params), tenant, role, is_new=True)
