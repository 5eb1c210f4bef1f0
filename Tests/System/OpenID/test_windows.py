"""Several windows of one browser sign in at the same moment: one session, whichever answer the browser gets last."""

from urllib.parse import parse_qsl

import pytest

from party import Browser, register
from patience import at_once
from receiver import Receiver
from web import SESSION, start_of

WINDOWS = 5


def together(site) -> list[Browser]:
    """What the browser may be afterwards: its windows wait at Apple, and their answers are sent together."""
    browser = Browser(site)
    forms = [browser.goes_to_apple(path=start_of(f"/account?window={number}")) for number in range(WINDOWS)]

    def answered(number: int) -> Browser:
        window = Browser(site, cookies=browser.cookies)
        assert window.comes_back(forms[number]).status == 303
        return window

    return at_once(WINDOWS, answered)


def test_concurrent_sign_ins_in_one_browser_all_get_a_valid_cookie(site):
    for _ in range(5):
        windows = together(site)
        assert len({window.cookies[SESSION] for window in windows}) == 1
        assert [window.get("/account").status for window in windows] == [200] * WINDOWS


def test_signing_out_with_the_last_answer_ends_the_session_and_notifies_all(site):
    receiver, (first, *others) = Receiver(), together(site)
    paths = {f"/{number}" for number in range(WINDOWS)}
    for path in paths:
        party = register(site, f"window-{path[1:]}", "--back-channel-logout-uri", receiver.url(path))
        assert "code" in first.get(party.path(prompt="none")).parameters(), party.client_id
        party.tokens(first)
    first.sign_out()
    receiver.wait_for(lambda arrivals: {arrival.path for arrival in arrivals} == paths, "a logout token for each")
    assert all(window.get("/account").status != 200 for window in (first, *others))
    receiver.close()


@pytest.mark.parametrize("strip", [("id_token",), ("code",), ("id_token", "code"), ("forged",)])
def test_the_browsers_binding_is_not_enough_for_a_token(site, strip):
    """Who knows the state and the binding, but not what Apple signed, is given no session again."""
    browser = Browser(site)
    form = browser.goes_to_apple(path=start_of("/account"))
    thief = Browser(site, cookies=browser.cookies)
    assert browser.comes_back(form).status == 303
    changed = {name: value for name, value in dict(parse_qsl(form)).items() if name not in strip}
    if strip == ("forged",):
        changed["id_token"] = changed["id_token"][:-4] + "AAAA"
    thief.send("POST", "/apple/callback", changed, {"Origin": site.apple.origin})
    assert not [value for value in thief.cookies.values() if value.startswith("brs_")]
