"""Very many people: what an operator or a backend asks holds up nobody, and does not cost more with each of them."""

import contextlib
import http.client
import statistics
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import pytest

import crowd
from patience import eventually
from web import Answer, bearer, call

PEOPLE = 40_000
# Few enough that nothing grows with them.
FEW = 500


def milliseconds(work, times: int = 7) -> float:
    took = []
    for _ in range(times):
        began = time.monotonic()
        work()
        took.append((time.monotonic() - began) * 1000)
    return statistics.median(took)


class Town:
    """A server over very many people, an operator and a backend."""

    def __init__(self, house):
        self.node = house.nodes[0]
        self.house = house
        self.count = 0
        self.cookie = {"Cookie": self.node.sign_in("ada")}
        self.node.bramley("users", "groups", "ada@example.com", "--add", "admins", "--yes")
        self.key = bearer(self.node.json("api-keys", "create", "t", "--scopes", "users:read,events:read")["key"])

    def grow(self, count: int) -> None:
        for statement in crowd.people(count, self.count + 1):
            self.house.sql(statement)
        self.count = count
        # An update finds people without an index, as this server does.
        self.node.program.stop()
        self.node.start()

    def ask(self, path: str, headers: dict) -> Answer:
        done = self.node.call("GET", path, headers)
        assert done.status == 200, done.body
        return done

    def api(self, path: str) -> dict:
        return self.ask("/api/v1" + path, self.key).json()

    def operator(self, path: str) -> str:
        return self.ask("/operator" + path, self.cookie).text


@pytest.fixture
def town(build):
    return Town(build(1, {"operator.groups": ["admins"], "server.limits.operatorPerMinute": 100_000}))


def compare(town, ask, paths: list[str], slack: int) -> None:
    """What each costs of few and of many people."""
    took = []
    for count in (FEW, PEOPLE):
        town.grow(count)
        eventually(lambda: is_indexed(town), "the index of the names")
        town.house.sql("VACUUM ANALYZE")
        took.append([milliseconds(lambda path=path: ask(path)) for path in paths])
    for path, few, many in zip(paths, *took):
        assert many <= 2 * few + slack, f"{path}: {many:.0f} ms of {PEOPLE} people, {few:.0f} ms of {FEW}"


def is_indexed(town) -> bool:
    columns = town.house.sql("SELECT count(*) FROM information_schema.columns WHERE column_name = 'indexed_name'")
    return columns == "0" or town.house.sql(
        """SELECT count(*) FROM "user" WHERE indexed_name = ' ' AND given_name IS NOT NULL""") == "0"


def test_a_page_of_people_costs_the_same_however_many_there_are(town):
    compare(town, town.api, [
        "/users?limit=50", "/users?limit=50&state=pending", "/users?limit=50&group=staff",
        "/users?limit=50&state=active&group=staff", "/users?email=user300@example.com"], 20)
    page = town.api("/users?limit=200")
    assert len(page["items"]) == 200 and page["items"][0]["id"] == crowd.user_id(1)


def test_a_search_by_name_costs_the_same_however_many_there_are(town):
    compare(town, town.operator, [
        "/users?q=" + urllib.parse.quote(text) for text in ("nobodyhasthis", "jurgen", "chloe 123", "a", "ann zzz")] + [
        "/users?sort=last-sign-in", "/users?sort=last-sign-in&group=staff", "/users?sort=last-sign-in&state=pending",
        "/sessions?q=jurgen"], 60)
    assert town.operator("/users?q=4711").count("/operator/users/usr_") == 1
    assert "Jürgen" in town.operator("/users?q=JURGEN")


def test_a_server_stops_in_the_middle_of_an_index_and_the_next_one_continues(town):
    town.grow(PEOPLE)
    assert town.node.program.stop() == 0
    assert not is_indexed(town)


def test_an_operators_search_delays_nobody(town):
    """Five searches at once for nobody; the first of their readers close the page."""
    town.grow(PEOPLE)
    over = threading.Event()

    def search():
        while not over.is_set():
            with contextlib.suppress(OSError):
                call(town.node, "GET", "/operator/users?q=nobodyhasthis", town.cookie, timeout=1)

    with ThreadPoolExecutor(5) as pool:
        for _ in range(5):
            pool.submit(search)
        try:
            time.sleep(1)
            for path in ("/readyz", "/metrics"):
                took = milliseconds(lambda: town.node.admin(path), 5)
                assert took < 1_000, f"{path} waits {took:.0f} ms"
            assert milliseconds(lambda: town.node.call("GET", "/account", town.cookie), 5) < 1_000
        finally:
            over.set()


def test_a_query_ends_with_its_client(town):
    town.grow(FEW)
    town.house.sql("CREATE FUNCTION slow(text) RETURNS text LANGUAGE sql AS 'SELECT $1 FROM pg_sleep(0.05)'")
    town.house.sql('ALTER TABLE "user" RENAME TO people')
    town.house.sql('CREATE VIEW "user" AS SELECT id, state, external_id, groups, slow(given_name) AS given_name, '
                  "family_name, email, email_verified, email_private, email_forwarding, email_event_at, "
                  "real_user_status, organization_id, created_at, updated_at FROM people")

    def running() -> int:
        return int(town.house.sql(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() "
            "AND query LIKE '%apple_identity%'"))

    connection = http.client.HTTPConnection("127.0.0.1", town.node.port, timeout=60)
    connection.request("GET", "/api/v1/users?limit=200", headers=town.key)
    eventually(lambda: running() == 1, "the query")
    connection.close()
    left = time.monotonic()
    eventually(lambda: running() == 0, "the end of the query")
    assert time.monotonic() - left < 3.5


def test_sessions_are_in_memory_after_their_first_use(build):
    count = 20_000
    house = build(1, {"server.threads": 1})
    node = house.nodes[0]
    for statement in crowd.people(6) + crowd.sessions(count, 6, round((time.time() + 600) * 1000)):
        house.sql(statement)
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)
    host = urllib.parse.urlsplit(house.site.origin).netloc

    def reads() -> int:
        time.sleep(1.5)
        return int(house.sql("SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'session_pkey'"))

    def use_all() -> int:
        before = reads()
        for number in range(1, count + 1):
            cookie = f"__Host-bramley={crowd.token(number)}"
            connection.request("GET", "/auth/verify", headers={"Host": host, "Cookie": cookie})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 204, (number, answer.status)
        return reads() - before

    assert use_all() > count / 2
    # A server that has not heard of changes for too long asks again, as on a machine that stands still for a moment.
    assert any(use_all() < count / 20 for _ in range(5))
