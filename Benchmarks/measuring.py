"""What every part of the bench measures with: load on one core, servers' CPU time, adjacent pairs, medians."""

import os
import re
import statistics
import subprocess
import tempfile
import time

import peers

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "9"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "2"))
SERVER_CORE, LOAD_CORE = "0", "1"
# The programs of Benchmarks/load, compiled by run.sh.
PROGRAMS = os.environ.get("BENCH_PROGRAMS", ".build/benchmarks")
NAMES = {"nginx": "nginx", "hummingbird": "Hummingbird"}


def program(name, *arguments, core=LOAD_CORE, **options):
    done = subprocess.run(
        ["taskset", "-c", core, os.path.join(PROGRAMS, name), *map(str, arguments)],
        capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{name} failed: {done.stderr}")
    return done.stdout


def wrk(url, headers, connections=32, seconds=None, core=LOAD_CORE, threads=1):
    """Requests answered and requests per second of one run of wrk: HTTP/1.1, kept alive."""
    duration = max(1, round(seconds or SECONDS))
    command = ["taskset", "-c", core, "wrk", f"-t{threads}", f"-c{connections}", f"-d{duration}s"]
    for name, value in headers.items():
        command += ["-H", f"{name}: {value}"]
    output = subprocess.run(command + [url], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        raise SystemExit(f"the load was not answered as it should be:\n{output}")
    total = int(re.search(r"(\d+) requests in", output).group(1))
    return total, float(re.search(r"Requests/sec:\s+([\d.]+)", output).group(1))


def h2load(url, headers, connections=8, streams=16, seconds=None):
    """The same of one run of h2load: HTTP/2, `streams` requests at once on each connection."""
    command = ["taskset", "-c", LOAD_CORE, "h2load", "-t1", f"-c{connections}", f"-m{streams}",
               f"-D{max(1, round(seconds or SECONDS))}"]
    for name, value in headers.items():
        command += ["-H", f"{name}: {value}"]
    output = subprocess.run(command + [url], capture_output=True, text=True, check=True).stdout
    done = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", output)
    if not done or any(int(done.group(n)) for n in (2, 3, 4)) or not re.search(r"protocol: h2$", output, re.M):
        raise SystemExit(f"the load was not answered as it should be:\n{output}")
    total = int(done.group(1))
    return total, float(re.search(r"finished in .*?, ([\d.]+) req/s", output).group(1))


def rate_and_cost(pid, load):
    """Requests per second, and the server's CPU time per request in microseconds, of one `load()`."""
    before = peers.cpu_seconds(pid)
    total, rate = load()
    return rate, (peers.cpu_seconds(pid) - before) / total * 1e6


def instructions_by_perf(pid, load):
    """User-space instructions per request by perf; None where the machine does not count them."""
    counter = subprocess.Popen(
        ["perf", "stat", "-x,", "-e", "instructions:u", "-p", str(pid)], stderr=subprocess.PIPE, text=True)
    time.sleep(0.2)
    total, _ = load()
    counter.send_signal(2)
    match = re.match(r"(\d+),", counter.communicate()[1])
    return int(match.group(1)) / total if match else None


def system_calls(pid, load):
    """System calls per request, counted by strace on a run of their own."""
    with tempfile.NamedTemporaryFile("r") as log:
        tracer = subprocess.Popen(["strace", "-c", "-f", "-o", log.name, "-p", str(pid)], stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        total, _ = load()
        tracer.send_signal(2)
        tracer.wait()
        match = re.search(r"^\s*100\.00\s+\S+\s+\S*\s+(\d+)", log.read(), re.M)
    return int(match.group(1)) / total if match else None


def spread(values, digits=2):
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f}–{max(values):,.{digits}f})"


def in_turn(measures, rounds=None):
    """Each of `measures`, a name and what to call, once a round and in the other order every other round."""
    results = {name: [] for name in measures}
    for round in range(rounds or ROUNDS):
        for name in list(measures) if round % 2 == 0 else reversed(list(measures)):
            results[name].append(measures[name]())
    return results


def ratios(ours, theirs):
    return [a / b for a, b in zip(ours, theirs)]


def against(results, digits, unit=""):
    """`1.0 µs against 2.0 µs; Hummingbird 3.0 µs`: the medians behind a ratio, ours first."""
    texts = {name: f"{statistics.median(values):,.{digits}f}{unit}" for name, values in results.items()}
    text = texts["ours"] + (f" against {texts['nginx']}" if "nginx" in texts else "")
    for name in texts:
        if name not in ("ours", "nginx"):
            text += f"; {NAMES.get(name, name)} {texts[name]}"
    return text


def rate_rows(label, results, rate_goal="", cost_goal=""):
    """Two rows, by requests and by CPU time, of what `rate_and_cost` measured."""
    rates = {name: [rate for rate, _ in values] for name, values in results.items()}
    costs = {name: [cost for _, cost in values] for name, values in results.items()}
    return [
        (f"{label}: requests/s, ours ÷ nginx", spread(ratios(rates["ours"], rates["nginx"])), rate_goal,
         against(rates, 0)),
        (f"{label}: CPU per request, ours ÷ nginx", spread(ratios(costs["ours"], costs["nginx"])), cost_goal,
         against(costs, 2, " µs")),
    ]
