"""`bramley restore` beside others who have the database open, and from an older Bramley."""

import contextlib
import fcntl
import itertools
import os
import sqlite3
import subprocess

import pytest

from patience import eventually
from processes import fails
from programs import ROOT, preloaded
from terminal import Terminal


@pytest.fixture
def house(make_site):
    """A database with one person and one session, a backup of it, and no server."""
    operator = make_site(start=False).rest()
    add_user(operator, "usr_kept")
    operator.insert("apple_identity", {
        "id": 1, "user": "usr_kept", "team": "TEAM123456", "subject": "subject", "credential_state": "authorized",
        "last_sign_in_issued_at": 0, "created_at": 0})
    operator.insert("session", {
        "token_hash": b"\x01" * 32, "id": "ses_" + "1" * 26, "kind": "browser", "user": "usr_kept",
        "client_id": "com.example.web", "user_agent": "", "address": "192.0.2.1", "issued_at": 0, "created_at": 0,
        "last_seen_at": 4_000_000_000_000, "expires_at": 4_000_000_000_000, "identity": 1})
    operator.bramley("backup", str(operator.folder / "backup.db"))
    return operator


def add_user(house, user: str) -> None:
    house.insert("user", {"id": user, "state": "active", "created_at": 0, "updated_at": 0})


def data(house):
    return house.folder / "data"


def restore(house, *arguments: str, **options) -> subprocess.CompletedProcess:
    return house.run("restore", str(house.folder / "backup.db"), "--yes", *arguments, **options)


def test_an_unfinished_backup_is_not_overwritten(house):
    """A process killed between link(2) and unlink(2) leaves one file with two names."""
    target, kept = house.folder / "backup.db", house.folder / "kept.db"
    os.link(target, target.with_name("backup.db.unfinished"))
    os.link(target, kept)
    content = kept.read_bytes()
    add_user(house, "usr_later")
    house.bramley("backup", "--force", str(target))
    assert kept.read_bytes() == content
    assert target.stat().st_ino != kept.stat().st_ino and kept.stat().st_nlink == 1
    assert not target.with_name("backup.db.unfinished").exists()


def test_a_backup_does_not_follow_a_planted_link(house):
    precious = house.folder / "precious"
    precious.write_text("precious")
    planted = house.folder / "new.db.unfinished"
    planted.symlink_to(precious)
    fails(house.run("backup", str(house.folder / "new.db")), "is a symbolic link")
    assert precious.read_text() == "precious" and not (house.folder / "new.db").exists()
    # One that leads nowhere makes nothing there.
    planted.unlink()
    planted.symlink_to(house.folder / "made")
    assert house.run("backup", str(house.folder / "new.db")).returncode == 1
    assert not (house.folder / "made").exists()


def test_a_backup_is_not_written_into_a_file_that_others_can_open(house):
    planted = house.folder / "new.db.unfinished"
    planted.touch()
    planted.chmod(0o666)
    fails(house.run("backup", str(house.folder / "new.db")), "accessible to another user")
    if os.getuid() == 0:
        planted.chmod(0o600)
        os.chown(planted, 65534, 65534)
        assert "accessible to another user" in house.run("backup", str(house.folder / "new.db")).stderr
    assert planted.stat().st_size == 0 and not (house.folder / "new.db").exists()
    planted.unlink()
    house.bramley("backup", str(house.folder / "new.db"))


@pytest.mark.parametrize("name, command", [
    ("restore.lock", ("users", "list")), ("restore.lock", ("backup", "new.db")), ("serve.lock", ("restore", "backup.db", "--yes")),
    ("restoring", ("restore", "backup.db", "--yes")),
])
def test_no_command_follows_a_link_in_the_data_directory(house, name, command):
    elsewhere, planted = house.folder / "elsewhere", data(house) / name
    if name == "restoring":
        elsewhere.mkdir(mode=0o700)
        (elsewhere / "bramley.db").write_text("precious")
    planted.unlink(missing_ok=True)
    planted.symlink_to(elsewhere)
    fails(house.run(*[str(house.folder / word) if word.endswith(".db") else word for word in command]), planted.name)
    assert (elsewhere / "bramley.db").read_text() == "precious" if name == "restoring" else not elsewhere.exists()


def untouched(house) -> tuple:
    """The files that a refused restore does not change."""
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
        assert "Another program" in done.stderr and "Stop it first" in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert untouched(house) == before
        assert other.execute("SELECT count(*) FROM user").fetchone() == (1,)
    assert restore(house).returncode == 0


def test_a_restore_and_other_commands_do_not_wait_for_each_other(house):
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
        assert "Another bramley command is using" in done.stderr and len(done.stderr.splitlines()) == 1
        assert untouched(house) == before
        assert house.run("users", "list").returncode == 0
        assert house.run("backup", str(house.folder / "second.db")).returncode == 0
    finally:
        follower.terminate()
        follower.wait()
    # A restore at work: at its question, it has the lock for itself.
    terminal = Terminal(
        [str(house.program), "restore", str(house.folder / "backup.db"), "--config", str(house.folder / "config.json")])
    try:
        terminal.wait_for("Type yes to continue:")
        for arguments in (["users", "list"], ["backup", str(house.folder / "third.db")], ["sessions", "list"]):
            done = house.run(*arguments)
            assert done.returncode == 1, arguments
            assert "bramley restore is running" in done.stderr and len(done.stderr.splitlines()) == 1
        second = restore(house)
        assert second.returncode == 1 and ("running" in second.stderr or "is using the database" in second.stderr), second.stderr
        assert not (house.folder / "third.db").exists()
        terminal.type("yes\n")
        assert terminal.end().code == 0, terminal.screen
    finally:
        terminal.close()
    assert house.run("users", "list").returncode == 0
    assert restore(house).returncode == 0


def is_locked(path) -> bool:
    if not path.exists():
        return False
    with path.open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except OSError:
            return True


def kill_points(tmp_path):
    """Kills the process before its KILL_AT-th step that adds, removes or changes a name below `data`."""
    return preloaded("""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
static int is_database(int fd) {
    char name[64], path[4096];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t count = readlink(name, path, sizeof path - 1);
    if (count < 0 || !getenv("KILL_AT")) return 0;
    path[count] = 0;
    const char *end = strstr(path, "/data/bramley.db");
    return end && !strcmp(end, "/data/bramley.db");
}
/* A disk that takes nothing more into the database: its log cannot be moved there. */
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t place) {
    if (is_database(fd)) { errno = EIO; return -1; }
    return ((ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64"))(fd, bytes, count, place);
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t place) { return pwrite64(fd, bytes, count, place); }
static int steps;
static void step(const char *path) {
    const char *at = getenv("KILL_AT");
    if (at && strstr(path, "/data/") && ++steps == atoi(at)) kill(getpid(), SIGKILL);
}
#define COUNTED(name, parameters, arguments, path) \\
    int name parameters { step(path); return ((int (*) parameters)dlsym(RTLD_NEXT, #name)) arguments; }
COUNTED(rename, (const char *from, const char *to), (from, to), to)
COUNTED(link, (const char *from, const char *to), (from, to), to)
COUNTED(unlink, (const char *path), (path), path)
""", tmp_path / "kill.so")


def damage(house) -> dict[str, bytes]:
    """A database with a log that is not moved into it, and with a person whom the backup has not; the bytes of both."""
    path = data(house) / "bramley.db"
    add_user(house, "usr_later")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE user SET updated_at = updated_at + 1")
        files = {suffix: path.with_name("bramley.db" + suffix).read_bytes() for suffix in ("", "-wal")}
    assert files["-wal"]
    return files


def test_a_kill_at_any_step_leaves_the_old_database_or_the_backup(house, tmp_path):
    """Between the end of the old log and the new file there was neither."""
    library, path = kill_points(tmp_path), data(house) / "bramley.db"
    old = damage(house)
    ends = {"old": 0, "new": 0}
    for number in itertools.count(1):
        for file in data(house).glob("bramley.db*"):
            file.unlink()
        for suffix, content in old.items():
            file = path.with_name("bramley.db" + suffix)
            file.write_bytes(content)
            file.chmod(0o600)
        done = restore(house, env=os.environ | {"LD_PRELOAD": str(library), "KILL_AT": str(number)})
        assert done.returncode in (0, -9), done.stderr
        log = path.with_name("bramley.db-wal")
        is_old = path.read_bytes() == old[""] and log.exists() and log.read_bytes() == old["-wal"]
        if done.returncode and is_old and not path.with_name("bramley.db.restored").exists():
            ends["old"] += 1
            continue
        listed = house.run("users", "list")
        assert listed.returncode == 0 and "usr_kept" in listed.stdout, (number, listed.stderr)
        assert house.database("SELECT id FROM user") == [("usr_kept",)], f"step {number}: the old one, without its log"
        assert not path.with_name("bramley.db.restored").exists()
        kept = [file for file in data(house).glob("bramley.db.before-restore-*") if not file.name.endswith("-wal")]
        assert len(kept) == 1 and kept[0].read_bytes() == old[""]
        assert kept[0].with_name(kept[0].name + "-wal").read_bytes() == old["-wal"]
        ends["new"] += 1
        if done.returncode == 0:
            break
    assert ends["old"] >= 3 and ends["new"] >= 3, ends


def test_a_server_finishes_a_restore_that_was_killed(house, tmp_path):
    library, path = kill_points(tmp_path), data(house) / "bramley.db"
    damage(house)
    waiting = path.with_name("bramley.db.restored")
    number = 0
    while not waiting.exists():
        number += 1
        done = restore(house, env=os.environ | {"LD_PRELOAD": str(library), "KILL_AT": str(number)})
        assert done.returncode == -9, done.stderr
    # The damaged one is all there is yet.
    serve_again(house)
    assert "interrupted restore completed" in house.site.server.text()
    assert not waiting.exists()
    house.site.stop()
    assert house.database("SELECT id FROM user") == [("usr_kept",)]


def serve_again(house) -> None:
    house.site.start()
    eventually(lambda: house.site.server.text().count("listening") == 2, "the server", house.site.server.text)


def age(file) -> None:
    """As an older Bramley has left it."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.executescript((ROOT / "Tests/Support/Former/age.sql").read_text() + "VACUUM")


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
    serve_again(house)
    house.site.stop()
    # Without it, the schema stays for the server to bring up to date, and says so.
    done = restore(house)
    assert done.returncode == 0 and "updates its schema" in done.stdout
    assert steps(data(house) / "bramley.db") != newest
    assert "older" in house.run("users", "list").stderr
