"""The short pieces for proxies, run in front of Bramley and an application. Tests/System/Proxies has the whole files."""


from application import Application
from documents import fences
from programs import Program, free_port
from web import Answer, call


def ask(port: int, cookie: str | None = None, **fields: str) -> Answer:
    """A page of the site, by a browser that claims to be somebody."""
    headers = {"Host": f"app.localhost:{port}", "Accept": "text/html", "Sec-Fetch-Mode": "navigate"} | {
        name.replace("_", "-"): value for name, value in fields.items()}
    return call(port, "GET", "/page?x=1", headers | ({"Cookie": f"__Host-bramley={cookie}"} if cookie else {}))


def arrived(answer: Answer, name: str) -> list[str]:
    return [value for key, value in answer.json()["headers"] if key.lower() == name.lower()]


def test_caddy_with_the_lines_of_the_readme(request, make_stage, tmp_path):
    stage, port, application = make_stage(), free_port(), Application()
    request.addfinalizer(application.stop)
    text = next(fence.text for fence in fences() if (fence.page, fence.language) == ("README.md", "caddy"))
    for old, new in (("app.example.com {", f"http://app.localhost:{port} {{"),
                     ("127.0.0.1:8080", f"127.0.0.1:{stage.site.port}"),
                     ("127.0.0.1:3000", f"127.0.0.1:{application.port}")):
        assert old in text, old
        text = text.replace(old, new)
    file = tmp_path / "Caddyfile"
    file.write_text(f"{{\n admin off\n default_bind 127.0.0.1\n}}\n{text}")
    caddy = Program(["caddy", "run", "--adapter", "caddyfile", "--config", str(file)], tmp_path / "caddy.log", {
        "HOME": str(tmp_path)})
    request.addfinalizer(caddy.stop)
    caddy.wait_for(port)
    answer = ask(port, X_Auth_Request_User="usr_admin")
    assert answer.status == 302 and answer.headers["Location"].startswith(stage.site.url("/login"))
    someone = stage.someone()
    answer = ask(port, someone["cookie"], X_Auth_Request_User="usr_admin", X_Auth_Request_Groups="admins")
    assert answer.status == 200
    for name, member in (("User", "id"), ("Email", "email")):
        assert arrived(answer, f"X-Auth-Request-{name}") == [someone["user"][member]]
    assert arrived(answer, "X-Auth-Request-Groups") in ([], [""])
