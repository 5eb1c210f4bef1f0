#!/usr/bin/env python3
"""Signs a person in on a terminal, with a code and its QR code (RFC 8628): terminal.py ISSUER CLIENT_ID"""

import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import segno


def ask(url: str, token: str = "", **form: str) -> dict:
    fields = {"Authorization": f"Bearer {token}"} if token else {}
    body = urllib.parse.urlencode(form).encode() if form else None
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, fields), timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refusal:
        return json.load(refusal)


def sign_in(server: dict, client_id: str) -> dict:
    """The tokens, once a person has allowed it."""
    device = ask(server["device_authorization_endpoint"], client_id=client_id, scope="openid profile")
    if "error" in device:
        sys.exit(device["error_description"])
    segno.make(device["verification_uri_complete"], error="l").terminal(compact=True)
    print(f"Scan this, or open {device['verification_uri']} and enter\n\n    {device['user_code']}\n", flush=True)
    interval = device["interval"]
    while True:
        time.sleep(interval)
        answer = ask(
            server["token_endpoint"], client_id=client_id, device_code=device["device_code"],
            grant_type="urn:ietf:params:oauth:grant-type:device_code")
        match answer.get("error"):
            case None:
                return answer
            case "authorization_pending":
                continue
            case "slow_down":
                interval += 5
            case _:
                sys.exit(answer["error_description"])


if __name__ == "__main__":
    issuer, client_id = sys.argv[1:]
    server = ask(issuer.rstrip("/") + "/.well-known/openid-configuration")
    tokens = sign_in(server, client_id)
    person = ask(server["userinfo_endpoint"], tokens["access_token"])
    print(f"Signed in as {person.get('name', person['sub'])}.")
