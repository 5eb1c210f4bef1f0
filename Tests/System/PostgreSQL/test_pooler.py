"""A pooler in PostgreSQL's place: refused, since it may give each transaction another connection."""

import pytest

from postgres import as_postgres
from programs import Program, free_port


@pytest.fixture
def pooler(cluster, tmp_path):
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
    command = as_postgres("env", "--chdir=/", "/usr/sbin/pgbouncer", str(settings))
    program = Program(command, tmp_path / "pgbouncer.log")
    program.wait_for(port)
    yield port
    program.stop()


def test_a_pooler_is_refused_in_plain_words(build, pooler):
    house = build(1, starts=False)
    house.reach(house.nodes[0], f"host=127.0.0.1 port={pooler}")
    said = house.nodes[0].bramley("serve", code=1)
    assert "a pooler such as pgbouncer answers instead" in said, said
