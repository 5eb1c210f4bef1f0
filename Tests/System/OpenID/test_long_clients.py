"""More programs that others wrote, which take long to install: go-oidc of Debian, JupyterHub with oauthenticator of PyPI."""

import os
import re
import secrets
import subprocess

import pytest

from others import HERE, RECIPES, Walk, install, installed, recipe
from party import register_here
from patience import eventually
from programs import ROOT, free_port

pytestmark = pytest.mark.long


def test_go_oidc_signs_somebody_in(site, tmp_path, run):
    install("golang-go", "golang-github-coreos-go-oidc-dev", "golang-golang-x-oauth2-dev")
    binary = tmp_path / "go_program"
    subprocess.run(
        ["go", "build", "-o", binary, HERE / "go_program.go"], check=True, capture_output=True,
        env=os.environ | {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(tmp_path / "cache"),
                          "GOFLAGS": ""})
    party, port, origin = register_here(site, "go", "/callback")
    run(port, binary, port, site.origin, party.secret)
    walk = Walk(site, origin)
    told = walk.opens("/").json()
    assert told == {"subject": walk.browser.user(), "userinfo": walk.browser.user(), "email": "ada@example.com"}


PACKAGE = """// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "App",
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.0"),
    ],
    targets: [.executableTarget(name: "App", dependencies: [
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"), .product(name: "JWTKit", package: "jwt-kit"),
    ])])
"""


def test_hummingbird_signs_somebody_in(site, run):
    """The two files of the recipe, built and run; what others compiled stays for the next time."""
    (party, port, origin), folder = register_here(site, "swift", "/callback"), ROOT / ".build/hummingbird-program"
    (folder / "Sources/App").mkdir(parents=True, exist_ok=True)
    (folder / "Package.swift").write_text(PACKAGE)
    for file in (RECIPES / "swift/Bramley.swift", RECIPES / "swift/hummingbird/main.swift"):
        # requests, unlike a browser, sends no secure cookie to http://127.0.0.1.
        text = file.read_text().replace("https://id.example.com", site.origin).replace("https://app.example.com", origin)
        (folder / "Sources/App" / file.name).write_text(text.replace("3000", str(port)).replace("secure: true", "secure: false"))
    done = subprocess.run(["swift", "build"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    run(port, folder / ".build/debug/App", CLIENT_SECRET=party.secret)
    walk = Walk(site, origin)
    assert walk.opens("/").text.startswith("Hello, Ada")
    assert walk.get("/").status_code == 200
    # Another's code and attempt: nobody is signed in, and no session is made.
    stranger = Walk(site, origin)
    stranger.get("/login")
    refused = stranger.get("/callback?code=stolen&state=guessed")
    assert refused.status_code >= 400 and "session" not in refused.cookies
    assert Walk(site, origin).get("/callback?error=access_denied&state=x").status_code == 401


def test_jupyterhub_admits_by_groups(site, tmp_path, run):
    programs = installed("jupyterhub", "jupyterhub", "jupyterhub==6.1.1", "oauthenticator==17.4.0")
    party, hub, origin = register_here(site, "jupyterhub", "/hub/oauth_callback")
    settings = recipe("jupyterhub.md", "python", {
        "https://id.example.com": site.origin, "https://hub.example.com": origin, "bcs_…": party.secret})
    file = tmp_path / "jupyterhub_config.py"
    file.write_text((HERE / "jupyterhub_config.py").read_text() + settings + f"""
c.JupyterHub.bind_url = "http://127.0.0.1:{free_port()}/"
c.JupyterHub.hub_bind_url = "{origin}/"
c.JupyterHub.cookie_secret_file = "{tmp_path}/cookie-secret"
""")
    run(hub, programs / "jupyterhub", "--config", file, JUPYTERHUB_CRYPT_KEY=secrets.token_hex(32), PYTHONPATH="")
    walk = Walk(site, origin)
    eventually(lambda: walk.get("/hub/health").status_code == 200, "the hub")
    refused = walk.opens("/hub/oauth_login?next=%2Fhub%2Fhome", "boris")
    assert refused.status_code == 403, refused.text
    site.operator.bramley("users", "groups", walk.browser.user(), "--add", "researchers")
    page = Walk(site, origin).opens("/hub/oauth_login?next=%2Fhub%2Fhome", "boris")
    assert page.status_code == 200 and walk.browser.user() in page.text
    assert re.search(r"[Ll]ogout", page.text)
