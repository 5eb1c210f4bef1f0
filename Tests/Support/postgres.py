"""PostgreSQL for tests: a primary of their own, and perhaps a standby."""

import contextlib
import os
import re
import secrets
import signal
import subprocess
from pathlib import Path

import pytest

from patience import PATIENCE, eventually
from processes import finished

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/postgres.sh"
# With TEST_STORE=postgres, each site has a database on PostgreSQL and none of SQLite's (`make test-postgres`).
IS_STORE = os.environ.get("TEST_STORE") == "postgres"


class Server:
    def __init__(self, folder: Path, data: str, port: int):
        # The folder of its socket.
        self.folder, self.data, self.port = folder, folder / data, port
        self.programs = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))

    def run(self, program: str, *arguments: str) -> str:
        done = finished(*as_postgres(str(self.programs / program), *arguments), cwd="/")
        if done.returncode != 0:
            log = Path(f"{self.data}.log")
            raise RuntimeError(
                f"{program} {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
                + (log.read_text()[-1500:] if log.exists() else ""))
        return done.stdout

    def control(self, what: str, *arguments: str) -> None:
        self.run("pg_ctl", "-D", str(self.data), "-w", *arguments, what)

    def sql(self, text: str, database: str = "postgres") -> str:
        return self.run(
            "psql", "-h", str(self.folder), "-p", str(self.port), "-U", "postgres", "-qAtc", text,
            "-d", f"dbname={database} options='-c search_path=bramley,public'").strip()

    def psql(self, user: str, database: str, *sql: str) -> list[str]:
        """The command that runs these statements, one after another."""
        commands = [word for text in sql for word in ("-c", text)]
        return as_postgres(
            str(self.programs / "psql"), "-h", str(self.folder), "-U", user, "-qAt", "-d", database, *commands)

    def answers(self) -> bool:
        """Raises when it has ended."""
        try:
            return self.sql("SELECT 1") == "1"
        except RuntimeError:
            os.kill(self.processes()[0], 0)
            return False

    def configure(self, **settings: str) -> None:
        for name, value in settings.items():
            self.sql(f"ALTER SYSTEM SET {name} = '{value}'")
        self.sql("SELECT pg_reload_conf()")

    def stop(self, mode: str = "immediate") -> None:
        self.control("stop", "-m", mode)

    def start(self) -> None:
        self.control("start", "-l", f"{self.data}.log", "-o", f"-p {self.port}")

    def promote(self) -> None:
        self.control("promote")

    def processes(self) -> list[int]:
        first = int((self.data / "postmaster.pid").read_text().split()[0])
        return [first, *map(int, finished("pgrep", "-P", str(first)).stdout.split())]

    def signal(self, number: signal.Signals) -> None:
        for process in self.processes():
            # One that served a connection may have ended since.
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        # Nobody may have collected the dead process yet, and PostgreSQL would take it for one that runs.
        for lock in (self.data / "postmaster.pid", self.folder / f".s.PGSQL.{self.port}.lock"):
            lock.unlink(missing_ok=True)


def as_postgres(*command: str) -> list[str]:
    """What runs it as an ordinary user: PostgreSQL's programs refuse to run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.getuid() == 0 else list(command)


class Cluster(Server):
    """PostgreSQL in a folder of its own: a primary, and perhaps a standby."""

    def __init__(self, *arguments: str):
        """Of scripts/postgres.sh."""
        self.program = subprocess.Popen([SCRIPT, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        folder = Path(self.program.stdout.readline().strip())
        assert folder.name, "PostgreSQL does not start"
        super().__init__(folder, "data", 5432)
        self.standby = Server(folder, "standby", 5433) if "--standby" in arguments else None
        if self.standby:
            state = "SELECT sync_state FROM pg_stat_replication"
            eventually(lambda: self.sql(state) == "sync", "a synchronous standby")

    @property
    def hosts(self) -> str:
        servers = [self, self.standby] if self.standby else [self]
        folders, ports = (",".join(map(str, some)) for some in zip(*((one.folder, one.port) for one in servers)))
        return f"host={folders} port={ports}"

    def make_database(self) -> str:
        name = "bramley_" + secrets.token_hex(4)
        self.sql(f"CREATE DATABASE {name}")
        return name

    def url(self, database: str, place: str | None = None) -> str:
        return f"{place or self.hosts} user=postgres dbname={database}"

    def end(self) -> None:
        self.program.stdin.close()
        self.program.wait(timeout=PATIENCE)


class Store:
    """The cluster of all sites of a run, started with the first. Each has a schema of its own."""

    cluster: Cluster | None = None

    def make(self) -> str:
        self.cluster = self.cluster or Cluster()
        name = "site_" + secrets.token_hex(6)
        self.cluster.sql(f"CREATE SCHEMA {name}")
        return self.cluster.url("postgres") + f" options='-c search_path={name}'"

    def end(self) -> None:
        if self.cluster:
            self.cluster.end()
        self.cluster = None


STORE = Store()


def connect(url: str):
    import pg8000.dbapi

    words = dict(re.findall(r"(\w+)=('[^']*'|\S+)", url))
    connection = pg8000.dbapi.connect(
        user=words["user"], database=words["dbname"], unix_sock=f"{words['host']}/.s.PGSQL.{words['port']}")
    # Bramley's own schema, unless the address names one.
    path = words.get("options", "").strip("'").partition("search_path=")[2] or "bramley"
    connection.cursor().execute("SET search_path = " + path)
    connection.commit()
    return connection


# Of the sites asked about lately: to connect takes longer than to ask.
CONNECTIONS: dict[str, object] = {}


def ask(url: str, sql: str, rows: list[tuple]) -> list[tuple]:
    """One statement in SQLite's words, for each of the rows."""
    text = re.sub(r"(?<![\w.'\"])user(?![\w'\"])", '"user"', sql).replace("%", "%%").replace("?", "%s")
    text = re.sub(r"group_concat\((\w+)\)", r"string_agg(\1, ',')", text)
    connection = CONNECTIONS.pop(url, None) or connect(url)
    found = []
    try:
        cursor = connection.cursor()
        for row in rows:
            cursor.execute(text, row)
            if cursor.description:
                found += [tuple(value) for value in cursor.fetchall()]
        connection.commit()
    except BaseException:
        connection.close()
        raise
    if len(CONNECTIONS) >= 8:
        CONNECTIONS.pop(next(iter(CONNECTIONS))).close()
    CONNECTIONS[url] = connection
    return found


on_sqlite = pytest.mark.skipif(IS_STORE, reason="about SQLite's file")
