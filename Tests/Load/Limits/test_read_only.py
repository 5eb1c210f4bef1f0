"""The file system of the data directory becomes read-only under the server, or is so from the start."""

import json

from namespace import mount
from outage import endure


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
