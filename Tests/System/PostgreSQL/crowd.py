"""Very many people and sessions, made in the database itself."""

import base64
import hashlib

GIVEN = ["Ann", "Ben", "Chloé", "Dana", "Erik", "Farid", "Gül", "花子", "Ivan", "Jürgen"]
FAMILY = ["Abel", "Berg", "Costa", "Dürr", "Évora", "Fischer", "García", "Hall"]
# The first of them came then; in milliseconds.
BEGAN = 1_600_000_000_000


def token(number: int) -> str:
    """Of a session that `sessions` makes."""
    return "brs_" + base64.urlsafe_b64encode(hashlib.sha256(b"crowd%d" % number).digest()).decode().rstrip("=")


def user_id(number: int) -> str:
    return f"usr_{number:026d}"


def people(count: int, first: int = 1) -> list[str]:
    """Statements for PostgreSQL: people up to this number, of whom every hundredth is in the group `staff`."""
    given, family = ([f"'{name}'" for name in names] for names in (GIVEN, FAMILY))
    ident = "'usr_' || lpad(CAST(i AS text), 26, '0')"
    return [
        f"""INSERT INTO "user" (id, state, external_id, groups, given_name, family_name, email, email_verified,
            created_at, updated_at) SELECT {ident}, CASE i % 200 WHEN 7 THEN 'disabled' WHEN 8 THEN 'pending'
            ELSE 'active' END, 'crm-' || i, CASE WHEN i % 100 = 0 THEN '["staff"]' ELSE '[]' END,
            (ARRAY[{",".join(given)}])[1 + CAST(i AS bigint) * 7919 % 10],
            (ARRAY[{",".join(family)}])[1 + CAST(i AS bigint) * 104729 % 8] || ' ' || i,
            'user' || i || '@example.com', 1, {BEGAN} + i, {BEGAN} FROM generate_series({first}, {count}) i""",
        f"""INSERT INTO apple_identity (id, "user", team, subject, credential_state, last_sign_in_issued_at, created_at)
            SELECT i, {ident}, 'TEAM123456', 'subject-' || i, 'authorized', {BEGAN}, {BEGAN} + i
            FROM generate_series({first}, {count}) i""",
        "VACUUM ANALYZE",
    ]


def sessions(count: int, people: int, now: int) -> list[str]:
    """The same for sessions of theirs, with what the journal and the audit log say of them. `now` in milliseconds."""
    user = f"'usr_' || lpad(CAST(1 + i % {people} AS text), 26, '0')"
    session = "'ses_' || lpad(CAST(i AS text), 26, '0')"
    born = f"{now} - ({count} - CAST(i AS bigint)) * 1500 % 2000000000"
    return [
        f"""INSERT INTO session (token_hash, id, kind, "user", identity, client_id, user_agent, address, issued_at,
            created_at, last_seen_at, expires_at, examine_at)
            SELECT sha256(convert_to('brs_' || rtrim(translate(encode(sha256(convert_to('crowd' || i, 'UTF8')), 'base64'),
                '+/', '-_'), '='), 'UTF8')), {session}, 'browser', {user}, 1 + i % {people}, 'com.example.web',
            'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/17.4 Safari/605.1.15',
            '203.0.113.' || i % 250, {born}, {born}, {now}, {now} + 2000000000, {now} + 80000000
            FROM generate_series(1, {count}) i""",
        f"""INSERT INTO event (salt, type, time, "user", session)
            SELECT substring(sha256(convert_to(CAST(i AS text), 'UTF8')) for 10), 'session.created', {born}, {user},
            {session} FROM generate_series(1, {count}) i""",
        f"""INSERT INTO audit (time, type, actor, subject, network) SELECT {born}, 'sign_in', 'visitor',
            substring(sha256(convert_to(CAST(1 + i % {people} AS text), 'UTF8')) for 16), '10.0.0.0/24'
            FROM generate_series(1, {count}) i""",
        "VACUUM ANALYZE",
    ]
