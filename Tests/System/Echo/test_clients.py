"""Ordinary clients, each with its own way of writing HTTP/1.1: Python's http.client and curl."""

import http.client
import json

import pytest

from patience import PATIENCE
from processes import output


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
