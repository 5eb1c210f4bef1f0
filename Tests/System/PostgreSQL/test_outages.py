"""PostgreSQL away, stopped or wrong: what is answered meanwhile, and that nobody is needed afterwards."""

import json
import time

from patience import eventually


def test_without_postgresql_nobody_is_let_in_by_hearsay(own_cluster, build):
    a, b = build(2, own=own_cluster).nodes
    session = a.sign_in("ada")
    assert a.verify(session) == b.verify(session) == 204
    own_cluster.stop()
    for node in (a, b):
        # For a second from its memory; then it fails closed.
        eventually(lambda: node.verify(session) == 503, "503")
        assert node.verify(session) == 503
        assert node.call("GET", "/login/apple").status == 303
    own_cluster.start()
    for node in (a, b):
        eventually(lambda: node.verify(session) == 204, "the session after the outage")
    assert b.sign_in("boris")
    assert "database reachable again" in a.log.read_text()


def test_a_session_that_ended_while_a_server_slept_is_refused_when_it_wakes(build):
    a, b = build(2).nodes
    session = a.sign_in("ada")
    assert b.verify(session) == 204
    b.pause()
    a.sign_out(session)
    # Longer than b may trust what it knows.
    eventually(lambda: a.verify(session) == 401, "the end of the session")
    ended = time.monotonic()
    eventually(lambda: time.monotonic() > ended + 1, "the end of b's trust")
    b.go_on()
    assert b.verify(session) == 401


def test_a_stopped_server_does_not_hold_up_the_others(build):
    house = build(2)
    a, b = house.nodes
    a.sign_in("ada")
    # Somebody takes the lock and goes silent: PostgreSQL ends that transaction after a second.
    a.pause()
    assert b.sign_in("boris")
    a.go_on()
    assert a.sign_in("chie")


def test_a_restart_of_postgresql_needs_nobody(own_cluster, build):
    house = build(1, own=own_cluster)
    a = house.nodes[0]
    for _ in range(3):
        own_cluster.stop("fast")
        own_cluster.start()
        assert a.sign_in("ada")


def test_nobody_is_told_the_password(build, cluster):
    node = build(1).nodes[0]
    node.program.stop()
    file = node.folder / "config.json"
    good = json.loads(file.read_text())
    for url, said in (
        ("postgresql://bramley:pass@word@localhost/bramley", "two @"),
        ("host=/nowhere user=bramley password=word dbname=bramley", "cannot be used"),
        ("host=/nowhere word", "connection string"),
        ("word", "connection string"),
    ):
        good["storage"]["postgres"]["url"] = url
        file.write_text(json.dumps(good))
        answer = node.bramley("serve", code=1)
        assert said in answer and "word" not in answer.replace("password", ""), answer
