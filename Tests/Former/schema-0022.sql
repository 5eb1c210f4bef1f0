-- A database of the last version before the first release, with a row or more in most tables.
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE migration (
    name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
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
CREATE TABLE apple_identity (
    id INTEGER PRIMARY KEY,
    user TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
    team TEXT NOT NULL,
    subject TEXT NOT NULL,
    transfer_subject TEXT,
    credential_state TEXT NOT NULL,
    last_sign_in_issued_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL, credential_changed_at INTEGER, credential_cause TEXT NOT NULL DEFAULT 'sign_in', transfer_target TEXT, transfer_asked_at INTEGER, transfer_failure TEXT, moved_to INTEGER REFERENCES apple_identity (id) ON DELETE SET NULL, email_told_at INTEGER, real_user_status_told_at INTEGER,
    UNIQUE (team, subject)
) STRICT;
CREATE TABLE apple_credential (
    identity INTEGER NOT NULL REFERENCES apple_identity (id) ON DELETE CASCADE,
    client_id TEXT NOT NULL,
    sealed_refresh_token BLOB,
    issued_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    cause TEXT,
    next_check_at INTEGER, checked_at INTEGER, check_failures INTEGER NOT NULL DEFAULT 0, held_back_at INTEGER,
    PRIMARY KEY (identity, client_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE first_consent (
    team TEXT NOT NULL,
    subject TEXT NOT NULL,
    given_name TEXT,
    family_name TEXT,
    saved_at INTEGER NOT NULL,
    PRIMARY KEY (team, subject)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE used_attempt (
    attempt BLOB PRIMARY KEY,
    binding_hash BLOB NOT NULL,
    session TEXT,
    expires_at INTEGER NOT NULL
, refusal TEXT) STRICT, WITHOUT ROWID;
CREATE TABLE event (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    time INTEGER NOT NULL,
    user TEXT NOT NULL,
    session TEXT,
    cause TEXT,
    fields TEXT NOT NULL DEFAULT '[]'
, into_user TEXT, external_id TEXT) STRICT;
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
CREATE TABLE api_key (
    id TEXT PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at INTEGER
, scopes TEXT NOT NULL DEFAULT '[]', expires_at INTEGER) STRICT, WITHOUT ROWID;
CREATE TABLE lease (
    job TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE apple_keys (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    document BLOB NOT NULL,
    fetched_at INTEGER NOT NULL
) STRICT;
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
, transfer_hash BLOB) STRICT;
CREATE TABLE signing_key (
    id TEXT PRIMARY KEY,
    x BLOB NOT NULL CHECK (length(x) = 32),
    y BLOB NOT NULL CHECK (length(y) = 32),
    sealed_private_key BLOB,
    created_at INTEGER NOT NULL,
    signs_from INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
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
CREATE TABLE credential_check (
    minute INTEGER PRIMARY KEY,
    alive INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE credential_brake (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    since INTEGER,
    dead INTEGER NOT NULL DEFAULT 0,
    checks INTEGER NOT NULL DEFAULT 0,
    accepts_until INTEGER
) STRICT;
CREATE TABLE credential_pause (
    client_id TEXT PRIMARY KEY,
    since INTEGER NOT NULL,
    next_try_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    detail TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE code_exchange (
    attempt BLOB PRIMARY KEY,
    request BLOB NOT NULL,
    begun_at INTEGER NOT NULL,
    is_spent INTEGER NOT NULL DEFAULT 0,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
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
CREATE TABLE account_link (
    id TEXT PRIMARY KEY,
    style TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    token_hash BLOB NOT NULL,
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
, address_hash BLOB, api_key TEXT) STRICT, WITHOUT ROWID;
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
, account TEXT) STRICT;
CREATE TABLE consent_end (
    subject_hash BLOB PRIMARY KEY,
    ended_at INTEGER NOT NULL,
    noted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE rsa_signing_key (
    id TEXT PRIMARY KEY,
    modulus BLOB NOT NULL,
    exponent BLOB NOT NULL,
    sealed_private_key BLOB,
    created_at INTEGER NOT NULL,
    signs_from INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE username_try (
    name BLOB NOT NULL,
    tried_at INTEGER NOT NULL,
    PRIMARY KEY (name, tried_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX apple_identity_user ON apple_identity (user);
CREATE INDEX first_consent_age ON first_consent (saved_at);
CREATE INDEX session_user ON session (user);
CREATE INDEX session_identity ON session (identity);
CREATE INDEX session_end ON session (expires_at);
CREATE INDEX session_idle ON session (last_seen_at);
CREATE INDEX used_attempt_end ON used_attempt (expires_at);
CREATE INDEX notification_age ON notification (received_at);
CREATE INDEX notification_subject ON notification (subject);
CREATE INDEX user_created ON user (created_at, id);
CREATE INDEX event_user ON event (user, sequence);
CREATE INDEX revocation_due ON revocation (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX revocation_subject ON revocation (subject_hash);
CREATE INDEX webhook_delivery_event ON webhook_delivery (sequence);
CREATE INDEX webhook_delivery_line ON webhook_delivery (endpoint, user, sequence) WHERE dead_at IS NULL;
CREATE INDEX webhook_delivery_due ON webhook_delivery (endpoint, next_attempt_at)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX webhook_delivery_failed ON webhook_delivery (endpoint) WHERE attempts > 0 AND dead_at IS NULL;
CREATE INDEX webhook_delivery_dead ON webhook_delivery (dead_at) WHERE dead_at IS NOT NULL;
CREATE INDEX apple_credential_due ON apple_credential (client_id, next_check_at)
    WHERE next_check_at IS NOT NULL;
CREATE INDEX apple_credential_unplanned ON apple_credential (client_id)
    WHERE next_check_at IS NULL AND sealed_refresh_token IS NOT NULL;
CREATE INDEX apple_credential_held_back ON apple_credential (held_back_at) WHERE held_back_at IS NOT NULL;
CREATE INDEX code_exchange_end ON code_exchange (expires_at);
CREATE UNIQUE INDEX apple_identity_transfer ON apple_identity (transfer_target, transfer_subject)
    WHERE transfer_target IS NOT NULL AND transfer_subject IS NOT NULL;
CREATE INDEX apple_identity_left ON apple_identity (subject) WHERE transfer_target IS NOT NULL;
CREATE INDEX apple_identity_moved ON apple_identity (moved_to) WHERE moved_to IS NOT NULL;
CREATE INDEX revocation_transfer ON revocation (transfer_hash) WHERE transfer_hash IS NOT NULL;
CREATE INDEX waiting_identity_end ON waiting_identity (expires_at);
CREATE INDEX waiting_identity_subject ON waiting_identity (team, subject);
CREATE INDEX account_link_user ON account_link (user) WHERE user IS NOT NULL;
CREATE INDEX account_link_subject ON account_link (team, subject) WHERE subject IS NOT NULL;
CREATE INDEX account_link_converting ON account_link (external_id) WHERE state = 'converting';
CREATE INDEX account_link_due ON account_link (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX account_link_end ON account_link (expires_at)
    WHERE ended_at IS NULL AND state <> 'converting';
CREATE INDEX account_link_ended ON account_link (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX account_link_begun ON account_link (created_at, id);
CREATE INDEX consent_end_age ON consent_end (noted_at);
CREATE INDEX account_link_api_key ON account_link (api_key) WHERE api_key IS NOT NULL AND ended_at IS NULL;
CREATE INDEX user_email ON user (lower(email)) WHERE email IS NOT NULL;
INSERT INTO meta VALUES ('oldest-admitted', X'303032302D656D61696C2D696E646578');
INSERT INTO meta VALUES ('origin', X'73696D756C61746564');
INSERT INTO migration VALUES ('0001-people', 1795679402453);
INSERT INTO migration VALUES ('0002-sessions', 1795679402453);
INSERT INTO migration VALUES ('0003-notifications', 1795679402453);
INSERT INTO migration VALUES ('0004-operations', 1795679402453);
INSERT INTO migration VALUES ('0005-applications', 1795679402453);
INSERT INTO migration VALUES ('0006-signing-keys', 1795679402453);
INSERT INTO migration VALUES ('0007-webhooks', 1795679402453);
INSERT INTO migration VALUES ('0008-credential-checks', 1795679402453);
INSERT INTO migration VALUES ('0009-credential-state', 1795679402453);
INSERT INTO migration VALUES ('0010-native', 1795679402453);
INSERT INTO migration VALUES ('0011-transfer', 1795679402453);
INSERT INTO migration VALUES ('0012-refusals', 1795679402453);
INSERT INTO migration VALUES ('0013-links', 1795679402453);
INSERT INTO migration VALUES ('0014-audit', 1795679402453);
INSERT INTO migration VALUES ('0015-link-address', 1795679402453);
INSERT INTO migration VALUES ('0016-apple-order', 1795679402453);
INSERT INTO migration VALUES ('0017-external-ids-and-rsa-keys', 1795679402453);
INSERT INTO migration VALUES ('0018-api-keys', 1795679402453);
INSERT INTO migration VALUES ('0019-audit-account', 1795679402453);
INSERT INTO migration VALUES ('0020-email-index', 1795679402453);
INSERT INTO migration VALUES ('0021-username-tries', 1795679402453);
INSERT INTO migration VALUES ('0022-events-by-order', 1795679402453);
INSERT INTO user VALUES ('usr_fekpjh5wzpc3n506vqpzrd8r1c', 'active', NULL, '[]', 'Boris', 'Novák', 'mdechx62ag@privaterelay.appleid.com', 1, 1, 0, 1795679402571, NULL, 1795679402540, 1795679402572);
INSERT INTO user VALUES ('usr_mp10egq4m5de7p5w2yqkf73nap', 'active', 'account-1', '[]', 'Ada', 'Byron', 'ada@example.com', 1, 0, NULL, NULL, NULL, 1795679402522, 1795679402522);
INSERT INTO user VALUES ('usr_ve8syre47svna7m5f5961rncch', 'active', NULL, '[]', 'Dana', 'O’Neil', NULL, 0, 0, NULL, NULL, NULL, 1795679402554, 1795679402554);
INSERT INTO apple_identity VALUES (7531625300718634424, 'usr_mp10egq4m5de7p5w2yqkf73nap', 'TEAM123456', '000597.0a5aa527c1110471b1ee47164287d962.0350', NULL, 'authorized', 1795679402000, 1795679402522, 1795679402000, 'sign_in', NULL, NULL, NULL, NULL, 1795679402000, NULL);
INSERT INTO apple_identity VALUES (7531625300793459227, 'usr_fekpjh5wzpc3n506vqpzrd8r1c', 'TEAM123456', '000028.959a49a610810014ea7820000fb697ad.1000', NULL, 'authorized', 1795679402000, 1795679402540, 1795679402000, 'sign_in', NULL, NULL, NULL, NULL, 1795679402571, NULL);
INSERT INTO apple_identity VALUES (7531625300850026144, 'usr_ve8syre47svna7m5f5961rncch', 'TEAM123456', '000261.a8b6c606fa5d4dcd274108ebf1d45a60.1687', NULL, 'revoked', 1795679402000, 1795679402554, 1795679402583, 'consent_revoked', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO apple_credential VALUES (7531625300718634424, 'com.example.web', X'00', 1795679402000, 'authorized', NULL, 1795848455216, NULL, 0, NULL);
INSERT INTO apple_credential VALUES (7531625300793459227, 'com.example.web', X'00', 1795679402000, 'authorized', NULL, 1795788486439, NULL, 0, NULL);
INSERT INTO apple_credential VALUES (7531625300850026144, 'com.example.web', X'00', 1795679402000, 'revoked', 'consent_revoked', NULL, NULL, 0, NULL);
INSERT INTO first_consent VALUES ('TEAM123456', '001.early', 'Early', 'Bird', 1795679402584);
INSERT INTO session VALUES (X'29035F512692F5116376EEC0C6C0E060884F37FD6B1A327CD602191590924A2B', 'ses_06h1dn9t5khqejhzae4z72t17e', 'browser', 'usr_fekpjh5wzpc3n506vqpzrd8r1c', 7531625300793459227, 'com.example.web', '', '127.0.0.1', 1795679402000, 1795679402540, 1795679402540, 1798271402540);
INSERT INTO session VALUES (X'6D1E0F94F4159D4992C39324D372F038200F4221217A19898602B384C1553B0E', 'ses_06h1dn9t3bcrsbgdqhbzfm7pa3', 'browser', 'usr_mp10egq4m5de7p5w2yqkf73nap', 7531625300718634424, 'com.example.web', '', '127.0.0.1', 1795679402000, 1795679402522, 1795679402522, 1798271402522);
INSERT INTO session VALUES (X'888DC747DF527BCEE401D8CFBA20229BF0B93B139874ACE006150181B3E51B49', 'ses_06h1dn9t914whb0xrq7885a0ej', 'browser', 'usr_mp10egq4m5de7p5w2yqkf73nap', 7531625300718634424, 'com.example.web', '', '127.0.0.1', 1795679402000, 1795679402568, 1795679402568, 1798271402568);
INSERT INTO used_attempt VALUES (X'01A216D53A0126AB36AA2237ABAEA2FD18E3D926398F099A264C2AA69E00D142', X'B96C76A495DC33F0DAD3C33692373D5DFA98DCB306E7DE61A9D12673E3921DAD', 'ses_06h1dn9t3bcrsbgdqhbzfm7pa3', 1795766402497, NULL);
INSERT INTO used_attempt VALUES (X'01A216D53A23A812AF059E1F126BAC48A87C190BD9498FBC3F470BFBE3BAFA1A', X'A0555C58B711F3B82A630409EE97797390A5543DF789F8776816012045EB2C34', 'ses_06h1dn9t5khqejhzae4z72t17e', 1795766402531, NULL);
INSERT INTO used_attempt VALUES (X'01A216D53A32B4E1AF3FB9C4A56F7186196EF0F64AC4C4C0666BB2C83CFCDF72', X'7EFBBF796BC796ABE030217ED52EE6F21294662CD64F44AA38EBA5A2A4B9F776', 'ses_06h1dn9t7btpfpn82jwxt0ngr4', 1795766402546, NULL);
INSERT INTO used_attempt VALUES (X'01A216D53A4076A66EECEEF18127567F4E3D15BF010EACD3571C9D5BA52410A7', X'3380B4DB8EAC739381CDB911BC6DB59B316E65643AC88CBB2DA1AC70247D0A16', 'ses_06h1dn9t914whb0xrq7885a0ej', 1795766402560, NULL);
INSERT INTO event VALUES (1, 'evt_06h1dn9t39dspkfp7gfkc9dash', 'user.created', 1795679402522, 'usr_mp10egq4m5de7p5w2yqkf73nap', NULL, NULL, '[]', NULL, NULL);
INSERT INTO event VALUES (2, 'evt_06h1dn9t3anc2wny5dtw15a94j', 'session.created', 1795679402522, 'usr_mp10egq4m5de7p5w2yqkf73nap', 'ses_06h1dn9t3bcrsbgdqhbzfm7pa3', NULL, '[]', NULL, NULL);
INSERT INTO event VALUES (3, 'evt_06h1dn9t5hr7evwa4prcrgpn7x', 'user.created', 1795679402540, 'usr_fekpjh5wzpc3n506vqpzrd8r1c', NULL, NULL, '[]', NULL, NULL);
INSERT INTO event VALUES (4, 'evt_06h1dn9t5hf68he4yps3rg072e', 'session.created', 1795679402540, 'usr_fekpjh5wzpc3n506vqpzrd8r1c', 'ses_06h1dn9t5khqejhzae4z72t17e', NULL, '[]', NULL, NULL);
INSERT INTO event VALUES (5, 'evt_06h1dn9t7aknnzpw2f064eq3gn', 'user.created', 1795679402554, 'usr_ve8syre47svna7m5f5961rncch', NULL, NULL, '[]', NULL, NULL);
INSERT INTO event VALUES (6, 'evt_06h1dn9t7a2gxjzbxf8wz34731', 'session.created', 1795679402554, 'usr_ve8syre47svna7m5f5961rncch', 'ses_06h1dn9t7btpfpn82jwxt0ngr4', NULL, '[]', NULL, NULL);
INSERT INTO event VALUES (7, 'evt_06h1dn9t93c29r0qrqyjq9xpd9', 'session.created', 1795679402568, 'usr_mp10egq4m5de7p5w2yqkf73nap', 'ses_06h1dn9t914whb0xrq7885a0ej', NULL, '[]', NULL, NULL);
INSERT INTO event VALUES (8, 'evt_06h1dn9t9g63cj738ymed1ks1t', 'email.disabled', 1795679402572, 'usr_fekpjh5wzpc3n506vqpzrd8r1c', NULL, NULL, '[]', NULL, NULL);
INSERT INTO event VALUES (9, 'evt_06h1dn9tb08cycrsznbkqshysd', 'session.ended', 1795679402584, 'usr_ve8syre47svna7m5f5961rncch', 'ses_06h1dn9t7btpfpn82jwxt0ngr4', 'consent_revoked', '[]', NULL, NULL);
INSERT INTO event VALUES (10, 'evt_06h1dn9tb2hzfrqc6sahwxnpxx', 'consent.revoked', 1795679402584, 'usr_ve8syre47svna7m5f5961rncch', NULL, NULL, '[]', NULL, NULL);
INSERT INTO event VALUES (11, 'evt_06h1dn9tb2n807zw1adtwr0gya', 'user.updated', 1795679402584, 'usr_ve8syre47svna7m5f5961rncch', NULL, NULL, '["credentialState"]', NULL, NULL);
INSERT INTO notification VALUES ('gzMvCE2ttxtihSwpcOtH0Q', 'email-disabled', 'com.example.web', '000028.959a49a610810014ea7820000fb697ad.1000', 1795679402571, 1795679402572, '{"iss":"https://appleid.apple.com","aud":"com.example.web","exp":1795765802,"iat":1795679402,"jti":"gzMvCE2ttxtihSwpcOtH0Q","events":"{\"type\":\"email-disabled\",\"sub\":\"000028.959a49a610810014ea7820000fb697ad.1000\",\"event_time\":1795679402571,\"email\":\"mdechx62ag@privaterelay.appleid.com\",\"is_private_email\":\"true\"}"}', 'applied');
INSERT INTO notification VALUES ('rx7gdHSpBVBfI7bmG7p2sA', 'consent-revoked', 'com.example.web', '000261.a8b6c606fa5d4dcd274108ebf1d45a60.1687', 1795679402583, 1795679402584, '{"iss":"https://appleid.apple.com","aud":"com.example.web","exp":1795765802,"iat":1795679402,"jti":"rx7gdHSpBVBfI7bmG7p2sA","events":"{\"type\":\"consent-revoked\",\"sub\":\"000261.a8b6c606fa5d4dcd274108ebf1d45a60.1687\",\"event_time\":1795679402583}"}', 'applied');
INSERT INTO api_key VALUES ('key_00000000000000000000000000', X'85C924C3597164C4A6058A00581A22B22DE50472433D2E44FED8B6B8357E44CD', 'orchard', 1795679402584, NULL, NULL, '["users:read"]', 1796679402584);
INSERT INTO lease VALUES ('retention', 'other', 1795679402584);
INSERT INTO apple_keys VALUES (1, X'7B7D', 1795679402502);
INSERT INTO revocation VALUES (1, X'3129903AC1D45597A242FDF11F8F2B1A39F3C3E693114351DCBED407E3E6B605', 'com.example.web', NULL, 1795679402584, NULL, 0, 'given up', NULL, NULL, X'B99E8306DDA748A61E029A8A3F415B024A146CF0D98A98E1CF999661F967BDAF');
INSERT INTO webhook_endpoint VALUES (1, 'http://127.0.0.1:9/events', 1795679402480, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO webhook_delivery VALUES (1, 1, 'usr_mp10egq4m5de7p5w2yqkf73nap', 1795679402584, 0, 1795679402584, NULL, NULL);
INSERT INTO webhook_delivery VALUES (1, 2, 'usr_mp10egq4m5de7p5w2yqkf73nap', 1795679402584, 1, NULL, 'connection refused', NULL);
INSERT INTO webhook_delivery VALUES (1, 7, 'usr_mp10egq4m5de7p5w2yqkf73nap', 1795679402584, 2, NULL, 'connection refused', 1795679402584);
INSERT INTO credential_check VALUES (29927990, 2, 0);
INSERT INTO credential_pause VALUES ('com.example.app', 1795679402584, 1795679402584, 1, 'invalid_client');
INSERT INTO code_exchange VALUES (X'F5B165224A58B791DF6AF1D8303E61CDC4BB86C3D1C427103C344C4189EB2F1E', X'7BD5D47E446FCEC2A3D811736110E5781BCCCEA696762E6116C6E9C92D99BF35', 1795679402584, 1, 1795680002584);
INSERT INTO waiting_identity VALUES ('wai_00000000000000000000000000', X'DF0E7337420C13F8F5D40F6CE079D1B987376F07BCB81287FDC8C0388FE881C3', X'A0661970EF3F6DF0148DED7E8A34888D396CAB3B80D27F58DF111A3B3DF245AD', X'A90802389A78CDC29492A875F74AC6F3AA202F4AD9892FED75598005BAC48A6A', 'TEAM123456', '001.waits', X'9E826BD6F0A890EA47CA738EB48C14EC53676DA43F9E9919878D972F9A451DA1305317FEED6740B9', 1795679402584, NULL);
INSERT INTO account_link VALUES ('lnk_00000000000000000000000000', 'ticket', 'link', 'ended', X'BD7425DCB03DE04BF0A4F21E0ADC3EBEF6822B55D46D44E5A833B3B84E0F27F9', NULL, NULL, NULL, 0, 'n', NULL, 1795679402584, 1795679402584, NULL, '[]', 0, NULL, NULL, NULL, NULL, NULL, NULL, 'usr_mp10egq4m5de7p5w2yqkf73nap', NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, 1795679402584, X'F7A910B6B6683480FC91BAEFAE179BF759340F6CF6C1F9810D387DD45CE301E9', 'key_00000000000000000000000000');
INSERT INTO audit VALUES (1, 1795679402502, 'signing_key.made', 'server', NULL, NULL, '8pRviBkhCYPfj1TOr78CaSxGfbaLlUKaqmn0btZb9Y0', NULL, NULL, NULL);
INSERT INTO audit VALUES (2, 1795679402522, 'user.created', 'visitor', X'482B8F1A9C8196A7C15951D39D6ADEBE', NULL, NULL, NULL, '127.0.0.0/24', NULL);
INSERT INTO audit VALUES (3, 1795679402522, 'sign_in', 'visitor', X'482B8F1A9C8196A7C15951D39D6ADEBE', NULL, NULL, NULL, '127.0.0.0/24', NULL);
INSERT INTO audit VALUES (4, 1795679402540, 'user.created', 'visitor', X'D1D2E21869126365190D698FCB1777BE', NULL, NULL, NULL, '127.0.0.0/24', NULL);
INSERT INTO audit VALUES (5, 1795679402540, 'sign_in', 'visitor', X'D1D2E21869126365190D698FCB1777BE', NULL, NULL, NULL, '127.0.0.0/24', NULL);
INSERT INTO audit VALUES (6, 1795679402554, 'user.created', 'visitor', X'5BABA4651DC1D394B945D0F35F75CE8B', NULL, NULL, NULL, '127.0.0.0/24', NULL);
INSERT INTO audit VALUES (7, 1795679402554, 'sign_in', 'visitor', X'5BABA4651DC1D394B945D0F35F75CE8B', NULL, NULL, NULL, '127.0.0.0/24', NULL);
INSERT INTO audit VALUES (8, 1795679402568, 'sign_in', 'visitor', X'482B8F1A9C8196A7C15951D39D6ADEBE', NULL, NULL, NULL, '127.0.0.0/24', NULL);
INSERT INTO audit VALUES (9, 1795679402584, 'session.ended', 'apple', X'5BABA4651DC1D394B945D0F35F75CE8B', 'consent_revoked', NULL, NULL, NULL, NULL);
INSERT INTO audit VALUES (10, 1795679402584, 'consent.revoked', 'apple', X'5BABA4651DC1D394B945D0F35F75CE8B', NULL, NULL, NULL, NULL, NULL);
INSERT INTO audit VALUES (11, 1795679402584, 'user.changed', 'apple', X'5BABA4651DC1D394B945D0F35F75CE8B', NULL, 'credentialState', NULL, NULL, NULL);
INSERT INTO consent_end VALUES (X'8C2E0718822CE47CA8C74107E66CB0E4B2B3F4D58D82CA6386D2C96E760E819B', 1795679402584, 1795679402584);
INSERT INTO rsa_signing_key VALUES ('rsa', X'DF64A0D8A5B4DFF0C5475A81BCD2B26419DAC896481471DA57AFD608BC27F07A', X'010001', NULL, 1795679402584, 1795679402584);
INSERT INTO username_try VALUES (X'4A2599ABF5FD99301D8FA94D13ABBE48A1AE6B96681C34F9C424EAE11631D67F', 1795679402584);
