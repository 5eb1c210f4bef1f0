"""The site that is protected: says what reached it, as JSON, and echoes what a WebSocket brings."""

import base64
import hashlib
import json
import struct
from http.server import BaseHTTPRequestHandler

from answering import Answering


class Application(Answering):
    """Runs in this process. With `fields` it stands in for Bramley: everybody is let in, with these fields."""

    def __init__(self, fields: dict[str, str] | None = None):
        self.status, self.fields, self.seen = 204, fields or {}, []
        super().__init__(self.answer, keeps=True)

    def answer(self, request: BaseHTTPRequestHandler, content: bytes) -> tuple | None:
        is_socket = request.headers.get("Upgrade", "").lower() == "websocket"
        seen = {"method": "WEBSOCKET" if is_socket else request.command, "target": request.path,
                "headers": request.headers.items(), "body": base64.b64encode(content).decode()}
        self.seen.append(seen)
        if is_socket:
            return echo_frames(request)
        if self.fields:
            return self.status, self.fields
        return 200, {"Content-Type": "application/json"}, json.dumps(seen).encode()


def echo_frames(request: BaseHTTPRequestHandler) -> None:
    """RFC 6455: the handshake, then each small text frame comes back until a close frame."""
    key = request.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    request.send_response_only(101)
    request.send_header("Upgrade", "websocket")
    request.send_header("Connection", "Upgrade")
    request.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
    request.end_headers()
    while True:
        head = request.rfile.read(2)
        if len(head) < 2 or head[0] & 0x0F == 8:
            return
        mask = request.rfile.read(4)
        data = bytes(byte ^ mask[index % 4] for index, byte in enumerate(request.rfile.read(head[1] & 0x7F)))
        request.wfile.write(struct.pack("BB", head[0], len(data)) + data)
