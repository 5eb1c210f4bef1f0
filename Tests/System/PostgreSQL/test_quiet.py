"""What a server over PostgreSQL says, and how little it asks when nobody asks it anything."""

import re
import time
from collections import Counter

from patience import eventually


def test_a_missing_database_or_role_is_reported_at_once(build, cluster):
    house = build(1)
    node = house.nodes[0]
    node.program.stop()
    for url, said in (
            (cluster.url("nowhere"), 'database "nowhere" does not exist'),
            (cluster.url(house.database).replace("user=postgres", "user=nobody"), 'role "nobody" does not exist')):
        node.change({"storage.postgres.url": url})
        begun = time.monotonic()
        answer = node.bramley("serve", code=1).replace('\\"', '"')
        assert said in answer and "LOCATION" not in answer, answer
        assert time.monotonic() - begun < 5


def test_an_outage_is_logged_correctly_and_not_every_second(own_cluster, build):
    node = build(1, own=own_cluster).nodes[0]
    session = node.sign_in("ada")
    own_cluster.stop()
    eventually(lambda: node.verify(session) == 503, "503")
    node.call("POST", "/logout", {"Cookie": session, "Origin": node.site.origin}, "")
    eventually(lambda: "database write failed: nobody can sign in" in node.log.read_text(), "the line of failed writes")
    time.sleep(8)
    said = node.bramley("doctor", code=1)
    log = node.log.read_text()
    own_cluster.start()
    assert "sessions continue" not in log and "storage.directory" not in log + said, log + said
    repeated = Counter(
        re.sub(r"^\S+ ", "", line) for line in log.splitlines() if " error " in line or '"error"' in line)
    assert not [text for text, count in repeated.items() if count > 3], repeated


def test_an_idle_server_polls_less_often(build):
    house = build(1)
    node = house.nodes[0]
    session = node.sign_in("ada")

    def polls(seconds: float) -> int:
        seen, end = set(), time.monotonic() + seconds
        while time.monotonic() < end:
            seen.add(house.sql("SELECT max(polled_at) FROM store_poll"))
            time.sleep(0.1)
        return len(seen) - 1

    eventually(lambda: polls(5) <= 3, "an idle server that asks seldom")
    # Whoever comes is answered, and while somebody comes the server asks four times a second.
    assert node.verify(session) == 204
    assert polls(3) >= 6
