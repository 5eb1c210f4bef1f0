import Storage

// Steps after the first release.
extension Schema {
    /// Tables of the operator's page. Older versions cannot read its event `user.pending`.
    static let operatorPage = SchemaStep(
        name: "0026-operator",
        sql: """
            CREATE INDEX user_pending ON user (created_at, id) WHERE state = 'pending';

            -- How sign-ins ended, by hour. No people: each server adds its own numbers.
            CREATE TABLE sign_in_hour (
                hour INTEGER NOT NULL,
                outcome TEXT NOT NULL,
                reason TEXT NOT NULL,
                number INTEGER NOT NULL,
                PRIMARY KEY (hour, outcome, reason)
            ) STRICT, WITHOUT ROWID;

            CREATE TABLE server (
                id TEXT PRIMARY KEY,
                host TEXT NOT NULL,
                version TEXT NOT NULL,
                started_at INTEGER NOT NULL,
                seen_at INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID;

            """)

    /// A condition on `user`: the name or groups changed since they were indexed.
    static let isUnindexed = """
        indexed_groups <> groups OR indexed_name <> coalesce(given_name, '') || ' ' || coalesce(family_name, '')
        """

    /// Indexes that find people.
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

    static let outgoing = SchemaStep(
        name: "0032-outgoing", admits: "0026-operator",
        sql: """
            -- Whether back_channel_logout_uri was registered through the API: then private addresses are not called.
            ALTER TABLE openid_client ADD COLUMN back_channel_public_only INTEGER NOT NULL DEFAULT 0;

            """)

    static let withoutPasswords = SchemaStep(
        name: "0033-without-passwords", admits: "0026-operator",
        sql: """
            -- link: the one that was completed.
            ALTER TABLE event ADD COLUMN link TEXT;

            DROP TABLE username_try;
            DROP INDEX account_link_converting;
            DROP INDEX account_link_due;
            DROP INDEX account_link_end;
            CREATE INDEX account_link_end ON account_link (expires_at) WHERE ended_at IS NULL;

            """)

    /// People by their last sign-in; whom an operator acted on.
    static let lastSignIn = SchemaStep(
        name: "0034-last-sign-in", admits: "0026-operator",
        sql: """
            CREATE INDEX apple_identity_sign_in ON apple_identity (last_sign_in_issued_at, user, id);

            -- person: of an operator's action, until their account is deleted.
            ALTER TABLE audit ADD COLUMN person TEXT;
            CREATE INDEX audit_person ON audit (person) WHERE person IS NOT NULL;

            """)

    static let organization = SchemaStep(
        name: "0035-organization", admits: "0026-operator",
        sql: """
            -- Apple's org_id of a Work & School account; counts as the group org:ID.
            ALTER TABLE user ADD COLUMN organization_id TEXT;

            """)

    /// Older versions cannot read its event `access.ended`.
    static let endedAccess = SchemaStep(
        name: "0036-ended-access",
        sql: """
            -- client: whose access ended.
            ALTER TABLE event ADD COLUMN client TEXT;

            """)
}
