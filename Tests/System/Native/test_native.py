"""Sign-ins of apps against the built programs: what works, what is lost on the way, and what attackers try."""

import hashlib
import html
import json
import re

from jsonschema import Draft202012Validator

import postgres
from app import APP, OTHER, challenge, exchanges, hashed, post, request, send, sheet, sign_in
from closed import closed
from patience import at_once, eventually, killed_while
from web import SAME_ORIGIN, Browser, call, new_address, part_of


def count(site, table: str) -> int:
    return site.operator.database(f"SELECT count(*) FROM {table}")[0][0]


def people(site) -> tuple:
    """All that a refused request must not change."""
    return tuple(count(site, table) for table in ("user", "session", "event", "first_consent"))


def without_name(given: dict, nonce: str) -> dict:
    """The system's answer in the route's form, without a name."""
    return {name: given[name] for name in ("identityToken", "authorizationCode")} | {"nonce": nonce}


def test_an_answer_is_as_described(site):
    answer = sign_in(site)
    schema = {"$ref": "#/components/schemas/NativeSession", "components": closed()["components"]}
    Draft202012Validator(schema).validate(answer)
    assert answer["user"]["name"] == {"given": "Ada", "family": "Byron"}
    assert send(site, "GET", "/api/v1/session", token=answer["token"]).json() == {
        "user": answer["user"], "session": answer["session"]}


def test_the_real_user_status_of_the_first_sign_in_is_kept(site):
    for _ in range(2):
        user = sign_in(site)["user"]
        assert user["realUserStatus"] == "likelyReal" and user["name"] == {"given": "Ada", "family": "Byron"}
    assert count(site, "user") == 1


def test_app_and_browser_sessions_of_one_person_coexist(site):
    browser = Browser(site, new_address())
    browser.sign_in("ada")
    app = sign_in(site)
    page = browser.get("/account")
    text = html.unescape(page.body.decode())
    assert page.status == 200 and app["session"]["id"] in text and ">App<" in re.sub(r"\s+", "", text)
    sql = "SELECT kind, client_id FROM session WHERE user = ? ORDER BY kind"
    assert site.operator.database(sql, app["user"]["id"]) == [("browser", "com.example.web"), ("native", APP)]
    browser.send("POST", "/account/sessions/revoke", {"session": app["session"]["id"]}, SAME_ORIGIN).must(303)
    assert send(site, "GET", "/api/v1/session", token=app["token"]).status == 401


def test_twenty_concurrent_requests_make_one_session_and_send_one_code(site):
    content = request(site)
    site.apple.call("PUT", "faults/token", {"delay": 300})
    answers = at_once(20, lambda _: post(site, content))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.json()["token"] for answer in answers}) == 1
    assert exchanges(site) == count(site, "session") == 1


def test_a_server_killed_while_apple_answers_never_sends_the_code_again_and_has_the_name(site):
    content = request(site, "chie")
    site.apple.call("PUT", "faults/token", {"hang": True})
    killed_while(site.kill, lambda: exchanges(site) == 1, post, site, content)
    site.apple.call("DELETE", "faults/token")
    site.start()
    # It may still be on its way, as far as this process knows.
    early = post(site, content)
    assert (early.status, early.code) == (503, "provider_unavailable") and int(early.headers["Retry-After"]) > 0
    site.operator.database("UPDATE code_exchange SET begun_at = begun_at - 31000")
    assert post(site, content).code == "code_refused"
    assert exchanges(site) == 1
    # Apple gave the name once; it is here.
    again = request(site, "chie")
    assert "user" not in again
    assert post(site, again).json()["user"]["name"] == {"given": "千絵", "family": "山田"}


def test_the_name_survives_failures_and_a_code_is_resent_only_if_apple_did_not_redeem_it(site):
    for number, (fault, again) in enumerate([
            ({"status": 503}, 200), ({"status": 429}, 200), ({"error": "invalid_client"}, 200),
            ({"close": "start"}, 400), ({"close": "half"}, 400), ({"body": "html"}, 400)]):
        person = f"person{number}"
        site.apple.call("POST", "people", {"id": person, "givenName": "Pat", "familyName": str(number)})
        sent, before = exchanges(site), people(site)[:3]
        content = request(site, person)
        site.apple.call("PUT", "faults/token", fault | {"remaining": 1})
        assert post(site, content).status in (400, 503), fault
        assert people(site)[:3] == before, fault
        retried = post(site, content)
        assert retried.status == again, (fault, retried.body)
        assert exchanges(site) - sent == (2 if again == 200 else 1), fault
        if again != 200:
            assert retried.code == "code_refused", fault
            retried = post(site, request(site, person))
        assert retried.json()["user"]["name"] == {"given": "Pat", "family": str(number)}, fault


def web_form(site, person: str) -> tuple[str, dict]:
    """A sign-in of a browser up to Apple's post: the binding cookie, and the fields."""
    start = send(site, "GET", "/login/apple")
    given = site.apple.call("POST", "authorize", {"person": person, "authorize_url": start.headers["Location"]})
    return start.headers["Set-Cookie"].split(";")[0], given


def test_tokens_are_valid_only_for_their_flow_and_app(site):
    before, nonce = people(site), challenge(site)
    right, other = sheet(site, "ada", hashed(nonce)), sheet(site, "ada", hashed(challenge(site)))
    base = without_name(right, nonce)
    # A bundle ID that Apple knows and this server does not.
    site.apple.call("POST", "clients", {"id": "com.example.stranger", "team": "TEAM123456", "redirectURIs": []})
    stranger = sheet(site, "ada", hashed(nonce), app="com.example.stranger")
    _, web = web_form(site, "ada")
    # Raw, in other letters, and none.
    wrong = [sheet(site, "ada", claim) for claim in (nonce, hashed(nonce).upper(), None)]
    for content in [
        *(without_name(given, nonce) for given in (stranger, other, *wrong)),
        {"identityToken": web["id_token"], "authorizationCode": web["code"], "nonce": nonce},
        # Token and code of two answers.
        base | {"authorizationCode": other["authorizationCode"]}, base | {"identityToken": other["identityToken"]},
        base | {"authorizationCode": "c0.nonsense"}, base | {"identityToken": "a.b.c"},
        base | {"identityToken": right["identityToken"][:-4] + "AAAA"},
    ]:
        assert post(site, content).must(400).code == "identity_token"
    # What is none of our nonces: of nobody, altered, another server's kind, a browser's.
    altered = nonce[:10] + ("A" if nonce[10] != "A" else "B") + nonce[11:]
    for wrong in ["x", nonce[:-1], nonce + "A", altered, web["state"][:200], hashed(nonce)]:
        assert post(site, base | {"nonce": wrong}).code == "invalid_nonce"
    assert exchanges(site) == 0 and people(site) == before
    # The right one still works: nothing used it up. And only as it was.
    assert post(site, base).status == 200
    for changes in [{"user": {"givenName": "Eve"}}, {"authorizationCode": other["authorizationCode"]},
                    {"identityToken": other["identityToken"]}]:
        assert post(site, base | changes).code == "nonce_used"
    assert exchanges(site) == 1


def test_an_apps_token_signs_no_browser_in(site):
    cookie, form = web_form(site, "ada")
    given = sheet(site, "ada", part_of(form["id_token"])["nonce"])
    content = {"state": form["state"], "code": given["authorizationCode"], "id_token": given["identityToken"]}
    answer = call(site, "POST", "/apple/callback", new_address() | {"Cookie": cookie}, form=content)
    assert answer.status == 400 and "Set-Cookie" not in answer.headers
    assert people(site)[:2] == (0, 0) and exchanges(site) == 0


def test_a_flawed_token_from_the_sheet_signs_nobody_in(site):
    for wrong in ["iss", "aud", "exp", "iat", "nonce", "noNonce", "cHash", "noCHash", "signature", "kid", "noKid", "algNone"]:
        site.apple.call("PUT", "tokens", {"wrong": [wrong], "on": "authorize"})
        assert post(site, request(site)).status in (400, 503), wrong
        assert exchanges(site) == 0 and people(site) == (0, 0, 0, 0), wrong


def test_a_flawed_token_from_the_exchange_signs_nobody_in(site):
    flaws = ["iss", "aud", "sub", "exp", "iat", "nonce", "atHash", "signature", "algNone"]
    for wrong in flaws:
        site.apple.call("PUT", "tokens", {"wrong": [wrong], "on": "token"})
        content = request(site)
        assert post(site, content).status in (400, 503), wrong
        site.apple.call("DELETE", "tokens")
        assert post(site, content).code == "code_refused", wrong
    assert exchanges(site) == len(flaws) and people(site)[:3] == (0, 0, 0)


def test_malformed_requests_are_refused(site):
    good = request(site)
    text = json.dumps(good).encode()
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", "",
                 "application/jwt"]:
        assert send(site, "POST", "/api/v1/native/sessions", text, kind=kind).code == "unsupported_media_type"
    for content in [b"", b"null", b"[]", b'"x"', text[:-1], text + b"x", text.replace(b"{", b'{"nonce":"x",', 1), b"\xff" + text,
                    b"[" * 10_000, b'{"identityToken":' * 3_000]:
        assert send(site, "POST", "/api/v1/native/sessions", content).status == 400
    for name in ("identityToken", "authorizationCode", "nonce"):
        for value in (None, "", 7, [], {}, True, "x" * 20_000):
            assert post(site, good | {name: value}).code == "invalid_request"
        assert post(site, {key: value for key, value in good.items() if key != name}).code == "invalid_request"
    for user in ("x", 7, [], {"firstName": "A"}, {"givenName": 7}, {"givenName": {"a": "b"}}):
        assert post(site, good | {"user": user}).code == "invalid_request"
    assert post(site, good | {"user": {"givenName": "x" * 65_536}}).status == 413
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        for path in ("sessions", "challenge"):
            assert send(site, method, f"/api/v1/native/{path}").status == 405
    assert exchanges(site) == 0 and people(site) == (0, 0, 0, 0)
    # A name longer than any is cut, and stops nobody.
    long = post(site, good | {"user": {"givenName": "é\u202e\x07" * 3_000, "familyName": None}})
    assert long.status == 200 and long.json()["user"]["name"] == {"given": "é" * 100, "family": None}


def test_a_challenge_expires(make_app_site):
    site = make_app_site({"login.attemptLifetime": 1})
    content = request(site)
    answer = eventually(lambda: (answer := post(site, content)).status != 200 and answer, "a refusal")
    assert answer.code == "nonce_expired"
    # It had its session, which continues; with the nonce it cannot be asked for any more.
    assert count(site, "session") <= 1


def test_with_nativeNonce_raw_the_nonce_is_compared_unhashed(make_app_site):
    site = make_app_site({"apple.nativeNonce": "raw"})
    nonce = challenge(site)
    for claim, status in [(hashed(nonce), 400), (nonce, 200)]:
        answer = post(site, without_name(sheet(site, "ada", claim), nonce))
        assert answer.status == status, answer.body


def test_each_app_is_a_client_of_its_own(site):
    first, second = sign_in(site), sign_in(site, app=OTHER)
    assert first["user"]["id"] == second["user"]["id"]
    assert site.operator.database("SELECT client_id FROM apple_credential ORDER BY 1") == [(APP,), (OTHER,)]


def test_consent_withdrawn_at_apple_ends_the_session_of_the_app(site):
    token = sign_in(site)["token"]
    site.apple.notify("consent-revoked", "ada")
    assert send(site, "GET", "/api/v1/session", token=token).status == 401


def delete(site, token: str, **content):
    return send(site, "DELETE", "/api/v1/account", content or None, token=token)


def test_without_a_stored_token_a_fresh_code_allows_the_revocation(site):
    app = sign_in(site)
    # As after an import, or once Apple ended the token there was; and signed in long ago.
    site.operator.database("UPDATE apple_credential SET sealed_refresh_token = NULL")
    site.operator.database("UPDATE session SET created_at = created_at - 3600000")
    site.restart()
    assert delete(site, app["token"]).code == "fresh_sign_in_required"
    nonce = challenge(site)
    fresh, stranger = sheet(site, "ada", hashed(nonce)), sheet(site, "boris", hashed(nonce))
    other = sheet(site, "ada", hashed(nonce), app=OTHER)
    good = {"authorizationCode": fresh["authorizationCode"], "nonce": nonce}
    for content, code in [
        (good | {"authorizationCode": stranger["authorizationCode"]}, "token_mismatch"),
        (good | {"authorizationCode": other["authorizationCode"]}, "code_refused"),
        ({"authorizationCode": "nonsense"}, "code_refused"), (good | {"nonce": "x"}, "invalid_nonce"),
        (good | {"nonce": challenge(site), "identityToken": fresh["identityToken"]}, "identity_token"),
        (good | {"identityToken": stranger["identityToken"]}, "identity_token"), ({}, "invalid_request"),
    ]:
        answer = send(site, "DELETE", "/api/v1/account", content, token=app["token"])
        assert (answer.status, answer.code) == (400, code), (content, answer.body)
    assert count(site, "user") == 1
    assert delete(site, app["token"], **good).must(202).json() == {"appleNotified": True}
    assert people(site)[:2] == (0, 0)
    eventually(lambda: not site.apple.has_consent("ada"), "the end of the consent")
    assert delete(site, app["token"], **good).status == 401


def test_an_app_learns_that_apple_cannot_be_notified(site):
    app = sign_in(site)
    site.operator.database("UPDATE apple_credential SET sealed_refresh_token = NULL")
    assert delete(site, app["token"]).must(202).json() == {"appleNotified": False}
    assert people(site)[:2] == (0, 0)
    assert count(site, "revocation WHERE sealed_refresh_token IS NOT NULL") == 0


def test_a_lost_refusal_is_repeated_only_to_the_same_request(make_app_site):
    site = make_app_site({"access.signUp": "approval"})
    content = request(site)
    assert (post(site, content).status, post(site, content).code) == (403, "user_pending")
    site.restart()
    assert post(site, content).code == "user_pending"
    assert post(site, content | {"user": {"givenName": "Eve"}}).code == "nonce_used"
    assert exchanges(site) == 1
    site.operator.database("UPDATE user SET state = 'disabled'")
    # The answer is that of the first time; a fresh request has the present one.
    assert post(site, content).code == "user_pending"
    shut_out = request(site)
    assert [post(site, shut_out).code for _ in range(2)] == ["user_disabled"] * 2
    assert exchanges(site) == 2


def test_requests_of_one_address_are_limited(site):
    # What is allowed grows back by real time: a slow machine may get another answer between two refusals.
    def is_refused(path: str) -> bool:
        return send(site, "POST", path, {}, address="203.0.113.9").status == 429

    assert next(count for count in range(1000) if is_refused("/api/v1/native/challenge")) >= 120
    assert any(is_refused("/api/v1/native/sessions") for _ in range(40))
    assert send(site, "POST", "/api/v1/native/challenge", address="203.0.113.10").status == 200


def test_the_association_file_names_the_apps(site):
    answer = send(site, "GET", "/.well-known/apple-app-site-association")
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/json"
    assert answer.json() == {"webcredentials": {"apps": [f"TEAM123456.{APP}", f"TEAM123456.{OTHER}"]}}


@postgres.on_sqlite
def test_no_secret_is_logged_or_stored(site):
    content = request(site)
    answer = post(site, content).json()
    post(site, content | {"user": {"givenName": "Canaryname"}})
    post(site, content | {"nonce": "canary-nonce"})
    log = site.server.text()
    kept = b"".join(file.read_bytes() for file in (site.folder / "data").glob("bramley.db*"))
    for text in (content["identityToken"], content["authorizationCode"], content["nonce"], hashed(content["nonce"]),
                 answer["token"], "Canaryname", "canary-nonce"):
        assert text not in log and text.encode() not in kept
    assert hashlib.sha256(answer["token"].encode()).digest() in kept
