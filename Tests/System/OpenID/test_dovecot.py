"""Dovecot of Debian accepts access tokens as passwords (XOAUTH2), by introspection; its webmail Roundcube refreshes."""

import base64
import grp
import imaplib
import os
import pwd
import re
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

from others import Walk, install
from party import Browser, register, register_here
from patience import PATIENCE, eventually
from programs import Program, free_port

pytestmark = pytest.mark.long


@pytest.fixture
def imap(site, tmp_path):
    install("dovecot-imapd")
    key, port, me = site.operator.key("introspect"), free_port(), pwd.getpwuid(os.getuid())
    # As root, Dovecot insists on its own users, which must reach its sockets.
    internal, login, group, owner = me.pw_name, me.pw_name, grp.getgrgid(os.getgid()).gr_name, me
    if os.getuid() == 0:
        internal, login, group, owner = "dovecot", "dovenull", "dovecot", pwd.getpwnam("nobody")
    run = Path(tempfile.mkdtemp())
    run.chmod(0o755)
    (run / "mail").mkdir()
    os.chown(run / "mail", owner.pw_uid, owner.pw_gid)
    (tmp_path / "oauth2.conf.ext").write_text(f"""
introspection_mode = post
introspection_url = http://mail:{key}@localhost:{site.port}/api/v1/introspect
username_attribute = sub
active_attribute = active
active_value = true
""")
    file = tmp_path / "dovecot.conf"
    file.write_text(f"""
protocols = imap
listen = 127.0.0.1
base_dir = {run}
state_dir = {run}
log_path = {tmp_path}/dovecot.log
auth_debug = yes
ssl = no
disable_plaintext_auth = no
auth_mechanisms = xoauth2 oauthbearer
default_internal_user = {internal}
default_login_user = {login}
default_internal_group = {group}
first_valid_uid = 0
mail_location = maildir:{run}/mail/%u
passdb {{
  driver = oauth2
  mechanisms = xoauth2 oauthbearer
  args = {tmp_path}/oauth2.conf.ext
}}
userdb {{
  driver = static
  args = uid={owner.pw_uid} gid={owner.pw_gid} home={run}/mail/%u
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  chroot =
}}
""")
    program = Program(["dovecot", "-F", "-c", str(file)], tmp_path / "out.log")
    program.wait_for(port)
    yield port
    program.stop()
    shutil.rmtree(run)


def opens(port: int, user: str, token: str) -> bool:
    connection = imaplib.IMAP4("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.authenticate("XOAUTH2", lambda _: f"user={user}\x01auth=Bearer {token}\x01\x01".encode())
        return connection.select("INBOX")[0] == "OK"
    except imaplib.IMAP4.error:
        return False
    finally:
        connection.shutdown()


def test_an_access_token_opens_a_mailbox_as_long_as_the_session_lives(site, imap):
    browser = Browser(site)
    party = register(site, "mail", "--offline")
    tokens = party.tokens(browser, scope="openid offline_access")
    user = browser.user()
    assert opens(imap, user, tokens["access_token"])
    assert not opens(imap, user, tokens["access_token"][:-1] + "x")
    assert not opens(imap, "usr_" + "0" * 26, tokens["access_token"]), "somebody else's mailbox"
    renewed = party.refresh(tokens["refresh_token"]).json()
    assert opens(imap, user, renewed["access_token"])
    # It lives ten seconds more, for calls in flight.
    eventually(lambda: not opens(imap, user, tokens["access_token"]), "the end of the token before")
    site.apple.notify("consent-revoked", "ada")
    eventually(lambda: not opens(imap, user, renewed["access_token"]), "the mailbox to close")


@pytest.fixture
def roundcube(site, imap, tmp_path, run):
    install("roundcube-core", "roundcube-sqlite3", "php-cli", "php-sqlite3", "php-curl")
    party, port, origin = register_here(site, "roundcube", "/index.php/login/oauth", "--offline")
    folder = tmp_path / "roundcube"
    for name in ("logs", "temp"):
        (folder / name).mkdir(parents=True)
    for name in ("defaults.inc.php", "mimetypes.php"):
        (folder / name).symlink_to(f"/etc/roundcube/{name}")
    with sqlite3.connect(folder / "roundcube.db") as database:
        database.executescript(Path("/usr/share/roundcube/SQL/sqlite.initial.sql").read_text())
    (folder / "config.inc.php").write_text(f"""<?php
$config = [
    'db_dsnw' => 'sqlite:///{folder}/roundcube.db?mode=0640',
    'log_dir' => '{folder}/logs', 'temp_dir' => '{folder}/temp', 'des_key' => '{"k" * 24}',
    'imap_host' => ['127.0.0.1:{imap}'], 'smtp_host' => '127.0.0.1:1', 'plugins' => [], 'skin' => 'elastic',
    'oauth_provider' => 'generic', 'oauth_provider_name' => 'Apple',
    'oauth_client_id' => 'roundcube', 'oauth_client_secret' => '{party.secret}',
    'oauth_auth_uri' => '{site.origin}/oidc/authorize', 'oauth_token_uri' => '{site.origin}/oidc/token',
    'oauth_identity_uri' => '{site.origin}/oidc/userinfo', 'oauth_scope' => 'openid profile offline_access',
    'oauth_identity_fields' => ['sub'],
];
""")
    run(port, "php", "-d", "error_log=/dev/null", "-S", f"127.0.0.1:{port}", "-t", "/var/lib/roundcube",
        ROUNDCUBE_CONFIG_DIR=str(folder))
    return origin, folder


def test_roundcube_reads_mail_and_refreshes(site, roundcube):
    origin, folder = roundcube
    walk = Walk(site, origin)
    page = walk.opens("/?_task=login&_action=oauth", "chie")
    assert page.status_code == 200 and "rcmail" in page.text and walk.browser.user() in page.text, page.text[:2000]
    assert "messagelist" in walk.get("/?_task=mail").text

    def used() -> list:
        return site.operator.database("SELECT refreshed_at FROM openid_grant WHERE client = 'roundcube'")

    assert used() == [(None,)]
    # As if the access token's hour were over.
    with sqlite3.connect(folder / "roundcube.db") as database:
        key = walk.program.cookies["roundcube_sessid"]
        (values,), = database.execute("SELECT vars FROM session WHERE sess_id = ?", (key,)).fetchall()
        text = base64.b64decode(values)
        late = re.sub(rb's:7:"expires";i:\d+', b's:7:"expires";i:1', text)
        assert late != text
        database.execute("UPDATE session SET vars = ? WHERE sess_id = ?", (base64.b64encode(late).decode(), key))
    assert "messagelist" in walk.get("/?_task=mail").text
    assert used()[0][0], "it has refreshed"
