"""What an operator does with a server they have started: its commands, and a look into its database."""

import contextlib
import json
import sqlite3
import subprocess
from pathlib import Path

import postgres
from patience import PATIENCE
from processes import finished


def event_id(sequence: int, salt: bytes) -> str:
    """The id of an event: 48 bits of its sequence and 80 that are stored beside it, in Crockford's base32."""
    number = (sequence << 82) + (int.from_bytes(salt, "big") << 2)
    return "evt_" + "".join("0123456789abcdefghjkmnpqrstvwxyz"[number >> shift & 31] for shift in range(125, -1, -5))


class Operator:
    def __init__(self, binaries: Path, folder: Path):
        self.program, self.folder = binaries / "bramley", folder

    def run(self, *arguments: str, **options) -> subprocess.CompletedProcess:
        """A command as it ended, well or not; `options` are those of `subprocess.run`."""
        configuration = self.folder / "config.json"
        return finished(self.program, *arguments, "--config", configuration, **{"timeout": None} | options)

    def bramley(self, *arguments: str) -> str:
        """What a command that has to succeed prints."""
        done = self.run(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def json(self, *arguments: str):
        return json.loads(self.bramley(*arguments, "--json"))

    def key(self, *scopes: str) -> str:
        return self.json("api-keys", "create", "test", "--scopes", ",".join(scopes))["key"]

    def pages(self, *arguments: str) -> list[dict]:
        """The items of a list, page by page."""
        found, cursor = [], []
        while True:
            page = self.json(*arguments, *cursor)
            found += page["items"]
            if page["next"] is None:
                return found
            cursor = ["--cursor", page["next"]]

    @property
    def url(self) -> str | None:
        """Of PostgreSQL, if that holds the database."""
        return json.loads((self.folder / "config.json").read_text())["storage"].get("postgres", {}).get("url")

    def database(self, sql: str, *values) -> list[tuple]:
        """One statement, as another process may make it while the server runs."""
        return self.write(sql, [values])

    def write(self, sql: str, rows: list[tuple]) -> list[tuple]:
        """The same for each of the rows, in one transaction."""
        if url := self.url:
            return postgres.ask(url, sql, rows)
        file = self.folder / "data/bramley.db"
        with contextlib.closing(sqlite3.connect(file, timeout=PATIENCE)) as connection, connection:
            return [found for row in rows for found in connection.execute(sql, row).fetchall()]

    @contextlib.contextmanager
    def locked(self):
        """Holds the database's one place for writers, as a slow disk would."""
        if url := self.url:
            connection = postgres.connect(url)
            connection.cursor().execute("SELECT id FROM store_lock FOR UPDATE")
        else:
            connection = sqlite3.connect(self.folder / "data/bramley.db", timeout=PATIENCE, isolation_level=None)
            connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            connection.rollback()
            connection.close()

    def insert(self, table: str, *rows: dict) -> None:
        columns = ", ".join(f'"{name}"' for name in rows[0])
        marks = ", ".join("?" for _ in rows[0])
        self.write(f"INSERT INTO {table} ({columns}) VALUES ({marks})", [tuple(row.values()) for row in rows])

    def tables(self) -> dict[str, list[str]]:
        if self.url:
            found = self.database(
                "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
                " AND table_name NOT LIKE 'store!_%' ESCAPE '!' ORDER BY 1, ordinal_position")
        else:
            found = self.database(
                "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY 1")
        tables: dict[str, list[str]] = {}
        for table, column in found:
            tables.setdefault(table, []).append(column)
        return tables
