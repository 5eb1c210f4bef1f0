"""What `bramley explain` says of a code, of all of them, and of none that there is."""

import subprocess

import pytest

from patience import PATIENCE


def explain(bramley, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [bramley, "explain", *arguments], env={}, capture_output=True, text=True, timeout=PATIENCE)


@pytest.mark.parametrize("code,words", [
    ("stale_state", ["400", "info", "took longer than `login.attemptLifetime`", "retry page", "the clock jumped"]),
    ("external_id_taken", ["409", "debug", "another user has this external ID", "problem", "nothing"]),
    ("storage", ["503", "error", "free or repair the disk (docs/operate/limits.md#the-database-takes-no-writes)"]),
])
def test_a_code_is_explained(bramley, code, words):
    run = explain(bramley, code)
    assert run.returncode == 0 and run.stderr == ""
    assert run.stdout.splitlines()[0] == code
    for word in words:
        assert word in run.stdout, run.stdout


def test_all_codes_are_listed_one_a_line(bramley):
    lines = [line.split("\t") for line in explain(bramley).stdout.splitlines()]
    assert len(lines) > 60 and all(len(line) == 3 for line in lines)
    assert ["stale_state", "400", "the sign-in took longer than `login.attemptLifetime`"] in lines


def test_an_unknown_code_is_a_wrong_argument_and_the_nearest_are_named(bramley):
    run = explain(bramley, "stale_stat")
    assert run.returncode == 64 and run.stdout == ""
    assert "There is no reason code \"stale_stat\"" in run.stderr and "stale_state" in run.stderr
