"""Logs, lists and answers contain no secret, and no ID that works like one."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from app import challenge, post, request, send
from demo import ROOT
from orchard import Orchard, somebody
from patience import eventually
from web import SAME_ORIGIN, Browser, new_address


@pytest.fixture(scope="module")
def talkative(make_shared_site):
    return make_shared_site({"log.level": "trace", "login.askExistingAccount": True, "log.clients": "address"}, Orchard)


class Collecting(Browser):
    """What it is handed is collected: cookies, states, nonces, addresses with a query."""

    def __init__(self, orchard, secrets: set[str]):
        super().__init__(orchard, SAME_ORIGIN)
        self.secrets = secrets

    def ask(self, method: str, path: str, headers: dict, body: str | None):
        answer = super().ask(method, path, new_address() | headers, body)
        self.secrets |= {value for value in answer.cookies().values() if value}
        self.secrets |= {value.decode() for value in re.findall(rb'appleid-signin-(?:state|nonce)" content="([^"]+)"', answer.body)}
        self.secrets |= {value for value in answer.parameters().values() if len(value) >= 40 and "/" not in value}
        return answer

    def comes_back(self, form: str):
        self.secrets |= {value for values in parse_qs(form).values() for value in values if len(value) >= 40}
        return super().comes_back(form)


def address(link: dict) -> str:
    parts = urlsplit(link["url"])
    return f"{parts.path}?{parts.query}"


def everything_told(orchard) -> str:
    texts = [orchard.admin("/metrics").text, orchard.server.text()]
    for command in ("links list", "events tail", "audit list", "users list", "sessions list", "notifications list",
                    "api-keys list", "webhooks list"):
        texts.append(orchard.operator.bramley(*command.split(), "--json"))
    return "\n".join([*texts, send(orchard, "GET", "/api/v1/events", token=orchard.key("events:read")).text])


def test_no_secret_is_logged_listed_or_exported_and_no_id_opens_anything(talkative):
    orchard, secrets = talkative, set(talkative.keys.values())
    # Signing in, by a browser and by an app, and out.
    ada, browser = somebody(orchard), Collecting(orchard, secrets)
    browser.sign_in(ada)
    native = request(orchard, ada)
    signed_in = post(orchard, native).must(200)
    secrets |= {native["identityToken"], native["authorizationCode"], native["nonce"], signed_in.json()["token"], challenge(orchard)}
    # Connecting, by an app, by a browser, and with somebody who waits.
    app, web, late = (orchard.begin(orchard.account(name)) for name in ("by-app", "by-web", "late"))
    for link in (app, web, late):
        secrets |= {link["ticket"], link["url"].partition("token=")[2]}
    content = orchard.sheet(app["nonce"], somebody(orchard))
    code = orchard.proven(app, content=content)
    assert orchard.complete(app, code).status == 200
    assert orchard.complete(web, "brl_" + "A" * 43).status == 400
    secrets |= {content["identityToken"], content["authorizationCode"], code}
    visitor = Collecting(orchard, secrets)
    assert visitor.send("GET", address(web)).status == 200
    back = visitor.comes_back(visitor.goes_to_apple(somebody(orchard), f"/link/{web['id']}/apple"))
    assert back.status == 303 and "code=brl_" in back.location
    assert orchard.complete(web, back.parameters()["code"]).status == 200
    newcomer = Collecting(orchard, secrets)
    waiting = newcomer.comes_back(newcomer.goes_to_apple(somebody(orchard))).waiting
    sent = newcomer.send("POST", "/login/existing", {"waiting": waiting, "choice": "connect"})
    ticket = sent.parameters()["ticket"]
    secrets.add(ticket)
    joined = orchard.begin(orchard.account("joined"), ticket=ticket)
    secrets |= {joined["ticket"], joined["url"].partition("token=")[2]}
    assert newcomer.send("GET", address(joined)).status == 200
    orchard.person("careful")
    upgrade = orchard.begun("careful")
    content = orchard.sheet(upgrade["nonce"], somebody(orchard))
    code = orchard.proven(upgrade, content=content)
    assert orchard.demo.complete(upgrade, code).status == 200
    secrets |= {upgrade["ticket"], content["identityToken"], content["authorizationCode"], code}
    assert browser.send("POST", "/logout", {}).status == 303
    told = everything_told(orchard)
    assert len(secrets) > 30 and all(len(secret) >= 24 for secret in secrets), "too little was collected"
    for secret in secrets:
        assert secret not in told, f"{secret[:8]}… is told"
    # By its form too, whoever was given it.
    assert not re.findall(r"\b(?:brs|brk|brt|brl|bra)_[A-Za-z0-9_-]{43}\b", told)
    # The ids are there; none of them opens what it names.
    ids = set(re.findall(r"\b(?:lnk|wai|ses|usr|evt|key)_[0-9a-z]{26}\b", told))
    assert {late["id"], app["id"], upgrade["id"], waiting, signed_in.json()["session"]["id"]} <= ids
    stranger = Collecting(orchard, set())
    stranger.send("GET", "/login")
    for name in sorted(ids):
        for path in (f"/link/{name}", f"/link/{name}/apple", f"/link/{name}/attempt"):
            answer = stranger.send("GET", path)
            assert answer.status in (400, 404, 409, 410) and b"Their account" not in answer.body, (path, answer.status)
        for choice in ("new", "connect"):
            assert stranger.send("POST", "/login/existing", {"waiting": name, "choice": choice}).status in (400, 404, 410)
        assert "code=" not in stranger.send("POST", f"/link/{name}", {}).location
        assert send(orchard, "GET", "/api/v1/session", token=name).status == 401
        assert send(orchard, "GET", "/api/v1/session", headers={"Cookie": f"__Host-bramley={name}"}).status == 401
        assert send(orchard, "POST", f"/api/v1/links/{name}/authorize", {"code": "x"}, token=name).status in (400, 401, 404)
    # And the browser that has the address is not kept out by all that.
    assert orchard.sql("SELECT state FROM account_link WHERE id = ?", late["id"]) == [("open",)]
    assert Collecting(orchard, set()).send("GET", address(late)).status == 200


def commands_after_a_leak() -> list[str]:
    """Of the runbook, when database and sealing key have leaked, in their order."""
    row, = (line for line in (ROOT / "docs/trust/security.md").read_text().splitlines()
            if line.startswith("- **the database and the sealing key"))
    return re.findall(r"`bramley ([^`]+)`", row)


def test_after_a_leak_of_database_and_key_the_runbook_ends_every_session(make_orchard):
    orchard = make_orchard({"assertion.audience": "https://backend.example"})
    ada = somebody(orchard)
    browser = Collecting(orchard, set())
    browser.sign_in(ada)
    native = post(orchard, request(orchard, ada)).json()["token"]

    def live() -> list[int]:
        return [browser.get("/api/v1/session").status, send(orchard, "GET", "/api/v1/session", token=native).status]

    assert live() == [200, 200]
    commands = commands_after_a_leak()
    assert commands == ["keys rotate-sealing --new", "assertion rotate --revoke", "sessions revoke --all"]
    for command in commands:
        orchard.operator.bramley(*command.split(), *([] if command.startswith("keys") else ["--yes"]))
    eventually(lambda: live() == [401, 401], "the end of every session")
    assert orchard.sql("SELECT count(*) FROM session") == [(0,)]
    assert post(orchard, request(orchard, ada)).status == 200
