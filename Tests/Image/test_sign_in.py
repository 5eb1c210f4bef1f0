"""compose.yaml, as an engine would run it: a person signs in at the images that were built."""

import http.client
import json
import os
from http.cookies import SimpleCookie

import pytest
import yaml

from container import ROOT
from patience import eventually

FORM = "application/x-www-form-urlencoded"
SERVICES = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]


def image_of(service: dict) -> str:
    """The stage that a service is built from; without a target the last, which is Bramley's."""
    build = service["build"]
    return build.get("target", "bramley") if isinstance(build, dict) else "bramley"


class Browser:
    def __init__(self):
        self.jar: dict[str, str] = {}

    def ask(self, method: str, path: str, body: str | None = None, headers: dict | None = None):
        connection = http.client.HTTPConnection("localhost", 8080, timeout=30)
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
    """The containers of compose.yaml, started in its order."""
    folders = {name: tmp_path / name for name in ("key", "data")}
    for folder in folders.values():
        folder.mkdir()
        # As an engine does with a new volume: it gets the owner of the folder that it covers.
        os.chown(folder, 10001, 10001)

    def make(name: str):
        service = SERVICES[name]
        mounts = [entry.split(":") for entry in service["volumes"]]
        return make_container(
            image_of(service), volumes={place: folders[volume] for volume, place, *_ in mounts},
            environment=service.get("environment"), user=service.get("user"))

    apple = make("apple").start(SERVICES["apple"]["command"])
    eventually(apple.is_up, "the simulated Apple", apple.text)
    server = make("server").start()
    eventually(server.is_up, "the server", server.text)
    return server, apple


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
