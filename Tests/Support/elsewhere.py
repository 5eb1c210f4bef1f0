"""Other browsers of a person who is at one: each signs in by program and has a session of its own."""

from web import Browser

PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
AGENTS = {
    "Safari on iPhone": PHONE,
    "Firefox on Windows": "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:131.0) Gecko/20100101 Firefox/131.0",
    "Edge on Mac": "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0.0.0 Safari/537.36 Edg/129.0.0.0",
}


class Elsewhere(Browser):
    def __init__(self, site, person: str, agent: str):
        super().__init__(site, {"User-Agent": agent})
        self.sign_in(person)
