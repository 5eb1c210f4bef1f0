"""The examples' compose files, over the demonstration's."""

import os
import signal

import pytest

from composition import services, start_other, start_own
from patience import eventually
from test_sign_in import Browser


@pytest.fixture
def example(make_container, tmp_path, request):
    whole = services("compose.yaml", f"docs/examples/{request.param}/compose.yaml")
    start_own(whole, make_container, tmp_path)
    log = tmp_path / "nginx.log"
    nginx = start_other(whole["nginx"], log)

    def is_up() -> bool:
        assert nginx.poll() is None, log.read_text()
        try:
            return Browser().ask("GET", "/")[0].status == 200
        except OSError:
            return False

    eventually(is_up, "nginx")
    yield
    os.killpg(nginx.pid, signal.SIGTERM)
    nginx.wait()


@pytest.mark.parametrize("example", ["nginx-static"], indirect=True)
def test_members_only(example):
    ada = Browser()
    refused, _ = ada.ask("GET", "/members/harvest.html?year=2026")
    assert refused.status == 302 and "/login?return_to=" in refused.headers["Location"]
    ada.sign_in("ada")
    answer, page = ada.ask("GET", "/members/harvest.html?year=2026")
    assert answer.status == 200 and "ada@example.com" in page


@pytest.mark.parametrize("example", ["spa"], indirect=True)
def test_a_single_page(example):
    ada = Browser()
    assert "app.js" in ada.ask("GET", "/")[1] and ada.session() is None
    ada.sign_in("ada")
    assert ada.session()["user"]["email"] == "ada@example.com"
