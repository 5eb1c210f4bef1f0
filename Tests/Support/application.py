"""The site that is protected: says what reached it, as JSON, and echoes what a WebSocket brings."""

import base64
import hashlib
import json
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        if self.headers.get("Upgrade", "").lower() == "websocket":
            self.echo_frames()
            return
        content = self.content()
        seen = {
            "method": self.command, "target": self.path, "headers": self.headers.items(),
            "body": base64.b64encode(content).decode(),
        }
        self.server.seen.append(seen)
        body = b"" if self.server.fields else json.dumps(seen).encode()
        self.send_response(204 if self.server.fields else 200)
        for name, value in self.server.fields.items():
            self.send_header(name, value)
        if not self.server.fields:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = answer

    def content(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            content = b""
            while size := int(self.rfile.readline(), 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return content
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def echo_frames(self) -> None:
        """RFC 6455: the handshake, then each small text frame comes back until a close frame."""
        digest = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + MAGIC).encode()).digest()
        self.server.seen.append({"method": "WEBSOCKET", "target": self.path, "headers": self.headers.items()})
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(digest).decode())
        self.end_headers()
        self.close_connection = True
        while True:
            head = self.rfile.read(2)
            if len(head) < 2 or head[0] & 0x0F == 8:
                return
            mask = self.rfile.read(4)
            data = bytes(byte ^ mask[index % 4] for index, byte in enumerate(self.rfile.read(head[1] & 0x7F)))
            self.wfile.write(struct.pack("BB", head[0], len(data)) + data)

    def log_message(self, format, *arguments) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address) -> None:
        """A proxy that closes a connection it kept in reserve is no news; anything else is."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Application:
    """Runs in this process. With `fields` it stands in for Bramley: everybody is let in, with these fields."""

    def __init__(self, fields: dict[str, str] | None = None):
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.fields = fields or {}
        self.server.seen = []
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def seen(self) -> list[dict]:
        return self.server.seen

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
