"""`make run` as the README has it, and `make` alone."""

import os
import re
import signal
import subprocess

from documents import ROOT
from patience import PATIENCE, eventually
from processes import output
from programs import free_base, listens
from web import call


def test_make_run_serves_and_stops(binaries, tmp_path):
    log = tmp_path / "run.log"
    first = free_base()
    with log.open("wb") as output:
        run = subprocess.Popen(
            ["make", "-C", str(ROOT), "--no-print-directory", "run"], stdout=output, stderr=output,
            stdin=subprocess.DEVNULL, start_new_session=True,
            env=os.environ | {"DEMO_BIN": str(binaries), "DEMO_DATA": str(tmp_path / "demo"), "DEMO_PORT": str(first)})
    try:
        eventually(lambda: run.poll() is not None or "Stop with Ctrl-C." in log.read_text(), "the start", log.read_text)
        text = log.read_text()
        # What the README promises: a printed address, and a page that leads to Apple's stand-in.
        origin = re.search(r"in a browser:\s+(http://localhost:\d+)/", text)[1]
        apple = re.search(r"control page: (http://127\.0\.0\.1:\d+)/", text)[1]
        assert apple in call(origin, "GET", "/login").text
    finally:
        os.killpg(run.pid, signal.SIGINT)
        run.wait(timeout=PATIENCE)
    eventually(lambda: "Stopping." in log.read_text(), "its last word", log.read_text)
    for address in (origin, apple):
        assert not listens(int(address.rpartition(":")[2]))


def test_make_alone_lists_every_target():
    printed = output("make", "-C", ROOT, "--no-print-directory")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert targets - set(re.findall(r"^  ([a-z-]+) ", printed, re.MULTILINE)) == set()
