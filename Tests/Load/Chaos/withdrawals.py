"""Consent is withdrawn, ten thousand times, at three servers over one PostgreSQL of which one often stands still or dies.

    python3 Tests/Load/Chaos/withdrawals.py BIN_DIRECTORY [COUNT] [SEED]

A second after a withdrawal was answered, no server may accept what the application holds. Exits with 1 and says what was
accepted.
"""

import contextlib
import http.client
import random
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "Support"), str(TESTS / "System/PostgreSQL"), str(TESTS / "System/OpenID")]
from nodes import House  # noqa: E402
from operating import Operator  # noqa: E402
from party import Browser, Party  # noqa: E402
from patience import guarded  # noqa: E402
from postgres import Cluster  # noqa: E402
from relay import Relay  # noqa: E402
from web import SAME_ORIGIN, bearer, call  # noqa: E402

VISITORS = 8
SERVICE = "https://notes.example.com/mcp"
CALLBACK = "https://agent.example.com/callback"
LOST = (OSError, http.client.HTTPException)


class Anywhere:
    """A site whose requests go to any of its servers."""

    def __init__(self, house, roll: random.Random):
        self.house, self.roll = house, roll
        self.origin, self.apple = house.site.origin, house.site.apple

    @property
    def port(self) -> int:
        return self.roll.choice(self.house.nodes).port


class Run:
    def __init__(self, binaries: Path, folder: Path, seed: int):
        self.seed, self.roll = seed, random.Random(seed)
        self.cluster = Cluster()
        self.house = House(binaries, folder, self.cluster, 3, {
            "log.level": "info", "server.limits.signInsPerMinute": 100_000, "server.trustedProxies": ["127.0.0.1"]})
        self.nodes = self.house.nodes
        self.house.start()
        front = random.Random(f"{seed}/front")

        def lead(_) -> socket.socket | None:
            """None to a server that is down: Apple tries again."""
            with contextlib.suppress(OSError):
                return socket.create_connection(("127.0.0.1", Anywhere(self.house, front).port))
            return None

        # Where Apple's notifications go.
        self.front = Relay(lead, self.house.site.port)
        operator = Operator(binaries, self.nodes[0].folder)
        self.key = bearer(operator.key("introspect", "users:read", "users:write"))
        self.service = operator.json(
            "services", "add", SERVICE, "--id", "notes", "--name", "Notes", "--scope", "notes.read=Read your notes")
        self.secret = operator.json(
            "clients", "add", "agent", "--redirect-uri", CALLBACK, "--consent", "--offline", "--group", "staff",
            "--scope", "openid,email,notes.read")["clientSecret"]
        # By cause. `late`: accepted within the second.
        self.done, self.late, self.stale = Counter(), Counter(), []
        self.guard = threading.Lock()
        self.over = threading.Event()
        self.errors: list[BaseException] = []

    def end(self) -> None:
        self.front.stop()
        self.house.end()
        self.cluster.end()

    def rage(self, count: int) -> None:
        self.count = count
        visitors = [guarded(self.errors, self.over, self.visit, number) for number in range(VISITORS)]
        weather = guarded(self.errors, self.over, self.disturb)
        for visitor in visitors:
            visitor.join()
        self.over.set()
        weather.join()
        if self.errors:
            raise self.errors[0]

    def disturb(self) -> None:
        """One server at a time stands still, or is killed and starts again."""
        roll = random.Random(f"{self.seed}/weather")
        while not self.over.wait(roll.uniform(0.5, 3)):
            node = roll.choice(self.nodes)
            if roll.random() < 0.2:
                node.kill()
                node.start()
            else:
                node.pause()
                self.over.wait(roll.uniform(0.2, 2))
                node.go_on()

    def visit(self, number: int) -> None:
        visitor = Visitor(self, number)
        while not self.over.is_set() and sum(self.done.values()) < self.count:
            # A server died before its answer: what came of it is unknown, so all begins again.
            with contextlib.suppress(*LOST):
                visitor.round()

    def report(self) -> str:
        rows = [f"{cause:<34}{self.done[cause]:>8}{self.late[cause]:>8}" for cause in sorted(self.done)]
        total = f"{'all':<34}{sum(self.done.values()):>8}{sum(self.late.values()):>8}"
        return "\n".join([f"{'cause':<34}{'times':>8}{'late':>8}", *rows, total, *self.stale,
                          f"seed {self.seed}: {len(self.stale)} stale after a second"])


class Visitor:
    """Somebody who alone uses one account."""

    def __init__(self, run: Run, number: int):
        self.run, self.person = run, f"visitor{number}"
        self.roll = random.Random(f"{run.seed}/{number}")
        self.site = Anywhere(run.house, self.roll)
        self.site.apple.add_person(self.person)
        self.party = Party(self.site, "agent", run.secret, CALLBACK)
        self.browser = self.user = None

    def api(self, method: str, path: str = "", body: dict | None = None) -> None:
        answer = call(self.site, method, f"/api/v1/users/{self.user}{path}", self.run.key, body)
        if answer.status == 503:
            raise ConnectionError("the server is away")
        assert answer.status < 300, (answer.status, answer.text)

    def page(self, path: str, browser: Browser | None = None, **form: str) -> None:
        answer = (browser or self.browser).send("POST", path, form, SAME_ORIGIN | {"Origin": self.site.origin})
        if answer.status == 503:
            raise ConnectionError("the server is away")
        assert answer.status == 303, (answer.status, answer.text)

    def arrive(self) -> None:
        browser = Browser(self.site)
        browser.sign_in(self.person)
        self.user = browser.session()["user"]["id"]
        self.browser = browser

    def admit(self) -> None:
        """What the round before has taken."""
        self.api("PATCH", body={"state": "active", "groups": ["staff"]})

    # Each withdraws: what the application holds must end.

    def ended_by_api(self) -> None:
        self.api("DELETE", "/applications/agent")

    def ended_on_the_page(self) -> None:
        self.page("/account/applications/end", client="agent")

    def left_the_group(self) -> None:
        self.api("PATCH", body={"groups": []})

    def disabled(self) -> None:
        self.api("PATCH", body={"state": "disabled"})

    def withdrawn_at_apple(self) -> None:
        sent = self.site.apple.call("POST", "notifications", {"type": "consent-revoked", "person": self.person})
        # Apple would send it again to a server that was away.
        if [delivery.get("status") for delivery in sent["deliveries"]] != [200]:
            raise ConnectionError("the server is away")

    def signed_out_everywhere(self) -> None:
        other = Browser(self.site)
        other.sign_in(self.person)
        self.page("/account/sessions/revoke-all", other, applications="true")

    CAUSES = {
        ended_by_api: 6, ended_on_the_page: 4, left_the_group: 4, disabled: 2, withdrawn_at_apple: 2,
        signed_out_everywhere: 1}
    ENDS_SESSION = (disabled, withdrawn_at_apple, signed_out_everywhere)

    def round(self) -> None:
        if self.user:
            self.admit()
        if self.browser is None:
            self.arrive()
            self.admit()
        is_service = self.roll.random() < 0.7
        more = {"scope": "openid email notes.read offline_access", "resource": SERVICE} if is_service else {
            "scope": "openid email offline_access"}
        answer = self.party.authorize(self.browser, self.person, **more)
        if answer.status != 303 or "code" not in answer.parameters():
            self.browser = None
            return
        answer = self.party.redeem(answer.parameters()["code"])
        if answer.status != 200:
            self.browser = None
            return
        tokens = answer.json()
        cause = self.roll.choices(list(self.CAUSES), self.CAUSES.values())[0]
        is_broken = True
        try:
            cause(self)
            is_broken = False
        finally:
            if is_broken or cause in self.ENDS_SESSION:
                self.browser = None
        self.check(cause.__name__, tokens, is_service, time.monotonic())

    def check(self, cause: str, tokens: dict, is_service: bool, ended: float) -> None:
        for node in self.run.nodes:
            while True:
                began = time.monotonic()
                try:
                    accepted = self.accepted(node, tokens, is_service)
                except LOST:
                    # It is being started again.
                    time.sleep(0.05)
                    continue
                if not accepted:
                    break
                with self.run.guard:
                    if began > ended + 1:
                        name, after = node.folder.name, began - ended
                        self.run.stale.append(f"{cause}: {name} accepts {accepted} after {after:.1f} s")
                        break
                    self.run.late[cause] += 1
        with self.run.guard:
            self.run.done[cause] += 1

    def accepted(self, node, tokens: dict, is_service: bool) -> str | None:
        """What the server still accepts. 503 accepts nothing."""
        party = Party(node, "agent", self.run.secret, CALLBACK)
        if is_service:
            answer = call(node, "POST", "/api/v1/introspect", bearer(self.run.service["serviceSecret"]),
                          form={"token": tokens["access_token"]})
            if answer.status == 200 and answer.json()["active"]:
                return "the service's token"
        elif party.userinfo(tokens["access_token"]).status == 200:
            return "the access token"
        return "the refresh token" if party.refresh(tokens["refresh_token"]).status == 200 else None


def main(arguments: list[str]) -> int:
    binaries, count = Path(arguments[0]).resolve(), int(arguments[1]) if len(arguments) > 1 else 10_000
    seed = int(arguments[2]) if len(arguments) > 2 else random.randrange(10_000)
    folder = Path(tempfile.mkdtemp(prefix="withdrawals-"))
    run = Run(binaries, folder, seed)
    try:
        run.rage(count)
        print(run.report())
        if run.stale:
            print(f"logs: {folder}")
    finally:
        run.end()
    if not run.stale:
        shutil.rmtree(folder)
    return 1 if run.stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
