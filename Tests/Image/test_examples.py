"""The examples' compose files, over the demonstration's."""

import os
import signal

import pytest

from composition import make_volumes, services, start_other, start_own
from patience import eventually
from test_sign_in import Browser


@pytest.fixture
def example(make_container, tmp_path, request):
    """What is the example's own listens on that port."""
    name, port = request.param
    whole = services("compose.yaml", f"docs/examples/{name}/compose.yaml")
    volumes = make_volumes(whole, tmp_path)
    server, apple = start_own(whole, make_container, volumes)
    other, = [service for key, service in whole.items() if key not in ("server", "apple")]
    log = tmp_path / "other.log"
    process = start_other(other, volumes, log)

    def is_up() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            return Browser().ask("GET", "/", port=port)[0].status == 200
        except OSError:
            return False

    eventually(is_up, name)
    yield server
    os.killpg(process.pid, signal.SIGTERM)
    process.wait()


@pytest.mark.parametrize("example", [("nginx-static", 8080)], indirect=True)
def test_members_only(example):
    ada = Browser()
    refused, _ = ada.ask("GET", "/members/harvest.html?year=2026")
    assert refused.status == 302 and "/login?return_to=" in refused.headers["Location"]
    ada.sign_in("ada")
    answer, page = ada.ask("GET", "/members/harvest.html?year=2026")
    assert answer.status == 200 and "ada@example.com" in page


@pytest.mark.parametrize("example", [("spa", 8080)], indirect=True)
def test_a_single_page(example):
    ada = Browser()
    assert "app.js" in ada.ask("GET", "/")[1] and ada.session() is None
    ada.sign_in("ada")
    assert ada.session()["user"]["email"] == "ada@example.com"


@pytest.mark.parametrize("example", [("node", 8090)], indirect=True)
def test_an_application(example):
    ada = Browser()
    assert "http://localhost:8080/login?return_to=" in ada.ask("GET", "/", port=8090)[1]
    ada.sign_in("ada")
    assert "Ada" in ada.ask("GET", "/", port=8090)[1]
    # Webhooks reach it, signed with the secret that both have.
    sent = example.run(["bramley", "webhooks", "test", "http://127.0.0.1:8090/webhooks"])
    assert sent.returncode == 0, sent.stdout + sent.stderr
