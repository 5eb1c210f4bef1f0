"""Mounts and a network of this run's own: what is started here meets nobody else's ports, and reaches nobody."""

import ctypes
import fcntl
import os
import socket
import struct

from processes import output

CLONE_NEWNS = 0x00020000
CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1


def enter() -> None:
    """Fails, and skips nothing, without root's right: another user cannot be who the image names."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(CLONE_NEWNS | CLONE_NEWNET) != 0:
        raise RuntimeError("these tests run an image as its own user in its own root: run them as root")
    mount("--make-rprivate", "/")
    raise_loopback()


def raise_loopback() -> None:
    """In a network of one's own it is down at first."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))


def mount(*arguments: str) -> None:
    output("mount", *arguments)
