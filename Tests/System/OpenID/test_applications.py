"""A person, an operator and a backend see which applications hold something of the person's, and end it."""

import pytest

from party import Browser, call, register


@pytest.fixture(scope="module")
def key(site):
    return site.operator.json("api-keys", "create", "backend", "--scopes", "users:read,users:write,events:read")["key"]


@pytest.fixture(scope="module")
def notes(site):
    return register(site, "notes", "--name", "Notes <b>")


@pytest.fixture
def ada(site, grafana, notes):
    browser = Browser(site)
    browser.held = [party.tokens(browser, scope=scope) for party, scope in (
        (grafana, "openid email offline_access"), (notes, "openid profile"))]
    yield browser
    site.operator.bramley("users", "end-access", browser.user(), "--all")


def holds(grafana, browser) -> bool:
    """Whether Grafana's tokens of this browser's person still work, all or none of them."""
    access = grafana.userinfo(browser.held[0]["access_token"]).status
    refresh = grafana.refresh(browser.held[0]["refresh_token"])
    if refresh.status == 200:
        browser.held[0] = refresh.json()
    assert (access, refresh.status) in ((200, 200), (401, 400))
    return access == 200


def listed(site, key, user) -> list[str]:
    items = call(site, "GET", f"/api/v1/users/{user}/applications", token=key).must(200).json()["items"]
    return [item["clientID"] for item in items]


def test_they_are_listed_everywhere(site, key, ada):
    items = call(site, "GET", f"/api/v1/users/{ada.user()}/applications", token=key).must(200).json()["items"]
    assert [(item["clientID"], item["name"], item["scopes"], item["offline"]) for item in items] == [
        ("grafana", "Grafana", ["openid", "email", "offline_access"], True),
        ("notes", "Notes <b>", ["openid", "profile"], False)]
    assert all(item["since"] <= item["lastUsedAt"] for item in items)
    page = ada.get("/account").must(200).text
    assert "Connected applications" in page and "Notes &lt;b&gt;" in page and "Also while you are signed out" in page


@pytest.mark.parametrize("way", ["page", "api", "command", "everywhere", "api-all"])
def test_access_that_is_ended_is_over(site, grafana, notes, key, ada, way):
    user = ada.user()
    assert holds(grafana, ada) and listed(site, key, user) == ["grafana", "notes"]
    boris = Browser(site)
    boris.held = [grafana.tokens(boris, "boris", scope="openid offline_access")]
    same = {"Origin": site.origin}
    match way:
        case "page":
            page = ada.send("POST", "/account/applications/end", {"client": "grafana"}, same).must(303)
            assert "no longer has access" in ada.get(ada.own(page.location), {"Sec-Fetch-Site": "same-origin"}).text
        case "api": call(site, "DELETE", f"/api/v1/users/{user}/applications/grafana", token=key).must(204)
        case "api-all": call(site, "DELETE", f"/api/v1/users/{user}/applications", token=key).must(204)
        case "command": assert "1 application" in site.operator.bramley("users", "end-access", user, "grafana")
        case "everywhere": ada.send("POST", "/account/sessions/revoke-all", {"applications": "true"}, same).must(303)
    assert not holds(grafana, ada)
    rest = [] if way in ("everywhere", "api-all") else ["notes"]
    assert listed(site, key, user) == rest
    assert notes.userinfo(ada.held[1]["access_token"]).status == (200 if rest else 401)
    # The person stays signed in, others keep what they have, and the application may ask again.
    assert ada.get("/account").status == 200 and holds(grafana, boris)
    events = call(site, "GET", f"/api/v1/events?user={user}&type=access.ended", token=key).json()["items"]
    assert events[-1]["data"]["clientID"] == ("grafana" if rest else "notes")
    lines = site.operator.json("audit", "list", "--user", user, "--type", "access.ended")["items"]
    assert lines[0]["object"] in ("grafana", "notes")
    assert lines[0]["actor"] == {"page": "visitor", "everywhere": "visitor", "command": "operator"}.get(way, "application")
    assert grafana.tokens(ada)["access_token"]


def test_a_code_that_waits_ends_too(site, grafana, ada):
    code = grafana.code(ada)
    site.operator.bramley("users", "end-access", ada.user(), "grafana")
    assert grafana.redeem(code).json()["error"] == "invalid_grant"


def test_an_application_whose_tokens_are_gone_is_told(site, grafana, key, ada):
    user, told = ada.user(), "SELECT count(*) FROM openid_participant p JOIN session s ON s.id = p.session WHERE s.user = ?"
    site.operator.database("DELETE FROM openid_grant WHERE user = ?", user)
    assert "2 applications" in site.operator.bramley("users", "end-access", user, "--all")
    assert site.operator.database(told, user) == [(0,)]
    events = call(site, "GET", f"/api/v1/events?user={user}&type=access.ended", token=key).json()["items"]
    assert [event["data"]["clientID"] for event in events[-2:]] == ["grafana", "notes"]


def test_nobody_ends_somebody_elses(site, grafana, ada):
    boris = Browser(site)
    grafana.tokens(boris, "boris")
    boris.send("POST", "/account/applications/end", {"client": "grafana"}, {"Origin": site.origin}).must(303)
    assert holds(grafana, ada)
    answer = ada.send("POST", "/account/applications/end", {"client": "grafana"}, {"Origin": "https://evil.example"})
    assert answer.status == 403 and holds(grafana, ada)


def test_what_does_not_exist(site, key, ada):
    for path in ("usr_" + "0" * 26, "nobody"):
        for method, rest in (("GET", ""), ("DELETE", ""), ("DELETE", "/grafana")):
            assert call(site, method, f"/api/v1/users/{path}/applications{rest}", token=key).status == 404
    for client in ("unknown", "%20", "grafana%00"):
        answer = call(site, "DELETE", f"/api/v1/users/{ada.user()}/applications/{client}", token=key)
        assert answer.status in (204, 400, 404)
    assert listed(site, key, ada.user()) == ["grafana", "notes"]
