"""`bramley restore` beside others who have the database open, and from an older Bramley."""

import contextlib
import fcntl
import os
import sqlite3
import subprocess

import pytest

from operating import Operator
from patience import eventually
from programs import Site
from terminal import Terminal

SESSION = "ses_" + "1" * 26


@pytest.fixture
def house(binaries, tmp_path):
    """A database with one person and one session, a backup of it, and no server."""
    site = Site(binaries, tmp_path, {})
    site.start()
    eventually(lambda: "listening" in site.server.text(), "the server", site.server.text)
    site.stop()
    operator = Operator(binaries, tmp_path)
    operator.site = site
    operator.database("INSERT INTO user (id, state, created_at, updated_at) VALUES ('usr_kept', 'active', 0, 0)")
    sign_in(operator)
    operator.bramley("backup", str(tmp_path / "backup.db"))
    yield operator
    site.end()


def sign_in(house) -> None:
    columns = {
        "token_hash": b"\x01" * 32, "id": SESSION, "kind": "browser", "user": "usr_kept",
        "client_id": "com.example.web", "user_agent": "", "address": "192.0.2.1", "issued_at": 0, "created_at": 0, "last_seen_at": 4_000_000_000_000,
        "expires_at": 4_000_000_000_000, "identity": 1}
    house.database(
        "INSERT INTO apple_identity (id, user, team, subject, credential_state, last_sign_in_issued_at, created_at) "
        "VALUES (1, 'usr_kept', 'TEAM123456', 'subject', 'authorized', 0, 0)")
    house.database(
        f"INSERT INTO session ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", *columns.values())


def data(house):
    return house.folder / "data"


def restore(house, *arguments: str) -> subprocess.CompletedProcess:
    return house.run("restore", str(house.folder / "backup.db"), "--yes", *arguments)


def test_a_backup_that_still_has_its_first_name_is_not_written_over(house):
    """A process killed between link(2) and unlink(2) leaves one file with two names."""
    target, kept = house.folder / "backup.db", house.folder / "kept.db"
    os.link(target, target.with_name("backup.db.unfinished"))
    os.link(target, kept)
    content = kept.read_bytes()
    house.database("INSERT INTO user (id, state, created_at, updated_at) VALUES ('usr_later', 'active', 0, 0)")
    house.bramley("backup", "--force", str(target))
    assert kept.read_bytes() == content
    assert target.stat().st_ino != kept.stat().st_ino and kept.stat().st_nlink == 1
    assert not target.with_name("backup.db.unfinished").exists()


def untouched(house) -> tuple:
    """What a restore that is refused leaves alone."""
    return (data(house) / "bramley.db").stat().st_ino, sorted(
        file.name for file in data(house).iterdir() if "before-restore" in file.name or file.name == "restoring")


# Who reads in the middle of a transaction, who only has it open, and who writes.
@pytest.mark.parametrize("statements", [
    ["BEGIN", "SELECT count(*) FROM user"], ["SELECT count(*) FROM user"],
    ["BEGIN IMMEDIATE", "UPDATE user SET updated_at = 1"]])
def test_another_program_that_has_the_database_open_is_named_and_nothing_is_changed(house, statements):
    before = untouched(house)
    with contextlib.closing(sqlite3.connect(data(house) / "bramley.db", isolation_level=None)) as other:
        for statement in statements:
            other.execute(statement).fetchall()
        done = restore(house)
        assert done.returncode == 1, done.stdout
        assert "Another program has" in done.stderr and "end it first" in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert untouched(house) == before
        # And they go on undisturbed.
        assert other.execute("SELECT count(*) FROM user").fetchone() == (1,)
    assert restore(house).returncode == 0


def test_a_restore_waits_for_no_command_and_no_command_for_a_restore(house):
    lock = data(house) / "restore.lock"
    before = untouched(house)
    # A command at work: it shares the lock.
    follower = subprocess.Popen(
        [house.program, "events", "tail", "--follow", "--config", house.folder / "config.json"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: is_locked(lock), "the command's lock")
        done = restore(house)
        assert done.returncode == 1
        assert "Another bramley command is at work" in done.stderr and len(done.stderr.splitlines()) == 1
        assert untouched(house) == before
        # Commands do not hinder each other.
        assert house.run("users", "list").returncode == 0
        assert house.run("backup", str(house.folder / "second.db")).returncode == 0
    finally:
        follower.terminate()
        follower.wait()
    # A restore at work: at its question, it has the lock for itself.
    terminal = Terminal(
        [str(house.program), "restore", str(house.folder / "backup.db"), "--config", str(house.folder / "config.json")])
    try:
        terminal.wait_for("Type yes to go on:")
        for arguments in (["users", "list"], ["backup", str(house.folder / "third.db")], ["sessions", "list"]):
            done = house.run(*arguments)
            assert done.returncode == 1, arguments
            assert "A bramley restore is under way" in done.stderr and len(done.stderr.splitlines()) == 1
        second = restore(house)
        assert second.returncode == 1 and ("running" in second.stderr or "at work" in second.stderr), second.stderr
        assert not (house.folder / "third.db").exists()
        terminal.type("yes\n")
        assert terminal.end().code == 0, terminal.screen
    finally:
        terminal.close()
    # Let go of at the end, by both.
    assert house.run("users", "list").returncode == 0
    assert restore(house).returncode == 0


def is_locked(path) -> bool:
    if not path.exists():
        return False
    number = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(number)


def age(file) -> None:
    """Takes the last step of the schema back, as an older Bramley has left it."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.executescript("DROP TABLE audit; DELETE FROM migration WHERE name >= '0014'; VACUUM")


def steps(file) -> list[str]:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return [name for name, in connection.execute("SELECT name FROM migration ORDER BY name")]


def test_everybody_is_signed_out_in_a_backup_of_an_older_bramley(house):
    backup = house.folder / "backup.db"
    age(backup)
    before, newest = backup.read_bytes(), steps(data(house) / "bramley.db")
    assert steps(backup) != newest
    done = restore(house, "--end-sessions")
    assert done.returncode == 0, done.stderr
    assert "1 session ended." in done.stdout and "older Bramley" not in done.stdout, done.stdout
    assert backup.read_bytes() == before, "the backup is as it was"
    assert steps(data(house) / "bramley.db") == newest
    assert house.database("SELECT count(*) FROM session") == [(0,)]
    assert house.database("SELECT id FROM user") == [("usr_kept",)]
    # The copy was brought up to date, so commands work without a start of the server between.
    assert "revoked_by_operator" in house.bramley("audit", "list", "--type", "session.ended")
    assert not (data(house) / "restoring").exists()
    house.site.start()
    eventually(lambda: house.site.server.text().count("listening") == 2, "the server", house.site.server.text)
    house.site.stop()
    # Without it, the schema stays for the server to bring up to date, and says so.
    done = restore(house)
    assert done.returncode == 0 and "brings it up to date" in done.stdout
    assert steps(data(house) / "bramley.db") != newest
    assert "older" in house.run("users", "list").stderr
