"""The ticket style, from an app: what it does, who wins, and each attack by its name."""

import re

import pytest

from app import exchanges, post, request, send
from demo import Person
from orchard import problem, somebody
from patience import at_once
from web import SESSION, sign_in


@pytest.fixture
def boris(orchard):
    return somebody(orchard)


def left(orchard) -> list[int]:
    """What a refused request must not change."""
    return [orchard.sql(f"SELECT count(*) FROM {table}")[0][0]
            for table in ("user", "session", "event", "apple_identity", "apple_credential")]


@pytest.mark.parametrize("kind", ["link", "upgrade"])
def test_a_whole_link(orchard, ada, kind):
    name = f"whole-{kind}"
    external = orchard.account(name)
    link = orchard.begin(external, kind)
    assert set(link) == {"id", "url", "ticket", "nonce", "expiresAt"}
    assert re.fullmatch(r"lnk_[0-9a-z]{26}", link["id"]) and link["ticket"].startswith("brt_")
    # The id is public, and logged: the address has a secret besides.
    address, _, token = link["url"].partition("?token=")
    assert address == orchard.url(f"/link/{link['id']}") and re.fullmatch(r"bra_[A-Za-z0-9_-]{43}", token)
    before = left(orchard)
    content = orchard.sheet(link["nonce"], ada)
    code = orchard.authorize(link, content=content)
    assert code.status == 200 and set(code.json()) == {"code"}
    # The answer was lost: the same again. Nothing is tied yet, and no user was made.
    assert orchard.authorize(link, content=content).json() == code.json()
    assert left(orchard) == before and orchard.owner(external) is None
    done = orchard.complete(link, code.json()["code"]).must(200)
    user = done.json()["user"]
    assert done.json() == {"result": "success", "user": user}
    assert user["externalID"] == external and user["name"]["given"] == "Pat"
    assert orchard.complete(link, code.json()["code"]).json() == done.json()
    # The person has a session of the application's: Bramley makes none.
    assert orchard.sql("SELECT count(*) FROM session WHERE user = ?", user["id"]) == [(0,)]
    assert orchard.events(user["id"]).count("account.linked" if kind == "link" else "account.upgraded") == 1
    # Dropping a password is the application's.
    assert orchard.password_works(name)
    assert orchard.apple_opens(external, ada)


def test_a_link_that_is_not_completed_leaves_no_user_and_is_not_revoked(orchard, ada):
    external = orchard.account("unfinished")
    users, revoked = orchard.users(), orchard.apple.call("GET", "counters")["revoke"]["requests"]
    link = orchard.begin(external)
    assert orchard.authorize(link, ada).status == 200
    ago = "created_at = created_at - 600000, expires_at = expires_at - 600000"
    orchard.sql(f"UPDATE account_link SET {ago} WHERE id = ?", link["id"])
    assert problem(orchard.complete(link, "brl_" + "A" * 43))[0] in (400, 410)
    assert orchard.users() == users and orchard.owner(external) is None
    assert orchard.apple.call("GET", "counters")["revoke"]["requests"] == revoked
    # The name, which Apple gives once, is kept for the next time.
    assert orchard.tie(external, ada).json()["user"]["name"]["given"] == "Pat"


@pytest.mark.parametrize("change", [
    {"externalID": ""}, {"externalID": "x" * 256}, {"externalID": None}, {"kind": "both"}, {"kind": None}, {"more": 1},
    {"displayName": ""}, {"displayName": "x" * 5000}, {"displayName": "a\nb"}, {"returnTo": "https://evil.example/"},
    {"returnTo": "//evil.example"}, {"returnTo": "javascript:1"}])
def test_a_link_is_begun_as_described(orchard, change):
    assert orchard.post_link(orchard.content("1") | change).status == 400


def test_a_link_needs_a_key_with_its_scope(orchard, ada):
    content, link = orchard.content("scoped"), orchard.begin("scoped")
    code = orchard.proven(link, ada)
    session = post(orchard, request(orchard, somebody(orchard))).json()["token"]
    for token, status in [(None, 401), (orchard.key("users:read"), 403), ("brk_" + "A" * 43, 401), (session, 401),
                          (link["ticket"], 401)]:
        assert send(orchard, "POST", "/api/v1/links", content, token=token).status == status
        assert send(orchard, "POST", f"/api/v1/links/{link['id']}/complete", {"code": code}, token=token).status == status
    assert orchard.owner("scoped") is None
    assert orchard.complete(link, code).status == 200


def test_a_known_person_without_an_account_gets_it(orchard, ada):
    user = post(orchard, request(orchard, ada)).json()["user"]
    external = orchard.account("late")
    assert orchard.tie(external, ada).json()["user"]["id"] == user["id"] and orchard.owner(external) == user["id"]


def test_an_identity_that_has_another_account_keeps_it(orchard, ada):
    first, second = orchard.account("first"), orchard.account("second")
    user = orchard.tie(first, ada).json()["user"]
    for kind in ("link", "upgrade"):
        assert problem(orchard.tie(second, ada, kind)) == (409, "identity-linked-elsewhere")
    assert orchard.owner(first) == user["id"] and orchard.owner(second) is None
    assert orchard.password_works("second")


def test_an_account_that_has_another_identity_keeps_it(orchard, ada, boris):
    external = orchard.account("taken")
    user = orchard.tie(external, ada).json()["user"]
    users = orchard.users()
    for kind in ("link", "upgrade"):
        assert problem(orchard.tie(external, boris, kind)) == (409, "account-already-linked")
    assert orchard.owner(external) == user["id"] and orchard.users() == users
    assert orchard.password_works("taken") and orchard.apple_opens(external, ada)


def test_replacing_needs_a_scope_of_its_own(orchard, ada, boris):
    external = orchard.account("moved")
    app = post(orchard, request(orchard, ada)).json()
    assert orchard.tie(external, ada).status == 200
    assert orchard.post_link(orchard.content(external), orchard.key("links:replace")).status == 403
    done = orchard.tie(external, boris, key=orchard.key("links", "links:replace"))
    assert done.status == 200 and done.json()["user"]["id"] != app["user"]["id"]
    assert orchard.owner(external) == done.json()["user"]["id"]
    assert send(orchard, "GET", "/api/v1/session", token=app["token"]).status == 401
    assert "user.updated" in orchard.events(app["user"]["id"])
    # Whoever lost it has an account of nobody's.
    assert post(orchard, request(orchard, ada)).json()["user"]["externalID"] is None


def test_linking_the_same_identity_again_succeeds(orchard, ada):
    external = orchard.account("again")
    first = orchard.tie(external, ada).json()["user"]
    assert orchard.tie(external, ada).json()["user"]["id"] == first["id"]
    # Added before, replaced now.
    assert orchard.tie(external, ada, "upgrade").json()["user"]["id"] == first["id"]
    assert orchard.events(first["id"]).count("account.upgraded") == 1


@pytest.mark.parametrize("state,code", [("disabled", "user_disabled"), ("pending", "user_pending")])
def test_a_disabled_person_cannot_sign_in_by_a_link(orchard, ada, state, code):
    user = post(orchard, request(orchard, ada)).json()["user"]["id"]
    orchard.sql("UPDATE user SET state = ? WHERE id = ?", state, user)
    orchard.restart()
    external = orchard.account(f"shut-{state}")
    link = orchard.begin(external)
    authorized = orchard.authorize(link, ada)
    refused = orchard.complete(link, authorized.json()["code"]) if authorized.status == 200 else authorized
    assert problem(refused) == (403, code)
    assert orchard.owner(external) is None and orchard.password_works(f"shut-{state}")


def test_attack_forced_linking_of_ones_own_account_to_the_victims_identity(orchard, ada):
    """Mallory has the victim sign in at Apple for a link to Mallory's account. The code is in the victim's browser."""
    lurer = orchard.account("lurer")
    link = orchard.begin(lurer)
    code = orchard.proven(link, ada)
    assert orchard.person("lured").get(f"/connected?link={link['id']}&code={code}").status == 403
    for guess in ("brl_" + "A" * 43, "", code[:-1], code.swapcase()):
        assert orchard.complete(link, guess).status == 400
    assert orchard.owner(lurer) is None


@pytest.mark.parametrize("name", ["é" * 64, "木" * 64, "😀" * 64], ids=["two bytes each", "three", "four"])
def test_a_person_with_a_long_name_connects_and_upgrades(orchard, name):
    """The longest names that the application gives are longer in bytes than what Bramley shows of them."""
    place = orchard.person(name).post("/account/connect", {"kind": "link"}).location
    assert place.startswith(f"{orchard.origin}/link/lnk_"), place
    assert name[:31] in send(orchard, "GET", place.removeprefix(orchard.origin)).body.decode()
    assert orchard.begun(name)["nonce"]


@pytest.mark.parametrize("ticket", ["brt_" + "A" * 43, "brt_short", "anything"], ids=["too old", "cut short", "none at all"])
def test_a_sign_in_with_an_invalid_ticket_still_connects(orchard, ticket):
    """The application's side of it: Bramley ignores unknown tickets, and refuses malformed ones."""
    name = f"worthless-{ticket[-5:].lower()}"
    person = orchard.person(name)
    expected = (201, None) if len(ticket) == 47 else (400, "invalid_request")
    assert problem(orchard.post_link(orchard.content(orchard.demo.account(name)["id"], ticket=ticket))) == expected
    place = person.signs_in(ticket=ticket).location
    assert place.startswith(f"{orchard.origin}/link/lnk_")
    assert send(orchard, "GET", place.removeprefix(orchard.origin)).status == 200


def test_attack_ticket_theft(orchard, ada, boris):
    """What a ticket of another person's link gains is a code that no backend completes."""
    external = orchard.account("robbed")
    link = orchard.begin(external)
    stolen = orchard.proven(link, boris)
    # The code is of no use without the API key, or in any session but the one that began the link.
    assert orchard.person("thief").get(f"/connected?link={link['id']}&code={stolen}").status == 403
    for token in (link["ticket"], stolen):
        assert orchard.complete(link, stolen, key=token).status == 401
    # And the owner's own answer comes too late for this link: it does not silently become the thief's.
    assert orchard.authorize(link, ada).status in (400, 409)
    assert orchard.owner(external) is None
    # No ticket opens another link, and none is guessed.
    other = orchard.begin(external)
    for ticket in (link["ticket"], "brt_" + "A" * 43, other["id"], "bru_x"):
        assert orchard.authorize(other, ada, ticket=ticket).status in (401, 404)
    assert orchard.authorize(other, ada).status == 200


def test_attack_guessing_the_code(orchard, ada):
    link = orchard.begin("guessed")
    code = orchard.proven(link, ada)
    for number in range(5):
        assert problem(orchard.complete(link, f"brl_{number}" + "A" * 42)) == (400, "code_invalid")
    assert orchard.complete(link, code).status in (404, 409)
    assert orchard.owner("guessed") is None


def test_attack_a_replayed_nonce(orchard, ada, boris):
    """An identity token that was asked for with another nonce, or that has done its work."""
    first, second = orchard.begin("nonce-1"), orchard.begin("nonce-2")
    content = orchard.sheet(first["nonce"], ada)
    challenge = send(orchard, "POST", "/api/v1/native/challenge").json()["nonce"]
    upgrade = orchard.begin("nonce-3", "upgrade")
    before, sent = left(orchard), exchanges(orchard)
    for wrong in (content, orchard.sheet(challenge, ada), orchard.sheet(upgrade["nonce"], ada)):
        assert problem(orchard.authorize(second, content=wrong)) == (400, "identity_token")
    # Nor do a link's nonce and an upgrade's sign anybody in.
    for nonce in (first["nonce"], upgrade["nonce"]):
        assert post(orchard, orchard.sheet(nonce, ada) | {"nonce": nonce}).status == 400
    assert left(orchard) == before and exchanges(orchard) == sent
    # Used once, a nonce is used: with another answer of Apple's, of the same person or not.
    assert orchard.authorize(first, content=content).status == 200
    for person in (ada, boris):
        assert orchard.authorize(first, person).status in (400, 409)
    assert orchard.authorize(upgrade, content=content).status == 400


def test_attack_swapped_identities(orchard, ada, boris):
    link = orchard.begin("swapped")
    hers, his = orchard.sheet(link["nonce"], ada), orchard.sheet(link["nonce"], boris)
    later = orchard.sheet(link["nonce"], ada)
    elsewhere = orchard.begin("swapped-2")
    orchard.apple.call("POST", "clients", {"id": "com.example.stranger", "team": "TEAM123456", "redirectURIs": []})
    foreign = orchard.sheet(link["nonce"], ada, app="com.example.stranger")
    sent = exchanges(orchard)
    for content in [hers | {"authorizationCode": his["authorizationCode"]}, hers | {"identityToken": his["identityToken"]},
                    hers | {"authorizationCode": later["authorizationCode"]}, foreign,
                    hers | {"authorizationCode": "nonsense"}, hers | {"identityToken": "a.b.c"}]:
        assert problem(orchard.authorize(link, content=content)) == (400, "identity_token"), content
    assert exchanges(orchard) == sent
    # What was authorized by one is completed for that one, whoever comes in between.
    code = orchard.proven(link, content=hers)
    assert orchard.authorize(link, content=his).status in (400, 409)
    assert orchard.complete(elsewhere, code).status in (400, 409)
    done = orchard.complete(link, code).json()["user"]
    assert done["appleSubject"] == post(orchard, request(orchard, ada)).json()["user"]["appleSubject"]


def raced(orchard, accounts: list[str], people: list[str], code: str) -> int:
    """Two completions at once: which of them was not refused with this code."""
    links = [orchard.begin(account, "upgrade") for account in accounts]
    codes = [orchard.proven(link, person) for link, person in zip(links, people)]
    answers = at_once(2, lambda number: orchard.complete(links[number], codes[number]))
    winner = next(index for index, answer in enumerate(answers) if answer.status == 200)
    assert problem(answers[1 - winner]) == (409, code)
    assert orchard.owner(accounts[winner]) == answers[winner].json()["user"]["id"]
    assert orchard.apple_opens(accounts[winner], people[winner])
    return winner


def test_attack_race_of_two_upgrades_of_one_account(orchard):
    for number in range(4):
        raced(orchard, [f"raced{number}"] * 2, [somebody(orchard), somebody(orchard)], "account-already-linked")


def test_attack_race_of_one_identity_for_two_accounts(orchard):
    for number in range(4):
        accounts = [f"pulled{number}", f"pushed{number}"]
        winner = raced(orchard, accounts, [somebody(orchard)] * 2, "identity-linked-elsewhere")
        assert orchard.owner(accounts[1 - winner]) is None


def test_a_visitor_of_the_application_signs_in_with_apple(orchard, ada):
    """Only by external ID, end to end without a browser."""
    person = orchard.person("visitor")
    orchard.tie(orchard.demo.account("visitor")["id"], ada)
    cookie = f"{SESSION}={sign_in(orchard, ada)}"
    stranger = Person(orchard.demo, "visitor")
    assert stranger.get("/account").location == "/sign-in"
    assert 'id="person">visitor<' in stranger.get("/account", Cookie=cookie).text
    assert person.is_in()
