"""compose.yaml, as an engine would run it: a person signs in at the images that were built."""

import http.client
import json
from http.cookies import SimpleCookie

import pytest

from composition import make_volumes, services, start_own
from patience import eventually

FORM = "application/x-www-form-urlencoded"

class Browser:
    def __init__(self):
        self.jar: dict[str, str] = {}

    def ask(self, method: str, path: str, body: str | None = None, headers: dict | None = None, port: int = 8080):
        connection = http.client.HTTPConnection("localhost", port, timeout=30)
        try:
            connection.request(method, path, body, {
                "Cookie": "; ".join(f"{name}={value}" for name, value in self.jar.items())} | (headers or {}))
            answer = connection.getresponse()
            content = answer.read().decode()
        finally:
            connection.close()
        for line in answer.headers.get_all("Set-Cookie") or []:
            self.jar.update({name: morsel.value for name, morsel in SimpleCookie(line).items()})
        return answer, content

    def sign_in(self, person: str) -> None:
        start, _ = self.ask("GET", "/login/apple")
        assert start.status == 303
        connection = http.client.HTTPConnection("127.0.0.1", 9700, timeout=30)
        try:
            connection.request("POST", "/simulator/api/authorize", json.dumps({
                "person": person, "authorize_url": start.headers["Location"]}))
            form = json.loads(connection.getresponse().read())["form"]
        finally:
            connection.close()
        answer, content = self.ask("POST", "/apple/callback", form, {
            "Content-Type": FORM, "Origin": "http://127.0.0.1:9700", "Sec-Fetch-Site": "cross-site"})
        assert answer.status == 303, content

    def session(self) -> dict | None:
        answer, content = self.ask("GET", "/api/v1/session")
        assert answer.status in (200, 401), content
        return json.loads(content) if answer.status == 200 else None


@pytest.fixture
def demonstration(make_container, tmp_path):
    whole = services("compose.yaml")
    return start_own(whole, make_container, make_volumes(whole, tmp_path))


def test_a_person_signs_in_and_stays_so_over_a_restart(demonstration):
    server, apple = demonstration
    assert (server.user, apple.user) == (10001, 10001)
    ada = Browser()
    assert ada.session() is None
    ada.sign_in("ada")
    assert ada.session()["user"]["email"] == "ada@example.com"
    assert server.stop() == 0, server.text()
    assert not server.is_healthy()
    server.start()
    eventually(server.is_up, "the server", server.text)
    assert ada.session()["user"]["email"] == "ada@example.com"
    assert apple.stop() in (0, -15)
    assert not apple.is_healthy()
    assert ada.session(), "Apple is asked when people sign in, and not for those who have"


def test_operators_commands_inside(demonstration):
    server, _ = demonstration
    Browser().sign_in("boris")
    done = server.run(["bramley", "users", "list", "--json"])
    assert done.returncode == 0, done.stderr
    assert "boris" in done.stdout.lower() or "usr_" in done.stdout


def test_without_a_configuration_it_says_what_is_missing(make_container):
    done = make_container("bramley").run(["bramley", "serve"])
    assert done.returncode != 0
    assert "config.json" in done.stderr + done.stdout
