"""Bramley beside its peers: one run, one table.

Both sides of every ratio run in the same minute, the server pinned to one core and the load to another, in adjacent
pairs; the table shows the median of the pairs' ratios with its range. CPU time per request (user and system, from
/proc/PID/stat) is the steadier figure: the machine's speed drifts by a third, and both sides drift together.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import applications
import peers
import signins

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "9"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "2"))
SERVER_CORE, LOAD_CORE = "0", "1"


def wrk(port, path, headers, connections=32):
    """Requests answered and requests per second of one run of wrk."""
    command = ["taskset", "-c", LOAD_CORE, "wrk", "-t1", f"-c{connections}", f"-d{SECONDS:g}s"]
    for name, value in headers.items():
        command += ["-H", f"{name}: {value}"]
    output = subprocess.run(
        command + [f"http://127.0.0.1:{port}{path}"], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        raise SystemExit(f"the load was not answered as it should be:\n{output}")
    total = int(re.search(r"(\d+) requests in", output).group(1))
    return total, float(re.search(r"Requests/sec:\s+([\d.]+)", output).group(1))


def measured(pid, port, path, headers):
    before = peers.cpu_seconds(pid)
    total, rate = wrk(port, path, headers)
    return rate, (peers.cpu_seconds(pid) - before) / total * 1e6


def instructions(pid, port, path, headers):
    """User-space instructions per request by perf, None where the machine does not count them."""
    counter = subprocess.Popen(
        ["perf", "stat", "-x,", "-e", "instructions:u", "-p", str(pid)], stderr=subprocess.PIPE, text=True)
    time.sleep(0.2)
    total, _ = wrk(port, path, headers)
    counter.send_signal(2)
    match = re.match(r"(\d+),", counter.communicate()[1])
    return int(match.group(1)) / total if match else None


def system_calls(pid, port, path, headers):
    """System calls per request, counted by strace on a run of their own."""
    with tempfile.NamedTemporaryFile("r") as log:
        tracer = subprocess.Popen(["strace", "-c", "-f", "-o", log.name, "-p", str(pid)], stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        total, _ = wrk(port, path, headers)
        tracer.send_signal(2)
        tracer.wait()
        match = re.search(r"^\s*100\.00\s+\S+\s+\S*\s+(\d+)", log.read(), re.M)
    return int(match.group(1)) / total if match else None


def spread(values, digits=2):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def verify_rows(bramley, cookie):
    headers = {"Cookie": cookie, "User-Agent": "Mozilla/5.0", "Accept": "*/*", "X-Forwarded-Proto": "https"}
    path = "/auth/verify"
    nginx = peers.Nginx(peers.response_fields(bramley.port, path, headers), SERVER_CORE)
    try:
        rates, costs, ours, theirs = [], [], [], []
        for round in range(ROUNDS):
            pair = {}
            order = [("ours", bramley), ("theirs", nginx)]
            for name, server in order if round % 2 == 0 else reversed(order):
                pair[name] = measured(server.pid, server.port, path, headers)
            rates.append(pair["ours"][0] / pair["theirs"][0])
            costs.append(pair["ours"][1] / pair["theirs"][1])
            ours.append(pair["ours"])
            theirs.append(pair["theirs"])
        rows = [
            ("`/auth/verify`: requests/s, ours ÷ nginx `return 204`", spread(rates), "≥ 0.85",
             f"{statistics.median(r for r, _ in ours):,.0f} against {statistics.median(r for r, _ in theirs):,.0f}"),
            ("`/auth/verify`: CPU per request, ours ÷ nginx", spread(costs), "≤ 1.2",
             f"{statistics.median(c for _, c in ours):.2f} µs against {statistics.median(c for _, c in theirs):.2f} µs"),
        ]
        for label, count in (("instructions", instructions), ("system calls", system_calls)):
            try:
                a, b = (count(server.pid, server.port, path, headers) for server in (bramley, nginx))
            except FileNotFoundError:
                continue
            if a and b:
                digits = 0 if a > 100 else 2
                rows.append((f"`/auth/verify`: {label} per request, ours ÷ nginx", f"{a / b:.2f}", "",
                             f"{a:,.{digits}f} against {b:,.{digits}f}"))
        return rows
    finally:
        nginx.stop()


def sign_in_rows(folder, binary):
    rates, ours, verifications, stand_in = [], [], [], []
    for _ in range(max(3, ROUNDS // 3)):
        verifications.append(peers.openssl_verifications(SERVER_CORE))
        result = signins.run(binary, folder, SERVER_CORE, LOAD_CORE)
        verifications.append(peers.openssl_verifications(SERVER_CORE))
        reference = statistics.mean(verifications[-2:])
        ours.append(result.per_core_second)
        stand_in.append(result.stand_in_cpu)
        rates.append(result.per_core_second / reference)
    return [
        ("sign-ins per core-second ÷ `openssl speed rsa2048` verifications", spread(rates, 3), "≥ 0.10",
         f"{statistics.median(ours):,.0f} against {statistics.median(verifications):,.0f}; "
         f"stand-in for Apple {statistics.median(stand_in):.0f} µs CPU a sign-in, on the other core"),
    ]


def start_rows(binary, folder):
    times, anonymous, resident = [], [], []
    for _ in range(ROUNDS):
        server = peers.Bramley(binary, folder, SERVER_CORE)
        times.append(server.milliseconds_to_first_answer)
        time.sleep(0.3)
        memory = peers.memory(server.pid)
        anonymous.append(memory["Anonymous"] / 1024)
        resident.append(memory["Rss"] / 1024)
        server.stop()
    return [
        ("start to first answer, ms", spread(times, 0), "≤ 50", "an existing database"),
        ("idle memory, anonymous MiB", spread(anonymous, 1), "≤ 8", ""),
        ("idle memory, resident MiB", spread(resident, 1), "≤ 36", ""),
    ]


def idle_rows(binary, folder, count=10_000):
    server = peers.Bramley(binary, folder, SERVER_CORE, limits={"connections": 20_000, "connectionsPerAddress": 20_000})
    nginx = peers.Nginx([], SERVER_CORE, connections=20_000)
    try:
        ours = peers.bytes_per_idle_connection(server, count)
        theirs = peers.bytes_per_idle_connection(nginx, count)
    finally:
        server.stop()
        nginx.stop()
    return [(f"growth per idle keep-alive connection, 0 to {count:,}, bytes", f"{ours:,.0f}", "≤ nginx",
             f"nginx {theirs:,.0f} (its {count:,} preallocated slots not counted)")]


def main():
    binary = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        apple = signins.StandIn.start(LOAD_CORE)
        try:
            bramley = peers.Bramley(binary, folder, SERVER_CORE, apple=apple.url)
            try:
                rows += verify_rows(bramley, signins.sign_in_once(bramley, apple))
            finally:
                bramley.stop()
            rows += start_rows(binary, folder)
        finally:
            apple.stop()
        rows += idle_rows(binary, os.path.join(folder, "idle"))
        rows += sign_in_rows(os.path.join(folder, "signins"), binary)
        rows += applications.rows(
            binary, os.path.join(folder, "applications"), SERVER_CORE, LOAD_CORE, ROUNDS, SECONDS, spread,
            count=int(os.environ.get("BENCH_STORED", "1000000")))
    print(f"{ROUNDS} pairs of {SECONDS:g} s; medians (range). "
          f"{peers.machine()}; one server core, one load core.\n")
    print("| Work | Measured | Goal | Behind it |\n|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
