"""A visitor's browser at the level of HTTP: TLS by the site's own certificate, cookies, duplicates when wanted."""

import base64
import http.client
import os
import re
import socket
import ssl
import struct
from pathlib import Path
from urllib.parse import urlsplit

import web
from patience import PATIENCE
from proxies import DOMAIN

# What a browser sends with a request that loads a page, and with one of a script.
PAGE = [("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"), ("Sec-Fetch-Mode", "navigate")]
FETCH = [("Accept", "*/*"), ("Sec-Fetch-Mode", "cors")]


class Answer(web.Answer):
    def __getitem__(self, name: str) -> str | None:
        values = self.headers.get_all(name) or [None]
        assert len(values) == 1, f"{name} is there {len(values)} times"
        return values[0]

    @property
    def seen(self) -> "Seen":
        assert self.status == 200, f"{self.status}: {self.text[:300]}"
        return Seen(self.json())


class Seen:
    """A request as it arrived somewhere."""

    def __init__(self, values: dict):
        self.method, self.target = values["method"], values["target"]
        self.headers = [(name, value) for name, value in values["headers"]]
        self.body = base64.b64decode(values.get("body", ""))

    def all(self, name: str) -> list[str]:
        """Every value of the field, as an application sees it that reads `_`, or whatever is no letter, as `-`."""
        return [value for key, value in self.headers if re.sub("[^a-z0-9]", "-", key.lower()) == name.lower()]

    def one(self, name: str) -> str:
        values = self.all(name)
        assert len(values) == 1, f"{name}: {values}"
        return values[0]


class Client:
    def __init__(self, folder: Path, port: int):
        self.port = port
        self.context = ssl.create_default_context(cafile=folder / "example.pem")
        self.jar: dict[tuple[str, str], str] = {}
        self.app = f"https://app.{DOMAIN}:{port}"
        self.id = f"https://id.{DOMAIN}:{port}"

    def open(self, url: str) -> ssl.SSLSocket:
        parts = urlsplit(url)
        assert parts.scheme == "https" and parts.port == self.port, url
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        return self.context.wrap_socket(plain, server_hostname=parts.hostname)

    def cookies(self, host: str) -> str:
        return "; ".join(
            f"{name}={value}" for (domain, name), value in self.jar.items()
            if host == domain or domain.startswith(".") and host.endswith(domain))

    def keep(self, host: str, field: str) -> None:
        """`Set-Cookie`, as far as a browser's first rules go: domain, Secure, deletion."""
        pair, *attributes = [part.strip() for part in field.split(";")]
        name, value = pair.split("=", 1)
        values = {key.lower(): text for key, _, text in (attribute.partition("=") for attribute in attributes)}
        assert "secure" in values and "httponly" in values, field
        domain = "." + values["domain"] if values.get("domain") else host
        if values.get("max-age") == "0":
            self.jar.pop((domain, name), None)
        else:
            self.jar[domain, name] = value

    def send(self, url: str, fields: list[tuple[str, str]] = PAGE, method: str = "GET", body: bytes | None = None,
             target: str | None = None) -> Answer:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection("127.0.0.1", timeout=PATIENCE)
        connection.sock = self.open(url)
        path = target or url[len(f"{parts.scheme}://{parts.netloc}"):] or "/"
        # As the wire takes it: http.client would refuse what it finds odd.
        connection._validate_path = lambda text: None
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        names = {name.lower() for name, _ in fields}
        if "host" not in names:
            connection.putheader("Host", parts.netloc)
        if cookies := self.cookies(parts.hostname):
            connection.putheader("Cookie", cookies)
        for name, value in fields:
            connection.putheader(name, value)
        # Else it is framed already.
        if body is not None and "transfer-encoding" not in names:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = Answer(connection.getresponse())
        connection.close()
        for field in answer.headers.get_all("Set-Cookie") or []:
            self.keep(parts.hostname, field)
        return answer

    def sign_in(self, apple, person: str, login_url: str | None = None) -> str:
        login_url = login_url or f"{self.id}/login"
        assert login_url.startswith(f"{self.id}/login")
        assert self.send(login_url).status == 200
        to_apple = self.send(login_url.replace("/login", "/login/apple", 1))
        assert to_apple.status == 303, to_apple.text
        answer = apple.call("POST", "authorize", {"person": person, "authorize_url": to_apple["Location"]})
        form = [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", apple.origin)]
        back = self.send(f"{self.id}/apple/callback", form, "POST", answer["form"].encode())
        assert back.status == 303, back.text
        return back["Location"]

    def web_socket(self, url: str) -> tuple[int, ssl.SSLSocket]:
        """The status of the handshake, and the open connection."""
        parts = urlsplit(url)
        connection = self.open(url)
        lines = [
            f"GET {parts.path} HTTP/1.1", f"Host: {parts.netloc}", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            f"Origin: {self.app}", "Sec-Fetch-Mode: websocket"]
        if cookies := self.cookies(parts.hostname):
            lines.append(f"Cookie: {cookies}")
        connection.sendall("\r\n".join(lines + ["", ""]).encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = connection.recv(1)
            assert byte, head
            head += byte
        return int(head.split()[1]), connection


def echo(connection: ssl.SSLSocket, text: bytes) -> bytes:
    """Sends one masked text frame and reads the one that comes back (RFC 6455 §5.2)."""
    mask = os.urandom(4)
    masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(text))
    connection.sendall(struct.pack("BB", 0x81, 0x80 | len(text)) + mask + masked)
    head = connection.recv(2)
    answer = b""
    while len(answer) < head[1]:
        answer += connection.recv(head[1] - len(answer))
    return answer
