/// One step of the schema. Append-only: a released step is never changed, renamed or removed.
///
/// Servers are updated one after another, so a step that takes something away comes a version after the one that stopped
/// using it.
struct SchemaStep: Sendable {
    let name: String
    /// The newest step that a version must know to go on with a database that has this one; nil: this one.
    var admits: String?
    let sql: String
}

/// The schema, step by step.
///
/// Times are integer milliseconds since 1970 UTC, digests 32-byte blobs, identifiers their prefixed text. Values of
/// Swift enumerations are validated when read, so a later step need not rebuild a table to add a case.
enum Schema {
    /// `PRAGMA application_id`: "Brml".
    static let applicationID = 0x4272_6D6C

    static let steps: [SchemaStep] = [
        SchemaStep(name: "0001-people", sql: people),
        SchemaStep(name: "0002-sessions", sql: sessions),
        SchemaStep(name: "0003-notifications", sql: notifications),
        SchemaStep(name: "0004-operations", sql: operations),
        SchemaStep(name: "0005-applications", sql: applications),
        SchemaStep(name: "0006-signing-keys", sql: signingKeys),
        SchemaStep(name: "0007-webhooks", sql: webhooks),
        SchemaStep(name: "0008-credential-checks", sql: credentialChecks),
        SchemaStep(name: "0009-credential-state", sql: credentialState),
        SchemaStep(name: "0010-native", sql: native),
        SchemaStep(name: "0011-transfer", sql: transfer),
        SchemaStep(name: "0012-refusals", sql: refusals),
        SchemaStep(name: "0013-links", sql: links),
        SchemaStep(name: "0014-audit", sql: audit),
        SchemaStep(name: "0015-link-address", sql: linkAddress),
        SchemaStep(name: "0016-apple-order", sql: appleOrder),
        SchemaStep(name: "0017-external-ids-and-rsa-keys", sql: externalIDsAndRSAKeys),
        SchemaStep(name: "0018-api-keys", sql: apiKeys),
        SchemaStep(name: "0019-audit-account", sql: auditAccount),
        SchemaStep(name: "0020-email-index", sql: emailIndex),
        SchemaStep(name: "0021-username-tries", admits: "0020-email-index", sql: usernameTries),
        SchemaStep(name: "0022-events-by-order", admits: "0020-email-index", sql: eventsByOrder),
    ]

    private static let people = """
        CREATE TABLE user (
            id TEXT PRIMARY KEY,
            state TEXT NOT NULL,
            external_id TEXT UNIQUE,
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

        -- The person's key at Apple. Several per user: a team transfer, or accounts joined by the operator.
        CREATE TABLE apple_identity (
            id INTEGER PRIMARY KEY,
            user TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
            team TEXT NOT NULL,
            subject TEXT NOT NULL,
            transfer_subject TEXT,
            credential_state TEXT NOT NULL,
            last_sign_in_issued_at INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            UNIQUE (team, subject)
        ) STRICT;
        CREATE INDEX apple_identity_user ON apple_identity (user);

        -- The refresh token of the latest sign-in per client; sealed_refresh_token is null once it is dead.
        CREATE TABLE apple_credential (
            identity INTEGER NOT NULL REFERENCES apple_identity (id) ON DELETE CASCADE,
            client_id TEXT NOT NULL,
            sealed_refresh_token BLOB,
            issued_at INTEGER NOT NULL,
            state TEXT NOT NULL,
            cause TEXT,
            next_check_at INTEGER,
            PRIMARY KEY (identity, client_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX apple_credential_next_check ON apple_credential (next_check_at)
            WHERE next_check_at IS NOT NULL;

        -- The name Apple sends once, kept until a sign-in completes.
        CREATE TABLE first_consent (
            team TEXT NOT NULL,
            subject TEXT NOT NULL,
            given_name TEXT,
            family_name TEXT,
            saved_at INTEGER NOT NULL,
            PRIMARY KEY (team, subject)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX first_consent_age ON first_consent (saved_at);
        """

    private static let sessions = """
        CREATE TABLE session (
            token_hash BLOB PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            kind TEXT NOT NULL,
            user TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
            identity INTEGER NOT NULL REFERENCES apple_identity (id) ON DELETE CASCADE,
            client_id TEXT NOT NULL,
            user_agent TEXT NOT NULL,
            address TEXT NOT NULL,
            issued_at INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            last_seen_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX session_user ON session (user);
        CREATE INDEX session_identity ON session (identity);
        CREATE INDEX session_end ON session (expires_at);
        CREATE INDEX session_idle ON session (last_seen_at);

        -- session is null when the attempt ended without one.
        CREATE TABLE used_attempt (
            attempt BLOB PRIMARY KEY,
            binding_hash BLOB NOT NULL,
            session TEXT,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX used_attempt_end ON used_attempt (expires_at);

        -- The journal: that something changed, never the values. user and session outlive what they name.
        CREATE TABLE event (
            sequence INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            type TEXT NOT NULL,
            time INTEGER NOT NULL,
            user TEXT NOT NULL,
            session TEXT,
            cause TEXT,
            fields TEXT NOT NULL DEFAULT '[]'
        ) STRICT;
        CREATE INDEX event_age ON event (time);
        """

    private static let notifications = """
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

    private static let operations = """
        CREATE TABLE api_key (
            id TEXT PRIMARY KEY,
            hash BLOB NOT NULL UNIQUE,
            name TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            last_used_at INTEGER,
            revoked_at INTEGER
        ) STRICT, WITHOUT ROWID;

        -- One holder per background job, among overlapping processes.
        CREATE TABLE lease (
            job TEXT PRIMARY KEY,
            holder TEXT NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- The last good key set of Apple, as it came.
        CREATE TABLE apple_keys (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            document BLOB NOT NULL,
            fetched_at INTEGER NOT NULL
        ) STRICT;
        """

    private static let applications = """
        ALTER TABLE api_key ADD COLUMN scopes TEXT NOT NULL DEFAULT '[]';
        CREATE INDEX user_created ON user (created_at, id);
        CREATE INDEX event_user ON event (user, sequence);

        -- Refresh tokens of deleted users, to be revoked at Apple. subject_hash is keyed and names nobody; the token is
        -- null once the entry is given up, and kept for the operator to see. An id is never used again: a worker holds
        -- it while Apple is slow. ended_at: up to when Apple has ended what the person consented to, in Apple's time;
        -- noted_at: when we learnt it.
        CREATE TABLE revocation (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            subject_hash BLOB NOT NULL,
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
        """

    private static let signingKeys = """
        -- Keys that sign assertions, named by their RFC 7638 thumbprint. sealed_private_key is null once it signs no
        -- more; the public half stays as long as something it signed may be shown.
        CREATE TABLE signing_key (
            id TEXT PRIMARY KEY,
            x BLOB NOT NULL CHECK (length(x) = 32),
            y BLOB NOT NULL CHECK (length(y) = 32),
            sealed_private_key BLOB,
            created_at INTEGER NOT NULL,
            signs_from INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    private static let webhooks = """
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

    private static let credentialChecks = """
        -- checked_at: when Apple was asked last about this token; null after a sign-in brought another, and when Apple
        -- certainly made no check. held_back_at: Apple called it dead while dead answers were not applied.
        ALTER TABLE apple_credential ADD COLUMN checked_at INTEGER;
        ALTER TABLE apple_credential ADD COLUMN check_failures INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE apple_credential ADD COLUMN held_back_at INTEGER;
        DROP INDEX apple_credential_next_check;
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
        """

    private static let credentialState = """
        -- When and why credential_state became what it is: Apple's clock for sign-ins and notifications, ours for the
        -- rest. The time is null when it was so before this was kept and no notification tells.
        ALTER TABLE apple_identity ADD COLUMN credential_changed_at INTEGER;
        ALTER TABLE apple_identity ADD COLUMN credential_cause TEXT NOT NULL DEFAULT 'sign_in';
        UPDATE apple_identity SET credential_cause = 'imported', credential_changed_at = created_at
            WHERE credential_state = 'authorized' AND last_sign_in_issued_at = 0;
        UPDATE apple_identity SET credential_cause = 'consent_revoked', credential_changed_at = (
                SELECT min(event_time) FROM notification n WHERE n.subject = apple_identity.subject
                AND n.type = 'consent-revoked' AND n.event_time >= apple_identity.last_sign_in_issued_at)
            WHERE credential_state = 'revoked';
        UPDATE apple_identity SET credential_cause = 'account_deleted', credential_changed_at = (
                SELECT min(event_time) FROM notification n WHERE n.subject = apple_identity.subject
                AND n.type IN ('account-delete', 'account-deleted')
                AND n.event_time >= apple_identity.last_sign_in_issued_at)
            WHERE credential_state = 'notFound';
        """

    private static let native = """
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

    private static let refusals = """
        -- Why the attempt made no session although Apple vouched for the person; an identical retry is told the same.
        ALTER TABLE used_attempt ADD COLUMN refusal TEXT;
        """

    private static let transfer = """
        -- Of the identity of the sending team: transfer_subject is its name for the team transfer_target.
        -- transfer_failure: why Apple gave none, or took none. moved_to: the identity of the team that has the person now.
        ALTER TABLE apple_identity ADD COLUMN transfer_target TEXT;
        ALTER TABLE apple_identity ADD COLUMN transfer_asked_at INTEGER;
        ALTER TABLE apple_identity ADD COLUMN transfer_failure TEXT;
        ALTER TABLE apple_identity ADD COLUMN moved_to INTEGER REFERENCES apple_identity (id) ON DELETE SET NULL;
        CREATE UNIQUE INDEX apple_identity_transfer ON apple_identity (transfer_target, transfer_subject)
            WHERE transfer_target IS NOT NULL AND transfer_subject IS NOT NULL;
        CREATE INDEX apple_identity_left ON apple_identity (subject) WHERE transfer_target IS NOT NULL;
        CREATE INDEX apple_identity_moved ON apple_identity (moved_to) WHERE moved_to IS NOT NULL;

        -- Keyed like subject_hash, of the name under which another team may know the deleted person.
        ALTER TABLE revocation ADD COLUMN transfer_hash BLOB;
        CREATE INDEX revocation_transfer ON revocation (transfer_hash) WHERE transfer_hash IS NOT NULL;

        -- The account that one account became part of.
        ALTER TABLE event ADD COLUMN into_user TEXT;
        """

    private static let audit = """
        -- What happened that matters for security. subject: keyed hash of the user id, so that no line names anybody. No
        -- index: a sign-in adds at the end of this table and touches no other page.
        CREATE TABLE audit (
            sequence INTEGER PRIMARY KEY,
            time INTEGER NOT NULL,
            type TEXT NOT NULL,
            actor TEXT NOT NULL,
            subject BLOB,
            reason TEXT,
            object TEXT,
            api_key TEXT,
            network TEXT
        ) STRICT;
        """

    private static let appleOrder = """
        -- The newest word of Apple's on the user's address and its flags, and on real_user_status: iat of an identity token
        -- or event_time. Null: none. A user's is the newest of their identities; beside last_sign_in_issued_at it costs a
        -- sign-in no page more.
        ALTER TABLE apple_identity ADD COLUMN email_told_at INTEGER;
        ALTER TABLE apple_identity ADD COLUMN real_user_status_told_at INTEGER;
        UPDATE apple_identity SET email_told_at = last_sign_in_issued_at,
            real_user_status_told_at = last_sign_in_issued_at;

        -- Up to when Apple has ended the consent of somebody whom no user stands for (any more), by Apple's clock, and when
        -- that was learnt. subject_hash is keyed and names nobody. Outlives the user, and their return, for as long as a
        -- sign-in of before may be in flight.
        CREATE TABLE consent_end (
            subject_hash BLOB PRIMARY KEY,
            ended_at INTEGER NOT NULL,
            noted_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX consent_end_age ON consent_end (noted_at);
        INSERT INTO consent_end (subject_hash, ended_at, noted_at) SELECT hash, max(ended_at), max(noted_at) FROM (
                SELECT subject_hash AS hash, ended_at, noted_at FROM revocation
                UNION ALL SELECT transfer_hash, ended_at, noted_at FROM revocation) AS ends
            WHERE hash IS NOT NULL AND ended_at IS NOT NULL AND noted_at IS NOT NULL GROUP BY hash;
        """

    private static let externalIDsAndRSAKeys = """
        -- The external ID of the user at the time of the event: the user may be gone when it is read.
        ALTER TABLE event ADD COLUMN external_id TEXT;

        -- As signing_key, for RS256. A table beside it, so that a server of the version before goes on with its own.
        CREATE TABLE rsa_signing_key (
            id TEXT PRIMARY KEY,
            modulus BLOB NOT NULL,
            exponent BLOB NOT NULL,
            sealed_private_key BLOB,
            created_at INTEGER NOT NULL,
            signs_from INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    private static let apiKeys = """
        -- expires_at: null lives until it is revoked. account_link.api_key: who began it by ticket, and alone may complete
        -- it; null for links of before, and for upgrades.
        ALTER TABLE api_key ADD COLUMN expires_at INTEGER;
        ALTER TABLE account_link ADD COLUMN api_key TEXT;
        CREATE INDEX account_link_api_key ON account_link (api_key) WHERE api_key IS NOT NULL AND ended_at IS NULL;
        CREATE INDEX user_email ON user (email COLLATE NOCASE) WHERE email IS NOT NULL;
        """

    private static let auditAccount = """
        -- Who ran the command, as the operating system knows them.
        ALTER TABLE audit ADD COLUMN account TEXT;
        """

    private static let emailIndex = """
        DROP INDEX user_email;
        CREATE INDEX user_email ON user (lower(email)) WHERE email IS NOT NULL;
        """

    private static let eventsByOrder = """
        -- Nothing asks for events by their time: retention, too, walks them in order.
        DROP INDEX event_age;
        """
}
