#!/usr/bin/env python3
"""Leftovers of a run: processes, their ports, mounts and folders. They are named, removed, and fail the run.

    leftovers.py COMMAND...     runs COMMAND with a folder for temporary files of its own
    pytest -p leftovers         the same for what one suite starts; Tests/pytest.ini asks for it
"""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

# Whatever a run starts inherits it, so that it is found although its parents have ended. (Bramley refuses unknown names that
# begin with its own.)
MARK = "LEFTOVERS_RUN"
# What ends by itself within that many seconds is not left behind: a browser needs a moment, on a busy machine a long one.
GRACE = float(os.environ.get("LEFTOVERS_GRACE", "60"))
PR_SET_CHILD_SUBREAPER = 36


def told(process: int | str, name: str) -> bytes:
    """What proc(5) says of a process; nothing of one that has ended meanwhile."""
    try:
        return Path(f"/proc/{process}/{name}").read_bytes()
    except OSError:
        return b""


def parents() -> dict[int, int]:
    """Every process that has not ended, and its parent."""
    found = {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        state, parent, *_ = told(process, "stat").rpartition(b")")[2].split() or (b"X", b"")
        if state not in (b"Z", b"X"):
            found[int(process)] = int(parent)
    return found


def descendants(root: int) -> set[int]:
    tree, found, new = parents(), set(), {root}
    while new:
        new = {child for child, parent in tree.items() if parent in new} - found
        found |= new
    return found


def marked(mark: str) -> set[int]:
    wanted = f"{MARK}={mark}".encode()
    return {process for process in parents() if wanted in told(process, "environ").split(b"\0")} - {os.getpid()}


def ports(process: int) -> list[int]:
    """Those the process listens on."""
    try:
        sockets = {os.readlink(link) for link in Path(f"/proc/{process}/fd").iterdir()}
    except OSError:
        return []
    found = set()
    for table in ("tcp", "tcp6"):
        for line in told(process, f"net/{table}").decode().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                found.add(int(words[1].rpartition(":")[2], 16))
    return sorted(found)


def describe(process: int) -> str:
    words = told(process, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
    name = words[:160] or told(process, "comm").decode(errors="replace").strip() or "(ended meanwhile)"
    listening = "".join(f", listening on port {port}" for port in ports(process))
    return f"process {process}: {name}{listening}"


def end(find) -> list[str]:
    """Waits a moment for the processes that `find` finds, names those that stay, and ends them."""
    deadline = time.monotonic() + GRACE
    while find() and time.monotonic() < deadline:
        reap()
        time.sleep(0.05)
    names = [describe(process) for process in sorted(find())]
    deadline = time.monotonic() + GRACE
    while (left := find()) and time.monotonic() < deadline:
        for process in left:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        reap()
        time.sleep(0.05)
    return names


def reap() -> None:
    """Takes note of the end of processes that were handed to us. In pytest there are none: there nobody is adopted."""
    with contextlib.suppress(ChildProcessError):
        while is_reaper and os.waitpid(-1, os.WNOHANG)[0]:
            pass


is_reaper = False


def mounts() -> set[str]:
    return {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}


def run(command: list[str]) -> int:
    """Runs the command to its end, or to ours by a signal; then nothing of it is left. Orphans become our children."""
    global is_reaper
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")
    is_reaper = True
    before = mounts()
    # Short: sockets below it have names of at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="br-"))
    # Tests run servers as users without rights, who have to get to what is theirs below it.
    folder.chmod(0o711)
    received = []

    def interrupt(number, _frame):
        received.append(number)
        # A terminal has told all of them already; kill has told us alone.
        for process in descendants(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(process, number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    # What runs in the background of a shell would ignore Ctrl-C.
    child = subprocess.Popen(command, env=os.environ | {"TMPDIR": str(folder)}, preexec_fn=lambda: signal.signal(
        signal.SIGINT, signal.SIG_DFL))
    process = None
    while process != child.pid:
        process, ended = os.wait()
    status = child.returncode = os.waitstatus_to_exitcode(ended)
    left = end(lambda: descendants(os.getpid()))
    for place in sorted(mounts() - before, key=len, reverse=True):
        # A mount beside ours, of somebody else, may have come meanwhile.
        if Path(place).is_relative_to(folder) or Path(place).is_relative_to(Path.cwd()):
            left.append(f"mount {place}")
            subprocess.run(["umount", "-l", place], check=False)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        left.append(f"folder {folder}")
    if received:
        tell(left)
        return 128 + received[0]
    return (tell(left) or status) if status >= 0 else 128 - status


def tell(left: list[str]) -> int:
    if not left:
        return 0
    print("== left behind, and taken away now ==", *left, sep="\n  ", file=sys.stderr, flush=True)
    return 1


def pytest_configure(config):
    # Inherited by each suite of a run: it looks for its own.
    os.environ[MARK] = config.leftovers_mark = uuid.uuid4().hex


# Behind everybody else: what fixtures hold is given back by then, after Ctrl-C as well. (The name pytest marks hooks
# with is written out: the runner has no pytest.)
def pytest_sessionfinish(session):
    result = yield
    mark = session.config.leftovers_mark
    if tell(end(lambda: marked(mark) | descendants(os.getpid()))):
        session.exitstatus = 1
    return result


pytest_sessionfinish.pytest_impl = {
    "wrapper": True, "tryfirst": True, "hookwrapper": False, "trylast": False, "optionalhook": False, "specname": None}


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
