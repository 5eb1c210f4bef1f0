import Storage

// By which lists find people, however many there are.
extension Schema {
    /// Of user: names or groups that are not indexed as they are now.
    static let isUnindexed = """
        indexed_groups <> groups OR indexed_name <> coalesce(given_name, '') || ' ' || coalesce(family_name, '')
        """

    static let search = SchemaStep(
        name: "0031-search", admits: "0026-operator",
        sql: """
            -- indexed_name, indexed_groups: of what user_word and user_group were made. Groups are indexed here, words by the
            -- server.
            ALTER TABLE user ADD COLUMN indexed_name TEXT NOT NULL DEFAULT ' ';
            ALTER TABLE user ADD COLUMN indexed_groups TEXT NOT NULL DEFAULT '[]';
            CREATE INDEX user_state ON user (state, created_at, id);
            CREATE INDEX user_unindexed ON user (id) WHERE \(isUnindexed);
            DROP INDEX user_pending;

            -- The words of a name in small letters, without accents; created_at: of the user.
            CREATE TABLE user_word (
                word TEXT NOT NULL,
                created_at INTEGER NOT NULL,
                user TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
                PRIMARY KEY (word, created_at, user)
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX user_word_user ON user_word (user, word);

            CREATE TABLE user_group (
                name TEXT NOT NULL,
                created_at INTEGER NOT NULL,
                user TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
                PRIMARY KEY (name, created_at, user)
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX user_group_user ON user_group (user);
            INSERT INTO user_group (name, created_at, user)
                SELECT DISTINCT g.value, u.created_at, u.id FROM user u, json_each(u.groups) g WHERE u.groups <> '[]';
            UPDATE user SET indexed_groups = groups WHERE groups <> '[]';

            -- What an operator asks the audit log for: somebody, a type.
            CREATE INDEX audit_subject ON audit (subject, sequence) WHERE subject IS NOT NULL;
            CREATE INDEX audit_type ON audit (type, sequence);

            """)
}
