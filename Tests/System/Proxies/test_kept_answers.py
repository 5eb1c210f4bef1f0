"""A proxy keeps Bramley's 204 until the clock's next second, where Bramley allows it, and for the same person only."""

import itertools
import re
import time

import pytest

from client import PAGE
from conftest import arranged, in_front_of
from patience import eventually
from proxies import ALL, Apache, HAProxy, Nginx

KEEPING = {kind.name: kind for kind in (Nginx, HAProxy, Apache)}
# Every path is the same.
EVERYONE = {"rules": [{"allow": "signedIn"}]}
PERSON, ALLOWED = {"X-Auth-Request-User": "usr_x"}, {"X-Accel-Expires": "1"}
numbers = itertools.count()


def page(client) -> str:
    """One that nobody has asked for."""
    return f"{client.app}/page-{next(numbers)}"


def cookie(value: str) -> list[tuple[str, str]]:
    return PAGE + [("Cookie", f"__Secure-bramley={value}")]


@pytest.fixture(scope="module", params=list(KEEPING))
def kept(request, folder):
    """A proxy with a stand-in for Bramley whose answer a test may change: (proxy's client, stand-in)."""
    with in_front_of(KEEPING[request.param], folder, PERSON | ALLOWED) as parts:
        yield parts[:2]


@pytest.fixture
def answers(kept):
    client, bramley = kept
    original = bramley.status, bramley.fields

    def become(status: int, fields: dict[str, str]) -> None:
        bramley.status, bramley.fields = status, fields
    yield become
    become(*original)


def test_an_answer_serves_every_path_and_method(kept):
    client, bramley = kept

    def is_kept() -> bool:
        before = len(bramley.seen)
        seen = [client.send(page(client), cookie("a"), method).seen for method in ("GET", "POST") * 3]
        assert all(one.one("X-Auth-Request-User") == "usr_x" for one in seen)
        return len(bramley.seen) - before < 6
    # Six requests may fall into several seconds of a slow machine, or to several threads.
    eventually(is_kept, "an answer that serves twice")


def test_nothing_is_kept_past_the_second(kept, answers):
    client, bramley = kept
    target = page(client)
    for _ in range(4):
        assert client.send(target, cookie("a")).status == 200
    answers(401, {"Location": f"{client.id}/login"})
    # The moment itself: the clock's next second has begun.
    time.sleep(1)
    for _ in range(4):
        assert client.send(target, cookie("a")).status != 200


@pytest.mark.parametrize("status,fields", [
    (204, PERSON), (204, PERSON | ALLOWED | {"Set-Cookie": "a=b"}), (401, {"Location": "/login"}),
    (403, {"Retry-After": "1"}), (500, {"Retry-After": "1"}), (200, PERSON)])
def test_nothing_else_is_kept(kept, answers, status, fields):
    client, bramley = kept
    answers(status, fields)
    for _ in range(6):
        before = len(bramley.seen)
        client.send(page(client), cookie("a"))
        assert len(bramley.seen) > before


def test_somebody_else_is_asked_about(kept):
    client, bramley = kept
    # The last two: what is the end of one field is not the beginning of the next.
    for fields in (PAGE, cookie("one"), cookie("two"), cookie("one") + [("Authorization", "Bearer two")],
                   PAGE + [("Authorization", "Bearer two")], PAGE + [("Authorization", "__Secure-bramley=one")]):
        before = len(bramley.seen)
        assert client.send(page(client), fields).status == 200
        assert len(bramley.seen) == before + 1


@pytest.fixture(scope="module", params=list(KEEPING))
def place(request, binaries, folder):
    return arranged(request, KEEPING[request.param], binaries, folder, None, None, EVERYONE)


def asked(place) -> int:
    """How many questions Bramley has answered."""
    metrics = place.site.admin("/metrics").text
    return sum(map(int, re.findall(r"^bramley_http_requests_total{.*/auth/verify.*} (\d+)$", metrics, re.MULTILINE)))


def test_bramley_allows_it(place):
    client = place.signed_in("ada")

    def is_kept() -> bool:
        before = asked(place)
        assert [client.send(page(client)).status for _ in range(6)] == [200] * 6
        return asked(place) - before < 6
    eventually(is_kept, "an answer that serves twice")


@pytest.mark.parametrize("rules", [{"rules": [{"path": "/ada/*", "allow": {"users": ["ada@example.com"]}}]}])
def test_rules_by_path_hold(request, binaries, folder, rules):
    for kind in KEEPING.values():
        place = arranged(request, kind, binaries, folder, None, None, rules)
        client = place.signed_in("chie")
        for _ in range(6):
            assert client.send(client.app + "/x").status == 200
            assert client.send(client.app + "/ada/x").status == 403


@pytest.fixture(scope="module")
def two(place):
    return [place.signed_in(person) for person in ("ada", "chie")]


def test_nobody_gets_the_answer_of_somebody_else(place, two):
    for _ in range(20):
        for client, address in zip(two, ("ada@example.com", "chie@example.net")):
            assert client.send(client.app + "/").seen.one("X-Auth-Request-Email") == address
        assert place.client().send(client.app + "/").status == 302


def test_a_session_that_has_ended_is_refused_after_the_second(place):
    client, copy = place.signed_in("ada"), place.client()
    copy.jar = dict(client.jar)
    assert copy.send(copy.app + "/").status == 200
    form = [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", client.id)]
    assert client.send(f"{client.id}/logout", PAGE + form, "POST", b"").status == 303
    # The moment itself: the clock's next second has begun.
    time.sleep(1)
    assert copy.send(copy.app + "/").status == 302


def test_every_proxy_is_listed():
    assert set(ALL) - set(KEEPING) == {"caddy"}
