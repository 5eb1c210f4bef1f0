"""Ordinary clients of http-echo, each with its own way of writing HTTP/1.1; and the program: its options, its end."""

import contextlib
import http.client
import json
import signal

import pytest

from echo import Answers, read_all
from patience import PATIENCE
from processes import fails, finished, output


@pytest.fixture
def client(echo):
    connection = http.client.HTTPConnection(*echo.address, timeout=PATIENCE)
    yield connection
    connection.close()


def curl(echo, *arguments: str, path="/", stdin: bytes | None = None) -> bytes:
    return output("curl", "-q", "-sS", "--noproxy", "*", "--max-time", "10", *arguments, echo.url + path, text=False,
                  **{} if stdin is None else {"input": stdin})


def test_one_connection_of_http_client_serves_many(client):
    for number in range(20):
        client.request("GET", f"/{number}?a=b", headers={"X-Number": str(number)})
        response = client.getresponse()
        understood = json.load(response)
        assert response.status == 200 and not response.will_close
        assert understood["target"] == f"/{number}?a=b"
        assert ["x-number", str(number)] in understood["fields"]


def test_http_client_sends_content_and_chunks(client):
    client.request("PUT", "/", body=b"\x00\xffabc")
    assert json.load(client.getresponse())["bodyBase64"] == "AP9hYmM="
    client.request("POST", "/", body=iter([b"ab", b"c"]), encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
    understood = json.load(client.getresponse())
    assert understood["body"] == "abc" and ["transfer-encoding", "chunked"] in understood["fields"]


def test_http_client_sends_head(client):
    client.request("HEAD", "/a")
    response = client.getresponse()
    assert response.status == 200 and int(response.headers["Content-Length"]) > 0 and response.read() == b""
    # Nothing of an answer to it is left in the connection.
    client.request("GET", "/b")
    assert json.load(client.getresponse())["target"] == "/b"


def test_curl_reuses_its_connection(echo):
    out = curl(echo, echo.url + "/a", "-w", "\n%{num_connects}\n", path="/b")
    assert [line for line in out.decode().split("\n") if line in ("0", "1")] == ["1", "0"]


@pytest.mark.parametrize("arguments, stdin, understood", [
    (["-d", "a=b&c=d"], None, {"method": "POST", "body": "a=b&c=d"}),
    (["-T", "-", "-H", "Expect:"], b"x" * 30_000, {"method": "PUT", "bodyLength": 30_000}),
    (["-X", "OPTIONS", "--request-target", "*"], None, {"method": "OPTIONS", "target": "*"}),
    (["-X", "BREW"], None, {"method": "BREW"}),
], ids=["form", "chunks", "the whole server", "a method of its own"])
def test_curl_is_understood(echo, arguments, stdin, understood):
    answer = json.loads(curl(echo, *arguments, stdin=stdin))
    assert {name: answer[name] for name in understood} == understood


@pytest.mark.parametrize("arguments, start, part", [
    (["-i", "-H", "Expect: 100-continue", "--expect100-timeout", "8", "-d", "abc"],
     b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ", b'"body":"abc"'),
    (["-i", "--http1.0"], b"HTTP/1.1 200 ", b"\r\nConnection: close\r\n"),
    (["--http1.0"], b"{", b'"version":"HTTP/1.0"'),
    (["-I"], b"HTTP/1.1 200 ", b"Content-Length: "),
], ids=["100-continue", "HTTP/1.0, fields", "HTTP/1.0, content", "HEAD"])
def test_curl_is_answered(echo, arguments, start, part):
    out = curl(echo, *arguments)
    assert out.startswith(start) and part in out


def test_curl_reads_the_refusal_of_long_content(echo):
    options = "-o", "/dev/null", "-w", "%{http_code}", "-H", "Expect:", "--data-binary", "@-"
    assert curl(echo, *options, stdin=b"x" * 200_000) == b"413"


def test_curl_sends_absolute_targets_to_a_proxy(echo):
    said = output("curl", "-q", "-sS", "--max-time", "10", "-x", echo.url, "http://other.example:81/a?b")
    understood = json.loads(said)
    assert (understood["authority"], understood["target"]) == ("other.example:81", "/a?b")


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
    fails(finished(echo_folder / "http-echo", "--port", str(echo.address[1])), "bind")
