"""In Bramley's place: says what a test tells it to, and keeps what it was asked."""

import itertools
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class StandIn:
    def __init__(self):
        self.asked: list[tuple[str, str, dict | None, str | None]] = []
        # Method and path to status, content and fields; a function of the content, too; or to the bytes themselves.
        self.answers: dict[tuple[str, str], object] = {}
        self.person: dict | None = None
        self.numbers = itertools.count(1)
        standin = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                content = json.loads(self.rfile.read(length)) if length else None
                standin.asked.append((self.command, self.path, content, self.headers.get("Authorization")))
                said = standin.said(self.command, self.path, content)
                if isinstance(said, bytes):
                    self.wfile.write(said)
                    self.close_connection = True
                    return
                status, document, fields = said
                body = json.dumps(document).encode()
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = answer

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def said(self, method: str, path: str, content: dict | None) -> tuple[int, dict, dict] | bytes:
        answer = self.answers.get((method, path))
        if isinstance(answer, bytes):
            return answer
        if answer is not None:
            status, document, *fields = answer(content) if callable(answer) else answer
            return status, document, fields[0] if fields else {}
        if (method, path) == ("GET", "/api/v1/session"):
            return (200, {"user": self.person}, {}) if self.person else (401, problem(401, "signed_out"), {})
        if (method, path) == ("POST", "/api/v1/links"):
            return 201, self.link(f"lnk_{next(self.numbers)}"), {}
        if path.endswith("/complete"):
            return 200, {"result": "success", "user": {"id": "usr_ada"}}, {}
        return 404, problem(404, "not_found"), {}

    def calls(self, path: str) -> list[dict | None]:
        return [content for _, asked, content, _ in self.asked if asked == path]

    def begins(self, link: str) -> None:
        """From now on this link is made."""
        self.answers["POST", "/api/v1/links"] = (201, self.link(link))

    def link(self, name: str) -> dict:
        return {"id": name, "url": f"{self.origin}/link/{name}", "ticket": "brt_x", "nonce": "n",
                "expiresAt": "2026-11-21T10:00:00.000Z"}

    def completes(self, link: str, status: int = 200, code: str = "", **fields) -> None:
        document = {"result": "success", "user": {"id": "usr_ada"}} if status == 200 else problem(status, code)
        self.answers["POST", f"/api/v1/links/{link}/complete"] = (
            status, document, {name.replace("_", "-"): value for name, value in fields.items()})

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def problem(status: int, code: str) -> dict:
    return {"type": "about:blank", "title": "x", "status": status, "code": code}
