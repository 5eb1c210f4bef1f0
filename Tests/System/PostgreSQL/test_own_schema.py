"""The tables are in a schema of their own, in which nobody but Bramley makes anything (CVE-2018-1058)."""

import json
import secrets
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from nodes import Node
from patience import PATIENCE
from postgres import Cluster
from processes import finished


class Place:
    """An ordinary role's database where a stranger may connect and create in `public`, as PostgreSQL 14 allows."""

    def __init__(self, cluster: Cluster):
        self.cluster = cluster
        mark = secrets.token_hex(4)
        self.owner, self.stranger, self.name = f"owner_{mark}", f"stranger_{mark}", f"place_{mark}"
        for role in (self.owner, self.stranger):
            cluster.sql(f"CREATE ROLE {role} LOGIN")
        cluster.sql(f"CREATE DATABASE {self.name} OWNER {self.owner}")
        cluster.sql("GRANT CREATE ON SCHEMA public TO PUBLIC", self.name)

    def url(self, more: str = "") -> str:
        return f"{self.cluster.hosts} user={self.owner} dbname={self.name}{more}"

    def strangers(self, *sql: str, fails: bool = False) -> str:
        done = finished(*self.cluster.psql(self.stranger, self.name, *sql), cwd="/")
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def schemas(self, table: str = "session") -> str:
        return self.cluster.sql(f"SELECT string_agg(schemaname, ' ') FROM pg_tables WHERE tablename = '{table}'", self.name)


@pytest.fixture
def ground(cluster):
    return Place(cluster)


@pytest.fixture
def node(build, ground):
    return build(1, {"storage.postgres.url": ground.url()}, starts=False).nodes[0]


def change_url(node: Node, url: str) -> None:
    if node.program:
        node.program.stop()
    node.change({"storage.postgres.url": url})


def test_functions_of_another_role_do_not_run_as_bramleys_role(node, ground):
    # Each fits its arguments better than PostgreSQL's own.
    body = f"EXECUTE 'ALTER ROLE {ground.owner} CONNECTION LIMIT 77'; RETURN"
    ground.strangers(*(
        f"CREATE FUNCTION public.{name} RETURNS {answer} LANGUAGE plpgsql AS $$ BEGIN {body} {value}; END $$"
        for name, answer, value in (
            ("pg_advisory_xact_lock(integer)", "void", ""), ("substr(text, bigint, integer)", "text", "'x'"),
            ("setval(regclass, integer)", "bigint", "1"))))
    for _ in range(2):
        node.start()
        assert node.verify(node.sign_in("ada")) == 204
        node.program.stop()
    assert ground.cluster.sql(f"SELECT rolconnlimit FROM pg_roles WHERE rolname = '{ground.owner}'") == "-1"
    assert ground.schemas() == ground.schemas("store_lock") == "bramley"
    for sql in ("SELECT * FROM bramley.session", "CREATE TABLE bramley.x ()"):
        assert "permission denied" in ground.strangers(sql, fails=True)


def test_a_strangers_advisory_lock_delays_nobody(node, ground):
    lock = ground.cluster.psql(
        ground.stranger, ground.name, f"SELECT pg_advisory_lock({0x42726D6C})", "SELECT pg_sleep(60)")
    holder = subprocess.Popen(lock, stdout=subprocess.PIPE, cwd="/")
    try:
        assert holder.stdout.readline() == b"\n"
        node.start()
        assert node.sign_in("ada")
    finally:
        ground.cluster.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{ground.stranger}'")
        holder.wait(PATIENCE)


def test_a_database_made_in_public_moves_at_the_first_start(node, ground):
    ground.cluster.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC", ground.name)
    # The connection string names the schema, where earlier versions took the first of the path.
    change_url(node, ground.url(" options='-c search_path=public'"))
    node.start()
    session = node.sign_in("ada")
    assert ground.schemas() == "public"
    ground.cluster.sql("CREATE TABLE public.theirs ()", ground.name)
    change_url(node, ground.url())
    assert "start bramley serve of this version once" in node.bramley("users", "list", code=1)
    node.start()
    assert ground.schemas() == ground.schemas("store_lock") == "bramley" and ground.schemas("theirs") == "public"
    assert node.verify(session) == 204
    node.sign_out(session)
    assert node.sign_in("boris")
    assert "Ada Byron" in node.bramley("users", "list")
    left = "SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname IN ('min', 'json_each')"
    assert ground.cluster.sql(left, ground.name) == "0"


def test_tables_prepared_by_another_role_are_not_adopted(node, ground):
    ground.strangers(*(f"CREATE TABLE public.{name} (id BIGINT)" for name in ("store_lock", "store_node", "store_poll")))
    said = node.bramley("serve", code=1)
    assert f"belongs to {ground.stranger}" in said and "public" in said
    assert ground.schemas("store_lock") == "public"


@pytest.mark.parametrize("grant, named", [
    ("GRANT CREATE ON SCHEMA bramley TO PUBLIC", "PUBLIC"),
    ("GRANT CREATE ON SCHEMA bramley TO {stranger}", "{stranger}"),
    ("CREATE FUNCTION bramley.length(bytea) RETURNS bigint LANGUAGE sql AS 'SELECT 1'; "
     "ALTER FUNCTION bramley.length(bytea) OWNER TO {stranger}", "{stranger}"),
    ("ALTER SCHEMA bramley OWNER TO {stranger}", "{stranger}"),
])
def test_a_schema_in_which_others_may_create_is_refused(node, ground, grant, named):
    node.start().program.stop()
    named = named.format(stranger=ground.stranger)
    ground.cluster.sql(grant.format(stranger=ground.stranger), ground.name)
    for command in (("serve",), ("users", "list")):
        said = node.bramley(*command, code=1)
        assert named in said and "schema bramley" in said and "would run as Bramley" in said
    found = json.loads(node.bramley("doctor", "--json", code=1))["items"]
    assert any(one["check"] == "database" and named in one["detail"] for one in found)


def test_a_schema_named_in_the_connection_string_is_used(node, ground):
    ground.cluster.sql(f'CREATE SCHEMA "Apple""s" AUTHORIZATION {ground.owner}', ground.name)
    change_url(node, ground.url(" options='-c search_path=\"Apple\"\"s\",public'"))
    node.start()
    assert node.verify(node.sign_in("ada")) == 204
    assert ground.schemas() == 'Apple"s'
    change_url(node, ground.url(" options='-c search_path=nowhere'"))
    assert "does not exist: create it" in node.bramley("serve", code=1)


def test_servers_that_start_together_create_one_schema(build, ground):
    nodes = build(3, {"storage.postgres.url": ground.url()}, starts=False).nodes
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(Node.start, nodes))
    assert ground.schemas() == "bramley"
    session = nodes[0].sign_in("ada")
    assert [node.verify(session) for node in nodes] == [204] * 3
