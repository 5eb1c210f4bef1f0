"""The disk of the data directory is full."""

from outage import endure
from place import Disk


def test_a_full_disk_is_reported_and_loses_nothing_acknowledged(make_place, make_crowd):
    place = make_place(disk="24m").start()
    disk = Disk(place.data)
    endure(place, make_crowd(place), disk.fill, disk.free, "database or disk is full",
           "free space on the file system of storage.directory")
