"""compose.yaml, run by Compose: a person signs in at the images that were built."""

import json
import re
import shlex
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from engine import ROOT, Composition, Container
from patience import eventually
from processes import finished
from programs import RunningSimulator, new_key, write_private
from web import Browser


def visitor() -> Browser:
    return Browser(SimpleNamespace(origin="http://localhost:8080", apple=RunningSimulator("http://127.0.0.1:9700")))


@pytest.fixture
def demonstration(engine):
    with Composition(engine, "compose.yaml") as whole:
        yield whole["server"], whole["apple"]


def test_a_person_stays_signed_in_after_a_restart(demonstration):
    server, apple = demonstration
    ada = visitor()
    assert "/login?return_to=" in ada.get("/members").must(302).location
    assert ada.session() is None
    ada.sign_in("ada")
    assert ada.get("/members").text == "You are ada@example.com, a member."
    assert ada.session()["user"]["email"] == "ada@example.com"
    assert server.stop() == 0, server.text()
    server.start()
    assert ada.session()["user"]["email"] == "ada@example.com"
    assert apple.stop() == 0, apple.text()


def test_operator_commands_work_inside_the_container(demonstration):
    server, _ = demonstration
    visitor().sign_in("boris")
    done = server.run("bramley", "users", "list", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["items"][0]["name"]["given"] == "Boris"


def test_one_command_changes_to_the_real_apple(engine, tmp_path):
    """docs/start/install.md: after a rehearsal, with a key as it was downloaded. Apple itself is not to be reached."""
    def compose(*arguments: str) -> str:
        done = finished("docker-compose", "--project-name=real", *arguments, cwd=tmp_path, env=engine.environment,
                        timeout=None)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def await_server() -> None:
        Container(engine, compose("ps", "--quiet", "server")).await_health()

    page = (ROOT / "docs/start/install.md").read_text()
    shutil.copy(ROOT / "compose.yaml", tmp_path)
    try:
        compose("up", "--detach", "--no-build")
        await_server()
        values = re.search(r"^```\n(SITE_HOST=.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
        (tmp_path / ".env").write_text(values)
        (tmp_path / "AuthKey_F6G7H8I9J0.p8").write_bytes(new_key())
        (tmp_path / "AuthKey_F6G7H8I9J0.p8").chmod(0o644)
        block = re.search(r"^Then remove .*?^```sh\n(.*?)^docker compose up --detach$", page, re.MULTILINE | re.DOTALL)[1]
        for line in block.splitlines():
            if line.startswith("docker compose "):
                said = compose(*shlex.split(line)[2:])
            else:
                subprocess.run(line.replace("sudo ", ""), shell=True, cwd=tmp_path, check=True)
        assert "https://id.example.com/apple/callback" in said
        assert "127.0.0.1" not in (tmp_path / "compose.yaml").read_text()
        # Without the proxy, which would take this machine's ports 80 and 443.
        compose("up", "--detach", "--no-build", "server")
        await_server()
    finally:
        compose("down", "--volumes", "--timeout=60")


def test_without_a_configuration_the_container_says_what_is_missing(engine):
    done = engine.ask("docker", "run", "--rm", "bramley")
    assert done.returncode == 1
    assert "config.json" in done.stderr + done.stdout


def test_the_documented_container_starts_as_written(engine, tmp_path):
    """docs/start/install.md: files of the container's user, no right but its own, and a root that nobody can write."""
    page = (ROOT / "docs/start/install.md").read_text()
    install, command = re.search(r"^((?:sudo install .*\n)+)docker run (-d --name bramley (?:.|\\\n)*?) bramley$", page,
                                 re.MULTILINE).groups()
    assert "--read-only" in command and "--cap-drop ALL" in command and "no-new-privileges" in command
    key, folder = "AuthKey_F6G7H8I9J0.p8", str(tmp_path / "mounted")
    write_private(tmp_path / key, new_key())
    storage = json.loads("{" + re.search(r'^"storage": .*$', page, re.MULTILINE)[0] + "}")
    (tmp_path / "config.json").write_text(json.dumps(storage | {
        "publicURL": "https://id.example.com", "access": {"signUp": "open"},
        "apple": {"teamID": "A1B2C3D4E5", "servicesID": "com.example.web", "keyID": "F6G7H8I9J0",
                  "privateKeyFile": key, "scopes": ["email"]}}))
    subprocess.run(install.replace("sudo ", "").replace("/srv/bramley", folder), shell=True, cwd=tmp_path, check=True)
    words = shlex.split(command.replace("\\\n", "").replace("/srv/bramley", folder))
    engine.docker("run", "--health-interval=1s", *words, "bramley")
    server = Container(engine, "bramley")
    try:
        eventually(lambda: server.state()["Health"]["Status"] == "healthy", "the health check", server.text)
        made = server.run("bramley", "api-keys", "create", "kept", "--scopes", "introspect")
        assert made.returncode == 0, made.stderr
        assert server.stop() == 0, server.text()
        engine.docker("rm", "bramley")
        engine.docker("run", *words, "bramley")
        assert "kept" in server.await_health().run("bramley", "api-keys", "list").stdout
    finally:
        engine.docker("rm", "--force", "--volumes", "bramley")
        engine.docker("volume", "rm", "bramley-data")
