import Storage

// Applications that sign people in by OpenID Connect, and people's grants to them.
extension Schema {
    static let openID = SchemaStep(
        name: "0024-openid", admits: "0023-first-release",
        sql: """
            -- secret_hash: null for a public client. former_secret_hash: valid until former_secret_until.
            CREATE TABLE openid_client (
                id TEXT PRIMARY KEY,
                name TEXT NOT NULL,
                secret_hash BLOB,
                former_secret_hash BLOB,
                former_secret_until INTEGER,
                redirect_uris TEXT NOT NULL,
                logout_uris TEXT NOT NULL DEFAULT '[]',
                scopes TEXT NOT NULL,
                groups TEXT NOT NULL DEFAULT '[]',
                requires_pkce INTEGER NOT NULL DEFAULT 0,
                created_at INTEGER NOT NULL,
                updated_at INTEGER NOT NULL,
                last_used_at INTEGER,
                last_refused_at INTEGER
            ) STRICT, WITHOUT ROWID;

            -- A code and the tokens that came of it. Its id begins with its time. session outlives what it names when there
            -- is a refresh token; otherwise the grant ends with it. expires_at: when nothing of it is of use any more.
            CREATE TABLE openid_grant (
                id BLOB PRIMARY KEY,
                client TEXT NOT NULL,
                user TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
                session TEXT NOT NULL,
                redirect_uri TEXT NOT NULL,
                scopes TEXT NOT NULL,
                nonce TEXT,
                challenge TEXT,
                authenticated_at INTEGER NOT NULL,
                code_hash BLOB NOT NULL,
                code_expires_at INTEGER NOT NULL,
                is_code_used INTEGER NOT NULL DEFAULT 0,
                access_hash BLOB,
                access_expires_at INTEGER,
                refresh_hash BLOB,
                former_refresh_hash BLOB,
                refreshed_at INTEGER,
                expires_at INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX openid_grant_user ON openid_grant (user);
            CREATE INDEX openid_grant_session ON openid_grant (session);
            CREATE INDEX openid_grant_end ON openid_grant (expires_at);

            """)

    static let logoutTokens = SchemaStep(
        name: "0025-logout-tokens", admits: "0023-first-release",
        sql: """
            -- Of each client with one, webhook_endpoint has a row with the url client:ID.
            ALTER TABLE openid_client ADD COLUMN back_channel_logout_uri TEXT;

            -- The clients to tell when a session ends. A grant may end before.
            CREATE TABLE openid_participant (
                session TEXT NOT NULL,
                client TEXT NOT NULL,
                PRIMARY KEY (session, client)
            ) STRICT, WITHOUT ROWID;

            """)

    static let narrowedTokens = SchemaStep(
        name: "0030-narrowed-tokens", admits: "0026-operator",
        sql: """
            -- access_scopes: of the access token; null: the grant's. former_access: the token before a refresh, for calls
            -- that are in flight.
            ALTER TABLE openid_grant ADD COLUMN access_scopes TEXT;
            ALTER TABLE openid_grant ADD COLUMN former_access_hash BLOB;
            ALTER TABLE openid_grant ADD COLUMN former_access_expires_at INTEGER;
            ALTER TABLE openid_grant ADD COLUMN former_access_scopes TEXT;

            -- Requests of programs that are too long for the way through Apple. id: SHA-256 of what names it.
            CREATE TABLE authorize_request (
                id BLOB PRIMARY KEY,
                query TEXT NOT NULL,
                expires_at INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID;

            -- The sessions that one browser has made.
            CREATE INDEX used_attempt_binding ON used_attempt (binding_hash);

            -- Lists of sessions, newest first.
            CREATE INDEX session_created ON session (created_at, id);

            """)

    /// Older versions would show a service's token at userinfo.
    static let consent = SchemaStep(
        name: "0037-consent",
        sql: """
            -- document: the address of a client metadata document, which is its client_id in requests; null when an
            -- operator registered it.
            ALTER TABLE openid_client ADD COLUMN needs_consent INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE openid_client ADD COLUMN document TEXT;
            CREATE UNIQUE INDEX openid_client_document ON openid_client (document) WHERE document IS NOT NULL;

            -- services: what it is for; null: userinfo alone. access_service: of the access token.
            ALTER TABLE openid_grant ADD COLUMN services TEXT;
            ALTER TABLE openid_grant ADD COLUMN access_service TEXT;
            ALTER TABLE openid_grant ADD COLUMN former_access_service TEXT;

            -- What a person has allowed a client. service: '' for claims about the person.
            CREATE TABLE openid_consent (
                user TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
                client TEXT NOT NULL,
                service TEXT NOT NULL,
                scopes TEXT NOT NULL,
                given_at INTEGER NOT NULL,
                PRIMARY KEY (user, client, service)
            ) STRICT, WITHOUT ROWID;

            -- Protected resources (RFC 8707). meanings: in the order of scopes, what each lets an application do.
            -- id: the name with which it authenticates.
            CREATE TABLE openid_service (
                uri TEXT PRIMARY KEY,
                id TEXT NOT NULL UNIQUE,
                name TEXT NOT NULL,
                scopes TEXT NOT NULL,
                meanings TEXT NOT NULL,
                secret_hash BLOB NOT NULL,
                former_secret_hash BLOB,
                former_secret_until INTEGER,
                created_at INTEGER NOT NULL,
                updated_at INTEGER NOT NULL,
                last_used_at INTEGER
            ) STRICT, WITHOUT ROWID;

            """)

    static let device = SchemaStep(
        name: "0038-device", admits: "0037-consent",
        sql: """
            -- allows_device: whether devices may use it, which show a code.
            ALTER TABLE openid_client ADD COLUMN allows_device INTEGER NOT NULL DEFAULT 0;

            -- Requests of devices (RFC 8628), until they expire. id: of the grant that comes of it. session: in which a
            -- person decided; null: not yet.
            CREATE TABLE openid_device (
                id BLOB PRIMARY KEY,
                client TEXT NOT NULL,
                code_hash BLOB NOT NULL,
                user_code TEXT NOT NULL UNIQUE,
                scopes TEXT NOT NULL,
                services TEXT NOT NULL,
                user_agent TEXT NOT NULL,
                address TEXT NOT NULL,
                expires_at INTEGER NOT NULL,
                session TEXT,
                is_allowed INTEGER NOT NULL DEFAULT 0,
                polled_at INTEGER,
                poll_interval INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID;

            -- Wrong codes. subject: SHA-256 of a person's id or of an address.
            CREATE TABLE openid_device_try (
                subject BLOB PRIMARY KEY,
                tries INTEGER NOT NULL,
                ends_at INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID;

            """)
}
