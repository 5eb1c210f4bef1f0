"""Matrix Synapse of PyPI with the settings of docs/clients/synapse.md: a sign-in, and the logout by `sid`."""

import json
import re
import subprocess
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from others import Walk, installed, recipe
from party import register_here
from patience import PATIENCE, eventually
from programs import Program

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def synapse(site, tmp_path_factory):
    python = installed("synapse", "synapse_homeserver", "matrix-synapse==1.163.2", "authlib") / "python"
    folder = tmp_path_factory.mktemp("synapse")
    party, port, origin = register_here(
        site, "synapse", "/_synapse/client/oidc/callback", "--back-channel-logout-uri",
        "{}/_synapse/client/oidc/backchannel_logout")
    file = folder / "homeserver.yaml"
    settings = recipe("synapse.md", "yaml", {
        "https://id.example.com": site.origin, "bcs_…": party.secret,
        # People here choose no names; and a test is on http.
        "subject_claim: sub": 'subject_claim: sub\n        localpart_template: "{{ user.sub }}"',
        "    issuer:": "    skip_verification: true\n    issuer:"})
    file.write_text(f"""
server_name: matrix.example.com
public_baseurl: {origin}/
pid_file: {folder}/pid
signing_key_path: {folder}/signing.key
media_store_path: {folder}/media
macaroon_secret_key: of a test
report_stats: false
trusted_key_servers: []
listeners: [{{port: {port}, bind_addresses: [127.0.0.1], type: http, resources: [{{names: [client]}}]}}]
database: {{name: sqlite3, args: {{database: {folder}/homeserver.db}}}}
{settings}
""")
    subprocess.run([python, "-m", "synapse.app.homeserver", "-c", file, "--generate-keys"], check=True)
    program = Program([str(python), "-m", "synapse.app.homeserver", "-c", str(file)], folder / "synapse.log")
    program.wait_for(port)
    yield origin
    program.stop()


class Visit(requests.Session):
    """Synapse's cookies are for https; a browser treats 127.0.0.1 alike."""

    def send(self, request, **options):
        answer = super().send(request, **options)
        for cookie in self.cookies:
            cookie.secure = False
        return answer


def sign_in(walk: Walk, person: str) -> str:
    walk.program = Visit()
    page = walk.opens(
        "/_matrix/client/v3/login/sso/redirect/oidc-apple?redirectUrl=https%3A%2F%2Fclient.example.com%2F", person)
    assert page.status_code == 200, page.text
    link = re.search(r'https://client\.example\.com/\?loginToken=[^"&<]+', page.text)
    assert link, page.text
    done = requests.post(f"{walk.origin}/_matrix/client/v3/login", timeout=PATIENCE, data=json.dumps(
        {"type": "m.login.token", "token": parse_qs(urlsplit(link[0]).query)["loginToken"][0]}))
    assert done.status_code == 200, done.text
    return done.json()["access_token"]


def who(walk: Walk, token: str) -> requests.Response:
    return requests.get(f"{walk.origin}/_matrix/client/v3/account/whoami", timeout=PATIENCE,
                        headers={"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("way, person, others", [("sign-out", "ada", "ada"), ("consent-revoked", "chie", "boris")])
def test_a_matrix_session_ends_with_bramley_s(site, synapse, way, person, others):
    walk, other = Walk(site, synapse), Walk(site, synapse)
    token, elsewhere = sign_in(walk, person), sign_in(other, others)
    assert who(walk, token).json()["user_id"] == f"@{walk.browser.user()}:matrix.example.com"
    if way == "sign-out":
        walk.browser.sign_out()
    else:
        site.apple.notify("consent-revoked", person)
    eventually(lambda: who(walk, token).status_code == 401, "the Matrix session to end")
    assert who(other, elsewhere).status_code == 200, "of another session, or another person, it goes on"
