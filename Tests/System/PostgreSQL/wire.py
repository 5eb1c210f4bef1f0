"""The network between a server and PostgreSQL, which a test may cut or stop."""

import contextlib
import socket
import threading
from pathlib import Path

from programs import free_port


class Wire:
    """Listens on a port and passes everything on to PostgreSQL's socket."""

    def __init__(self, folder: Path, port: int = 5432):
        self.target = f"{folder}/.s.PGSQL.{port}"
        self.port = free_port()
        self.flows = threading.Event()
        self.flows.set()
        # Called with what a client sends and whether it has the lock of writes: "pass", "cut before" or "cut after" it.
        self.decide = lambda content, writes: "pass"
        self.open: set[socket.socket] = set()
        self.guard = threading.Lock()
        self.listen()

    def listen(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def refuse(self) -> None:
        """As a network that is out of reach, until `listen`."""
        # Without it, whoever waits for a connection would still get one.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()

    def accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.target)
            except OSError:
                client.close()
                continue
            with self.guard:
                self.open |= {client, server}
            silent = threading.Event()
            for work in (self.ask, self.answer):
                threading.Thread(target=work, args=(client, server, silent), daemon=True).start()

    def ask(self, client: socket.socket, server: socket.socket, silent: threading.Event) -> None:
        writes = False
        with contextlib.suppress(OSError):
            while content := client.recv(65_536):
                self.flows.wait()
                writes = writes or b"store_lock" in content
                what = self.decide(content, writes)
                if what == "cut before":
                    break
                if what == "cut after":
                    silent.set()
                server.sendall(content)
                if what == "cut after":
                    # PostgreSQL does what it was asked, and ends when it finds nobody there.
                    server.shutdown(socket.SHUT_WR)
                    while server.recv(65_536):
                        pass
                    break
                if b"COMMIT" in content:
                    writes = False
        self.close(client, server)

    def answer(self, client: socket.socket, server: socket.socket, silent: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while not silent.is_set() and (content := server.recv(65_536)):
                if silent.is_set():
                    return
                self.flows.wait()
                client.sendall(content)
        if not silent.is_set():
            self.close(client, server)

    def close(self, *sockets: socket.socket) -> None:
        with self.guard:
            self.open -= set(sockets)
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def cut(self) -> None:
        with self.guard:
            sockets = list(self.open)
        self.close(*sockets)

    def end(self) -> None:
        self.listener.close()
        self.flows.set()
        self.cut()
