"""docs/examples/nginx-static: files behind nginx, some for signed-in people only."""

import pytest

PAGE = "/members/harvest.html?year=2026&note=a%26b%20c"


@pytest.fixture
def orchard(start):
    return start("nginx-static")


def test_a_visitor_signs_in_and_arrives_at_the_requested_page(orchard, make_visitor):
    visitor = make_visitor(orchard)
    visitor.open("/")
    visitor.press("a[href='/members/']", "/login")
    visitor.open(PAGE)
    visitor.arrives("/login")
    visitor.goes_through_apple("ada", "/members/harvest.html")
    assert visitor.driver.current_url == orchard.url(PAGE)
    assert visitor.find("#person").text == "ada@example.com"
    visitor.press("a[href='./']", "/members/")
    assert visitor.find("#person").text == "ada@example.com"


def test_a_signed_out_visitor_is_sent_to_the_login(orchard, make_visitor):
    visitor = make_visitor(orchard)
    visitor.signs_in("chie", "/members/", until="/members/")
    visitor.press("a[href^='/logout']")
    visitor.press("form[action$='/logout'] button", "/")
    visitor.open("/members/")
    visitor.arrives("/login")


@pytest.mark.parametrize("path", ["/members/", "/members/harvest.html", "/members/index.html", "/members/none.html"])
def test_nothing_is_shown_to_strangers(orchard, path):
    answer = orchard.ask(path, {"X-Auth-Request-User": "usr_forged", "Cookie": "__Host-bramley=brs_forged"}).must(302)
    assert answer.location.startswith(orchard.url("/login?return_to="))
    assert "Members" not in answer.text and "Harvest" not in answer.text


@pytest.mark.parametrize("path", ["/bramley", "/auth/verify", "/members/../../nginx.conf", "/healthz"])
def test_internal_locations_are_not_reachable(orchard, path):
    assert orchard.ask(path).status in (400, 404)


@pytest.mark.parametrize("path", ["/members%2findex.html", "//members/index.html", "/x/../members/index.html", "/%6dembers/"])
def test_other_spellings_of_a_path_open_nothing(orchard, path):
    answer = orchard.ask(path)
    assert answer.status in (302, 403)
    assert "Welcome" not in answer.text


def test_public_pages_need_no_sign_in(orchard):
    answer = orchard.ask("/")
    assert (answer.status, answer.headers["Cache-Control"]) == (200, None)
    assert "Anybody may read this page." in answer.text
