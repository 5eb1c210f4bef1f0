"""What 10,000 idle kept-alive connections cost in memory, and what an idle server does.

Counted is memory that the process alone has and has written to, with the connections open, each after one answer and
three seconds of silence, less the same server's configured for a few connections, with none open. So what nginx sets
aside at its start for `worker_connections` counts.
"""

import os
import statistics
import subprocess
import tempfile
import threading
import time

import measuring
import peers
from measuring import LOAD_CORE, SERVER_CORE

COUNT = int(os.environ.get("BENCH_IDLE", "10000"))
RUNS = 3
# Seconds for all connections to get their answers.
PATIENCE = 60


class NotAnswered(Exception):
    """Not every idle connection got its answer, or not every one was kept."""


def held(server, count, secure, request):
    """KiB before, and with `count` idle connections."""
    time.sleep(1)  # what a start needed for a moment has been given back
    before = peers.private(server.pid)
    holder = subprocess.Popen(
        ["taskset", "-c", LOAD_CORE, os.path.join(measuring.PROGRAMS, "idle"), str(server.port), str(count),
         "tls" if secure else "plain", request], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    patience = threading.Timer(PATIENCE, holder.kill)
    patience.start()
    is_ready = holder.stdout.readline().strip() == "ready"
    patience.cancel()
    if not is_ready:
        holder.kill()
        raise NotAnswered("the idle connections did not get their answers")
    time.sleep(3)
    after = peers.private(server.pid)
    lost, _ = holder.communicate("")
    if lost.strip() != "lost 0":
        raise NotAnswered(f"of the idle connections: {lost}")
    return before, after


def bytes_each(make, secure, request):
    few, many = make(64), None
    try:
        base, _ = held(few, 1, secure, request)
    finally:
        few.stop()
    many = make(COUNT + 64)
    try:
        before, after = held(many, COUNT, secure, request)
    finally:
        many.stop()
    return (after - base) * 1024 / COUNT, (before - base) * 1024 / COUNT


def rows(binary, folder, certificate=None):
    """One row: plain, or over TLS with `certificate`."""
    makers = {
        # Both let idle connections go when few slots are left: Bramley when it is an eighth, nginx when it is a sixteenth.
        "ours": lambda count: peers.Bramley(
            binary, folder, SERVER_CORE, certificate=certificate,
            limits={"connections": count * 8 // 7 + 64, "connectionsPerAddress": count, "idleTimeout": 600}),
        "nginx": lambda count: peers.Nginx([], SERVER_CORE, count * 16 // 15 + 1, certificate),
    }
    if peers.Hummingbird.is_here():
        makers["hummingbird"] = lambda count: peers.Hummingbird([], "none=none", SERVER_CORE, certificate)
    with tempfile.NamedTemporaryFile("w") as request:
        request.write("GET /auth/verify HTTP/1.1\r\nHost: localhost\r\n\r\n")
        request.flush()
        measures = {name: (lambda make=make: bytes_each(make, certificate is not None, request.name))
                    for name, make in makers.items()}
        missing = ""
        try:
            measures.get("hummingbird", lambda: None)()
        except NotAnswered:
            # Not ours to mend; the row is about the other two.
            del measures["hummingbird"]
            missing = "; Hummingbird does not answer so many"
        results = measuring.in_turn(measures, RUNS)
    each = {name: [value for value, _ in values] for name, values in results.items()}
    ahead = statistics.median(value for _, value in results["nginx"])
    label = "TLS connection" if certificate else "connection"
    return [(
        f"growth per idle {label}, 0 to {COUNT:,}, bytes: ours ÷ nginx",
        measuring.spread(measuring.ratios(each["ours"], each["nginx"])), "≤ 1",
        f"{measuring.against(each, 0)}; of nginx's, {ahead:,.0f} set aside at its start{missing}")]
