"""TLS handshakes: the server's CPU time for each, beside nginx with the same certificate, ciphers and tickets.

The load makes one after another on four threads and is the slower side, so the rate says nothing; CPU time of the
server by handshake does. 1 ÷ that time is the handshakes of a core-second.
"""

import statistics

import measuring
import peers
from measuring import SERVER_CORE

SECONDS = 1.0


def cost(server, version, kind):
    before = peers.cpu_seconds(server.pid)
    made = int(measuring.program("handshakes", server.port, version, kind, SECONDS, 4))
    return (peers.cpu_seconds(server.pid) - before) / made * 1e6


def rows(binary, folder, certificates):
    """- Parameter certificates: name and `peers.Certificate`."""
    table = []
    for name, certificate in certificates.items():
        servers = {"ours": peers.Bramley(binary, folder, SERVER_CORE, certificate=certificate, limits={
            "connections": 1000, "connectionsPerAddress": 1000})}
        servers["nginx"] = peers.Nginx([], SERVER_CORE, certificate=certificate)
        if peers.Hummingbird.is_here():
            servers["hummingbird"] = peers.Hummingbird([], "none=none", SERVER_CORE, certificate)
        try:
            for version in ("1.3", "1.2"):
                for kind in ("full", "resumed"):
                    table.append(row(servers, name, version, kind))
        finally:
            for server in servers.values():
                server.stop()
    return table


def row(servers, name, version, kind):
    # NIOSSL gives no tickets unless told to.
    measured = {key: server for key, server in servers.items() if key != "hummingbird" or kind == "full"}
    results = measuring.in_turn({key: (lambda s=server: cost(s, version, kind)) for key, server in measured.items()})
    rates = {key: [1e6 / value for value in values] for key, values in results.items()}
    return (f"TLS {version} handshakes per core-second, {kind}, {name}: ours ÷ nginx",
            measuring.spread(measuring.ratios(rates["ours"], rates["nginx"])), "≥ 0.9",
            f"{measuring.against(rates, 0)}; {statistics.median(results['ours']):,.0f} µs against "
            f"{statistics.median(results['nginx']):,.0f} µs")
