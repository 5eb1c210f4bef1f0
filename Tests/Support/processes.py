"""Commands that run to their end, and a running process as the kernel reports it: proc(5)."""

import os
import re
import subprocess
from pathlib import Path

from patience import PATIENCE


def finished(*command, **options) -> subprocess.CompletedProcess:
    """As it ended, well or not, with what it printed; `options` are those of `subprocess.run`."""
    given = {"capture_output": True, "text": True, "timeout": PATIENCE}
    return subprocess.run(command, **given | ({} if "input" in options else {"stdin": subprocess.DEVNULL}) | options)


def output(*command, **options) -> str:
    """What a command that has to succeed prints."""
    done = finished(*command, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def fails(done: subprocess.CompletedProcess, *words: str, code: int = 1) -> subprocess.CompletedProcess:
    """A command that ended with this code and with these words on standard error."""
    assert done.returncode == code and all(word in done.stderr for word in words), done
    return done


def memory(process: int, figure: str = "VmRSS") -> int:
    """A figure of its status, in bytes."""
    text = Path(f"/proc/{process}/status").read_text()
    return int(re.search(rf"^{figure}:\s+(\d+) kB", text, re.MULTILINE)[1]) * 1024


def descriptors(process: int) -> int:
    return len(os.listdir(f"/proc/{process}/fd"))


def fields(process: int) -> list[str]:
    """Of its `stat`, from the state on."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def cpu_seconds(process: int) -> float:
    return sum(map(int, fields(process)[11:13])) / os.sysconf("SC_CLK_TCK")


def is_running(process: int) -> bool:
    try:
        return fields(process)[0] not in "ZX"
    except OSError:
        return False
