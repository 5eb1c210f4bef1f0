"""Verifies webhooks by the Standard Webhooks specification, with the standard library only."""

import base64
import hashlib
import hmac
import json

# Maximum difference between the sender's clock and ours, in seconds. Older webhooks may be replayed recordings.
TOLERANCE = 300


class NotGenuine(Exception):
    """The webhook is not from the sender, or not recent."""


def read_secrets(text: str) -> list[bytes]:
    """The keys of a file with one `whsec_…` per line. It has two while one replaces the other."""
    keys = []
    for line in text.split():
        if not line.startswith("whsec_"):
            raise ValueError("a line does not begin with whsec_")
        keys.append(base64.b64decode(line.removeprefix("whsec_"), validate=True))
    if not keys:
        raise ValueError("there is no secret")
    return keys


def verify(body: bytes, headers, keys: list[bytes], now: float) -> tuple[str, dict]:
    """Returns the webhook's id, the same at every attempt, and the event.

    `body` is the raw content: parsed and rewritten JSON has another signature.
    """
    identifier = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    signatures = headers.get("webhook-signature", "").split()
    if not identifier or not (timestamp.isascii() and timestamp.isdigit()) or not signatures:
        raise NotGenuine("a header is missing")
    if abs(now - int(timestamp)) > TOLERANCE:
        raise NotGenuine("too old, or from the future")
    signed = f"{identifier}.{timestamp}.".encode() + body
    expected = [
        b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()) for key in keys
    ]
    # In constant time.
    if not any(
        hmac.compare_digest(signature.encode(), wanted) for signature in signatures for wanted in expected
    ):
        raise NotGenuine("no signature fits")
    return identifier, json.loads(body)
