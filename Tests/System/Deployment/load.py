"""People and proxies while servers come and go: no request of theirs may fail."""

import http.client
import itertools
import threading
from collections import Counter

from patience import PATIENCE, eventually
from processes import is_running
from programs import Site
from web import SESSION, Browser


class Load:
    """Threads that ask again and again, each on its own connections, and count. The first failure of each is kept."""

    def __init__(self, site: Site):
        self.site = site
        self.stopping = threading.Event()
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self.lock = threading.Lock()
        self.threads: list[threading.Thread] = []
        self.session = self.sign_in("keeper", "10.9.0.1")

    def __enter__(self) -> "Load":
        for _ in range(3):
            self.begin("kept", self.ask_on_one_connection())
            self.begin("fresh", self.ask_on_a_fresh_connection())
        # A proxy's connection idles at night.
        self.begin("slow", self.ask_on_one_connection(pause=1.5))
        for number in range(2):
            self.begin("sign-ins", self.sign_people_in(number))
        return self

    def __exit__(self, *_) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join(timeout=60)
        if any(thread.is_alive() for thread in self.threads):
            self.failures.append("a request has neither an answer nor an end")

    def begin(self, name: str, requests) -> None:
        def run() -> None:
            try:
                for _ in requests:
                    with self.lock:
                        self.counts[name] += 1
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

    def ask_on_one_connection(self, pause: float = 0):
        while True:
            connection = self.connect()
            while self.verify(connection):
                yield
                if self.stopping.wait(pause):
                    return
            connection.close()
            yield

    def ask_on_a_fresh_connection(self):
        while True:
            connection = self.connect()
            self.verify(connection)
            connection.close()
            yield

    def sign_people_in(self, number: int):
        for count in itertools.count(1):
            self.sign_in(f"person{number}x{count}", f"10.8.{number}.{count % 250 + 1}")
            yield

    def sign_in(self, person: str, address: str) -> str:
        self.site.apple.add_person(person)
        return Browser(self.site, {"X-Forwarded-For": address}).sign_in(person)


def hand_over_under(load: Load, service, times: int, more: dict[str, int]) -> None:
    """Hands over this many times, each time after that many more requests of each name. None fails."""
    processes = [service.process]
    with load:
        for _ in range(times):
            counts = load.counts.copy()
            processes.append(service.hand_over())
            eventually(
                lambda: load.failures or all(load.counts[name] >= counts[name] + more[name] for name in more),
                "more requests", lambda: str(load.counts))
            assert service.site.admin("/readyz").status == 200
        eventually(
            lambda: not any(is_running(process) for process in processes[:-1]), "the end of the others",
            lambda: service.text()[-3000:])
    assert load.failures == []
    assert len(set(processes)) == times + 1
    assert "critical" not in service.text().lower()
