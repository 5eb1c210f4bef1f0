"""The pages of docs/examples/accounts, with somebody in Bramley's place who says what the test needs."""

import re
import secrets

import pytest

from demo import PASSWORD, Person, hidden
from receiver import new_secret
from standin import problem

COOKIE = {"Cookie": "__Host-bramley=brs_x"}


@pytest.fixture
def bramley(demo):
    demo.bramley.asked.clear()
    demo.bramley.answers.clear()
    demo.bramley.person = None
    return demo.bramley


def completed(person: Person, link: str) -> str:
    """The final address after Bramley's redirect."""
    return person.get(f"/connected?link={link}&code=c1").location


def begins(demo, bramley, name: str, kind: str = "link") -> tuple[Person, str]:
    """Somebody new who pressed the button, and their link."""
    person, link = Person(demo, name).signs_up(), f"lnk_{name}"
    bramley.begins(link)
    assert person.post("/account/connect", {"kind": kind}).must(303).location == f"{bramley.origin}/link/{link}"
    return person, link


def test_signing_up_in_and_out(demo, bramley):
    person = Person(demo, "ada").signs_up()
    assert person.is_in() and "__Host-accounts=" in person.cookie
    assert person.post("/sign-out").location == "/" and not person.is_in()
    assert person.signs_in().location == "/account" and person.is_in()
    assert Person(demo, "ada", "another password").signs_in().status == 401
    for name, password in [("ada", PASSWORD), ("ADA", PASSWORD), ("", PASSWORD), ("new", "short"), ("x" * 65, PASSWORD),
                           ("new", "x" * 257), ("ne\nw", PASSWORD)]:
        answer = Person(demo, name).post("/sign-up", {"name": name, "password": password})
        assert answer.status == 400 and "Set-Cookie" not in answer.headers, (name, password)


def test_a_name_is_shown_and_not_run(demo, bramley):
    assert "<b>" not in Person(demo, "<b>&\"'").signs_up().get("/account").text


def test_signing_in_requires_the_second_factor(demo, bramley):
    person = Person(demo, "boris").signs_up().sets_up_second_factor()
    assert person.post("/sign-out").status == 303
    asked = person.post("/sign-in", {"name": "boris", "password": PASSWORD})
    assert asked.status == 200 and "Set-Cookie" not in asked.headers and not person.is_in()
    assert person.post("/sign-in/code", hidden(asked) | {"code": "x"}).status == 401 and not person.is_in()
    assert person.signs_in().location == "/account" and person.is_in()
    assert person.post("/account/second-factor").status == 303


def test_a_session_is_new_at_each_sign_in_and_kept_as_a_hash(demo, bramley):
    person = Person(demo, "chie").signs_up()
    first = person.cookie
    person.signs_in()
    assert person.cookie != first
    assert person.cookie.partition("=")[2].encode() not in demo.database.read_bytes()
    person.cookie, second = first, person.cookie
    assert not person.is_in()
    person.cookie = second
    demo.sql("UPDATE session SET made = made - 14 * 86400 - 1")
    assert not person.is_in()


@pytest.mark.parametrize("origin", ["https://evil.example", "null", None, "http://localhost"])
def test_a_form_from_another_site_is_refused(demo, bramley, origin):
    person = Person(demo, "dana")
    if not demo.sql("SELECT 1 FROM account WHERE name = 'dana'"):
        person.signs_up()
    person.signs_in()
    bramley.begins("lnk_forged")
    for path, form in [("/account/connect", {"kind": "upgrade"}), ("/sign-out", {}), ("/account/new", {}),
                       ("/account/second-factor", {}), ("/sign-in", {"name": "dana", "password": PASSWORD}),
                       ("/sign-up", {"name": "erin", "password": PASSWORD})]:
        assert "Set-Cookie" not in person.post(path, form, Origin=origin).must(403).headers, path
    assert person.is_in() and not bramley.calls("/api/v1/links")


def test_pages_are_not_kept_framed_or_named_to_others(demo, bramley):
    for path in ("/sign-in", "/sign-up", "/nothing", "/connected?link=l&code=c"):
        fields = Person(demo, "anybody").get(path).headers
        assert fields["Cache-Control"] == "private, no-store" and fields["Referrer-Policy"] == "same-origin"
        assert "frame-ancestors 'none'" in fields["Content-Security-Policy"]


@pytest.mark.parametrize("kind", ["link", "upgrade"])
def test_a_link_is_completed_in_the_session_that_began_it(demo, bramley, kind):
    person, link = begins(demo, bramley, f"whole-{kind}", kind)
    account = demo.account(f"whole-{kind}")["id"]
    assert bramley.calls("/api/v1/links") == [{
        "externalID": account, "kind": kind, "displayName": f"whole-{kind}", "returnTo": f"{demo.origin}/connected"}]
    bramley.completes(link)
    assert person.get(f"/connected?link={link}&code=c1").must(303).location == f"/account?done={kind}"
    assert bramley.calls(f"/api/v1/links/{link}/complete") == [{"code": "c1"}]
    assert all(key == "Bearer brk_key" for _, path, _, key in bramley.asked if "links" in path)
    kept = demo.account(f"whole-{kind}")
    assert kept["apple"] == "usr_ada" and (kept["password"] is None) == (kind == "upgrade")
    assert completed(person, link) == f"/account?done={kind}"
    assert demo.account(f"whole-{kind}") == kept


def test_a_new_or_ended_session_does_not_complete_a_link(demo, bramley):
    person, link = begins(demo, bramley, "leaves")
    bramley.completes(link)
    person.post("/sign-out")
    assert person.get(f"/connected?link={link}&code=c1").status == 403
    person.signs_in()
    for query in (f"?link={link}&code=c1", "", "?link=", f"?link={link}", "?code=c1", "?link=..%2F..%2Fusers&code=c1"):
        assert person.get(f"/connected{query}").status == 403
    assert not bramley.calls(f"/api/v1/links/{link}/complete")


def test_a_session_older_than_ten_minutes_connects_nothing(demo, bramley):
    person = Person(demo, "open").signs_up()
    bramley.begins("lnk_open")
    demo.sql("UPDATE session SET made = made - 601 WHERE account = ?", demo.account("open")["id"])
    page = person.get("/account").text
    assert 'id="again"' in page and 'id="connect"' not in page
    for path, form in [("/account/connect", {"kind": "link"}), ("/account/second-factor", {}),
                       ("/account/second-factor/confirm", {"code": "1"})]:
        assert person.post(path, form).location == "/account"
    assert not bramley.calls("/api/v1/links")
    person.signs_in()
    assert person.post("/account/connect", {"kind": "link"}).location.endswith("/link/lnk_open")


def test_a_link_of_another_kind_is_refused(demo, bramley):
    person = Person(demo, "kinds").signs_up()
    for kind in ("", "replace", "LINK"):
        assert person.post("/account/connect", {"kind": kind}).status == 400


@pytest.mark.parametrize("status,code,fields,shown,again", [
    (409, "identity-linked-elsewhere", {}, "opens another account", False),
    (409, "account-already-linked", {}, "already connected with another Apple Account", False),
    (403, "user_disabled", {}, "nothing was changed", False),
    (409, "link_ended", {}, "nothing was changed", False),
    (404, "link_unknown", {}, "nothing was changed", False),
    (410, "link_expired", {}, "nothing was changed", False),
    (503, "unavailable", {"Retry_After": "5"}, "in a moment", True),
])
def test_each_refusal_has_its_text(demo, bramley, status, code, fields, shown, again):
    name = f"refused-{code}-{len(fields)}"
    person, link = begins(demo, bramley, name)
    bramley.completes(link, status, code, **fields)
    answer = person.get(f"/connected?link={link}&code=c1")
    assert answer.status == (503 if again else 409)
    assert shown in answer.text and ('id="again"' in answer.text) == again
    assert demo.account(name)["apple"] is None
    # Whatever it was, the same address may work later, with the same code.
    bramley.completes(link)
    assert completed(person, link) == "/account?done=link"


# What is no answer of Bramley's, whatever was asked.
BROKEN = {
    "closed": b"", "no HTTP": b"hello\r\n\r\n", "half a line": b"HTTP/1.1 200",
    "half an answer": b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",
    "half a refusal": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 99\r\n\r\n{",
    "broken chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "no JSON": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "an error": (500, {}), "a list": (200, []),
    "another's words": (200, {"nonsense": 1}), "a refusal without a code": (404, []),
    "a redirect": (302, {}, {"Location": "/elsewhere"}), "busy": (503, problem(503, "unavailable")),
}


@pytest.fixture(params=BROKEN)
def broken(request):
    return BROKEN[request.param]


@pytest.fixture
def name() -> str:
    return secrets.token_hex(8)


def test_without_bramley_nothing_breaks(demo, bramley, broken, name):
    person, link = begins(demo, bramley, name)
    bramley.answers["GET", "/api/v1/session"] = broken
    answer = Person(demo, "x").get("/account", **COOKIE)
    assert answer.status == 503 and '<a id="again" href="">' in answer.text
    # What was posted is not asked for again by an address.
    answer = Person(demo, "x").post("/account/new", **COOKIE)
    assert answer.status == 503 and 'id="again"' not in answer.text and 'href="/account"' in answer.text
    assert person.is_in()
    bramley.answers["POST", f"/api/v1/links/{link}/complete"] = broken
    answer = person.get(f"/connected?link={link}&code=c1")
    assert answer.status in (502, 503) and '<a id="again" href="">' in answer.text
    bramley.completes(link)
    assert completed(person, link) == "/account?done=link"


def tries_again(person: Person, bramley, answer) -> dict:
    """The page's first form, posted now that Bramley answers; what it is asked then."""
    link = f"lnk_{person.name}"
    bramley.begins(link)
    path = re.search(r'<form method="post" action="([^"]+)"', answer.text)[1]
    assert person.post(path, hidden(answer)).location.endswith(f"/link/{link}")
    bramley.completes(link)
    asked = bramley.calls("/api/v1/links")[-1]
    assert completed(person, link) == f"/account?done={asked['kind']}"
    return asked


def test_a_link_that_could_not_begin_can_be_retried(demo, bramley, broken, name):
    person = Person(demo, name).signs_up()
    bramley.answers["POST", "/api/v1/links"] = broken
    answer = person.post("/account/connect", {"kind": "upgrade"})
    assert answer.status == 503 and 'href=""' not in answer.text
    assert tries_again(person, bramley, answer)["kind"] == "upgrade"


def apple_person(external: str | None, **more) -> dict:
    return {"id": "usr_0123456789abcdefghjkmnpqrs", "externalID": external, "name": {"given": "Ada", "family": None}} | more


def test_a_session_opens_only_the_account_of_its_external_id(demo, bramley):
    Person(demo, "tied").signs_up()
    account = demo.account("tied")["id"]
    visitor = Person(demo, "tied")
    bramley.person = apple_person(account)
    assert 'id="person">tied<' in visitor.get("/account", **COOKIE).text
    # Found by nothing else: not by Bramley's ID, not by a name.
    demo.sql("UPDATE account SET apple = ? WHERE id = ?", bramley.person["id"], account)
    for external in (None, "acc_nobody", "tied", account.upper()):
        bramley.person = apple_person(external, email="tied")
        assert 'id="new"' in visitor.get("/account", **COOKIE).text
    # No password was given: there is nothing to change how one signs in.
    bramley.person = apple_person(account)
    assert 'id="connect"' not in visitor.get("/account", **COOKIE).text
    assert visitor.post("/account/connect", {"kind": "link"}, **COOKIE).location == "/account"
    bramley.person = None
    assert visitor.get("/account", **COOKIE).location == "/sign-in"
    bramley.answers["GET", "/api/v1/session"] = (403, problem(403, "user_disabled"))
    assert visitor.get("/account", **COOKIE).status == 403


def test_a_new_person_gets_an_account_without_a_password(demo, bramley):
    visitor = Person(demo, "new")
    bramley.person = apple_person(None, id="usr_new")
    bramley.answers["PATCH", "/api/v1/users/usr_new"] = lambda content: (
        200, bramley.person.update(content) or bramley.person)
    for _ in range(2):
        assert visitor.post("/account/new", **COOKIE).location == "/account"
    assert bramley.person["externalID"] == "usr_new"
    assert 'id="person">Ada<' in visitor.get("/account", **COOKIE).text
    assert demo.sql("SELECT password FROM account WHERE id = 'usr_new'") == [(None,)]


def test_the_ticket_is_kept_until_the_link(demo, bramley):
    person = Person(demo, "asked").signs_up().sets_up_second_factor()
    person.post("/sign-out")
    ticket = "brt_" + "t" * 43
    page = person.get(f"/sign-in?ticket={ticket}")
    assert 'id="ticket"' in page.text and hidden(page)["ticket"] == ticket
    wrong = person.post("/sign-in", hidden(page) | {"name": "asked", "password": "a wrong password"})
    assert wrong.status == 401 and hidden(wrong)["ticket"] == ticket
    asked = person.post("/sign-in", hidden(wrong) | {"name": "asked", "password": PASSWORD})
    bramley.begins("lnk_asked")
    done = person.post("/sign-in/code", hidden(asked) | {"code": person.code()})
    assert done.location == f"{bramley.origin}/link/lnk_asked"
    (sent,) = bramley.calls("/api/v1/links")
    assert (sent["ticket"], sent["kind"], sent["externalID"]) == (ticket, "link", demo.account("asked")["id"])
    bramley.completes("lnk_asked")
    assert person.get("/connected?link=lnk_asked&code=c").location == "/account?done=link"


@pytest.mark.parametrize("careful", [False, True], ids=["by password", "with a second factor"])
def test_a_ticket_survives_an_outage_of_bramley(demo, bramley, broken, careful, name):
    person, ticket = Person(demo, name).signs_up(), "brt_" + "t" * 43
    if careful:
        person.sets_up_second_factor()
    person.post("/sign-out")
    bramley.answers["POST", "/api/v1/links"] = broken
    answer = person.signs_in(ticket=ticket)
    assert answer.status == 503 and "You are signed in" in answer.text and 'href=""' not in answer.text
    assert person.is_in() and "__Host-accounts=" in person.cookie
    asked = tries_again(person, bramley, answer)
    assert (asked["ticket"], asked["kind"]) == (ticket, "link")


def test_beginning_again_keeps_the_ticket(demo, bramley):
    person = Person(demo, "afresh").signs_up().sets_up_second_factor()
    person.post("/sign-out")
    asked = person.post("/sign-in", {"name": "afresh", "password": PASSWORD, "ticket": "brt_a&b"})
    again = re.search(r'<a href="(/sign-in[^"]*)">Start again', asked.text)[1]
    assert hidden(person.get(again))["ticket"] == "brt_a&b"


def test_a_refused_ticket_is_dropped_and_the_sign_in_succeeds(demo, bramley):
    person = Person(demo, "broken").signs_up()
    bramley.begins("lnk_broken")
    made = bramley.answers["POST", "/api/v1/links"]
    bramley.answers["POST", "/api/v1/links"] = lambda content: (
        (400, problem(400, "invalid_request")) if "ticket" in content else made)
    assert person.signs_in(ticket="brt_broken").location.endswith("/link/lnk_broken")
    assert [("ticket" in content) for content in bramley.calls("/api/v1/links")] == [True, False]


@pytest.mark.parametrize("status,code", [(403, "insufficient_scope"), (401, "api_key_required"), (503, "unavailable")])
def test_another_refusal_keeps_the_ticket(demo, bramley, status, code):
    person = Person(demo, f"not-it-{status}").signs_up()
    bramley.answers["POST", "/api/v1/links"] = (status, problem(status, code))
    assert person.signs_in(ticket="brt_good").status == 503
    assert [("ticket" in content) for content in bramley.calls("/api/v1/links")] == [True]


def test_a_deletion_leaves_no_account_without_a_sign_in(demo, bramley):
    Person(demo, "both").signs_up()
    Person(demo, "only").signs_up()
    demo.sql("UPDATE account SET apple = 'usr_' || name WHERE name IN ('both', 'only')")
    demo.sql("UPDATE account SET password = NULL WHERE name = 'only'")
    for name in ("both", "only", "stranger"):
        event = {"type": "account.deleted", "timestamp": "2026-11-21T10:00:00.000Z",
                 "data": {"id": "evt_1", "user": f"usr_{name}"}}
        assert demo.tell(event, secret=new_secret()).status == 400
        for _ in range(2):
            assert demo.tell(event).status == 204
    assert demo.sql("SELECT name, apple FROM account WHERE name IN ('both', 'only')") == [("both", None)]
    assert demo.tell({"type": "user.created"}).status == 204


@pytest.mark.parametrize("event", [
    b"[]", b"null", b'"account.deleted"', b"{}", b'{"type":["account.deleted"]}', b'{"type":"account.deleted"}',
    b'{"type":"account.deleted","data":[]}', b'{"type":"account.deleted","data":{"user":7}}',
    b'{"type":"account.upgraded","data":{"user":"usr_x"}}', b'{"type":"account.linked","data":{"user":"usr_x","link":7}}'])
def test_invalid_events_are_refused(demo, bramley, event):
    assert demo.tell(event).status == 400
