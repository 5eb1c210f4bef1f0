"""Between Bramley and the verifier: passes on what is asked, keeps it, and misbehaves where a test says so."""

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from patience import PATIENCE

# What stands in a question's way, by action; each is for one question, the last of a list for all that follow.
DOWN = ("close",)
HANG = ("hang",)
# The verifier answers, and the answer does not arrive.
LOST = ("lose",)
# The question arrives twice, and both answers come back, one after the other.
TWICE = ("twice",)


def status(number: int, content: bytes = b"", **fields) -> tuple:
    return ("answer", number, content, fields)


def says(document) -> tuple:
    return ("answer", 200, json.dumps(document).encode(), {"Content-Type": "application/json"})


class Gate:
    def __init__(self):
        self.target: int | None = None
        self.asked: list[tuple[dict, dict]] = []
        self.faults: dict[str, list[tuple]] = {}
        self.released = threading.Event()
        self.lock = threading.Lock()
        gate = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                question = json.loads(body)
                with gate.lock:
                    gate.asked.append((question, dict(self.headers)))
                gate.act(self, gate.fault(question["action"]), body)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                """Whoever asked has gone: that is what the test is about."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/verifier"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def fault(self, action: str) -> tuple | None:
        with self.lock:
            faults = self.faults.get(action, [])
            if not faults:
                return None
            return faults.pop(0)

    def always(self, action: str, fault: tuple) -> None:
        """Until `heal`."""
        class Endless(list):
            def pop(self, _=0):
                return fault
        self.faults[action] = Endless([fault])

    def once(self, action: str, *faults: tuple) -> None:
        self.faults[action] = list(faults)

    def heal(self) -> None:
        with self.lock:
            self.faults.clear()
        self.released.set()
        self.released = threading.Event()

    def act(self, handler: BaseHTTPRequestHandler, fault: tuple | None, body: bytes) -> None:
        match fault:
            case None:
                self.write(handler, *self.forward(handler, body))
            case ("close",):
                handler.close_connection = True
                handler.connection.close()
            case ("hang",):
                self.released.wait(60)
                handler.close_connection = True
            case ("lose",):
                self.forward(handler, body)
                handler.close_connection = True
                handler.connection.close()
            case ("twice",):
                first = self.forward(handler, body)
                second = self.forward(handler, body)
                self.write(handler, *first)
                self.write(handler, *second)
                handler.close_connection = True
            case ("raw", content):
                handler.wfile.write(content)
                handler.close_connection = True
            case ("answer", number, content, fields):
                self.write(handler, number, content, fields)

    def forward(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, bytes, dict]:
        connection = http.client.HTTPConnection("127.0.0.1", self.target, timeout=PATIENCE)
        try:
            fields = {name: value for name, value in handler.headers.items()
                      if name.lower().startswith("webhook-") or name.lower() == "content-type"}
            connection.request("POST", "/verifier", body, fields)
            answer = connection.getresponse()
            return answer.status, answer.read(), {"Content-Type": answer.headers["Content-Type"] or "text/plain"}
        finally:
            connection.close()

    def write(self, handler: BaseHTTPRequestHandler, number: int, content: bytes, fields: dict) -> None:
        handler.send_response(number)
        for name, value in fields.items():
            handler.send_header(name.replace("_", "-"), value)
        if number != 204:
            handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        if number != 204:
            handler.wfile.write(content)

    def questions(self, action: str) -> list[dict]:
        with self.lock:
            return [question for question, _ in self.asked if question["action"] == action]

    def stop(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
