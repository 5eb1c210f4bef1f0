"""A program that signs people in by OpenID Connect, at any of several servers."""

import base64
import hashlib
import json
from urllib.parse import parse_qs, urlencode, urlsplit

REDIRECT = "https://app.example.com/callback"
VERIFIER = "v" * 43


class Program:
    def __init__(self, node):
        made = json.loads(node.bramley(
            "clients", "add", "app", "--redirect-uri", REDIRECT, "--offline", "--json").splitlines()[0])
        self.id = made["clientID"]
        secret = base64.b64encode(f"{self.id}:{made['clientSecret']}".encode()).decode()
        self.headers = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": f"Basic {secret}"}

    def code(self, node, session: str) -> str | None:
        """For whoever is signed in."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
        answer = node.call("GET", "/oidc/authorize?" + urlencode({
            "response_type": "code", "client_id": self.id, "redirect_uri": REDIRECT, "state": "s",
            "scope": "openid offline_access", "code_challenge": challenge, "code_challenge_method": "S256",
        }), {"Cookie": session})
        return parse_qs(urlsplit(answer.headers["Location"] or "").query).get("code", [None])[0]

    def redeem(self, node, code: str) -> tuple[int, dict]:
        return self.token(node, {
            "grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT, "code_verifier": VERIFIER})

    def refresh(self, node, token: str) -> tuple[int, dict]:
        return self.token(node, {"grant_type": "refresh_token", "refresh_token": token})

    def token(self, node, form: dict) -> tuple[int, dict]:
        answer = node.call("POST", "/oidc/token", self.headers, urlencode(form))
        return answer.status, json.loads(answer.body) if answer.body.startswith(b"{") else {}

    @staticmethod
    def userinfo(node, access_token: str) -> int:
        return node.call("GET", "/oidc/userinfo", {"Authorization": f"Bearer {access_token}"}).status
