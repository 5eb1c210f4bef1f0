// Links between Apple identities and an application's accounts.
extension Schema {
    static let links = """
        -- An identity whose person is asked whether they have an account. ticket_hash: what login.passwordURL is given.
        -- link: the link that has taken it.
        CREATE TABLE waiting_identity (
            id TEXT PRIMARY KEY,
            attempt BLOB NOT NULL UNIQUE,
            binding_hash BLOB NOT NULL,
            ticket_hash BLOB NOT NULL UNIQUE,
            team TEXT NOT NULL,
            subject TEXT NOT NULL,
            sealed_identity BLOB NOT NULL,
            expires_at INTEGER NOT NULL,
            link TEXT
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX waiting_identity_end ON waiting_identity (expires_at);
        CREATE INDEX waiting_identity_subject ON waiting_identity (team, subject);

        -- One try to tie an Apple identity to an application's account. What names a person is null once the link has
        -- ended. address_hash: of the token in the link's address; the id alone, which is logged, opens nothing. api_key: who
        -- began it by ticket, and alone may complete it; null for upgrades. change: what an undo takes back of the user (made: all, set: the external ID, present: nothing);
        -- taken_from: who had the external ID; consent_saved_at: of the name the commit took from first_consent.
        CREATE TABLE account_link (
            id TEXT PRIMARY KEY,
            style TEXT NOT NULL,
            kind TEXT NOT NULL,
            state TEXT NOT NULL,
            token_hash BLOB NOT NULL,
            address_hash BLOB,
            api_key TEXT,
            external_id TEXT,
            display_name TEXT,
            return_to TEXT,
            may_replace INTEGER NOT NULL DEFAULT 0,
            nonce TEXT NOT NULL,
            browser BLOB,
            created_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            sealed_challenge BLOB,
            methods TEXT NOT NULL DEFAULT '[]',
            tries INTEGER NOT NULL DEFAULT 0,
            request BLOB,
            code_hash BLOB,
            sealed_identity BLOB,
            team TEXT,
            subject TEXT,
            waiting TEXT,
            user TEXT REFERENCES user (id) ON DELETE CASCADE,
            change TEXT,
            taken_from TEXT,
            consent_saved_at INTEGER,
            session TEXT,
            attempts INTEGER NOT NULL DEFAULT 0,
            next_attempt_at INTEGER,
            is_asking INTEGER NOT NULL DEFAULT 0,
            failure TEXT,
            ended_at INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX account_link_user ON account_link (user) WHERE user IS NOT NULL;
        CREATE INDEX account_link_subject ON account_link (team, subject) WHERE subject IS NOT NULL;
        CREATE INDEX account_link_converting ON account_link (external_id) WHERE state = 'converting';
        CREATE INDEX account_link_due ON account_link (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
        CREATE INDEX account_link_end ON account_link (expires_at)
            WHERE ended_at IS NULL AND state <> 'converting';
        CREATE INDEX account_link_ended ON account_link (ended_at) WHERE ended_at IS NOT NULL;
        CREATE INDEX account_link_begun ON account_link (created_at, id);
        CREATE INDEX account_link_api_key ON account_link (api_key) WHERE api_key IS NOT NULL AND ended_at IS NULL;

        -- Wrong passwords and codes that count against a name, by a keyed hash of it.
        CREATE TABLE username_try (
            name BLOB NOT NULL,
            tried_at INTEGER NOT NULL,
            PRIMARY KEY (name, tried_at)
        ) STRICT, WITHOUT ROWID;

        """
}
