"""The answers of docs/examples/accounts about passwords and codes, and the events it accepts."""

import statistics
import time
from unittest import mock

import pytest

from demo import EXAMPLE, PASSWORD, ROOT, Person, hidden
from receiver import new_secret
from web import call


FAILURE = {"result": "failure"}


@pytest.fixture
def demo(lone_demo):
    return lone_demo


def gone(demo, name: str) -> Person:
    person = Person(demo, name).signs_up()
    assert demo.complete(demo.upgrade(name), "brl_1").status == 200
    return person


def test_a_right_password_begins_a_link(demo):
    Person(demo, "right").signs_up()
    demo.bramley.asked.clear()
    answer = demo.upgrade("right")
    assert set(answer) == {"result", "link", "ticket", "nonce", "token"} and answer["result"] == "success"
    assert demo.bramley.calls("/api/v1/links") == [{
        "externalID": demo.account("right")["id"], "kind": "upgrade", "displayName": "right",
        "returnTo": f"{demo.origin}/connected"}]
    # As people type it.
    assert demo.upgrade("  RIGHT ")["result"] == "success"
    # The token completes this upgrade alone, and is kept as a hash.
    assert answer["token"].encode() not in demo.database.read_bytes()


def test_every_wrong_credential_gets_the_same_answer(demo):
    Person(demo, "known").signs_up()
    gone(demo, "gone")
    demo.bramley.asked.clear()
    for name, password in [
            ("known", "wrong password"), ("unknown", PASSWORD), ("gone", PASSWORD), ("", ""), ("known", ""),
            ("known", PASSWORD + "x"), ("known", PASSWORD * 100), ("x" * 10000, PASSWORD), ("known", "\ud800"),
            ("\udfff", PASSWORD), ("known\0", PASSWORD), ("known", PASSWORD + "\0"), ("known", None), (7, PASSWORD),
            (["known"], PASSWORD)]:
        answer = demo.post("/upgrade", {"name": name, "password": password})
        assert (answer.status, answer.text) == (200, '{"result":"failure"}\n'), (name, password)
    assert not demo.bramley.asked


def test_an_unknown_name_takes_as_long_as_a_wrong_password(demo):
    Person(demo, "timed").signs_up()
    gone(demo, "converted")
    times = {name: [] for name in ("timed", "stranger", "converted")}
    for number in range(9):
        for name, measured in times.items():
            begun = time.perf_counter()
            assert demo.upgrade(name, f"wrong password {number}")["result"] == "failure"
            measured.append(time.perf_counter() - begun)
    # Without a hash for nobody it would be a tenth. Other programs on this machine may double either.
    fast, *_, slow = sorted(statistics.median(measured) for measured in times.values())
    assert fast > slow / 3, times


def test_the_second_factor(demo):
    person = Person(demo, "careful").signs_up().sets_up_second_factor()
    first = demo.upgrade("careful")
    assert first == {"result": "twoFactorAuthRequired", "challenge": first["challenge"], "methods": ["totp"]}
    assert demo.upgrade("careful", "a wrong password") == FAILURE
    assert demo.code(first["challenge"], "000000" if person.code() != "000000" else "000001") == FAILURE
    code = person.code()
    assert demo.code(first["challenge"], code)["result"] == "success"
    assert demo.code(first["challenge"], person.code()) == FAILURE
    again = demo.upgrade("careful")["challenge"]
    assert again != first["challenge"]
    demo.sql("UPDATE account SET totp_step = ? WHERE name = 'careful'", int(time.time()) // 30 + 1)
    assert demo.code(again, code) == FAILURE
    assert demo.code(again, person.code())["result"] == "success"
    assert demo.code("no challenge", person.code()) == demo.code("\ud800", "\ud800") == FAILURE


def test_a_challenge_has_five_tries_and_expires(demo):
    person = Person(demo, "patient").signs_up().sets_up_second_factor()
    challenge = demo.upgrade("patient")["challenge"]
    for code in ["x"] * 5 + [person.code()]:
        assert demo.code(challenge, code) == FAILURE
    late = demo.upgrade("patient")["challenge"]
    demo.sql("UPDATE challenge SET made = made - 601")
    assert demo.code(late, person.code()) == FAILURE


def test_a_challenge_of_the_page_is_not_valid_for_the_extension(demo):
    person = Person(demo, "split").signs_up().sets_up_second_factor()
    page = person.post("/sign-in", {"name": "split", "password": PASSWORD})
    assert demo.code(hidden(page)["challenge"], person.code()) == FAILURE
    challenge = demo.upgrade("split")["challenge"]
    assert person.post("/sign-in/code", {"challenge": challenge, "code": person.code()}).status == 401


def test_completing_drops_the_password_and_its_challenges(demo):
    inside, elsewhere = Person(demo, "convert").signs_up(), Person(demo, "convert")
    elsewhere.signs_in()
    inside.sets_up_second_factor()
    upgrade = demo.code(demo.upgrade("convert")["challenge"], inside.code())
    waiting = demo.upgrade("convert")["challenge"]
    assert demo.complete(upgrade, "brl_1").json() == {"result": "success"}
    kept = demo.account("convert")
    assert (kept["password"], kept["totp"], kept["apple"]) == (None, None, "usr_ada")
    # The password, a half-finished second factor and the sessions made with it are of no use any more.
    assert demo.upgrade("convert") == demo.code(waiting, inside.code()) == FAILURE
    assert Person(demo, "convert").signs_in().status == 401
    assert not inside.is_in() and not elsewhere.is_in()
    # The answer was lost: the same again is as good, and changes nothing.
    for _ in range(3):
        assert demo.complete(upgrade, "brl_1").status == 200
    assert demo.account("convert") == kept


def test_only_the_extension_that_began_an_upgrade_completes_it(demo):
    Person(demo, "kept").signs_up()
    Person(demo, "thief").signs_up()
    mine, theirs = demo.upgrade("kept"), demo.upgrade("thief")
    for upgrade in (mine | {"token": theirs["token"]}, mine | {"link": theirs["link"]}, mine | {"token": "x" * 43},
                    mine | {"token": "\ud800"}, mine | {"link": "lnk_nobody"}, mine | {"token": 7}):
        assert demo.complete(upgrade, "brl_1").status in (400, 404), upgrade
    assert demo.account("kept")["password"] and demo.account("thief")["password"]
    # Nor does a browser's session, on the page for links of browsers.
    person = Person(demo, "kept")
    person.signs_in()
    assert person.get(f"/connected?link={mine['link']}&code=brl_1").status == 403
    assert demo.account("kept")["password"]


@pytest.mark.parametrize("status,code,fields,expected", [
    (409, "identity-linked-elsewhere", {}, 409), (404, "link_unknown", {}, 409), (409, "link_ended", {}, 409),
    (403, "user_disabled", {}, 409), (400, "revoked", {}, 409), (503, "unavailable", {"Retry_After": "5"}, 503),
    (429, "too_many_requests", {}, 503)])
def test_a_refusal_by_bramley_drops_no_password(demo, status, code, fields, expected):
    name = f"refused-{code}"
    Person(demo, name).signs_up()
    upgrade = demo.upgrade(name)
    demo.bramley.completes(upgrade["link"], status, code, **fields)
    assert demo.complete(upgrade, "brl_1").status == expected
    account = demo.account(name)
    assert account["password"] and account["apple"] is None
    demo.bramley.completes(upgrade["link"])
    assert demo.complete(upgrade, "brl_1").status == 200


def test_without_bramley_a_right_password_is_503_and_a_wrong_one_a_failure(demo):
    Person(demo, "alone").signs_up()
    with mock.patch.dict(demo.bramley.answers, {("POST", "/api/v1/links"): b""}):
        assert demo.post("/upgrade", {"name": "alone", "password": PASSWORD}).status == 503
        assert demo.upgrade("alone", "a wrong password") == FAILURE
    assert demo.account("alone")["password"]


@pytest.mark.parametrize("path", ["/upgrade", "/upgrade/code", "/upgrade/complete"])
@pytest.mark.parametrize("body", [
    b"", b"no json", b"[]", b"null", b"{}", b'{"name":"a"}', b'{"name":"a","password":"b","more":1}', b"[" * 50000])
def test_invalid_requests_of_the_extension_are_refused(demo, path, body):
    assert demo.post(path, body).status in (400, 415)


def test_forms_of_other_sites_are_refused(demo):
    Person(demo, "posted").signs_up()
    for kind in ("application/x-www-form-urlencoded", "text/plain"):
        answer = call(demo.port, "POST", "/upgrade", {"Content-Type": kind}, b'{"name":"posted","password":"x"}')
        assert answer.status == 415


def test_an_oversized_request_is_refused(demo):
    assert demo.post("/upgrade", b" " * 65537).status == 413


def test_an_unsigned_event_is_refused(demo):
    Person(demo, "signed").signs_up()
    upgrade = demo.upgrade("signed")
    demo.bramley.completes(upgrade["link"], 503, "unavailable", Retry_After="5")
    assert demo.complete(upgrade, "brl_1").status == 503
    demo.bramley.completes(upgrade["link"])
    now = time.time()
    for change in [
        {"secret": new_secret()}, {"at": now - 301}, {"at": now + 310}, {"webhook_id": "msg_another"}, {"webhook_id": None},
        {"webhook_id": ""}, {"webhook_timestamp": str(int(now) + 60)}, {"webhook_timestamp": None},
        {"webhook_timestamp": "soon"}, {"webhook_signature": None}, {"webhook_signature": ""},
        {"webhook_signature": "v1,AAAA"}, {"webhook_signature": "v1a," + "A" * 44},
    ]:
        assert demo.tell_linked(upgrade["link"], **change).status == 400, change
    assert demo.account("signed")["password"]
    assert demo.tell_linked(upgrade["link"]).status == 204
    assert demo.account("signed")["password"] is None


def unfinished(demo, name: str) -> dict:
    """An upgrade whose completion was not answered: the application has its code."""
    Person(demo, name).signs_up()
    upgrade = demo.upgrade(name)
    demo.bramley.answers["POST", f"/api/v1/links/{upgrade['link']}/complete"] = b""
    assert demo.complete(upgrade, "brl_1").status == 503
    assert demo.account(name)["password"]
    return upgrade


def test_the_event_completes_an_unanswered_upgrade(demo):
    upgrade = unfinished(demo, "told")
    # Not yet: the webhook is sent again.
    assert demo.tell_linked(upgrade["link"]).status == 503 and demo.account("told")["password"]
    demo.bramley.completes(upgrade["link"])
    for _ in range(2):
        assert demo.tell_linked(upgrade["link"]).status == 204
    assert demo.account("told")["password"] is None


def test_a_repeated_or_late_event_drops_no_newer_password(demo):
    for name, before, after in [("twice", 1, 2), ("late", 0, 1)]:
        link = unfinished(demo, name)["link"]
        demo.bramley.completes(link)
        assert [demo.tell_linked(link).status for _ in range(before)] == [204] * before
        demo.sql("UPDATE account SET password = 'set since', password_number = 2 WHERE name = ?", name)
        assert [demo.tell_linked(link).status for _ in range(after)] == [204] * after
        account = demo.account(name)
        assert (account["password"], account["apple"]) == ("set since", "usr_ada")


@pytest.mark.parametrize("said", [
    {}, {"state": "disabled"}, {"state": "pending"}, {"credentialState": "revoked"}, {"credentialState": "notFound"},
    {"externalID": None}, {"externalID": "another"}, None])
def test_after_a_day_the_users_state_says_whether_they_can_sign_in_with_apple(demo, said):
    """Bramley has forgotten the link by then."""
    name = f"aday-{said}"[:64].lower()
    upgrade = unfinished(demo, name)
    demo.bramley.completes(upgrade["link"], 404, "link_unknown")
    person = {"id": "usr_ada", "externalID": demo.account(name)["id"], "state": "active", "credentialState": "authorized"}
    demo.bramley.answers["GET", "/api/v1/users/usr_ada"] = (
        (404, {"code": "user_not_found", "status": 404}) if said is None else (200, person | said))
    assert demo.tell_linked(upgrade["link"]).status == 204
    assert (demo.account(name)["password"] is None) == (said == {})


def test_an_event_about_an_unknown_link_changes_nothing(demo):
    Person(demo, "calm").signs_up()
    before = demo.account("calm")
    upgrade = demo.upgrade("calm")
    demo.bramley.asked.clear()
    for link in ("lnk_nobody", upgrade["link"], ""):
        assert demo.tell_linked(link).status == 204
    # Of the second, no code is known: nobody has come back from Apple.
    assert demo.account("calm") == before and not demo.bramley.asked


def test_the_packages_of_the_tests_are_those_of_the_example():
    pins = (ROOT / "scripts/test-requirements.txt").read_text().splitlines()
    assert set((EXAMPLE / "requirements.txt").read_text().split()) <= set(pins)
    assert (EXAMPLE / "webhooks.py").read_bytes() == (ROOT / "docs/examples/flask/webhooks.py").read_bytes()
