"""A server whose accept finds no descriptor, in bursts: it neither spins nor ends, and serves whoever asks again.

    python3 Tests/Load/Faults/descriptors.py BIN_DIRECTORY FAULTS_LIBRARY
"""

import http.client
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Support"))
from processes import cpu_seconds, descriptors  # noqa: E402

REQUESTS = 1000


def ask(port: int) -> bool:
    """Whether this one connection was served, and not turned away."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def main(binaries: str, library: str) -> int:
    server = subprocess.Popen(
        [Path(binaries) / "http-echo", "--port", "0"], stdout=subprocess.PIPE, text=True,
        env=os.environ | {"LD_PRELOAD": str(Path(library).resolve()), "FAULTS": "emfile"})
    try:
        port = int(server.stdout.readline().strip().rpartition(":")[2])
        begun, served, longest = time.monotonic(), 0, 0
        for _ in range(REQUESTS):
            tries = 1
            while not ask(port):
                tries += 1
                if tries > 20 or server.poll() is not None:
                    print(f"nobody is served any more (exit {server.poll()})")
                    return 1
            served += 1
            longest = max(longest, tries)
        seconds = time.monotonic() - begun
        busy = cpu_seconds(server.pid) / seconds
        open_at_the_end = descriptors(server.pid)
        server.terminate()
        code = server.wait(10)
    finally:
        server.kill()
    passed = code == 0 and busy < 0.9 and open_at_the_end < 40
    print(f"{'emfile':20} {'passed' if passed else 'FAILED':10} {served} requests in {seconds:.0f} s, at most {longest} "
          f"tries, {busy:.0%} of a core, {open_at_the_end} descriptors at the end, exit {code}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
