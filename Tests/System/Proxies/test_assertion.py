"""Signed assertions through a proxy, with the lines of docs/apps/assertion.md put into the files of docs/proxies."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest

from client import Seen
from patience import eventually
from programs import ROOT
from proxies import DOMAIN, Caddy, Nginx
from web import part_of

PAGE = (ROOT / "docs/apps/assertion.md").read_text()


def replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    return text.replace(old, new)


class AssertingNginx(Nginx):
    def write(self, name: str, text: str) -> Path:
        if name == "site.conf":
            lines = re.search(r"```nginx\n(.*?)```", PAGE, re.DOTALL)[1]
            for_site, for_bramley = (
                [line for line in part.splitlines() if not line.startswith("#")] for part in lines.split("\n\n"))
            kept = next(line for line in for_site if line.startswith("auth_request_set"))
            text = replaced(text, "auth_request /.bramley/verify;", f"auth_request /.bramley/verify; {kept}")
            emptied = re.search(r'proxy_set_header X-Auth-Request-Assertion +"";', text)[0]
            text = replaced(text, emptied, " ".join(line for line in for_site if line != kept))
            text = replaced(text, "proxy_pass http://bramley/auth/verify?cached=true;", " ".join(for_bramley))
        return super().write(name, text)


class AssertingCaddy(Caddy):
    def write(self, name: str, text: str) -> Path:
        if name == "Caddyfile":
            address = re.search(
                r"^Caddy, .*?: `(uri [^`]+)`, and `(X-Auth-Request-Assertion)` in `copy_headers`", PAGE, re.MULTILINE)
            text = replaced(text, "uri /auth/verify?redirect=true", address[1])
            text = replaced(text, "copy_headers ", f"copy_headers {address[2]} ")
        return super().write(name, text)


@pytest.mark.parametrize("kind", [AssertingNginx, AssertingCaddy])
def test_the_assertion_arrives_and_a_visitors_own_does_not(arrange, kind):
    place = arrange(kind, {"assertion.audience": "backend"})
    page = f"https://app.{DOMAIN}:{place.ports.secure}/public/page"
    forged = [("X-Auth-Request-Assertion", "forged")]
    assert place.client().send(page, fields=forged).seen.all("X-Auth-Request-Assertion") in ([], [""])
    client = place.signed_in()
    seen = client.send(page, fields=forged).seen
    # As many groups as there may be, each as long as it may be, escaped: longer than what proxies take by default.
    groups = [f"{number:02}{'é' * 31}" for number in range(64)]
    place.site.operator.bramley("users", "groups", seen.one("X-Auth-Request-User"), "--set", ",".join(groups))

    def told() -> Seen | None:
        seen = client.send(page, fields=forged).seen
        return seen if seen.all("X-Auth-Request-Groups") == [",".join(map(quote, groups))] else None
    seen = eventually(told, "an answer with all groups")
    assertion = part_of(seen.one("X-Auth-Request-Assertion"))
    assert assertion["sub"] == seen.one("X-Auth-Request-User") and assertion["aud"] == "backend"
    assert assertion["groups"] == groups
