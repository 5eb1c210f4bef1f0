"""The service manager: sockets it holds, what it is told (sd_listen_fds(3), sd_notify(3)), and a loop that hangs."""

import concurrent.futures
import contextlib
import ctypes
import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from patience import eventually
from programs import listens
from service import Manager
from web import call


def listening(port: int, count: int = 1) -> list[socket.socket]:
    sockets = []
    for _ in range(count):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if count > 1:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        one.bind(("127.0.0.1", port))
        one.listen(1024)
        sockets.append(one)
    return sockets


# The loops are two: one socket for both, one for each, more than loops.
@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_inherited_socket_is_served(make_service, count):
    service = make_service()
    sockets = listening(service.site.port, count)
    service.start(sockets={"visitors": sockets})
    for one in sockets:
        one.close()
    service.wait()
    # Enough connections for each socket of the group to have had some, and for none to wait in a queue for ever.
    assert {call(service.site, "GET", "/login").status for _ in range(60)} == {200}
    service.hand_over()
    assert {call(service.site, "GET", "/login").status for _ in range(60)} == {200}


def test_clients_wait_while_the_manager_restarts_the_server(make_service):
    service = make_service()
    sockets = listening(service.site.port)
    service.start(sockets={"visitors": sockets}).wait()
    service.end()
    with ThreadPoolExecutor(20) as pool:
        waiting = [pool.submit(call, service.site, "GET", "/login", timeout=60) for _ in range(20)]
        service.start(sockets={"visitors": sockets})
    assert [answer.result().status for answer in waiting] == [200] * 20
    sockets[0].close()


def test_the_admin_socket_is_inherited_too(make_service):
    service = make_service()
    sockets = {"visitors": listening(service.site.port), "admin": listening(service.site.admin_port)}
    service.start(sockets=sockets).wait()
    assert service.site.admin("/readyz").status == 200


def test_another_address_than_the_configured_is_used_and_reported(make_service):
    service = make_service()
    configured, sockets = service.site.port, listening(0)
    port = sockets[0].getsockname()[1]
    service.start(sockets={"visitors": sockets})
    line = service.line("inherited socket used")
    assert f":{port}" in line and f":{configured}" in line and "server.port" in line
    service.line("listening")
    assert listens(port) and not listens(configured)


def refused(service, sockets) -> str:
    service.start(sockets=sockets)
    assert service.first.wait(timeout=60) == 1
    return service.text()


def test_inherited_sockets_that_do_not_listen_are_refused(make_service):
    assert "none of visitors, admin and redirects" in refused(make_service(), {"bramley.socket": listening(0)})
    datagrams, deaf = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), socket.socket()
    deaf.bind(("127.0.0.1", 0))
    for sockets in ([datagrams], [deaf], listening(0) + listening(0)):
        assert "cannot be listened on" in refused(make_service(), {"visitors": sockets})


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


SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
ANY_THREAD = 0x40000000
# Between two signs of life, in seconds.
INTERVAL = 0.2


@contextlib.contextmanager
def held(thread: int):
    """Stops one thread of another process, as a debugger does; the others continue."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes, libc.ptrace.restype = [ctypes.c_long] * 2 + [ctypes.c_void_p] * 2, ctypes.c_long
    if libc.ptrace(SEIZE, thread, None, None) != 0:
        if ctypes.get_errno() == 1:
            pytest.skip("this machine lets nobody stop a thread of another process")
        # It has ended.
        raise ProcessLookupError(thread)
    libc.ptrace(INTERRUPT, thread, None, None)
    os.waitpid(thread, ANY_THREAD)
    try:
        yield
    finally:
        libc.ptrace(DETACH, thread, None, None)


def is_silent(manager: Manager) -> bool:
    """Whether no sign of life comes in the time of five. One may have been on its way."""
    manager.drain()
    for expected in range(2):
        try:
            manager.wait_for(lambda _, lines: "WATCHDOG" in lines, "a sign of life", patience=5 * INTERVAL)
        except AssertionError:
            return True
    return False


def health(service) -> tuple[int, str]:
    answer = service.site.admin("/healthz")
    return answer.status, answer.text


@pytest.mark.parametrize("manager", ["path"], indirect=True)
def test_a_hanging_loop_stops_the_watchdog_and_fails_healthz(make_service, manager):
    service = make_service()
    service.start({"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": str(int(2 * INTERVAL * 1_000_000))})
    manager.wait_for(lambda _, lines: "WATCHDOG" in lines, "WATCHDOG=1")
    loops = []
    for thread in {int(entry.name) for entry in Path(f"/proc/{service.process}/task").iterdir()} - {service.process}:
        try:
            with held(thread):
                if is_silent(manager):
                    loops.append(thread)
        except ProcessLookupError:
            continue
        # And again as soon as it turns.
        manager.wait_for(lambda _, lines: "WATCHDOG" in lines, "WATCHDOG=1 again")
    assert len(loops) == 2, "each of the two loops is missed, and no other thread"
    assert health(service)[0] == 200
    # The one that does not answer the operator itself. The other answers when it turns again, and then all is well.
    problems = []
    for loop in loops:
        with concurrent.futures.ThreadPoolExecutor(1) as pool, held(loop):
            answer = pool.submit(health, service)
            # The server itself waits for two seconds.
            concurrent.futures.wait([answer], timeout=15)
        status, text = answer.result()
        assert status in (200, 503), text
        problems += [text] if status == 503 else []
        eventually(lambda: health(service)[0] == 200, "recovery")
    assert len(problems) == 1 and "event loop 1 is not responding" in problems[0], problems
