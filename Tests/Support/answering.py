"""A server that a test plays: a function answers every request."""

import socket
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Callable


class Answering:
    """Runs in this process until `stop`. It sends only the given answers.

    - answer: is given the request and its content; says the status, the fields (a dictionary or pairs) and the content.
      With () it has answered by itself; with None the connection is closed as `answer` has left it.
    - keeps: connections, for the next request."""

    def __init__(self, answer: Callable[[BaseHTTPRequestHandler, bytes], tuple | None], port: int = 0,
                 address: str = "127.0.0.1", tls: ssl.SSLContext | None = None, keeps: bool = False):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                said = answer(self, content_of(self))
                self.close_connection = self.close_connection or said is None or not keeps
                if said:
                    send(self, *said)

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = handle_any

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
            request_queue_size = 128

            def handle_error(self, request, client_address):
                """Whoever asked may have gone; anything else is news."""
                if not isinstance(sys.exc_info()[1], OSError):
                    super().handle_error(request, client_address)

        self.server = Server((address, port), Handler)
        self.port = self.server.server_port
        self.origin = f"http://127.0.0.1:{self.port}"
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def content_of(request: BaseHTTPRequestHandler) -> bytes:
    if request.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return request.rfile.read(int(request.headers.get("Content-Length") or 0))
    content = b""
    while size := int(request.rfile.readline(), 16):
        content += request.rfile.read(size)
        request.rfile.readline()
    request.rfile.readline()
    return content


def send(request: BaseHTTPRequestHandler, status: int, fields: dict | list, content: bytes = b"") -> None:
    request.send_response_only(status)
    for name, value in fields.items() if isinstance(fields, dict) else fields:
        request.send_header(name, value)
    if status not in (101, 204):
        request.send_header("Content-Length", str(len(content)))
    if request.close_connection:
        request.send_header("Connection", "close")
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(content)
