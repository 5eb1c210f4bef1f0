"""Starting: a container's health check, the simulated Apple's key, and an Apple that comes later."""

import stat

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from patience import eventually
from processes import fails, finished
from programs import Program, free_port
from web import Browser


def test_alive_reports_whether_the_server_answers(make_site):
    site = make_site()
    alive = site.operator.run("doctor", "--alive")
    assert (alive.returncode, alive.stdout, alive.stderr) == (0, "", "")
    # What was changed since it started, for the next start, is no matter: nobody must end it for that.
    for name in ("access.signUp", "apple.privateKeyFile", "no.such.key"):
        site.configure({name: "wrong"})
    assert site.operator.run("doctor", "--alive").returncode == 0
    assert site.stop() == 0
    fails(site.operator.run("doctor", "--alive"), "does not answer on its admin listener")


def test_the_simulator_creates_a_key_and_reports_whether_it_answers(binaries, tmp_path):
    port, key = free_port(), tmp_path / "AuthKey_DEMOKEY001.p8"

    def start() -> Program:
        simulator = Program(
            [str(binaries / "apple-simulator"), "--port", str(port), "--key-id", "DEMOKEY001", "--key", str(key)],
            tmp_path / "apple-simulator.log")
        simulator.wait_for(port)
        return simulator

    def is_alive() -> int:
        return finished(binaries / "apple-simulator", "--alive", "--port", str(port)).returncode

    simulator = start()
    assert is_alive() == 0
    # The kernel ends the first process of a container by no signal that it does not handle.
    assert simulator.stop() == 0
    assert is_alive() == 1
    made = key.read_bytes()
    # PKCS#8, as Apple's file is: "BEGIN EC PRIVATE KEY" is another form.
    assert made.startswith(b"-----BEGIN PRIVATE KEY-----\n") and stat.S_IMODE(key.stat().st_mode) == 0o600
    assert isinstance(load_pem_private_key(made, None).curve, ec.SECP256R1)
    start().stop()
    assert key.read_bytes() == made, "the key stays at the next start"


def test_the_simulator_reports_an_unwritable_key(binaries, tmp_path):
    done = finished(binaries / "apple-simulator", "--key-id", "DEMOKEY001", "--key", tmp_path / "nowhere/AuthKey.p8")
    assert done.returncode != 0 and "does not exist and cannot be written" in done.stderr


@pytest.mark.parametrize("failures", [1, 5])
def test_a_server_started_before_apple_is_reachable_signs_people_in_soon(make_site, failures):
    """Regression: sign-ins were refused for up to a minute after Apple could be reached."""
    site = make_site({"apple.bundleIDs": ["com.example.app"]}, start=False)
    apple = site.apple.program
    apple.stop()
    site.start()
    # At once, and after pauses that have grown.
    text = site.server.text
    eventually(lambda: text().count("Apple's keys unavailable") >= failures, f"{failures} fetches", text)
    site.apple.program = Program(apple.process.args, apple.log)
    site.apple.program.wait_for(site.apple.port)
    browser = Browser(site)
    assert browser.comes_back(browser.goes_to_apple()).status == 303
    assert "Apple's keys fetched" in site.server.text()
