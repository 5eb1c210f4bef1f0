"""A program that signs people in by OpenID Connect, at any of several servers."""

import base64
import hashlib
from urllib.parse import urlencode

from web import FORM, bearer

REDIRECT = "https://app.example.com/callback"
VERIFIER = "v" * 43


class Program:
    def __init__(self, node):
        made = node.json("clients", "add", "app", "--redirect-uri", REDIRECT, "--offline")
        self.id = made["clientID"]
        secret = base64.b64encode(f"{self.id}:{made['clientSecret']}".encode()).decode()
        self.headers = {"Authorization": f"Basic {secret}"}

    def code(self, node, session: str) -> str | None:
        """For the signed-in person."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
        answer = node.call("GET", "/oidc/authorize?" + urlencode({
            "response_type": "code", "client_id": self.id, "redirect_uri": REDIRECT, "state": "s",
            "scope": "openid offline_access", "code_challenge": challenge, "code_challenge_method": "S256",
        }), {"Cookie": session})
        return answer.parameters().get("code")

    def redeem(self, node, code: str) -> tuple[int, dict]:
        return self.token(node, {
            "grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT, "code_verifier": VERIFIER})

    def refresh(self, node, token: str) -> tuple[int, dict]:
        return self.token(node, {"grant_type": "refresh_token", "refresh_token": token})

    def token(self, node, form: dict) -> tuple[int, dict]:
        answer = node.call("POST", "/oidc/token", self.headers | FORM, urlencode(form))
        return answer.status, answer.json() if answer.body.startswith(b"{") else {}

    @staticmethod
    def userinfo(node, access_token: str) -> int:
        return node.call("GET", "/oidc/userinfo", bearer(access_token)).status
