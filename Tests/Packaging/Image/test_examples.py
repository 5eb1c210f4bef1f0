"""The examples' compose files, over the demonstration's."""

import pytest

from engine import Composition
from patience import eventually
from test_sign_in import visitor
from web import call, cookie_field


@pytest.fixture
def example(engine, request):
    """The example's own image has this machine's program of that name; what it serves is on that port."""
    name, image, program, port = request.param
    engine.stand_in(image, program)
    with Composition(engine, "compose.yaml", f"docs/examples/{name}/compose.yaml") as whole:
        def is_up() -> bool:
            try:
                return call(port, "GET", "/").status == 200
            except OSError:
                return False

        eventually(is_up, name, lambda: whole.ask("logs"))
        yield whole


@pytest.mark.parametrize("example", [("nginx-static", "nginx:1.28", "nginx", 8080)], indirect=True)
def test_the_members_only_example_signs_somebody_in(example):
    ada = visitor()
    assert "/login?return_to=" in ada.get("/members/harvest.html?year=2026").must(302).location
    ada.sign_in("ada")
    assert "ada@example.com" in ada.get("/members/harvest.html?year=2026").must(200).text


@pytest.mark.parametrize("example", [("spa", "nginx:1.28", "nginx", 8080)], indirect=True)
def test_the_single_page_example_signs_somebody_in(example):
    ada = visitor()
    assert "app.js" in ada.get("/").text and ada.session() is None
    ada.sign_in("ada")
    assert ada.session()["user"]["email"] == "ada@example.com"


@pytest.mark.parametrize("example", [("node", "node:22-slim", "node", 8090)], indirect=True)
def test_the_application_example_signs_somebody_in(example):
    ada = visitor()
    assert "http://localhost:8080/login?return_to=" in call("http://localhost:8090", "GET", "/").text
    ada.sign_in("ada")
    assert "Ada" in call("http://localhost:8090", "GET", "/", cookie_field(ada.cookies)).text
    # Webhooks reach it, signed with the secret that both have.
    sent = example["server"].run("bramley", "webhooks", "test", "http://127.0.0.1:8090/webhooks")
    assert sent.returncode == 0, sent.stdout + sent.stderr
