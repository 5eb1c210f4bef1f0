"""Other browsers of a person who is at one: each signs in by program and has a session of its own."""

import urllib.error
import urllib.parse
import urllib.request

from patience import PATIENCE

SESSION = "__Host-bramley"
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
AGENTS = {
    "Safari on iPhone": PHONE,
    "Firefox on Windows": "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:131.0) Gecko/20100101 Firefox/131.0",
    "Edge on Mac": "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0.0.0 Safari/537.36 Edg/129.0.0.0",
}


class Elsewhere:
    """Another browser of the same person: signs in by program, and asks whether it is signed in."""

    def __init__(self, site, person: str, agent: str):
        self.site = site
        self.cookies: dict[str, str] = {}
        self.agent = agent
        opened = self.send("GET", "/login/apple")
        form = site.apple.call("POST", "authorize", {"person": person, "authorize_url": opened.headers["Location"]})
        body = {name: form[name] for name in ("state", "code", "id_token", "user") if form.get(name)}
        assert self.send("POST", "/apple/callback", body).status == 303
        assert SESSION in self.cookies

    def send(self, method: str, path: str, form: dict | None = None, headers: dict | None = None):
        request = urllib.request.Request(
            self.site.url(path), method=method,
            data=None if form is None else urllib.parse.urlencode(form).encode(),
            headers={"User-Agent": self.agent, "Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
            | (headers or {}))
        try:
            answer = urllib.request.build_opener(StayHere).open(request, timeout=PATIENCE)
        except urllib.error.HTTPError as error:
            answer = error
        # A connection that stays open would hold up the end of the server.
        with answer:
            answer.text = answer.read().decode()
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            name, value = cookie.split(";")[0].split("=", 1)
            self.cookies[name] = value
        return answer

    def is_signed_in(self) -> bool:
        return self.send("GET", "/api/v1/session").status == 200


class StayHere(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None
