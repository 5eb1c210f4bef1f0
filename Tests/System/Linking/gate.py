"""Between the application and Bramley: passes on what is asked, keeps it, and misbehaves where a test says so."""

import json
import threading
from http.server import BaseHTTPRequestHandler

from answering import Answering
from patience import PATIENCE
from web import call

# What stands in the way of one request: it does not arrive, at once or when the gate is healed; or it does, and its
# answer is lost, or waits until the gate is healed.
DOWN, HANG, LOST, LATE = "down", "hang", "lost", "late"


def says(status: int, document: dict) -> tuple:
    """It does not arrive, and this is the answer."""
    return status, {"Content-Type": "application/json"}, json.dumps(document).encode()


class Gate(Answering):
    def __init__(self):
        self.target: int | None = None
        # What arrived here: the step, and the content.
        self.asked: list[tuple[str, dict | None]] = []
        self.faults: dict[str, list[str | tuple]] = {}
        self.released = threading.Event()
        self.lock = threading.Lock()
        super().__init__(self.pass_on, keeps=True)

    def pass_on(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple | None:
        step = {"links": "begin", "complete": "complete"}.get(request.path.rpartition("/")[2], "other")
        with self.lock:
            released = self.released
            self.asked.append((step, json.loads(body) if body else None))
            faults = self.faults.get(step, [])
            fault = faults.pop(0) if faults else None
        if isinstance(fault, tuple):
            return fault
        answer = None if fault in (DOWN, HANG) else self.forward(request, body)
        if fault in (HANG, LATE):
            released.wait(PATIENCE)
        return None if fault == LOST else answer

    def once(self, step: str, *faults: str | tuple) -> None:
        self.faults[step] = list(faults)

    def heal(self) -> None:
        with self.lock:
            self.faults.clear()
            self.released.set()
            self.released = threading.Event()

    def forward(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict, bytes]:
        names = ("Authorization", "Content-Type", "Cookie")
        fields = {name: request.headers[name] for name in names if request.headers[name]}
        answer = call(self.target, request.command, request.path, fields, body or None)
        kept = {name: answer.headers[name] for name in ("Content-Type", "Retry-After") if answer.headers[name]}
        return answer.status, kept, answer.body

    def count(self, step: str) -> int:
        with self.lock:
            return sum(1 for name, _ in self.asked if name == step)

    def stop(self) -> None:
        self.released.set()
        super().stop()
