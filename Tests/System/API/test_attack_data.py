"""Other people's ids, made-up cursors, members that are not to be set, deletions at the same time; and what leaks."""

import base64
import contextlib
import json
import os
from pathlib import Path
from urllib.parse import quote

import pytest

from attacker import DOCUMENTED, PROXIES, Person, cookie, send
from inhabited import SCOPES, make_id, make_token
from operating import Operator
from patience import PATIENCE, at_once
from programs import write_private
from routes import FORM
from web import call, sign_in

WEBHOOK_SECRET = "whsec_" + base64.b64encode(b"canary-of-the-webhooks-32-bytes!").decode()


@pytest.fixture(scope="module")
def site(make_shared_site, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_private(folder / "webhook.secret", WEBHOOK_SECRET.encode())
    return make_shared_site({
        "log.level": "trace", "log.format": "json", "server.trustedProxies": PROXIES, "assertion.audience": "backend",
        # Nobody listens there: failures are logged.
        "webhooks.url": ["http://127.0.0.1:9/canary-path"], "webhooks.secretFile": str(folder / "webhook.secret")})


def test_sessions_of_other_people_cannot_be_ended_or_probed(site, inhabited, key):
    mine, theirs = Person(inhabited), Person(inhabited)
    before = theirs.kept()
    for session in (theirs.session, theirs.elsewhere, make_id("ses_")):
        answer = send(site, "POST", "/account/sessions/revoke", mine.page, f"session={session}")
        # Answered as one that has ended: who guesses learns nothing.
        assert (answer.status, answer.headers["Location"]) == (303, "/account?done=session-ended")
        path = f"/api/v1/users/{mine.user}/sessions/{session}"
        assert call(site, "DELETE", path, key).json()["code"] == "session_not_found"
    answer = send(site, "POST", "/account/delete", mine.page, f"confirm=yes&account={theirs.user}")
    assert answer.location == "/account/delete?done=other-account"
    assert theirs.kept() == before and session_of(site, mine.token).status == 200


@pytest.mark.parametrize("body", [
    '{"id":"usr_00000000000000000000000000"}', '{"email":"x@example.com"}', '{"emailVerified":true}', '{"name":{"given":"x"}}',
    '{"appleSubject":"x"}', '{"createdAt":"2020-01-01T00:00:00.000Z"}', '{"credentialState":"revoked"}', '{"State":"disabled"}',
    '{"state":"disabled","admin":true}', '{"state":"active","state":"disabled"}', '{"state":"disabled","st\\u0061te":"active"}',
    '{"groups":["a"],"groups":["b"]}', '{"groups":["a","a"]}', '{"groups":["a,b"]}', '{"groups":[""]}', '{"groups":["a\\n"]}',
    '{"groups":[["a"]]}', '{"groups":{"0":"a"}}', '{"groups":"a"}', '{"groups":[null]}', '{"groups":null}', '{"state":null}',
    '{"groups":["' + "x" * 65 + '"]}', json.dumps({"groups": [f"g{n}" for n in range(65)]}), '{"externalID":""}', '{"externalID":1}',
    '{"externalID":"' + "x" * 256 + '"}', '{"externalID":"a\\u0000b"}', '{"externalID":"\\ud800"}', '{"state":"disabled"} x', "[]",
    '{"state":"disabled"', "null", "", '\ufeff{"state":"disabled"}', "[" * 10_000, '{"__proto__":{"state":"disabled"}}',
])
def test_patch_refuses_every_member_that_may_not_be_set(site, inhabited, key, body):
    person = Person(inhabited)
    before = person.kept()
    for kind in ("application/json", "application/merge-patch+json"):
        answer = call(site, "PATCH", f"/api/v1/users/{person.user}", key | {"Content-Type": kind}, body.encode())
        assert answer.status == 400 and answer.json()["code"] == "invalid_request", answer.body
    assert person.kept() == before


def encoded(cursor: bytes) -> str:
    return base64.urlsafe_b64encode(cursor).rstrip(b"=").decode()


def test_forged_cursors_show_nothing_else(site, inhabited, key):
    inhabited.make_people(5)
    users = call(site, "GET", "/api/v1/users?limit=2", key).json()
    sequence = encoded(b"\x02" + (1).to_bytes(8, "big"))
    for path, name, good in (("/api/v1/users", "cursor", users["next"]), ("/api/v1/events", "after", sequence)):
        raw = base64.urlsafe_b64decode(good + "=" * (-len(good) % 4))
        top = encoded(raw[:1] + b"\x7f" + b"\xff" * (len(raw) - 2))
        for text in [
            good + "A", good[:-1], good + "=", good.swapcase(), good + "%00", "", "0", "-1", "' OR 1=1 --", "../",
            "\u0301", "x" * 2000, top, *(encoded(bytes([kind]) + raw[1:]) for kind in (0, 1, 2, 3, 255) if kind != raw[0]),
            *(encoded(raw[:1] + tail) for tail in (b"", b"\xff" * (len(raw) - 1), b"\xff" * 100)),
        ]:
            answer = call(site, "GET", f"{path}?{name}={quote(text, safe='')}", key)
            assert answer.status in (200, 400, 410), (text, answer.status)
            # Whatever place it is, there is nothing of the other list, and nothing twice.
            if answer.status == 200:
                kind = "usr_" if path.endswith("users") else "evt_"
                assert all(item["id"].startswith(kind) for item in answer.json()["items"])
    for limit in ("0", "-1", "201", "1e2", "٣", "1 ", "0x10", "9" * 40, ""):
        assert call(site, "GET", f"/api/v1/users?limit={quote(limit)}", key).status == 400


def test_concurrent_deletions_delete_once(site, inhabited, key):
    for ways in (["page"] * 8, ["api"] * 8, ["page", "api", "backend", "page", "api", "backend", "page", "revoke"]):
        person = Person(inhabited)
        acts = {
            "page": lambda: send(site, "POST", "/account/delete", person.page, person.form("/account/delete")),
            "revoke": lambda: send(site, "POST", "/account/sessions/revoke-all", person.page),
            "api": lambda: send(site, "DELETE", "/api/v1/account", person.page),
            "backend": lambda: call(site, "DELETE", f"/api/v1/users/{person.user}", key)}
        answers = at_once(8, lambda index: acts[ways[index]]().status)
        assert set(answers) <= {202, 303, 401, 404}, answers
        _, sessions, events, identities, _ = person.kept()
        assert (sessions, identities) == ([], [])
        assert [kind for kind, in events].count("account.deleted") == 1
        assert [kind for kind, in events][-1] == "account.deleted"
        for token in (person.token, person.other):
            assert send(site, "GET", "/auth/verify", [cookie(token)]).status == 401


def session_of(site, token: str):
    return send(site, "GET", "/api/v1/session", [cookie(token)])


def test_deleting_during_a_sign_in_leaves_no_partial_user(site, inhabited, key):
    for _ in range(6):
        user = session_of(site, sign_in(site, "boris")).json()["user"]["id"]

        def act(index, user=user):
            if index == 0:
                return call(site, "DELETE", f"/api/v1/users/{user}", key).status
            with contextlib.suppress(AssertionError):
                return sign_in(site, "boris")

        deleted, *tokens = at_once(3, act)
        assert deleted == 202
        for new in filter(None, tokens):
            answer = session_of(site, new)
            assert answer.status == 401 or answer.json()["user"]["id"] != user
        assert inhabited.read("SELECT count(*) FROM session WHERE user NOT IN (SELECT id FROM user)") == [(0,)]
        assert inhabited.read(f"SELECT count(*) FROM user WHERE id = '{user}'") == [(0,)]
        assert inhabited.read(
            "SELECT u.id FROM user u LEFT JOIN apple_identity i ON i.user = u.id WHERE i.id IS NULL") == []


@pytest.mark.parametrize("state", ["pending", "disabled"])
def test_disabled_and_pending_people_cannot_delete(site, inhabited, state):
    person = Person(inhabited)
    inhabited.write("UPDATE user SET state = ? WHERE id = ?", [(state, person.user)])
    before = person.kept()
    for method, path in (("POST", "/account/delete"), ("DELETE", "/api/v1/account"), ("GET", "/account/export")):
        assert send(site, method, path, person.page, person.form(path)).status == 403
    assert person.kept() == before


def test_deletion_needs_a_recent_sign_in(site, inhabited):
    person = Person(inhabited)
    inhabited.write("UPDATE session SET created_at = created_at - 600001 WHERE user = ?", [(person.user,)])
    before, own = person.kept(), person.page
    assert send(site, "POST", "/account/delete", own, person.form("/account/delete")).headers["Location"] == "/account/delete"
    assert send(site, "DELETE", "/api/v1/account", own).json()["code"] == "fresh_sign_in_required"
    assert person.kept() == before


def test_no_secret_is_in_logs_answers_or_files(site, inhabited):
    key, (unknown, _) = inhabited.key(*SCOPES), make_token("brk_")
    token, person = sign_in(site, "ada"), Person(inhabited)
    inhabited.write("UPDATE user SET email = 'canary@mail.example', email_verified = 1, family_name = 'Canaryname'"
                    " WHERE id = ?", [(person.user,)])
    secrets = [key, unknown, token, person.token, person.other, WEBHOOK_SECRET[6:],
               (site.folder / "data" / "sealing.key").read_text().strip()[-24:]]
    private = ["canary@mail.example", "Canaryname", "ada@example.com", "canary-path"]
    bodies = []
    for method, path in DOCUMENTED:
        for credential in ([cookie(person.token)], [cookie(token)], [("Authorization", f"Bearer {key}")],
                           [("Authorization", f"Bearer {unknown}")], [("Authorization", f"Bearer {person.token}")],
                           [cookie(f"{person.token}x")], [("Referer", f"https://x/?{token}"), ("User-Agent", token)]):
            for query in ("", f"?token={token}&return_to={token}&cursor={key}&after={key}&rd=https://{token}"):
                # Nothing is changed: each with the method it is not made for, and forged.
                for verb in {method, "POST"} - {"DELETE", "PATCH"}:
                    answer = send(site, verb, person.fill(path) + query, [*credential, FORM], f"token={unknown}&state={token}&session={token}")
                    bodies.append((path, answer.status, answer.body + str(answer.headers).encode()))
    for path, status, body in bodies:
        for secret in secrets[:-2]:
            if secret.encode() in body:
                # Only a link to sign in with, and a program's post that continues as a GET, carry back what they got.
                assert status in (200, 303, 400, 401) and path.startswith(
                    ("/login", "/oauth2/", "/logout", "/oidc/authorize", "/oidc/logout")), (path, status)
        assert not any(secret.encode() in body for secret in secrets[-2:])
        if status >= 400:
            assert not any(text.encode() in body for text in private), (path, status)
    # The second is answered by the fast path, which has the answer of the first in memory.
    for _ in range(2):
        assert call(site, "GET", "/auth/verify", {"Cookie": f"__Host-bramley={token}"}).status == 204
    log = site.server.text()
    lines = [json.loads(line) for line in log.splitlines()]
    requests = [line for line in lines if line["message"] == "request"]
    # Those of the fast path too, and each with nothing but its own few words.
    assert {"/auth/verify", "/account", "/api/v1/introspect"} <= {line.get("route") for line in requests}
    assert any("request_id" not in line for line in requests) and len(requests) > len(bodies) / 2
    words = {"time", "level", "logger", "message", "method", "route", "status", "bytes", "ms", "client", "protocol", "request_id"}
    assert all(set(line) <= words for line in requests)
    assert all("?" not in line.get("route", "") and line.get("client", "").endswith(("/24", "/48")) for line in requests)
    failed = [line for line in lines if line["message"] == "request failed"]
    assert failed and all(line["request_id"] and line["error_id"] for line in failed)
    for text in [*secrets, *private, "brs_", "brk_", "whsec_", "@mail.example", "eyJ"]:
        assert text not in log, text
    journal = call(site, "GET", "/api/v1/events?limit=200", token=key).text
    for text in journal, *inhabited.read("SELECT group_concat(fields) FROM event")[0]:
        assert not any(secret in text for secret in [*secrets, *private])
    told = str(inhabited.read("SELECT type, actor, reason, object, api_key, network, subject FROM audit"))
    assert "sign_in" in told
    assert not any(text in told for text in [*secrets, *private, person.user, "usr_", "ses_"])


@pytest.mark.parametrize("make", [
    os.mkfifo, lambda file: file.symlink_to("/dev/zero"), Path.mkdir,
    lambda file: file.symlink_to(file.parents[2] / "AuthKey.p8"), lambda file: file.symlink_to(file.name),
    lambda file: file.write_bytes(b"x" * 1_048_577),
], ids=["pipe", "endless", "folder", "key", "itself", "too long"])
def test_page_templates_that_are_not_regular_files_do_not_block(site, tmp_path, make):
    """What would be published or never end: refused at start, not read. A page of each kind, all in one folder."""
    (tmp_path / "AuthKey.p8").write_bytes((site.folder / "AuthKey.p8").read_bytes())
    pages, places = tmp_path / "pages", ["assets/bramley.css", "strings/en.json", "templates/layout.mustache"]
    for place in places:
        (pages / place).parent.mkdir(parents=True)
        make(pages / place)
    settings = json.loads((site.folder / "config.json").read_text()) | {"pages": {"directory": str(pages)}}
    write_private(tmp_path / "config.json", json.dumps(settings).encode())
    done = Operator(site.binaries, tmp_path).run("check", timeout=PATIENCE)
    told = done.stdout + done.stderr
    assert done.returncode != 0 and all(f'"{place}"' in told for place in places), told
    assert "PRIVATE KEY" not in told
