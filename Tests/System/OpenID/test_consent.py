"""A third-party application asks the person, who sees what they allow, once for the same scopes and service."""

import re

import pytest

from party import Browser, call, register, return_target

NOTES = "https://notes.example.com/mcp"
BORROWED = "https://borrowed.example.net/callback"
ASKS = "asks for access to your account"
# Reorders what is around it, ends an isolation, and looks like an own application's name.
ODD = "\u202eGrafana\u2069 <b>\u05d0"


@pytest.fixture(scope="module")
def key(site):
    return site.operator.json("api-keys", "create", "backend", "--scopes", "users:read,users:write")["key"]


@pytest.fixture(scope="module")
def notes(site):
    site.operator.insert("openid_service", {
        "uri": NOTES, "id": "notes", "name": "Notes <i>", "scopes": '["notes.read","notes.write"]',
        "meanings": '["Read your <notes>","Write \u202enotes"]', "secret_hash": b"\x01" * 32, "created_at": 1,
        "updated_at": 1})


@pytest.fixture(scope="module")
def borrowed(site, notes):
    party = register(site, "borrowed", "--consent", "--offline", "--name", ODD, redirect_uri=BORROWED)
    site.operator.database(
        "UPDATE openid_client SET scopes = ? WHERE id = 'borrowed'",
        '["openid","profile","email","offline_access","notes.read","notes.write"]')
    return party


@pytest.fixture
def ada(site, grafana):
    browser = Browser(site)
    grafana.code(browser)
    user = browser.user()
    yield browser
    site.operator.bramley("users", "end-access", user, "--all")


def signs_in_for(site, party, person: str = "ada", **changes):
    """A new browser, and the page that follows the sign-in."""
    browser = Browser(site)
    return browser, browser.return_to(return_target(browser.get(party.path(**changes))), person)


def error(answer) -> str:
    return answer.must(303).parameters()["error"]


def consents(site, browser) -> list[tuple[str, str]]:
    rows = site.operator.database(
        'SELECT service, scopes FROM openid_consent WHERE "user" = ? ORDER BY service', browser.user())
    return [tuple(row) for row in rows]


def test_the_page_says_who_asks_and_what_for(borrowed, ada):
    page = ada.get(borrowed.path(scope="openid email offline_access notes.read notes.write", resource=NOTES)).must(200)
    text = page.text
    assert "Grafana &lt;b&gt;\u05d0" in text and not re.search("[\u202a-\u202e]", text) and "Grafana\u2069" not in text
    for words in (ASKS, "Not verified by", "borrowed.example.net", "Ada Byron", "the e-mail address that Apple gave us",
                  "<bdi>Notes &lt;i&gt;</bdi>, it can:", "Read your &lt;notes&gt;", "Write notes",
                  "this access until you end it on your account page", "Not now", "Use another account"):
        assert words in text, words
    assert "your name, as you gave it" not in text and "<script" not in text.partition("<main>")[2]
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    short = ada.get(borrowed.path(scope="openid")).must(200).text
    assert "access ends when you sign out" in short and "answer is remembered" in short and "it can:" not in short
    # For a service alone nothing about the person is told.
    alone = ada.get(borrowed.path(scope="notes.read", resource=NOTES)).must(200).text
    assert "your ID at" not in alone and "Write notes" not in alone and "it can:" in alone


def test_it_is_remembered_for_the_same_and_asked_again_for_more(site, borrowed, ada):
    asked = {"scope": "openid email"}
    assert error(ada.get(borrowed.path(prompt="none", **asked))) == "consent_required"
    told = ada.decide(ada.get(borrowed.path(**asked)).must(200)).must(303)
    assert told.location.startswith(BORROWED) and told.parameters()["state"] == "s-4711"
    assert borrowed.redeem(told.parameters()["code"]).must(200).json()["id_token"]
    for prompt in (None, "none"):
        for scope in ("openid email", "openid"):
            assert ada.get(borrowed.path(prompt=prompt, scope=scope)).must(303).parameters()["code"]
    for more in ({"scope": "openid profile"}, {"scope": "openid offline_access"},
                 {"resource": NOTES, "scope": "openid"}):
        assert ASKS in ada.get(borrowed.path(**more)).must(200).text
        assert error(ada.get(borrowed.path(prompt="none", **more))) == "consent_required"
    # Once decided, `prompt=consent` is answered, and asks the next time all the same.
    for _ in range(2):
        page = ada.get(borrowed.path(prompt="consent", **asked)).must(200)
        assert ASKS in page.text and ada.decide(page).must(303).parameters()["code"]
    assert consents(site, ada) == [("", '["openid","email"]')]
    # Somebody else is asked.
    _, page = signs_in_for(site, borrowed, "chie", **asked)
    assert ASKS in page.must(200).text


def test_not_now_stores_nothing(site, borrowed, ada):
    answer = ada.decide(ada.get(borrowed.path()), "deny").must(303)
    assert answer.location.startswith(BORROWED) and error(answer) == "access_denied"
    assert consents(site, ada) == []


def test_own_applications_do_not_ask(grafana, ada):
    for prompt in ("consent", "none"):
        assert ada.get(grafana.path(prompt=prompt)).must(303).parameters()["code"]


def test_an_application_of_others_on_this_machine_asks_each_time(site, ada):
    tool = register(site, "tool", "--consent", "--public", redirect_uri="http://127.0.0.1:4711/callback")
    for _ in range(2):
        assert error(ada.get(tool.path(prompt="none"))) == "interaction_required"
        text = (page := ada.get(tool.path())).must(200).text
        assert ASKS in text and "an application on this computer" in text and "cannot verify which program" in text
        # Access is remembered, the answer is not.
        assert "access ends when you sign out" in text and "answer is remembered" not in text
        assert ada.decide(page).must(303).parameters()["code"]
    assert len(consents(site, ada)) == 1


def test_a_ticket_of_another_browser_tab_or_time_allows_nothing(site, borrowed, ada):
    page = ada.get(borrowed.path(scope="openid"))
    for person in ("ada", "chie"):
        other, _ = signs_in_for(site, borrowed, person, scope="openid")
        assert ASKS in other.decide(page).must(200).text
        assert consents(site, other) == []
    # The other tab asks for more, and its button allows that alone.
    wider = ada.get(borrowed.path(scope="openid email profile"))
    ticket = re.search(r'name="bramley_ticket" value="([^"]+)"', page.text)[1]
    assert ASKS in ada.decide(wider, bramley_ticket=ticket).must(200).text
    for changes in ({"scope": "openid email"}, {"resource": NOTES}, {"redirect_uri": BORROWED + "/other"}):
        answer = ada.decide(page, **changes)
        assert answer.status in (200, 400) and "Location" not in answer.headers
    assert consents(site, ada) == []
    assert ada.decide(wider).must(303).parameters()["code"] and ada.decide(page).must(303).parameters()["code"]
    assert consents(site, ada) == [("", '["openid","profile","email"]')]


def test_posted_twice_there_is_one_consent(site, borrowed, ada):
    page = ada.get(borrowed.path(scope="openid"))
    codes = {ada.decide(page).must(303).parameters()["code"] for _ in range(3)}
    assert len(codes) == 3 and consents(site, ada) == [("", '["openid"]')]
    lines = site.operator.json("audit", "list", "--user", ada.user(), "--type", "access.given")["items"]
    assert [(line["object"], line["actor"]) for line in lines][:1] == [("borrowed", "visitor")]
    # The button of before does not bring back what was ended, but for its own code.
    site.operator.bramley("users", "end-access", ada.user(), "borrowed")
    ada.sign_out()
    assert "/login/apple" in ada.decide(page).must(200).text


@pytest.mark.parametrize("end", ["page", "command", "api", "everywhere", "api-everywhere"])
def test_ending_access_forgets_it(site, borrowed, key, ada, end):
    user, same = ada.user(), {"Origin": site.origin}
    tokens = borrowed.tokens(ada, scope="openid email offline_access notes.read", resource=NOTES)
    items = call(site, "GET", f"/api/v1/users/{user}/applications", token=key).json()["items"]
    listed = next(item for item in items if item["clientID"] == "borrowed")
    assert (listed["services"], listed["document"]) == ([NOTES], None) and "notes.read" in listed["scopes"]
    # Without any token, it is listed still.
    site.operator.database("DELETE FROM openid_grant WHERE client = 'borrowed'")
    page = ada.get("/account").must(200).text
    assert "Grafana &lt;b&gt;" in page and "Read your &lt;notes&gt;" in page and "\u202e" not in page
    match end:
        case "page": ada.send("POST", "/account/applications/end", {"client": "borrowed"}, same).must(303)
        case "command": site.operator.bramley("users", "end-access", user, "borrowed")
        case "api": call(site, "DELETE", f"/api/v1/users/{user}/applications/borrowed", token=key).must(204)
        case "everywhere": ada.send("POST", "/account/sessions/revoke-all", {"applications": "true"}, same).must(303)
        case "api-everywhere":
            call(site, "DELETE", f"/api/v1/users/{user}/sessions?applications=maybe", token=key).must(400)
            call(site, "DELETE", f"/api/v1/users/{user}/sessions?applications=true", token=key).must(204)
    rows = site.operator.database('SELECT client FROM openid_consent WHERE "user" = ?', user)
    assert rows == [] and borrowed.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    _, page = signs_in_for(site, borrowed)
    assert ASKS in page.must(200).text


def test_sessions_alone_end_without_the_applications(site, borrowed, key, ada):
    user = ada.user()
    tokens = borrowed.tokens(ada, scope="openid offline_access")
    call(site, "DELETE", f"/api/v1/users/{user}/sessions", token=key).must(204)
    assert borrowed.refresh(tokens["refresh_token"]).status == 200
    borrowed.authorize(ada, scope="openid")
    assert len(consents(site, ada)) == 1


def test_leaving_the_group_takes_the_consent_along(site, ada):
    party = register(site, "club", "--consent", "--offline", "--group", "club", redirect_uri=BORROWED)
    site.operator.bramley("users", "groups", ada.user(), "--add", "club")
    tokens = party.tokens(ada, scope="openid offline_access")
    site.operator.bramley("users", "groups", ada.user(), "--remove", "club")
    assert party.refresh(tokens["refresh_token"]).status == 400 and party.userinfo(tokens["access_token"]).status == 401
    assert error(ada.get(party.path(prompt="none"))) == "access_denied" and ada.get(party.path()).status == 403
    site.operator.bramley("users", "groups", ada.user(), "--add", "club")
    assert error(ada.get(party.path(prompt="none"))) == "consent_required"


def test_an_own_application_becomes_one_of_others(site, ada):
    party = register(site, "lent", "--offline", redirect_uri=BORROWED)
    tokens = party.tokens(ada, scope="openid email offline_access")
    site.operator.bramley("clients", "update", "lent", "--consent")
    assert site.operator.json("clients", "show", "lent")["consent"] is True
    assert party.refresh(tokens["refresh_token"]).status == 400 and party.userinfo(tokens["access_token"]).status == 401
    tokens = party.tokens(ada, scope="openid offline_access")
    site.operator.bramley("clients", "update", "lent", "--name", "Lent")
    assert party.userinfo(tokens["access_token"]).status == 200
    # Narrowed: at once.
    site.operator.bramley("clients", "update", "lent", "--no-offline")
    assert party.refresh(tokens["refresh_token"]).status == 400
    site.operator.bramley("clients", "update", "lent", "--no-consent")
    assert ada.get(party.path(prompt="none")).must(303).parameters()["code"]
    site.operator.bramley("clients", "update", "lent", "--consent")
    assert error(ada.get(party.path(prompt="none"))) == "consent_required"


def test_it_is_asked_after_the_sign_in(site, borrowed, grafana):
    # The sign-in alone tells it nothing.
    for party, told in ((borrowed, False), (grafana, True)):
        page = Browser(site).get(party.path(scope="openid email")).must(200).text
        assert ("You decide after you sign in" in page, "tells it:" in page) == (not told, told)
        assert ("the e-mail address that Apple gave us" in page) == told
    browser, page = signs_in_for(site, borrowed, scope="openid", prompt="login consent")
    assert ASKS in page.must(200).text and browser.decide(page).must(303).parameters()["code"]
    site.operator.bramley("users", "end-access", browser.user(), "--all")


def test_metadata_and_a_consent_of_somebody_deleted(site, borrowed):
    assert "consent" in call(site, "GET", "/.well-known/openid-configuration").json()["prompt_values_supported"]
    dana = Browser(site)
    borrowed.code(dana, "dana")
    user = dana.user()
    site.operator.bramley("users", "delete", user, "--yes")
    assert site.operator.database('SELECT count(*) FROM openid_consent WHERE "user" = ?', user) == [(0,)]
