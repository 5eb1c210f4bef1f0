"""The short pieces for proxies, run in front of Bramley and an application. Tests/System/Proxies has the whole files."""


import pytest

from application import Application  # noqa: E402
from documents import fences
from programs import Program, free_port
from web import Answer, call


@pytest.fixture
def application():
    application = Application()
    yield application
    application.stop()


@pytest.fixture
def run(tmp_path):
    """Starts a proxy, and ends it."""
    running = []

    def run(port: int, *arguments: str) -> int:
        running.append(Program(list(arguments), tmp_path / "proxy.log", {"HOME": str(tmp_path)}))
        running[-1].wait_for(port)
        return port

    yield run
    for program in running:
        program.stop()


def ask(port: int, cookie: str | None = None, **fields: str) -> Answer:
    """A page of the site, by a browser that claims to be somebody."""
    headers = {"Host": f"app.localhost:{port}", "Accept": "text/html", "Sec-Fetch-Mode": "navigate"} | {
        name.replace("_", "-"): value for name, value in fields.items()}
    return call(port, "GET", "/page?x=1", headers | ({"Cookie": f"__Host-bramley={cookie}"} if cookie else {}))


def arrived(answer: Answer, name: str) -> list[str]:
    return [value for key, value in answer.json()["headers"] if key.lower() == name.lower()]


def piece(page: str, language: str) -> str:
    return next(fence.text for fence in fences() if (fence.page, fence.language) == (page, language))


def filled(text: str, **swaps: str) -> str:
    for old, new in swaps.values():
        assert old in text, old
        text = text.replace(old, new)
    return text


def test_caddy_with_the_lines_of_the_readme(make_stage, application, run, tmp_path):
    stage, port = make_stage(), free_port()
    text = filled(
        piece("README.md", "caddy"), site=("app.example.com {", f"http://app.localhost:{port} {{"),
        bramley=("127.0.0.1:8080", f"127.0.0.1:{stage.site.port}"),
        application=("127.0.0.1:3000", f"127.0.0.1:{application.port}"))
    (tmp_path / "Caddyfile").write_text(f"{{\n admin off\n default_bind 127.0.0.1\n}}\n{text}")
    run(port, "caddy", "run", "--adapter", "caddyfile", "--config", str(tmp_path / "Caddyfile"))
    answer = ask(port, X_Auth_Request_User="usr_admin")
    assert answer.status == 302 and answer.headers["Location"].startswith(stage.site.url("/login"))
    someone = stage.someone()
    answer = ask(port, someone["cookie"], X_Auth_Request_User="usr_admin", X_Auth_Request_Groups="admins")
    assert answer.status == 200
    assert arrived(answer, "X-Auth-Request-User") == [someone["user"]["id"]]
    assert arrived(answer, "X-Auth-Request-Email") == [someone["user"]["email"]]
    assert arrived(answer, "X-Auth-Request-Groups") in ([], [""])
