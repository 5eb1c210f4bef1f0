"""What is logged, listed and told opens no door: neither a secret, nor an id that is as good as one."""

import json
import os
import re
import urllib.request
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from app import challenge, post, request, send
from demo import ROOT
from patience import eventually
from people import somebody
from programs import write_private

FORM = "application/x-www-form-urlencoded"
OWN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def talkative(binaries, tmp_path_factory):
    from orchard import Orchard

    orchard = Orchard(binaries, tmp_path_factory.mktemp("talkative"),
                      {"log.level": "trace", "login.askExistingAccount": True, "log.clients": "address"})
    yield orchard.start()
    orchard.end()


class Browser:
    """A browser without a window. What it is handed is collected: cookies, states, nonces, addresses with a query."""

    def __init__(self, orchard, secrets: set[str]):
        self.orchard, self.secrets, self.jar = orchard, secrets, {}

    def ask(self, method: str, path: str, form: dict | str | None = None, **headers):
        cookies = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.jar.items())} if self.jar else {}
        content = form if isinstance(form, str) else urlencode(form) if form is not None else None
        answer = send(self.orchard, method, path, content and content.encode(), kind=FORM, headers=OWN | cookies | headers)
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.split(";")[0].partition("=")
            self.jar[name] = value
            if value:
                self.secrets.add(value)
        for value in re.findall(rb'appleid-signin-(?:state|nonce)" content="([^"]+)"', answer.body):
            self.secrets.add(value.decode())
        for values in parse_qs(urlsplit(answer.headers["Location"] or "").query).values():
            self.secrets |= {value for value in values if len(value) >= 40 and "/" not in value}
        return answer

    def comes_back(self, start, person: str):
        """From a redirect to Apple, as `person`."""
        form = self.orchard.apple.call("POST", "authorize", {"person": person, "authorize_url": start.headers["Location"]})["form"]
        self.secrets |= {value for values in parse_qs(form).values() for value in values if len(value) >= 40}
        return self.ask("POST", "/apple/callback", form, Origin=self.orchard.apple.origin, **{"Sec-Fetch-Site": "cross-site"})


def address(link: dict) -> str:
    parts = urlsplit(link["url"])
    return f"{parts.path}?{parts.query}"


def everything_told(orchard) -> str:
    """Log, metrics, journal, audit log and lists, and what the application was sent."""
    port = json.loads((orchard.folder / "config.json").read_text())["admin"]["port"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        texts = [page.read().decode()]
    for command in ("links list", "events tail", "audit list", "users list", "sessions list", "notifications list", "api-keys list",
                    "webhooks list"):
        texts.append(orchard.command(*command.split(), "--json"))
    texts.append(send(orchard, "GET", "/api/v1/events", token=orchard.key("events:read")).body.decode())
    return "\n".join([*texts, (orchard.folder / "bramley.log").read_text()])


def test_nothing_that_is_told_opens_a_door(talkative):
    orchard, secrets = talkative, set(talkative.keys.values())
    # Signing in, by a browser and by an app, and out.
    ada = somebody(orchard)
    browser = Browser(orchard, secrets)
    asked = browser.comes_back(browser.ask("GET", "/login/apple"), ada)
    waiting = re.search(rb'name="waiting" value="(wai_[^"]+)"', asked.body)[1].decode()
    assert browser.ask("POST", "/login/existing", {"waiting": waiting, "choice": "new"}).status == 303
    assert "__Host-bramley" in browser.jar
    native = request(orchard, ada)
    signed_in = post(orchard, native)
    assert signed_in.status == 200
    secrets |= {native["identityToken"], native["authorizationCode"], native["nonce"], signed_in.json()["token"], challenge(orchard)}
    # Connecting, by an app, by a browser, and with somebody who waits.
    app, web, late = (orchard.begin(orchard.person(name) and orchard.demo.account(name)["id"]) for name in ("by-app", "by-web", "late"))
    for link in (app, web, late):
        secrets |= {link["ticket"], link["url"].partition("token=")[2]}
    content = orchard.sheet(app["nonce"], somebody(orchard))
    code = orchard.authorize(app, content=content).json()["code"]
    assert orchard.complete(app, code).status == 200
    assert orchard.complete(web, "brl_" + "A" * 43).status == 400
    secrets |= {content["identityToken"], content["authorizationCode"], code}
    visitor = Browser(orchard, secrets)
    assert visitor.ask("GET", address(web)).status == 200
    back = visitor.comes_back(visitor.ask("GET", f"/link/{web['id']}/apple"), somebody(orchard))
    assert back.status == 303 and "code=brl_" in back.headers["Location"]
    assert orchard.complete(web, parse_qs(urlsplit(back.headers["Location"]).query)["code"][0]).status == 200
    newcomer = Browser(orchard, secrets)
    asked = newcomer.comes_back(newcomer.ask("GET", "/login/apple"), somebody(orchard))
    waiting = re.search(rb'name="waiting" value="(wai_[^"]+)"', asked.body)[1].decode()
    sent = newcomer.ask("POST", "/login/existing", {"waiting": waiting, "choice": "connect"})
    ticket = parse_qs(urlsplit(sent.headers["Location"]).query)["ticket"][0]
    secrets.add(ticket)
    joined = orchard.begin(orchard.person("joined") and orchard.demo.account("joined")["id"], ticket=ticket)
    secrets |= {joined["ticket"], joined["url"].partition("token=")[2]}
    assert newcomer.ask("GET", address(joined)).status == 200
    # Replacing a password.
    orchard.person("careful")
    upgrade = orchard.begun("careful")
    content = orchard.sheet(upgrade["nonce"], somebody(orchard))
    code = orchard.authorize(upgrade, content=content).json()["code"]
    assert orchard.demo.complete(upgrade, code).status == 200
    secrets |= {upgrade["ticket"], content["identityToken"], content["authorizationCode"], code}
    assert browser.ask("POST", "/logout", {}).status == 303

    told = everything_told(orchard)
    assert len(secrets) > 30 and all(len(secret) >= 24 for secret in secrets), "too little was collected"
    for secret in secrets:
        assert secret not in told, f"{secret[:8]}… is told"
    # By its form too, whoever was given it.
    assert not re.findall(r"\b(?:brs|brk|brt|brl|bra)_[A-Za-z0-9_-]{43}\b", told)
    # The ids are there; none of them opens what it names.
    ids = set(re.findall(r"\b(?:lnk|wai|ses|usr|evt|key)_[0-9a-z]{26}\b", told))
    assert {late["id"], app["id"], upgrade["id"], waiting, signed_in.json()["session"]["id"]} <= ids
    stranger = Browser(orchard, set())
    stranger.ask("GET", "/login")
    for name in sorted(ids):
        for path in (f"/link/{name}", f"/link/{name}/apple", f"/link/{name}/attempt"):
            answer = stranger.ask("GET", path)
            assert answer.status in (400, 404, 409, 410) and b"Their account" not in answer.body, (path, answer.status)
        for choice in ("new", "connect"):
            assert stranger.ask("POST", "/login/existing", {"waiting": name, "choice": choice}).status in (400, 404, 410)
        assert "code=" not in (stranger.ask("POST", f"/link/{name}", {}).headers["Location"] or "")
        assert send(orchard, "GET", "/api/v1/session", token=name).status == 401
        assert send(orchard, "GET", "/api/v1/session", headers={"Cookie": f"__Host-bramley={name}"}).status == 401
        assert send(orchard, "POST", f"/api/v1/links/{name}/authorize", {"code": "x"}, token=name).status in (400, 401, 404)
    # And the browser that has the address is not kept out by all that.
    assert orchard.state(late["id"]) == "open"
    assert Browser(orchard, set()).ask("GET", address(late)).status == 200


def commands_after_a_leak() -> list[str]:
    """Of the runbook, when database and sealing key have leaked, in their order."""
    row, = (line for line in (ROOT / "docs" / "security.md").read_text().splitlines()
            if line.startswith("| the database *and* the sealing key"))
    return re.findall(r"`bramley ([^`]+)`", row)


def test_after_a_leak_of_database_and_key_the_runbook_ends_every_session(make_orchard):
    orchard = make_orchard({"assertion.audience": "https://backend.example"})
    ada = somebody(orchard)
    browser = Browser(orchard, set())
    browser.comes_back(browser.ask("GET", "/login/apple"), ada)
    native = post(orchard, request(orchard, ada)).json()["token"]

    def live() -> list[int]:
        return [browser.ask("GET", "/api/v1/session").status,
                send(orchard, "GET", "/api/v1/session", token=native).status]

    assert live() == [200, 200]
    # A new sealing key, the old one in the list.
    data, file = orchard.folder / "data", orchard.folder / "config.json"
    settings = json.loads(file.read_text())
    orchard.stop()
    old, new = orchard.folder / "old.key", orchard.folder / "new.key"
    (data / "sealing.key").rename(old)
    write_private(new, os.urandom(32).hex().encode() + b"\n")
    settings["secrets"] = {"sealingKeyFile": str(new), "previousSealingKeyFiles": [str(old)]}
    write_private(file, json.dumps(settings).encode())
    orchard.start()
    assert live() == [200, 200]
    commands = commands_after_a_leak()
    assert commands == ["credentials reseal", "assertion rotate --revoke", "sessions revoke --all"]
    for command in commands:
        orchard.command(*command.split(), *([] if command == "credentials reseal" else ["--yes"]))
    eventually(lambda: live() == [401, 401], "the end of every session")
    assert orchard.sql("SELECT count(*) FROM session") == [(0,)]
    # Who signs in now is in.
    assert post(orchard, request(orchard, ada)).status == 200
