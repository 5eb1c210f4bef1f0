"""compose.yaml, run by Compose: a person signs in at the images that were built."""

import http.client
import json
import os
import re
import shlex
import subprocess
from http.cookies import SimpleCookie

import pytest

from engine import ROOT, Composition, Container
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
def demonstration(engine):
    with Composition(engine, "compose.yaml") as whole:
        yield whole["server"], whole["apple"]


def test_a_person_signs_in_and_stays_so_over_a_restart(demonstration):
    server, apple = demonstration
    ada = Browser()
    assert ada.session() is None
    ada.sign_in("ada")
    assert ada.session()["user"]["email"] == "ada@example.com"
    assert server.stop() == 0, server.text()
    server.start()
    assert ada.session()["user"]["email"] == "ada@example.com"
    assert apple.stop() == 0, apple.text()


def test_operators_commands_inside(demonstration):
    server, _ = demonstration
    Browser().sign_in("boris")
    done = server.run("bramley", "users", "list", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["items"][0]["name"]["given"] == "Boris"


def test_without_a_configuration_it_says_what_is_missing(engine):
    done = engine.ask("docker", "run", "--rm", "bramley")
    assert done.returncode == 1
    assert "config.json" in done.stderr + done.stdout


def test_the_command_of_the_documents(engine, tmp_path):
    """docs/deploying.md: no right but its own, and a root that nobody can write."""
    command = re.search(r"^docker run (-d --name bramley (?:.|\\\n)*?) bramley$",
                        (ROOT / "docs/deploying.md").read_text(), re.MULTILINE)[1]
    assert "--read-only" in command and "--cap-drop ALL" in command and "no-new-privileges" in command
    key = tmp_path / "AuthKey_F6G7H8I9J0.p8"
    subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key],
                   check=True, capture_output=True)
    (tmp_path / "config.json").write_text(json.dumps({
        "publicURL": "https://id.example.com", "access": {"signUp": "open"},
        "apple": {"teamID": "A1B2C3D4E5", "servicesID": "com.example.web", "keyID": "F6G7H8I9J0",
                  "privateKeyFile": key.name, "scopes": ["email"]}}))
    for file in (key, tmp_path / "config.json"):
        file.chmod(0o600)
        os.chown(file, 10001, 10001)
    words = shlex.split(command.replace("\\\n", "").replace("/etc/bramley/", f"{tmp_path}/"))
    engine.docker("run", "--health-interval=1s", *words, "bramley")
    server = Container(engine, "bramley")
    try:
        eventually(lambda: server.state()["Health"]["Status"] == "healthy", "the health check", server.text)
        made = server.run("bramley", "api-keys", "create", "kept", "--scopes", "introspect")
        assert made.returncode == 0, made.stderr
        assert server.stop() == 0, server.text()
        # The next container has the same data.
        engine.docker("rm", "bramley")
        engine.docker("run", *words, "bramley")
        assert "kept" in server.await_health().run("bramley", "api-keys", "list").stdout
    finally:
        engine.docker("rm", "--force", "--volumes", "bramley")
        engine.docker("volume", "rm", "bramley-data")
