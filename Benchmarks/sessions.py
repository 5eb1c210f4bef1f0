"""`/auth/verify` of many people at random, against the same of one person, on either engine: what the cache and its
misses cost. PostgreSQL's own CPU time is counted too: it has nothing to do once the cache is full.

    sessions.py BINARY        prints the rows; `bench.py` has them too (BENCH_ONLY=sessions).
"""

import os
import subprocess
import sys
import tempfile
import time

import applications
import measuring
import postgres
from measuring import LOAD_CORE, ROUNDS, SECONDS, SERVER_CORE

# Sessions stored, and the goal for CPU per request ÷ that of one session.
COUNTS = [("SQLite", 200_000, "≤ 1.5"), ("SQLite", 1_000_000, "≤ 2.5"), ("PostgreSQL", 200_000, "≤ 1.5")]
# How often everybody is asked for, in turn, before the cache is as full as it will be.
PASSES = 2.5


def statements(count):
    """What `applications.fill` makes, for PostgreSQL."""
    now = int(time.time() * 1000)
    seen, end = now + 3_600_000, now + 30 * 86_400_000

    def ident(prefix):
        return f"'{prefix}_' || lpad(CAST(i AS text), 26, '0')"

    series = f"FROM generate_series(0, {count - 1}) i"
    token = """'brs_' || rtrim(translate(encode(sha256(convert_to('session ' || i, 'UTF8')), 'base64'), '+/', '-_'), '=')"""
    return [
        f"""INSERT INTO "user" (id, state, email, email_verified, created_at, updated_at)
            SELECT {ident("usr")}, 'active', 'person' || i || '@example.com', 1, {now} + i, {now} {series}""",
        f"""INSERT INTO apple_identity (id, "user", team, subject, credential_state, last_sign_in_issued_at, created_at)
            SELECT i + 1, {ident("usr")}, 'TEAM123456', 'filled' || i, 'authorized', {now}, {now} {series}""",
        f"""INSERT INTO session (token_hash, id, kind, "user", identity, client_id, user_agent, address, issued_at,
            created_at, last_seen_at, expires_at, examine_at) SELECT sha256(convert_to({token}, 'UTF8')), {ident("ses")},
            'browser', {ident("usr")}, i + 1, 'com.example.web', 'Mozilla/5.0', '203.0.113.7', {now}, {now}, {seen}, {end},
            {end} {series}""",
        "VACUUM ANALYZE",
    ]


class FilledPostgres:
    """A server on PostgreSQL with `count` people in it."""

    def __init__(self, binary, folder, core, count):
        # Vacuum would be counted.
        self.database = postgres.Postgres(autovacuum="off", shared_buffers="256MB")
        name = self.database.make_schema()
        os.makedirs(folder, mode=0o700)
        url = f"host={self.database.folder} port=5432 user=postgres dbname={name}"
        options = {"postgres": url, "sealing_key": postgres.sealing_key(folder)}
        server = postgres.peers.Bramley(binary, folder, core, **options)
        server.stop()
        program = sorted(os.listdir("/usr/lib/postgresql"), key=int)[-1]
        for statement in statements(count):
            subprocess.run(
                [f"/usr/lib/postgresql/{program}/bin/psql", "-qc", statement,
                 f"{url} options='-c search_path=bramley,public'"], check=True)
        self.server = postgres.peers.Bramley(binary, folder, core, **options)
        self.pid, self.port = self.server.pid, self.server.port

    def stop(self):
        self.server.stop()
        self.database.stop()


def rows(binary, folder):
    """One after another."""
    load = applications.Load(LOAD_CORE, min(SECONDS, 1))
    for engine, count, goal in COUNTS:
        filled = {"SQLite": applications.Filled, "PostgreSQL": FilledPostgres}[engine]
        server = filled(binary, os.path.join(folder, f"{engine}-{count}"), SERVER_CORE, count)
        database = getattr(server, "database", None)
        files = []
        try:
            def ask(spread, load=load, **order):
                """Requests a second, and the CPU of each in µs: Bramley's, and PostgreSQL's."""
                file, script = applications.cookies_script(spread, count, **order)
                files.append(file)

                def run():
                    before = database.cpu_seconds() if database else 0
                    rate, own = load.run(server.port, "/auth/verify", script, [server.pid])
                    theirs = (database.cpu_seconds() - before if database else 0) / (rate * load.seconds) * 1e6
                    return rate, own + theirs, theirs
                return run

            warm, asked = applications.Load(LOAD_CORE, 10), 0
            while asked < PASSES * count:
                turn = f"(function() turn = (turn > 0 and turn or {asked % count}) % #requests + 1; return turn end)()"
                asked += round(ask(count, warm, order=turn)()[0] * warm.seconds)
            many, few = applications.pairs(max(5, ROUNDS // 3), ask(count), ask(1))
            theirs = (f"; of that PostgreSQL {applications.middle(many, 2):.2f} µs and "
                      f"{applications.middle(few, 2):.2f} µs" if database else "")
            yield (
                f"`/auth/verify` on {engine}, {count:,} sessions at random: CPU per request, ÷ one session",
                measuring.spread([a[1] / b[1] for a, b in zip(many, few)]), goal,
                f"{applications.middle(many, 1):.2f} µs against {applications.middle(few, 1):.2f} µs{theirs}; "
                f"{measuring.peers.memory(server.pid)['Anonymous'] / 1024:.0f} MiB anonymous")
        finally:
            server.stop()
            for file in files:
                os.unlink(file)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        for row in rows(sys.argv[1], place):
            print(f"| {' | '.join(row)} |", flush=True)
