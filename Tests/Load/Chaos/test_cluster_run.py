"""A short run of the cluster, and that it finds what is planted."""

import os
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import cluster  # noqa: E402
import rules  # noqa: E402
import visits  # noqa: E402

SEED = int(os.environ.get("CHAOS_SEED") or random.randrange(10_000))


@pytest.fixture
def run(binaries, tmp_path):
    run = cluster.Run(binaries, tmp_path, SEED, people=2_000)
    yield run
    run.end()


@pytest.mark.long
def test_answers_survive_failures_and_planted_faults_are_found(run):
    run.rage(16)
    found = run.differences()
    assert found == [], "\n".join([f"seed {SEED}", *found, run.logs()])

    def finds(words: str) -> None:
        found = run.differences()
        assert any(words in one for one in found), found

    # An acknowledged session that was lost.
    run.book.live = {"bramley=brs_lost": 0.0}
    finds("never ended")
    run.book.live.clear()
    # A session that outlived its end.
    session = run.nodes[0].sign_in(visits.PEOPLE[0])
    run.book.ended[session] = 0.0
    finds("for an ended session")
    run.book.ended.clear()
    # An event that nobody heard, one told twice, and a second account.
    finds("the application heard")
    run.sql("INSERT INTO event (salt, type, time, \"user\", session) SELECT salt, type, time, \"user\", session"
            " FROM event WHERE type = 'session.created' LIMIT 1")
    finds("told twice")
    run.sql("INSERT INTO \"user\" (id, state, family_name, created_at, updated_at)"
            " SELECT id || 'x', state, family_name, created_at, updated_at FROM \"user\""
            # Whose name was lost with a primary is nobody's second account.
            " WHERE id NOT LIKE 'usr\\_00000000%' AND family_name IS NOT NULL LIMIT 1")
    finds("two accounts")


@pytest.fixture
def book(monkeypatch) -> rules.Book:
    """Its clock stands at 1000 until a test moves it."""
    book = rules.Book()
    book.now = 1000.0
    monkeypatch.setattr(rules.time, "monotonic", lambda: book.now)
    return book


def test_a_session_lives_until_it_ends(book):
    book.begins("a", 999)
    for status in (204, 503):
        book.checked("a", "node", 1000, status)
    assert not book.wrong
    book.checked("a", "node", 1000, 401)
    assert len(book.wrong) == 1
    book.may_end("a")
    book.checked("a", "node", 1000, 401)
    book.ends("a", 1000)
    book.checked("a", "node", 1000.9, 204)
    book.checked("a", "node", 1005, 401)
    assert len(book.wrong) == 1
    book.checked("a", "node", 1001.1, 204)
    assert len(book.wrong) == 2


def test_a_check_is_answered_in_time_unless_the_server_was_stopped(book):
    book.took("a check", "node", 997, rules.DECIDED)
    assert not book.wrong
    book.took("a check", "node", 995, rules.DECIDED)
    assert book.wrong == ["node: a check took 5.0 s"]
    book.stands_still("other")
    book.took("a check", "other", 995, rules.DECIDED)
    book.goes_on("other")
    book.took("a check", "other", 999, rules.DECIDED)
    assert len(book.wrong) == 1
    book.now = 1010
    book.took("a check", "other", 1001, rules.DECIDED)
    assert len(book.wrong) == 2


def test_nobody_is_refused_while_nothing_is_broken(book):
    book.begins("a", 999)
    book.becomes_calm()
    first = book.calm
    book.stops_being_calm()
    book.checked("a", "node", 1000, 503, first)
    book.becomes_calm()
    book.checked("a", "node", 1000, 503, first)
    assert not book.wrong
    book.checked("a", "node", 1000, 503, book.calm)
    assert len(book.wrong) == 1


def test_a_session_begun_at_another_primary_is_known_within_two_seconds(book):
    book.divides()
    book.now = 1000.5
    book.begins("a", 1000.4)
    book.checked("a", "node", 1001.5, 401)
    assert not book.wrong
    book.checked("a", "node", 1002.5, 401)
    assert len(book.wrong) == 1


def test_only_commits_without_a_standby_may_be_lost(book):
    book.begins("before", 999)
    book.begins("ends", 999)
    book.may_end("ends")
    book.granted("refresh", "access", 999)
    book.now = 1001
    book.may_lose()
    book.now = 1002
    book.begins("alone", 1001.5)
    book.ends("ends", 1001.5)
    book.granted("lost", "lost", 1001.5)
    book.loses()
    book.checked("alone", "node", 1002, 401)
    book.checked("ends", "node", 1004, 204)
    assert not book.wrong and [grant.refresh_token for grant in book.grants] == ["refresh"]
    book.checked("before", "node", 1002, 401)
    assert len(book.wrong) == 1


def test_a_repeated_refresh_gets_the_same_answer(book):
    def refresh(*answers, sent: float = 1000) -> list[str]:
        book.wrong, book.grants = [], []
        grant = rules.Grant("one", "access")
        grant.sent = sent
        book.refreshed(grant, list(answers))
        return book.wrong

    same = (200, {"refresh_token": "two", "access_token": "next"})
    ended = (400, {"error": "invalid_grant"})
    assert not refresh(same, same) and book.grants[0].refresh_token == "two"
    assert not refresh(same, (503, {})) and book.grants[0].refresh_token == "two"
    assert not refresh() and book.grants[0].refresh_token == "one"
    assert refresh(same, ended)
    assert refresh(same, (200, {"refresh_token": "three", "access_token": "other"}))
    # Long after the first, an old token is in two hands.
    assert not refresh(ended, sent=980)
    refresh(same)
    book.used("next", "node", 503)
    assert not book.wrong
    book.used("next", "node", 401)
    assert len(book.wrong) == 1


def test_a_code_is_not_spent_while_nothing_can_be_written(book):
    for status in (303, 503):
        book.posted_again("node", status)
    assert not book.wrong
    book.posted_again("node", 400)
    assert len(book.wrong) == 1
