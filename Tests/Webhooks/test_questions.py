"""The application's verifier as Bramley asks it: real sockets, another implementation of the signature, and verifiers that
lie, hang, break off and change their secret. The password is looked for everywhere afterwards."""

import http.client
import json
import os
import secrets
import time
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from patience import PATIENCE, eventually
from programs import Site, write_private
from receiver import Answer, Receiver, status
from sender import new_secret

FAILURE = b'{"result":"failure"}'
SUCCESS = b'{"result":"success","externalID":"account-42"}'


def said(body: bytes, *fields: str, code: int = 200) -> Answer:
    return status(code, "Content-Type: application/json", *fields, body=body)


class Upgrading(Site):
    """A site with a verifier, and people who try passwords."""

    def __init__(self, binaries, folder, verifier: Receiver, **settings):
        self.verifier = verifier
        self.secret_file = folder / "upgrade.secret"
        self.secret = new_secret()
        self.write_secrets(self.secret)
        self.passwords: list[str] = []
        super().__init__(binaries, folder, {
            "upgrade.verifierURL": verifier.url("/verifier"), "upgrade.secretFile": str(self.secret_file),
            "server.trustedProxies": ["127.0.0.1"], "server.limits.upgradesPerMinute": 1000,
        } | {name.replace("_", "."): value for name, value in settings.items()})

    def write_secrets(self, *lines: str) -> None:
        new = self.secret_file.with_suffix(".new")
        write_private(new, ("\n".join(lines) + "\n").encode())
        new.rename(self.secret_file)

    def new_password(self) -> str:
        self.passwords.append("pw" + secrets.token_hex(12))
        return self.passwords[-1]

    def post(self, path: str, document: dict, address: str = "10.0.0.1", token: str | None = None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        fields = {"Host": f"localhost:{self.port}", "Content-Type": "application/json", "X-Forwarded-For": address}
        if token:
            fields["Authorization"] = f"Bearer {token}"
        connection.request("POST", path, json.dumps(document), fields)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, json.loads(content), response.headers

    def upgrade(self, username: str = "ada", password: str | None = None, address: str = "10.0.0.1"):
        return self.post(
            "/api/v1/upgrades", {"username": username, "password": password or self.new_password()}, address)

    def look_for_passwords(self) -> None:
        """In the log, in every file of the data directory, in the configuration's folder."""
        assert self.passwords
        files = [file for file in self.folder.rglob("*") if file.is_file()]
        assert (self.operator.url or any(file.name == "bramley.db" for file in files)) and any(file.name == "bramley.log" for file in files)
        for file in files:
            content = file.read_bytes()
            for password in self.passwords:
                assert password.encode() not in content, file


@pytest.fixture
def verifiers():
    made = []

    def make(*arguments, **options) -> Receiver:
        made.append(Receiver(*arguments, **options))
        return made[-1]

    yield make
    for verifier in made:
        verifier.close()


@pytest.fixture
def upgrading(binaries, tmp_path, verifiers):
    made = []

    def make(answer, **settings) -> Upgrading:
        made.append(Upgrading(binaries, tmp_path, verifiers(answer), **settings))
        return made[-1].start()

    yield make
    for site in made:
        site.look_for_passwords()
        site.end()


def test_what_is_asked(upgrading):
    site = upgrading(lambda arrival: said(FAILURE))
    password, begun = site.new_password(), time.time()
    assert site.upgrade("ada@example.com", password)[:2] == (200, {"result": "failure"})
    arrival, = site.verifier.arrivals
    assert Webhook(site.secret).verify(arrival.body, arrival.headers) == {
        "action": "verify", "username": "ada@example.com", "password": password}
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(arrival.body, arrival.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(site.secret).verify(arrival.body[:-1] + b" }", arrival.headers)
    assert arrival.path == "/verifier"
    assert arrival.headers["content-type"] == "application/json"
    assert arrival.headers["user-agent"].startswith("Bramley/")
    assert begun - 1 < int(arrival.headers["webhook-timestamp"]) < time.time() + 1
    assert "cookie" not in arrival.headers and "authorization" not in arrival.headers


def test_it_arrives_as_it_was_typed(upgrading):
    site = upgrading(lambda arrival: said(FAILURE))
    # So that it can be found again, if it were anywhere.
    site.new_password()
    for number, password in enumerate(('"\\/\b\f\n\r\t', "\0\x01\x7f", "пароль 🔑", "a b+c%20&d=e", "x" * 1024)):
        assert site.upgrade("ada", password, address=f"10.0.3.{number}")[0] == 200
        arrival = site.verifier.arrivals[-1]
        assert Webhook(site.secret).verify(arrival.body, arrival.headers)["password"] == password
    assert len(site.verifier.arrivals) == 5


def test_the_second_factor(upgrading):
    def answer(arrival):
        asked = json.loads(arrival.body)
        if asked["action"] == "verify":
            return said(b'{"result":"twoFactorAuthRequired","challenge":"challenge-7","methods":["totp","sms"]}')
        return said(SUCCESS if asked["code"] == "123456" else FAILURE)

    site = upgrading(answer)
    code, begun, _ = site.upgrade()
    assert code == 200 and begun["result"] == "twoFactorAuthRequired" and begun["methods"] == ["totp", "sms"]
    # What the verifier keeps the password's proof under is nobody's else.
    assert "challenge-7" not in json.dumps(begun)
    path = f"/api/v1/upgrades/{begun['id']}/second-factor"
    assert site.post(path, {"code": "000000"}, token=begun["upgradeToken"])[1] == {"result": "failure"}
    code, passed, _ = site.post(path, {"code": "123456"}, token=begun["upgradeToken"])
    assert code == 200 and passed["result"] == "success" and passed["nonce"]
    _, wrong, right = site.verifier.arrivals
    for arrival, typed in ((wrong, "000000"), (right, "123456")):
        assert Webhook(site.secret).verify(arrival.body, arrival.headers) == {
            "action": "secondFactor", "challenge": "challenge-7", "code": typed}
    assert len({arrival.id for arrival in site.verifier.arrivals}) == 3
    assert "challenge-7" not in site.server.text()


LIES = {
    "status 500": status(500, body=FAILURE),
    "status 401": said(FAILURE, code=401),
    "status 403": said(SUCCESS, code=403),
    "status 404": status(404),
    "status 201": said(SUCCESS, code=201),
    "status 204": status(204),
    "a redirect, status 302": status(302, "Location: /elsewhere"),
    "a redirect, status 307": status(307, "Location: /verifier"),
    "Content-Type": status(200, "Content-Type: text/html", body=SUCCESS),
    "not JSON": said(b'{"result":"failure","result":"success","externalID":"account-42"}'),
    "no result": said(b'{"Result":"success","externalID":"account-42"}'),
    "an unknown result": said(b'{"result":"SUCCESS","externalID":"account-42"}'),
    "success without a usable externalID": said(b'{"result":"success"}'),
    "externalID is not a string": said(b'{"result":"success","externalID":42}'),
    "without a usable challenge": said(b'{"result":"twoFactorAuthRequired","methods":["totp"]}'),
    "methods is not a list": said(b'{"result":"twoFactorAuthRequired","challenge":"c","methods":{"totp":true}}'),
    "too long": said(SUCCESS + b" " * 16_384),
    "no HTTP answer": Answer([b"220 mail.example.com ESMTP\r\n\r\n"]),
    "closed": Answer([b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{\"resu"]),
}


def test_lies_are_no_answer(upgrading):
    """One server for all: none of them may harm the next."""
    current = []
    site = upgrading(lambda arrival: current[0])
    for number, (reason, lie) in enumerate(LIES.items()):
        current[:] = [lie]
        before = len(site.verifier.arrivals)
        code, problem, fields = site.upgrade(f"person-{number}", address=f"10.0.1.{number}")
        assert (code, problem["code"]) == (503, "verifier_unavailable"), (reason, problem)
        assert int(fields["Retry-After"]) > 0
        assert "account-42" not in json.dumps(problem)
        # Once, and nowhere else.
        assert [arrival.path for arrival in site.verifier.arrivals[before:]] == ["/verifier"]
        eventually(lambda: reason in site.server.text(), f"{reason!r} in the log", site.server.text)
    assert "account-42" not in site.server.text() and "person-" not in site.server.text()
    current[:] = [said(SUCCESS)]
    assert site.upgrade("person-0")[1]["result"] == "success"


def test_one_that_is_down(upgrading):
    site = upgrading(lambda arrival: said(FAILURE))
    site.verifier.close()
    code, problem, fields = site.upgrade()
    assert (code, problem["code"]) == (503, "verifier_unavailable") and "Retry-After" in fields
    eventually(lambda: "no connection" in site.server.text(), "the reason in the log", site.server.text)


def test_an_answer_too_many_is_nobodys(upgrading):
    """Two answers to each question, the second one right: it is not the next person's."""
    extra = said(b'{"result":"success","externalID":"somebody-else"}').pieces[0]
    site = upgrading(lambda arrival: Answer([said(FAILURE).pieces[0] + extra], keeps=True))
    for number in range(5):
        assert site.upgrade(f"person-{number}", address=f"10.0.2.{number}")[1] == {"result": "failure"}


def test_a_new_secret_needs_no_restart(upgrading):
    site = upgrading(lambda arrival: said(FAILURE))
    old, new = site.secret, new_secret()
    site.write_secrets(new, old)
    eventually(
        lambda: "upgrade.secretFile reloaded" in site.server.text(), "the new secret", site.server.text)
    site.upgrade()
    arrival = site.verifier.arrivals[-1]
    for secret in (old, new):
        Webhook(secret).verify(arrival.body, arrival.headers)
    # Half a file is no file.
    write_private(site.secret_file, b"whsec_")
    eventually(
        lambda: "upgrade.secretFile not reloaded" in site.server.text(), "the refusal", site.server.text)
    site.upgrade()
    arrival = site.verifier.arrivals[-1]
    Webhook(new).verify(arrival.body, arrival.headers)
    for secret in (old, new):
        assert secret.removeprefix("whsec_") not in site.server.text()


def test_the_memory_of_the_server(upgrading):
    """What a core file would hold after a hundred tries of all kinds: not one of them."""
    answers = [FAILURE, SUCCESS, b"{", b'{"result":"twoFactorAuthRequired","challenge":"c","methods":[]}']
    site = upgrading(lambda arrival: said(answers[len(site.verifier.arrivals) % 4]))
    for number in range(100):
        site.upgrade(f"person-{number}", address=f"10.1.0.{number}")
    held = set()
    memory = os.open(f"/proc/{site.server.process.pid}/mem", os.O_RDONLY)
    try:
        for line in Path(f"/proc/{site.server.process.pid}/maps").read_text().splitlines():
            span, mode, *_ = line.split()
            if not mode.startswith("rw"):
                continue
            start, end = (int(number, 16) for number in span.split("-"))
            content = os.pread(memory, end - start, start)
            held |= {password for password in site.passwords if password.encode() in content}
    finally:
        os.close(memory)
    assert not held, f"{len(held)} of {len(site.passwords)} passwords"
