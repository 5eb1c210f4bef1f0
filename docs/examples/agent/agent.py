"""An agent that nobody registered. Without a word it lists your notes; with some, it adds a note."""

import asyncio
import json
import os
import queue
import sys
import threading
import webbrowser
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

NOTES, DOCUMENT = os.environ["NOTES_URL"] + "/mcp", os.environ["CLIENT_DOCUMENT"]


class Kept:
    """Tokens, and under which name, in a file that only its owner can read."""

    file = Path(os.environ["AGENT_TOKENS"])

    def read(self, name: str, kind):
        found = json.loads(self.file.read_text()) if self.file.exists() else {}
        return kind.model_validate(found[name]) if name in found else None

    def write(self, name: str, value) -> None:
        found = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.file.touch(0o600)
        self.file.write_text(json.dumps(found | {name: value.model_dump(mode="json", exclude_none=True)}))

    async def get_tokens(self):
        return self.read("tokens", OAuthToken)

    async def set_tokens(self, tokens):
        self.write("tokens", tokens)

    async def get_client_info(self):
        return self.read("client", OAuthClientInformationFull)

    async def set_client_info(self, client):
        self.write("client", client)


class Callback(HTTPServer):
    """Receives the browser's answer, on a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path = urlsplit(self.path)
            self.send_response(200 if path.path == "/callback" else 404)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(b"You can close this page and return to the agent.\n")
            # Not earlier: it may end the program.
            if path.path == "/callback":
                self.server.answers.put({name: values[0] for name, values in parse_qs(path.query).items()})

        def log_message(self, *_):
            pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.url, self.answers = f"http://127.0.0.1:{self.server_port}/callback", queue.Queue()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def wait(self) -> AuthorizationCodeResult:
        answer = self.answers.get()
        if "code" not in answer:
            print(f"Not allowed: {answer.get('error')}", flush=True)
            # Without the libraries' report of where it happened.
            os._exit(1)
        return AuthorizationCodeResult(code=answer["code"], state=answer.get("state"), iss=answer.get("iss"))


async def ask(address: str) -> None:
    print(f"Allow this agent in your browser:\n{address}", flush=True)
    webbrowser.open(address)


async def main(words: list[str]) -> None:
    callback = Callback()
    auth = OAuthClientProvider(
        NOTES, OAuthClientMetadata(redirect_uris=[callback.url]), Kept(), ask,
        lambda: asyncio.to_thread(callback.wait), client_metadata_url=DOCUMENT)
    async with create_mcp_http_client(auth=auth) as http:
        async with Client(streamable_http_client(NOTES, http_client=http)) as notes:
            if words:
                await notes.call_tool("add_note", {"text": " ".join(words)})
            answer = await notes.call_tool("list_notes", {})
            print("\n".join(answer.structured_content["result"]) or "No notes.")


asyncio.run(main(sys.argv[1:]))
