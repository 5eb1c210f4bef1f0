"""PostgreSQL away, stopped or wrong: what is answered meanwhile, and that nobody is needed afterwards."""

import json
import time

from patience import eventually


def test_without_postgresql_no_session_is_accepted(own_cluster, build):
    a, b = build(2, {"assertion.audience": "https://api.example.com"}, own=own_cluster).nodes
    session = a.sign_in("ada")
    assert a.verify(session) == b.verify(session) == 204
    keys = {node: node.call("GET", "/.well-known/jwks.json").body for node in (a, b)}
    assert json.loads(keys[a])["keys"]
    own_cluster.stop()
    for node in (a, b):
        # For a second from its memory; then it fails closed.
        eventually(lambda: node.verify(session) == 503, "503")
        assert node.verify(session) == 503
        assert node.call("GET", "/login/apple").status == 303
        public = node.call("GET", "/.well-known/jwks.json")
        assert (public.status, public.body) == (200, keys[node])
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


def test_a_stopped_server_does_not_delay_the_others(build):
    a, b = build(2).nodes
    a.sign_in("ada")
    # Somebody takes the lock and goes silent: PostgreSQL ends that transaction after a second.
    a.pause()
    assert b.sign_in("boris")
    a.go_on()
    assert a.sign_in("chie")


def test_a_restart_of_postgresql_needs_no_operator(own_cluster, build):
    a = build(1, own=own_cluster).nodes[0]
    for _ in range(3):
        own_cluster.stop("fast")
        own_cluster.start()
        assert a.sign_in("ada")


def test_a_refused_connection_string_shows_no_password(build):
    url = "host=/nowhere user=bramley password=word dbname=bramley"
    answer = build(1, {"storage.postgres.url": url}, starts=False).nodes[0].bramley("serve", code=1)
    assert "cannot be used" in answer and "word" not in answer.replace("password", ""), answer
