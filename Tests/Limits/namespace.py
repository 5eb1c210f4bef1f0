"""Mounts of our own: root's right, or anybody's in a user namespace of their own."""

import ctypes
import fcntl
import os
import socket
import struct
import subprocess

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def enter() -> None:
    """Fails, and skips nothing, where neither is allowed: a machine that cannot try the limits has not tried them."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    flags = CLONE_NEWNS if user == 0 else CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWNET
    if libc.unshare(flags) != 0:
        raise RuntimeError(
            f"these tests mount file systems of their own: run them as root, or allow user namespaces"
            f" ({os.strerror(ctypes.get_errno())})")
    if user != 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
        # A network of our own, for a name server's port: with nothing but this machine in it.
        with socket.socket() as any_socket:
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    mount("--make-rprivate", "/")


def mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"mount {' '.join(arguments)}: {done.stderr.strip()}")
