"""`bramley doctor` at the application's verifier: each finding from a verifier that is really so. The signature is checked
by another implementation."""

import json
import ssl

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from doctor_place import Place
from programs import free_port
from receiver import Answer, Receiver, status
from sender import new_secret

FAILURE = b'{"result":"failure"}'


@pytest.fixture(scope="module")
def place(binaries, tmp_path_factory):
    place = Place(binaries, tmp_path_factory.mktemp("verifier"))
    yield place
    place.end()


@pytest.fixture
def verifiers():
    made = []

    def make(answer, tls: ssl.SSLContext | None = None) -> Receiver:
        made.append(Receiver(answer, tls))
        return made[-1]

    yield make
    for verifier in made:
        verifier.close()


def said(body: bytes = FAILURE, code: int = 200, *fields: str):
    return status(code, "Content-Type: application/json", *fields, body=body)


def strict(secret: str, then=lambda arrival: said()):
    """Answers 401 to what `secret` has not signed."""
    def answer(arrival):
        try:
            Webhook(secret).verify(arrival.body, arrival.headers)
        except WebhookVerificationError:
            return status(401)
        return then(arrival)
    return answer


def ask(place, url: str, secret: str):
    report = place.doctor(UPGRADE_VERIFIER_URL=url, UPGRADE_SECRET=secret)
    assert secret.removeprefix("whsec_") not in json.dumps(report.items)
    return report


def test_without_a_verifier_nothing_is_said(place):
    assert [item for item in place.doctor().items if item["check"] == "verifier"] == []


def test_all_is_well(place, verifiers):
    secret = new_secret()
    verifier = verifiers(strict(secret))
    report = ask(place, verifier.url("/verifier"), secret)
    assert report.wrong == []
    assert report.check("verifier") == "good"
    forged, signed = verifier.arrivals
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(forged.body, forged.headers)
    question = Webhook(secret).verify(signed.body, signed.headers)
    assert set(question) == {"action", "username", "password"} and question["action"] == "verify"
    # Nobody's account, and each time another.
    assert question["username"].endswith("@doctor.invalid")
    assert json.loads(forged.body)["username"] != question["username"]
    assert json.loads(forged.body)["password"] != question["password"]
    assert forged.id != signed.id
    for arrival in verifier.arrivals:
        assert arrival.path == "/verifier"
        assert arrival.headers["content-type"] == "application/json"
        assert arrival.headers["connection"] == "close"


def test_several_secrets_all_sign(place, verifiers):
    old, new = new_secret(), new_secret()
    for known in (old, new):
        verifier = verifiers(strict(known))
        assert ask(place, verifier.url(), f"{new}\\n{old}").check("verifier") == "good"


def test_nobody_there(place):
    report = ask(place, f"http://localhost:{free_port()}/", new_secret())
    assert report.wrong == ["verifier_unreachable"]


def test_one_that_breaks_off(place, verifiers):
    verifier = verifiers(lambda arrival: Answer([b"HTTP/1.1 200 OK\r\nContent-Le"]))
    assert ask(place, verifier.url(), new_secret()).wrong == ["verifier_unreachable"]


@pytest.mark.parametrize("certificate,wrong", [
    ({"host": "localhost"}, []),
    ({"host": "localhost", "expired": True}, ["verifier_tls"]),
    ({"host": "elsewhere.test"}, ["verifier_tls"]),
    ({"host": "localhost", "stranger": True}, ["verifier_tls"]),
])
def test_its_certificate(place, verifiers, certificate, wrong):
    name = place.authority.issue("verifier", **certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place.folder / f"{name}.pem", place.folder / f"{name}.key")
    secret = new_secret()
    verifier = verifiers(strict(secret), context)
    assert ask(place, verifier.url(), secret).wrong == wrong
    # Not a byte of a question goes to one that is not believed.
    assert bool(verifier.arrivals) == (not wrong)


@pytest.mark.parametrize("answer", [
    said(), said(b'{"result":"success","externalID":"1"}'), status(204), said(b"{}", 201)])
def test_one_that_believes_anybody(place, verifiers, answer):
    verifier = verifiers(lambda arrival: answer)
    report = ask(place, verifier.url(), new_secret())
    assert report.wrong == ["verifier_credulous"]
    # It is not asked further.
    assert len(verifier.arrivals) == 1


@pytest.mark.parametrize("code", [400, 401, 403])
def test_another_secret(place, verifiers, code):
    verifier = verifiers(lambda arrival: status(code))
    report = ask(place, verifier.url(), new_secret())
    assert report.wrong == ["verifier_refuses"]
    assert "secret" in report.one("verifier_refuses")["nextStep"]


@pytest.mark.parametrize("answer", [
    status(404), status(500), status(302, "Location: /elsewhere"), said(b"<html>"), said(b'{"result":"no"}'),
    status(200, "Content-Type: text/html", body=FAILURE), said(b'{"result":"success","externalID":"1"}'),
    said(b'{"result":"twoFactorAuthRequired","challenge":"c","methods":["totp"]}'), said(b" " * 20_000)])
def test_one_that_gives_no_answer(place, verifiers, answer):
    secret = new_secret()
    verifier = verifiers(strict(secret, lambda arrival: answer))
    report = ask(place, verifier.url(), secret)
    expected = ["verifier_unreachable"] if len(b"".join(answer.pieces)) > 16_384 else ["verifier_unusable"]
    assert report.wrong == expected
    assert {arrival.path for arrival in verifier.arrivals} == {"/hook"}
