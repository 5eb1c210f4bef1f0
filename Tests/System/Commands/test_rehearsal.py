"""`bramley init --rehearse`: a real host name and the own proxy, with the simulated Apple; then the end of it."""

import http.client
import json
import re
import shutil
import socket
import sqlite3

import pytest

from answering import Answering
from authority import Authority
from front import Front
from processes import fails, finished
from programs import Program, RunningSimulator, free_port, new_key, write_private
from web import Browser, call

HOST = socket.gethostname().lower()
KEY_FILE, REAL_KEY_FILE = "AuthKey_REHEARSAL1.p8", "AuthKey_F6G7H8I9J0.p8"
REAL = ["--services-id", "com.example.shop", "--bundle-ids", "none", "--team-id", "A1B2C3D4E5", "--private-key-file",
        REAL_KEY_FILE]


class Rehearsal:
    """What Browser and `call` need of a site behind a proxy."""

    scheme = "http"
    origin = "https://id.example.com"
    front: Front | None = None

    def __init__(self, binaries, folder):
        self.binaries, self.folder = binaries, folder
        self.port = free_port()
        self.apple = RunningSimulator(f"http://127.0.0.1:{free_port()}")
        self.programs: list[Program] = []
        self.server: Program | None = None

    def behind_a_proxy(self) -> "Rehearsal":
        """With a certificate of its own, at a name of this machine that is not one for tests."""
        authority = Authority()
        self.trust = str(authority.write_root(self.folder / "root.pem"))
        self.front = Front(authority.issue(HOST).write(self.folder, "front"), self.port, socket.gethostbyname(HOST))
        self.origin = f"https://{HOST}:{self.front.port}"
        return self

    def run(self, *arguments: str, **environment: str):
        return finished(self.binaries / "bramley", *arguments, cwd=self.folder, env=environment)

    def init(self, *more: str):
        return self.run(
            "init", "--non-interactive", "--output", str(self.folder / "config.json"), "--public-url", self.origin,
            "--scopes", "name,email", "--sign-up", "open", "--trusted-proxies", "127.0.0.1,127.0.0.2",
            "--server-port", str(self.port), "--admin-port", str(free_port()), "--storage-directory", "data", *more)

    def start(self, words: str, *more: str, port: int) -> Program:
        """A command as init prints it."""
        program, *arguments = words.split()
        log = self.folder / f"{program}-{len(self.programs)}.log"
        self.programs.append(Program([str(self.binaries / program), *arguments, *more], log))
        self.programs[-1].wait_for(port)
        return self.programs[-1]

    def begin(self) -> str:
        """Everything as init says; what it says."""
        done = self.init("--simulator", self.apple.origin)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        self.simulator = re.search(r"simulated Apple: (apple-simulator .*)", done.stdout)[1]
        trust = ["--trust", self.trust] if self.front else []
        self.start(self.simulator, *trust, port=int(self.apple.origin.rpartition(":")[2]))
        self.serve = re.search(r"Start the server: (bramley serve .*)", done.stdout)[1]
        self.server = self.start(self.serve, port=self.port)
        return done.stdout

    def configuration(self) -> dict:
        return json.loads((self.folder / "config.json").read_text())

    def end(self) -> None:
        for program in self.programs:
            program.stop()
        if self.front:
            self.front.stop()


@pytest.fixture
def rehearsal(binaries, tmp_path):
    rehearsal = Rehearsal(binaries, tmp_path)
    yield rehearsal
    rehearsal.end()


@pytest.fixture(scope="module")
def begun(binaries, tmp_path_factory):
    rehearsal = Rehearsal(binaries, tmp_path_factory.mktemp("rehearsal")).behind_a_proxy()
    rehearsal.said = rehearsal.begin()
    yield rehearsal
    rehearsal.end()


def test_what_init_prints_is_all_that_is_needed(begun):
    assert "--allow-simulated-apple" in begun.serve
    port = begun.apple.origin.rpartition(":")[2]
    assert f"ssh -L {port}:127.0.0.1:{port} {HOST}" in begun.said
    assert (begun.folder / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert "a simulator stands in for Apple" in call(begun, "GET", "/login").text
    browser = Browser(begun)
    browser.sign_in("ada")
    assert browser.is_signed_in()
    begun.apple.notify("consent-revoked", "ada")
    assert not browser.is_signed_in()


def test_only_serve_asks_for_the_flag(begun):
    Browser(begun).sign_in("chie")
    assert "chie@example.net" in begun.run("users", "list").stdout
    assert begun.run("sessions", "list").returncode == 0
    check = begun.run("check")
    assert check.returncode == 0 and "Only bramley serve --allow-simulated-apple accepts it." in check.stdout
    assert "warning: apple.endpoint" in check.stdout
    # This machine's name may be one that Apple refuses.
    fails(begun.run("serve", BRAMLEY_PUBLIC_URL="https://id.example.com"), "--allow-simulated-apple")


def test_a_certificate_that_the_simulator_does_not_trust_is_named(begun):
    port = free_port()
    begun.start(re.sub(r"--port \d+", f"--port {port}", begun.simulator), port=port)
    sent = RunningSimulator(f"http://127.0.0.1:{port}").call(
        "POST", "notifications", {"type": "consent-revoked", "person": "dana"})
    failure, = (delivery["failure"] for delivery in sent["deliveries"])
    assert failure.startswith("TLS failed: ") and "--trust FILE" in failure


@pytest.mark.parametrize("flags, address, said", [
    (["--rehearse"], "http://127.0.0.1:9700", "ssh -L 9700:127.0.0.1:9700 "),
    (["--simulator", "https://apple.example.com/"], "https://apple.example.com", "reverse_proxy @mine 127.0.0.1:9700"),
])
def test_the_address_of_the_simulator(rehearsal, flags, address, said):
    done = rehearsal.init(*flags)
    assert done.returncode == 0 and said in done.stdout
    assert "apple-simulator --port 9700 " in done.stdout
    apple = rehearsal.configuration()["apple"]
    assert apple["endpoint"] == address and apple["scriptURL"].startswith(f"{address}/appleauth/")


PROXIES = {
    "Caddy": (["caddy", "run", "--adapter", "caddyfile", "--config"], "{{\nadmin off\n}}\n:{port} {{\nbind 127.0.0.1\n{lines}\n}}\n"),
    "nginx": (["nginx", "-e", "stderr", "-c"], "daemon off; pid {folder}/pid; events {{ }} http {{ access_log off; "
              "proxy_temp_path {folder}/temporary; server {{ listen 127.0.0.1:{port};\n{lines}\n}} }}\n"),
}


@pytest.mark.parametrize("name", PROXIES)
def test_the_printed_lines_admit_only_the_named_addresses(rehearsal, request, name):
    simulator = Answering(lambda asked, body: (200, {}, b"anyone"))
    request.addfinalizer(simulator.stop)
    said = rehearsal.init("--simulator", "https://apple.example.com").stdout
    lines = re.search(rf"^  {name}: (.*\n(?: {{9,}}.*\n)*)", said, re.MULTILINE)[1]
    for old, new in (("YOUR-ADDRESS", "127.0.0.2"), ("SERVER-ADDRESS", "127.0.0.3"), (":9700", f":{simulator.port}")):
        assert old in lines
        lines = lines.replace(old, new)
    command, text = PROXIES[name]
    port, file = free_port(), rehearsal.folder / name
    file.write_text(text.format(port=port, folder=rehearsal.folder, lines=lines))
    proxy = Program([*command, str(file)], rehearsal.folder / "proxy.log", {"HOME": str(rehearsal.folder)})
    rehearsal.programs.append(proxy)
    proxy.wait_for(port)

    def ask(address: str) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", port, source_address=(address, 0))
        connection.request("GET", "/")
        return connection.getresponse().read()

    assert ask("127.0.0.2") == ask("127.0.0.3") == b"anyone"
    assert b"anyone" not in ask("127.0.0.4")


def test_a_rehearsal_makes_its_own_key(rehearsal):
    """The simulator's unit knows no other."""
    write_private(rehearsal.folder / REAL_KEY_FILE, new_key())
    fails(rehearsal.init("--rehearse", "--private-key-file", REAL_KEY_FILE), "leave out --private-key-file")


def test_an_address_that_is_none_is_refused(rehearsal):
    fails(rehearsal.init("--simulator", "apple.example.com"), 'Write "https://apple.example.com"')
    assert not (rehearsal.folder / "config.json").exists() and not (rehearsal.folder / KEY_FILE).exists()


def test_without_rehearse_a_simulated_apple_is_refused(rehearsal):
    write_private(rehearsal.folder / REAL_KEY_FILE, new_key())
    fails(rehearsal.init(*REAL, "--apple-endpoint", "http://127.0.0.1:9700"), "apple.endpoint")


def test_leaving_deletes_what_it_names_and_init_goes_on(rehearsal):
    rehearsal.begin()
    Browser(rehearsal).sign_in("ada")
    fails(rehearsal.run("init", "--leave-rehearsal", "--yes"), "Stop it first.")
    assert rehearsal.server.stop() == 0
    data = rehearsal.folder / "data"
    shutil.copy(data / "bramley.db", data / "bramley.db.before-restore-20260101T000000Z")
    (data / "notes.txt").write_text("mine")
    asked = fails(rehearsal.run("init", "--leave-rehearsal"), "pass --yes", code=64)
    for name in ("data/bramley.db", "data/bramley.db.before-restore", "data/sealing.key", KEY_FILE, "1 user, 1 session"):
        assert name in asked.stderr, name
    # In this order: as long as the database is there, an interrupted call can be repeated.
    named = re.search("This deletes (.*), with 1 user", asked.stderr)[1].split(", ")
    database = next(index for index, path in enumerate(named) if path.endswith("data/bramley.db"))
    assert all(path.endswith(".lock") for path in named[database + 1:])
    for path in named[:database]:
        (rehearsal.folder / path).unlink()
    assert (data / "bramley.db").exists()
    done = rehearsal.run("init", "--leave-rehearsal", "--yes")
    assert done.returncode == 0 and "The rehearsal is over." in done.stdout, done.stderr
    left = {path.name for path in data.iterdir()}
    assert "notes.txt" in left and not [name for name in left if name.startswith("bramley.db") or name == "sealing.key"]
    assert not (rehearsal.folder / KEY_FILE).exists()
    before = rehearsal.configuration()
    assert before["apple"] == {"scopes": ["name", "email"]}
    # What Apple gives is all that is missing.
    missing = rehearsal.run("init", "--non-interactive")
    assert re.findall(r"\((--[a-z-]+)\): is required", missing.stderr) == [
        "--services-id", "--team-id", "--key-id", "--private-key-file"]
    write_private(rehearsal.folder / REAL_KEY_FILE, new_key())
    done = rehearsal.run("init", "--non-interactive", *REAL)
    assert done.returncode == 0, done.stderr
    assert rehearsal.configuration() == before | {"apple": {
        "servicesID": "com.example.shop", "bundleIDs": [], "teamID": "A1B2C3D4E5", "keyID": "F6G7H8I9J0",
        "privateKeyFile": REAL_KEY_FILE, "scopes": ["name", "email"]}}


def test_a_rehearsal_that_never_ran_is_left_too(rehearsal):
    assert rehearsal.init("--rehearse").returncode == 0
    assert rehearsal.run("init", "--leave-rehearsal", "--yes").returncode == 0
    assert "servicesID" not in rehearsal.configuration()["apple"]


@pytest.mark.parametrize("flags", [["--force"], ["--rehearse"], ["--team-id", "A1B2C3D4E5"], ["--server-port", "8081"]])
def test_leaving_takes_no_other_flags(rehearsal, flags):
    assert rehearsal.init("--rehearse").returncode == 0
    fails(rehearsal.run("init", "--leave-rehearsal", "--yes", *flags), "takes only --output and --yes", code=64)
    assert "servicesID" in rehearsal.configuration()["apple"]


@pytest.mark.parametrize("name, statement, said", [
    ("bramley.db", "UPDATE meta SET value = CAST('real' AS BLOB) WHERE key = 'origin'", "holds real sign-ins"),
    ("bramley.db", "DELETE FROM meta WHERE key = 'origin'", "has no origin"),
    ("bramley.db.before-0013-links", "UPDATE meta SET value = CAST('real' AS BLOB) WHERE key = 'origin'", "real"),
])
def test_leaving_touches_nothing_real(rehearsal, name, statement, said):
    rehearsal.begin()
    assert rehearsal.server.stop() == 0
    database = rehearsal.folder / "data" / name
    if not database.exists():
        shutil.copy(rehearsal.folder / "data/bramley.db", database)
    connection = sqlite3.connect(database)
    with connection:
        connection.execute(statement)
    connection.close()
    before = rehearsal.configuration()
    done = fails(rehearsal.run("init", "--leave-rehearsal", "--yes"), "Nothing was done.", said)
    assert name in done.stderr and rehearsal.configuration() == before
    for kept in (database, rehearsal.folder / "data/bramley.db", rehearsal.folder / "data/sealing.key"):
        assert kept.exists()


def test_the_real_apple_is_not_left_and_ends_what_a_rehearsal_allowed(rehearsal):
    assert rehearsal.init("--rehearse").returncode == 0
    # As for the package's units.
    (rehearsal.folder / "rehearsal.env").write_text("SERVE_OPTIONS=--allow-simulated-apple\n")
    write_private(rehearsal.folder / REAL_KEY_FILE, new_key())
    assert rehearsal.init("--force", *REAL).returncode == 0
    assert not (rehearsal.folder / "rehearsal.env").exists()
    fails(rehearsal.run("init", "--leave-rehearsal", "--yes"), "it is not a rehearsal")
