"""Connections that are passed on, byte for byte."""

import contextlib
import socket
import threading
from typing import Callable


class Relay:
    """Listens on a port of this machine. `lead` opens the other connection of a client's; None closes the client's."""

    def __init__(self, lead: Callable[[socket.socket], socket.socket | None], port: int = 0):
        self.lead = lead
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client: socket.socket) -> None:
        if server := self.lead(client):
            threading.Thread(target=pipe, args=(client, server), daemon=True).start()
            pipe(server, client)
        else:
            client.close()

    def stop(self) -> None:
        self.listener.close()


def pipe(source: socket.socket, target: socket.socket) -> None:
    """Until either ends; then both do."""
    with contextlib.suppress(OSError):
        while content := source.recv(65_536):
            target.sendall(content)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
