"""Litestream beside Bramley, as docs/operate/backup.md has it: the real program, with a folder instead of S3."""

import contextlib
import json
import re
import sqlite3
import struct
import sys
from pathlib import Path

import pytest
import yaml

from documents import ROOT, fences
from patience import PATIENCE, eventually
from processes import fails, finished
from programs import Program, Site, write_private
from web import call, sign_in

LITESTREAM = Path(sys.executable).parent / "litestream"
# Bytes: of bramley.db-wal, when Bramley moves it into the database by itself.
CHECKPOINT = 16 * 2**20


class Replica:
    """A server, Litestream beside it, and what can be restored from the replica."""

    def __init__(self, binaries: Path, folder: Path, more: dict | None = None):
        """- more: members of Litestream's configuration instead of the page's."""
        self.site = Site(binaries, folder, {"log.level": "info"}).start()
        self.folder, self.database = folder, folder / "data/bramley.db"
        page = next(fence.text for fence in fences() if (fence.page, fence.language) == ("docs/operate/backup.md", "yaml"))
        configuration = yaml.safe_load(page)
        assert configuration["dbs"][0]["path"] == "/var/lib/bramley/data/bramley.db"
        replica = configuration["dbs"][0]["replica"]
        assert replica.pop("type") == "s3" and replica.pop("bucket") and replica.pop("path")
        replica |= {"type": "file", "path": str(folder / "replica")}
        configuration["dbs"][0]["path"] = str(self.database)
        assert configuration["snapshot"]["retention"] == "72h"
        write_private(folder / "litestream.yml", yaml.safe_dump(configuration | (more or {})).encode())
        self.restored = 0
        self.start()

    def start(self) -> None:
        self.litestream = Program([str(LITESTREAM), "replicate", "-config", str(self.folder / "litestream.yml")],
                                  self.folder / "litestream.log")

    def stop(self) -> None:
        assert self.litestream.stop() == 0, self.litestream.text()

    def restore(self) -> Path | None:
        """`litestream restore -o copy.db …`; None while there is nothing to restore."""
        self.restored += 1
        copy = self.folder / f"copy{self.restored}.db"
        done = finished(LITESTREAM, "restore", "-config", self.folder / "litestream.yml", "-o", copy, self.database)
        return copy if done.returncode == 0 else None

    def holds(self, query: str, answer: int) -> Path:
        """A restored copy that says so, as soon as there is one."""
        def says() -> Path | None:
            copy = self.restore()
            return copy if copy and read(copy, query) == answer else None

        found = eventually(says, f"{query}: {answer}", self.litestream.text)
        assert read(found, "PRAGMA integrity_check") == "ok"
        return found

    def end(self) -> None:
        self.site.end()
        self.litestream.stop()


def read(file: Path, query: str):
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=PATIENCE)) as connection:
        try:
            return connection.execute(query).fetchone()[0]
        except sqlite3.DatabaseError as error:
            return str(error)


def rounds(log: Path) -> int:
    """Checkpoints after which the log began anew: https://www.sqlite.org/fileformat2.html#the_write_ahead_log."""
    return struct.unpack(">I", log.read_bytes()[12:16])[0]


@pytest.fixture
def replica(binaries, tmp_path):
    replica = Replica(binaries, tmp_path)
    yield replica
    replica.end()


def test_restore_refuses_while_it_is_open(replica):
    """And afterwards sessions are still valid, from only the replica."""
    token = sign_in(replica.site, "ada")
    copy = replica.holds("SELECT count(*) FROM session", 1)
    assert replica.site.stop() == 0
    fails(replica.site.operator.run("restore", "--yes", str(copy)), "litestream")
    replica.stop()
    assert (done := replica.site.operator.run("restore", "--yes", str(copy))).returncode == 0, done.stderr
    replica.site.start()
    shown = replica.site.operator.run("sessions", "list", "--json")
    assert len(json.loads(shown.stdout)["items"]) == 1, shown
    assert call(replica.site, "GET", "/auth/verify", {"Cookie": f"__Host-bramley={token}"}).status == 204


def test_checkpoints_of_bramley_lose_nothing(replica):
    """More than the log may hold is written while Litestream copies it, and once more while Litestream is away."""
    sign_in(replica.site, "ada")
    replica.holds("SELECT count(*) FROM user", 1)
    log = Path(f"{replica.database}-wal")
    before_all, written, people = rounds(log), 0, 1
    while written < CHECKPOINT * 1.1:
        before = read(replica.database, "PRAGMA page_count")
        lines = "".join(json.dumps({"appleSubject": f"001234.{people + number}", "name": {"given": "A" * 100}}) + "\n"
                        for number in range(4000))
        assert (done := replica.site.operator.run("users", "import", "-", input=lines)).returncode == 0, done.stderr
        people += 4000
        written += (read(replica.database, "PRAGMA page_count") - before) * 4096
    replica.holds("SELECT count(*) FROM user", people)

    def is_moved() -> bool:
        # Whoever writes next after a whole checkpoint begins the log again.
        sign_in(replica.site, "ada")
        return rounds(log) > before_all

    eventually(is_moved, "a log that is begun anew while Litestream reads it", replica.litestream.text)
    replica.holds("SELECT count(*) FROM user", people)
    replica.stop()
    sign_in(replica.site, "boris")
    replica.site.stop()
    replica.site.start()
    replica.start()
    replica.holds("SELECT count(*) FROM user", people + 1)


def test_later_copies_do_not_contain_deleted_people(replica):
    sign_in(replica.site, "chie")
    copy = replica.holds("SELECT count(*) FROM user", 1)
    assert b"chie@example.net" in copy.read_bytes()
    assert replica.site.operator.run("users", "delete", "--yes", read(copy, "SELECT id FROM user")).returncode == 0
    copy = replica.holds("SELECT count(*) FROM user", 0)
    assert b"chie@example.net" not in copy.read_bytes()


def test_the_page_names_the_remains_in_the_database(replica):
    page = (ROOT / "docs/operate/backup.md").read_text()
    sign_in(replica.site, "ada")
    replica.holds("SELECT count(*) FROM user", 1)
    tables = read(replica.database, "SELECT group_concat(name) FROM sqlite_schema WHERE name LIKE '%litestream%'")
    assert sorted(tables.split(",")) == sorted(set(re.findall(r"`(_litestream_\w+)`", page)))
    assert (replica.folder / "data/.bramley.db-litestream").is_dir() and "`.bramley.db-litestream`" in page


def test_old_states_are_deleted_after_the_retention(binaries, tmp_path):
    """What the page says of `retention` holds: of an old state nothing is left in the replica."""
    replica = Replica(binaries, tmp_path, {
        "snapshot": {"interval": "1s", "retention": "2s"}, "levels": [{"interval": "1s"}], "l0-retention": "1s",
        "l0-retention-check-interval": "1s"})
    try:
        sign_in(replica.site, "ada")
        replica.holds("SELECT count(*) FROM user", 1)
        old = set((tmp_path / "replica").rglob("*.ltx"))

        def are_gone() -> bool:
            # Something has to be written for there to be a new state.
            sign_in(replica.site, "ada")
            return not any(file.exists() for file in old)

        eventually(are_gone, "the end of the old files", lambda: replica.litestream.text()[-3000:])
    finally:
        replica.end()
