-- The derived part of version 1, for test_migrate.py.
-- Derived from here on. A passage is a range of characters of a body or of one message.
CREATE TABLE passage (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    memory_seq      INTEGER NOT NULL REFERENCES memory (seq),
    message_id      TEXT,                       -- NULL: of the body
    start           INTEGER NOT NULL,
    length          INTEGER NOT NULL
);
CREATE INDEX passage_by_memory ON passage (memory_seq);

-- A title that was made from the text does not count twice in the passage that begins with it.
CREATE VIEW passage_text (seq, title, body, topics) AS
    SELECT p.seq,
           iif(p.message_id IS NULL AND p.start = 0
               AND substr(m.body, 1, length(rtrim(m.title, '…'))) = rtrim(m.title, '…'), '', m.title),
           substr(coalesce(g.content, m.body), p.start + 1, p.length), m.topics
    FROM passage p JOIN memory m ON m.seq = p.memory_seq LEFT JOIN message g ON g.id = p.message_id;

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
