-- The first version of Recollect's database, one per project and one for the user. Once released it never changes:
-- what comes later is a migration (connect.py).
--
-- The truth:   memory, message, bridge, alias, journal. Every row carries a hash of its values, so that
--              a flipped bit is found by `verify` although SQLite itself would not see it.
-- Derived:     passage, words (full text), term, vector. They can be deleted and rebuilt (`reindex`).
-- State:       session, shown, state, event, act: who is talking, what they were shown, what was received and read.
--              Hashed too, not journalled, most of it kept for a while. No text that anyone said stands in it.
-- Outcomes:    how things went, and what had been shown before. Hashed, not journalled, kept for a while.
-- Times are microseconds since 1970 in UTC. Lists are JSON.

CREATE TABLE memory (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice: vectors in memory go by it
    id              TEXT    NOT NULL UNIQUE,
    kind            TEXT    NOT NULL CHECK (kind IN ('thread', 'rule', 'note')),
    title           TEXT    NOT NULL,
    topics          TEXT    NOT NULL,
    tags            TEXT    NOT NULL,
    status          TEXT    NOT NULL CHECK (status IN ('active', 'suspended', 'archived', 'superseded', 'candidate')),
    weight          REAL    NOT NULL,           -- as it was at reinforced_at; never decayed in place
    pinned          INTEGER NOT NULL,
    boost           REAL    NOT NULL,
    seen            INTEGER NOT NULL,
    frequency       INTEGER NOT NULL,
    last_session    INTEGER NOT NULL,
    activations     INTEGER NOT NULL,
    ratings         TEXT    NOT NULL,
    origin          TEXT    NOT NULL,
    lane            TEXT    NOT NULL CHECK (lane IN ('user', 'tool', 'agent', 'repository', 'web')),
    superseded_by   TEXT,
    "group"         TEXT    NOT NULL,
    anchors         TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    reinforced_at   INTEGER NOT NULL,
    last_active_at  INTEGER NOT NULL,
    own             TEXT    NOT NULL,           -- what only this kind has: drift, rule_type, path
    hash            BLOB    NOT NULL,
    body            TEXT    NOT NULL            -- last: what stands before it is read without it
);
CREATE INDEX memory_by_activity ON memory (kind, status, last_active_at);
CREATE INDEX memory_by_group ON memory ("group") WHERE "group" <> '';

CREATE TABLE message (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice, as a memory's
    id              TEXT    NOT NULL UNIQUE,
    thread_id       TEXT    NOT NULL REFERENCES memory (id) DEFERRABLE INITIALLY DEFERRED,
    at              INTEGER NOT NULL,
    source          TEXT    NOT NULL,
    content         TEXT    NOT NULL,
    hash            BLOB    NOT NULL
);
-- Order is made of values alone, so that a message that left and came back stands where it stood.
CREATE INDEX message_by_thread ON message (thread_id, at, id);

CREATE TABLE bridge (
    source          TEXT    NOT NULL REFERENCES memory (id) DEFERRABLE INITIALLY DEFERRED,
    target          TEXT    NOT NULL REFERENCES memory (id) DEFERRABLE INITIALLY DEFERRED,
    type            TEXT    NOT NULL,
    weight          REAL    NOT NULL,
    created_at      INTEGER NOT NULL,
    origin          TEXT    NOT NULL,
    hash            BLOB    NOT NULL,
    PRIMARY KEY (source, target, type)
) WITHOUT ROWID;
CREATE INDEX bridge_by_target ON bridge (target);

-- A merged memory answers under both ids.
CREATE TABLE alias (
    old             TEXT    NOT NULL PRIMARY KEY,
    new             TEXT    NOT NULL REFERENCES memory (id) DEFERRABLE INITIALLY DEFERRED,
    hash            BLOB    NOT NULL
) WITHOUT ROWID;
CREATE INDEX alias_by_new ON alias (new);

-- Everything that was done, with what was before. Order is the sequence, not the clock. A long piece of
-- work (an import) is several rows under one change.
CREATE TABLE journal (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    change          TEXT    NOT NULL,
    at              INTEGER NOT NULL,
    op              TEXT    NOT NULL,
    actor           TEXT    NOT NULL,
    summary         TEXT    NOT NULL,
    plan            TEXT,                       -- NULL once purged: it can be seen, no longer undone
    undoes          TEXT,                       -- the change that this one took back
    hash            BLOB    NOT NULL
);
CREATE INDEX journal_by_change ON journal (change);
CREATE INDEX journal_by_undoes ON journal (undoes) WHERE undoes IS NOT NULL;

CREATE TABLE journal_memory (
    id              TEXT    NOT NULL,
    seq             INTEGER NOT NULL REFERENCES journal (seq) ON DELETE CASCADE,
    PRIMARY KEY (id, seq)
) WITHOUT ROWID;
CREATE INDEX journal_memory_by_seq ON journal_memory (seq);

-- What was recalled, and why: the answer with every component, for `why`. The last thousand.
CREATE TABLE recall (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    id              TEXT    NOT NULL UNIQUE,
    at              INTEGER NOT NULL,
    answer          TEXT    NOT NULL,
    hash            BLOB    NOT NULL
);

CREATE TABLE recall_memory (
    id              TEXT    NOT NULL,
    seq             INTEGER NOT NULL REFERENCES recall (seq) ON DELETE CASCADE,
    PRIMARY KEY (id, seq)
) WITHOUT ROWID;
CREATE INDEX recall_memory_by_seq ON recall_memory (seq);

-- A passage is a range of characters of a body or of one message. What is ranked is that body or message, not the
-- memory; such a unit is known by one number: the memory's for a body, the message's below zero for a message.
CREATE TABLE passage (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    memory_seq      INTEGER NOT NULL REFERENCES memory (seq),
    message_seq     INTEGER,                    -- NULL: of the body
    start           INTEGER NOT NULL,
    length          INTEGER NOT NULL,
    voice           INTEGER NOT NULL,           -- in percent: how much of it is somebody speaking of himself
    unit            INTEGER AS (coalesce(-message_seq, memory_seq))
);
CREATE INDEX passage_by_memory ON passage (memory_seq, message_seq);

-- A title that was made from the text does not count twice in the passage that begins with it; and it says nothing
-- new of the other passages' meaning (own_title).
CREATE VIEW passage_text (seq, title, body, topics, own_title) AS
    SELECT p.seq,
           iif(p.message_seq IS NULL AND p.start = 0
               AND substr(m.body, 1, length(rtrim(m.title, '…'))) = rtrim(m.title, '…'), '', m.title),
           substr(coalesce(g.content, m.body), p.start + 1, p.length), m.topics,
           iif(instr(substr(m.body, 1, 200), rtrim(m.title, '…')), '', m.title)
    FROM passage p JOIN memory m ON m.seq = p.memory_seq LEFT JOIN message g ON g.seq = p.message_seq;

-- No text of its own: content is the view above, so every word is stored once.
CREATE VIRTUAL TABLE words USING fts5 (
    title, body, topics, content = 'passage_text', content_rowid = 'seq', tokenize = 'recollect'
);

-- In how many passages a term stands: the rarest words of a question are asked first. The empty term counts
-- all passages.
CREATE TABLE term (
    term            TEXT    NOT NULL PRIMARY KEY,
    passages        INTEGER NOT NULL
) WITHOUT ROWID;

-- Never compared across models.
CREATE TABLE vector (
    passage_seq     INTEGER NOT NULL REFERENCES passage (seq) ON DELETE CASCADE,
    model           TEXT    NOT NULL,
    data            BLOB    NOT NULL,
    hash            BLOB    NOT NULL,
    PRIMARY KEY (passage_seq, model)
) WITHOUT ROWID;

-- How many there are of a model, and how often that changed: a process that keeps vectors in memory sees in one
-- look whether its own are still right.
CREATE TABLE vector_count (
    model           TEXT    NOT NULL PRIMARY KEY,
    vectors         INTEGER NOT NULL,
    changes         INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER vector_added AFTER INSERT ON vector BEGIN
    INSERT INTO vector_count VALUES (new.model, 1, 1)
    ON CONFLICT (model) DO UPDATE SET vectors = vectors + 1, changes = changes + 1;
END;
CREATE TRIGGER vector_changed AFTER UPDATE ON vector BEGIN
    UPDATE vector_count SET changes = changes + 1 WHERE model = new.model;
END;
CREATE TRIGGER vector_removed AFTER DELETE ON vector BEGIN
    UPDATE vector_count SET vectors = vectors - 1, changes = changes + 1 WHERE model = old.model;
END;

-- An agent is the session's own ('') or one of its subagents.
CREATE TABLE session (
    id              TEXT    NOT NULL,
    agent           TEXT    NOT NULL,
    host            TEXT    NOT NULL,
    started_at      INTEGER NOT NULL,
    last_at         INTEGER NOT NULL,
    number          INTEGER NOT NULL,           -- counts sessions that were used; 0 until the first message
    epoch           INTEGER NOT NULL,           -- rises when the agent loses what it was shown
    hash            BLOB    NOT NULL,
    PRIMARY KEY (id, agent)
) WITHOUT ROWID;
CREATE INDEX session_by_time ON session (last_at);

-- The ledger: what an agent was shown, and is not shown again in this epoch.
CREATE TABLE shown (
    session         TEXT    NOT NULL,
    agent           TEXT    NOT NULL,
    epoch           INTEGER NOT NULL,
    way             TEXT    NOT NULL,           -- told, or reminded of before a tool ran: once each
    memory          TEXT    NOT NULL,
    at              INTEGER NOT NULL,
    call            TEXT    NOT NULL,           -- the tool call that it was shown before, if any
    hash            BLOB    NOT NULL,
    PRIMARY KEY (session, agent, epoch, way, memory)
) WITHOUT ROWID;
CREATE INDEX shown_by_memory ON shown (memory);

-- What a project or the user is about just now: heartbeat, focus, counters. JSON by name.
CREATE TABLE state (
    name            TEXT    NOT NULL PRIMARY KEY,
    value           TEXT    NOT NULL,
    hash            BLOB    NOT NULL
) WITHOUT ROWID;

-- Events that were received and wait to be looked at: where to read, never what was said. The same event comes
-- twice when a hook gave up on an answer that was on its way; its key says so.
CREATE TABLE event (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    key             TEXT    NOT NULL UNIQUE,
    name            TEXT    NOT NULL,
    host            TEXT    NOT NULL,
    session         TEXT    NOT NULL,
    agent           TEXT    NOT NULL,
    prompt          TEXT    NOT NULL,           -- its id
    calls           TEXT    NOT NULL,           -- ids of tool calls
    source          TEXT    NOT NULL,
    transcript      TEXT    NOT NULL,           -- where it stands, and how long it was
    size            INTEGER NOT NULL,
    cwd             TEXT    NOT NULL,
    at              INTEGER NOT NULL,
    hash            BLOB    NOT NULL
);

-- Which acts of transcripts were taken in, by a check sum: a fork, a resumed session or a file that was written anew
-- repeats lines, and none is taken in twice.
CREATE TABLE act (
    key             INTEGER PRIMARY KEY,
    change          TEXT    NOT NULL,           -- the import that took it in; what an undone import took in is new again
    hash            BLOB    NOT NULL
);

-- Texts are one line, redacted, 300 characters at most.
CREATE TABLE outcome (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    key             TEXT    NOT NULL UNIQUE,    -- the same thing read twice is one outcome
    kind            TEXT    NOT NULL,
    at              INTEGER NOT NULL,
    session         TEXT    NOT NULL,
    act             TEXT    NOT NULL,           -- the id of the call, the prompt, the notification
    agent           TEXT    NOT NULL,
    actor           TEXT    NOT NULL,
    action          TEXT    NOT NULL,
    next_state      TEXT    NOT NULL,
    tags            TEXT    NOT NULL,
    shown           TEXT    NOT NULL,           -- ids of memories
    hash            BLOB    NOT NULL
);
CREATE INDEX outcome_by_session ON outcome (session);
