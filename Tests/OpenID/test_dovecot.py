"""Dovecot of Debian takes access tokens for passwords (XOAUTH2), by introspection with an API key."""

import grp
import imaplib
import json
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from party import Browser, register
from patience import PATIENCE, eventually
from programs import Program, free_port

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.long


@pytest.fixture
def imap(site, tmp_path):
    subprocess.run([ROOT / "scripts/packages.sh", "test", "dovecot-imapd"], check=True, capture_output=True)
    key = json.loads(site.operator.bramley("api-keys", "create", "mail", "--scopes", "introspect", "--json"))["key"]
    port, me = free_port(), pwd.getpwuid(os.getuid()).pw_name
    # As root, Dovecot insists on its own users, which must reach its sockets.
    internal, login, group = ("dovecot", "dovenull", "dovecot") if os.getuid() == 0 else (
        me, me, grp.getgrgid(os.getgid()).gr_name)
    run = Path(tempfile.mkdtemp())
    run.chmod(0o755)
    owner = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
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
    assert opens(imap, user, renewed["access_token"]) and not opens(imap, user, tokens["access_token"])
    site.apple.notify("consent-revoked", "ada")
    eventually(lambda: not opens(imap, user, renewed["access_token"]), "the mailbox to close")
