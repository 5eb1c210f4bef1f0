"""A crowd checked at the simulated Apple, the server killed half-way: Benchmarks/credential_checks.py, small."""

import importlib.util
import sys

import pytest

from patience import eventually
from processes import fails
from programs import ROOT

PEOPLE = 300


@pytest.fixture
def checks():
    spec = importlib.util.spec_from_file_location("credential_checks", ROOT / "Benchmarks/credential_checks.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["credential_checks"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def make_run(request, checks, binaries, tmp_path):
    def make(people: int):
        run = checks.Run(binaries, tmp_path, people, rate=100)
        request.addfinalizer(run.site.end)
        run.move_in()
        return run

    return make


def test_every_credential_is_checked_once_despite_kills(checks, make_run):
    checks.judge(make_run(PEOPLE).measure(), PEOPLE)


def test_many_dead_tokens_stop_the_checks_until_the_operator_decides(make_run):
    run = make_run(60)
    # Every answer says that the token is dead: a mistake of Apple's, or the end of everybody.
    run.site.apple.call("PUT", "faults/token", {"error": "invalid_grant"})
    run.site.start()

    def status() -> dict:
        return run.json("credentials", "status")

    eventually(lambda: status()["checks"] == "stopped", "the checks stop")
    # The log has it from the next look at the database.
    eventually(lambda: "daily checks stopped" in run.site.server.text(), "the log says so")
    run.site.stop()
    found = status()
    assert found["checks"] == "stopped"
    assert found["brake"]["dead"] == 20
    assert run.database("SELECT count(*) FROM apple_credential WHERE cause = 'token_dead'") == [(19,)]
    assert 1 <= found["heldBack"] <= 16
    # A restart does not forget, and asks nobody.
    asked = run.asked()
    run.site.start()
    run.site.stop()
    assert run.asked() == asked
    # Nobody can be asked here, so nothing is done without a word.
    assert run.run("credentials", "resume", "--accept").returncode == 64
    assert status()["checks"] == "stopped"
    done = run.json("credentials", "resume", "--accept", "--yes")
    assert done["wasStopped"] and done["ended"] == found["heldBack"] and done["forgotten"] == 0
    assert status()["checks"] == "running"
    assert status()["wavesAcceptedUntil"]
    # Nothing is stopped any more: there is no wave to accept, and no second day without a brake.
    fails(run.run("credentials", "resume", "--accept", "--yes"), "nothing to accept")


def test_checks_of_a_refused_client_pause_and_nobody_is_signed_out(make_run):
    run = make_run(40)
    run.site.apple.call("PUT", "faults/token", {"error": "invalid_client"})
    run.site.start()
    eventually(lambda: "Apple rejected our client" in run.site.server.text(), "the log says so")
    run.site.stop()
    found = run.json("credentials", "status")
    assert found["checks"] == "refused"
    assert [pause["attempts"] for pause in found["refused"]] == [1]
    assert found["live"] == 40 and found["lastHourDead"] == 0
    assert run.asked() <= 16
    run.site.apple.call("DELETE", "faults")
    assert "checks resumed" in run.bramley("credentials", "resume")
    run.site.start()
    # All but those that were refused, who are tried again within hours.
    run.check_until(16)
    run.site.stop()
    found = run.json("credentials", "status")
    assert found["checks"] == "running" and found["live"] == 40 and found["lastHourDead"] == 0
