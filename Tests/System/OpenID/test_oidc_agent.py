"""oidc-agent of Debian: a public client on a loopback port that it chooses, or with a code, and refresh tokens."""

import os
import re
import subprocess

import pytest
import requests

from others import install
from party import Browser, register, return_target
from patience import PATIENCE, eventually
from programs import Program, free_port
from test_device import decide, enter

pytestmark = pytest.mark.long


@pytest.fixture
def agent(tmp_path):
    install("oidc-agent-cli")
    (tmp_path / ".oidc-agent").mkdir(mode=0o700)
    environment = os.environ | {"HOME": str(tmp_path), "OIDC_CONFIG_DIR": str(tmp_path / ".oidc-agent"), "PASSWORD": "pw"}
    said = subprocess.run(
        ["oidc-agent", f"--socket-path={tmp_path}/socket"], env=environment, capture_output=True, text=True, check=True).stdout
    found = dict(re.findall(r"(OIDC_SOCK|OIDCD_PID)=([^;]+);", said))
    yield environment | found
    os.kill(int(found["OIDCD_PID"]), 15)


def test_a_person_signs_in_on_the_command_line(site, agent, tmp_path):
    # The port is another one than registered (RFC 8252 §7.3).
    register(site, "agent", "--public", "--offline", redirect_uri="http://localhost/")
    port = free_port()
    program = Program(
        ["oidc-gen", "--manual", f"--issuer={site.origin}/", "--client-id=agent", "--client-secret=", "--flow=code",
         f"--redirect-uri=http://localhost:{port}/", "--scope=openid profile offline_access", "--no-url-call",
         "--prompt=none", "--confirm-default", "--pw-env=PASSWORD", "bramley"], tmp_path / "gen.log", agent)
    try:
        eventually(lambda: "/oidc/authorize" in program.text(), "the address to open", program.text)
        address = re.search(r"http://localhost:\d+/oidc/authorize\S+", program.text())[0]
        browser = Browser(site)
        answer = browser.decide(browser.return_to(return_target(browser.get(browser.own(address)))))
        assert answer.location.startswith(f"http://localhost:{port}/")
        requests.get(answer.location, timeout=PATIENCE)
        assert program.process.wait(PATIENCE) == 0, program.text()
    finally:
        program.stop()
    refreshes(agent)


def refreshes(agent) -> None:
    tokens = set()
    for _ in range(2):
        # Longer than any lives: it refreshes.
        done = subprocess.run(["oidc-token", "bramley", "--time=7200"], env=agent, capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.startswith("boa_"), done.stderr
        tokens.add(done.stdout.strip())
    assert len(tokens) == 2


def test_a_person_signs_in_with_a_code(site, agent, tmp_path):
    """RFC 8628: over SSH there is no browser."""
    site.operator.bramley("clients", "add", "agent-ssh", "--public", "--offline", "--device")
    program = Program(
        ["oidc-gen", "--manual", f"--issuer={site.origin}/", "--client-id=agent-ssh", "--client-secret=", "--flow=device",
         "--redirect-uri=", "--scope=openid profile offline_access", "--no-url-call", "--prompt=none", "--confirm-default",
         "--pw-env=PASSWORD", "bramley"], tmp_path / "gen.log", agent)
    try:
        eventually(lambda: "enter the code" in program.text(), "the code to enter", program.text)
        browser = Browser(site)
        browser.sign_in()
        page = enter(browser, re.search(r"enter the code: (\S+)", program.text())[1])
        assert "agent-ssh on a device" in page.must(200).text
        decide(browser, page).must(200)
        assert program.process.wait(PATIENCE) == 0, program.text()
    finally:
        program.stop()
    refreshes(agent)
