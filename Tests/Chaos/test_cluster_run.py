"""A short run of the cluster, and that it finds what is planted."""

import os
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import cluster  # noqa: E402

SEED = int(os.environ.get("CHAOS_SEED") or random.randrange(10_000))


@pytest.fixture
def run(binaries, tmp_path):
    run = cluster.Run(binaries, tmp_path, SEED)
    yield run
    run.end()


@pytest.mark.long
def test_what_was_answered_is_true_and_what_is_planted_is_found(run):
    run.rage(12)
    assert run.differences() == [], f"seed {SEED}"
    database = run.house.database

    def plant(sql: str, words: str) -> None:
        run.primary.sql(sql, database)
        assert any(words in found for found in run.differences()), run.differences()

    # An acknowledged session that was lost.
    run.book.live = {"bramley=brs_lost": 0.0}
    assert any("never ended" in found for found in run.differences())
    run.book.live.clear()
    # A session that outlived its end.
    session = run.nodes[0].sign_in(cluster.PEOPLE[0])
    run.book.ended[session] = 0.0
    assert any("for an ended session" in found for found in run.differences())
    run.book.ended.clear()
    # An event that nobody heard, one told twice, and a second account.
    assert any("the application heard" in found for found in run.differences())
    plant("INSERT INTO event (salt, type, time, \"user\", session) SELECT salt, type, time, \"user\", session FROM event"
          " WHERE type = 'session.created' LIMIT 1", "told twice")
    plant("INSERT INTO \"user\" (id, state, family_name, created_at, updated_at)"
          " SELECT id || 'x', state, family_name, created_at, updated_at FROM \"user\" LIMIT 1", "two accounts")


def test_the_book_knows_what_is_wrong():
    book = cluster.Book()
    book.begins("a")
    book.checked("a", "node", 0, 204)
    book.checked("a", "node", 0, 503)
    assert not book.wrong
    book.checked("a", "node", 0, 401)
    assert len(book.wrong) == 1
    book.may_end("a")
    book.checked("a", "node", 0, 401)
    book.ends("a")
    end = book.ended["a"]
    book.checked("a", "node", end + 0.9, 204)
    book.checked("a", "node", end + 5, 401)
    assert len(book.wrong) == 1
    book.checked("a", "node", end + 1.1, 204)
    assert len(book.wrong) == 2
