// People, Apple's data about them, and their refresh tokens.
extension Schema {
    static let people = """
        CREATE TABLE user (
            id TEXT PRIMARY KEY,
            state TEXT NOT NULL,
            external_id TEXT,
            groups TEXT NOT NULL DEFAULT '[]',
            given_name TEXT,
            family_name TEXT,
            email TEXT,
            email_verified INTEGER NOT NULL DEFAULT 0,
            email_private INTEGER NOT NULL DEFAULT 0,
            email_forwarding INTEGER,
            email_event_at INTEGER,
            real_user_status TEXT,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX user_created ON user (created_at, id);
        CREATE UNIQUE INDEX user_external_id ON user (external_id) WHERE external_id IS NOT NULL;
        CREATE INDEX user_email ON user (lower(email)) WHERE email IS NOT NULL;

        -- The person's key at Apple. Several per user: a team transfer, or accounts joined by the operator.
        -- credential_changed_at, credential_cause: when and why credential_state became what it is, by Apple's clock for
        -- sign-ins and notifications, by ours for the rest; null when nobody knows.
        -- email_told_at, real_user_status_told_at: the newest word of Apple's on the user's address and its flags, and on
        -- real_user_status: iat of an identity token or event_time. A user's is the newest of their identities.
        -- transfer_subject: of the identity of the sending team, its name for the team transfer_target.
        -- transfer_failure: why Apple gave none, or took none. moved_to: the identity of the team that has the person now.
        CREATE TABLE apple_identity (
            id INTEGER PRIMARY KEY,
            user TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
            team TEXT NOT NULL,
            subject TEXT NOT NULL,
            credential_state TEXT NOT NULL,
            credential_changed_at INTEGER,
            credential_cause TEXT NOT NULL DEFAULT 'sign_in',
            last_sign_in_issued_at INTEGER NOT NULL,
            email_told_at INTEGER,
            real_user_status_told_at INTEGER,
            created_at INTEGER NOT NULL,
            transfer_subject TEXT,
            transfer_target TEXT,
            transfer_asked_at INTEGER,
            transfer_failure TEXT,
            moved_to INTEGER REFERENCES apple_identity (id) ON DELETE SET NULL,
            UNIQUE (team, subject)
        ) STRICT;
        CREATE INDEX apple_identity_user ON apple_identity (user);
        CREATE UNIQUE INDEX apple_identity_transfer ON apple_identity (transfer_target, transfer_subject)
            WHERE transfer_target IS NOT NULL AND transfer_subject IS NOT NULL;
        CREATE INDEX apple_identity_left ON apple_identity (subject) WHERE transfer_target IS NOT NULL;
        CREATE INDEX apple_identity_moved ON apple_identity (moved_to) WHERE moved_to IS NOT NULL;

        -- The name Apple sends once, kept until a sign-in completes.
        CREATE TABLE first_consent (
            team TEXT NOT NULL,
            subject TEXT NOT NULL,
            given_name TEXT,
            family_name TEXT,
            saved_at INTEGER NOT NULL,
            PRIMARY KEY (team, subject)
        ) STRICT, WITHOUT ROWID;

        -- Up to when Apple has ended the consent of somebody whom no user stands for (any more), by Apple's clock, and when
        -- that was learnt. subject_hash is keyed and names nobody. Outlives the user, and their return, for as long as a
        -- sign-in of before may be in flight.
        CREATE TABLE consent_end (
            subject_hash BLOB PRIMARY KEY,
            ended_at INTEGER NOT NULL,
            noted_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX consent_end_age ON consent_end (noted_at);

        """

    static let credentials = """
        -- The refresh token of the latest sign-in per client; sealed_refresh_token is null once it is dead.
        -- checked_at: when Apple was asked last about this token; null after a sign-in brought another, and when Apple
        -- certainly made no check. held_back_at: Apple called it dead while dead answers were not applied.
        CREATE TABLE apple_credential (
            identity INTEGER NOT NULL REFERENCES apple_identity (id) ON DELETE CASCADE,
            client_id TEXT NOT NULL,
            sealed_refresh_token BLOB,
            issued_at INTEGER NOT NULL,
            state TEXT NOT NULL,
            cause TEXT,
            next_check_at INTEGER,
            checked_at INTEGER,
            check_failures INTEGER NOT NULL DEFAULT 0,
            held_back_at INTEGER,
            PRIMARY KEY (identity, client_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX apple_credential_due ON apple_credential (client_id, next_check_at)
            WHERE next_check_at IS NOT NULL;
        CREATE INDEX apple_credential_unplanned ON apple_credential (client_id)
            WHERE next_check_at IS NULL AND sealed_refresh_token IS NOT NULL;
        CREATE INDEX apple_credential_held_back ON apple_credential (held_back_at) WHERE held_back_at IS NOT NULL;

        -- Answers by the minute, of the last hour.
        CREATE TABLE credential_check (
            minute INTEGER PRIMARY KEY,
            alive INTEGER NOT NULL DEFAULT 0,
            dead INTEGER NOT NULL DEFAULT 0
        ) STRICT;

        -- One row when a wave stopped the checks (since), or the operator accepted one (accepts_until).
        CREATE TABLE credential_brake (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            since INTEGER,
            dead INTEGER NOT NULL DEFAULT 0,
            checks INTEGER NOT NULL DEFAULT 0,
            accepts_until INTEGER
        ) STRICT;

        -- Clients that Apple refuses.
        CREATE TABLE credential_pause (
            client_id TEXT PRIMARY KEY,
            since INTEGER NOT NULL,
            next_try_at INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            detail TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- Refresh tokens of deleted users, to be revoked at Apple. subject_hash is keyed and names nobody; transfer_hash is
        -- keyed like it, of the name under which another team may know the person. The token is null once the entry is
        -- given up, and kept for the operator to see. An id is never used again: a worker holds it while Apple is slow.
        -- ended_at: up to when Apple has ended what the person consented to, in Apple's time; noted_at: when we learnt it.
        CREATE TABLE revocation (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            subject_hash BLOB NOT NULL,
            transfer_hash BLOB,
            client_id TEXT NOT NULL,
            sealed_refresh_token BLOB,
            queued_at INTEGER NOT NULL,
            next_attempt_at INTEGER,
            attempts INTEGER NOT NULL DEFAULT 0,
            failure TEXT,
            ended_at INTEGER,
            noted_at INTEGER
        ) STRICT;
        CREATE INDEX revocation_due ON revocation (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
        CREATE INDEX revocation_subject ON revocation (subject_hash);
        CREATE INDEX revocation_transfer ON revocation (transfer_hash) WHERE transfer_hash IS NOT NULL;

        """
}
