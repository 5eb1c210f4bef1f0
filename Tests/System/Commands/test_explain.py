"""What `bramley explain` says of a name, of all codes, and of no name that there is."""

import pytest


@pytest.mark.parametrize("code, words", [
    ("stale_state", ["400", "info", "took longer than `login.attemptLifetime`", "retry page", "the clock jumped"]),
    ("external_id_taken", ["409", "debug", "another user has this external ID", "problem", "nothing"]),
    ("storage", ["503", "error", "free or repair the disk (docs/operate/limits.md#the-database-takes-no-writes)"]),
    ("clock_unknown", ["bramley doctor", "unsure", "no answer from Apple had a date"]),
    ("webhook event moved to dead letters", ["warning", "Fix the application"]),
    ("bramley_store_file_bytes", ["gauge", "Size of the database", "`database`, `wal`"]),
    ("server.limits.body", ["524288 (32768–16777216 bytes)", "Longest request body"]),
    # A reason and a finding.
    ("client_refused", ["what happened  Apple refused you", "check          client"]),
])
def test_a_name_is_explained(run_command, code, words):
    run = run_command("explain", code)
    assert run.returncode == 0 and run.stderr == ""
    assert run.stdout.splitlines()[0] == code
    assert all(word in run.stdout for word in words), run.stdout


def test_all_codes_are_listed_one_per_line(run_command):
    lines = [line.split("\t") for line in run_command("explain").stdout.splitlines()]
    assert len(lines) > 60 and all(len(line) == 3 for line in lines)
    assert ["stale_state", "400", "the sign-in took longer than `login.attemptLifetime`"] in lines


@pytest.mark.parametrize("arguments, said, others", [
    (["stale_stat"], "There is nothing named \"stale_stat\" to explain", "stale_state"),
    (["--reference", "metric"], "There is no page \"metric\"", "failures, doctor, metrics, log-lines")])
def test_an_unknown_name_or_page_is_a_usage_error_with_suggestions(run_command, arguments, said, others):
    run = run_command("explain", *arguments)
    assert run.returncode == 64 and run.stdout == ""
    assert said in run.stderr and others in run.stderr
