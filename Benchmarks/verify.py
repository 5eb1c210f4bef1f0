"""`GET /auth/verify` of a signed-in person, kept alive: plain, over TLS, over HTTP/2, with two loops, counted."""

import os
import re
import subprocess
import tempfile

import measuring
import peers
from measuring import LOAD_CORE, SERVER_CORE

HEADERS = {"User-Agent": "Mozilla/5.0", "Accept": "*/*", "X-Forwarded-Proto": "https"}
PATH = "/auth/verify"


def servers_of(bramley, cookie, certificate=None):
    """Bramley, and its peers answering the very same fields."""
    fields = peers.response_fields(bramley, PATH, {**HEADERS, "Cookie": cookie})
    servers = {"ours": bramley, "nginx": peers.Nginx(fields, SERVER_CORE, certificate=certificate)}
    if peers.Hummingbird.is_here():
        servers["hummingbird"] = peers.Hummingbird(fields, cookie, SERVER_CORE, certificate)
    return servers


def stop_peers(servers):
    for name, server in servers.items():
        if name != "ours":
            server.stop()


def rows_of(label, servers, load, more=None):
    """- load: asks a path of a server.
    - more: what is measured beside the same of every server."""
    try:
        results = measuring.in_turn({
            name: (lambda s=server: measuring.rate_and_cost(s.pid, load(s, PATH))) for name, server in servers.items()
        } | (more or {}))
        rows = measuring.rate_rows(label, results, "≥ 0.85", "≤ 1.2")
        ours, theirs = (
            measuring.system_calls(servers[name].pid, load(servers[name], PATH)) for name in ("ours", "nginx"))
        return rows + [count_row(f"{label}: system calls", (ours, theirs), 2)]
    finally:
        stop_peers(servers)


def plain_rows(bramley, cookie):
    headers = {**HEADERS, "Cookie": cookie}
    servers = servers_of(bramley, cookie)

    def load(server, path):
        return lambda: measuring.wrk(server.url + path, headers)

    peer = servers.get("hummingbird")
    more = {"Hummingbird without look-up": lambda: measuring.rate_and_cost(peer.pid, load(peer, "/fixed"))}
    return rows_of("`/auth/verify`", servers, load, more if peer else None)


def count_row(label, counts, digits):
    ours, theirs = counts
    return (f"{label} per request, ours ÷ nginx", f"{ours / theirs:.2f}", "",
            f"{ours:,.{digits}f} against {theirs:,.{digits}f}")


def tls_rows(bramley, cookie, certificate):
    """The same over TLS 1.3, its connections kept alive: records instead of plain bytes."""
    headers = {**HEADERS, "Cookie": cookie}
    return rows_of("`/auth/verify` over TLS", servers_of(bramley, cookie, certificate),
                   lambda server, path: lambda: measuring.wrk(server.url + path, headers))


def http2_rows(bramley, cookie, certificate):
    """The same over HTTP/2: 8 connections with 16 requests at a time each."""
    headers = {**HEADERS, "Cookie": cookie}
    return rows_of("`/auth/verify` over HTTP/2", servers_of(bramley, cookie, certificate),
                   lambda server, path: lambda: measuring.h2load(server.url + path, headers))


def loops_rows(binary, folder, cookie):
    """Two loops on two cores against one on the same two, both with 64 connections. Server and load share the cores,
    so only CPU time says anything."""
    headers = {**HEADERS, "Cookie": cookie}
    both = f"{SERVER_CORE},{LOAD_CORE}"

    def measure(threads):
        server = peers.Bramley(binary, folder, both, threads=threads)
        try:
            def load():
                return measuring.wrk(server.url + PATH, headers, connections=64, core=both)
            load()
            return measuring.rate_and_cost(server.pid, load)
        finally:
            server.stop()

    results = measuring.in_turn({"two": lambda: measure(2), "one": lambda: measure(1)})
    two, one = ([cost for _, cost in results[name]] for name in ("two", "one"))
    return [("`/auth/verify` with two loops: CPU per request, ÷ with one",
             measuring.spread(measuring.ratios(two, one)), "≤ 1.1",
             measuring.against({"ours": two, "nginx": one}, 2, " µs"))]


class Callgrind:
    """Instructions of a process under callgrind between two points, the kernel's not counted."""

    def __init__(self, folder):
        self.folder = folder
        self.wrapper = (
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--log-file=/dev/null",
            # Simulated threads take turns fairly: the loop's would starve others otherwise.
            "--fair-sched=yes")

    def counted(self, pid, ask):
        for name in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, name))
        self.control("--zero", pid)
        ask()
        self.control("--dump", pid)
        dump = max((os.path.join(self.folder, name) for name in os.listdir(self.folder)), key=os.path.getmtime)
        with open(dump) as file:
            return int(re.search(r"^(?:totals|summary): (\d+)", file.read(), re.M).group(1))

    @staticmethod
    def control(command, pid):
        subprocess.run(["callgrind_control", command, str(pid)], check=True, capture_output=True)


def instruction_rows(binary, folder, cookie):
    """Counted under callgrind: two runs of different length, whose difference is the requests' alone."""
    headers = {**HEADERS, "Cookie": cookie}
    with tempfile.TemporaryDirectory() as scratch:
        callgrind = Callgrind(scratch)
        counts = []
        # Valgrind gives up over the debugging information of Swift.
        plain = os.path.join(folder, "bramley-without-symbols")
        subprocess.run(["strip", "-g", "-o", plain, binary], check=True)
        bramley = peers.Bramley(plain, folder, SERVER_CORE, wrapper=callgrind.wrapper)
        try:
            fields = peers.response_fields(bramley, PATH, headers)
            counts.append(per_request(callgrind, bramley, headers))
        finally:
            bramley.stop()
        nginx = peers.Nginx(fields, SERVER_CORE, wrapper=callgrind.wrapper)
        try:
            counts.append(per_request(callgrind, nginx, headers))
        finally:
            nginx.stop()
    return [count_row("`/auth/verify`: instructions", counts, 0)]


def per_request(callgrind, server, headers, count=2000):
    def ask(number):
        connection = server.connection()
        for _ in range(number):
            connection.request("GET", PATH, headers=headers)
            connection.getresponse().read()
        connection.close()

    ask(200)
    short = callgrind.counted(server.pid, lambda: ask(count // 10))
    long = callgrind.counted(server.pid, lambda: ask(count + count // 10))
    return (long - short) / count
