"""What people, programs and operators do at several servers, each request at any of them."""

import http.client
import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import rules

if TYPE_CHECKING:
    from cluster import Person, Run
    from nodes import Node

PEOPLE = [f"person{number}" for number in range(12)]
# Nobody signs them out, and programs keep refresh tokens for them.
HOLDERS = [f"holder{number}" for number in range(3)]


def ask(work):
    """Nil when nobody answered: what a visitor may get while something is broken."""
    try:
        return work()
    except (OSError, AssertionError, http.client.HTTPException):
        return None


def signs_in(run: "Run", name: str, roll: random.Random) -> str | None:
    here, there = roll.choice(run.nodes), roll.choice(run.nodes)
    begun = ask(lambda: here.begin(name))
    if not begun:
        return None
    # The browser posts again when it gets no answer, and reaches another server. Apple's code may be used up then, by
    # one that died before it could store what came of it: they begin again.
    for turn, node in enumerate((there, *roll.sample(run.nodes, 2))):
        asked = time.monotonic()
        done = ask(lambda node=node: node.come_back(*begun))
        if done and done.session:
            run.book.begins(done.session, asked)
            return done.session
        if done and done.status == 400 and turn > 0:
            run.book.count("sign-ins begun again")
            return None
        if done and done.status != 503:
            run.book.blame(f"callback: {done.status} {done.body[-300:]!r}")
            return None
    return None


def signs_in_alone(run: "Run", person: "Person", roll: random.Random) -> bool:
    """When it fails, or was lost with a primary, Apple may have their consent anyway."""
    asked = time.monotonic()
    session = signs_in(run, person.name, roll)
    person.is_unfinished = session is None or not run.book.is_kept(asked)
    if session:
        person.sessions.append(session)
    return not person.is_unfinished


def signs_out(run: "Run", session: str, roll: random.Random) -> None:
    run.book.may_end(session)
    asked = time.monotonic()
    if ask(lambda: (roll.choice(run.nodes).sign_out(session), True)):
        run.book.ends(session, asked)


def leaves(run: "Run", person: "Person") -> None:
    """Withdraws consent at Apple, whose notification arrives sooner or later."""
    asked = time.monotonic()
    for session in person.sessions:
        run.book.may_end(session)
    sent = run.site.apple.call("POST", "notifications", {"type": "consent-revoked", "person": person.name})
    # At the end of the run, too: else Bramley would not know what Apple knows.
    while not any(delivery.get("status") == 200 for delivery in sent["deliveries"]):
        if run.is_abandoned:
            return
        time.sleep(0.3)
        sent = run.site.apple.call("POST", f"notifications/{sent['id']}/deliver", {})
    for session in person.sessions:
        run.book.ends(session, asked)
    person.is_lost = person.is_lost or not run.book.is_kept(asked)
    person.sessions = []
    run.book.count("consents withdrawn")
    # Apple's times have whole seconds.
    run.over.wait(1.1)


def checks(run: "Run", session: str, node: "Node") -> None:
    calm, asked = run.book.calm, time.monotonic()
    status = ask(lambda: node.verify(session))
    run.book.took("a check", node.folder.name, asked, rules.DECIDED)
    if status:
        run.book.checked(session, node.folder.name, asked, status, calm)


def watch(run: "Run", node: "Node") -> None:
    """What a load balancer asks all the time, whatever hangs."""
    while not run.over.wait(0.2):
        checks(run, run.operator, node)
        asked = time.monotonic()
        ask(lambda: node.admin("/readyz"))
        run.book.took("/readyz", node.folder.name, asked, rules.DECIDED)


def grants(run: "Run", roll: random.Random) -> None:
    """A program gets a refresh token for somebody who is signed in."""
    asked = time.monotonic()
    code = ask(lambda: run.program.code(roll.choice(run.nodes), roll.choice(run.held)))
    status, tokens = (code and ask(lambda: run.program.redeem(roll.choice(run.nodes), code))) or (0, {})
    if status == 200:
        run.book.granted(tokens["refresh_token"], tokens["access_token"], asked)


def refreshes(run: "Run", roll: random.Random) -> None:
    """With one refresh token, at two servers at once; and again when nothing came back."""
    grant = run.book.take_grant(roll)
    if not grant:
        return
    if grant.sent is None:
        grant.sent = time.monotonic()
    answers = []

    def send(node: "Node", pause: float) -> None:
        time.sleep(pause)
        if answer := ask(lambda: run.program.refresh(node, grant.refresh_token)):
            answers.append(answer)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(send, roll.sample(run.nodes, 2), roll.choices([0, 0, 0.05, 0.5], k=2)))
    run.book.refreshed(grant, answers)


def uses(run: "Run", roll: random.Random) -> None:
    with run.book.guard:
        access = roll.choice(run.book.grants).access_token if run.book.grants else None
    node = roll.choice(run.nodes)
    if status := access and ask(lambda: run.program.userinfo(node, access)):
        run.book.used(access, node.folder.name, status)


def looks(run: "Run", roll: random.Random) -> None:
    """For people, and mostly gives up."""
    node = roll.choice(run.nodes)
    path = roll.choice([
        "/operator/users?q=" + roll.choice(["ann", "berg 1", "nobody at all", "o"]), "/operator/users",
        "/operator/users?group=staff", "/operator/users?state=disabled", "/operator/sessions", "/operator"])
    if roll.random() < 0.7:
        ask(lambda: node.give_up(path, {"Cookie": run.operator}, roll.uniform(0.05, 1)))
        return
    asked = time.monotonic()
    ask(lambda: node.call("GET", path, {"Cookie": run.operator}))
    run.book.took(path, node.folder.name, asked, rules.READ)


def visit(run: "Run", number: int) -> None:
    roll, own = random.Random(f"{run.seed}/{number}"), run.leavers[number]
    while not run.over.is_set():
        chance = roll.random()
        with run.book.guard:
            live, ended = list(run.book.live), list(run.book.ended)
        if chance < 0.22:
            signs_in(run, roll.choice(PEOPLE), roll)
        elif chance < 0.27:
            signs_in_alone(run, own, roll)
        elif chance < 0.29 and own.sessions:
            leaves(run, own)
        elif chance < 0.41 and len(live) > 20:
            session = roll.choice(live)
            if session not in run.held and all(session not in leaver.sessions for leaver in run.leavers):
                signs_out(run, session, roll)
        elif chance < 0.43 and len(run.book.grants) < 10:
            grants(run, roll)
        elif chance < 0.5:
            refreshes(run, roll)
            uses(run, roll)
        else:
            for session in [*roll.sample(live, min(2, len(live))), *ended[-2:]]:
                checks(run, session, roll.choice(run.nodes))
