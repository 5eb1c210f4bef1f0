"""Serves the agent's metadata document. On the web, whoever makes the agent has it as a file on an https server."""

import json
import os
import ssl
from http.server import BaseHTTPRequestHandler, HTTPServer

ADDRESS = os.environ["CLIENT_DOCUMENT"]
DOCUMENT = json.dumps({
    # Its own address.
    "client_id": ADDRESS,
    "client_name": "Pocket agent",
    # Any port of this machine.
    "redirect_uris": ["http://127.0.0.1/callback", "http://localhost/callback"],
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}).encode()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/client.json" else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(DOCUMENT)))
        self.end_headers()
        self.wfile.write(DOCUMENT)


server = HTTPServer(("127.0.0.1", int(os.environ["DOCUMENT_PORT"])), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(os.environ["DOCUMENT_CERTIFICATE"], os.environ["DOCUMENT_KEY"])
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
