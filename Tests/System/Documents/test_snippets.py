"""Pieces of configuration in the documents: Bramley's are checked by `bramley check`, those of others by the others."""

import json
import os
import re
import shutil
import subprocess

import pytest

from documents import PAGES, ROOT, fences, spans
from patience import PATIENCE
from programs import new_key, write_private

SECTIONS = set(json.loads((ROOT / "docs/config.schema.json").read_text())["properties"])
# The minimum.
MINIMUM = next(fence for fence in fences() if fence.page == "docs/start/getting-started.md" and fence.language == "json").text
# JSON that is no configuration of Bramley's: page and first member, and who holds it against the server.
OTHER = {
    ("docs/reference/api.md", "active"): "Tests/System/API/test_openapi.py",
    ("docs/reference/api.md", "type"): "Tests/System/API/test_openapi.py",
    ("docs/reference/api.md", "user"): "Tests/System/Documents/test_answers.py",
    ("docs/reference/api.md", "items"): "Tests/System/Documents/test_answers.py",
    ("docs/apps/assertion.md", "assertion"): "Tests/System/API/test_openapi.py",
    ("docs/operate/import.md", "appleSubject"): "Tests/System/Documents/stage.py",
    ("docs/apps/openid.md", "clients"): "Tests/System/Documents/treatments.py",
    ("docs/clients/immich.md", "oauth"): "Tests/System/Documents/test_clients.py",
    ("docs/reference/api.md", "name"): "Tests/System/OpenID/test_clients_api.py",
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
    """With every file that a document names."""
    write_private(tmp_path / "AuthKey_F6G7H8I9J0.p8", new_key())
    for name in ("webhook.secret", "app.secret", "audit.secret"):
        write_private(tmp_path / name, b"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "60",
         "-subj", "/CN=id.example.com", "-addext", "subjectAltName=DNS:id.example.com", "-keyout", "privkey.pem", "-out",
         "fullchain.pem"], cwd=tmp_path, check=True, capture_output=True, timeout=PATIENCE)
    (tmp_path / "privkey.pem").chmod(0o600)
    write_private(tmp_path / "sealing.key", bytes(range(32)).hex().encode())
    write_private(tmp_path / "postgres.url", b"postgresql://bramley@db1.example.com/bramley\n")
    rules = next(fence for fence in JSON if fence.page == "docs/sites/rules.md").text
    (tmp_path / "rules.json").write_text(rules)
    (tmp_path / "pages/strings").mkdir(parents=True)
    texts = next(fence for fence in JSON if fence.page == "docs/operate/pages.md" and "lead" in fence.text).text
    (tmp_path / "pages/strings/nl.json").write_text(texts)
    return tmp_path


def check(binaries, folder, configuration: dict) -> subprocess.CompletedProcess:
    text = json.dumps(configuration, indent=4)
    for place in ("/etc/bramley/tls", "/etc/bramley", "/var/lib/bramley"):
        text = text.replace(place, str(folder))
    write_private(folder / "config.json", text.encode())
    return subprocess.run([binaries / "bramley", "check"], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)


def test_every_piece_of_json_is_known():
    assert len(CONFIGURATIONS) > 10
    for fence in JSON:
        members = read(fence.text)
        known = is_configuration(fence) or (fence.page, next(iter(members))) in OTHER
        assert known, f"{fence.page}:{fence.line} is no configuration: name in OTHER what it is"
    assert {(fence.page, next(iter(read(fence.text)))) for fence in JSON} >= set(OTHER)
    for file in OTHER.values():
        assert (ROOT / file).exists(), file


@pytest.mark.parametrize("fence", CONFIGURATIONS, ids=lambda fence: f"{fence.page}:{fence.line}")
def test_bramley_accepts_the_documented_json(binaries, folder, fence):
    # In one language, unless the piece is about them: every page is rendered in each.
    configuration = merge(json.loads(MINIMUM) | {"pages": {"locales": ["en"]}}, read(fence.text))
    done = check(binaries, folder, configuration)
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr


def test_a_planted_mistake_is_found(binaries, folder):
    done = check(binaries, folder, merge(json.loads(MINIMUM), {"login": {"mode": "pop-up"}}))
    assert done.returncode == 1 and "login.mode" in done.stderr


def test_what_init_prints(binaries, folder):
    """The command of getting-started.md writes a good configuration, and prints what the page shows."""
    page = (ROOT / "docs/start/getting-started.md").read_text()
    line = re.search(r"^bramley (init --public-url .*?[^\\])$", page, re.MULTILINE | re.DOTALL)[1].replace("\\\n", " ")
    # In one language: every page is rendered in each.
    environment = os.environ | {"BRAMLEY_PAGES_LOCALES": "en"}
    done = subprocess.run([binaries / "bramley", *line.split()], cwd=folder, env=environment, capture_output=True,
                          text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    shown = next(fence for fence in fences() if fence.page == "docs/start/getting-started.md" and not fence.language).text
    printed = " ".join(done.stdout.split())
    for line in shown.splitlines():
        assert " ".join(line.split()) in printed, f"{line!r} is not in\n{done.stdout}"
    done = subprocess.run([binaries / "bramley", "check"], cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 0 and "https://id.example.com/apple/callback" in done.stdout, done.stdout + done.stderr


# Other programs' files

def one(page: str, language: str, part: str = "") -> str:
    texts = [fence.text for fence in fences() if (fence.page, fence.language) == (page, language) and part in fence.text]
    assert len(texts) == 1
    return texts[0]


def test_every_other_piece_is_known():
    known = {("README.md", "caddy"), ("docs/operate/network.md", "caddy"),
             ("docs/apps/assertion.md", "nginx"), ("docs/operate/network.md", "nginx"), ("docs/operate/backup.md", "ini"), ("docs/operate/backup.md", "yaml"),
             ("docs/operate/backup.md", "cron")}
    assert {(fence.page, fence.language) for fence in fences()
            if not fence.page.startswith("docs/clients/") and fence.language in ("caddy", "nginx", "ini", "yaml", "cron")} == known


@pytest.mark.parametrize("page", ["README.md", "docs/operate/network.md"])
def test_caddy_takes_the_lines(page, tmp_path):
    (tmp_path / "Caddyfile").write_text(one(page, "caddy"))
    done = subprocess.run(["caddy", "adapt", "--adapter", "caddyfile", "--config", str(tmp_path / "Caddyfile")],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert "127.0.0.1:8080" in done.stdout


def test_nginx_takes_lines_in_sentences(folder):
    lines = {span for page in PAGES for _, span in spans(page) if re.match(r"(proxy|auth)_\w+ .*;$", span)}
    assert len(lines) > 1
    file = folder / "nginx.conf"
    file.write_text("pid nginx.pid; error_log stderr; events { } http { access_log off; server { listen 127.0.0.1:1;"
                    f" location / {{ proxy_pass http://127.0.0.1:1; {' '.join(lines)} }} }} }}")
    done = subprocess.run([shutil.which("nginx") or "/usr/sbin/nginx", "-t", "-p", str(folder), "-c", str(file)],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert "syntax is ok" in done.stderr, done.stderr


def test_nginx_takes_the_lines(folder):
    """Those of assertion.md are run by Tests/System/Proxies/test_assertion.py, Caddy's by test_proxies.py."""
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    text = one("docs/operate/network.md", "nginx").replace(
        "listen 443 ssl;", "listen 127.0.0.1:1 ssl; ssl_certificate fullchain.pem; ssl_certificate_key privkey.pem;")
    file = folder / "nginx.conf"
    file.write_text(f"pid nginx.pid; error_log stderr; events {{ }} http {{ access_log off; {text} }}")
    done = subprocess.run([program, "-t", "-p", str(folder), "-c", str(file)], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert "syntax is ok" in done.stderr, done.stderr


def test_promtool_takes_expressions(tmp_path):
    expressions = {span for page in PAGES for _, span in spans(page) if re.search(r"\w\(.*bramley_\w+", span)}
    assert len(expressions) > 2
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "documents", "rules": [
        {"record": f"expression:{number}", "expr": expression}
        for number, expression in enumerate(sorted(expressions))]}]}))
    done = subprocess.run(["promtool", "check", "rules", str(tmp_path / "rules.yml")], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr


def backup_place(binaries, folder, text: str) -> str:
    """The shell's line of a backup, at this machine's paths; there is a database to back up."""
    (folder / "backups").mkdir()
    (folder / "bin").mkdir()
    (folder / "bin/bramley").symlink_to(binaries / "bramley")
    return text.replace("/etc/bramley", str(folder)).replace("/var/lib/bramley", str(folder)).replace(
        "/var/backups/bramley", str(folder / "backups"))


def of_today(folder) -> bool:
    return [file.name for file in (folder / "backups").iterdir()] == [
        subprocess.run(["date", "+%u.db"], capture_output=True, text=True, check=True).stdout.strip()]


def test_the_line_for_cron_makes_a_backup(binaries, make_stage):
    stage = make_stage("cron")
    minute, hour, *days, user, command = one("docs/operate/backup.md", "cron").strip().split(None, 6)
    assert (minute.isdigit(), hour.isdigit(), days, user) == (True, True, ["*", "*", "*"], "bramley")
    # For cron a `%` is a new line unless it is escaped.
    assert "%" not in command.replace("\\%", "")
    shutil.rmtree(stage.folder / "backups")
    shutil.rmtree(stage.folder / "bin")
    line = backup_place(binaries, stage.folder, command.replace("\\%", "%"))
    for _ in range(2):
        done = subprocess.run(["sh", "-c", line], cwd="/", env=stage.environment, capture_output=True, text=True,
                              timeout=PATIENCE)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert of_today(stage.folder)


def test_the_unit_of_the_timer_makes_a_backup(binaries, make_stage, tmp_path):
    stage = make_stage("timer")
    service, timer = one("docs/operate/backup.md", "ini", "[Service]"), one("docs/operate/backup.md", "ini", "[Timer]")
    shutil.rmtree(stage.folder / "backups")
    shutil.rmtree(stage.folder / "bin")
    command = re.search(r"^ExecStart=/bin/sh -c '(.*)'$", service, re.MULTILINE)[1]
    line = backup_place(binaries, stage.folder, command.replace("$$", "$").replace("%%", "%"))
    done = subprocess.run(["/bin/sh", "-c", line], cwd=stage.folder, env=stage.environment, capture_output=True,
                          text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert of_today(stage.folder)
    (tmp_path / "bramley-backup.service").write_text(service)
    (tmp_path / "bramley-backup.timer").write_text(timer)
    done = subprocess.run(["systemd-analyze", "verify", "--recursive-errors=no", "--man=no",
                           *(str(tmp_path / f"bramley-backup.{kind}") for kind in ("service", "timer"))],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and done.stderr == "", done.stderr
