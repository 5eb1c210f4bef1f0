"""Access rules by SIGHUP: what the file says now is in force at once, and a broken one changes nothing."""

import json
import signal

import pytest

from patience import eventually
from programs import write_private
from web import call

READ = "access rules reloaded"
KEPT = "access rules not reloaded; the previous rules stay in force"
HOST = "app.example.com"


def document(*rules) -> bytes:
    return json.dumps({"rules": [{"host": HOST, **rule} for rule in rules]}).encode()


PUBLIC = document({"path": "/a", "allow": "public"})
CLOSED = document({"path": "/a", "allow": {"groups": ["staff"]}}, {"path": "/b", "allow": "public"})


class House:
    def __init__(self, make_site, folder):
        self.rules = folder / "rules.json"
        write_private(self.rules, PUBLIC)
        self.site = make_site({
            "server.trustedProxies": ["127.0.0.1"], "forwardAuth.rulesFile": str(self.rules), "log.level": "info"})
        self.operator = self.site.operator
        # The audit log tells of changes from what it has seen first.
        eventually(lambda: self.operator.database(
            "SELECT value FROM meta WHERE key = 'audited-access_rules.changed'"), "the first look", self.site.server.text)

    def status(self, path: str) -> int:
        return call(self.site.port, "GET", "/auth/verify", {
            "X-Forwarded-Proto": "https", "X-Forwarded-Host": HOST, "X-Forwarded-Uri": path, "X-Forwarded-Method": "GET"}).status

    def statuses(self) -> tuple[int, int]:
        return self.status("/a"), self.status("/b")

    def reload(self, says: str) -> str:
        """Sends SIGHUP; the line of the log that has this."""
        count = self.site.server.text().count(says)
        self.site.server.process.send_signal(signal.SIGHUP)
        eventually(lambda: self.site.server.text().count(says) > count, says, self.site.server.text)
        return [line for line in self.site.server.text().splitlines() if says in line][-1]


@pytest.fixture(scope="module")
def house(make_shared_site, tmp_path_factory):
    return House(make_shared_site, tmp_path_factory.mktemp("rules"))


def test_the_current_file_is_in_force(house):
    assert house.statuses() == (204, 401)
    write_private(house.rules, CLOSED)
    assert house.statuses() == (204, 401), "not before SIGHUP"
    line = house.reload(READ)
    assert "rules=2" in line and "changed=true" in line
    assert house.statuses() == (401, 204)
    assert "changed=false" in house.reload(READ)
    # Who decided it, for those who look later.
    eventually(lambda: house.operator.database(
        "SELECT actor FROM audit WHERE type = 'access_rules.changed'") == [("operator",)], "the audit log's line")


@pytest.mark.parametrize("content, said", [
    (b"{\"rules\": [}", "line 1, column 12"), (b"{\"rules\": []}", "holds no rule"), (None, "does not exist")])
def test_a_broken_file_keeps_the_rules_and_says_why(house, content, said):
    before, good = house.statuses(), house.rules.read_bytes()
    if content is None:
        house.rules.unlink()
    else:
        write_private(house.rules, content)
    line = house.reload(KEPT)
    assert "key=forwardAuth.rulesFile" in line and said in line
    assert house.statuses() == before
    write_private(house.rules, good)
    house.reload(READ)
    assert house.statuses() == before


def test_rules_for_a_proxy_that_is_not_trusted_yet_change_nothing(house):
    """Regression: rules and trusted proxies were added together; the rules alone were taken, and everybody was refused."""
    before = house.statuses()
    write_private(house.rules, document({"path": "/c", "allow": "public"}))
    house.site.configure({"server.trustedProxies": ["127.0.0.1", "192.0.2.1"]})
    assert "Restart bramley serve" in house.reload(KEPT)
    assert house.statuses() == before
    house.site.configure({"server.trustedProxies": ["127.0.0.1"]})
    house.reload(READ)
    assert house.status("/c") == 204
