"""What an operator does with a server they have started: its commands, and a look into its database."""

import sqlite3
import subprocess
from pathlib import Path

from patience import PATIENCE


class Operator:
    def __init__(self, binaries: Path, folder: Path):
        self.program, self.folder = binaries / "bramley", folder

    def run(self, *arguments: str) -> subprocess.CompletedProcess:
        """A command as it ended, well or not."""
        return subprocess.run(
            [str(self.program), *arguments, "--config", str(self.folder / "config.json")],
            capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def bramley(self, *arguments: str) -> str:
        """What a command that has to succeed prints."""
        done = self.run(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def database(self, sql: str, *values) -> list[tuple]:
        """One statement, as another process may make it while the server runs."""
        connection = sqlite3.connect(self.folder / "data/bramley.db", timeout=PATIENCE)
        try:
            with connection:
                return connection.execute(sql, values).fetchall()
        finally:
            connection.close()
