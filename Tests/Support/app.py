"""An app on somebody's device: asks for a challenge, shows the (simulated) system's sheet, sends what it got."""

import hashlib
import json

from web import Answer, call, new_address

APP, OTHER = "com.example.app", "com.example.other"


def send(site, method: str, path: str, content: dict | bytes | None = None, token: str | None = None,
         kind: str = "application/json", address: str | None = None, headers: dict | None = None) -> Answer:
    """Each request from an address of its own, unless one is named."""
    fields = ({"X-Forwarded-For": address} if address else new_address()) | (headers or {})
    if content is not None:
        fields = {"Content-Type": kind} | fields
    return call(site, method, path, fields, json.dumps(content) if isinstance(content, dict) else content, token=token)


def challenge(site) -> str:
    return send(site, "POST", "/api/v1/native/challenge").must(200).json()["nonce"]


def hashed(nonce: str) -> str:
    return hashlib.sha256(nonce.encode()).hexdigest()


def sheet(site, person: str, claim: str | None, app: str = APP, **more) -> dict:
    """What the system gives the app once the person said yes."""
    asked = {"person": person, "client_id": app, **more}
    return site.apple.call("POST", "native", asked if claim is None else asked | {"nonce": claim})


def taken(given: dict, **more) -> dict:
    """What the system gave, as the routes take it."""
    content = {name: given[name] for name in ("identityToken", "authorizationCode")} | more
    return content | ({"user": given["fullName"]} if "fullName" in given else {})


def request(site, person: str = "ada", nonce: str | None = None, **more) -> dict:
    nonce = nonce or challenge(site)
    return taken(sheet(site, person, hashed(nonce), **more), nonce=nonce)


def post(site, content: dict) -> Answer:
    return send(site, "POST", "/api/v1/native/sessions", content)


def sign_in(site, person: str = "ada", **more) -> dict:
    return post(site, request(site, person, **more)).must(200).json()


def exchanges(site) -> int:
    return site.apple.call("GET", "counters")["token"]["requests"]
