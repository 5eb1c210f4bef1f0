"""SIGUSR2: another process of the program takes over, and nobody notices."""

import contextlib
import fcntl
import os
import secrets
import shutil
import signal
import socket
import time
from pathlib import Path

import pytest

from echo import read_all
from load import Load, hand_over_under
from patience import PATIENCE, eventually
from processes import is_running
from programs import preloaded, write_private
from service import Manager
from web import call


def readiness(service) -> int:
    return service.site.admin("/readyz").status


def test_under_load_no_request_fails(make_service):
    service = make_service({"server.drainTimeout": 10}).start().wait()
    load = Load(service.site)
    hand_over_under(load, service, 4, {"kept": 500, "fresh": 200, "sign-ins": 5, "slow": 1})
    assert sum(load.counts.values()) > 2500, load.counts
    assert service.text().count("stopped") == 4
    # A session of the first process, known to the last.
    load.verify(load.connect())


def test_the_lock_is_handed_over_too(make_service, serving):
    serving.hand_over(until_first_ends=True)
    second = make_service()
    second.site.configure({"storage.directory": str(serving.site.folder / "data")})
    second.start()
    assert second.first.wait(timeout=60) == 1
    assert "Another bramley serve is running" in second.text()
    serving.end()
    serving.start().wait()


def break_configuration(service) -> None:
    file = service.site.folder / "config.json"
    file.write_text(file.read_text().replace('"signUp": "open"', '"signUp": "sometimes"'))


def replace_program(service, script: str = "exit 9") -> None:
    service.program.unlink()
    service.program.write_text(f"#!/bin/sh\n{script}\n")
    service.program.chmod(0o755)


@pytest.fixture
def replaceable(make_service, binaries, tmp_path):
    """A server that serves, from a copy of the program that a test may change."""
    program = tmp_path / "bramley"
    shutil.copy(binaries / "bramley", program)
    return make_service(program=program).start().wait()


@pytest.mark.parametrize("spoil, cause", [
    (break_configuration, "exit code 1"), (lambda service: service.program.unlink(), "exit code 127"),
    (replace_program, "exit code 9")])
def test_a_successor_that_cannot_serve_changes_nothing(replaceable, spoil, cause):
    with Load(replaceable.site) as load:
        spoil(replaceable)
        said = refused_successor(replaceable)
        before = load.counts["fresh"]
        eventually(lambda: load.failures or load.counts["fresh"] > before + 20, "more requests")
    assert load.failures == []
    line = next(line for line in said.splitlines() if "new process not ready" in line)
    assert "this one keeps serving" in line and cause in line and "error" in line.lower()
    assert is_running(replaceable.process)


def descriptors(process: int) -> list[str]:
    found = []
    for entry in Path(f"/proc/{process}/fd").iterdir():
        # One may be closed since the folder was listed.
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(entry))
    return found


def test_without_close_range_the_successor_inherits_no_other_descriptors(make_service, tmp_path):
    """A kernel before 5.9, or a filter of system calls: what was moved out of the way stayed open, twice."""
    library = preloaded("#include <errno.h>\nint close_range(unsigned a, unsigned b, int c) {"
                        " (void)a; (void)b; (void)c; errno = ENOSYS; return -1; }\n", tmp_path / "range.so")
    service = make_service()
    # One that our parent forgot: it is not closed by execve(2).
    forgotten = os.open("/dev/zero", os.O_RDONLY)
    os.dup2(forgotten, 60, inheritable=True)
    try:
        service.start({"LD_PRELOAD": str(library)}, left_open=(60,))
    finally:
        os.close(forgotten)
        os.close(60)
    service.wait()
    assert "/dev/zero" in descriptors(service.process)
    listening = [end for end in descriptors(service.process) if end.startswith("socket:")]
    found = descriptors(service.hand_over())
    assert "/dev/zero" not in found, found
    assert not [end for end in listening if found.count(end) > 1], found


def test_cores_beyond_the_first_1024_are_counted(make_service, tmp_path):
    """The kernel refuses a set of 1,024 bits there, and there was one loop for all cores."""
    library = preloaded("""
#include <errno.h>
#include <stddef.h>
#include <string.h>
int sched_getaffinity(int process, size_t size, unsigned char *set) {
    (void)process;
    if (size < 256) { errno = EINVAL; return -1; }
    memset(set, 0, size);
    set[0] = 1;
    set[200] = 6;
    return 0;
}
""", tmp_path / "cores.so")
    service = make_service({"server.threads": 0})
    service.start({"LD_PRELOAD": str(library)}).wait()
    port = f":{service.site.port:04X}"
    listening = {
        fields[9] for line in Path(f"/proc/{service.process}/net/tcp").read_text().splitlines()[1:]
        if (fields := line.split())[1].endswith(port) and fields[3] == "0A"}
    assert len(listening) == 3, listening


def test_stopping_the_server_ends_a_hanging_successor(replaceable, tmp_path):
    """It would keep the listening sockets, whose queues nobody empties, and the lock."""
    number = tmp_path / "number"
    replace_program(
        replaceable, f"trap '' TERM\necho $$ > {number}.new\nmv {number}.new {number}\nwhile :; do sleep 1; done")
    replaceable.signal(signal.SIGUSR2)
    eventually(number.exists, "the successor", replaceable.text)
    replaceable.signal(signal.SIGTERM)
    assert replaceable.first.wait(timeout=PATIENCE) == 0
    successor = int(number.read_text())
    eventually(lambda: not is_running(successor), "the end of the successor")
    assert "this server was stopped meanwhile" in replaceable.text()


def refused_successor(service, ready: int = 200) -> str:
    """Asks for one that must fail, and returns what the log says of it."""
    before = len(service.text())
    service.signal(signal.SIGUSR2)
    eventually(lambda: "new process not ready" in service.text()[before:], "the line", service.text)
    assert is_running(service.process) and readiness(service) == ready
    return service.text()[before:]


def test_a_successor_that_refuses_the_database_keeps_the_servers_lock(serving):
    execute = serving.site.operator.database
    execute("INSERT INTO migration (name, applied_at) VALUES ('9999-later', 1)")
    execute("UPDATE meta SET value = CAST('9999-later' AS BLOB) WHERE key = 'oldest-admitted'")
    # A newer version has left this one behind, too: it continues, but is not ready.
    assert "9999-later" in refused_successor(serving, ready=503)
    execute("DELETE FROM migration WHERE name = '9999-later'")
    execute("DELETE FROM meta WHERE key = 'oldest-admitted'")
    with (serving.site.folder / "data/serve.lock").open() as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    serving.hand_over(until_first_ends=True)


def test_a_successor_with_another_schema_refuses_before_it_copies_anything(serving):
    execute = serving.site.operator.database
    (last, applied), *_ = execute("SELECT name, applied_at FROM migration ORDER BY name DESC")
    # To the successor that is a step it knows and the database lacks.
    execute("DELETE FROM migration WHERE name = ?", last)
    assert "backed up" not in refused_successor(serving)
    execute("INSERT INTO migration (name, applied_at) VALUES (?, ?)", last, applied)
    assert list((serving.site.folder / "data").glob("*.before-*")) == []


def test_a_new_sealing_key_is_used_and_stamped(serving):
    site, folder = serving.site, serving.site.folder
    old = folder / "data/sealing.key.before"
    (folder / "data/sealing.key").rename(old)
    write_private(folder / "data/sealing.key", (secrets.token_hex(32) + "\n").encode())
    site.configure({"secrets.previousSealingKeyFiles": [str(old)]})

    def key_of_a_backup(name: str) -> str:
        return site.operator.json("backup", str(folder / name))["sealingKeyID"]

    before = key_of_a_backup("before.db")
    serving.hand_over(until_first_ends=True)
    eventually(lambda: key_of_a_backup(f"{time.monotonic_ns()}.db") != before, "the new key", serving.text)
    assert readiness(serving) == 200
    site.operator.bramley("credentials", "reseal")
    assert "sealing_key.changed" in site.operator.bramley("audit", "list")
    serving.end()
    old.replace(folder / "data/sealing.key")
    site.configure({"secrets.previousSealingKeyFiles": None})
    serving.start()
    assert serving.first.wait(timeout=PATIENCE) == 1, serving.text()[-2000:]


def test_after_a_failure_another_hand_over_is_possible(serving):
    file = serving.site.folder / "config.json"
    good = file.read_text()
    break_configuration(serving)
    refused_successor(serving)
    file.write_text(good.replace("Orchard Club", "Pear Club"))
    serving.hand_over()
    assert "Pear Club" in call(serving.site, "GET", "/login").text, "it has not read the configuration anew"


def test_the_service_manager_follows_the_new_process(make_service, manager: Manager):
    service = make_service()
    service.start({"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "600000"})
    manager.wait_for(lambda _, lines: "READY" in lines, "READY=1")
    first = service.process
    second = service.hand_over()
    process, lines = manager.wait_for(lambda process, lines: lines.get("MAINPID") == str(second), "MAINPID")
    # The one it knows says so; the other speaks only then.
    assert process == first
    process, lines = manager.wait_for(lambda process, lines: process == second, "the successor")
    assert lines.get("READY") == "1" and lines.get("MAINPID") == str(second)
    manager.wait_for(lambda process, lines: process == second and "WATCHDOG" in lines, "its signs of life")
    eventually(lambda: not is_running(first), "the end of the first")
    manager.drain()
    told = next(at for at, (_, lines) in enumerate(manager.heard) if lines.get("MAINPID") == str(second))
    assert all(process == second for process, _ in manager.heard[told + 1:]), "the first has gone on speaking"
    assert all("STOPPING" not in lines for _, lines in manager.heard)


def test_stopping_the_old_server_ends_idle_clients(make_service):
    service = make_service({"server.drainTimeout": 60}).start().wait()
    first = service.process
    with socket.create_connection(("127.0.0.1", service.site.port)) as idle:
        idle.sendall(b"GET /login HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in idle.recv(65_536)
        service.hand_over()
        # It is still there for this one.
        assert is_running(first)
        start = time.monotonic()
        os.kill(first, signal.SIGTERM)
        eventually(lambda: not is_running(first), "its end")
        assert time.monotonic() - start < 45
    assert readiness(service) == 200


def test_an_idle_connection_gets_one_last_answer(serving):
    with socket.create_connection(("127.0.0.1", serving.site.port)) as idle:
        request = b"GET /auth/verify HTTP/1.1\r\nHost: localhost\r\n\r\n"
        idle.sendall(request)
        first = idle.recv(65_536)
        assert first.startswith(b"HTTP/1.1 401") and b"onnection: close" not in first
        serving.hand_over()
        idle.sendall(request)
        last = read_all(idle)
        assert last.startswith(b"HTTP/1.1 401") and b"onnection: close" in last
