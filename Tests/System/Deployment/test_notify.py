"""Notifications to the service manager: sd_notify(3)."""

import os
import signal
import socket
import time

import pytest

from patience import eventually
from programs import listens
from web import call


def test_start_reload_and_stop_are_reported(make_service, manager):
    service = make_service()
    service.start({"NOTIFY_SOCKET": manager.address})
    process, ready = manager.wait_for(lambda _, lines: "READY" in lines, "READY=1")
    assert (ready["READY"], ready["MAINPID"], process) == ("1", str(service.process), service.process)
    assert str(service.site.port) in ready["STATUS"]
    # It is true: the first connection is taken.
    assert listens(service.site.port)
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    service.signal(signal.SIGHUP)
    _, reloading = manager.wait_for(lambda _, lines: "RELOADING" in lines, "RELOADING=1")
    assert before <= int(reloading["MONOTONIC_USEC"]) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    manager.wait_for(lambda _, lines: lines.get("READY") == "1", "READY=1 after the reload")
    assert "Apple client keys reloaded" in service.text()
    service.signal(signal.SIGTERM)
    manager.wait_for(lambda _, lines: lines.get("STOPPING") == "1", "STOPPING=1")
    assert service.first.wait(timeout=60) == 0
    manager.drain()
    assert all("WATCHDOG" not in lines for _, lines in manager.heard), "nobody asked for signs of life"


def test_a_server_that_cannot_start_is_never_ready(make_service, manager):
    service = make_service()
    with socket.create_server(("127.0.0.1", service.site.port)):
        service.start({"NOTIFY_SOCKET": manager.address})
        assert service.first.wait(timeout=60) == 1
    manager.drain()
    assert manager.heard == []


def test_watchdog_notifications_are_sent_while_every_loop_runs(make_service, manager):
    service = make_service()
    service.start({"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "400000"})
    manager.wait_for(lambda _, lines: "READY" in lines, "READY=1")
    start = time.monotonic()
    for _ in range(5):
        manager.wait_for(lambda _, lines: "WATCHDOG" in lines, "WATCHDOG=1")
    assert time.monotonic() - start > 0.5, "they come more often than they are wanted"
    # A loop that hangs: the process is stopped as a whole, as the only way to stop one from outside.
    service.signal(signal.SIGSTOP)
    manager.drain()
    count = len(manager.heard)
    try:
        with pytest.raises(AssertionError, match="waited in vain for a sign of life"):
            manager.wait_for(lambda *_: True, "a sign of life", patience=1)
        assert len(manager.heard) == count
    finally:
        service.signal(signal.SIGCONT)
    manager.wait_for(lambda _, lines: "WATCHDOG" in lines, "WATCHDOG=1 again")


def test_watchdog_notifications_for_another_process_are_not_sent(make_service, manager):
    service = make_service()
    service.start({"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "100000", "WATCHDOG_PID": str(os.getpid())})
    manager.wait_for(lambda _, lines: "READY" in lines, "READY=1")
    service.wait()
    service.signal(signal.SIGTERM)
    service.first.wait(timeout=60)
    manager.drain()
    assert all("WATCHDOG" not in lines for _, lines in manager.heard)


def test_an_unused_notify_address_is_ignored(make_service, tmp_path):
    for address in [str(tmp_path / "nobody"), "vsock:2:1", "relative"]:
        service = make_service()
        service.start({"NOTIFY_SOCKET": address}).wait()
        service.end()
        assert service.first.returncode == 0


def test_changes_that_need_a_restart_are_named(serving):
    file = serving.site.folder / "config.json"
    before = file.read_text()
    # The third is taken at once, the last as it was by default.
    serving.site.configure({
        "server.port": serving.site.port + 1, "site.name": "A New Name", "apple.keyID": "TESTKEY002",
        "server.drainTimeout": 25})

    def lines() -> list[str]:
        return [line for line in serving.text().splitlines() if "configuration change needs a restart" in line]

    def reload(times: int) -> None:
        serving.signal(signal.SIGHUP)
        eventually(lambda: serving.text().count("Apple client keys reloaded") == times, "the reload", serving.text)

    reload(1)
    # The line comes after the one that was waited for.
    eventually(lambda: len(lines()) == 1, "the line", serving.text)
    assert "server.port, site.name" in lines()[0]
    assert "apple." not in lines()[0] and "drainTimeout" not in lines()[0] and "A New Name" not in lines()[0]
    file.write_text(before)
    reload(2)
    assert "Orchard Club" in call(serving.site, "GET", "/login").text
    serving.end()
    assert len(lines()) == 1
