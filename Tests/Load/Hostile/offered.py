"""Sign-ins and a proxy's questions at a rate that does not depend on the answers, from a process of their own."""

import asyncio
import collections
import itertools
import json
import multiprocessing
import re
import time
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

COOKIE = re.compile(r"(?i)^set-cookie: *([^=;]+)=([^;]*)", re.MULTILINE)
LENGTH = re.compile(r"(?i)^content-length: *(\d+)", re.MULTILINE)
SESSION = "__Host-bramley"
# Seconds: whoever waits longer than this has been failed.
DEADLINE = 20
# Questions of a proxy that may wait for their answer at the same time; a proxy has no more connections either.
WAITING = 200
# Connections that are kept for the next request: what a moment's crowd needed beyond it is closed.
KEPT = 24


class Refused(Exception):
    """Nobody listens."""


class Broken(Exception):
    """A fresh connection ended without an answer."""


@dataclass
class Answer:
    status: int
    head: str
    body: bytes

    def cookies(self) -> dict[str, str]:
        return dict(COOKIE.findall(self.head))


@dataclass
class Tally:
    """What one load has seen. Times are those of `time.monotonic`, which all processes of a machine share."""

    # What else there was, and sign-ins that nobody was free for: more was offered than the machine carries.
    counts: collections.Counter = field(default_factory=collections.Counter)
    # What was not as it must be: when, and what.
    failures: list[tuple[float, str]] = field(default_factory=list)
    # Nobody listened: when.
    refused: list[float] = field(default_factory=list)
    # When each session began, and each question was answered.
    signed_in: list[float] = field(default_factory=list)
    verified: list[float] = field(default_factory=list)
    # Milliseconds from when it was due.
    waited: list[float] = field(default_factory=list)

    async def counts_as(self, what: str, work) -> bool:
        """Whether it was done, and in time; else it is counted as what it became."""
        try:
            await asyncio.wait_for(work, DEADLINE)
            return True
        except Refused:
            self.refused.append(time.monotonic())
        except (Broken, TimeoutError, ValueError) as error:
            self.failures.append((time.monotonic(), f"{what}: {type(error).__name__} {error}"))
        return False


class Connections:
    """Kept alive, as browsers and proxies keep them. One that had been kept and is gone is opened again, once."""

    def __init__(self, port: int, tally: Tally):
        self.port, self.tally = port, tally
        self.idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, request: bytes) -> Answer:
        while self.idle:
            pair = self.idle.pop()
            try:
                return await self.exchange(pair, request)
            except (OSError, asyncio.IncompleteReadError) as error:
                if isinstance(error, asyncio.IncompleteReadError) and error.partial:
                    raise Broken("in the middle of an answer") from error
                self.tally.counts["kept connections found closed"] += 1
                # The others of its age are as old as it.
                self.forget()
        try:
            pair = await asyncio.open_connection("127.0.0.1", self.port)
        except ConnectionRefusedError as error:
            raise Refused from error
        except OSError as error:
            raise Broken(f"no connection: {error}") from error
        try:
            return await self.exchange(pair, request)
        except (OSError, asyncio.IncompleteReadError) as error:
            raise Broken(type(error).__name__) from error

    async def exchange(self, pair, request: bytes) -> Answer:
        reader, writer = pair
        try:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = LENGTH.search(head)
            body = await reader.readexactly(int(length[1])) if length else b""
        except BaseException:
            # Whoever gives up waiting hangs up.
            writer.close()
            raise
        if len(self.idle) >= KEPT or re.search(r"(?i)^connection: *close", head, re.MULTILINE):
            writer.close()
        else:
            self.idle.append(pair)
        return Answer(int(head[9:12]), head, body)

    def forget(self) -> None:
        for _, writer in self.idle:
            writer.close()
        self.idle.clear()


class People:
    """A crowd that comes again and again: each has one session at a time, which the next sign-in replaces."""

    def __init__(self, origin: str, apple: str, people: list[str], tally: Tally):
        self.tally = tally
        self.host, self.apple = urlsplit(origin).netloc, apple
        self.site = Connections(urlsplit(origin).port, tally)
        self.at_apple = Connections(urlsplit(apple).port, tally)
        self.idle = collections.deque((person, {}) for person in people)
        self.number = itertools.count()

    def request(self, method: str, path: str, jar: dict, address: str, body: bytes = b"", more: str = "") -> bytes:
        cookies = "; ".join(f"{name}={value}" for name, value in jar.items())
        cookies = f"Cookie: {cookies}\r\n" if cookies else ""
        length = f"Content-Length: {len(body)}\r\n" if method == "POST" else ""
        return (f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\nX-Forwarded-For: {address}\r\n{cookies}{more}{length}"
                "\r\n").encode() + body

    async def sign_in(self, due: float) -> None:
        """One whole sign-in of whoever is free; counted as what it became."""
        try:
            person, jar = self.idle.popleft()
        except IndexError:
            self.tally.counts["not offered"] += 1
            return
        if await self.tally.counts_as("sign-in", self.whole(person, jar)):
            self.tally.waited.append((time.monotonic() - due) * 1000)
        self.idle.append((person, jar))

    async def whole(self, person: str, jar: dict) -> None:
        number = next(self.number)
        address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        start = await self.site.ask(self.request("GET", "/login/apple", jar, address))
        if start.status != 303:
            raise ValueError(f"/login/apple: {start.status}")
        jar |= start.cookies()
        location = re.search(r"(?i)^location: *(\S+)", start.head, re.MULTILINE)[1]
        content = json.dumps({"person": person, "authorize_url": location}).encode()
        told = await self.at_apple.ask(
            b"POST /simulator/api/authorize HTTP/1.1\r\nHost: apple\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
        if told.status != 200:
            raise ValueError(f"Apple: {told.status} {told.body[:200]!r}")
        done = await self.site.ask(self.request(
            "POST", "/apple/callback", jar, address, json.loads(told.body)["form"].encode(),
            f"Origin: {self.apple}\r\nContent-Type: application/x-www-form-urlencoded\r\n"))
        if done.status != 303 or SESSION not in (cookies := done.cookies()):
            title = re.search(rb"<title>([^<]*)", done.body)
            raise ValueError(f"/apple/callback: {done.status} {title[1].decode() if title else ''}")
        jar[SESSION] = cookies[SESSION]
        self.tally.signed_in.append(time.monotonic())

    async def delete(self, person: str) -> None:
        """Somebody signs in and deletes their account; the next time they are new."""
        jar: dict[str, str] = {}
        await self.whole(person, jar)
        who = json.loads((await self.site.ask(self.request("GET", "/api/v1/session", jar, "10.255.255.1"))).body)
        form = urlencode({"confirm": "yes", "account": who["user"]["id"]}).encode()
        gone = await self.site.ask(self.request(
            "POST", "/account/delete", jar, "10.255.255.1", form,
            "Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n"))
        if gone.status != 303 or "/account/deleted" not in gone.head:
            raise ValueError(f"/account/delete: {gone.status}")
        self.tally.counts["accounts deleted"] += 1


class Proxy:
    """What a proxy asks about people who stay signed in."""

    def __init__(self, origin: str, cookies: list[str], tally: Tally):
        self.tally = tally
        self.site = Connections(urlsplit(origin).port, tally)
        host = urlsplit(origin).netloc
        self.waiting = 0
        self.requests = itertools.cycle([
            f"GET /auth/verify HTTP/1.1\r\nHost: {host}\r\nCookie: {SESSION}={cookie}\r\n\r\n".encode()
            for cookie in cookies])

    async def verify(self) -> None:
        if self.waiting >= WAITING:
            self.tally.counts["questions not asked"] += 1
            return
        self.waiting += 1
        await self.tally.counts_as("verify", self.ask())
        self.waiting -= 1

    async def ask(self) -> None:
        answer = await self.site.ask(next(self.requests))
        if answer.status != 204:
            raise ValueError(f"/auth/verify: {answer.status}")
        self.tally.verified.append(time.monotonic())


class Load(multiprocessing.Process):
    """The process: told what to do by `tell`, answers with what `hear` returns."""

    def __init__(self, origin: str, apple: str, people: list[str]):
        super().__init__(daemon=True)
        self.origin, self.apple, self.names = origin, apple, people
        self.ours, self.theirs = multiprocessing.Pipe()

    def tell(self, *order) -> None:
        self.ours.send(order)

    def hear(self, seconds: float):
        """What it answers, within so many seconds."""
        if not self.ours.poll(seconds + 2 * DEADLINE):
            raise RuntimeError("the load does not answer")
        return self.ours.recv()

    def run(self) -> None:
        asyncio.run(self.obey())

    async def obey(self) -> None:
        tally = Tally()
        people = People(self.origin, self.apple, self.names, tally)
        while True:
            order = await asyncio.get_running_loop().run_in_executor(None, self.theirs.recv)
            match order:
                case ("keepers", count):
                    self.theirs.send([await self.keeper(people) for _ in range(count)])
                case ("capacity", seconds, parallel):
                    before = len(tally.signed_in)
                    await self.closed_loop(people, seconds, parallel)
                    self.theirs.send((len(tally.signed_in) - before) / seconds)
                case ("offer", seconds, rate, cookies, questions):
                    # What was before the load is no part of it.
                    people.tally = people.site.tally = people.at_apple.tally = tally = Tally()
                    proxy = Proxy(self.origin, cookies, tally)
                    end = time.monotonic() + seconds
                    await asyncio.gather(
                        self.at_rate(rate, end, people.sign_in), self.at_rate(questions, end, lambda _: proxy.verify()),
                        self.leave(end, max(3, seconds / 120), people))
                    people.site.forget()
                    people.at_apple.forget()
                    proxy.site.forget()
                    self.theirs.send(tally)
                case ("stop",):
                    return

    async def keeper(self, people: People) -> str:
        """The session of somebody who signs in once and never again."""
        person, jar = people.idle.popleft()
        await people.whole(person, jar)
        return jar[SESSION]

    async def closed_loop(self, people: People, seconds: float, parallel: int) -> None:
        end = time.monotonic() + seconds

        async def again() -> None:
            while time.monotonic() < end:
                await people.sign_in(time.monotonic())

        await asyncio.gather(*(again() for _ in range(parallel)))

    async def at_rate(self, rate: float, end: float, act) -> None:
        """Each at its time, whatever became of those before it."""
        begun, running = time.monotonic(), set()
        for number in itertools.count():
            due = begun + number / rate
            if due >= end:
                break
            if (wait := due - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            task = asyncio.create_task(act(due))
            running.add(task)
            task.add_done_callback(running.discard)
        await asyncio.gather(*running)

    async def leave(self, end: float, pause: float, people: People) -> None:
        """Now and then somebody deletes their account."""
        leavers = itertools.cycle([f"leaver{number}" for number in range(5)])
        while time.monotonic() + pause < end:
            await asyncio.sleep(pause)
            await people.tally.counts_as("deletion", people.delete(next(leavers)))
