"""Between the application and Bramley: passes on what is asked, keeps it, and misbehaves where a test says so."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from patience import PATIENCE
from web import call

# What stands in a request's way; each is for one request.
DOWN = ("close",)
# Until the gate is healed, before the request arrives.
HANG = ("hang",)
# It arrives, and its answer does not.
LOST = ("lose",)
# It arrives, and its answer waits until the gate is healed.
LATE = ("late",)


def says(status: int, document: dict, **fields) -> tuple:
    return ("answer", status, json.dumps(document).encode(), {"Content-Type": "application/json"} | fields)


class Gate:
    def __init__(self):
        self.target: int | None = None
        # What arrived here: the step, and the content.
        self.asked: list[tuple[str, dict | None]] = []
        self.faults: dict[str, list[tuple]] = {}
        self.released = threading.Event()
        self.lock = threading.Lock()
        gate = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                step = gate.step(self.command, self.path)
                with gate.lock:
                    gate.asked.append((step, json.loads(body) if body else None))
                    faults = gate.faults.get(step, [])
                    fault = faults.pop(0) if faults else None
                gate.act(self, fault, body)

            do_GET = do_POST = do_PATCH = pass_on

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                """Whoever asked has gone: that is what the test is about."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def step(self, method: str, path: str) -> str:
        if path == "/api/v1/links":
            return "begin"
        return "complete" if path.endswith("/complete") else "other"

    def once(self, step: str, *faults: tuple) -> None:
        self.faults[step] = list(faults)

    def heal(self) -> None:
        with self.lock:
            self.faults.clear()
        self.released.set()
        self.released = threading.Event()

    def act(self, handler: BaseHTTPRequestHandler, fault: tuple | None, body: bytes) -> None:
        released = self.released
        match fault:
            case None:
                self.write(handler, *self.forward(handler, body))
            case ("close",):
                self.close(handler)
            case ("hang",):
                released.wait(PATIENCE)
                self.close(handler)
            case ("lose",):
                self.forward(handler, body)
                self.close(handler)
            case ("late",):
                answer = self.forward(handler, body)
                released.wait(PATIENCE)
                self.write(handler, *answer)
            case ("answer", number, content, fields):
                self.write(handler, number, content, fields)

    def close(self, handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        handler.connection.close()

    def forward(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, bytes, dict]:
        fields = {name: handler.headers[name] for name in ("Authorization", "Content-Type", "Cookie") if handler.headers[name]}
        answer = call(self.target, handler.command, handler.path, fields, body or None)
        kept = {name: answer.headers[name] for name in ("Content-Type", "Retry-After") if answer.headers[name]}
        return answer.status, answer.body, kept

    def write(self, handler: BaseHTTPRequestHandler, number: int, content: bytes, fields: dict) -> None:
        handler.send_response(number)
        for name, value in fields.items():
            handler.send_header(name.replace("_", "-"), value)
        if number != 204:
            handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        if number != 204:
            handler.wfile.write(content)

    def count(self, step: str) -> int:
        with self.lock:
            return sum(1 for name, _ in self.asked if name == step)

    def stop(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
