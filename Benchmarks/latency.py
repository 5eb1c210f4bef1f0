"""How long `/auth/verify` takes under a load that is offered at a fixed rate, whatever the server does.

Benchmarks/load/open_loop.c sends each request when it is due and counts from then, so a stall is felt by all who
would have come during it.
"""

import os
import statistics
import tempfile

import measuring
import verify

RATE = int(os.environ.get("BENCH_RATE", "20000"))
CONNECTIONS = 64


def rows(bramley, cookie):
    servers = verify.servers_of(bramley, cookie)
    with tempfile.NamedTemporaryFile("w") as request:
        lines = "".join(f"{name}: {value}\r\n" for name, value in {**verify.HEADERS, "Cookie": cookie}.items())
        request.write(f"GET {verify.PATH} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n")
        request.flush()

        def percentiles(server, rate):
            output = measuring.program(
                "open_loop", server.port, rate, measuring.SECONDS, CONNECTIONS, request.name).split()
            return [float(value) for value in output[1:]]

        try:
            results = measuring.in_turn({
                name: (lambda s=server: percentiles(s, RATE))
                # A peer that cannot keep up at this rate would only measure how long the run was.
                for name, server in servers.items() if name != "hummingbird"})
            if "hummingbird" in servers:
                slow = [percentiles(servers["hummingbird"], RATE // 5) for _ in range(3)]
        finally:
            verify.stop_peers(servers)

    table = []
    for index, name in ((0, "p50"), (2, "p99"), (3, "p99.9")):
        each = {key: [value[index] for value in values] for key, values in results.items()}
        behind = measuring.against(each, 0, " µs")
        if "hummingbird" in servers:
            behind += f"; Hummingbird at {RATE // 5:,}/s {statistics.median(v[index] for v in slow):,.0f} µs"
        table.append((
            f"`/auth/verify` at {RATE:,} requests/s on {CONNECTIONS} connections: {name}, ours ÷ nginx",
            measuring.spread(measuring.ratios(each["ours"], each["nginx"])), "≤ 1.2" if index == 3 else "", behind))
    return table
