"""A server that starts before Apple can be reached."""

import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar, DefaultCookiePolicy

import pytest

from patience import eventually
from programs import Program, Simulator, Site


class LateSimulator(Simulator):
    """One that can be stopped and started again on its port."""

    def start(self) -> None:
        self.program = Program(self.program.process.args, self.program.log)
        self.program.wait_for(self.port)


@pytest.fixture
def site(binaries, tmp_path):
    site = Site(binaries, tmp_path, {"apple.bundleIDs": ["com.example.app"]})
    site.apple.__class__ = LateSimulator
    yield site
    site.end()


class KeepRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def sign_in(site: Site) -> int:
    """Status of the callback."""
    # http.cookiejar keeps Secure cookies from http; browsers do not on localhost.
    jar = CookieJar(DefaultCookiePolicy(secure_protocols=("http", "https")))
    opener = urllib.request.build_opener(KeepRedirects, urllib.request.HTTPCookieProcessor(jar))

    def ask(request) -> tuple[int, dict]:
        try:
            with opener.open(request, timeout=60) as answer:
                return answer.status, answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.headers

    status, headers = ask(site.url("/login/apple"))
    assert status == 303
    form = site.apple.call("POST", "authorize", {"person": "ada", "authorize_url": headers["Location"]})["form"]
    return ask(urllib.request.Request(site.url("/apple/callback"), form.encode(), {
        "Content-Type": "application/x-www-form-urlencoded", "Origin": site.apple.origin}))[0]


@pytest.mark.parametrize("failures", [1, 5])
def test_the_server_starts_first(site, failures):
    """Regression: sign-ins were refused for up to a minute after Apple could be reached."""
    site.apple.program.stop()
    site.start()
    # At once, and after pauses that have grown.
    eventually(
        lambda: site.server.text().count("Apple's keys unavailable") >= failures, f"{failures} fetches",
        site.server.text)
    site.apple.start()
    assert sign_in(site) == 303
    assert "Apple's keys fetched" in site.server.text()
