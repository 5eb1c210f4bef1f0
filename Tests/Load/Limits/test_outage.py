"""The database takes no writes: its disk is full or read-only, or another process holds it."""

import json
import sqlite3
import statistics

from namespace import mount
from outage import endure
from patience import PATIENCE
from place import Disk


def test_a_full_disk_is_reported_and_loses_nothing_acknowledged(make_place, make_crowd):
    place = make_place(disk="24m").start()
    disk = Disk(place.data)
    endure(place, make_crowd(place), disk.fill, disk.free, "database or disk is full",
           "free space on the file system of storage.directory")


def test_a_disk_that_becomes_read_only_is_reported_and_loses_nothing(make_place, make_crowd, library):
    place = make_place()
    switch = place.folder / "read-only"
    place.start(environment={
        "LD_PRELOAD": str(library("readonly")), "READ_ONLY_SWITCH": str(switch), "READ_ONLY_FOLDER": str(place.data)})
    endure(place, make_crowd(place), switch.touch, switch.unlink, "disk I/O error", "read-only")


def test_a_start_on_a_read_only_disk_is_refused_in_one_line(make_place):
    place = make_place({"apple.bundleIDs": ["com.example.app"]}, disk="24m").start()
    assert place.stop() == 0
    mount("-o", "remount,bind,ro", str(place.data))
    done = place.site.operator.run("serve", timeout=60)
    assert done.returncode == 1
    lines = [json.loads(line) for line in (done.stdout + done.stderr).splitlines()]
    assert len(lines) == 1, lines
    assert "ead-only file system" in lines[0]["cause"] and str(place.data) in lines[0]["cause"]
    mount("-o", "remount,bind,rw", str(place.data))
    place.start()
    assert place.stop() == 0


def test_a_database_locked_by_another_process_is_reported_and_loses_nothing(make_place, make_crowd):
    place = make_place().start()
    other = sqlite3.connect(place.data / "bramley.db", timeout=PATIENCE, isolation_level=None)
    # More people than one of whom would wait: each is answered within the time that a write waits.
    crowd = make_crowd(place, signers=6)
    endure(place, crowd, lambda: other.execute("BEGIN EXCLUSIVE"), lambda: other.execute("ROLLBACK"),
           "database is locked", "stop the process that holds a lock on bramley.db", refusals=6)
    other.close()
    refused = [noted.seconds for noted in crowd.since(0, "sign-in") if noted.status == 503]
    assert statistics.median(refused) < 20, refused
