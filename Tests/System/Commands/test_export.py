"""Everything kept about a person is in the export, or is left out for a reason that docs/trust/privacy.md gives."""

import datetime
import json

import pytest

from operating import event_id
from programs import ROOT, TEAM_ID

DATA = ROOT / "docs/reference/data.md"

# Reasons, by words of the list in docs/trust/privacy.md.
SECRET = "tokens and hashes"
ROW = "row numbers"
PAYLOAD = "the `payload` of notifications"
JTI = "and their `jti`"
CHECKS = "schedule and results of the daily checks"
TRANSFER = "`transfer_target` and related columns"
WEBHOOKS = "undelivered events and logout tokens"
UNFINISHED = "unfinished sign-ins and links"
AUDIT = "the audit log: use"
SEARCHED = "for searches"
RETENTION = "when a session is examined next"
ORDER = "when Apple last reported each"
GONE = "`revocation` and `consent_end`, which are about deleted people"

# Column → where its value is in the export, or why it is not there.
USER = {
    "id": "user.id", "state": "user.state", "external_id": "user.externalID", "groups": "user.groups.0",
    "given_name": "user.name.given", "family_name": "user.name.family", "email": "user.email",
    "email_verified": "user.emailVerified", "email_private": "user.isPrivateEmail",
    "email_forwarding": "user.emailForwarding", "email_event_at": "emailForwardingChangedAt",
    "real_user_status": "user.realUserStatus", "organization_id": "user.organizationID",
    "created_at": "user.createdAt", "updated_at": "updatedAt",
    "indexed_name": SEARCHED, "indexed_groups": SEARCHED}
IDENTITY = {
    "id": ROW, "user": "user.id", "team": "appleIdentities.0.teamID", "subject": "appleIdentities.0.subject",
    "transfer_subject": "appleIdentities.0.transferSubject",
    "credential_state": "appleIdentities.0.credentialState",
    "credential_changed_at": "appleIdentities.0.credentialChangedAt",
    "credential_cause": "appleIdentities.0.credentialCause",
    "last_sign_in_issued_at": "appleIdentities.0.lastSignInAt", "created_at": "appleIdentities.0.createdAt",
    "transfer_target": TRANSFER, "transfer_asked_at": TRANSFER, "transfer_failure": TRANSFER, "moved_to": TRANSFER,
    "email_told_at": ORDER, "real_user_status_told_at": ORDER}
CREDENTIAL = {
    "identity": ROW, "client_id": "appleIdentities.0.credentials.0.clientID", "sealed_refresh_token": SECRET,
    "issued_at": "appleIdentities.0.credentials.0.issuedAt", "state": "appleIdentities.0.credentials.0.state",
    "cause": "appleIdentities.0.credentials.0.cause", "next_check_at": CHECKS, "checked_at": CHECKS,
    "check_failures": CHECKS, "held_back_at": CHECKS}
CONSENT = {
    "team": "appleIdentities.0.teamID", "subject": "appleIdentities.0.subject",
    "given_name": "appleIdentities.0.unfinishedName.given",
    "family_name": "appleIdentities.0.unfinishedName.family",
    "saved_at": "appleIdentities.0.unfinishedName.savedAt"}
SESSION = {
    "token_hash": SECRET, "id": "sessions.0.id", "kind": "sessions.0.kind", "user": "user.id", "identity": ROW,
    "client_id": "sessions.0.clientID", "user_agent": "sessions.0.userAgent", "address": "sessions.0.address",
    "issued_at": "sessions.0.issuedAt", "created_at": "sessions.0.createdAt",
    "last_seen_at": "sessions.0.lastSeenAt", "expires_at": "sessions.0.expiresAt", "examine_at": RETENTION}
PROGRAM = {
    "id": SECRET, "client": "programs.0.clientID", "user": "user.id", "session": "programs.0.session",
    "redirect_uri": "programs.0.redirectURI", "scopes": "programs.0.scope",
    "services": "programs.0.services.0", "nonce": SECRET, "challenge": SECRET,
    "authenticated_at": "programs.0.signedInAt", "code_hash": SECRET, "code_expires_at": UNFINISHED,
    "is_code_used": UNFINISHED, "access_hash": SECRET, "access_expires_at": UNFINISHED, "access_scopes": UNFINISHED,
    "former_access_hash": SECRET, "former_access_expires_at": UNFINISHED, "former_access_scopes": UNFINISHED,
    "access_service": UNFINISHED, "former_access_service": UNFINISHED, "refresh_hash": SECRET,
    "former_refresh_hash": SECRET, "refreshed_at": UNFINISHED, "expires_at": "programs.0.expiresAt"}
PARTICIPANT = {"session": "programSessions.0.session", "client": "programSessions.0.clientID"}
CONSENTS = {
    "user": "user.id", "client": "consents.0.clientID", "service": "consents.0.service", "scopes": "consents.0.scope",
    "given_at": "consents.0.givenAt"}
NOTIFICATION = {
    "jti": JTI, "type": "notifications.0.type", "client_id": "notifications.0.clientID",
    "subject": "appleIdentities.0.subject", "event_time": "notifications.0.eventTime",
    "received_at": "notifications.0.receivedAt", "payload": PAYLOAD, "outcome": "notifications.0.outcome"}
EVENT = {
    "sequence": ROW, "salt": "events.0.id", "type": "events.0.type", "time": "events.0.time",
    "user": "events.0.data.user", "session": "events.0.data.session", "cause": "events.0.data.cause",
    "fields": "events.1.data.fields.0", "into_user": "events.2.data.into",
    "external_id": "events.1.data.externalID", "link": "events.3.data.link",
    "client": "events.4.data.clientID"}

EXPORTED = {
    "user": USER, "apple_identity": IDENTITY, "apple_credential": CREDENTIAL, "first_consent": CONSENT,
    "session": SESSION, "openid_grant": PROGRAM, "openid_participant": PARTICIPANT, "openid_consent": CONSENTS, "notification": NOTIFICATION, "event": EVENT}
LEFT_OUT = {
    "webhook_delivery": WEBHOOKS, "used_attempt": UNFINISHED, "authorize_request": UNFINISHED, "openid_device": UNFINISHED,
    "openid_device_try": UNFINISHED, "code_exchange": UNFINISHED, "waiting_identity": UNFINISHED, "account_link": UNFINISHED,
    "user_word": SEARCHED, "user_group": SEARCHED, "audit": AUDIT, "revocation": GONE, "consent_end": GONE}
# docs/reference/data.md: "Not about visitors".
IMPERSONAL = {
    "api_key", "openid_client", "openid_service", "server", "sign_in_hour", "webhook_endpoint", "signing_key", "rsa_signing_key", "apple_keys", "lease", "credential_check", "credential_brake",
    "credential_pause", "meta", "migration"}

START = 1_790_000_000_000
FUTURE = 4_000_000_000_000
ANN, SESSION_ID, SUBJECT = "usr_" + "1" * 26, "ses_" + "2" * 26, "001.subject-of-ann"


def time(milliseconds: int) -> str:
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03}Z"


# What stands in each row: every value is another, so that none is found by chance in the place of another.
ROWS = [
    ("user", {
        "id": ANN, "state": "disabled", "external_id": "shop-77", "groups": '["brewers"]', "given_name": "Annabel",
        "family_name": "Leeworth", "email": "ann@example.com", "email_verified": 1, "email_private": 1,
        "email_forwarding": 1, "email_event_at": START + 1, "real_user_status": "likelyReal",
        "organization_id": "org-77", "created_at": START + 2, "updated_at": START + 3}),
    ("apple_identity", {
        "id": 7, "user": ANN, "team": TEAM_ID, "subject": SUBJECT, "transfer_subject": "002.transfer",
        "credential_state": "revoked", "last_sign_in_issued_at": START + 4, "created_at": START + 5,
        "credential_changed_at": START + 6, "credential_cause": "consent_revoked", "transfer_target": "OTHERTEAM1",
        "transfer_asked_at": START + 7, "transfer_failure": "canary-transfer"}),
    ("apple_credential", {
        "identity": 7, "client_id": "com.example.app", "sealed_refresh_token": b"canary-token",
        "issued_at": START + 8, "state": "revoked", "cause": "consent_revoked", "next_check_at": START + 9}),
    ("first_consent", {
        "team": TEAM_ID, "subject": SUBJECT, "given_name": "Anya", "family_name": "Lea", "saved_at": START + 10}),
    ("session", {
        "token_hash": b"\x01" * 32, "id": SESSION_ID, "kind": "browser", "user": ANN, "identity": 7,
        "client_id": "com.example.web", "user_agent": "Orchard/1.0", "address": "192.0.2.77",
        "issued_at": START + 11, "created_at": START + 12, "last_seen_at": FUTURE + 1, "expires_at": FUTURE + 2}),
    ("openid_grant", {
        "id": b"canary-grant-id.", "client": "grafana", "user": ANN, "session": SESSION_ID,
        "redirect_uri": "https://program.example.com/cb", "scopes": '["email"]',
        "services": '["https://api.example.com/files"]', "code_hash": b"\x02" * 32,
        "code_expires_at": START + 20, "authenticated_at": START + 18, "expires_at": FUTURE + 3}),
    ("openid_participant", {"session": SESSION_ID, "client": "reading-list"}),
    ("openid_consent", {
        "user": ANN, "client": "borrowed", "service": "https://api.example.com/mcp", "scopes": '["notes.read"]',
        "given_at": START + 22}),
    ("notification", {
        "jti": "canary-jti", "type": "consent-revoked", "client_id": "com.example.primary", "subject": SUBJECT,
        "event_time": START + 13, "received_at": START + 14, "payload": '{"canary":"payload"}',
        "outcome": "applied"}),
    ("event", {
        "sequence": 31, "salt": b"3" * 10, "type": "session.ended", "time": START + 15, "user": ANN, "session": SESSION_ID,
        "cause": "consent_revoked"}),
    ("event", {
        "sequence": 41, "salt": b"4" * 10, "type": "user.updated", "time": START + 16, "user": ANN, "fields": '["email"]',
        "external_id": "shop-76"}),
    ("event", {
        "sequence": 51, "salt": b"5" * 10, "type": "user.transferred", "time": START + 17, "user": ANN,
        "into_user": "usr_" + "6" * 26}),
    ("event", {
        "sequence": 61, "salt": b"6" * 10, "type": "account.linked", "time": START + 18, "user": ANN,
        "link": "lnk_" + "7" * 26}),
    ("event", {
        "sequence": 71, "salt": b"7" * 10, "type": "access.ended", "time": START + 19, "user": ANN, "client": "grafana-71"}),
]


@pytest.fixture(scope="module")
def house(make_shared_site):
    operator = make_shared_site(start=False).rest()
    for table, columns in ROWS:
        operator.insert(table, columns)
    return operator


def schema(house) -> dict[str, list[str]]:
    return {table: columns for table, columns in house.tables().items() if not table.startswith("sqlite_")}


def is_reason(place: str) -> bool:
    return " " in place or place.startswith("`")


def test_every_column_is_exported_or_left_out_for_a_reason(house):
    tables = schema(house)
    assert set(tables) == set(EXPORTED) | set(LEFT_OUT) | IMPERSONAL, "say of the new table what an export has of it"
    for table, columns in EXPORTED.items():
        assert set(tables[table]) == set(columns), f"say of each new column of {table} what an export has of it"


def test_the_document_gives_the_reasons(house):
    section = (ROOT / "docs/trust/privacy.md").read_text().split("\n## Export\n")[1].split("\n## ")[0]
    reasons = {SECRET, ROW, PAYLOAD, JTI, CHECKS, TRANSFER, WEBHOOKS, UNFINISHED, AUDIT, GONE, ORDER, RETENTION,
               SEARCHED}
    assert [reason for reason in reasons if reason not in section] == []
    used = set(LEFT_OUT.values()) | {
        place for columns in EXPORTED.values() for place in columns.values() if place in reasons}
    assert used == reasons
    # And of every column what it is for, tables without visitors' data by their name.
    whole = DATA.read_text()
    for table, columns in schema(house).items():
        assert f"`{table}`" in whole, table
    for table in IMPERSONAL:
        assert f"`{table}`" in whole.split("\n## Not about visitors\n")[1], table


def find(document, place: str):
    for name in place.split("."):
        document = document[int(name)] if isinstance(document, list) else document[name]
    return document


def shown(table: str, column: str, value):
    if column in ("email_verified", "email_private", "email_forwarding"):
        return value == 1
    if isinstance(value, int):
        return time(value)
    if column in ("groups", "fields", "scopes", "services"):
        return json.loads(value)[0]
    return value


def test_every_exported_value_is_in_the_document(house):
    text = house.bramley("users", "export", ANN)
    document = json.loads(text)
    assert document["complete"] is True
    checked = set()
    for table, values in ROWS:
        for column, value in values.items():
            place = EXPORTED[table][column]
            if is_reason(place):
                continue
            if table == "event":
                number = [row for name, row in ROWS if name == "event"].index(values)
                rest = place.split(".", 2)[2]
                place = f"events.{number}.{rest}"
                if column == "salt":
                    value = event_id(values["sequence"], value)
            assert find(document, place) == shown(table, column, value), (table, column, place)
            checked.add((table, column))
    everything = {
        (table, column) for table, columns in EXPORTED.items() for column, place in columns.items()
        if not is_reason(place)}
    assert checked == everything
    assert "canary" not in text and "next" not in text.lower()
