// Tables of applications and of the server itself.
extension Schema {
    static let webhooks = """
        -- cursor: the last entry of the journal that was queued for it. An id is never used again.
        CREATE TABLE webhook_endpoint (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            url TEXT NOT NULL UNIQUE,
            added_at INTEGER NOT NULL,
            cursor INTEGER NOT NULL,
            stopped_at INTEGER,
            paused_until INTEGER,
            failing_since INTEGER,
            last_success_at INTEGER,
            last_failure_at INTEGER,
            last_failure TEXT
        ) STRICT;

        -- What waits for an endpoint. next_attempt_at is null behind an earlier event of the same user; a dead letter
        -- has dead_at. Delivered rows are deleted; dead letters go with their event.
        CREATE TABLE webhook_delivery (
            endpoint INTEGER NOT NULL REFERENCES webhook_endpoint (id) ON DELETE CASCADE,
            sequence INTEGER NOT NULL REFERENCES event (sequence) ON DELETE CASCADE,
            user TEXT NOT NULL,
            queued_at INTEGER NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0,
            next_attempt_at INTEGER,
            failure TEXT,
            dead_at INTEGER,
            PRIMARY KEY (endpoint, sequence)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX webhook_delivery_event ON webhook_delivery (sequence);
        CREATE INDEX webhook_delivery_line ON webhook_delivery (endpoint, user, sequence) WHERE dead_at IS NULL;
        CREATE INDEX webhook_delivery_due ON webhook_delivery (endpoint, next_attempt_at)
            WHERE next_attempt_at IS NOT NULL;
        CREATE INDEX webhook_delivery_failed ON webhook_delivery (endpoint) WHERE attempts > 0 AND dead_at IS NULL;
        CREATE INDEX webhook_delivery_dead ON webhook_delivery (dead_at) WHERE dead_at IS NOT NULL;

        """

    static let operations = """
        -- expires_at: null lives until it is revoked.
        CREATE TABLE api_key (
            id TEXT PRIMARY KEY,
            hash BLOB NOT NULL UNIQUE,
            name TEXT NOT NULL,
            scopes TEXT NOT NULL DEFAULT '[]',
            created_at INTEGER NOT NULL,
            expires_at INTEGER,
            last_used_at INTEGER,
            revoked_at INTEGER
        ) STRICT, WITHOUT ROWID;

        -- One holder per background job, among overlapping processes.
        CREATE TABLE lease (
            job TEXT PRIMARY KEY,
            holder TEXT NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        """

    static let keys = """
        -- The last good key set of Apple, as it came.
        CREATE TABLE apple_keys (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            document BLOB NOT NULL,
            fetched_at INTEGER NOT NULL
        ) STRICT;

        -- Keys that sign assertions with ES256, named by their RFC 7638 thumbprint. sealed_private_key is null once it
        -- signs no more; the public half stays as long as something it signed may be shown.
        CREATE TABLE signing_key (
            id TEXT PRIMARY KEY,
            x BLOB NOT NULL CHECK (length(x) = 32),
            y BLOB NOT NULL CHECK (length(y) = 32),
            sealed_private_key BLOB,
            created_at INTEGER NOT NULL,
            signs_from INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- As signing_key, for RS256.
        CREATE TABLE rsa_signing_key (
            id TEXT PRIMARY KEY,
            modulus BLOB NOT NULL,
            exponent BLOB NOT NULL,
            sealed_private_key BLOB,
            created_at INTEGER NOT NULL,
            signs_from INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        """
}
