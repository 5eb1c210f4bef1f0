"""`bramley move`: from SQLite to PostgreSQL and back, with everybody still signed in."""

import json
import subprocess
import threading

import pytest

from nodes import House, Node
from patience import PATIENCE


@pytest.fixture
def house(binaries, tmp_path, cluster):
    """One server over SQLite, and an empty database on PostgreSQL."""
    house = House(binaries, tmp_path, cluster, 0)
    settings = {name: value for name, value in house.settings.items() if name != "storage.postgres.url"}
    house.nodes.append(Node("node", house.site, settings))
    yield house
    house.end()


def place(node: Node, **storage) -> None:
    node.program.stop()
    file = node.folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"storage": storage}))


def begin(house: House) -> tuple[Node, str]:
    """Ada has signed in, and the server has stopped: the node and her session."""
    node = house.nodes[0].start()
    session = node.sign_in("ada")
    node.program.stop()
    return node, session


def in_postgresql(node: Node, url: str) -> dict:
    return {"directory": node.settings["storage.directory"], "postgres": {"url": url}}


def story(node: Node) -> tuple:
    """What the commands tell."""
    return tuple(node.bramley(*words) for words in (
        ("users", "list", "--json"), ("sessions", "list", "--json"), ("events", "tail", "--json")))


def test_everyone_stays_signed_in_after_moving_there_and_back(house, cluster):
    node, url = house.nodes[0], cluster.url(house.database)
    node.start()
    sessions = [node.sign_in(person) for person in ("ada", "boris", "ada")]
    node.sign_out(sessions.pop())
    data = node.settings["storage.directory"]
    node.program.stop()
    before = story(node)
    said = node.bramley("move", "--to", url, "--yes")
    assert "The database has moved to PostgreSQL: 2 users, 2 sessions" in said and "storage.postgres.url" in said
    assert "was moved to PostgreSQL and is no longer used" in node.bramley("users", "list", code=1)
    assert "is no longer used" in node.bramley("serve", code=1)
    place(node, **in_postgresql(node, url))
    assert story(node) == before
    node.start()
    assert [node.verify(session) for session in sessions] == [204, 204]
    sessions.append(node.sign_in("chie"))
    node.sign_out(sessions.pop(0))
    assert "A server is still using the database" in node.bramley("move", "--to", data + "-2", "--yes", code=1)
    node.program.stop()
    before = story(node)
    report = json.loads(node.bramley("move", "--to", data + "-2", "--yes", "--json"))
    assert {table["name"]: table["rows"] for table in report["tables"]}["user"] == 3
    assert "is no longer used" in node.bramley("users", "list", code=1)
    place(node, directory=data + "-2")
    assert story(node) == before
    node.start()
    assert [node.verify(session) for session in sessions] == [204, 204]
    node.sign_in("ada")
    lines = [json.loads(line) for line in node.bramley("events", "tail", "--json").splitlines()]
    assert len(lines) == len({line["id"] for line in lines}) > len(before[2].splitlines())


def test_an_interrupted_move_changes_nothing_and_can_be_repeated(house, cluster, wire):
    node, session = begin(house)
    url = cluster.url(house.database, f"host=127.0.0.1 port={wire.port}")
    # The schema is there, the copy begins, and the connection is lost.
    wire.decide = lambda content, writes: "cut before" if b"DELETE FROM" in content else "pass"
    assert "The move was not completed" in node.bramley("move", "--to", url, "--yes", code=1)
    assert "Ada Byron" in node.bramley("users", "list")
    wire.decide = lambda content, writes: "pass"
    node.bramley("move", "--to", url, "--yes")
    place(node, **in_postgresql(node, cluster.url(house.database)))
    node.start()
    assert node.verify(session) == 204


def test_the_target_comes_from_a_file_or_the_environment(house, cluster, monkeypatch):
    node, session = begin(house)
    assert "BRAMLEY_MOVE_TO" in node.bramley("move", "--yes", code=64)
    file = node.folder / "target.url"
    url = cluster.url(house.database) + " password=any"
    file.write_text(url + "\n")
    file.chmod(0o644)
    assert "chmod 600" in node.bramley("move", "--to-file", str(file), "--yes", code=1)
    file.chmod(0o600)
    assert "not both" in node.bramley("move", "--to-file", str(file), "--to", "x", "--yes", code=64)
    monkeypatch.setenv("BRAMLEY_MOVE_TO", "postgresql://a@nowhere.invalid/x")
    assert "cannot be used" in node.bramley("move", "--yes", code=1)
    # What is named on the command line wins; and no other command takes the variable for a mistake.
    assert "has moved to PostgreSQL" in node.bramley("move", "--to-file", str(file), "--yes")
    place(node, **in_postgresql(node, url))
    node.start()
    assert node.verify(session) == 204


def test_moves_that_cannot_work_are_refused(house, cluster, tmp_path):
    node, url = house.nodes[0], cluster.url(house.database)
    node.start()
    node.sign_in("ada")
    assert "Stop it first" in node.bramley("move", "--to", url, "--yes", code=1)
    node.program.stop()
    for target, code, said in (
            (str(tmp_path / "elsewhere"), 64, "must be a connection string"),
            ("postgresql://a@c@localhost/x", 64, "two @"), ("postgresql://a:b@localhost/x", 64, "--to-file"),
            ("host=localhost dbname=x user=a password=b", 64, "--to-file"),
            (cluster.url(house.database, "host=/nowhere"), 1, "cannot be used")):
        assert said in node.bramley("move", "--to", target, "--yes", code=code)
    assert "Not a terminal" in node.bramley("move", "--to", url, code=64)
    # A database that somebody uses is no target.
    other = Node("other", house.site, house.settings)
    house.nodes.append(other)
    other.start().sign_in("boris")
    other.program.stop()
    assert "already contains a Bramley database" in node.bramley("move", "--to", url, "--yes", code=1)
    assert "Ada Byron" in node.bramley("users", "list")


@pytest.mark.parametrize("when", ["the copy is there", "the old one is marked"])
def test_a_move_that_is_killed_leaves_one_database_in_use(house, cluster, wire, when):
    node, session = begin(house)
    old = {"directory": node.settings["storage.directory"]}
    new = in_postgresql(node, cluster.url(house.database))
    url = cluster.url(house.database, f"host=127.0.0.1 port={wire.port}")
    killed, copied = threading.Event(), threading.Event()
    program, copies = None, False

    def decide(content: bytes, writes: bool) -> str:
        nonlocal copies
        if copied.is_set() and not killed.is_set():
            killed.set()
            program.kill()
            return "cut before"
        copies = copies or b"DELETE FROM" in content and b"webhook_endpoint" in content
        if copies and b"COMMIT" in content and not copied.is_set():
            copied.set()
            if when == "the copy is there":
                killed.set()
                program.kill()
                return "cut after"
        return "pass"

    wire.decide = decide
    program = subprocess.Popen(
        [house.site.binaries / "bramley", "move", "--to", url, "--yes", "--config", node.folder / "config.json"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    program.wait(PATIENCE)
    assert killed.is_set()
    wire.decide = lambda content, writes: "pass"
    # At most one can be used, and the move can be done again.
    opens = []
    for storage in (old, new):
        place(node, **storage)
        opens.append("Ada Byron" in node.bramley("users", "list", code=None))
    assert opens == [when == "the copy is there", False]
    place(node, **old)
    node.bramley("move", "--to", url, "--yes")
    assert "is no longer used" in node.bramley("users", "list", code=1)
    place(node, **new)
    node.start()
    assert node.verify(session) == 204
