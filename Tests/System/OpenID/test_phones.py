"""Apps on phones, as docs/clients has them registered: from sign-in to sign-out, by a scheme of their own."""

import re
from urllib.parse import urlencode

import pytest

from others import RECIPES
from party import Browser, Party


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
