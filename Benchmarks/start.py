"""How soon a server answers after it was started, and what memory it has then."""

import time

import measuring
import peers
from measuring import SERVER_CORE


def rows(binary, folder):
    times, anonymous, resident = [], [], []
    for _ in range(measuring.ROUNDS):
        server = peers.Bramley(binary, folder, SERVER_CORE)
        times.append(server.milliseconds_to_first_answer)
        time.sleep(0.3)
        memory = peers.memory(server.pid)
        anonymous.append(memory["Anonymous"] / 1024)
        resident.append(memory["Rss"] / 1024)
        server.stop()
    return [
        ("start to first answer, ms", measuring.spread(times, 0), "≤ 50", "an existing database"),
        ("idle memory, anonymous MiB", measuring.spread(anonymous, 1), "≤ 8", ""),
        ("idle memory, resident MiB", measuring.spread(resident, 1), "≤ 36", ""),
    ]
