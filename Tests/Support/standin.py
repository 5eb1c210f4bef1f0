"""A stand-in for Bramley: gives a test's answers, and records its requests."""

import itertools
import json

from answering import Answering


class StandIn(Answering):
    def __init__(self):
        self.asked: list[tuple[str, str, dict | None, str | None]] = []
        # Method and path to status, content and fields; a function of the content, too; or to the bytes themselves.
        self.answers: dict[tuple[str, str], object] = {}
        self.person: dict | None = None
        self.numbers = itertools.count(1)
        super().__init__(self.answer)

    def answer(self, request, body: bytes) -> tuple | None:
        content = json.loads(body) if body else None
        self.asked.append((request.command, request.path, content, request.headers.get("Authorization")))
        said = self.said(request.command, request.path, content)
        if isinstance(said, bytes):
            request.wfile.write(said)
            return None
        status, document, fields = said
        return status, fields, json.dumps(document).encode()

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
        self.answers["POST", "/api/v1/links"] = (201, self.link(link))

    def link(self, name: str) -> dict:
        return {"id": name, "url": f"{self.origin}/link/{name}", "ticket": "brt_x", "nonce": "n",
                "expiresAt": "2026-11-21T10:00:00.000Z"}

    def completes(self, link: str, status: int = 200, code: str = "", **fields) -> None:
        document = {"result": "success", "user": {"id": "usr_ada"}} if status == 200 else problem(status, code)
        self.answers["POST", f"/api/v1/links/{link}/complete"] = (
            status, document, {name.replace("_", "-"): value for name, value in fields.items()})


def problem(status: int, code: str) -> dict:
    return {"type": "about:blank", "title": "x", "status": status, "code": code}
