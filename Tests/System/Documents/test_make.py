"""`make run` as in the README, and `make` without a target."""

import os
import re
import signal
import subprocess
from types import SimpleNamespace

from documents import ROOT
from patience import PATIENCE, eventually
from processes import output
from programs import RunningSimulator, free_base, listens
from web import Browser, call


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
        operators = re.search(r"Ada is an operator: (\S+)", text)[1]
        ada = Browser(SimpleNamespace(origin=origin, apple=RunningSimulator(apple)))
        ada.sign_in("ada")
        assert ada.get(operators.removeprefix(origin)).status == 200
    finally:
        os.killpg(run.pid, signal.SIGINT)
        run.wait(timeout=PATIENCE)
    eventually(lambda: "Stopping." in log.read_text(), "its last word", log.read_text)
    for address in (origin, apple):
        assert not listens(int(address.rpartition(":")[2]))


def test_make_without_a_target_lists_every_target():
    printed = output("make", "-C", ROOT, "--no-print-directory")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert targets - set(re.findall(r"^  ([a-z-]+) ", printed, re.MULTILINE)) == set()
