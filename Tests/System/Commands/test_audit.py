"""`bramley audit list` from the command line, and the keys that change beside a running server."""

import signal

import pytest

from patience import eventually
from programs import new_key, write_private

# Milliseconds of 2026-01-02T00:00:00Z.
DAY = 1_767_312_000_000


@pytest.fixture(scope="module")
def house(make_shared_site):
    operator = make_shared_site(start=False).rest()
    # A line each hour from the first of January on, newest last; and one as long ago as it says.
    operator.database("DELETE FROM audit")
    operator.database(
        "INSERT INTO audit (time, type, actor, object) WITH RECURSIVE n (x) AS "
        "(SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x < 71) "
        f"SELECT {DAY} - 86400000 + x * 3600000, CASE x % 2 WHEN 0 THEN 'command' ELSE 'api_key.created' END, "
        "'operator', 'line' || x FROM n")
    operator.database(
        "INSERT INTO audit (time, type, actor, object) "
        "SELECT (unixepoch('now') - ago) * 1000, 'command', 'operator', 'ago' || ago "
        "FROM (SELECT 7200 AS ago UNION ALL SELECT 1800 UNION ALL SELECT 30)")
    return operator


def listed(house, *arguments: str) -> list[str]:
    return [item["object"] for item in house.json("audit", "list", *arguments)["items"]]


def lines(numbers) -> list[str]:
    return [f"line{number}" for number in numbers]


@pytest.mark.parametrize("arguments, objects", [
    (["--since", "2026-01-02", "--until", "2026-01-02T02:00:00Z"], lines([25, 24])),
    (["--since", "2026-01-01T23:59:59Z", "--until", "2026-01-02T00:00:01Z"], lines([24])),
    (["--since", "2026-01-02T00:00:01Z", "--until", "2026-01-02T01:00:00.999Z"], []),
    (["--until", "2026-01-01T01:00:00Z"], lines([0])),
    (["--until", "2026-01-01"], []),
    (["--since", "2026-01-03T22:00:00Z", "--until", "2026-01-04"], lines([71, 70])),
    (["--since", "2026-01-03T22:00:00Z", "--until", "2026-01-04", "--type", "command"], lines([70])),
    (["--since", "1h"], ["ago30", "ago1800"]),
    (["--since", "5m"], ["ago30"]),
    (["--since", "3h", "--until", "1h"], ["ago7200"]),
    (["--since", "1h", "--until", "1h"], []),
    (["--since", "999999d", "--until", "2026-01-01T00:00:01Z"], lines([0])),
])
def test_audit_list_filters_by_since_and_until(house, arguments, objects):
    assert listed(house, *arguments) == objects
    rows = [line.split("\t") for line in house.bramley("audit", "list", *arguments).splitlines()]
    assert [row[4] for row in rows] == objects
    assert all(row[0].endswith("Z") for row in rows)


def test_pages_respect_the_filters(house):
    bounds = ["--since", "2026-01-01T12:00:00Z", "--until", "2026-01-02T12:00:00Z", "--type", "command"]
    found = house.pages("audit", "list", "--limit", "5", *bounds)
    assert [item["object"] for item in found] == lines(range(34, 11, -2))


@pytest.mark.parametrize("option", ["--since", "--until"])
def test_an_invalid_time_is_a_usage_error(house, option):
    done = house.run("audit", "list", option, "the day before yesterday")
    assert done.returncode == 64 and option in done.stderr and done.stdout == ""


def test_changed_apple_keys_are_audited_after_sighup_and_restart(make_site):
    site = make_site({"log.level": "info"})
    operator, folder = site.operator, site.folder

    def changes() -> list[tuple]:
        return operator.database("SELECT object, actor FROM audit WHERE type = 'apple_key.changed' ORDER BY sequence")

    def noted() -> list[tuple]:
        return operator.database("SELECT value FROM meta WHERE key = 'audited-apple_key.changed'")

    def reload_and_see(condition, what: str) -> None:
        site.server.process.send_signal(signal.SIGHUP)
        eventually(condition, what, site.server.text)

    eventually(noted, "the first look", site.server.text)
    assert changes() == [], "there was nothing to change from"
    # The same ID, another key: as when the wrong file was put right.
    write_private(folder / "AuthKey.p8", new_key())
    reload_and_see(lambda: len(changes()) == 1, "the line")
    write_private(folder / "next.p8", new_key())
    site.configure({"apple.nextKeyID": "TESTKEY002", "apple.nextPrivateKeyFile": str(folder / "next.p8")})
    reload_and_see(lambda: len(changes()) == 2, "the line")
    before = noted()
    reload_and_see(lambda: site.server.text().count("Apple client keys reloaded") == 3, "the reload")
    write_private(folder / "next.p8", b"not a key")
    reload_and_see(lambda: "Apple client keys not reloaded" in site.server.text(), "the refusal")
    site.stop()
    assert noted() == before
    site.configure({"apple.nextKeyID": None, "apple.nextPrivateKeyFile": None, "apple.keyID": "TESTKEY003"})
    site.start()
    eventually(lambda: len(changes()) == 3, "the line of the start", site.server.text)
    assert changes() == [("TESTKEY001", "operator"), ("TESTKEY001,TESTKEY002", "operator"), ("TESTKEY003", "operator")]
    shown = [item["object"] for item in operator.json("audit", "list", "--type", "apple_key.changed")["items"]]
    assert shown == ["TESTKEY003", "TESTKEY001,TESTKEY002", "TESTKEY001"]
    # Nothing of a key is in the file but its ID and a hash.
    content = (folder / "data/bramley.db").read_bytes() + (folder / "data/bramley.db-wal").read_bytes()
    for line in (folder / "AuthKey.p8").read_text().splitlines()[1:-1]:
        assert line.encode() not in content
