"""What a sign-in costs in two builds of Bramley, on a machine too noisy to measure one after the other.

Both run at once on the same core, and sign-ins of new people are posted to them in turn, 500 at a time: what disturbs
one batch disturbs the next. Told are each one's CPU time a sign-in (the least, the lower quartile, the median) and the
median of the adjacent batches' ratios.

    builds.py BINARY BINARY     BENCH_BATCHES=40 of each
"""

import os
import statistics
import sys
import tempfile

import peers
import signins
from measuring import LOAD_CORE, SERVER_CORE

BATCHES = int(os.environ.get("BENCH_BATCHES", "40"))
SIZE = 500


def measure(binaries):
    """Microseconds of CPU a sign-in, by batch, of each binary."""
    with tempfile.TemporaryDirectory() as folder:
        apple = signins.StandIn.start(LOAD_CORE)
        servers = []
        try:
            for number, binary in enumerate(binaries):
                servers.append(peers.Bramley(
                    binary, os.path.join(folder, str(number)), SERVER_CORE, apple=apple.url))
            os.sched_setaffinity(0, {int(LOAD_CORE)})
            costs, first = [[] for _ in servers], 0
            for batch in range(-1, BATCHES):
                turn = list(enumerate(servers))
                for number, server in turn if batch % 2 else reversed(turn):
                    people = signins.prepare(server.port, apple.signer, SIZE, first)
                    first += SIZE
                    apple.learn({person.code: person.answer for person in people})
                    before = peers.cpu_seconds(server.pid)
                    signins.post_all(server.port, people)
                    if batch >= 0:
                        costs[number].append((peers.cpu_seconds(server.pid) - before) / SIZE * 1e6)
            return costs
        finally:
            for server in servers:
                server.stop()
            apple.stop()


def main():
    binaries = sys.argv[1:]
    if len(binaries) != 2:
        raise SystemExit(__doc__)
    costs = measure(binaries)
    for binary, values in zip(binaries, costs):
        print(f"{binary}: least {min(values):.0f} µs, lower quartile {statistics.quantiles(values)[0]:.0f}, "
              f"median {statistics.median(values):.0f}")
    ratios = [later / former for former, later in zip(*costs)]
    print(f"the second ÷ the first: median {statistics.median(ratios):.3f}, "
          f"quartiles {statistics.quantiles(ratios)[0]:.3f} and {statistics.quantiles(ratios)[2]:.3f}")


if __name__ == "__main__":
    main()
