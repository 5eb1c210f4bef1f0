"""HTTP/2 as others speak it, over TLS: the library h2, curl and h2load against http-echo."""

import json
import signal
import socket
import ssl

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings
import pytest

from authority import self_signed
from echo import Echo, read_all
from frames import PREFACE
from patience import PATIENCE
from processes import output


@pytest.fixture(scope="session")
def certificate(tmp_path_factory) -> tuple[str, str]:
    return self_signed("localhost", "127.0.0.1").write(tmp_path_factory.mktemp("certificate"), "own")


@pytest.fixture
def start(start_echo, certificate):
    return lambda: start_echo("--certificate", certificate[0], "--private-key", certificate[1])


@pytest.fixture
def client(start, certificate):
    with Client(start(), certificate) as client:
        yield client


class Client:
    """h2 on a socket: it raises when the server breaks a rule that it knows."""

    def __init__(self, server: Echo, certificate: tuple[str, str], settings: dict | None = None):
        context = ssl.create_default_context(cafile=certificate[0])
        context.set_alpn_protocols(["h2", "http/1.1"])
        self.socket = context.wrap_socket(
            socket.create_connection(server.address, timeout=PATIENCE), server_hostname="localhost")
        assert self.socket.selected_alpn_protocol() == "h2"
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.h2.initiate_connection()
        if settings:
            self.h2.update_settings(settings)
        self.fields: dict[int, dict[str, str]] = {}
        self.content: dict[int, bytes] = {}
        self.ended: set[int] = set()
        self.events: list = []
        self.is_open = True
        self.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def flush(self):
        self.socket.sendall(self.h2.data_to_send())

    def read(self):
        data = self.socket.recv(65536)
        if not data:
            self.is_open = False
            return
        for event in self.h2.receive_data(data):
            self.events.append(event)
            match event:
                case h2.events.ResponseReceived():
                    self.fields[event.stream_id] = dict(event.headers)
                case h2.events.DataReceived():
                    self.content[event.stream_id] = self.content.get(event.stream_id, b"") + event.data
                    if event.flow_controlled_length:
                        self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                case h2.events.StreamEnded() | h2.events.StreamReset():
                    self.ended.add(event.stream_id)
        self.flush()

    def begin(self, method="GET", path="/", fields=(), ends=True) -> int:
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(
            stream,
            [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path), *fields],
            end_stream=ends)
        return stream

    def send(self, stream: int, content: bytes, ends=True, trailers=None):
        while content:
            room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size, len(content))
            if room == 0:
                self.flush()
                self.read()
                continue
            self.h2.send_data(stream, content[:room])
            content = content[room:]
        if trailers:
            self.h2.send_headers(stream, trailers, end_stream=True)
        elif ends:
            self.h2.end_stream(stream)
        self.flush()

    def finish(self, *streams: int):
        self.flush()
        while self.is_open and not self.ended.issuperset(streams):
            self.read()

    def answer(self, stream: int) -> dict:
        self.finish(stream)
        assert self.fields[stream][":status"] == "200"
        return json.loads(self.content[stream])


def test_a_request_is_understood(client):
    answer = client.answer(client.begin(
        "GET", "/a/b?c=d", [("cookie", "a=1"), ("x-one", "1"), ("cookie", "b=2"), ("te", "trailers")]))
    assert (answer["method"], answer["target"], answer["authority"]) == ("GET", "/a/b?c=d", "localhost")
    assert (answer["path"], answer["query"], answer["scheme"]) == ("/a/b", "c=d", "https")
    assert ["cookie", "a=1; b=2"] in answer["fields"]
    assert ["x-one", "1"] in answer["fields"]


def test_a_hundred_requests_at_once(client):
    client.read()
    # No more than 16 may await their content: each is sent before the next one begins.
    streams = []
    for number in range(100):
        streams.append(client.begin("POST", f"/{number}", ends=False))
        client.send(streams[-1], bytes([97 + number % 26]) * (number * 100))
    for number, stream in enumerate(streams):
        answer = client.answer(stream)
        assert (answer["path"], answer["bodyLength"]) == (f"/{number}", number * 100)


def test_content_up_to_the_limit_and_beyond(client):
    client.read()
    stream = client.begin("POST", ends=False)
    client.send(stream, b"a" * 65_536)
    assert client.answer(stream)["bodyLength"] == 65_536
    stream = client.begin("POST", fields=[("content-length", "65537")], ends=False)
    client.finish(stream)
    assert client.fields[stream][":status"] == "413"
    # Another request of the same connection is served as before.
    assert client.answer(client.begin())["method"] == "GET"


def test_content_in_small_windows(start, certificate):
    """What the server sends keeps to windows of a few bytes: h2 would raise otherwise."""
    with Client(start(), certificate, {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 50}) as client:
        stream = client.begin("POST", ends=False)
        client.send(stream, b"b" * 2000)
        assert client.answer(stream)["bodyLength"] == 2000


def test_trailers_and_padding(client):
    stream = client.begin("POST", ends=False)
    client.h2.send_data(stream, b"abc", pad_length=200)
    client.send(stream, b"def", trailers=[("x-checksum", "1"), ("host", "elsewhere")])
    answer = client.answer(stream)
    assert (answer["bodyLength"], answer["trailers"]) == (6, [["x-checksum", "1"]])


@pytest.mark.parametrize("fields, status", [
    ([("expect", "something")], "417"), ([("x-long", "a" * 20_000)], "431"),
    ([(f"x-{number}", "a") for number in range(120)], "431")])
def test_requests_over_the_limits_are_answered_with_an_error(client, fields, status):
    stream = client.begin(fields=fields)
    client.finish(stream)
    assert client.fields[stream][":status"] == status


def test_pings_and_priorities(client):
    client.h2.ping(b"12345678")
    stream = client.begin()
    client.h2.prioritize(stream, weight=200)
    client.answer(stream)
    acknowledged = [event for event in client.events if isinstance(event, h2.events.PingAckReceived)]
    assert [event.ping_data for event in acknowledged] == [b"12345678"]


def test_sigterm_sends_goaway(start, certificate):
    server = start()
    with Client(server, certificate) as client:
        assert client.answer(client.begin())["method"] == "GET"
        server.process.send_signal(signal.SIGTERM)
        # To h2 a GOAWAY is the end, whatever follows: the PING that asks whether it was read is an error to it.
        with pytest.raises(h2.exceptions.ProtocolError, match="RECV_PING in state ConnectionState.CLOSED"):
            while client.is_open:
                client.read()
        read_all(client.socket)
    assert server.end() == 0


def test_curl_in_both_versions(start, certificate):
    server = start()

    def curl(*options: str) -> tuple[str, dict]:
        text, _, version = output(
            "curl", "-sS", "--max-time", "20", "--cacert", certificate[0], "-w", "\n%{http_version}", *options,
            f"{server.url}/a").rpartition("\n")
        return version, json.loads(text)

    for option, version in (("--http2", "2"), ("--http1.1", "1.1")):
        used, answer = curl(option)
        assert (used, answer["scheme"], answer["path"]) == (version, "https", "/a")
        used, answer = curl(option, "-d", "x" * 50_000)
        assert (used, answer["bodyLength"]) == (version, 50_000)


def test_h2load_is_served(start):
    said = output("h2load", "-n", "3000", "-c", "5", "-m", "30", f"{start().url}/")
    assert "3000 succeeded, 0 failed, 0 errored" in said


def test_a_plain_port_speaks_only_http1(echo):
    """Without TLS nobody can have agreed on HTTP/2: its preface is a request of an unknown version."""
    assert echo.exchange(PREFACE + bytes(9)).startswith(b"HTTP/1.1 505 ")
