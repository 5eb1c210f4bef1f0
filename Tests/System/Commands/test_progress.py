"""Work of more than a second shows its progress, only on a terminal, and Ctrl-C ends it cleanly."""

import re
import signal
import subprocess
import time

import pytest

from patience import eventually
from terminal import Terminal, open_files, stop_when

# A copy of it takes many steps, and reading it back its time.
PEOPLE = 120_000
NOTIFICATIONS = 2_000


@pytest.fixture(scope="module")
def house(make_shared_site):
    """A database with a crowd in it, and no server."""
    operator = make_shared_site(start=False).rest()
    operator.database(
        "INSERT INTO user (id, state, given_name, created_at, updated_at) WITH RECURSIVE n (x) AS "
        f"(SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {PEOPLE}) "
        "SELECT 'usr_' || x, 'active', hex(randomblob(400)), 0, 0 FROM n")
    return operator


@pytest.fixture
def start(request, house):
    def start(*arguments: str, **options) -> Terminal:
        command = [str(house.program), *arguments, "--config", str(house.folder / "config.json")]
        terminal = Terminal(command, **options)
        request.addfinalizer(terminal.close)
        return terminal

    return start


@pytest.fixture
def target(house):
    for file in house.folder.glob("target.db*"):
        file.unlink()
    return house.folder / "target.db"


def is_copying(house, terminal: Terminal, target) -> bool:
    unfinished = target.with_name(target.name + ".unfinished")
    return (unfinished.exists() and unfinished.stat().st_size > 8 << 20
            and str(house.folder / "data/bramley.db") in open_files(terminal.process))


def is_reading_back(house, terminal: Terminal, target) -> bool:
    return str(target.with_name(target.name + ".unfinished")) in open_files(terminal.process, for_reading_alone=True)


MOMENTS = [(is_copying, r"\[#* *\] +\d+ %  \d+ pages"), (is_reading_back, "verifying the copy  0:0[1-9]")]


def caught(start, house, target, moment, *options: str) -> Terminal:
    """A backup that is stopped in one of its two steps; the step may be over before it is met."""
    for _ in range(30):
        terminal = start("backup", str(target), *options)
        if stop_when(terminal, lambda: moment(house, terminal, target)):
            assert terminal.was_quiet, "shown too early"
            # Its patience ends meanwhile.
            terminal.read(1.2)
            return terminal
        terminal.signal(signal.SIGCONT)
        terminal.end()
        target.unlink(missing_ok=True)
    raise AssertionError("the moment was never met")


@pytest.mark.parametrize("moment, line", MOMENTS)
def test_a_backup_shows_and_clears_its_progress(start, house, target, moment, line):
    for _ in range(5):
        terminal = caught(start, house, target, moment)
        terminal.signal(signal.SIGCONT)
        assert terminal.end().code == 0, terminal.screen
        assert terminal.screen.startswith(f"{target}: ") and "%" not in terminal.screen, terminal.screen
        assert "verifying the copy" not in terminal.screen
        if re.search(line, terminal.written.decode()):
            return
        # The rest of the step was too short for a line.
        target.unlink()
    raise AssertionError(terminal.written.decode())


def interrupted(start, house, target, moment, *options: str) -> Terminal:
    terminal = caught(start, house, target, moment, *options)
    terminal.type("\x03")
    terminal.signal(signal.SIGCONT)
    return terminal.end()


@pytest.mark.parametrize("moment", [moment for moment, _ in MOMENTS])
def test_ctrl_c_ends_a_backup_and_leaves_no_file(start, house, target, moment):
    for _ in range(5):
        terminal = interrupted(start, house, target, moment)
        if terminal.code != 0:
            break
        # It was done before it heard of it.
        target.unlink()
    assert terminal.code == 1, terminal.screen
    assert "error: Interrupted. Nothing was written." in terminal.screen and "%" not in terminal.screen
    assert list(house.folder.glob("target.db*")) == []


def test_ctrl_c_keeps_an_existing_backup(start, house, target):
    house.bramley("backup", str(target))
    for _ in range(5):
        # One that was done all the same has put another in its place.
        before = target.stat()
        terminal = interrupted(start, house, target, is_copying, "--force")
        if terminal.code == 1:
            break
    assert terminal.code == 1, terminal.screen
    assert target.stat().st_ino == before.st_ino
    assert list(house.folder.glob("target.db*")) == [target]
    house.bramley("restore", str(target), "--yes")


def test_ctrl_c_at_the_confirmation_of_a_restore_changes_nothing(start, house, target):
    house.bramley("backup", str(target))
    database = house.folder / "data/bramley.db"
    before = database.stat().st_ino
    terminal = start("restore", str(target))
    terminal.wait_for("Type yes to continue:")
    assert (house.folder / "data/restoring").exists()
    terminal.type("\x03")
    assert terminal.end().code == 1, terminal.screen
    assert "error: Interrupted. Nothing was done." in terminal.screen
    assert database.stat().st_ino == before and not (house.folder / "data/restoring").exists()
    terminal = start("restore", str(target))
    terminal.wait_for("Type yes to continue:")
    terminal.read(0.5)
    terminal.type("yes\n")
    assert terminal.end().code == 0, terminal.screen
    assert database.stat().st_ino != before


def test_ending_all_sessions_shows_the_elapsed_time(start, house):
    terminal = start("sessions", "revoke", "--all")
    terminal.wait_for("Type yes to continue:")
    with house.locked():
        terminal.type("yes\n")
        terminal.wait_for("ending all sessions  0:01")
    assert terminal.end().code == 0
    assert terminal.screen.splitlines()[-1] == "0 sessions revoked", terminal.screen
    assert "ending all sessions" not in terminal.screen


def test_the_doctor_says_that_it_is_waiting(start, house):
    house.site.apple.call("PUT", "faults/keys", {"delay": 2500})
    try:
        terminal = start("doctor", columns=200)
        terminal.wait_for("checking Apple and the server  0:01")
        terminal.end()
    finally:
        house.site.apple.call("POST", "faults/reset")
    assert "checking Apple" not in terminal.screen and "wrong" in terminal.screen


def test_a_replay_into_a_file_counts_on_the_terminal(start, house, tmp_path):
    house.database(
        "INSERT INTO notification (jti, type, client_id, subject, event_time, received_at, payload, outcome) "
        f"WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {NOTIFICATIONS}) "
        "SELECT 'jti' || x, 'consent-revoked', 'com.example.web', 'nobody', 0, x, '{}', 'unknownSubject' FROM n")
    file = tmp_path / "replayed"
    terminal = start("notifications", "replay", "--unknown-subjects", piped=file)
    assert stop_when(terminal, lambda: file.exists() and file.stat().st_size > 0)
    assert terminal.was_quiet, "shown too early"
    terminal.read(1.2)
    terminal.signal(signal.SIGCONT)
    assert terminal.end().code == 0
    assert terminal.screen == "", terminal.screen
    assert re.search(r"\[#* *\] +\d+ %  \d+ notifications", terminal.written.decode()), terminal.written
    assert len(file.read_text().splitlines()) == NOTIFICATIONS


def test_nothing_is_shown_where_there_is_no_terminal(house, target):
    command = [house.program, "backup", str(target), "--config", house.folder / "config.json"]
    for _ in range(10):
        target.unlink(missing_ok=True)
        with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            unfinished = target.with_name("target.db.unfinished")
            while process.poll() is None and not (unfinished.exists() and unfinished.stat().st_size > 8 << 20):
                pass
            process.send_signal(signal.SIGSTOP)
            # The time after which a terminal would have a line.
            time.sleep(1.2)
            was_there = unfinished.exists()
            process.send_signal(signal.SIGCONT)
            assert process.communicate(timeout=60)[1] == "" and process.returncode == 0
        if was_there:
            return
    raise AssertionError("the moment was never met")


@pytest.mark.parametrize("command, line, ending", [
    (["users", "import", "-"], '{"appleSubject":"%s"}', "{0} lines: {0} imported"),
    (["transfer", "import", "-"], "%s", "{0} of {0} lines were refused")])
def test_lines_that_come_slowly_are_counted(start, house, command, line, ending):
    terminal = start(*command, columns=120)
    count = 0

    def is_counted() -> bool:
        """The command looks at the clock when a line comes: on a slow machine it has begun after the first few."""
        nonlocal count
        terminal.type(line % f"{command[0]}{count}" + "\n")
        terminal.read(0.5)
        count += 1
        return b" lines  " in terminal.written

    eventually(is_counted, "the number of lines", lambda: terminal.written.decode())
    terminal.type("\x04")
    terminal.end()
    ending = ending.format(count)
    assert ending in terminal.screen and not re.search(r"lines  \d+/s", terminal.screen), terminal.screen
