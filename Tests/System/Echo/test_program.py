"""http-echo as a program: its address, its options, its end."""

import json
import signal
import subprocess

import pytest

from echo import Answers, read_all
from patience import PATIENCE

GET = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"


def status(received: bytes) -> int:
    return Answers(received, ["GET"]).statuses[0]


def test_json_says_what_was_understood(echo):
    body = Answers(echo.exchange(GET.replace(b"/ ", b"/a%20b?c=d ")), ["GET"]).bodies[0]
    assert json.loads(body) == {
        "version": "HTTP/1.1", "method": "GET", "scheme": "http", "authority": "h", "target": "/a%20b?c=d",
        "path": "/a%20b", "query": "c=d", "fields": [["connection", "close"]], "trailers": [], "bodyLength": 0,
        "body": "", "bodyBase64": "", "client": "127.0.0.1",
    }


def test_content_that_is_no_text_is_null(echo):
    text = b"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 2\r\n\r\n\xff\x00"
    understood = Answers(echo.exchange(text), ["POST"]).understood()[0]
    assert (understood["body"], understood["bodyBase64"], understood["bodyLength"]) == (None, "/wA=", 2)


def test_it_listens_on_ipv6(start_echo):
    server = start_echo("--host", "::1")
    assert server.url.startswith("http://[::1]:")
    assert Answers(server.exchange(GET), ["GET"]).understood()[0]["client"] == "::1"


def test_several_loops_share_the_port(start_echo):
    server = start_echo("--threads", "2")
    assert {status(server.exchange(GET)) for _ in range(20)} == {200}


def test_a_trusted_proxy_names_the_client(start_echo):
    text = GET.replace(b"Host", b"X-Forwarded-For: 192.0.2.7\r\nHost")
    trusting = start_echo("--trusted-proxy", "127.0.0.0/8")
    assert Answers(trusting.exchange(text), ["GET"]).understood()[0]["client"] == "192.0.2.7"
    assert Answers(start_echo().exchange(text), ["GET"]).understood()[0]["client"] == "127.0.0.1"


def test_the_proxy_protocol_names_the_client(start_echo):
    text = b"PROXY TCP4 192.0.2.9 192.0.2.1 4711 80\r\n" + GET
    server = start_echo("--trusted-proxy", "127.0.0.1", "--proxy-protocol")
    assert Answers(server.exchange(text), ["GET"]).understood()[0]["client"] == "192.0.2.9"
    # Closed unread, which a client may see as a reset.
    try:
        assert server.exchange(GET) == b""
    except ConnectionResetError:
        pass


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_it_speaks_tls(start_echo, tmp_path, version):
    pair = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "certificate.pem")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=echo", "-addext", "subjectAltName=IP:127.0.0.1", *pair], check=True, capture_output=True)
    server = start_echo(
        "--certificate", str(tmp_path / "certificate.pem"), "--private-key", str(tmp_path / "key.pem"))
    assert server.url.startswith("https://127.0.0.1:")
    run = subprocess.run(
        ["curl", "-q", "-sS", "--noproxy", "*", "--max-time", "10", version, "--cacert", str(tmp_path / "certificate.pem"),
         "-d", "abc", server.url + "/a?b"], capture_output=True, check=True)
    understood = json.loads(run.stdout)
    assert understood["version"] == ("HTTP/2" if version == "--http2" else "HTTP/1.1")
    assert (understood["scheme"], understood["target"], understood["body"]) == ("https", "/a?b", "abc")


@pytest.mark.parametrize(("option", "text", "expected"), [
    ("--max-request-line", b"GET /" + b"a" * 100 + b" HTTP/1.1\r\nHost: h\r\n\r\n", 414),
    ("--max-header-block", b"GET / HTTP/1.1\r\nHost: h\r\nA: " + b"a" * 100 + b"\r\n\r\n", 431),
    ("--max-body", b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n", 413),
    ("--max-trailers", b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: " + b"a" * 100 + b"\r\n\r\n", 431),
    ("--max-chunk-line", b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0;" + b"a" * 100 + b"\r\n\r\n", 400),
    ("--max-chunk-extensions", b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0;" + b"a" * 100 + b"\r\n\r\n", 400),
])
def test_limits_can_be_set_by_options(start_echo, option, text, expected):
    assert status(start_echo(option, "100").exchange(text)) == expected


def test_the_number_of_fields_can_be_set_by_an_option(start_echo):
    assert status(start_echo("--max-fields", "1").exchange(GET)) == 431


@pytest.mark.parametrize(("option", "text"), [
    ("--header-timeout", b"GET / HTTP/1.1\r\nHo"), ("--body-timeout", b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\na"),
])
def test_deadlines_can_be_set_by_options(start_echo, option, text):
    assert status(start_echo(option, "200").exchange(text)) == 408


def test_an_idle_connection_ends(start_echo):
    text = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"
    assert status(start_echo("--idle-timeout", "200").exchange(text)) == 200


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


def test_sigterm_waits_no_longer_than_it_was_told(start_echo):
    server = start_echo("--drain-timeout", "200")
    with server.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHo")
        # The server has seen it: another request, sent later, is answered.
        assert status(server.exchange(GET)) == 200
        server.process.send_signal(signal.SIGTERM)
        assert connection.recv(100) == b""
    assert server.process.wait(10) == 0


@pytest.mark.parametrize("options", [["--host", "localhost"], ["--trusted-proxy", "x"], ["--port", "65536"], ["--nonsense"], ["--certificate", "x"]])
def test_bad_options_are_refused(echo_folder, options):
    run = subprocess.run([str(echo_folder / "http-echo"), *options], capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 64 and run.stderr.startswith("Error: ") and run.stdout == ""


def test_a_port_that_is_taken_is_said(echo, echo_folder):
    run = subprocess.run(
        [str(echo_folder / "http-echo"), "--port", str(echo.address[1])], capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 1 and "bind" in run.stderr
