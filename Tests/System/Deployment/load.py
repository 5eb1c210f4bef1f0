"""People and proxies while servers come and go: no request of theirs may fail."""

import http.client
import threading

from patience import PATIENCE
from programs import Site
from web import SESSION, Browser


class Load:
    """Threads that ask again and again, each on its own connections, and count. The first failure of each is kept."""

    def __init__(self, site: Site):
        self.site = site
        self.stopping = threading.Event()
        self.counts: dict[str, int] = {}
        self.failures: list[str] = []
        self.lock = threading.Lock()
        self.threads: list[threading.Thread] = []
        self.session = self.sign_in("keeper", "10.9.0.1")

    def __enter__(self) -> "Load":
        for number in range(3):
            self.begin("kept", self.ask_on_one_connection)
            self.begin("fresh", self.ask_on_a_fresh_connection)
        self.begin("slow", self.ask_now_and_then)
        for number in range(2):
            self.begin("sign-ins", self.people(number))
        return self

    def __exit__(self, *_) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join(timeout=60)
        if any(thread.is_alive() for thread in self.threads):
            self.failures.append("a request has neither an answer nor an end")

    def begin(self, name: str, ask) -> None:
        def run() -> None:
            try:
                for _ in ask():
                    with self.lock:
                        self.counts[name] = self.counts.get(name, 0) + 1
                    if self.stopping.is_set():
                        return
            except Exception as error:  # whatever it is, somebody's request has failed
                self.failures.append(f"{name}: {error!r}")

        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()

    def connect(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=PATIENCE)
        connection.connect()
        # http.client would connect anew, in silence, when the server has closed.
        connection.auto_open = 0
        return connection

    def verify(self, connection: http.client.HTTPConnection) -> bool:
        """Whether the connection stays."""
        connection.request("GET", "/auth/verify", headers={
            "Host": f"localhost:{self.site.port}", "Cookie": f"{SESSION}={self.session}"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 204, answer.status
        return not answer.will_close

    def ask_on_one_connection(self):
        while True:
            connection = self.connect()
            while self.verify(connection):
                yield
            connection.close()
            yield

    def ask_on_a_fresh_connection(self):
        while True:
            connection = self.connect()
            self.verify(connection)
            connection.close()
            yield

    def ask_now_and_then(self):
        """A connection that idles for some seconds between two requests, as a proxy's does at night."""
        while True:
            connection = self.connect()
            while self.verify(connection):
                yield
                if self.stopping.wait(1.5):
                    return
            connection.close()
            yield

    def people(self, number: int):
        def sign_in():
            count = 0
            while True:
                count += 1
                self.sign_in(f"person{number}x{count}", f"10.8.{number}.{count % 250 + 1}")
                yield
        return sign_in

    def sign_in(self, person: str, address: str) -> str:
        self.site.apple.call("POST", "people", {
            "id": person, "givenName": "Ada", "familyName": "Orchard", "email": f"{person}@example.com"})
        return Browser(self.site, {"X-Forwarded-For": address}).sign_in(person)
