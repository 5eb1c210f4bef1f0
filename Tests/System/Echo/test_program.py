"""http-echo as a program: its address, its options, its end."""

import contextlib
import json
import signal

import pytest

from echo import Answers, read_all
from processes import finished

GET = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"


def status(received: bytes) -> int:
    return Answers(received, ["GET"]).statuses[0]


def client_of(server, text: bytes) -> str:
    return Answers(server.exchange(text), ["GET"]).understood()[0]["client"]


def test_json_says_what_was_understood(echo):
    assert json.loads(Answers(echo.exchange(GET.replace(b"/ ", b"/a%20b?c=d ")), ["GET"]).bodies[0]) == {
        "version": "HTTP/1.1", "method": "GET", "scheme": "http", "authority": "h", "target": "/a%20b?c=d",
        "path": "/a%20b", "query": "c=d", "fields": [["connection", "close"]], "trailers": [], "bodyLength": 0,
        "body": "", "bodyBase64": "", "client": "127.0.0.1",
    }


def test_binary_content_is_null(echo):
    text = b"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 2\r\n\r\n\xff\x00"
    understood = Answers(echo.exchange(text), ["POST"]).understood()[0]
    assert (understood["body"], understood["bodyBase64"], understood["bodyLength"]) == (None, "/wA=", 2)


def test_it_listens_on_ipv6(start_echo):
    server = start_echo("--host", "::1")
    assert server.url.startswith("http://[::1]:")
    assert client_of(server, GET) == "::1"


def test_several_loops_share_the_port(start_echo):
    server = start_echo("--threads", "2")
    assert {status(server.exchange(GET)) for _ in range(20)} == {200}


def test_a_trusted_proxy_names_the_client(start_echo):
    text = GET.replace(b"Host", b"X-Forwarded-For: 192.0.2.7\r\nHost")
    assert client_of(start_echo("--trusted-proxy", "127.0.0.0/8"), text) == "192.0.2.7"
    assert client_of(start_echo(), text) == "127.0.0.1"


def test_the_proxy_protocol_names_the_client(start_echo):
    server = start_echo("--trusted-proxy", "127.0.0.1", "--proxy-protocol")
    assert client_of(server, b"PROXY TCP4 192.0.2.9 192.0.2.1 4711 80\r\n" + GET) == "192.0.2.9"
    # Closed unread, which a client may see as a reset.
    with contextlib.suppress(ConnectionResetError):
        assert server.exchange(GET) == b""


POST = b"POST / HTTP/1.1\r\nHost: h\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n0"
LONG = b"a" * 100


@pytest.mark.parametrize("option, value, text, expected", [
    ("--max-request-line", 100, b"GET /" + LONG + b" HTTP/1.1\r\nHost: h\r\n\r\n", 414),
    ("--max-header-block", 100, b"GET / HTTP/1.1\r\nHost: h\r\nA: " + LONG + b"\r\n\r\n", 431),
    ("--max-fields", 1, GET, 431),
    ("--max-body", 100, POST + b"Content-Length: 101\r\n\r\n", 413),
    ("--max-trailers", 100, CHUNKED + b"\r\nA: " + LONG + b"\r\n\r\n", 431),
    ("--max-chunk-line", 100, CHUNKED + b";" + LONG + b"\r\n\r\n", 400),
    ("--max-chunk-extensions", 100, CHUNKED + b";" + LONG + b"\r\n\r\n", 400),
    ("--header-timeout", 200, b"GET / HTTP/1.1\r\nHo", 408),
    ("--body-timeout", 200, POST + b"Content-Length: 9\r\n\r\na", 408),
    # It ends after its answer, which is read to the end.
    ("--idle-timeout", 200, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", 200),
])
def test_limits_and_deadlines_can_be_set_by_options(start_echo, option, value, text, expected):
    assert status(start_echo(option, str(value)).exchange(text)) == expected


def test_sigterm_lets_a_request_in_flight_finish(start_echo):
    server = start_echo()
    with server.connect() as connection, server.connect() as idle:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        server.process.send_signal(signal.SIGTERM)
        # A connection without a request ends at once.
        assert idle.recv(1) == b""
        connection.sendall(b"abc")
        answers = Answers(read_all(connection), ["POST"])
    assert answers.statuses == [200] and answers.closes
    assert server.process.wait(10) == 0


def test_sigterm_waits_only_for_the_given_time(start_echo):
    server = start_echo("--drain-timeout", "200")
    with server.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHo")
        # The server has seen it: another request, sent later, is answered.
        assert status(server.exchange(GET)) == 200
        server.process.send_signal(signal.SIGTERM)
        assert connection.recv(100) == b""
    assert server.process.wait(10) == 0


@pytest.mark.parametrize("options", [
    ["--host", "localhost"], ["--trusted-proxy", "x"], ["--port", "65536"], ["--nonsense"], ["--certificate", "x"]])
def test_bad_options_are_refused(echo_folder, options):
    run = finished(echo_folder / "http-echo", *options)
    assert run.returncode == 64 and run.stderr.startswith("Error: ") and run.stdout == ""


def test_a_port_in_use_is_reported(echo, echo_folder):
    run = finished(echo_folder / "http-echo", "--port", str(echo.address[1]))
    assert run.returncode == 1 and "bind" in run.stderr
