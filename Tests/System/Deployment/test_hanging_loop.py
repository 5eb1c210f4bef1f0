"""One event loop hangs while the others run: the watchdog is no longer notified, and /healthz names the loop."""

import concurrent.futures
import contextlib
import ctypes
import os
from pathlib import Path

import pytest

from patience import eventually
from service import Manager

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
