-- The first version of what teams share, in the schema `recollect` of a PostgreSQL database. Once released it never
-- changes: what comes later is a migration (postgres_admin.py). Tables and columns are those of schema.sql as far as
-- they are shared, with the same hashes; here is what differs.
--
-- A tenant is one team's memory. It leads every key and every index, so that a cluster can shard by it; SQL need not
-- name it. Row-level security is forced on every table: which tenant a login belongs to follows from its roles alone.
-- Row numbers are counted per tenant (`counter`): a sequence would tell one tenant how much another writes.
-- Texts are compared byte by byte (COLLATE "C"), as in SQLite. Only operators that are leakproof can use an index under
-- row-level security, and those of full text (GIN) are not: words are in a plain table, `posting`.

CREATE FUNCTION recollect.schema_version() RETURNS integer LANGUAGE sql IMMUTABLE RETURN 1;

CREATE TABLE recollect.tenant (
    id              text    COLLATE "C" PRIMARY KEY,
    name            text    COLLATE "C" NOT NULL UNIQUE,
    role            name    NOT NULL UNIQUE      -- its members are the team's logins
);
ALTER TABLE recollect.tenant ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY membership ON recollect.tenant FOR SELECT USING (EXISTS (
    SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = role AND pg_catalog.pg_has_role(current_user, r.oid, 'USAGE')));
CREATE POLICY administration ON recollect.tenant USING (pg_catalog.pg_has_role(
    current_user, (SELECT nspowner FROM pg_catalog.pg_namespace WHERE nspname = 'recollect'), 'USAGE'));

-- The roles of this login, by its grants: the policy above alone would look at every role and team of the server, for
-- each statement. OFFSET 0 keeps the planner from reading all grants.
CREATE FUNCTION recollect.own_roles() RETURNS name[] LANGUAGE sql STABLE RETURN (
    WITH RECURSIVE own (oid) AS (
        SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = current_user
        UNION SELECT given.roleid FROM own, LATERAL (
            SELECT m.roleid FROM pg_catalog.pg_auth_members m WHERE m.member = own.oid OFFSET 0) given)
    SELECT array_agg(pg_catalog.pg_get_userbyid(oid)) FROM own);

-- The team of this login. One that belongs to several picks one by the setting `recollect.tenant`; without that, or
-- with one it does not belong to, it has none.
CREATE FUNCTION recollect.current_tenant() RETURNS text LANGUAGE sql STABLE RETURN (
    SELECT CASE WHEN count(*) = 1 THEN min(id) END FROM recollect.tenant
    WHERE role = ANY (recollect.own_roles())
        AND id = coalesce(nullif(current_setting('recollect.tenant', true), ''), id));

CREATE TABLE recollect.memory (
    tenant          text    COLLATE "C" NOT NULL DEFAULT recollect.current_tenant(),
    seq             bigint  NOT NULL,
    id              text    COLLATE "C" NOT NULL,
    kind            text    COLLATE "C" NOT NULL CHECK (kind IN ('thread', 'rule', 'note')),
    title           text    COLLATE "C" NOT NULL,
    body            text    COLLATE "C" NOT NULL,
    topics          text    COLLATE "C" NOT NULL,
    tags            text    COLLATE "C" NOT NULL,
    status          text    COLLATE "C" NOT NULL
                    CHECK (status IN ('active', 'suspended', 'archived', 'superseded', 'candidate')),
    weight          double precision NOT NULL,
    pinned          bigint  NOT NULL,
    boost           double precision NOT NULL,
    seen            bigint  NOT NULL,
    frequency       bigint  NOT NULL,
    last_session    bigint  NOT NULL,
    activations     bigint  NOT NULL,
    ratings         text    COLLATE "C" NOT NULL,
    origin          text    COLLATE "C" NOT NULL,
    lane            text    COLLATE "C" NOT NULL,
    superseded_by   text    COLLATE "C",
    "group"         text    COLLATE "C" NOT NULL,
    anchors         text    COLLATE "C" NOT NULL,
    created_at      bigint  NOT NULL,
    reinforced_at   bigint  NOT NULL,
    last_active_at  bigint  NOT NULL,
    own             text    COLLATE "C" NOT NULL,
    hash            bytea   NOT NULL,
    group_head      text    COLLATE "C" GENERATED ALWAYS AS (left("group", 200)) STORED,  -- an index takes no long text
    PRIMARY KEY (tenant, seq),
    UNIQUE (tenant, id)
);
CREATE INDEX memory_by_activity ON recollect.memory (tenant, kind, status, last_active_at);
CREATE INDEX memory_by_group ON recollect.memory (tenant, group_head, seq) WHERE "group" <> '';

CREATE TABLE recollect.message (
    tenant          text    COLLATE "C" NOT NULL DEFAULT recollect.current_tenant(),
    seq             bigint  NOT NULL,
    id              text    COLLATE "C" NOT NULL,
    thread_id       text    COLLATE "C" NOT NULL,
    at              bigint  NOT NULL,
    source          text    COLLATE "C" NOT NULL,
    content         text    COLLATE "C" NOT NULL,
    hash            bytea   NOT NULL,
    PRIMARY KEY (tenant, seq),
    UNIQUE (tenant, id),
    FOREIGN KEY (tenant, thread_id) REFERENCES recollect.memory (tenant, id) DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX message_by_thread ON recollect.message (tenant, thread_id, at, id);

CREATE TABLE recollect.bridge (
    tenant          text    COLLATE "C" NOT NULL DEFAULT recollect.current_tenant(),
    source          text    COLLATE "C" NOT NULL,
    target          text    COLLATE "C" NOT NULL,
    type            text    COLLATE "C" NOT NULL,
    weight          double precision NOT NULL,
    created_at      bigint  NOT NULL,
    origin          text    COLLATE "C" NOT NULL,
    hash            bytea   NOT NULL,
    PRIMARY KEY (tenant, source, target, type),
    FOREIGN KEY (tenant, source) REFERENCES recollect.memory (tenant, id) DEFERRABLE INITIALLY DEFERRED,
    FOREIGN KEY (tenant, target) REFERENCES recollect.memory (tenant, id) DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX bridge_by_target ON recollect.bridge (tenant, target);

CREATE TABLE recollect.alias (
    tenant          text    COLLATE "C" NOT NULL DEFAULT recollect.current_tenant(),
    old             text    COLLATE "C" NOT NULL,
    new             text    COLLATE "C" NOT NULL,
    hash            bytea   NOT NULL,
    PRIMARY KEY (tenant, old),
    FOREIGN KEY (tenant, new) REFERENCES recollect.memory (tenant, id) DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX alias_by_new ON recollect.alias (tenant, new);

-- The order of `seq` is the order of commits: one writer of a tenant at a time. Readers follow it.
CREATE TABLE recollect.journal (
    tenant          text    COLLATE "C" NOT NULL DEFAULT recollect.current_tenant(),
    seq             bigint  NOT NULL,
    change          text    COLLATE "C" NOT NULL,
    at              bigint  NOT NULL,
    op              text    COLLATE "C" NOT NULL,
    actor           text    COLLATE "C" NOT NULL,
    summary         text    COLLATE "C" NOT NULL,
    plan            text    COLLATE "C",
    undoes          text    COLLATE "C",
    hash            bytea   NOT NULL,
    PRIMARY KEY (tenant, seq)
);
CREATE INDEX journal_by_change ON recollect.journal (tenant, change);
CREATE INDEX journal_by_undoes ON recollect.journal (tenant, undoes) WHERE undoes IS NOT NULL;

CREATE TABLE recollect.journal_memory (
    tenant          text    COLLATE "C" NOT NULL DEFAULT recollect.current_tenant(),
    id              text    COLLATE "C" NOT NULL,
    seq             bigint  NOT NULL,
    PRIMARY KEY (tenant, id, seq),
    FOREIGN KEY (tenant, seq) REFERENCES recollect.journal (tenant, seq) ON DELETE CASCADE
);
CREATE INDEX journal_memory_by_seq ON recollect.journal_memory (tenant, seq);

CREATE TABLE recollect.passage (
    tenant          text    COLLATE "C" NOT NULL DEFAULT recollect.current_tenant(),
    seq             bigint  NOT NULL,
    memory_seq      bigint  NOT NULL,
    message_seq     bigint,
    start           bigint  NOT NULL,
    length          bigint  NOT NULL,
    voice           bigint  NOT NULL,
    unit            bigint  GENERATED ALWAYS AS (coalesce(-message_seq, memory_seq)) STORED,
    PRIMARY KEY (tenant, seq),
    FOREIGN KEY (tenant, memory_seq) REFERENCES recollect.memory (tenant, seq)
);
CREATE INDEX passage_by_memory ON recollect.passage (tenant, memory_seq, message_seq);
CREATE INDEX passage_by_unit ON recollect.passage (tenant, unit);

-- Where a term stands. What BM25 needs is in the key's index.
CREATE TABLE recollect.posting (
    tenant          text    COLLATE "C" NOT NULL DEFAULT recollect.current_tenant(),
    term            text    COLLATE "C" NOT NULL,  -- a very long one by its check sum
    passage_seq     bigint  NOT NULL,
    frequency       real    NOT NULL,             -- weighted: twice in the title, 1.5 times among the topics
    size            integer NOT NULL,             -- words in the whole passage
    is_name         boolean NOT NULL,             -- in the title or the topics
    PRIMARY KEY (tenant, term, passage_seq) INCLUDE (frequency, size, is_name)
);

CREATE TABLE recollect.term (
    tenant          text    COLLATE "C" NOT NULL DEFAULT recollect.current_tenant(),
    term            text    COLLATE "C" NOT NULL,
    passages        bigint  NOT NULL,
    PRIMARY KEY (tenant, term)
);

CREATE TABLE recollect.vector (
    tenant          text    COLLATE "C" NOT NULL DEFAULT recollect.current_tenant(),
    passage_seq     bigint  NOT NULL,
    model           text    COLLATE "C" NOT NULL,
    dim             integer NOT NULL,
    data            halfvec NOT NULL,
    hash            bytea   NOT NULL,
    PRIMARY KEY (tenant, passage_seq, model),
    FOREIGN KEY (tenant, passage_seq) REFERENCES recollect.passage (tenant, seq) ON DELETE CASCADE ON UPDATE CASCADE
);
-- Shared by all tenants: a search goes on until enough of its own are found (hnsw.iterative_scan).
CREATE INDEX vector_by_nearness ON recollect.vector USING hnsw ((data::halfvec(384)) halfvec_cosine_ops) WHERE dim = 384;

CREATE TABLE recollect.state (
    tenant          text    COLLATE "C" NOT NULL DEFAULT recollect.current_tenant(),
    name            text    COLLATE "C" NOT NULL,
    value           text    COLLATE "C" NOT NULL,
    hash            bytea   NOT NULL,
    PRIMARY KEY (tenant, name)
);

-- The last number given in each table, how many words all passages have, and how often something was written.
CREATE TABLE recollect.counter (
    tenant          text    COLLATE "C" PRIMARY KEY DEFAULT recollect.current_tenant(),
    memory          bigint  NOT NULL DEFAULT 0,
    message         bigint  NOT NULL DEFAULT 0,
    passage         bigint  NOT NULL DEFAULT 0,
    journal         bigint  NOT NULL DEFAULT 0,
    words           bigint  NOT NULL DEFAULT 0,
    writes          bigint  NOT NULL DEFAULT 0
);

DO $$
DECLARE
    shared regclass;
BEGIN
    FOR shared IN SELECT oid FROM pg_catalog.pg_class
        WHERE relnamespace = 'recollect'::regnamespace AND relkind = 'r' AND relname <> 'tenant'
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', shared);
        EXECUTE format('CREATE POLICY own_tenant ON %s USING (tenant = (SELECT recollect.current_tenant()))'
                       ' WITH CHECK (tenant = (SELECT recollect.current_tenant()))', shared);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO recollect_member', shared);
    END LOOP;
END $$;
GRANT SELECT ON recollect.tenant TO recollect_member;
GRANT USAGE ON SCHEMA recollect TO recollect_member;
