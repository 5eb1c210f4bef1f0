"""Programs that others wrote: mod_auth_openidc, mozilla-django-oidc, the library of GitLab and Rails, phones."""

import re
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import requests

from others import HERE, RECIPES, Walk, recipe
from party import Browser, Party, register_here, return_target
from patience import PATIENCE, eventually
from programs import Program


@pytest.fixture(scope="module")
def apache(site, tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("apache")
    party, port, origin = register_here(
        site, "apache", "/private/callback", "--offline", "--logout-uri", "{}/public/", "--back-channel-logout-uri",
        "{}/private/callback?logout=backchannel")
    modules = "mpm_event authn_core authz_core authz_user alias dir rewrite auth_openidc".split()
    loads = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in modules)
    for name in ("private", "public"):
        (folder / name).mkdir()
        (folder / name / "index.html").write_text(name)
    # As the page has it, with other names.
    settings = recipe("mod_auth_openidc.md", "apache", {
        "https://id.example.com": site.origin, "https://app.example.com": origin, "bcs_…": party.secret,
        '"exec:/etc/apache2/oidc-passphrase"': "of-a-test"})
    file = folder / "apache.conf"
    file.write_text(f"""
ServerRoot {folder}
ServerName 127.0.0.1
PidFile {folder}/apache.pid
ErrorLog {folder}/error.log
Listen 127.0.0.1:{port}
{loads}
DocumentRoot {folder}
DirectoryIndex index.html
{settings}
<Directory {folder}>
    Require all granted
</Directory>
# An access token lives 3600 seconds: each page refreshes.
<Location /fresh>
    AuthType openid-connect
    Require valid-user
    OIDCRefreshAccessTokenBeforeExpiry 3700 logout_on_error
</Location>
Alias /fresh {folder}/private
Alias /staff {folder}/private
""")
    program = Program(["/usr/sbin/apache2", "-f", str(file), "-D", "FOREGROUND"], folder / "apache.log")
    program.wait_for(port)
    yield origin
    program.stop()


def test_mod_auth_openidc_signs_somebody_in(site, apache):
    walk = Walk(site, apache)
    assert walk.get("/public/").text == "public"
    assert walk.opens("/private/").text == "private"
    assert walk.get("/private/").status_code == 200, "its own session holds"


def answered(walk: Walk, parameters: dict) -> requests.Response:
    """What the program makes of an answer to a sign-in that it has just begun."""
    state = parse_qs(urlsplit(walk.get("/private/").headers["Location"]).query)["state"][0]
    return walk.get("/private/callback?" + urlencode({"state": state, "iss": walk.site.origin} | parameters))


def test_mod_auth_openidc_cancelled_sign_in_ends_on_its_page(site, apache):
    walk = Walk(site, apache)
    page = walk.browser.get(walk.browser.own(walk.get("/private/").headers["Location"]))
    back = walk.browser.cancel(return_target(page))
    assert back.parameters()["error"] == "access_denied"
    answer = walk.program.get(back.location, timeout=PATIENCE)
    assert (answer.url, answer.text) == (f"{apache}/public/", "public")


@pytest.mark.parametrize("error", ["login_required", "temporarily_unavailable", "invalid_scope", "server_error"])
def test_mod_auth_openidc_error_answers_make_no_loop(site, apache, error):
    answer = answered(Walk(site, apache), {"error": error, "error_description": "a+b"})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{apache}/public/")


def test_mod_auth_openidc_forgotten_sign_in_ends_on_the_default_url(site, apache):
    answer = answered(Walk(site, apache), {"state": "of-another-hour", "code": "boc_x"})
    assert (answer.status_code, answer.headers.get("Location")) == (302, f"{apache}/public/")


def test_mod_auth_openidc_reads_groups(site, apache):
    walk = Walk(site, apache)
    assert walk.opens("/staff/", "boris").status_code == 401
    site.operator.bramley("users", "groups", walk.browser.user(), "--add", "staff")
    assert Walk(site, apache).opens("/staff/", "boris").text == "private"


def test_mod_auth_openidc_signs_out_here_too(site, apache):
    walk = Walk(site, apache)
    walk.opens("/private/")
    out = walk.get("/private/callback?logout=" + requests.compat.quote(f"{apache}/public/", safe=""))
    assert out.status_code == 302 and urlsplit(out.headers["Location"]).path == "/oidc/logout"
    assert walk.browser.get(walk.browser.own(out.headers["Location"])).location == f"{apache}/public/"
    assert walk.browser.get("/account").status == 303, "signed out at Bramley"
    assert walk.get("/private/").status_code == 302, "and at the program"


@pytest.mark.parametrize("way", ["sign-out", "consent-revoked"])
def test_mod_auth_openidc_is_notified_of_a_sign_out(site, apache, way):
    walk = Walk(site, apache)
    walk.opens("/private/", "chie")
    assert walk.get("/private/").text == "private"
    if way == "sign-out":
        walk.browser.sign_out()
    else:
        site.apple.notify("consent-revoked", "chie")
    eventually(lambda: walk.get("/private/").status_code == 302, "its session to end")


def test_mod_auth_openidc_refreshes(site, apache):
    walk = Walk(site, apache)
    walk.opens("/fresh/")

    def refreshed() -> int:
        sql = "SELECT max(refreshed_at) FROM openid_grant WHERE client = 'apache' AND \"user\" = ?"
        return site.operator.database(sql, user)[0][0]

    user = walk.browser.user()
    before = refreshed()
    assert walk.get("/fresh/").text == "private" and refreshed() > before
    site.operator.bramley("users", "disable", user, "--yes")
    assert "Logged Out" in walk.get("/fresh/").text and walk.get("/fresh/").status_code == 302
    site.operator.bramley("users", "enable", user)


def test_mozilla_django_oidc_signs_somebody_in(site, tmp_path, run):
    party, port, origin = register_here(site, "django", "/oidc/callback/")
    settings = recipe("django.md", "python", {"https://id.example.com": site.origin})
    run(port, sys.executable, "-B", HERE / "django_program.py", port, tmp_path / "django.db", settings,
        CLIENT_SECRET=party.secret)
    walk = Walk(site, origin)
    assert walk.opens("/").json()["email"] == "ada@example.com"
    assert walk.get("/").status_code == 200, "its own session holds"


@pytest.mark.parametrize("name, place", [("gitlab", "/users/auth/openid_connect"), ("rails", "/auth/bramley")])
def test_omniauth_signs_somebody_in(site, run, name, place):
    party, port, origin = register_here(site, name, f"{place}/callback")
    run(port, "ruby", HERE / "omniauth_program.rb", port, site.origin, party.secret, recipe(f"{name}.md", "ruby"),
        CLIENT_SECRET=party.secret)
    walk = Walk(site, origin)
    assert walk.opens("/").json() == {"uid": walk.browser.user(), "email": "ada@example.com", "name": "Ada Byron"}


@pytest.mark.parametrize("page", ["android", "flutter"])
def test_the_registration_of_the_page_is_all_that_the_app_needs(site, page):
    text = (RECIPES / f"{page}.md").read_text()
    line = re.search(r"^bramley (clients add .*)$", text, re.MULTILINE)[1].replace('"Our app"', "App").split()
    site.operator.bramley(*line)
    redirect, back = (line[line.index(option) + 1] for option in ("--redirect-uri", "--logout-uri"))
    app, browser = Party(site, page, None, redirect), Browser(site)
    answer = app.authorize(browser, scope="openid profile email offline_access")
    assert answer.location.startswith(redirect + "?")
    first = app.redeem(answer.parameters()["code"]).must(200).json()
    second = app.refresh(first["refresh_token"]).must(200).json()
    assert app.userinfo(second["access_token"]).must(200).json()["sub"] == app.claims(first["id_token"])["sub"]
    hint = {"id_token_hint": second["id_token"], "post_logout_redirect_uri": back, "state": "x"}
    assert browser.get("/oidc/logout?" + urlencode(hint)).location == back + "?state=x"
    assert browser.get("/account").status != 200
    # It outlives the session, until it is revoked.
    last = app.refresh(second["refresh_token"]).must(200).json()["refresh_token"]
    app.post("/oidc/revoke", {"token": last}).must(200)
    assert app.refresh(last).json()["error"] == "invalid_grant"
