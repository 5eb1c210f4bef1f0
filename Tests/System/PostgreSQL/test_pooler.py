"""A pooler in PostgreSQL's place: refused, since it may give each transaction another connection."""

import socket
import subprocess

import pytest

from nodes import House
from patience import PATIENCE, eventually
from postgres import as_postgres
from programs import free_port


@pytest.fixture
def pooler(cluster):
    """The port of a pgbouncer in front of the cluster."""
    port, settings = free_port(), cluster.folder / "pgbouncer.ini"
    settings.write_text(f"""
        [databases]
        * = host={cluster.folder} user=postgres
        [pgbouncer]
        listen_addr = 127.0.0.1
        listen_port = {port}
        unix_socket_dir =
        auth_type = any
        pool_mode = transaction
        """.replace("\n        ", "\n"))
    program = subprocess.Popen(
        as_postgres("/usr/sbin/pgbouncer", str(settings)), cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    eventually(lambda: answers(port), "pgbouncer")
    yield port
    program.terminate()
    program.wait(timeout=PATIENCE)


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
        return True
    except OSError:
        return False


def test_a_pooler_is_refused_in_plain_words(binaries, tmp_path, cluster, pooler):
    house = House(binaries, tmp_path, cluster, 1)
    try:
        node = house.nodes[0]
        house.reach(node, f"host=127.0.0.1 port={pooler}")
        said = node.bramley("serve", code=1)
        assert "a pooler such as pgbouncer answers in its place" in said, said
    finally:
        house.end()
