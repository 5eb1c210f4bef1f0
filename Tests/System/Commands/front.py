"""What stands between publicURL and Bramley in the tests of `bramley doctor`: a proxy with TLS and bad habits."""

import datetime
import http.client
import ssl
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Callable

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from programs import free_port

PEM = serialization.Encoding.PEM
DAY = datetime.timedelta(days=1)
# Hop by hop (RFC 9110 §7.6.1), or made anew by who forwards.
DROPPED = {"connection", "keep-alive", "transfer-encoding", "content-length", "x-forwarded-for"}


class Authority:
    """Issues certificates into a folder: NAME.pem and NAME.key."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Authority of a test")])
        self.write("ca", self.sign(self.name, self.key, [x509.BasicConstraints(ca=True, path_length=None)]))
        self.trust = {"SSL_CERT_FILE": str(folder / "ca.pem"), "SSL_CERT_DIR": str(folder / "none")}

    def issue(self, name: str, host: str, expired: bool = False, stranger: bool = False,
              early: bool = False) -> str:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        extensions = [x509.SubjectAlternativeName([x509.DNSName(host)])]
        self.write(name, self.sign(subject, key, extensions, expired, key if stranger else None, early), key)
        return name

    def sign(self, subject, key, extensions, expired=False, own=None, early=False) -> x509.Certificate:
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (
            x509.CertificateBuilder().subject_name(subject).issuer_name(subject if own else self.name)
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now + DAY / 2 if early else now - 3 * DAY).not_valid_after(now - DAY if expired else now + DAY))
        for extension in extensions:
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        return builder.sign(own or self.key, hashes.SHA256())

    def write(self, name: str, certificate: x509.Certificate, key=None) -> None:
        (self.folder / f"{name}.pem").write_bytes(certificate.public_bytes(PEM))
        if key:
            (self.folder / f"{name}.key").write_bytes(key.private_bytes(
                PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))


@dataclass
class Habits:
    """What the proxy does to requests and answers. As it stands: all that Bramley needs, and no more."""

    # Where Bramley sees it come from; 127.0.0.2 is the one it trusts.
    source: str = "127.0.0.2"
    # What it says about its client: that one's address, these words, or (None) nothing.
    forwarded_for: str | None = "{client}"
    passes_forwarded_for: bool = False
    host: str | None = None
    # The path it asks Bramley for.
    path: Callable[[str], str] = lambda path: path
    # Fields of requests and answers, as lists of pairs, changed on their way.
    request: Callable[[list], list] = lambda fields: fields
    answer: Callable[[list], list] = lambda fields: fields
    # (status, fields) instead of asking Bramley; None asks.
    instead: Callable[[str, str], tuple[int, dict] | None] = lambda method, path: None
    method: Callable[[str, str], str] = lambda method, path: method


class Front:
    def __init__(self, authority: Authority, certificate: str, target: int = 0, address: str = "127.0.0.1"):
        self.target = target
        self.habits = Habits()
        front = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                front.handle(self)

            do_GET = do_POST = handle_any

            def log_message(self, *_):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.folder / f"{certificate}.pem", authority.folder / f"{certificate}.key")
        self.port = free_port()
        self.server = ThreadingHTTPServer((address, self.port), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def handle(self, asked: BaseHTTPRequestHandler) -> None:
        habits = self.habits
        body = asked.rfile.read(int(asked.headers.get("Content-Length", 0)))
        answer = habits.instead(asked.command, asked.path)
        if answer is None:
            answer = self.forward(asked, habits, body)
        status, fields, content = (*answer, b"")[:3]
        asked.send_response_only(status)
        for name, value in fields.items() if isinstance(fields, dict) else fields:
            asked.send_header(name, value)
        asked.send_header("Content-Length", str(len(content)))
        asked.send_header("Connection", "close")
        asked.end_headers()
        asked.wfile.write(content)
        asked.close_connection = True

    def forward(self, asked, habits: Habits, body: bytes):
        claimed = asked.headers.get_all("X-Forwarded-For", []) if habits.passes_forwarded_for else []
        fields = [pair for pair in asked.headers.items() if pair[0].lower() not in DROPPED | {"host"}]
        if claimed:
            fields += [("X-Forwarded-For", value) for value in claimed]
        elif habits.forwarded_for is not None:
            fields.append(("X-Forwarded-For", habits.forwarded_for.format(client=asked.client_address[0])))
        method = habits.method(asked.command, asked.path)
        if method == "POST":
            fields.append(("Content-Length", str(len(body))))
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.target, timeout=60, source_address=(habits.source, 0))
        connection.putrequest(method, habits.path(asked.path), skip_host=True, skip_accept_encoding=True)
        for name, value in [("Host", habits.host or asked.headers["Host"]), *habits.request(fields)]:
            connection.putheader(name, value)
        connection.endheaders(body if method == "POST" else None)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        passed = [pair for pair in response.getheaders() if pair[0].lower() not in DROPPED]
        return response.status, habits.answer(passed), content

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@dataclass
class AppleAnswers:
    """An Apple without TLS whose answers a test writes, `Date` included."""

    keys: bytes
    # Seconds its clock is off; None leaves the field out.
    date_offset: float | None = 0.0
    # (status, content) of the token endpoint, one for each request; then the made-up code is refused.
    token: list = field(default_factory=list)
    seen: list = field(default_factory=list)

    def __post_init__(self):
        apple = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.reply(200, apple.keys)

            def do_POST(self):
                apple.seen.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
                self.reply(*(apple.token.pop(0) if apple.token else (400, b'{"error":"invalid_grant"}')))

            def reply(self, status: int, content: bytes):
                self.send_response_only(status)
                if apple.date_offset is not None:
                    moment = datetime.datetime.now(datetime.timezone.utc)
                    moment += datetime.timedelta(seconds=apple.date_offset)
                    self.send_header("Date", moment.strftime("%a, %d %b %Y %H:%M:%S GMT"))
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
