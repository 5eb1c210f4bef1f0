"""`bramley keys rotate-sealing`: one command, which continues from wherever it was stopped, beside a running server."""

import secrets
import stat
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from patience import eventually
from processes import fails
from programs import write_private
from web import SESSION, call, cookie_field, sign_in


@pytest.fixture
def site(make_site):
    return make_site()


def key_file(site):
    return site.folder / "data/sealing.key"


def formers(site) -> list:
    return sorted(key_file(site).parent.glob("sealing.key.former-????????"))


def changed_at(site, milliseconds: int) -> None:
    site.operator.database(
        "UPDATE meta SET value = CAST(? AS BLOB) WHERE key = 'sealing-key-since'", str(milliseconds))


def is_signed_in(site, token: str) -> bool:
    return call(site, "GET", "/auth/verify", cookie_field({SESSION: token})).status == 204


def test_one_command_replaces_the_key_and_the_server_follows(site):
    token, file = sign_in(site), key_file(site)
    old = file.read_text()
    file.chmod(0o400)
    done = site.operator.json("keys", "rotate-sealing")
    assert (done["step"], done["tokens"], done["complete"], done["unreadable"]) == ("resealed", 1, True, [])
    assert done["newKey"]
    former, = formers(site)
    assert done["formerKeyFiles"] == [str(former)] and former.read_text() == old != file.read_text()
    assert {stat.S_IMODE(path.stat().st_mode) for path in (file, former)} == {0o400}
    assert not file.with_name("sealing.key.next").exists()
    assert "sealing keys reloaded" in site.server.text() and is_signed_in(site, token)
    assert is_signed_in(site, sign_in(site, "boris"))

    # Run again, it only finishes: the former key opens what browsers still hold.
    new = file.read_text()
    again = site.operator.json("keys", "rotate-sealing")
    assert (again["step"], again["tokens"], again["key"], again["newKey"]) == ("resealed", 0, done["key"], False)
    assert file.read_text() == new and formers(site) == [former]
    first, sealed, keep, retire = site.operator.bramley("keys", "rotate-sealing").splitlines()
    assert first == "No new key was made; --new makes one." and "resealed with" in sealed
    assert keep.startswith("Keep the previous sealing keys until 20")
    assert retire == f"Run this again after that to retire former keys: {former}."

    def audited() -> list:
        return site.operator.json("audit", "list", "--user", user)["items"]

    user, = (item["id"] for item in site.operator.json("users", "list")["items"] if "ada" in item["email"])
    before = audited()
    assert before
    # Lines of the audit log need it for longer than browsers.
    changed_at(site, int(time.time() - 100 * 86_400) * 1000)
    assert site.operator.json("keys", "rotate-sealing")["formerKeyFiles"] == [str(former)] and audited() == before

    # Once nothing needs it, it is only kept.
    changed_at(site, 1000)
    last = site.operator.json("keys", "rotate-sealing")
    assert (last["step"], last["formerKeyFiles"]) == ("done", []) and formers(site) == []
    unused, = last["unusedKeyFiles"]
    assert unused == f"{former}.unused" and former.with_name(former.name + ".unused").read_text() == old
    site.restart()
    assert is_signed_in(site, token)


@pytest.mark.parametrize("stopped", ["the next key is made", "the former key is kept", "the next key has taken over"])
def test_it_continues_after_a_crash(site, stopped):
    token, file = sign_in(site), key_file(site)
    old, new = file.read_text(), secrets.token_hex(32) + "\n"
    write_private(file.with_name("sealing.key.next"), new.encode())
    eventually(lambda: "sealing keys reloaded" in site.server.text(), "the next key opens", site.server.text)
    current = bytes(site.operator.database("SELECT value FROM meta WHERE key = 'sealing-key-id'")[0][0]).decode()
    if stopped != "the next key is made":
        write_private(file.with_name(f"sealing.key.former-{current}"), old.encode())
    if stopped == "the next key has taken over":
        write_private(file.with_name("sealing.key.new"), new.encode())
        file.with_name("sealing.key.new").rename(file)
    assert site.operator.json("keys", "rotate-sealing")["step"] == "resealed"
    assert file.read_text() == new and not file.with_name("sealing.key.next").exists()
    former, = formers(site)
    assert former.name.endswith(current) and former.read_text() == old and is_signed_in(site, token)


def test_without_a_server_the_new_key_waits_for_one(site):
    token, file = sign_in(site), key_file(site)
    old = file.read_text()
    site.stop()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(site.operator.json, "keys", "rotate-sealing")
        eventually(lambda: file.read_text() != old, "the new key")
        site.start()
        assert done.result()["tokens"] == 1 and is_signed_in(site, token)


def test_after_a_second_leak_another_key_is_made(site):
    token, file = sign_in(site), key_file(site)
    keys = [file.read_text()]
    for number in range(1, 3):
        done = site.operator.json("keys", "rotate-sealing", *["--new"][:number - 1])
        assert (done["newKey"], done["tokens"], len(formers(site))) == (True, 1, number)
        keys.append(file.read_text())
    assert len(set(keys)) == 3 and {path.read_text() for path in formers(site)} == set(keys[:2])
    assert is_signed_in(site, token)


def test_a_link_is_not_replaced_by_a_file(site, tmp_path):
    file = key_file(site)
    file.rename(tmp_path / "kept.key")
    file.symlink_to(tmp_path / "kept.key")
    fails(site.operator.run("keys", "rotate-sealing"), f"{file} is a link: replace the key where it points.")
    assert file.is_symlink() and formers(site) == [] and not file.with_name("sealing.key.next").exists()


def test_a_key_that_is_not_the_databases_is_not_followed(site):
    token, file = sign_in(site), key_file(site)
    old = file.read_text()
    file.write_text(secrets.token_hex(32))
    eventually(lambda: "sealing keys not reloaded" in site.server.text(), "the refusal", site.server.text)
    assert is_signed_in(site, token) and is_signed_in(site, sign_in(site, "boris"))
    file.write_text(old)
    site.restart()
    assert is_signed_in(site, token)


def test_a_key_in_the_configuration_is_not_rotated(make_site):
    site = make_site({"secrets.sealingKey": secrets.token_hex(32)})
    fails(site.operator.run("keys", "rotate-sealing"), "secrets.sealingKeyFile")
