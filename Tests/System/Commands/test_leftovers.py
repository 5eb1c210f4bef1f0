"""Tests/Support/leftovers.py: leftovers of a run are found, named and removed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE, eventually
from processes import fails, finished, is_running

SUPPORT = Path(__file__).resolve().parents[2] / "Support"
LISTENER = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); " \
    "open('port', 'w').write(str(s.getsockname()[1])); time.sleep(1000)"


def start(folder: Path, script: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-B", SUPPORT / "leftovers.py", "bash", "-c", script], cwd=folder, text=True,
        stderr=subprocess.PIPE, start_new_session=True,
        env=os.environ | {"TMPDIR": str(folder), "LEFTOVERS_GRACE": "1"})


def number(file: Path) -> int:
    eventually(lambda: file.exists() and file.read_text().strip(), str(file))
    return int(file.read_text())


@pytest.mark.parametrize("script, status", [("true", 0), ("exit 3", 3), ("sleep 0.3 & exit 0", 0)])
def test_a_clean_run_keeps_its_result(tmp_path, script, status):
    run = start(tmp_path, f'echo x > "$TMPDIR/file"; {script}')
    assert (run.wait(PATIENCE), run.stderr.read()) == (status, "")
    assert list(tmp_path.iterdir()) == [], "its folder for temporary files is gone"


@pytest.mark.parametrize("status", [0, 3])
def test_a_planted_process_is_named_with_its_port_and_ended(tmp_path, status):
    # In a session of its own, without its parent: as a browser is left by its driver. Without our pipe, too: reading
    # that would wait until the process has ended by itself.
    (tmp_path / "listener.py").write_text(LISTENER)
    run = start(
        tmp_path, f"(setsid {sys.executable} listener.py 2> /dev/null & echo $! > pid); "
        f"until [ -s port ]; do sleep 0.05; done; exit {status}")
    code, told = run.wait(4 * PATIENCE), run.stderr.read()
    assert code != 0
    assert "left behind" in told and "listener.py" in told
    assert f"listening on port {(tmp_path / 'port').read_text()}" in told
    assert not is_running(number(tmp_path / "pid"))


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_nothing(tmp_path, sent):
    run = start(
        tmp_path, "trap 'exit 1' INT TERM; (setsid bash -c 'trap \"\" INT TERM; echo $$ > pid; sleep 1000 & wait' &); "
        "sleep 1000 & echo $! > child; wait")
    stubborn, child = number(tmp_path / "pid"), number(tmp_path / "child")
    run.send_signal(sent)
    assert run.wait(4 * PATIENCE) == 128 + sent
    assert not is_running(stubborn) and not is_running(child)
    assert f"process {stubborn}" in run.stderr.read()
    assert {file.name for file in tmp_path.iterdir()} == {"pid", "child"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_a_mount_is_named_and_undone(tmp_path):
    (tmp_path / "place").mkdir()
    if finished("unshare", "-m", "true").returncode != 0:
        pytest.skip("no mounts here")
    fails(finished("unshare", "-m", sys.executable, "-B", SUPPORT / "leftovers.py",
                   "mount", "-t", "tmpfs", "none", "place", cwd=tmp_path), f"mount {tmp_path}/place")


def test_a_suite_that_leaves_a_process_fails(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import subprocess\n"
        "def test_it():\n"
        "    subprocess.run(['setsid', 'sh', '-c', 'sleep 1234 & echo $! > pid'])\n")
    done = finished(
        sys.executable, "-B", "-m", "pytest", "-q", "-p", "leftovers", "-p", "no:cacheprovider", "test_it.py",
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(SUPPORT), "LEFTOVERS_GRACE": "1"})
    assert done.returncode == 1 and "1 passed" in done.stdout, done.stdout + done.stderr
    assert "sleep 1234" in done.stderr
    assert not is_running(number(tmp_path / "pid"))


def test_a_browser_is_its_drivers_child(shared_browser):
    """Not that of a shell between them: ended in its place, it would leave the browser to nobody."""
    driver = shared_browser.service.process.pid
    tasks = Path(f"/proc/{driver}/task").iterdir()
    children = [word for task in tasks for word in (task / "children").read_text().split()]
    assert [Path(os.readlink(f"/proc/{child}/exe")).name for child in children] == ["chromium-headless-shell"]
