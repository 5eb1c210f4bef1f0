#!/usr/bin/env python3
"""What a run leaves behind: processes, their ports, mounts and folders. It is named, taken away, and fails the run.

    leftovers.py COMMAND...     runs COMMAND with a folder for temporary files of its own
    pytest -p leftovers         the same for what one suite starts; Tests/pytest.ini asks for it
"""

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


def parents() -> dict[int, int]:
    """Every process that has not ended, and its parent."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state not in "ZX":
                found[int(entry.name)] = int(parent)
    return found


def descendants(root: int) -> set[int]:
    tree, found, new = parents(), set(), {root}
    while new:
        new = {child for child, parent in tree.items() if parent in new} - found
        found |= new
    return found


def marked(mark: str) -> set[int]:
    wanted, found = f"{MARK}={mark}".encode(), set()
    for process in parents():
        try:
            if wanted in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                found.add(process)
        except OSError:
            continue
    return found - {os.getpid()}


def ports(process: int) -> list[int]:
    """Those the process listens on."""
    try:
        sockets = {os.readlink(link) for link in Path(f"/proc/{process}/fd").iterdir()}
    except OSError:
        return []
    found = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                found.add(int(words[1].rpartition(":")[2], 16))
    return sorted(found)


def describe(process: int) -> str:
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        name = words[:160] or Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        name = "(ended meanwhile)"
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
            try:
                os.kill(process, signal.SIGKILL)
            except OSError:
                pass
        reap()
        time.sleep(0.05)
    return names


def reap() -> None:
    """Takes note of the end of processes that were handed to us. In pytest there are none: there nobody is adopted."""
    if not is_reaper:
        return
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


is_reaper = False


def mounts() -> set[str]:
    return {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}


def run(command: list[str]) -> int:
    """Runs the command to its end, or to ours by a signal; then nothing of it is left.

    Orphans become children of ours, which are waited for like any other: who started them sees them end.
    """
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
            try:
                os.kill(process, number)
            except OSError:
                pass

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    # What runs in the background of a shell would ignore Ctrl-C.
    child = subprocess.Popen(command, env=os.environ | {"TMPDIR": str(folder)}, preexec_fn=lambda: signal.signal(
        signal.SIGINT, signal.SIG_DFL))
    status = 0
    while True:
        process, ended = os.wait()
        if process == child.pid:
            status = child.returncode = os.waitstatus_to_exitcode(ended)
            break
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


# MARK: One suite

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
    "wrapper": True, "tryfirst": True, "hookwrapper": False, "trylast": False, "optionalhook": False,
    "specname": None}


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
