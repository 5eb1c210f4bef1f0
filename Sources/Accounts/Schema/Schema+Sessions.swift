// Sessions, the attempts that create them, and the events about them.
extension Schema {
    static let sessions = """
        -- identity refers to apple_identity; its row deletes its sessions itself, since an index for that would be written
        -- with every session. examine_at: when retention looks whether it has ended; never after its end, by the idle
        -- timeout of then, nor more than a day after the last look. So a session that is used writes no index.
        CREATE TABLE session (
            token_hash BLOB PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            kind TEXT NOT NULL,
            user TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
            identity INTEGER NOT NULL,
            client_id TEXT NOT NULL,
            user_agent TEXT NOT NULL,
            address TEXT NOT NULL,
            issued_at INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            last_seen_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            examine_at INTEGER NOT NULL DEFAULT 0
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX session_user ON session (user);
        CREATE INDEX session_examination ON session (examine_at);

        -- An attempt's identifier begins with its time: retention reads the oldest. session is null when it ended without one; refusal: why, although Apple vouched for the person. An
        -- identical retry is told the same.
        CREATE TABLE used_attempt (
            attempt BLOB PRIMARY KEY,
            binding_hash BLOB NOT NULL,
            session TEXT,
            refusal TEXT,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- The right to send an app's authorization code to Apple, taken before it is sent. is_spent once the exchange has
        -- failed and Apple may have redeemed it; what came of a good one is in used_attempt.
        CREATE TABLE code_exchange (
            attempt BLOB PRIMARY KEY,
            request BLOB NOT NULL,
            begun_at INTEGER NOT NULL,
            is_spent INTEGER NOT NULL DEFAULT 0,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX code_exchange_end ON code_exchange (expires_at);

        """

    static let journal = """
        -- The journal: that something changed, never the values. user and session outlive what they name. No sequence is
        -- given twice. salt: the random part of the entry's id, which begins with the sequence. into_user: the account that
        -- this one became part of. external_id: the user's at the time of the event, who may be gone when it is read.
        CREATE TABLE event (
            sequence INTEGER PRIMARY KEY AUTOINCREMENT,
            salt BLOB NOT NULL,
            type TEXT NOT NULL,
            time INTEGER NOT NULL,
            user TEXT NOT NULL,
            session TEXT,
            cause TEXT,
            fields TEXT NOT NULL DEFAULT '[]',
            into_user TEXT,
            external_id TEXT
        ) STRICT;
        CREATE INDEX event_user ON event (user, sequence);

        -- What happened that matters for security. subject: keyed hash of the user id, so that no line names anybody.
        -- account: who ran the command, as the operating system knows them.
        CREATE TABLE audit (
            sequence INTEGER PRIMARY KEY,
            time INTEGER NOT NULL,
            type TEXT NOT NULL,
            actor TEXT NOT NULL,
            subject BLOB,
            reason TEXT,
            object TEXT,
            api_key TEXT,
            network TEXT,
            account TEXT
        ) STRICT;

        """

    static let notifications = """
        -- payload is null once erased.
        CREATE TABLE notification (
            jti TEXT PRIMARY KEY,
            type TEXT NOT NULL,
            client_id TEXT NOT NULL,
            subject TEXT,
            event_time INTEGER NOT NULL,
            received_at INTEGER NOT NULL,
            payload TEXT,
            outcome TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX notification_age ON notification (received_at);
        CREATE INDEX notification_subject ON notification (subject);

        """
}
