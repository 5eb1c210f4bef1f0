"""Pieces of configuration in the documents: Bramley's are checked by `bramley check`, those of others by the others."""

import json
import os
import re
import shutil
import subprocess

import pytest

from application import Application
from authority import self_signed
from documents import PAGES, ROOT, fences, spans
from processes import fails, finished, output
from programs import Program, free_port, new_key, write_private
from web import Answer, call

SECTIONS = set(json.loads((ROOT / "docs/config.schema.json").read_text())["properties"])
MINIMUM = next(fence for fence in fences() if fence.page == "docs/start/getting-started.md" and fence.language == "json").text
# JSON that is no configuration of Bramley's: page and first member, and who holds it against the server.
OTHER = {
    ("docs/reference/api.md", "active"): "Tests/System/API/test_openapi.py",
    ("docs/reference/api.md", "type"): "Tests/System/API/test_openapi.py",
    ("docs/reference/api.md", "user"): "Tests/System/Documents/test_answers.py",
    ("docs/reference/api.md", "items"): "Tests/System/Documents/test_answers.py",
    ("docs/apps/assertion.md", "assertion"): "Tests/System/API/test_openapi.py",
    ("docs/operate/import.md", "appleSubject"): "Tests/System/Documents/stage.py",
    ("docs/apps/agents.md", "resource"): "Tests/System/Examples/test_agent.py",
    ("docs/apps/agents.md", "active"): "Tests/System/OpenID/withdrawal.py",
    ("docs/apps/openid.md", "clients"): "Tests/System/Documents/treatments.py",
    ("docs/apps/openid.md", "services"): "Tests/System/Documents/stage.py",
    ("docs/clients/immich.md", "oauth"): "Tests/System/Documents/test_clients.py",
    ("docs/reference/api.md", "name"): "Tests/System/OpenID/test_clients.py",
    ("docs/apps/native.md", "authorizationCode"): "Tests/System/API/test_openapi.py",
    ("docs/operate/pages.md", "login"): "Tests/Unit/WebTests/StringsTests.swift",
    ("docs/sites/rules.md", "rules"): "Tests/System/Documents/test_snippets.py",
}


def read(text: str) -> dict:
    """Also of members without braces around them."""
    return json.loads(text if text.lstrip().startswith("{") else "{" + text + "}")


def is_configuration(fence) -> bool:
    members = read(fence.text)
    return (fence.page, next(iter(members))) not in OTHER and set(members) <= SECTIONS | {"$schema"}


JSON = [fence for fence in fences() if fence.language == "json"]
CONFIGURATIONS = [fence for fence in JSON if is_configuration(fence)]


def merge(into: dict, other: dict) -> dict:
    for name, value in other.items():
        into[name] = merge(into.get(name, {}), value) if isinstance(value, dict) else value
    return into


@pytest.fixture
def folder(tmp_path):
    write_private(tmp_path / "AuthKey_F6G7H8I9J0.p8", new_key())
    for name in ("webhook.secret", "app.secret", "audit.secret"):
        write_private(tmp_path / name, b"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n")
    own = self_signed("id.example.com", days=60)
    write_private(tmp_path / "fullchain.pem", own.chain)
    write_private(tmp_path / "privkey.pem", own.key)
    write_private(tmp_path / "sealing.key", bytes(range(32)).hex().encode())
    write_private(tmp_path / "postgres.url", b"postgresql://bramley@db1.example.com/bramley\n")
    (tmp_path / "rules.json").write_text(next(fence for fence in JSON if fence.page == "docs/sites/rules.md").text)
    (tmp_path / "logo.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    (tmp_path / "pages/strings").mkdir(parents=True)
    texts = next(fence for fence in JSON if fence.page == "docs/operate/pages.md" and "lead" in fence.text).text
    (tmp_path / "pages/strings/nl.json").write_text(texts)
    return tmp_path


def check(binaries, folder, configuration: dict) -> subprocess.CompletedProcess:
    text = json.dumps(configuration, indent=4)
    for place in ("/etc/bramley/tls", "/etc/bramley", "/var/lib/bramley"):
        text = text.replace(place, str(folder))
    write_private(folder / "config.json", text.encode())
    return finished(binaries / "bramley", "check", cwd=folder)


def test_every_piece_of_json_is_known():
    assert len(CONFIGURATIONS) > 10
    others = {(fence.page, next(iter(read(fence.text)))) for fence in JSON if not is_configuration(fence)}
    assert others == set(OTHER), "name in OTHER what is no configuration"
    assert [file for file in OTHER.values() if not (ROOT / file).exists()] == []


@pytest.mark.parametrize("fence", CONFIGURATIONS, ids=lambda fence: f"{fence.page}:{fence.line}")
def test_bramley_accepts_the_documented_json(binaries, folder, fence):
    # In one language, unless the piece is about them: every page is rendered in each.
    done = check(binaries, folder, merge(json.loads(MINIMUM) | {"pages": {"locales": ["en"]}}, read(fence.text)))
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr


def test_a_planted_mistake_is_found(binaries, folder):
    fails(check(binaries, folder, merge(json.loads(MINIMUM), {"login": {"mode": "pop-up"}})), "login.mode")


def test_what_init_prints(binaries, folder):
    page = (ROOT / "docs/start/getting-started.md").read_text()
    line = re.search(r"^bramley (init --public-url .*?[^\\])$", page, re.MULTILINE | re.DOTALL)[1].replace("\\\n", " ")
    # In one language: every page is rendered in each.
    environment = os.environ | {"BRAMLEY_PAGES_LOCALES": "en"}
    said = output(binaries / "bramley", *line.split(), cwd=folder, env=environment)
    shown = next(fence for fence in fences() if fence.page == "docs/start/getting-started.md" and not fence.language).text
    printed = " ".join(said.split())
    for line in shown.splitlines():
        assert " ".join(line.split()) in printed, f"{line!r} is not in\n{said}"
    assert "https://id.example.com/apple/callback" in output(binaries / "bramley", "check", cwd=folder, env=environment)


def one(page: str, language: str, part: str = "") -> str:
    text, = (fence.text for fence in fences()
             if (fence.page, fence.language) == (page, language) and part in fence.text)
    return text


def test_every_other_piece_is_known():
    known = {("README.md", "caddy"), ("docs/apps/assertion.md", "nginx"),
             *(("docs/operate/network.md", language) for language in ("caddy", "nginx")),
             *(("docs/operate/backup.md", language) for language in ("ini", "yaml"))}
    assert {(fence.page, fence.language) for fence in fences()
            if not fence.page.startswith("docs/clients/") and fence.language in ("caddy", "nginx", "ini", "yaml")} == known


@pytest.mark.parametrize("page", ["README.md", "docs/operate/network.md"])
def test_caddy_accepts_the_lines(page, tmp_path):
    (tmp_path / "Caddyfile").write_text(one(page, "caddy"))
    assert "127.0.0.1:8080" in output("caddy", "adapt", "--adapter", "caddyfile", "--config", tmp_path / "Caddyfile")


def check_nginx(folder, text: str) -> None:
    """These directives inside `http`."""
    file = folder / "nginx.conf"
    file.write_text(f"pid nginx.pid; error_log stderr; events {{ }} http {{ access_log off; {text} }}")
    done = finished(shutil.which("nginx") or "/usr/sbin/nginx", "-t", "-p", folder, "-c", file)
    assert "syntax is ok" in done.stderr, done.stderr


def test_nginx_accepts_lines_in_sentences(folder):
    lines = {span for page in PAGES for _, span in spans(page) if re.match(r"(proxy|auth)_\w+ .*;$", span)}
    assert len(lines) > 1
    place = f"location / {{ proxy_pass http://127.0.0.1:1; {' '.join(lines)} }}"
    check_nginx(folder, f"server {{ listen 127.0.0.1:1; {place} }}")


def test_nginx_accepts_the_lines(folder):
    """Those of assertion.md are run by Tests/System/Proxies/test_assertion.py, Caddy's below."""
    check_nginx(folder, one("docs/operate/network.md", "nginx").replace(
        "listen 443 ssl;", "listen 127.0.0.1:1 ssl; ssl_certificate fullchain.pem; ssl_certificate_key privkey.pem;"))


def test_promtool_accepts_expressions(tmp_path):
    expressions = {span for page in PAGES for _, span in spans(page) if re.search(r"\w\(.*bramley_\w+", span)}
    assert len(expressions) > 2
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "documents", "rules": [
        {"record": f"expression:{number}", "expr": expression}
        for number, expression in enumerate(sorted(expressions))]}]}))
    output("promtool", "check", "rules", tmp_path / "rules.yml")


def test_the_nightly_backup_keeps_the_newest_that_many(make_stage, tmp_path):
    stage = make_stage("timer")
    output(ROOT / "scripts/install.sh", "units", tmp_path, env=os.environ | {"PREFIX": "/usr"})
    unit = (tmp_path / "bramley-backup.service").read_text()
    backups = stage.folder / "backups"
    for day in range(1, 32):
        (backups / f"2026-01-{day:02}.db").touch()
    (backups / "before the move.db").touch()
    number = re.search(r"KEEP=(\d+)", one("docs/operate/backup.md", "ini"))[1]
    for part in re.findall(r"^ExecStart(?:Post)?=/bin/sh -c '(.*)'$", unit, re.MULTILINE):
        line = part.replace("$$", "$").replace("%%", "%").replace("/usr/bin/", "").replace("/var/backups/bramley", str(backups))
        done = finished("sh", "-c", line.replace("/etc/bramley", str(stage.folder)), env=stage.environment | {"KEEP": number})
        assert done.returncode == 0, done.stderr
    today = output("date", "+%F.db").strip()
    assert {file.name for file in backups.iterdir()} == {
        "before the move.db", today, *(f"2026-01-{day:02}.db" for day in range(31, 31 - int(number) + 1, -1))}
    assert (backups / today).stat().st_size > 0


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
