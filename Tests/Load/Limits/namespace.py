"""Mounts of our own: root's right, or anybody's in a user namespace of their own."""

import ctypes
import os

from machine import CLONE_NEWNET, CLONE_NEWNS, mount, raise_loopback

CLONE_NEWUSER = 0x10000000


def enter() -> None:
    """Fails, and skips nothing, where neither is allowed: a machine that cannot try the limits has not tried them."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWNS if user == 0 else CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWNET) != 0:
        raise RuntimeError(
            f"these tests mount file systems of their own: run them as root, or allow user namespaces"
            f" ({os.strerror(ctypes.get_errno())})")
    if user != 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
        # A network of our own, for a name server's port: with nothing but this machine in it.
        raise_loopback()
    mount("--make-rprivate", "/")
