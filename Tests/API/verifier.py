"""An application with accounts, as Bramley sees it: what it answers as upgrade.verifierURL, and its page to sign in."""

import base64
import json
import os
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from programs import write_private

PASSWORD, CODE = "correct horse battery", "123456"
# A name with this before it has a second factor.
CAREFUL = "careful-"
# Leads nowhere: these suites look at where they are sent, and do not go.
SIGN_IN = "https://accounts.example.com/sign-in"


class Verifier:
    """Every name that is an id of a user has an account, with or without a second factor; the name is its external ID."""

    KNOWN = re.compile(f"({CAREFUL})?usr_[0-9a-z]{{26}}")

    def __init__(self):
        self.asked: list[dict] = []
        verifier = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                verifier.asked.append(question)
                answer = verifier.answer(question)
                self.send_response(200 if answer else 204)
                body = json.dumps(answer).encode() if answer else b""
                if answer:
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/verifier"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, question: dict) -> dict | None:
        """None: converted."""
        match question:
            case {"action": "verify", "username": name, "password": password}:
                if password != PASSWORD or not self.KNOWN.fullmatch(name):
                    return {"result": "failure"}
                if name.startswith(CAREFUL):
                    return {"result": "twoFactorAuthRequired", "challenge": name, "methods": ["totp"]}
                return {"result": "success", "externalID": name}
            case {"action": "secondFactor", "challenge": name, "code": code}:
                return {"result": "success", "externalID": name} if code == CODE else {"result": "failure"}
            case {"action": "convert"}:
                return None

    def settings(self, folder: Path) -> dict:
        """What a site that asks here is told, and no limit that answers in place of what is tried."""
        secret = folder / "verifier.secret"
        write_private(secret, b"whsec_" + base64.b64encode(os.urandom(32)) + b"\n")
        return {"upgrade.verifierURL": self.url, "upgrade.secretFile": str(secret), "upgrade.changePassword": True,
                "login.askExistingAccount": True, "login.passwordURL": SIGN_IN,
                "server.limits.upgradesPerMinute": 10_000, "server.limits.upgradesPerAccount": 1_000}

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
