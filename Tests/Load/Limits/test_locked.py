"""Another process holds the database for longer than a write waits for it."""

import sqlite3
import statistics

from outage import endure
from patience import PATIENCE


def test_a_database_locked_by_another_process_is_reported_and_loses_nothing(make_place, make_crowd):
    place = make_place().start()
    other = sqlite3.connect(place.data / "bramley.db", timeout=PATIENCE, isolation_level=None)
    # More people than one of whom would wait: each is answered within the time that a write waits.
    crowd = make_crowd(place, signers=6)
    endure(place, crowd, lambda: other.execute("BEGIN EXCLUSIVE"), lambda: other.execute("ROLLBACK"),
           "database is locked", "stop the process that holds a lock on bramley.db", refusals=6)
    other.close()
    refused = [noted.seconds for noted in crowd.since(0, "sign-in") if noted.status == 503]
    assert statistics.median(refused) < 20, refused
