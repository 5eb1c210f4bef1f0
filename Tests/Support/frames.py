"""Frames of HTTP/2 (RFC 9113 §4.1), written by hand: whatever a library would refuse to send, too."""

import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
END_STREAM, ACKNOWLEDGE, END_HEADERS = 1, 1, 4


def frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    return len(content).to_bytes(3, "big") + struct.pack("!BBI", kind, flags, stream) + content
