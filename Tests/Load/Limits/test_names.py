"""Names do not resolve: there is no name server, or one that says nothing."""

import socket
import subprocess
import time
from pathlib import Path

import pytest

from namespace import mount
from outage import check_page, finish
from place import RECOVERY, within

# Below localhost: plain http is allowed there.
APPLE = "apple.localhost"
NAME_SERVER = "127.0.0.77"


class Names:
    """What this run's programs find names by. Rewritten in place: what is mounted is the file, not its name."""

    def __init__(self, folder: Path):
        self.hosts = folder / "hosts"
        self.know(False)
        resolver = folder / "resolv.conf"
        # Nobody listens there, unless a test does.
        resolver.write_text(f"nameserver {NAME_SERVER}\noptions timeout:2 attempts:1\n")
        switch = folder / "nsswitch.conf"
        switch.write_text("passwd: files\ngroup: files\nhosts: files dns\n")
        self.mounted = []
        for file in (self.hosts, resolver, switch):
            place = Path("/etc") / file.name
            # A link leads elsewhere in each of the ways there are to manage this file.
            mount("--bind", str(file), str(place.resolve()))
            self.mounted.append(str(place.resolve()))

    def know(self, is_known: bool) -> None:
        with self.hosts.open("w" if not self.hosts.exists() else "r+") as file:
            file.truncate()
            file.write("127.0.0.1 localhost\n" + (f"127.0.0.1 {APPLE}\n" if is_known else ""))

    def end(self) -> None:
        for place in self.mounted:
            # Lazily: a server that is being stopped may have it open.
            subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture
def names(tmp_path):
    names = Names(tmp_path)
    yield names
    names.end()


@pytest.fixture(params=["no name server", "a mute one"])
def name_server(request):
    if request.param == "no name server":
        yield request.param
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind((NAME_SERVER, 53))
        yield request.param


def test_failing_dns_fails_sign_ins_with_a_reason_and_nothing_else(names, name_server, make_place, make_crowd):
    place = make_place()
    place.site.configure({"apple.endpoint": f"http://{APPLE}:{place.site.apple.port}"})
    # As after a start of the machine, before its network is there: it serves, and finds Apple when it can.
    place.start()
    assert place.is_alive_and_ready()
    within(RECOVERY, lambda: place.lines("Apple's keys unavailable"), "the operator's line", place.text)
    assert APPLE in place.lines("Apple's keys unavailable")[0]["cause"]
    names.know(True)
    crowd = make_crowd(place, patience=RECOVERY)
    crowd.gets(20)

    # Gone while it runs. Connections that are open go on: they are closed as any network does now and then.
    mark, size, start = crowd.mark(), place.log.stat().st_size, time.monotonic()
    names.know(False)
    place.site.apple.call("PUT", "faults/token", {"close": "start", "remaining": 20})
    within(RECOVERY, lambda: place.metric('bramley_apple_requests_total{endpoint="token",outcome="unknown_host"}') >= 6,
           "requests that find no host", place.text)
    crowd.gets(6, 503, since=mark)
    lines = [line for line in place.lines(after=size) if line["message"] == "request failed"]
    assert {line["reason"] for line in lines} == {"provider_unavailable"}
    assert any(APPLE in line["detail"] and "resolve" in line["detail"] for line in lines), lines
    assert len(lines) <= 200 + 10 * (time.monotonic() - start)
    check_page(crowd, mark, lines, words="Apple cannot be reached")
    # Apple is no part of it: whoever is signed in stays so, at once, and no balancer is told otherwise.
    crowd.check_undisturbed(mark, seconds=2)
    assert place.is_alive_and_ready()

    place.site.apple.call("POST", "faults/reset")
    names.know(True)
    mark = crowd.mark()
    crowd.gets(20, since=mark)
    finish(place, crowd)
