"""`/auth/verify` of many people at random, against the same of one person: what the cache and its misses cost."""

import os

import applications
import measuring
from measuring import LOAD_CORE, ROUNDS, SECONDS, SERVER_CORE

# Sessions stored, and the goal for CPU per request ÷ that of one session.
COUNTS = [(200_000, "≤ 1.5"), (1_000_000, "≤ 2.5")]


def rows(binary, folder):
    table = []
    load = applications.Load(LOAD_CORE, min(SECONDS, 1))
    for count, goal in COUNTS:
        server = applications.Filled(binary, os.path.join(folder, str(count)), SERVER_CORE, count)
        files = []
        try:
            def ask(spread, load=load, **order):
                file, script = applications.cookies_script(spread, count, **order)
                files.append(file)
                return lambda: load.run(server.port, "/auth/verify", script, [server.pid])

            # Everybody in turn, until the cache is as full as it will be.
            warm = applications.Load(LOAD_CORE, count / 20_000)
            ask(count, warm, order="(function() turn = turn % #requests + 1; return turn end)()")()
            many, few = applications.pairs(max(3, ROUNDS // 3), ask(count), ask(1))
            table.append((
                f"`/auth/verify`, {count:,} sessions at random: CPU per request, ÷ one session",
                measuring.spread([a[1] / b[1] for a, b in zip(many, few)]), goal,
                f"{applications.middle(many, 1):.2f} µs against {applications.middle(few, 1):.2f} µs; "
                f"{measuring.peers.memory(server.pid)['Anonymous'] / 1024:.0f} MiB anonymous"))
        finally:
            server.stop()
            for file in files:
                os.unlink(file)
    return table
