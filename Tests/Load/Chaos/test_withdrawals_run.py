"""A short run of withdrawals, and that what is planted is found."""

import random
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import withdrawals  # noqa: E402


@pytest.fixture
def run(binaries, tmp_path):
    run = withdrawals.Run(binaries, tmp_path, random.randrange(10_000))
    yield run
    run.end()


@pytest.mark.long
def test_nothing_works_a_second_after_a_withdrawal(run):
    run.rage(300)
    assert run.stale == [], run.report()
    assert len(run.done) > 3 and sum(run.done.values()) >= 300
    # Consent that nobody withdrew.
    visitor = withdrawals.Visitor(run, 99)
    visitor.arrive()
    visitor.api("PATCH", body={"groups": ["staff"]})
    tokens = visitor.party.tokens(visitor.browser, visitor.person, scope="openid offline_access")
    visitor.check("nothing", tokens, False, time.monotonic() - 2)
    assert len(run.stale) == 3 and "accepts the access token" in run.stale[0]
