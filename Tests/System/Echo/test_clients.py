"""Ordinary clients, each with its own way of writing HTTP/1.1: Python's http.client and curl."""

import http.client
import json
import subprocess

import pytest

from patience import PATIENCE


@pytest.fixture
def client(echo):
    connection = http.client.HTTPConnection(*echo.address, timeout=PATIENCE)
    yield connection
    connection.close()


def curl(echo, *arguments: str, path="/", stdin: bytes | None = None) -> bytes:
    """What curl printed."""
    run = subprocess.run(
        ["curl", "-q", "-sS", "--noproxy", "*", "--max-time", "10", *arguments, echo.url + path], input=stdin,
        capture_output=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_one_connection_of_http_client_serves_many(client):
    for number in range(20):
        client.request("GET", f"/{number}?a=b", headers={"X-Number": str(number)})
        response = client.getresponse()
        understood = json.load(response)
        assert response.status == 200 and not response.will_close
        assert understood["target"] == f"/{number}?a=b"
        assert ["x-number", str(number)] in understood["fields"]


def test_http_client_sends_content(client):
    client.request("PUT", "/", body=b"\x00\xffabc")
    assert json.load(client.getresponse())["bodyBase64"] == "AP9hYmM="


def test_http_client_sends_chunks(client):
    client.request("POST", "/", body=iter([b"ab", b"c"]), encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
    understood = json.load(client.getresponse())
    assert understood["body"] == "abc" and ["transfer-encoding", "chunked"] in understood["fields"]


def test_http_client_asks_with_head(client):
    client.request("HEAD", "/a")
    response = client.getresponse()
    assert response.status == 200 and int(response.headers["Content-Length"]) > 0 and response.read() == b""
    # Nothing of an answer to it is left in the connection.
    client.request("GET", "/b")
    assert json.load(client.getresponse())["target"] == "/b"


def test_curl_reuses_its_connection(echo):
    out = curl(echo, echo.url + "/a", "-w", "\n%{num_connects}\n", path="/b")
    assert [line for line in out.decode().split("\n") if line in ("0", "1")] == ["1", "0"]


def test_curl_posts_a_form(echo):
    understood = json.loads(curl(echo, "-d", "a=b&c=d"))
    assert (understood["method"], understood["body"]) == ("POST", "a=b&c=d")


def test_curl_uploads_in_chunks_with_a_trailing_request(echo):
    understood = json.loads(curl(echo, "-T", "-", "-H", "Expect:", stdin=b"x" * 30_000))
    assert (understood["method"], understood["bodyLength"]) == ("PUT", 30_000)


def test_curl_waits_for_continue(echo):
    out = curl(echo, "-i", "-H", "Expect: 100-continue", "--expect100-timeout", "8", "-d", "abc").decode()
    assert out.startswith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ") and '"body":"abc"' in out


def test_curl_reads_the_refusal_of_what_is_too_long(echo):
    out = curl(echo, "-o", "/dev/null", "-w", "%{http_code}", "-H", "Expect:", "--data-binary", "@-", stdin=b"x" * 200_000)
    assert out == b"413"


def test_curl_sends_absolute_targets_to_a_proxy(echo):
    run = subprocess.run(
        ["curl", "-q", "-sS", "--max-time", "10", "-x", echo.url, "http://other.example:81/a?b"], capture_output=True)
    understood = json.loads(run.stdout)
    assert (understood["authority"], understood["target"]) == ("other.example:81", "/a?b")


def test_curl_speaks_http_1_0(echo):
    out = curl(echo, "-i", "--http1.0").decode()
    assert '"version":"HTTP/1.0"' in out and "\r\nConnection: close\r\n" in out


def test_curl_asks_for_the_whole_server(echo):
    understood = json.loads(curl(echo, "-X", "OPTIONS", "--request-target", "*"))
    assert (understood["method"], understood["target"]) == ("OPTIONS", "*")


def test_curl_asks_with_a_method_of_its_own(echo):
    assert json.loads(curl(echo, "-X", "BREW"))["method"] == "BREW"


def test_curl_asks_with_head(echo):
    assert curl(echo, "-I").startswith(b"HTTP/1.1 200 ")
