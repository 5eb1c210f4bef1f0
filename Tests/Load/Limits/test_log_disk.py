"""The disk of the log is full: lines are lost, and nothing else."""

import json

from namespace import mount
from outage import finish
from place import RECOVERY, Disk, within


def test_a_full_log_disk_stops_no_request_and_lost_lines_are_counted(make_place, make_crowd):
    place = make_place({"log.level": "debug"})
    folder = place.folder / "log"
    folder.mkdir()
    mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder))
    place.log = folder / "bramley.log"
    disk = Disk(folder)
    place.start()
    crowd = make_crowd(place)
    crowd.gets(10)

    disk.fill()
    full, mark = place.log.stat().st_size, crowd.mark()
    crowd.gets(40, since=mark)
    crowd.check_undisturbed(mark)
    assert place.is_alive_and_ready()
    # At most the rest of the last page.
    assert place.log.stat().st_size - full < 8192

    disk.free()
    lost = "log lines dropped"
    within(RECOVERY, lambda: lost in place.text(), "the line that tells of it")
    crowd.stop()
    # Each line is whole, but for the one that the end of the disk cut.
    broken = []
    for line in place.text().splitlines():
        try:
            json.loads(line)
        except json.JSONDecodeError:
            broken.append(line)
    assert len(broken) <= 1, broken
    told = [json.loads(line) for line in place.text().splitlines() if lost in line]
    assert len(told) == 1 and told[0]["level"] == "warning" and int(told[0]["count"]) >= 20, told
    # The rest of the test reads the log of a server that has room for it.
    place.log = place.folder / "bramley.log"
    finish(place, crowd)
