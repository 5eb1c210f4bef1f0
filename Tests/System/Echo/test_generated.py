"""Generated requests are understood as meant, in whatever pieces; damaged ones never otherwise than h11 reads them."""

import base64
import re
import string

import h11
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from echo import Answers, Echo, read_all

TOKEN = "!#$%&'*+-.^_`|~" + string.digits + string.ascii_letters
UNRESERVED = string.ascii_letters + string.digits + "-._~"
PCHAR = UNRESERVED + "!$&'()*+,;=:@"
# What frames a message or ends a connection is generated for itself.
RESERVED = {"host", "content-length", "transfer-encoding", "connection", "expect", "te", "upgrade", "trailer"}

# Reproducible: a failure here is a failure everywhere.
quick = settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)

methods = st.one_of(
    st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"]),
    st.text(TOKEN, min_size=1, max_size=32).filter(lambda method: method not in ("CONNECT", "HEAD")))
escapes = st.builds("%{:02X}".format, st.integers(0, 255))
segments = st.lists(st.one_of(st.sampled_from(PCHAR), escapes), max_size=8).map("".join)
paths = st.lists(segments, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))
queries = st.one_of(st.none(), st.lists(st.one_of(st.sampled_from(PCHAR + "/?"), escapes), max_size=12).map("".join))
hosts = st.builds(
    lambda name, port: name if port is None else f"{name}:{port}",
    st.one_of(st.text(UNRESERVED, min_size=1, max_size=20), st.sampled_from(["[::1]", "[2001:db8::2]", "192.0.2.1"])),
    st.one_of(st.none(), st.integers(0, 65535)))
names = st.text(TOKEN, min_size=1, max_size=20).filter(lambda name: name.lower() not in RESERVED)
visible = "".join(map(chr, range(0x21, 0x7F)))
values = st.text(visible + " \t", max_size=40).map(lambda value: value.strip(" \t"))
fields = st.lists(st.tuples(names, values), max_size=8)
# Of the names that trailers may have.
trailers = st.lists(st.tuples(st.text("abcxyz", min_size=1, max_size=6).map("x-".__add__), values), max_size=3)


@st.composite
def requests(draw):
    """What is meant: a dictionary as http-echo's, and the events that h11 writes."""
    target, query = draw(paths), draw(queries)
    target += "" if query is None else "?" + query
    host, authority, sent = draw(hosts), None, target
    if draw(st.integers(0, 4)) == 0:
        authority = draw(hosts)
        sent = f"http://{authority}{target}"
    given, chunks = draw(fields), draw(st.lists(st.binary(min_size=1, max_size=60), max_size=4))
    framing = draw(st.sampled_from(["none", "length", "chunked"]))
    chunks = [] if framing == "none" else chunks
    meant = {
        "method": draw(methods), "target": target, "authority": authority or host, "version": "HTTP/1.1",
        "fields": [[name.lower(), value] for name, value in given], "body": b"".join(chunks), "trailers": [],
    }
    headers = [("Host", host), *given]
    end = h11.EndOfMessage()
    frames = {"length": ("Content-Length", str(len(meant["body"]))), "chunked": ("Transfer-Encoding", "chunked")}
    if framing in frames:
        name, value = frames[framing]
        headers.append((name, value))
        meant["fields"].append([name.lower(), value])
    if framing == "chunked":
        behind = draw(trailers)
        meant["trailers"] = [[name, value] for name, value in behind]
        end = h11.EndOfMessage(headers=behind)
    writer = h11.Connection(h11.CLIENT)
    written = writer.send(h11.Request(method=meant["method"], target=sent, headers=headers))
    for chunk in chunks:
        written += writer.send(h11.Data(data=chunk))
    return meant, written + writer.send(end)


def summary(understood: dict) -> dict:
    return {
        **{name: understood[name] for name in ("method", "target", "authority", "version", "fields", "trailers")},
        "body": base64.b64decode(understood["bodyBase64"]),
    }


@quick
@given(st.lists(requests(), min_size=1, max_size=4), st.lists(st.integers(1, 400), max_size=4))
def test_generated_requests_are_understood(echo: Echo, conversation, cuts):
    text = b"".join(written for _, written in conversation)
    text += b"GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    places = sorted({cut % len(text) for cut in cuts} | {0, len(text)})
    pieces = [text[start:end] for start, end in zip(places, places[1:])]
    answers = Answers(echo.exchange(*pieces), [meant["method"] for meant, _ in conversation] + ["GET"])
    assert answers.statuses == [200] * (len(conversation) + 1)
    assert answers.rest == b"" and answers.closes
    understood = answers.understood()
    assert [summary(one) for one in understood[:-1]] == [meant for meant, _ in conversation]
    assert understood[-1]["target"] == "/last"


SEEDS = [
    b"GET /a?b HTTP/1.1\r\nHost: h\r\nA: b\r\n\r\n",
    b"POST /c HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
    b"POST /d HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"POST /e HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=\"y\"\r\nabc\r\n0\r\nT: u\r\n\r\n",
    b"GET http://a/f HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\n\r\n",
]
PARTS = [bytes([byte]) for byte in range(256)] + [
    b"\r\n", b"\r\n\r\n", b"\r\n ", b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: a\r\n",
    b"0\r\n\r\n", b"Connection: close\r\n", b"HTTP/1.0", b"GET / HTTP/1.1\r\n", b", ", b"0x", b"chunked", b"\xa0",
]


@st.composite
def damaged(draw):
    text = b"".join(draw(st.lists(st.sampled_from(SEEDS), min_size=1, max_size=3)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(text) - 1))
        match draw(st.sampled_from(["insert", "replace", "delete", "repeat"])):
            case "insert":
                text = text[:place] + draw(st.sampled_from(PARTS)) + text[place:]
            case "replace":
                text = text[:place] + draw(st.sampled_from(PARTS)) + text[place + 1:]
            case "delete":
                text = (text[:place] + text[place + 1:]) or b"G"
            case "repeat":
                text = text[:place] + text[place:place + draw(st.integers(1, 30))] + text[place:]
    return text


def heard_by_h11(text: bytes) -> list[tuple]:
    """The requests that an h11 server reads, until one it refuses or the end."""
    heard = []
    try:
        while True:
            server = h11.Connection(h11.SERVER)
            # RFC 9112 §2.2: an empty line before a request is skipped. h11 refuses it.
            server.receive_data(text.removeprefix(b"\r\n"))
            server.receive_data(b"")
            request = server.next_event()
            if not isinstance(request, h11.Request):
                return heard
            body = b""
            while isinstance(event := server.next_event(), h11.Data):
                body += bytes(event.data)
            if not isinstance(event, h11.EndOfMessage):
                return heard
            # Header names and what becomes of Host differ by design; what a request is, and its content, may not.
            heard.append((request.method.decode(), request.target.decode("latin-1"), body))
            server.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
            server.send(h11.EndOfMessage())
            if server.our_state is h11.MUST_CLOSE or server.their_state is h11.MUST_CLOSE:
                return heard
            text, _ = server.trailing_data
    except h11.RemoteProtocolError:
        return heard


@settings(quick, max_examples=600)
@example(SEEDS[1] + SEEDS[0])
@example(b"".join(SEEDS))
@example(b"\r\n" + SEEDS[0] + b"\r\n" + SEEDS[1])
@example(b"\r\n\r\n" + SEEDS[0])
@given(damaged())
def test_accepted_requests_mean_the_same_to_another_parser(echo: Echo, text):
    with echo.connect() as connection:
        connection.sendall(text)
        connection.shutdown(1)
        received = read_all(connection)
    other = heard_by_h11(text)
    answers = Answers(received, [method for method, _, _ in other] + ["GET"] * 4)
    understood = answers.understood()
    # We refuse more than h11 does, and nothing the other way round.
    assert len(understood) <= len(other), (understood, other)
    for mine, (method, target, body) in zip(understood, other):
        # Of an absolute address, from its path on; without one it is `/` (RFC 9112 §3.2.1).
        sent = target
        if not target.startswith(("/", "*")):
            sent = re.sub("^[^/?]*", "", target.partition("//")[2])
            sent = sent if sent.startswith("/") else "/" + sent
        assert (mine["method"], mine["target"], base64.b64decode(mine["bodyBase64"])) == (method, sent, body)
    assert all(status in (200, 400, 413, 414, 417, 421, 431, 501, 505) for status in answers.statuses)
