"""What visitors and operators see of several servers over one PostgreSQL, and how little those ask when idle."""

import re
import secrets
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

from nodes import Node
from patience import eventually
from program import Program
from programs import write_private
from web import FORM


def test_a_session_is_valid_on_every_server_and_ends_on_every_server(build):
    a, b, c = build(3).nodes
    session = a.sign_in("ada")
    # The second time, from each server's memory.
    assert [node.verify(session) for node in (a, b, c) * 2] == [204] * 6
    b.sign_out(session)
    assert b.verify(session) == 401
    for node in (a, c):
        eventually(lambda: node.verify(session) == 401, "the end of the session on another server")


def test_a_person_is_one_user_on_all_servers(build):
    house = build(2)
    a, b = house.nodes
    first, second = a.sign_in("ada"), b.sign_in("ada")
    assert first != second
    assert house.sql('SELECT count(*) FROM "user"') == "1"
    assert a.bramley("users", "list", "--json").count('"usr_') == 1
    a.bramley("sessions", "revoke", "--all", "--yes")
    for node in (a, b):
        for session in (first, second):
            eventually(lambda: node.verify(session) == 401, "the end of every session")


def test_many_sign_in_at_once_on_all_servers(build):
    house = build(3)
    people = ["ada", "boris", "chie", "dana", "erin"]
    with ThreadPoolExecutor(8) as pool:
        sessions = list(pool.map(lambda index: house.nodes[index % 3].sign_in(people[index % 5]), range(30)))
    assert len(set(sessions)) == 30
    assert house.sql('SELECT count(*) FROM "user"') == "5"
    assert house.sql("SELECT count(*) FROM session") == "30"
    for index, session in enumerate(sessions):
        assert house.nodes[(index + 1) % 3].verify(session) == 204


def test_a_callback_posted_to_two_servers_makes_one_session_and_each_gets_it(build):
    house = build(2)
    a, b = house.nodes
    binding, form = a.begin("ada")
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda node: node.come_back(binding, form), [a, b]))
    assert house.sql("SELECT count(*) FROM session") == "1"
    assert [answer.status for answer in answers] == [303, 303]
    assert answers[0].session and answers[0].session == answers[1].session
    assert b.come_back(binding, form).session == answers[0].session


def test_a_device_begins_is_allowed_and_gets_its_tokens_on_different_servers(build):
    a, b = build(2).nodes
    a.bramley("clients", "add", "tv", "--public", "--device")

    def post(node, path: str, headers: dict | None = None, **form: str):
        return node.call("POST", path, FORM | {"Origin": node.origin} | (headers or {}), urlencode(form))

    begun = post(a, "/oidc/device_authorization", client_id="tv", scope="openid").must(200).json()

    def poll(node):
        return post(node, "/oidc/token", client_id="tv", device_code=begun["device_code"],
                    grant_type="urn:ietf:params:oauth:grant-type:device_code").json()

    assert [poll(node)["error"] for node in (b, a)] == ["authorization_pending", "slow_down"]
    session = {"Cookie": b.sign_in("ada")}
    page = post(a, "/device", session, user_code=begun["user_code"]).must(200)
    ticket = re.search('name="bramley_ticket" value="([^"]+)"', page.text)[1]
    post(b, "/device", session, user_code=begun["user_code"], bramley_ticket=ticket, decision="allow").must(200)
    assert poll(a)["access_token"].startswith("boa_")
    assert poll(b)["error"] == "invalid_grant"
    # Five wrong ones in all, wherever.
    statuses = [post((a, b)[n % 2], "/device", session, user_code="BBBB-BBBB").status for n in range(6)]
    assert statuses == [200] * 5 + [429]


def test_a_missing_sealing_key_is_not_created_and_another_is_refused(build):
    house = build(1)
    node, key = house.nodes[0], house.site.folder / "sealing.key"
    node.program.stop()
    key.write_text("00" * 32)
    assert "sealing key" in node.bramley("serve", code=1)
    key.unlink()
    said = node.bramley("serve", code=1)
    assert "All servers of one database need the same" in said and "openssl rand -hex 32" in said
    assert "openssl rand -hex 32" in node.bramley("check", code=1)
    assert not key.exists()


def test_the_sealing_key_changes_on_one_server_after_another(build, tmp_path):
    a, b = build(2).nodes
    first = a.settings["secrets.sealingKeyFile"]
    second = str(tmp_path / "second.key")
    write_private(tmp_path / "second.key", secrets.token_hex(32).encode())
    session = a.sign_in("ada")

    def restart(node, current: str, previous: str) -> None:
        node.program.stop()
        node.change({"secrets.sealingKeyFile": current, "secrets.previousSealingKeyFiles": [previous]})
        node.start()

    def works() -> None:
        assert a.verify(session) == b.verify(session) == 204
        for here, there in ((a, b), (b, a)):
            assert there.come_back(*here.begin("boris")).session

    for current, previous in ((first, second), (second, first)):
        for node in (a, b):
            restart(node, current, previous)
            works()
    a.bramley("credentials", "reseal")
    works()


def test_a_rotation_of_the_sealing_key_takes_two_runs_and_one_on_each_other_server(build, tmp_path):
    a, b = build(2).nodes
    session, old = a.sign_in("ada"), Path(a.settings["secrets.sealingKeyFile"]).read_text()
    files = {}
    for node in (a, b):
        # Each has its own copy, as on machines of their own.
        files[node] = tmp_path / f"{node.folder.name}.key"
        write_private(files[node], old.encode())
        node.program.stop()
        node.change({"secrets.sealingKeyFile": str(files[node])})
        node.start()

    def works() -> None:
        assert a.verify(session) == b.verify(session) == 204
        for here, there in ((a, b), (b, a)):
            assert there.come_back(*here.begin("boris")).session

    for _ in range(2):
        asked = a.json("keys", "rotate-sealing")
        assert asked["step"] == "copy" and files[a].read_text() == old
    assert a.json("keys", "rotate-sealing")["nextKeyFile"] == f"{files[a]}.next"
    write_private(Path(f"{files[b]}.next"), Path(f"{files[a]}.next").read_bytes())
    eventually(lambda: "sealing keys reloaded" in b.log.read_text(), "the next key on the other server")
    assert a.json("keys", "rotate-sealing", "--copied")["step"] == "resealed"
    works()
    assert b.admin("/readyz").status == 200
    assert b.json("keys", "rotate-sealing")["step"] == "resealed"
    assert files[a].read_text() == files[b].read_text() != old
    works()


def test_a_transfer_runs_on_one_machine_at_a_time(build):
    house = build(1)
    later = int(time.time() * 1_000) + 50_000
    house.sql(f"INSERT INTO lease (job, holder, expires_at) VALUES ('transfer', 'another', {later})")
    said = house.nodes[0].bramley("transfer", "export", "--to", "TEAM654321", code=1)
    assert "Another machine is running a transfer" in said


def test_backup_and_restore_name_pg_dump(build):
    node = build(1).nodes[0]
    for command in (["backup"], ["restore", "--yes"]):
        assert "pg_dump" in node.bramley(*command, str(node.folder / "copy"), code=1)


def test_a_refresh_repeated_at_a_server_with_another_clock_gets_the_same_answer(build):
    """The database's clock says how long ago the first was, whatever that of a server says."""
    house = build(1)
    right, wrong = house.nodes[0], Node("wrong", house.site, house.settings)
    house.nodes.append(wrong)
    wrong.skew = 30
    wrong.start()
    program = Program(right)
    _, tokens = program.redeem(right, program.code(right, right.sign_in("ada")))
    for first, second in ((right, wrong), (wrong, right)):
        (status, tokens), again = [program.refresh(node, tokens["refresh_token"]) for node in (first, second)]
        assert status == 200, tokens
        assert again[0] == 200 and again[1]["refresh_token"] == tokens["refresh_token"], again
    assert program.userinfo(right, tokens["access_token"]) == 200


def test_a_missing_database_or_role_is_reported_at_once(build, cluster):
    house = build(1)
    node = house.nodes[0]
    node.program.stop()
    for url, said in (
            (cluster.url("nowhere"), 'database "nowhere" does not exist'),
            (cluster.url(house.database).replace("user=postgres", "user=nobody"), 'role "nobody" does not exist')):
        node.change({"storage.postgres.url": url})
        begun = time.monotonic()
        answer = node.bramley("serve", code=1).replace('\\"', '"')
        assert said in answer and "LOCATION" not in answer, answer
        assert time.monotonic() - begun < 5


def test_an_outage_is_logged_correctly_and_not_every_second(own_cluster, build):
    node = build(1, own=own_cluster).nodes[0]
    session = node.sign_in("ada")
    own_cluster.stop()
    eventually(lambda: node.verify(session) == 503, "503")
    node.call("POST", "/logout", {"Cookie": session, "Origin": node.site.origin}, "")
    eventually(lambda: "database write failed: nobody can sign in" in node.log.read_text(), "the line of failed writes")
    time.sleep(8)
    said = node.bramley("doctor", code=1)
    log = node.log.read_text()
    own_cluster.start()
    assert "sessions continue" not in log and "storage.directory" not in log + said, log + said
    repeated = Counter(
        re.sub(r"^\S+ ", "", line) for line in log.splitlines() if " error " in line or '"error"' in line)
    assert not [text for text, count in repeated.items() if count > 3], repeated


def test_an_idle_server_polls_less_often(build):
    house = build(1)
    node = house.nodes[0]
    session = node.sign_in("ada")

    def polls(seconds: float) -> int:
        seen, end = set(), time.monotonic() + seconds
        while time.monotonic() < end:
            seen.add(house.sql("SELECT max(polled_at) FROM store_poll"))
            time.sleep(0.1)
        return len(seen) - 1

    eventually(lambda: polls(5) <= 3, "an idle server that asks seldom")
    # Whoever comes is answered, and while somebody comes the server asks four times a second.
    assert node.verify(session) == 204
    assert polls(3) >= 6
