"""Answers lost at each arrow, the application or Bramley killed at each step. No account is ever without a way in, none is
linked twice, and a password is dropped only while Apple opens the account."""

import concurrent.futures
import time

import pytest

from app import exchanges
from gate import DOWN, HANG, LATE, LOST, says
from orchard import problem, somebody
from patience import PATIENCE, eventually


def holds(orchard, name: str, person: str, external: str) -> None:
    """What must be true at any moment."""
    opens = orchard.owner(external) is not None
    works = orchard.password_works(name)
    assert opens or works, "no way in"
    assert works == (orchard.demo.account(name)["password"] is not None)
    assert orchard.sql("SELECT count(*) FROM apple_identity GROUP BY team, subject HAVING count(*) > 1") == []
    if opens:
        assert orchard.apple_opens(external, person)


def prepared(orchard, name: str) -> tuple[str, str, dict, str]:
    """Somebody new who has been to Apple: person, account, upgrade and code."""
    orchard.person(name)
    person, upgrade = somebody(orchard), orchard.begun(name)
    return person, orchard.demo.account(name)["id"], upgrade, orchard.proven(upgrade, person)


# Lost answers

@pytest.mark.parametrize("fault", [DOWN, LOST], ids=["before it arrives", "after it arrived"])
def test_a_link_that_is_begun_without_an_answer_changes_nothing(orchard, fault):
    name = f"begin-{fault}"
    orchard.person(name)
    orchard.gate.once("begin", fault)
    assert orchard.demo.post("/upgrade", {"name": name, "password": "correct horse battery"}).status == 503
    assert orchard.password_works(name) and orchard.replaces(name, somebody(orchard)).status == 200


@pytest.mark.parametrize("name, fault", [
    ("before", DOWN), ("after", LOST), ("another-answer", says(200, {"nonsense": 1}))])
def test_a_completion_whose_answer_was_lost_is_repeated_by_the_extension(orchard, name, fault):
    person, external, upgrade, code = prepared(orchard, name)
    orchard.gate.once("complete", fault)
    assert orchard.demo.complete(upgrade, code).status == 503
    assert orchard.demo.complete(upgrade, code).status == 200
    assert not orchard.password_works(name)
    holds(orchard, name, person, external)
    assert orchard.events(orchard.owner(external)).count("account.upgraded") == 1


def test_a_completion_that_nobody_repeats_is_finished_by_the_event(orchard):
    """The extension is gone, and the application does not know what came of it."""
    person, external, upgrade, code = prepared(orchard, "event")
    orchard.gate.once("complete", LOST)
    assert orchard.demo.complete(upgrade, code).status == 503
    eventually(lambda: orchard.demo.account("event")["password"] is None, "the event", orchard.server.text)
    holds(orchard, "event", person, external)
    # What the application asked before it dropped the password: does Apple open the account?
    assert orchard.gate.count("complete") >= 2


@pytest.mark.parametrize("state", ["notFound", "transferred"])
def test_a_completed_link_says_success_only_while_apple_opens_the_account(orchard, state):
    link = orchard.begin(f"asked-{state}", "upgrade")
    code = orchard.proven(link, somebody(orchard))
    done = orchard.complete(link, code)
    assert done.status == 200 and orchard.complete(link, code).json() == done.json()
    orchard.sql("UPDATE apple_identity SET credential_state = ? WHERE user = ?", state, done.json()["user"]["id"])
    orchard.restart()
    assert problem(orchard.complete(link, code)) == (409, "link_ended")


# The application is killed at each step

def killed_while(kill, moment, call, *arguments) -> None:
    """Kills a program while it answers this call, once the moment has come."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        lost = pool.submit(call, *arguments)
        eventually(moment, "the right moment to kill it")
        kill()
        assert lost.exception() is not None


def killed(orchard, *call) -> None:
    """The same of the application, once the gate has what it asked for. Then it runs again."""
    before = len(orchard.gate.asked)
    killed_while(orchard.demo.kill, lambda: len(orchard.gate.asked) > before, *call)
    orchard.gate.heal()
    orchard.demo.starts()


def test_the_application_killed_before_the_link_is_begun(orchard):
    orchard.person("app-begin")
    orchard.gate.once("begin", HANG)
    killed(orchard, orchard.demo.upgrade, "app-begin")
    assert orchard.password_works("app-begin") and orchard.replaces("app-begin", somebody(orchard)).status == 200


@pytest.mark.parametrize("fault", [HANG, LATE], ids=["before Bramley has completed it", "after Bramley has completed it"])
@pytest.mark.parametrize("way", ["the extension repeats it", "nobody repeats it"])
def test_the_application_killed_while_it_completes(orchard, fault, way):
    name = f"app-{fault}-{way[:3]}"
    person, external, upgrade, code = prepared(orchard, name)
    orchard.gate.once("complete", fault)
    if fault == LATE:
        before = orchard.gate.count("complete")
    killed(orchard, orchard.demo.complete, upgrade, code)
    holds(orchard, name, person, external) if orchard.owner(external) else None
    if way == "the extension repeats it":
        assert orchard.demo.complete(upgrade, code).status == 200
    elif fault == LATE:
        # The event comes, again until it is answered.
        assert orchard.gate.count("complete") > before
        eventually(lambda: orchard.send_webhooks() or orchard.demo.account(name)["password"] is None, "the event",
                   orchard.server.text)
    else:
        # Nothing was completed: the link ends, and the password works.
        assert orchard.password_works(name)
        return
    assert not orchard.password_works(name)
    holds(orchard, name, person, external)
    assert orchard.events(orchard.owner(external)).count("account.upgraded") == 1


# Bramley is killed at each step

def test_bramley_or_the_application_killed_between_the_steps(orchard):
    """What was answered is durable, at each step."""
    orchard.person("kill-between")
    person, upgrade = somebody(orchard), orchard.begun("kill-between")
    external = orchard.demo.account("kill-between")["id"]
    orchard.kill()
    orchard.start()
    code = orchard.proven(upgrade, person)
    orchard.kill()
    orchard.start()
    assert orchard.demo.complete(upgrade, code).status == 200
    orchard.kill()
    orchard.start()
    assert orchard.demo.complete(upgrade, code).status == 200
    orchard.demo.kill()
    orchard.demo.starts()
    assert orchard.demo.complete(upgrade, code).status == 200
    holds(orchard, "kill-between", person, external)


def test_bramley_killed_while_apple_is_asked(orchard):
    orchard.person("kill-apple")
    person, upgrade = somebody(orchard), orchard.begun("kill-apple")
    content, sent = orchard.sheet(upgrade["nonce"], person), exchanges(orchard)
    orchard.apple.call("PUT", "faults/token", {"hang": True})
    killed_while(orchard.kill, lambda: exchanges(orchard) > sent, orchard.authorize, upgrade, "ada", content)
    orchard.apple.call("POST", "faults/reset")
    orchard.start()
    # Nobody knows whether Apple took the code: it is not sent again.
    orchard.sql("UPDATE code_exchange SET begun_at = begun_at - 31000")
    assert problem(orchard.authorize(upgrade, content=content)) == (400, "code_refused")
    assert exchanges(orchard) == sent + 1 and orchard.password_works("kill-apple")
    again = orchard.begin(orchard.demo.account("kill-apple")["id"], "upgrade")
    done = orchard.complete(again, orchard.proven(again, person))
    # Apple gave the name once.
    assert done.status == 200 and done.json()["user"]["name"]["given"] == "Pat"


def test_bramley_killed_again_and_again_under_load(orchard):
    """Six people at once, a server that dies under them, extensions that repeat what was not answered."""
    people = {}
    for number in range(6):
        name = f"load{number}"
        person, external, upgrade, code = prepared(orchard, name)
        people[name] = (person, external, upgrade, code)

    def insist(name: str):
        *_, upgrade, code = people[name]
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            answer = orchard.demo.complete(upgrade, code)
            if answer.status == 200:
                return True
            assert answer.status == 503, answer.text
            time.sleep(0.1)
        return False

    for _ in range(2):
        orchard.gate.once("complete", LOST, DOWN, LOST)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            asked = orchard.gate.count("complete")
            answers = [pool.submit(insist, name) for name in people]
            eventually(lambda: orchard.gate.count("complete") > asked, "a request")
            orchard.kill()
            orchard.start()
            assert all(answer.result() for answer in answers)
        for name, (person, external, *_) in people.items():
            assert not orchard.password_works(name)
            holds(orchard, name, person, external)
