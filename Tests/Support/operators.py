"""A site with an operator's page: Ada is its operator."""

import urllib.parse

from elsewhere import AGENTS, Elsewhere
from patience import eventually
from web import SAME_ORIGIN

SETTINGS = {"operator.groups": ["admins"], "server.limits.operatorPerMinute": 100_000}
AGENT = AGENTS["Firefox on Windows"]
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>"


def make_operator(site, who: str = "ada") -> Elsewhere:
    there = Elsewhere(site, who, AGENT)
    site.operator.bramley("users", "groups", user_of(there), "--add", "admins")
    eventually(lambda: there.send("GET", "/operator").status == 200, "the operator's page")
    return there


def user_of(there: Elsewhere) -> str:
    return there.session()["user"]["id"]


def change(there: Elsewhere, action: str, target: str = "", fields: dict | None = None, **headers):
    """What the form of the page that asks sends."""
    return there.send("POST", "/operator/change", {"action": action, "target": target} | (fields or {}), SAME_ORIGIN | headers)


def asked(action: str, target: str = "") -> str:
    return "/operator/change?" + urllib.parse.urlencode({"action": action, "target": target})
